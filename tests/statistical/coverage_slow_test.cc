// A reduced sentinel of coverage_study: 160 planar experiments of 20 drops through the whole back
// half of the chain.

#include <gtest/gtest.h>

#include "data/statistics/statistics.h"
#include "tests/statistical/twin.h"
#include "tests/support/per_test_level.h"

namespace impactlab {
namespace {

TEST(Coverage, PlanarTwinsHoldTheTruth) {
  int n_mu = 0, mu_inside = 0, n_e = 0, e_inside = 0, bounds = 0, bounds_hold = 0;
  for (int k = 0; k < 160; ++k) {
    std::mt19937_64 rng(4001 + k);
    const SynthOptions scene = twin::RandomScene(rng, {true, k % 2 == 1, 20}, 9001 + k);
    IdentifyOptions identify;
    identify.influence = false;
    const twin::TwinOutcome outcome = twin::RunTwin(scene, identify);
    if (outcome.accepted < 5) continue;
    const ParameterEstimate &mu = outcome.fit.mu_k, &e = outcome.fit.e;
    if (e.identifiable) {
      ++n_e;
      e_inside += e.lower95 <= scene.model.e && scene.model.e <= e.upper95;
    }
    if (mu.identifiable) {
      ++n_mu;
      mu_inside += mu.lower95 <= scene.model.mu_k && scene.model.mu_k <= mu.upper95;
    } else if (mu.lower95 > 0) {
      ++bounds;
      bounds_hold += mu.lower95 <= scene.model.mu_k;
    }
  }
  const double alpha = PerTestLevel(0.001, 2);
  EXPECT_GT(n_mu, 60);
  EXPECT_TRUE(BinomialBand(n_mu, 0.95, alpha).Contains(mu_inside)) << mu_inside << " of " << n_mu;
  EXPECT_GT(n_e, 120);
  EXPECT_TRUE(BinomialBand(n_e, 0.95, alpha).Contains(e_inside)) << e_inside << " of " << n_e;
  // A one-sided bound at 95 % may fail now and then.
  EXPECT_GT(bounds, 10);
  EXPECT_GE(bounds_hold, BinomialBand(bounds, 0.95, alpha).lower)
      << bounds_hold << " of " << bounds;
}

// Where nearly every impact sticks a few decide: by chance bounds lie above the truth as seldom as
// they say, and then by little.
TEST(Coverage, FrictionNearTheThresholdOfSticking) {
  SynthOptions sample = LoadScene(std::string(IMPACTLAB_SOURCE_DIR) + "/data/sample/scene.yaml");
  sample.lost_frame_share = sample.double_strike_share = 0;
  sample.error = {};
  int n = 0, hold = 0;
  for (const auto& [drops, first_seed] : {std::pair(12, 300), std::pair(5, 700)}) {
    for (const double mu : {0.5, 0.6}) {
      for (int k = 0; k < 60; ++k) {
        SynthOptions scene = sample;
        scene.model.mu_k = scene.model.mu_s = mu;
        scene.drops = drops;
        scene.seed = static_cast<std::uint64_t>(first_seed) + static_cast<std::uint64_t>(k);
        IdentifyOptions identify;
        identify.influence = false;
        const ParameterEstimate found = twin::RunTwin(scene, identify, 0).fit.mu_k;
        ++n;
        hold += found.lower95 <= mu && mu <= found.upper95;
        EXPECT_LT(found.lower95, 1.3 * mu)
            << drops << " drops, mu " << mu << ", seed " << scene.seed;
      }
    }
  }
  EXPECT_GE(hold, BinomialBand(n, 0.95, 0.001).lower) << hold << " of " << n;
}

}  // namespace
}  // namespace impactlab
