// Printed numbers and labels, and what follows from them.

#include <algorithm>
#include <cctype>
#include <cmath>

#include "data/text.h"
#include "reconstruction/printed_audit.h"

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

Eigen::Vector3d SlopeNormal(double slope, double downhill) {
  return {std::cos(downhill) * std::sin(slope), std::sin(downhill) * std::sin(slope),
          std::cos(slope)};
}

std::optional<CaseLabel> ReadCaseLabel(const std::string& text) {
  const std::string label(TrimSpace(text));
  if (label.empty() || label[0] < '0' || label[0] > '6') return std::nullopt;
  CaseLabel out;
  out.path_case.digit = label[0] - '0';
  const std::string rest = label.substr(1);
  if (rest.empty()) return out;
  const bool reverses = out.path_case.digit == 2 || out.path_case.digit == 4;
  if (!reverses) return std::nullopt;
  out.plot_code = rest[0] == '.';
  out.path_case.letter = rest == "a" || rest == ".25"   ? 'a'
                         : rest == "b" || rest == ".5"  ? 'b'
                         : rest == "c" || rest == ".75" ? 'c'
                                                        : ' ';
  if (out.path_case.letter == ' ') return std::nullopt;
  return out;
}

std::string ModeOf(const ImpactCase& path_case) {
  switch (path_case.digit) {
    case 1:
    case 3:
    case 5:
      return "sticking";
    case 2:
    case 4:
      return "reverse sliding";
    default:
      return "sliding";
  }
}

std::string ModeOf(const std::string& words) {
  std::string lower;
  for (const char c : words)
    if (std::isalpha(static_cast<unsigned char>(c)))
      lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.find("stick") != std::string::npos) return "sticking";
  if (lower.find("slid") == std::string::npos && lower.find("slip") == std::string::npos) return {};
  return lower.find("rev") != std::string::npos || lower[0] == 'r' ? "reverse sliding" : "sliding";
}

const char* AttitudeName(AttitudeSource source) {
  return source == AttitudeSource::kStated   ? "stated"
         : source == AttitudeSource::kSolved ? "orientation solved"
                                             : "needs orientation";
}

}  // namespace impactlab
