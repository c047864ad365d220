#include "data/statistics/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <numeric>

#include "data/base/error.h"
#include "data/files/text.h"

namespace impactlab {
namespace {

using boost::math::cdf;
using boost::math::complement;
using boost::math::quantile;

[[noreturn]] void Fail(const char* what, const std::string& found, const char* allowed) {
  throw ConfigError(fmt::format("statistics: {}: found {}, allowed {}", what, found, allowed));
}

void CheckInside(const char* what, double p) {
  if (!(p > 0 && p < 1)) Fail(what, FormatNumber(p), "a number above 0 and below 1");
}

void CheckDof(double dof) {
  if (!(dof > 0)) Fail("degrees of freedom", FormatNumber(dof), "a number above 0");
}

void CheckFinite(double x) {
  if (std::isnan(x)) Fail("value", "NaN", "a number");
}

void CheckValues(const std::vector<double>& values, std::size_t least) {
  if (values.size() < least)
    Fail("values", fmt::format("{} values", values.size()),
         least > 1 ? "two or more" : "one or more");
  for (const double value : values) {
    if (!std::isfinite(value)) Fail("value", FormatNumber(value), "a finite number");
  }
}

// Sum of the weights.
double CheckWeights(const std::vector<double>& values, const std::vector<double>& weights) {
  CheckValues(values, 1);
  if (weights.size() != values.size())
    Fail("weights", fmt::format("{} weights", weights.size()), "one for every value");
  double sum = 0;
  for (const double weight : weights) {
    if (!(weight >= 0 && std::isfinite(weight)))
      Fail("weight", FormatNumber(weight), "a finite number of at least 0");
    sum += weight;
  }
  if (!(sum > 0)) Fail("weights", "no weight above 0", "one or more above 0");
  return sum;
}

// Order statistic of interpolated rank; `values` is reordered.
double Interpolate(std::vector<double>& values, double p) {
  const double rank = p * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(rank);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(low), values.end());
  const double below = values[low];
  const double share = rank - static_cast<double>(low);
  if (share == 0) return below;
  const double above =
      *std::min_element(values.begin() + static_cast<std::ptrdiff_t>(low) + 1, values.end());
  return below + share * (above - below);
}

}  // namespace

double NormalQuantile(double p) {
  CheckInside("probability", p);
  return quantile(boost::math::normal(), p);
}

double NormalCdf(double x) {
  CheckFinite(x);
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

double StudentQuantile(double p, double dof) {
  CheckInside("probability", p);
  CheckDof(dof);
  return std::isinf(dof) ? NormalQuantile(p) : quantile(boost::math::students_t(dof), p);
}

double StudentCdf(double x, double dof) {
  CheckFinite(x);
  CheckDof(dof);
  if (std::isinf(x)) return x > 0 ? 1 : 0;
  return std::isinf(dof) ? NormalCdf(x) : cdf(boost::math::students_t(dof), x);
}

double ChiSquareQuantile(double p, double dof) {
  CheckInside("probability", p);
  CheckDof(dof);
  if (std::isinf(dof)) Fail("degrees of freedom", "infinity", "a finite number");
  return quantile(boost::math::chi_squared(dof), p);
}

double ChiSquareCdf(double x, double dof) {
  CheckFinite(x);
  CheckDof(dof);
  if (std::isinf(dof)) Fail("degrees of freedom", "infinity", "a finite number");
  if (x <= 0) return 0;
  return std::isinf(x) ? 1 : cdf(boost::math::chi_squared(dof), x);
}

CountBand BinomialBand(std::int64_t n, double p, double alpha) {
  if (n < 0) Fail("trials", std::to_string(n), "a number of at least 0");
  if (!(p >= 0 && p <= 1)) Fail("probability", FormatNumber(p), "a number from 0 to 1");
  CheckInside("level", alpha);
  if (n == 0) return {0, 0};
  if (p == 0) return {0, 0};
  if (p == 1) return {n, n};
  const boost::math::binomial distribution(static_cast<double>(n), p);
  // P(K <= k)
  const auto below = [&](std::int64_t k) {
    return k < 0 ? 0.0 : cdf(distribution, static_cast<double>(k));
  };
  // P(K > k)
  const auto above = [&](std::int64_t k) {
    return k >= n ? 0.0 : cdf(complement(distribution, static_cast<double>(k)));
  };
  // Bisection on the distribution function itself: the library's discrete quantiles round in ways
  // that depend on a policy.
  CountBand band{0, n};
  std::int64_t lo = 0, hi = n;  // smallest k with P(K <= k) > alpha / 2
  while (lo < hi) {
    const std::int64_t middle = lo + (hi - lo) / 2;
    if (below(middle) > alpha / 2) {
      hi = middle;
    } else {
      lo = middle + 1;
    }
  }
  band.lower = lo;
  lo = 0, hi = n;  // smallest k with P(K > k) <= alpha / 2
  while (lo < hi) {
    const std::int64_t middle = lo + (hi - lo) / 2;
    if (above(middle) <= alpha / 2) {
      hi = middle;
    } else {
      lo = middle + 1;
    }
  }
  band.upper = lo;
  return band;
}

Interval BinomialInterval(std::int64_t k, std::int64_t n, double alpha) {
  if (n < 1) Fail("trials", std::to_string(n), "a number of at least 1");
  if (k < 0 || k > n)
    Fail("successes", std::to_string(k), "a number from 0 to the number of trials");
  CheckInside("level", alpha);
  using Binomial = boost::math::binomial;
  const double trials = static_cast<double>(n), successes = static_cast<double>(k);
  Interval interval;
  interval.lower = k == 0 ? 0 : Binomial::find_lower_bound_on_p(trials, successes, alpha / 2);
  interval.upper = k == n ? 1 : Binomial::find_upper_bound_on_p(trials, successes, alpha / 2);
  return interval;
}

Interval ChiSquareBand(double dof, double alpha) {
  CheckInside("level", alpha);
  CheckDof(dof);
  if (std::isinf(dof)) Fail("degrees of freedom", "infinity", "a finite number");
  const boost::math::chi_squared distribution(dof);
  return {quantile(distribution, alpha / 2), quantile(complement(distribution, alpha / 2))};
}

double Mean(const std::vector<double>& values) {
  CheckValues(values, 1);
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double StandardDeviation(const std::vector<double>& values) {
  CheckValues(values, 2);
  const double mean = Mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

double Quantile(std::vector<double> values, double p) {
  CheckValues(values, 1);
  if (!(p >= 0 && p <= 1)) Fail("probability", FormatNumber(p), "a number from 0 to 1");
  return Interpolate(values, p);
}

double Median(std::vector<double> values) {
  CheckValues(values, 1);
  return Interpolate(values, 0.5);
}

double MedianOrZero(const std::vector<double>& values) {
  return values.empty() ? 0 : Median(values);
}

double MadSigma(const std::vector<double>& values) {
  const double center = Median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::fabs(value - center));
  return 1.482602218505602 * Median(std::move(distances));  // 1 / NormalQuantile(3 / 4)
}

double WeightedMedian(const std::vector<double>& values, const std::vector<double>& weights) {
  const double sum = CheckWeights(values, weights);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (weights[i] > 0) order.push_back(i);
  }
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  double reached = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    reached += weights[order[i]];
    // Sums of equal weights may miss the half by rounding.
    const bool exactly_half = std::fabs(2 * reached - sum) <= 1e-12 * sum;
    if (exactly_half && i + 1 < order.size())
      return 0.5 * (values[order[i]] + values[order[i + 1]]);
    if (2 * reached > sum) return values[order[i]];
  }
  return values[order.back()];
}

}  // namespace impactlab
