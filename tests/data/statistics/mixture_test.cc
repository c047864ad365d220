#include "data/statistics/mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

// Values of `n` clusters about 0, those of every third about `shift`.
PopulationData Values(int n, double shift, double sd, double scatter, bool heavy,
                      std::uint64_t seed, int each = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::chi_squared_distribution<double> chi_square(4);
  PopulationData data;
  data.value.resize(1);
  data.sd.resize(1);
  for (int i = 0; i < n * each; ++i) {
    const double tails = heavy ? std::sqrt(4 / chi_square(random)) : 1;
    data.cluster.push_back(i / each);
    data.value[0].push_back((i / each % 3 == 0 ? shift : 0) +
                            std::hypot(sd, scatter) * tails * normal(random));
    data.sd[0].push_back(sd);
  }
  return data;
}

TEST(MixtureTest, PartsWhatIsApart) {
  const MixtureTest t = TestMixture(Values(45, 0.15, 0.01, 0.02, false, 3), 199, 1);
  ASSERT_TRUE(t.tested);
  EXPECT_LE(t.p, 0.005);
  EXPECT_NEAR(t.mean_first[0], 0, 0.02);
  EXPECT_NEAR(t.mean_second[0], 0.15, 0.02);
  EXPECT_NEAR(t.scatter_two[0], 0.02, 0.01);
  EXPECT_GT(t.separation, 4);
  for (std::size_t c = 0; c < t.probability.size(); ++c)
    EXPECT_EQ(t.probability[c] > 0.5, c % 3 == 0) << c;
}

// Members of a cluster belong together: what four values of a recording say is decided where one
// alone is not.
TEST(MixtureTest, ClustersDecideTogether) {
  const MixtureTest t = TestMixture(Values(30, 0.06, 0.02, 0.01, false, 4, 6), 199, 1);
  EXPECT_LE(t.p, 0.01);
  int wrong = 0;
  for (std::size_t c = 0; c < t.probability.size(); ++c)
    wrong += (t.probability[c] > 0.5) != (c % 3 == 0);
  EXPECT_LE(wrong, 1);
}

TEST(MixtureTest, TooFewAreNotTested) {
  EXPECT_FALSE(TestMixture(Values(7, 1, 0.01, 0.01, false, 5), 99, 1).tested);
  EXPECT_FALSE(TestMixture({}, 99, 1).tested);
}

// One population, normal or with heavy tails, is called two no more often than p says.
TEST(MixtureTest, KeepsItsLevel) {
  for (const bool heavy : {false, true}) {
    int below = 0;
    constexpr int kSets = 60;
    for (int k = 0; k < kSets; ++k)
      below += TestMixture(Values(30, 0, 0.01, 0.02, heavy, 100 + k), 99, k).p < 0.1;
    EXPECT_LE(below, BinomialBand(kSets, 0.1, 1e-3).upper) << heavy;
    EXPECT_GE(below, 1) << heavy;
  }
}

}  // namespace
}  // namespace impactlab
