#pragma once
// Quantiles, test bands and robust location and scale. Arguments that have no meaning (a
// probability outside its range, no values, a weight below 0, NaN) throw ConfigError.

#include <cstdint>
#include <vector>

namespace impactlab {

// Quantiles for 0 < p < 1 and distribution functions.
double NormalQuantile(double p);
double NormalCdf(double x);
double StudentQuantile(double p, double dof);  // dof > 0, infinity is the normal
double StudentCdf(double x, double dof);
double ChiSquareQuantile(double p, double dof);
double ChiSquareCdf(double x, double dof);

// NormalQuantile(0.975): half the width of a 95 % interval in standard deviations.
inline constexpr double kNormal95 = 1.959963984540054;

struct Interval {
  double lower = 0, upper = 0;
};

// Counts k of `n` trials of probability `p` that an exact two-sided test at level `alpha` accepts:
// at most alpha / 2 of probability lies below `lower` and at most alpha / 2 above `upper`.
struct CountBand {
  std::int64_t lower = 0, upper = 0;
  bool Contains(std::int64_t k) const { return lower <= k && k <= upper; }
};
CountBand BinomialBand(std::int64_t n, double p, double alpha);

// Exact (Clopper-Pearson) interval of level 1 - alpha for the probability behind k successes of n.
Interval BinomialInterval(std::int64_t k, std::int64_t n, double alpha);

// Central band of probability 1 - alpha of a chi-square variable.
Interval ChiSquareBand(double dof, double alpha);

double Mean(const std::vector<double>& values);
// Unbiased sample standard deviation; needs two values.
double StandardDeviation(const std::vector<double>& values);
// Linear interpolation between order statistics (R type 7), 0 <= p <= 1.
double Quantile(std::vector<double> values, double p);
double Median(std::vector<double> values);
// 0 where there are no values: nothing was measured.
double MedianOrZero(const std::vector<double>& values);
// Median absolute deviation from the median, times 1.4826 so that it estimates the standard
// deviation of normal data.
double MadSigma(const std::vector<double>& values);

// Smallest value at which half of the total weight is reached; midpoint where it is reached
// exactly.
double WeightedMedian(const std::vector<double>& values, const std::vector<double>& weights);

}  // namespace impactlab
