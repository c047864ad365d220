// Coverage of the intervals of coefficient models by every method, and how often cross-validation
// chooses the model of the truth: model_study [--campaigns N] [--refits B] [--seed S] [--out FILE].
// Exit code 1 where a coverage leaves its exact binomial band.

#include <fmt/core.h>

#include "data/statistics/statistics.h"
#include "tests/statistical/model_scenes.h"
#include "tests/statistical/studies/study.h"
#include "tests/support/per_test_level.h"

using namespace impactlab;

int main(int argc, char** argv) {
  int campaigns = 2000, refits = 199;
  std::vector<std::string> only;
  test::Study study("models", "Coverage of the intervals of coefficient models, by every method",
                    20261129);
  study.app.add_option("--campaigns", campaigns, "of planar scenes; a fifth of them in space")
      ->capture_default_str()
      ->check(CLI::Range(20, 1000000));
  study.app.add_option("--refits", refits, "of bootstrap and Monte Carlo in each campaign")
      ->capture_default_str()
      ->check(CLI::Range(0, 100000));
  study.app.add_option("--scene", only, "these alone");
  int code = 0;
  if (!study.Read(argc, argv, &code)) return code;
  nlohmann::json json;
  bool fine = true;
  constexpr int kTests = 60;
  for (const test::ModelScene& scene : test::kModelScenes) {
    if (!only.empty() && std::find(only.begin(), only.end(), scene.name) == only.end()) continue;
    std::vector<test::Coverage> each(
        static_cast<std::size_t>(scene.planar ? campaigns : std::max(20, campaigns / 5)));
    study.Each(static_cast<int>(each.size()), scene.name, "campaigns", [&](int k) {
      each[static_cast<std::size_t>(k)] = test::ScoreModelCampaign(scene, study.seed, k, refits);
    });
    test::Coverage sum;
    for (const test::Coverage& one : each)
      for (const auto& [name, covered] : one) sum[name] += covered;
    for (const auto& [name, covered] : sum) {
      const CountBand band = BinomialBand(covered.n, 0.95, PerTestLevel(0.001, kTests));
      const bool inside = band.Contains(covered.covered);
      fine = fine && inside;
      fmt::print("{:<16} {:<24} {:>6} of {:>6} = {:.4f}, band {:.4f} to {:.4f}{}\n", scene.name,
                 name, covered.covered, covered.n, covered.share(),
                 static_cast<double>(band.lower) / covered.n,
                 static_cast<double>(band.upper) / covered.n, inside ? "" : "  OUTSIDE");
      json["scenes"][scene.name][name] = {
          {"n", covered.n}, {"covered", covered.covered}, {"inside", inside}};
    }
  }
  json["campaigns"] = campaigns;
  json["refits"] = refits;
  return study.Keep(json, fine);
}
