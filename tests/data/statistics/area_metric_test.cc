#include "data/statistics/area_metric.h"

#include <cmath>
#include <numeric>
#include <random>

#include "data/base/error.h"
#include "data/statistics/many_tests.h"
#include "data/statistics/statistics.h"
#include "tests/data/message.h"
#include "tests/support/per_test_level.h"

namespace impactlab {
namespace {

using test::MessageOf;
using ::testing::HasSubstr;

TEST(AreaMetric, OfOneValueByHand) {
  EXPECT_NEAR(AreaFromUniform({0.5}), 0.25, 1e-15);
  EXPECT_NEAR(AreaFromUniform({0}), 0.5, 1e-15);
  EXPECT_NEAR(AreaFromUniform({0.2}), 0.5 * 0.04 + 0.5 * 0.64, 1e-15);
  // Two at the quarters: four triangles of 1/32.
  EXPECT_NEAR(AreaFromUniform({0.75, 0.25}), 0.125, 1e-15);
  EXPECT_THAT(MessageOf<ConfigError>([] { AreaFromUniform({0.2, 1.5}); }), HasSubstr("found 1.5"));
  EXPECT_THAT(MessageOf<ConfigError>([] { AreaFromUniform({}); }), HasSubstr("found no values"));
}

// Two distributions that differ by a shift lie an area apart that is the shift; by a scale, the
// mean of |z| times the difference.
TEST(AreaMetric, OfShiftAndScaleOfANormal) {
  std::vector<double> x;
  constexpr int kN = 4000;
  x.reserve(kN);
  for (int i = 0; i < kN; ++i) x.push_back(3 + 2 * NormalQuantile((i + 0.5) / kN));
  EXPECT_NEAR(NormalMixture({3}, {2}).AreaFrom(x), 0, 4e-3);
  EXPECT_NEAR(NormalMixture({3.7}, {2}).AreaFrom(x), 0.7, 4e-3);
  EXPECT_NEAR(NormalMixture({3}, {1}).AreaFrom(x), std::sqrt(2 / M_PI), 4e-3);
  EXPECT_NEAR(NormalMixture({1, 5}, {0.1, 0.1}).Quantile(0.25), 1, 2e-2);
  EXPECT_NEAR(NormalMixture({1, 5}, {0, 0}).AreaFrom({1, 5}), 0, 5e-2);
  EXPECT_THAT(MessageOf<ConfigError>([] { NormalMixture({1}, {-1}); }),
              HasSubstr("standard deviation -1"));
}

// p of a true prediction is uniform: counts in tenths, exact bands.
TEST(AreaMetric, ReferenceGivesUniformProbabilities) {
  std::vector<int> cluster(25);
  std::iota(cluster.begin(), cluster.end(), 0);
  const AreaReference reference = UniformReference({cluster, 0}, 4999, 5);
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> uniform;
  constexpr int kSets = 4000;
  std::vector<int> counts(10, 0);
  for (int k = 0; k < kSets; ++k) {
    std::vector<double> u(25);
    for (double& one : u) one = uniform(random);
    ++counts[std::min(9, static_cast<int>(10 * reference.Exceedance(AreaFromUniform(u))))];
  }
  // The reference is drawn as well: its tenths carry an error of their own.
  const CountBand band = BinomialBand(kSets, 0.1, PerTestLevel(1e-3, 10));
  for (const int count : counts) {
    EXPECT_GE(count, band.lower - 25);
    EXPECT_LE(count, band.upper + 25);
  }
  EXPECT_GT(reference.Upper95(), reference.Median());
}

TEST(AreaMetric, ClustersWidenTheReference) {
  std::vector<int> alone(40), fours(40);
  for (int i = 0; i < 40; ++i) alone[i] = i, fours[i] = i / 4;
  const double independent = UniformReference({alone, 0}, 999, 1).Median();
  // ten values in place of forty
  EXPECT_NEAR(UniformReference({fours, 1}, 999, 1).Median() / independent, 2, 0.3);
  EXPECT_NEAR(UniformReference({fours, 0}, 999, 1).Median(), independent, 0.1 * independent);
  const double half = UniformReference({fours, 0.5}, 999, 1).Median() / independent;
  EXPECT_GT(half, 1.2);
  EXPECT_LT(half, 1.8);
  // Areas fall as the square root of the sample.
  std::vector<int> many(640);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_NEAR(independent / UniformReference({many, 0}, 999, 1).Median(), 4, 0.5);
}

TEST(AreaMetric, CorrelationWithinClusters) {
  std::mt19937_64 random(4);
  std::normal_distribution<double> normal;
  std::vector<double> z;
  std::vector<int> cluster;
  for (int c = 0; c < 400; ++c) {
    const double common = normal(random);
    for (int k = 0; k < 3; ++k) {
      z.push_back(std::sqrt(0.3) * common + std::sqrt(0.7) * normal(random));
      cluster.push_back(c);
    }
  }
  EXPECT_NEAR(CorrelationWithin(z, cluster), 0.3 + 2 / std::sqrt(1200), 0.09);
  EXPECT_EQ(CorrelationWithin({1, -1, 0.5}, {0, 1, 2}), 0);
  EXPECT_EQ(CorrelationWithin({1, 1, -2, -2}, {0, 0, 1, 1}), 1);
}

TEST(ManyTests, HolmByHand) {
  const std::vector<double> adjusted = HolmAdjusted({0.01, 0.04, std::nan(""), 0.03, 0.005});
  EXPECT_DOUBLE_EQ(adjusted[0], 0.03);
  EXPECT_DOUBLE_EQ(adjusted[1], 0.06);
  EXPECT_TRUE(std::isnan(adjusted[2]));
  EXPECT_DOUBLE_EQ(adjusted[3], 0.06);
  EXPECT_DOUBLE_EQ(adjusted[4], 0.02);
  EXPECT_DOUBLE_EQ(HolmAdjusted({0.9, 0.8})[0], 1);
  EXPECT_THAT(MessageOf<ConfigError>([] { HolmAdjusted({1.2}); }), HasSubstr("found 1.2"));
}

TEST(ManyTests, NormalScoresOfTiesAreTheirMean) {
  const std::vector<double> s = NormalScores({5, 1, 5, 9});
  EXPECT_DOUBLE_EQ(s[0], s[2]);
  EXPECT_NEAR(s[0], 0, 1e-12);
  EXPECT_NEAR(s[1], NormalQuantile(0.2), 1e-12);
  EXPECT_NEAR(s[3], NormalQuantile(0.8), 1e-12);
}

TEST(ManyTests, PermutationKeepsClustersTogether) {
  const std::vector<int> cluster{0, 0, 1, 2, 2, 3};
  ClusterPermutation permutation(cluster);
  std::mt19937_64 random(3);
  int moved = 0;
  for (int k = 0; k < 50; ++k) {
    const std::vector<std::size_t>& from = permutation.Next(random);
    EXPECT_EQ(cluster[from[0]], cluster[from[1]]);
    EXPECT_EQ(from[0] + 1, from[1]);
    EXPECT_EQ(from[3] + 1, from[4]);
    EXPECT_TRUE(from[2] == 2 || from[2] == 5);
    moved += from[0] == 3;
  }
  EXPECT_GT(moved, 10);
  EXPECT_LT(moved, 40);
}

}  // namespace
}  // namespace impactlab
