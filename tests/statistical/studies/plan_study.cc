// Are the intervals that a plan expects those that campaigns then give? Every campaign is made drop
// by drop: released, struck with scatter, recorded with noise, fitted and identified. Exit code 1
// where median half width or the error of 95 % differ by more than 10 %.

#include <fmt/core.h>

#include <cmath>
#include <mutex>
#include <nlohmann/json.hpp>

#include "data/statistics/statistics.h"
#include "tests/statistical/plan_twin.h"
#include "tests/statistical/studies/study.h"

int main(int argc, char** argv) {
  using namespace impactlab;
  int campaigns = 1000, drops = 12;
  double effort = 4;
  std::string file = std::string(IMPACTLAB_SOURCE_DIR) + "/data/plans/rod_on_incline.yaml";
  test::Study study("plan", "Expected intervals of a plan against those of campaigns made by it",
                    20261205);
  study.app.add_option("--campaigns", campaigns)->capture_default_str();
  study.app.add_option("--drops", drops, "of a campaign")->capture_default_str();
  study.app.add_option("--effort", effort, "of the plan")->capture_default_str();
  study.app.add_option("--plan", file)->capture_default_str();
  int code = 0;
  if (!study.Read(argc, argv, &code)) return code;
  ExperimentDesign plan = LoadPlan(file);
  plan.drops = drops;
  plan.effort = effort;
  plan.rivals.clear();
  // What all drops share is a matter of the error budget.
  plan.layout_sd = plan.inertia_sd = 0;
  const PlanResult result = MakePlan(plan);
  twin::MadeCoefficient mu, e;
  double accepted = 0;
  std::mutex mutex;
  study.Each(campaigns, "campaigns made", "campaigns", [&](int k) {
    std::mt19937_64 random(study.seed + 7919ull * static_cast<std::uint64_t>(k + 1));
    const twin::MadeCampaign made = twin::MakeCampaign(plan, result.counts, random);
    const std::lock_guard lock(mutex);
    accepted += made.accepted;
    mu.Add(made.fit.mu_k, made.truth.mu_k);
    e.Add(made.fit.e, made.truth.e);
  });
  bool fine = true;
  nlohmann::json json;
  const PlanPoint& planned = result.curve.back();
  for (const auto& [name, made, expected] :
       {std::tuple<std::string, const twin::MadeCoefficient&, const ExpectedCoefficient&>(
            "mu_k", mu, planned.mu),
        {CoefficientName(plan.law), e, planned.e}}) {
    const double half = Median(made.half), error = Quantile(made.error, 0.95);
    const double determined = static_cast<double>(made.half.size()) / made.campaigns;
    const bool near = std::abs(expected.half_width / half - 1) < 0.1 &&
                      std::abs(expected.error95 / error - 1) < 0.1;
    fine = fine && near;
    fmt::print(
        "{:<7} half width planned {:.5f}, made {:.5f} (ratio {:.3f}); error of 95 % planned "
        "{:.5f}, made {:.5f} (ratio {:.3f}); "
        "determined {:.3f}, {:.3f}; covered {} of {}\n",
        name, expected.half_width, half, expected.half_width / half, expected.error95, error,
        expected.error95 / error, expected.determined, determined, made.covered, made.half.size());
    json["coefficients"][name] = {{"half_width_planned", expected.half_width},
                                  {"half_width_made", half},
                                  {"error95_planned", expected.error95},
                                  {"error95_made", error},
                                  {"determined_planned", expected.determined},
                                  {"determined_made", determined},
                                  {"covered", made.covered},
                                  {"within_10_percent", near}};
  }
  json["plan"] = plan.name;
  json["campaigns"] = campaigns;
  json["drops"] = drops;
  json["effort"] = effort;
  json["accepted_share"] = accepted / (static_cast<double>(campaigns) * drops);
  json["cases"] = result.cases;
  json["plan_seconds"] = result.seconds;
  return study.Keep(std::move(json), fine);
}
