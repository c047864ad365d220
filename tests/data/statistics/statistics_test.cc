#include "data/statistics/statistics.h"

#include <cmath>
#include <limits>
#include <random>

#include "tests/data/message.h"
#include "tests/support/per_test_level.h"

namespace impactlab {
namespace {

using test::MessageOf;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Reference values: R 4 (qnorm, qt, qchisq), printed to 12 digits.
TEST(Statistics, QuantilesAgreeWithTables) {
  EXPECT_NEAR(NormalQuantile(0.975), 1.95996398454, 1e-11);
  EXPECT_NEAR(NormalQuantile(1e-10), -6.36134090240, 1e-10);
  EXPECT_NEAR(StudentQuantile(0.975, 4), 2.77644510520, 1e-10);
  EXPECT_NEAR(StudentQuantile(0.975, 1), 12.7062047362, 1e-9);
  EXPECT_EQ(StudentQuantile(0.975, kInf), NormalQuantile(0.975));
  EXPECT_NEAR(ChiSquareQuantile(0.95, 1), 3.84145882069, 1e-10);
  EXPECT_NEAR(ChiSquareQuantile(0.95, 2), -2 * std::log(0.05), 1e-12);
}

TEST(Statistics, DistributionsInvertTheirQuantiles) {
  for (const double p : {1e-6, 0.01, 0.3, 0.5, 0.9, 0.9999}) {
    EXPECT_NEAR(NormalCdf(NormalQuantile(p)), p, 1e-13);
    EXPECT_NEAR(StudentCdf(StudentQuantile(p, 3.5), 3.5), p, 1e-12);
    EXPECT_NEAR(ChiSquareCdf(ChiSquareQuantile(p, 7), 7), p, 1e-12);
  }
  EXPECT_EQ(NormalCdf(kInf), 1);
  EXPECT_EQ(NormalCdf(-kInf), 0);
  EXPECT_EQ(StudentCdf(-kInf, 3), 0);
  EXPECT_EQ(ChiSquareCdf(kInf, 3), 1);
  EXPECT_EQ(ChiSquareCdf(-1, 3), 0);
}

// Probabilities by plain summation, in logarithms.
double BinomialProbability(std::int64_t n, double p, std::int64_t k) {
  const double x = static_cast<double>(k), m = static_cast<double>(n);
  return std::exp(std::lgamma(m + 1) - std::lgamma(x + 1) - std::lgamma(m - x + 1) +
                  x * std::log(p) + (m - x) * std::log1p(-p));
}

TEST(Statistics, BinomialBandIsTheTightestThatIsExact) {
  for (const std::int64_t n : {1, 2, 7, 50, 1000}) {
    for (const double p : {0.001, 0.05, 0.5, 0.683, 0.95, 0.999}) {
      for (const double alpha : {0.5, 0.05, 0.001, 1e-6}) {
        const CountBand band = BinomialBand(n, p, alpha);
        double below = 0, above = 0;
        for (std::int64_t k = 0; k < band.lower; ++k) below += BinomialProbability(n, p, k);
        for (std::int64_t k = n; k > band.upper; --k) above += BinomialProbability(n, p, k);
        const double slack = 1e-9;
        EXPECT_LE(below, alpha / 2 + slack) << n << " " << p << " " << alpha;
        EXPECT_LE(above, alpha / 2 + slack);
        EXPECT_GT(below + BinomialProbability(n, p, band.lower), alpha / 2 - slack);
        EXPECT_GT(above + BinomialProbability(n, p, band.upper), alpha / 2 - slack);
        EXPECT_TRUE(band.Contains(std::llround(p * static_cast<double>(n))));
        EXPECT_FALSE(band.Contains(band.lower - 1));
        EXPECT_FALSE(band.Contains(band.upper + 1));
      }
    }
  }
  EXPECT_EQ(BinomialBand(10, 0, 0.05).upper, 0);
  EXPECT_EQ(BinomialBand(10, 1, 0.05).lower, 10);
  EXPECT_EQ(BinomialBand(0, 0.5, 0.05).upper, 0);
}

TEST(Statistics, BinomialIntervalIsTheBandTurnedRound) {
  for (const std::int64_t k : {0, 1, 5, 19, 20}) {
    const Interval interval = BinomialInterval(k, 20, 0.05);
    // Just outside the interval the count is refused, just inside it is accepted.
    if (k > 0) {
      EXPECT_FALSE(BinomialBand(20, interval.lower * (1 - 1e-6), 0.05).Contains(k));
      EXPECT_TRUE(BinomialBand(20, interval.lower * (1 + 1e-6), 0.05).Contains(k));
    }
    if (k < 20) {
      EXPECT_TRUE(BinomialBand(20, interval.upper * (1 - 1e-6), 0.05).Contains(k));
      EXPECT_FALSE(BinomialBand(20, interval.upper * (1 + 1e-6), 0.05).Contains(k));
    }
  }
  EXPECT_EQ(BinomialInterval(0, 20, 0.05).lower, 0);
  EXPECT_EQ(BinomialInterval(20, 20, 0.05).upper, 1);
  EXPECT_NEAR(BinomialInterval(0, 20, 0.05).upper, 1 - std::pow(0.025, 1.0 / 20), 1e-12);
}

TEST(Statistics, ChiSquareBand) {
  const Interval band = ChiSquareBand(10, 0.05);
  EXPECT_NEAR(ChiSquareCdf(band.lower, 10), 0.025, 1e-12);
  EXPECT_NEAR(ChiSquareCdf(band.upper, 10), 0.975, 1e-12);
  const Interval far = ChiSquareBand(3, 1e-12);
  EXPECT_GT(far.upper, 50);
  EXPECT_LT(far.upper, 100);
}

TEST(Statistics, FamilyOfTests) {
  const double level = PerTestLevel(0.001, 40);
  EXPECT_NEAR(1 - std::pow(1 - level, 40), 0.001, 1e-15);
  EXPECT_DOUBLE_EQ(PerTestLevel(0.05, 1), 0.05);
}

TEST(Statistics, LocationAndScale) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(Median({7}), 7);
  EXPECT_EQ(Mean({1, 2, 6}), 3);
  EXPECT_DOUBLE_EQ(StandardDeviation({1, 2, 6}), std::sqrt(7.0));
  EXPECT_EQ(Quantile({10, 20, 30, 40, 50}, 0), 10);
  EXPECT_EQ(Quantile({50, 20, 30, 40, 10}, 1), 50);
  EXPECT_DOUBLE_EQ(Quantile({10, 20, 30, 40}, 0.25), 17.5);  // R type 7
  EXPECT_EQ(MadSigma({5, 5, 5}), 0);
  std::mt19937_64 random(17);
  std::normal_distribution<double> normal(3, 2);
  std::vector<double> values(100001);
  for (double& value : values) value = normal(random);
  // a fifth of the data far out moves it little
  for (std::size_t i = 0; i < 20000; ++i) values[i] = 1e9;
  EXPECT_NEAR(Median(values), 3 + 2 * NormalQuantile(0.625), 0.05);
  EXPECT_LT(MadSigma(values), 4);
}

TEST(Statistics, Weights) {
  EXPECT_EQ(WeightedMedian({1, 2, 3}, {1, 1, 1}), 2);
  EXPECT_EQ(WeightedMedian({3, 1, 2, 4}, {1, 1, 1, 1}), 2.5);
  EXPECT_EQ(WeightedMedian({3, 1, 2}, {5, 1, 1}), 3);
  EXPECT_EQ(WeightedMedian({3, 1, 2}, {0, 1, 0}), 1);
  const std::vector<double> tenths(10, 0.1);
  EXPECT_EQ(WeightedMedian({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, tenths), 5.5);
}

TEST(Statistics, MeaninglessArgumentsAreRefused) {
  EXPECT_THAT(MessageOf<ConfigError>([] { NormalQuantile(0); }),
              HasSubstr("probability: found 0, allowed"));
  EXPECT_THROW(NormalQuantile(1), ConfigError);
  EXPECT_THROW(NormalQuantile(kNan), ConfigError);
  EXPECT_THROW(NormalCdf(kNan), ConfigError);
  EXPECT_THROW(StudentQuantile(0.5, 0), ConfigError);
  EXPECT_THROW(StudentQuantile(0.5, kNan), ConfigError);
  EXPECT_THROW(ChiSquareQuantile(0.5, -1), ConfigError);
  EXPECT_THROW(ChiSquareQuantile(0.5, kInf), ConfigError);
  EXPECT_THROW(ChiSquareBand(0, 0.05), ConfigError);
  EXPECT_THROW(BinomialBand(-1, 0.5, 0.05), ConfigError);
  EXPECT_THROW(BinomialBand(10, 1.5, 0.05), ConfigError);
  EXPECT_THROW(BinomialBand(10, 0.5, 0), ConfigError);
  EXPECT_THROW(BinomialInterval(11, 10, 0.05), ConfigError);
  EXPECT_THROW(BinomialInterval(0, 0, 0.05), ConfigError);
  EXPECT_THROW(Median({}), ConfigError);
  EXPECT_THROW(Median({1, kNan}), ConfigError);
  EXPECT_THROW(MadSigma({}), ConfigError);
  EXPECT_THROW(StandardDeviation({1}), ConfigError);
  EXPECT_THROW(Quantile({1, 2}, 1.01), ConfigError);
  EXPECT_THROW(WeightedMedian({1, 2}, {1}), ConfigError);
  EXPECT_THROW(WeightedMedian({1, 2}, {0, 0}), ConfigError);
  EXPECT_THROW(WeightedMedian({1, 2}, {1, -1}), ConfigError);
  EXPECT_THROW(WeightedMedian({1, kInf}, {1, 1}), ConfigError);
}

}  // namespace
}  // namespace impactlab
