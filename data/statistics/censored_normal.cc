#include "data/statistics/censored_normal.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/base/error.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

constexpr double kMostScatter = 0.25;  // of the mean
constexpr int kScatters = 24, kMeans = 60, kSteps = 40;

// Densities of a member that reaches its strength and of one that does not.
struct Densities {
  std::vector<double> reached, below;
};

// log likelihood at the likeliest share of members that reach their strength. It is concave in the
// share, so that its derivative has one zero at most.
double LikeliestShare(const Densities& f) {
  double low = 0, high = 1, share = 0.5;
  const auto likelihood = [&](std::size_t i) {
    return std::max(share * f.reached[i] + (1 - share) * f.below[i], 1e-300);
  };
  for (int k = 0; k < kSteps && high - low > 1e-6; ++k) {
    double slope = 0, curvature = 0;
    for (std::size_t i = 0; i < f.reached.size(); ++i) {
      const double term = (f.reached[i] - f.below[i]) / likelihood(i);
      slope += term;
      curvature += term * term;
    }
    (slope > 0 ? low : high) = share;
    const double newton = share + slope / std::max(curvature, 1e-300);
    const bool inside = low < newton && newton < high;
    if (inside && std::abs(newton - share) < 1e-6) break;
    share = inside ? newton : 0.5 * (low + high);
  }
  double sum = 0;
  for (std::size_t i = 0; i < f.reached.size(); ++i) sum += std::log(likelihood(i));
  return sum;
}

double LogLikelihood(const std::vector<double>& x, const std::vector<double>& sd, double mean,
                     double scatter) {
  static const double kNormal = 1 / std::sqrt(2 * std::numbers::pi);
  Densities f;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double t = std::hypot(scatter, sd[i]), z = (x[i] - mean) / t;
    f.reached.push_back(kNormal * std::exp(-0.5 * z * z) / t);
    f.below.push_back(0.5 * std::erfc(z / std::numbers::sqrt2) / mean);
  }
  return LikeliestShare(f) + std::log(scatter / mean);
}

// Of all scatters.
double Profile(const std::vector<double>& x, const std::vector<double>& sd, double mean) {
  constexpr double kLeast = 1e-5;  // of the mean
  double best = -INFINITY;
  for (int k = 0; k <= kScatters; ++k)
    best =
        std::max(best, LogLikelihood(x, sd, mean,
                                     mean * kMostScatter *
                                         std::pow(kLeast / kMostScatter, k / double{kScatters})));
  return best;
}

void CheckValues(const std::vector<double>& x, const std::vector<double>& sd) {
  const auto valid = [](double value) { return std::isfinite(value) && value >= 0; };
  if (x.size() != sd.size() || !std::all_of(x.begin(), x.end(), valid) ||
      !std::all_of(sd.begin(), sd.end(), valid))
    throw ConfigError(
        "values of a censored mean: found lists of different lengths or a value that "
        "is negative or not finite, allowed as many standard deviations as values");
}

}  // namespace

double LowerBoundOfCensoredMean(const std::vector<double>& x, const std::vector<double>& sd) {
  CheckValues(x, sd);
  if (x.empty()) return 0;
  const double highest = *std::max_element(x.begin(), x.end());
  if (!(highest > 0)) return 0;
  // Twice the log likelihood below its maximum that the interval takes in.
  const auto n = static_cast<double>(x.size());
  const double dof = std::max(1.0, n - 1), t = StudentQuantile(0.975, dof);
  const double threshold = n * std::log1p(t * t / dof);
  std::vector<double> profile;
  for (int k = 1; k <= kMeans; ++k) profile.push_back(Profile(x, sd, 1.2 * highest * k / kMeans));
  const double limit = *std::max_element(profile.begin(), profile.end()) - 0.5 * threshold;
  const auto first =
      std::find_if(profile.begin(), profile.end(), [&](double p) { return p >= limit; });
  double high = 1.2 * highest * static_cast<double>(first - profile.begin() + 1) / kMeans,
         low = high - 1.2 * highest / kMeans;
  for (int k = 0; k < kSteps && low < high - 1e-6 * high; ++k) {
    const double middle = 0.5 * (low + high);
    (Profile(x, sd, middle) >= limit ? high : low) = middle;
  }
  return high;
}

}  // namespace impactlab
