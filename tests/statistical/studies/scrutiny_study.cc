// How often are true laws accused? Verdicts of single quantities without scatter, and area metric,
// edges and mixed specimens of campaigns with it. Exit code 1 where a rate leaves its band.
// scrutiny_slow_test is its sentinel.

#include <fmt/core.h>

#include <mutex>

#include "data/statistics/statistics.h"
#include "tests/statistical/scrutiny_cells.h"
#include "tests/statistical/studies/study.h"
#include "tests/support/per_test_level.h"

int main(int argc, char** argv) {
  using namespace impactlab;
  int campaigns = 2000;
  test::Study study(
      "scrutiny",
      "False alarms of verdicts, area metric, edges and mixed specimens with a true law", 20261201);
  study.app.add_option("--campaigns", campaigns)->capture_default_str();
  int code = 0;
  if (!study.Read(argc, argv, &code)) return code;
  constexpr double kCoverage = 2;
  test::DiagnosticAlarms total;
  std::mutex mutex;
  study.Each(campaigns, "true campaigns", "campaigns", [&](int n) {
    test::DiagnosticAlarms one;
    const std::uint64_t seed = study.seed + 104729ull * static_cast<std::uint64_t>(n + 1);
    test::CountVerdict(seed, kCoverage, one);
    test::CountAlarms(seed + 1, one);
    const std::lock_guard lock(mutex);
    total += one;
  });
  bool fine = true;
  nlohmann::json json;
  const auto judge = [&](const char* name, int alarms, int n, double rate, bool exact) {
    const CountBand band = BinomialBand(n, rate, PerTestLevel(1e-3, 4));
    const Interval interval = BinomialInterval(alarms, n, 0.05);
    const bool inside = exact ? band.Contains(alarms) : alarms <= band.upper;
    fine = fine && inside;
    fmt::print(
        "{:<10} {:>5} of {:>5} ({:.2f} %, 95 % interval {:.2f} to {:.2f}), stated {}{:.2f} %: {}\n",
        name, alarms, n, 100.0 * alarms / n, 100 * interval.lower, 100 * interval.upper,
        exact ? "" : "at most ", 100 * rate, inside ? "within" : "OUTSIDE");
    json["alarms"][name] = {{"alarms", alarms},          {"of", n},
                            {"rate", 1.0 * alarms / n},  {"lower95", interval.lower},
                            {"upper95", interval.upper}, {"stated", rate},
                            {"at_most", !exact},         {"within", inside}};
  };
  judge("verdict", total.discrepant, total.verdicts, 2 * NormalCdf(-kCoverage), true);
  judge("area", total.area, total.campaigns, 0.05, false);
  judge("edges", total.edges, total.campaigns, 0.05, false);
  judge("specimens", total.specimens, total.campaigns, 0.01, false);
  json["drift"] = total.drift;
  json["campaigns"] = campaigns;
  return study.Keep(std::move(json), fine);
}
