#include "data/statistics/printed_number.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "data/files/text.h"

namespace impactlab {

std::optional<Printed> ReadPrinted(const std::string& text, double to_si) {
  const std::string trimmed(TrimSpace(text));
  const std::optional<double> value = ParseNumber(trimmed);
  if (!value) return std::nullopt;
  const std::size_t e = trimmed.find_first_of("eE"), mantissa = std::min(e, trimmed.size()),
                    point = trimmed.find('.');
  double unit = point < mantissa ? std::pow(10.0, -static_cast<double>(mantissa - point - 1)) : 1;
  if (e != std::string::npos)
    unit *= std::pow(10.0, *ParseNumber(std::string_view(trimmed).substr(e + 1)));
  return Printed{*value * to_si, 0.5 * unit * to_si, trimmed};
}

Recomputed Recompute(const std::function<double(const Eigen::VectorXd&)>& f,
                     const Eigen::VectorXd& x, const Eigen::VectorXd& half) {
  Recomputed out;
  out.value = f(x);
  double variance = 0;
  for (Eigen::Index i = 0; i < x.size(); ++i) {
    if (!(half[i] > 0)) continue;
    Eigen::VectorXd moved = x;
    moved[i] = x[i] + half[i];
    const double up = f(moved);
    moved[i] = x[i] - half[i];
    const double down = f(moved);
    out.bound += std::max(std::abs(up - out.value), std::abs(down - out.value));
    variance += 0.25 * (up - down) * (up - down) / 3;
  }
  out.u = std::sqrt(variance);
  return out;
}

}  // namespace impactlab
