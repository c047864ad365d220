// A reduced sentinel of model_study: intervals of coefficient models lie in exact binomial bands,
// family-wise level 0.001, seeds fixed.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "data/base/parallel.h"
#include "data/statistics/statistics.h"
#include "tests/statistical/model_scenes.h"
#include "tests/support/per_test_level.h"

namespace impactlab::test {
namespace {

Coverage Score(const ModelScene& scene, int campaigns, int refits) {
  std::vector<Coverage> each(static_cast<std::size_t>(campaigns));
  ForEachIndex(each.size(), 0, [&](std::size_t k) {
    each[k] = ScoreModelCampaign(scene, 20261129, static_cast<int>(k), refits);
  });
  Coverage sum;
  for (const Coverage& one : each)
    for (const auto& [name, covered] : one) sum[name] += covered;
  return sum;
}

void ExpectInBand(const ModelScene& scene, const Coverage& coverage) {
  constexpr int kTests = 60;
  EXPECT_FALSE(coverage.empty());
  for (const auto& [name, covered] : coverage) {
    const CountBand band = BinomialBand(covered.n, 0.95, PerTestLevel(0.001, kTests));
    fmt::print("{}: {} {} of {} = {:.4f}, band [{}, {}]\n", scene.name, name, covered.covered,
               covered.n, covered.share(), band.lower, band.upper);
    EXPECT_TRUE(band.Contains(covered.covered)) << scene.name << " " << name;
  }
}

TEST(ModelSlow, IntervalsOfEveryModelHoldTheTruth) {
  for (const ModelScene& scene : kModelScenes)
    ExpectInBand(scene, Score(scene, scene.planar ? 400 : 60, 0));
}

TEST(ModelSlow, EveryMethodHoldsTheTruth) {
  for (const ModelScene& scene : kModelScenes)
    if (scene.planar && scene.groups == 1) ExpectInBand(scene, Score(scene, 60, 99));
}

}  // namespace
}  // namespace impactlab::test
