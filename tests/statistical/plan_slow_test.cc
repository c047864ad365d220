// Sentinels of plan_study and verdict_study.

#include <gtest/gtest.h>

#include <cmath>

#include "data/statistics/statistics.h"
#include "tests/statistical/plan_twin.h"
#include "tests/statistical/verdict_rates.h"
#include "tests/support/per_test_level.h"

namespace impactlab::twin {
namespace {

struct Held {
  MadeCoefficient mu, e;
  PlanPoint planned;
};

Held HoldPlan(const std::string& file, int drops, double effort, int campaigns) {
  ExperimentDesign plan = LoadPlan(std::string(IMPACTLAB_SOURCE_DIR) + "/data/plans/" + file);
  plan.drops = drops;
  plan.effort = effort;
  plan.rivals.clear();
  plan.layout_sd = plan.inertia_sd = 0;
  const PlanResult result = MakePlan(plan, 1);
  Held held;
  held.planned = result.curve.back();
  for (int k = 0; k < campaigns; ++k) {
    std::mt19937_64 random(977 + 7919ull * static_cast<std::uint64_t>(k));
    const MadeCampaign made = MakeCampaign(plan, result.counts, random);
    held.mu.Add(made.fit.mu_k, made.truth.mu_k);
    held.e.Add(made.fit.e, made.truth.e);
  }
  return held;
}

TEST(PlanStudy, CampaignsInAPlaneGiveWhatWasPlanned) {
  for (const char* file : {"square_drops.yaml", "bar_in_a_plane.yaml"}) {
    SCOPED_TRACE(file);
    const Held held = HoldPlan(file, 12, 0.5, 150);
    for (const auto& [made, planned] :
         {std::pair(held.mu, held.planned.mu), std::pair(held.e, held.planned.e)}) {
      EXPECT_NEAR(planned.half_width / Median(made.half), 1, 0.12);
      EXPECT_NEAR(planned.error95 / Quantile(made.error, 0.95), 1, 0.3);
      EXPECT_NEAR(planned.determined, static_cast<double>(made.half.size()) / made.campaigns, 0.12);
      EXPECT_TRUE(BinomialBand(static_cast<std::int64_t>(made.half.size()), 0.95, 1e-4)
                      .Contains(made.covered))
          << made.covered;
    }
  }
}

TEST(PlanStudy, CampaignsInSpaceGiveWhatWasPlanned) {
  const Held held = HoldPlan("rod_on_incline.yaml", 8, 0.2, 24);
  for (const auto& [made, planned] :
       {std::pair(held.mu, held.planned.mu), std::pair(held.e, held.planned.e)}) {
    ASSERT_GE(made.half.size(), 20u);
    EXPECT_NEAR(planned.half_width / Median(made.half), 1, 0.35);
  }
}

TEST(VerdictStudy, TrueLawsAreSeldomDiscrepantAndWrongOnesOften) {
  constexpr int kCampaigns = 150;
  std::map<std::string, int> false_alarms, found;
  for (int k = 0; k < kCampaigns; ++k) {
    const std::uint64_t seed = 4001 + 31 * static_cast<std::uint64_t>(k);
    for (const auto& [quantity, wrong] : HeldOutVerdicts(RestitutionLaw::kEnergetic, 1e-3, seed))
      false_alarms[quantity] += wrong;
    for (const auto& [quantity, wrong] : HeldOutVerdicts(RestitutionLaw::kNewton, 1e-3, seed))
      found[quantity] += wrong;
  }
  ASSERT_GE(false_alarms.size(), 7u);
  const CountBand band = BinomialBand(kCampaigns, kFalseAlarm,
                                      PerTestLevel(1e-3, static_cast<int>(false_alarms.size())));
  for (const auto& [quantity, count] : false_alarms)
    EXPECT_TRUE(band.Contains(count)) << quantity << ": " << count;
  EXPECT_GT(found["v_n_plus"], kCampaigns / 2);
}

TEST(VerdictStudy, ALawIsFoundAsOftenAsPlanned) {
  const LawTest test(0.06);
  const PlanRival rival =
      CompareLaws(test.plan, test.settings, {24}, RestitutionLaw::kNewton, 400, 7, 1);
  EXPECT_GT(rival.Drops(0.8), 20);
  EXPECT_LT(rival.Drops(0.8), 50);
  const LawRates rates = RatesOf(test, rival, 36, 200, 8);
  EXPECT_NEAR(static_cast<double>(rates.found) / rates.n, rival.Power(36), 0.12);
  // The critical value itself is known to a few hundredths of a standard deviation only.
  EXPECT_LT(rates.false_alarms, 0.12 * rates.n);
}

}  // namespace
}  // namespace impactlab::twin
