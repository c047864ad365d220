// Quantile of an estimate whose observations scatter by an unknown amount beyond their noise.

#include "data/statistics/unknown_scatter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/base/error.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

// Probability that an interval holds the truth where the variance is `variance` times that of the
// noise: over sums of squares spread evenly in probability.
double Coverage(double variance, double dof) {
  constexpr int kSums = 200;
  double sum = 0;
  for (int i = 0; i < kSums; ++i) {
    const double square = variance * ChiSquareQuantile((i + 0.5) / kSums, dof);
    const double width = QuantileWithUnknownScatter(0.975, square, dof);
    sum += (2 * NormalCdf(width / std::sqrt(variance)) - 1) / kSums;
  }
  return sum;
}

TEST(QuantileWithUnknownScatter, HoldsWhateverTheScatter) {
  for (const double dof : {2.0, 3.0, 6.0})
    for (const double variance : {1.0, 1.3, 2.0, 4.0, 11.0, 100.0, 1e5}) {
      EXPECT_GT(Coverage(variance, dof), 0.930) << dof << " " << variance;
      EXPECT_LT(Coverage(variance, dof), 0.996) << dof << " " << variance;
    }
  for (const double variance : {1.0, 4.0, 100.0, 1e5}) EXPECT_GT(Coverage(variance, 1), 0.94);
  EXPECT_LT(Coverage(1, 6), 0.975);
}

TEST(QuantileWithUnknownScatter, IsStudentsWhereScatterIsLarge) {
  for (const double dof : {1.0, 2.5, 7.0}) {
    const double square = 1e5 * dof;
    EXPECT_NEAR(QuantileWithUnknownScatter(0.975, square, dof),
                StudentQuantile(0.975, dof) * std::sqrt(square / dof),
                0.01 * StudentQuantile(0.975, dof) * std::sqrt(square / dof))
        << dof;
  }
}

// The two ways to compute it meet where one takes over from the other.
TEST(QuantileWithUnknownScatter, IsContinuous) {
  for (const double dof : {1.0, 4.0}) {
    const double below = QuantileWithUnknownScatter(0.975, 0.9999e6 * dof, dof);
    EXPECT_NEAR(QuantileWithUnknownScatter(0.975, 1.0001e6 * dof, dof), below, 0.005 * below);
  }
}

TEST(QuantileWithUnknownScatter, GrowsWithSquaresAndFallsWithDegreesOfFreedom) {
  double last = NormalQuantile(0.975);
  for (const double square : {0.0, 1.0, 5.0, 20.0, 300.0}) {
    const double width = QuantileWithUnknownScatter(0.975, square, 3);
    EXPECT_GT(width, last) << square;
    last = width;
  }
  EXPECT_GT(QuantileWithUnknownScatter(0.975, 1, 1), QuantileWithUnknownScatter(0.975, 4, 4));
  EXPECT_NEAR(QuantileWithUnknownScatter(0.975, 0, 1e4), NormalQuantile(0.975), 0.01);
}

TEST(QuantileWithUnknownScatter, RefusesWhatHasNoMeaning) {
  EXPECT_THROW(QuantileWithUnknownScatter(0.5, 1, 1), ConfigError);
  EXPECT_THROW(QuantileWithUnknownScatter(0.9, -1, 1), ConfigError);
  EXPECT_THROW(QuantileWithUnknownScatter(0.9, 1, 0), ConfigError);
  EXPECT_THROW(QuantileWithUnknownScatter(0.9, NAN, 1), ConfigError);
  EXPECT_THROW(QuantileWithUnknownScatter(0.9, 1, INFINITY), ConfigError);
}

}  // namespace
}  // namespace impactlab
