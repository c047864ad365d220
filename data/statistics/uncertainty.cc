#include "data/statistics/uncertainty.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "data/base/error.h"

namespace impactlab {
namespace {

constexpr double kLevel = 0.95;

double DrawInput(const UncertainInput& in, std::mt19937_64& rng) {
  std::uniform_real_distribution<double> unit(-1, 1);
  switch (in.spread) {
    case Spread::kExact:
      return in.value;
    case Spread::kNormal:
      return in.value + in.u * std::normal_distribution<double>()(rng);
    case Spread::kRectangular:
      return in.value + in.u * std::sqrt(3.0) * unit(rng);
    case Spread::kTriangular:
      return in.value + in.u * std::sqrt(6.0) * 0.5 * (unit(rng) + unit(rng));
    case Spread::kStudent:
      return in.value + in.u * std::student_t_distribution<double>(in.dof)(rng);
  }
  return in.value;
}

// Half a unit of the second significant digit.
double NumericalTolerance(double u) {
  return u > 0 ? 0.5 * std::pow(10.0, std::floor(std::log10(u)) - 1) : 0;
}

}  // namespace

const char* SpreadName(Spread spread) {
  switch (spread) {
    case Spread::kExact:
      return "exact";
    case Spread::kNormal:
      return "normal";
    case Spread::kRectangular:
      return "rectangular";
    case Spread::kTriangular:
      return "triangular";
    case Spread::kStudent:
      return "Student";
  }
  return "";
}

UncertainInput Rectangular(std::string name, std::string unit, double value, double half_width,
                           std::string source) {
  UncertainInput in{std::move(name), std::move(unit), value, half_width / std::sqrt(3.0)};
  in.spread = half_width > 0 ? Spread::kRectangular : Spread::kExact;
  in.source = std::move(source);
  return in;
}

UncertainInput MeanOf(std::string name, std::string unit, const std::vector<double>& readings,
                      std::string source) {
  const auto n = static_cast<double>(readings.size());
  UncertainInput in{std::move(name), std::move(unit), Mean(readings),
                    StandardDeviation(readings) / std::sqrt(n)};
  in.spread = in.u > 0 ? Spread::kStudent : Spread::kExact;
  in.dof = n - 1;
  in.source = std::move(source);
  return in;
}

UncertainResult PropagateUncertainty(const std::function<double(const std::vector<double>&)>& f,
                                     const std::vector<UncertainInput>& inputs, int draws,
                                     std::uint64_t seed) {
  std::vector<double> x;
  for (const UncertainInput& in : inputs) {
    if (!(in.u >= 0 && std::isfinite(in.value)))
      throw ConfigError("uncertainty of " + in.name +
                        ": found a value that is not finite or an uncertainty below 0");
    x.push_back(in.value);
  }
  UncertainResult out;
  out.value = f(x);
  double variance = 0, by_dof = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    BudgetLine line;
    if (inputs[i].u > 0 && inputs[i].spread != Spread::kExact) {
      const double h = 1e-3 * inputs[i].u;
      std::vector<double> moved = x;
      moved[i] = x[i] + h;
      const double up = f(moved);
      moved[i] = x[i] - h;
      line.sensitivity = (up - f(moved)) / (2 * h);
      line.contribution = std::abs(line.sensitivity) * inputs[i].u;
      const double square = line.contribution * line.contribution;
      variance += square;
      if (std::isfinite(inputs[i].dof)) by_dof += square * square / inputs[i].dof;
    }
    out.budget.push_back(line);
  }
  out.u = std::sqrt(variance);
  for (BudgetLine& line : out.budget)
    line.share = variance > 0 ? line.contribution * line.contribution / variance : 0;
  if (by_dof > 0) out.dof = variance * variance / by_dof;
  const double k = StudentQuantile(0.5 + 0.5 * kLevel, out.dof);
  out.linear95 = {out.value - k * out.u, out.value + k * out.u};

  std::mt19937_64 rng(seed);
  std::vector<double> y;
  for (int n = 0; n < draws; ++n) {
    for (std::size_t i = 0; i < inputs.size(); ++i) x[i] = DrawInput(inputs[i], rng);
    const double value = f(x);
    if (std::isfinite(value)) y.push_back(value);
  }
  out.draws = static_cast<int>(y.size());
  if (y.size() < 2) return out;
  out.mean = Mean(y);
  out.sd = StandardDeviation(y);
  std::sort(y.begin(), y.end());
  const auto at = [&](double p) {
    return y[static_cast<std::size_t>(std::lround(p * static_cast<double>(y.size() - 1)))];
  };
  out.interval95 = {at(0.5 - 0.5 * kLevel), at(0.5 + 0.5 * kLevel)};
  const double tolerance = NumericalTolerance(out.u);
  out.linear_holds = std::abs(out.linear95.lower - out.interval95.lower) <= tolerance &&
                     std::abs(out.linear95.upper - out.interval95.upper) <= tolerance;
  return out;
}

}  // namespace impactlab
