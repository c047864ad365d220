// The bundle fit against the classical estimators on the same synthetic drops: estimator_study
// [--drops N] [--seed S] [--out FILE]. Exit code 1 where the bundle fit is not the best in every
// quantity, for every body and for all, or its intervals do not cover.

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "data/statistics/statistics.h"
#include "tests/statistical/estimator_scenes.h"
#include "tests/statistical/studies/study.h"

namespace {

using namespace impactlab;
using Scores = std::map<std::string, test::EstimatorScore>;

nlohmann::json ToJson(const test::EstimatorScore& score) {
  nlohmann::json json;
  json["drops"] = score.drops;
  json["failed"] = score.failed;
  json["cost_ms"] = 1e3 * score.seconds / std::max(1, score.drops);
  for (std::size_t i = 0; i < 4; ++i) {
    const test::ErrorSum& sum = score.quantities[i];
    json[test::kStudyQuantities[i]] = {{"bias", sum.bias()},
                                       {"sd", sum.sd()},
                                       {"rms", sum.rms()},
                                       {"cover95", sum.cover()},
                                       {"components", sum.components}};
  }
  return json;
}

void Print(const std::string& title, const Scores& scores) {
  fmt::print("\n{}\n{:<24}{:>7}", title, "", "failed");
  for (const char* q : test::kStudyQuantities) fmt::print("{:>34}", q);
  fmt::print("{:>9}\n", "cost ms");
  for (const auto& [name, score] : scores) {
    fmt::print("{:<24}{:>7}", name, score.failed);
    for (const test::ErrorSum& q : score.quantities)
      fmt::print("  {:>+9.5f}{:>9.5f}{:>8.5f}{:>6.3f}", q.bias(), q.sd(), q.rms(), q.cover());
    fmt::print("{:>9.2f}\n", 1e3 * score.seconds / std::max(1, score.drops));
  }
}

// Whether the bundle fit has the smallest rms of every quantity.
bool Best(const std::string& title, const Scores& scores) {
  bool best = true;
  const test::EstimatorScore& fit = scores.at("bundle fit");
  for (const auto& [name, score] : scores) {
    if (name == "bundle fit") continue;
    for (std::size_t i = 0; i < 4; ++i) {
      if (score.quantities[i].n == 0 || fit.quantities[i].rms() < score.quantities[i].rms())
        continue;
      fmt::print("{}: {} is better at {}: {:.5f} against {:.5f}\n", title, name,
                 test::kStudyQuantities[i], score.quantities[i].rms(), fit.quantities[i].rms());
      best = false;
    }
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  int drops = 600;
  test::Study study("estimators",
                    "The bundle fit against the classical estimators on the same synthetic drops",
                    20260715);
  study.app.add_option("--drops", drops)->capture_default_str()->check(CLI::Range(3, 1000000));
  int code = 0;
  if (!study.Read(argc, argv, &code)) return code;
  std::vector<Scores> each(static_cast<std::size_t>(drops));
  study.Each(drops, "drops by every estimator", "drops", [&](int k) {
    each[static_cast<std::size_t>(k)] = test::ScoreStudyDrop(k, study.seed);
  });

  // Added in the order of the drops, so that every run gives the same digits.
  Scores total;
  std::map<std::string, Scores> by_body;
  for (int k = 0; k < drops; ++k) {
    for (const auto& [name, score] : each[static_cast<std::size_t>(k)]) {
      total[name] += score;
      by_body[test::kStudyBodies[static_cast<std::size_t>(k % 3)]][name] += score;
    }
  }
  nlohmann::json json;
  bool fine = Best("all", total);
  Print("all (bias, sd, rms, cover; m/s and rad/s)", total);
  for (const auto& [name, score] : total) json["all"][name] = ToJson(score);
  for (const auto& [body, scores] : by_body) {
    fine = Best(body, scores) && fine;
    Print(body, scores);
    for (const auto& [name, score] : scores) json[body][name] = ToJson(score);
  }
  // Components of a drop are not quite independent: the band is that of half as many.
  for (const test::ErrorSum& q : total.at("bundle fit").quantities) {
    const int half = q.components / 2;
    const CountBand band = BinomialBand(half, 0.95, 1e-3 / 4);
    fine = fine && band.Contains(std::llround(q.cover() * half));
  }
  fine = fine && total.at("bundle fit").failed == 0;
  json["best_in_everything"] = fine;
  json["drops"] = drops;
  return study.Keep(std::move(json), fine);
}
