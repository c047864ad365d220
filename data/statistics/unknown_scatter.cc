#include "data/statistics/unknown_scatter.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "data/base/error.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

constexpr double kWeightOfNone = 3;

// The posterior at values of T that are spread evenly in log T, as weights that add up to one.
struct Posterior {
  std::vector<double> sd, weight;
};

Posterior PosteriorOf(double square, double dof) {
  constexpr int kPoints = 400;
  constexpr double kFalls = 20;  // by so many e-folds beyond the highest weight
  const double highest = std::max(0.0, std::log(square / dof));
  const double end = highest + 2 * kFalls / dof, step = end / kPoints;
  // log of T^(-d/2) exp(-Q / 2T), less its highest value
  const auto log_density = [&](double log_variance) {
    return -0.5 * (dof * (log_variance - highest) +
                   square * (std::exp(-log_variance) - std::exp(-highest)));
  };
  Posterior out;
  double sum = 0;
  for (int i = 0; i <= kPoints; ++i) {
    const double log_variance = i * step;
    const double share = i == 0 ? 0.5 * step + kWeightOfNone : i == kPoints ? 0.5 * step : step;
    out.sd.push_back(std::exp(0.5 * log_variance));
    out.weight.push_back(share * std::exp(log_density(log_variance)));
    sum += out.weight.back();
  }
  for (double& weight : out.weight) weight /= sum;
  return out;
}

}  // namespace

double QuantileWithUnknownScatter(double p, double square, double dof) {
  if (!(p > 0.5 && p < 1)) throw ConfigError("a quantile above the median needs 1/2 < p < 1");
  if (!(dof > 0) || !std::isfinite(dof) || !(square >= 0) || !std::isfinite(square))
    throw ConfigError("degrees of freedom must be above 0, a sum of squares at least 0");
  // Where T is far above one its bound does not matter.
  constexpr double kFar = 1e6;
  if (square > kFar * std::max(dof, 1.0)) return StudentQuantile(p, dof) * std::sqrt(square / dof);
  const Posterior posterior = PosteriorOf(square, dof);
  const auto probability = [&](double x) {
    double sum = 0;
    for (std::size_t i = 0; i < posterior.sd.size(); ++i)
      sum += posterior.weight[i] * NormalCdf(x / posterior.sd[i]);
    return sum;
  };
  double low = 0, high = NormalQuantile(p);
  while (probability(high) < p) {
    low = high;
    high *= 2;
  }
  constexpr double kPrecision = 1e-6;
  while (high - low > kPrecision * high)
    (probability(0.5 * (low + high)) < p ? low : high) = 0.5 * (low + high);
  return 0.5 * (low + high);
}

}  // namespace impactlab
