// Random impacts at 1 to 12 contacts, redundant or not, without friction, in a plane and in space,
// through every law that applies: does each end, or say why not, and does the judge agree? Exit
// code 1 where a number is not finite, a law gains energy that may not, or a certificate fails.
// multi_random_slow_test is its sentinel.

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "impact/multi/global.h"
#include "impact/multi/sequence.h"
#include "impact/multi/simultaneous.h"
#include "impact/multi/springs.h"
#include "tests/impact/multi_judge.h"
#include "tests/impact/random_system.h"
#include "tests/statistical/studies/study.h"

namespace {

using namespace impactlab;

const char* const kWhere[] = {"without friction", "in a plane", "in space"};

}  // namespace

int main(int argc, char** argv) {
  int systems = 10000, events = 40;
  test::Study study("multi",
                    "Random impacts of several contacts by every law, judged by their certificates",
                    20261130);
  study.app.add_option("--systems", systems)->capture_default_str();
  study.app.add_option("--events", events, "of the global law in space at most; 200 elsewhere")
      ->capture_default_str();
  int code = 0;
  if (!study.Read(argc, argv, &code)) return code;
  std::map<std::string, Tally> tallies;
  std::mutex mutex;
  study.Each(systems, "random impacts", "systems", [&](int n) {
    std::mt19937_64 random(study.seed + 7919ull * static_cast<std::uint64_t>(n + 1));
    const int width = 1 + n % 3;
    const ImpactSystem system = RandomSystem(random, width);
    const auto keep = [&](const ImpactSystem& judged, const MultiOutcome& outcome, bool may_gain,
                          const std::vector<double>& e_star = {1}) {
      Tally one;
      Judge(judged, outcome, may_gain, one, e_star);
      const std::lock_guard lock(mutex);
      tallies[fmt::format("{} {}", MultiLawName(outcome.law), kWhere[width - 1])] += one;
    };
    if (width == 1) {
      ImpactSystem springs = system;
      for (ContactProperties& c : springs.contacts) c.e = std::max(c.e, 0.05);
      SpringOptions options;
      options.max_phases = 300;
      keep(springs, SolveSprings(springs, options), false);
    }
    SequenceOptions sequence;
    sequence.max_impacts = 300;
    keep(system, SolveSequence(system, sequence), false);
    for (const MultiLaw law : {MultiLaw::kSimultaneousNewton, MultiLaw::kSimultaneousPoisson})
      keep(system, SolveSimultaneous(system, law), true);
    GlobalOptions global;
    global.max_events = width == 3 ? events : 200;
    global.e_star = {system.contacts[0].e, 0.5};
    keep(system, SolveGlobal(system, global), false, global.e_star);
  });
  bool fine = true;
  nlohmann::json json;
  for (const auto& [name, tally] : tallies) {
    fine = fine && tally.Fine();
    Report(name, tally);
    json["laws"][name] = {{"solved", tally.solved},           {"no_approach", tally.none},
                          {"not_of_this_law", tally.invalid}, {"wedged", tally.wedged},
                          {"not_ended", tally.open},          {"not_finite", tally.infinite},
                          {"gained_energy", tally.gained},    {"moved", tally.moved},
                          {"failed", tally.failed},           {"reasons", tally.reasons}};
  }
  json["systems"] = systems;
  json["most_contacts"] = 12;
  return study.Keep(std::move(json), fine);
}
