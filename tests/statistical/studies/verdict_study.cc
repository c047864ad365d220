// How often is a true law called discrepant, and how often is a wrong one found out? Verdicts of
// validation on impacts left out of the fit, without scatter from impact to impact (which is no
// error of a law), and the test between two laws that a plan counts drops for. Exit code 1 where a
// false-alarm rate is outside its binomial band or a power differs from the planned by more than
// 0.1.

#include <fmt/core.h>

#include <cmath>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "data/statistics/statistics.h"
#include "pipelines/plan/plan.h"
#include "pipelines/study/validation.h"
#include "tests/impact/identify_twin.h"
#include "tests/statistical/studies/study.h"
#include "tests/statistical/verdict_rates.h"
#include "tests/support/per_test_level.h"

int main(int argc, char** argv) {
  using namespace impactlab;
  int campaigns = 2000, power_campaigns = 600, planned_campaigns = 1200;
  test::Study study("verdicts", "False alarms and power of the verdicts on laws", 20261206);
  study.app.add_option("--campaigns", campaigns, "for the verdicts")->capture_default_str();
  study.app.add_option("--power-campaigns", power_campaigns, "for the test between laws")
      ->capture_default_str();
  study.app.add_option("--planned-campaigns", planned_campaigns, "for the power as planned")
      ->capture_default_str();
  int code = 0;
  if (!study.Read(argc, argv, &code)) return code;
  bool fine = true;
  nlohmann::json json;
  json["campaigns"] = campaigns;
  json["power_campaigns"] = power_campaigns;
  json["planned_campaigns"] = planned_campaigns;

  // One impact a campaign, so that counts are binomial.
  for (const auto& [name, law] : {std::pair("true law", RestitutionLaw::kEnergetic),
                                  {"wrong law", RestitutionLaw::kNewton}}) {
    for (const double sd_v : {5e-4, 2e-3, 8e-3}) {
      std::map<std::string, int> discrepant;
      std::map<std::string, int> n;
      std::mutex mutex;
      study.Each(campaigns, "campaigns", "campaigns", [&, law = law](int k) {
        const auto verdicts = twin::HeldOutVerdicts(
            law, sd_v, study.seed + 7919ull * static_cast<std::uint64_t>(k + 1));
        const std::lock_guard lock(mutex);
        for (const auto& [quantity, wrong] : verdicts) {
          ++n[quantity];
          discrepant[quantity] += wrong;
        }
      });
      const double level = PerTestLevel(1e-3, 3 * static_cast<int>(n.size()));
      for (const auto& [quantity, count] : n) {
        const CountBand band = BinomialBand(count, twin::kFalseAlarm, level);
        const bool inside = band.Contains(discrepant[quantity]);
        if (law == RestitutionLaw::kEnergetic) fine = fine && inside;
        json["verdicts"].push_back({{"law", name},
                                    {"sd_velocity_m_per_s", sd_v},
                                    {"quantity", quantity},
                                    {"n", count},
                                    {"discrepant", discrepant[quantity]},
                                    {"band", {band.lower, band.upper}},
                                    {"inside", inside}});
        fmt::print("{:<10} sd {:.4f} m/s {:<14} discrepant {} of {} (a true law: {} to {})\n", name,
                   sd_v, quantity, discrepant[quantity], count, band.lower, band.upper);
      }
    }
  }

  const twin::LawTest test(0.06);
  const PlanRival rival = CompareLaws(test.plan, test.settings, {24}, RestitutionLaw::kNewton,
                                      planned_campaigns, study.seed, 0);
  json["power"]["scatter"] = test.plan.scatter.wrench.sd_normal;
  json["power"]["drops_80"] = rival.Drops(0.8);
  json["power"]["drops_95"] = rival.Drops(0.95);
  fmt::print("planned: {} drops for 80 %, {} for 95 %\n", rival.Drops(0.8), rival.Drops(0.95));
  for (const int drops : {6, 12, 24, 48, 96}) {
    const twin::LawRates rates =
        twin::RatesOf(test, rival, drops, power_campaigns, study.seed + 17);
    const CountBand band = BinomialBand(rates.n, 0.05, PerTestLevel(1e-3, 5));
    const double power = static_cast<double>(rates.found) / rates.n, planned = rival.Power(drops);
    // The normal distribution of the sum is for many drops.
    const bool near = std::abs(power - planned) < 0.1,
               calm = drops < 12 || band.Contains(rates.false_alarms);
    fine = fine && near && calm;
    json["power"]["curve"].push_back({{"drops", drops},
                                      {"planned", planned},
                                      {"found", power},
                                      {"false_alarms", rates.false_alarms},
                                      {"n", rates.n},
                                      {"band", {band.lower, band.upper}}});
    fmt::print(
        "{:>3} drops: power planned {:.3f}, found {:.3f}; false alarms {} of {} ({} to {})\n",
        drops, planned, power, rates.false_alarms, rates.n, band.lower, band.upper);
  }
  return study.Keep(std::move(json), fine);
}
