#pragma once
// Verdicts on laws over many campaigns: of validation on impacts left out of the fit, and of the
// test between two laws.

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "data/base/parallel.h"
#include "data/statistics/statistics.h"
#include "impact/identify/design.h"
#include "pipelines/plan/plan.h"
#include "pipelines/study/validation.h"
#include "tests/impact/identify_twin.h"

namespace impactlab::twin {

// Probability of |E| > 2 u_val under a true law.
inline const double kFalseAlarm = 2 * NormalCdf(-2);

// Square, energetic law, no scatter: 24 drops, of which the first is left out with its fold. By
// quantity whether `law`, fitted to the others, is called discrepant with it.
inline std::map<std::string, bool> HeldOutVerdicts(RestitutionLaw law, double sd_v,
                                                   std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Options options;
  options.n = 24;
  options.mu = 0.25;
  options.sd_v = sd_v;
  options.sd_omega = sd_v / 0.0245;  // alike at the radius of gyration
  options.sd_r = 0.05 * sd_v;
  const Body body = Square();
  const std::vector<ImpactEvent> events = Experiment(body, options, random);
  IdentifyOptions identify;
  identify.fit_discrepancy = identify.influence = identify.intervals = false;
  identify.likelihood = Likelihood::kGaussian;
  FitResult fit;
  fit.fits.push_back(
      Identify(events, body, {{.e = 0.5, .mu_k = 0.25, .mu_s = 0.25}, law}, identify));
  ValidationOptions validation;
  validation.tolerance_velocity = validation.tolerance_spin = validation.tolerance_ratio = 1e-9;
  std::map<std::string, bool> out;
  for (const ValidationRow& row : Validate(events, body, fit, identify, validation).rows)
    if (!row.in_sample && row.law == LawName(law) && row.recording == events.front().recording)
      out[row.quantity] = row.verdict == "discrepant";
  return out;
}

// The energetic law against Newton's on random drops of a square, which slide, stick and reverse.
struct LawTest {
  ExperimentDesign plan;
  std::vector<PlannedSetting> settings;
  explicit LawTest(double scatter) {
    plan.body = Square();
    plan.mu.a = 0.25;
    plan.e.a = 0.5;
    plan.scatter.wrench = {scatter, scatter, scatter};
    std::mt19937_64 random(31);
    Options options;
    settings.resize(1);
    for (int k = 0; k < 200; ++k) {
      PlannedImpact planned;
      planned.event = RandomEvent(plan.body, options, random, k);
      planned.common.resize(kEventDim, 0);
      settings[0].push_back(planned);
    }
  }
};

struct LawRates {
  int n = 0, found = 0, false_alarms = 0;
};

// Campaigns of `drops` impacts under either law, judged by the critical value that `rival` gives.
inline LawRates RatesOf(const LawTest& test, const PlanRival& rival, int drops, int campaigns,
                        std::uint64_t seed) {
  const double critical =
      drops * rival.mean_other + NormalQuantile(0.95) * std::sqrt(drops) * rival.sd_other;
  const ImpactModel own{{test.plan.e.a, test.plan.mu.a, test.plan.mu.a}, test.plan.law},
      other{{rival.e, rival.mu, rival.mu}, rival.law};
  IdentifyOptions quick;
  quick.intervals = quick.influence = false;
  const auto n = static_cast<std::size_t>(campaigns);
  std::vector<char> found(n), alarm(n);
  ForEachIndex(2 * n, 0, [&](std::size_t i) {
    const bool is_own = i < n;
    std::mt19937_64 random(seed * 31 + 7919ull * (i + 1) +
                           104729ull * static_cast<std::uint64_t>(drops));
    const std::vector<ImpactEvent> events =
        DrawCampaign(test.settings, std::vector<int>{drops}, test.plan.body, is_own ? own : other,
                     test.plan.scatter, random);
    ImpactModel start = own;
    double difference = Identify(events, test.plan.body, start, quick).loglik;
    start.law = rival.law;
    difference -= Identify(events, test.plan.body, start, quick).loglik;
    (is_own ? found[i] : alarm[i - n]) = difference > critical;
  });
  return {campaigns, static_cast<int>(std::accumulate(found.begin(), found.end(), 0)),
          static_cast<int>(std::accumulate(alarm.begin(), alarm.end(), 0))};
}

}  // namespace impactlab::twin
