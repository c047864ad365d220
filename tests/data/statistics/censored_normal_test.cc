// Friction of contacts of which nobody knows whether they slide: coverage of the bound of its mean.

#include "data/statistics/censored_normal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "data/base/error.h"

namespace impactlab {
namespace {

struct Drawn {
  int held = 0;           // sets whose bound lies below the mean
  double share_mean = 0;  // of the bound in the mean
};

// Demands are spread evenly up to `demand`, or are `demand` where they are all alike.
Drawn Draw(int n, double scatter, double demand, bool alike, double error, unsigned seed) {
  constexpr double kMean = 0.15;
  constexpr int kSets = 50;
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  Drawn drawn;
  for (int set = 0; set < kSets; ++set) {
    std::vector<double> x, sd(n, error);
    for (int i = 0; i < n; ++i) {
      const double strength = kMean * (1 + scatter * normal(random));
      const double asked = alike ? demand : demand * uniform(random);
      x.push_back(std::abs(std::min(strength, asked) + error * normal(random)));
    }
    const double bound = LowerBoundOfCensoredMean(x, sd);
    drawn.held += bound <= kMean;
    drawn.share_mean += bound / kMean / kSets;
  }
  return drawn;
}

TEST(CensoredMean, BoundHoldsWhateverSlides) {
  for (const int n : {6, 30})
    for (const double scatter : {0.0, 0.15}) {
      // All slide; half of them; none.
      for (const double demand : {10.0, 0.3, 0.14})
        EXPECT_GE(Draw(n, scatter, demand, false, 0.002, 5).held, 45)
            << n << " " << scatter << " " << demand;
      EXPECT_GE(Draw(n, scatter, 0.1, true, 0.002, 6).held, 49) << n << " " << scatter;
    }
}

TEST(CensoredMean, BoundIsCloseWhereManySlide) {
  EXPECT_GT(Draw(30, 0.05, 10, false, 0.002, 7).share_mean, 0.95);
  EXPECT_GT(Draw(30, 0.05, 0.3, false, 0.002, 7).share_mean, 0.88);
  EXPECT_GT(Draw(30, 0, 0.3, false, 0.0005, 7).share_mean, 0.95);
}

TEST(CensoredMean, NothingSeenBoundsNothing) {
  EXPECT_EQ(LowerBoundOfCensoredMean({}, {}), 0);
  EXPECT_EQ(LowerBoundOfCensoredMean({0, 0}, {0.1, 0.1}), 0);
  EXPECT_LT(LowerBoundOfCensoredMean({0.2}, {0.01}), 0.2);
  EXPECT_GT(LowerBoundOfCensoredMean({0.2}, {0.01}), 0);
  EXPECT_THROW(LowerBoundOfCensoredMean({0.2}, {}), ConfigError);
  EXPECT_THROW(LowerBoundOfCensoredMean({NAN}, {0.1}), ConfigError);
  EXPECT_THROW(LowerBoundOfCensoredMean({0.2}, {-1}), ConfigError);
}

}  // namespace
}  // namespace impactlab
