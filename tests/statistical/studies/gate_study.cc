// How often does `identify --events` refuse sound states, and how often does it print a confident
// wrong interval for unsound ones? Exit code 1 where a rate exceeds its limit. gate_slow_test is
// its sentinel.

#include <fmt/core.h>

#include <mutex>

#include "data/statistics/statistics.h"
#include "tests/statistical/gate_cells.h"
#include "tests/statistical/studies/study.h"
#include "tests/support/folder.h"
#include "tests/support/per_test_level.h"

namespace {

using namespace impactlab;
using namespace impactlab::test;

constexpr double kRefusedAtMost = 0.01, kWrongAtMost = 0.005;

nlohmann::json ToJson(const CoefficientAnswers& a) {
  return {{"nothing", a.nothing},
          {"bounds", a.bounds},
          {"intervals", a.intervals},
          {"held", a.held},
          {"wrong", a.wrong}};
}

// The counts of one kind of sets, and whether they keep within what is allowed.
nlohmann::json Judge(const FaultInfo& info, const GateCounts& counts, bool* fine) {
  const bool sound = info.fault == Fault::kNone;
  const int count = sound ? counts.refused : counts.wrong;
  const double limit = sound ? kRefusedAtMost : kWrongAtMost;
  const CountBand band =
      BinomialBand(counts.sets, limit, PerTestLevel(1e-3, static_cast<int>(kFaults.size())));
  const Interval interval = BinomialInterval(count, counts.sets, 0.05);
  // Few sets do not show that a rate keeps within its limit, even where none is beyond it by more
  // than chance.
  const bool within = count <= band.upper, shown = interval.upper <= limit;
  *fine = *fine && within;
  fmt::print(
      "{:<19} {:>5} sets, {:>5} refused, {:>4} corrected; confidently wrong mu {:>4}, e {:>4}, "
      "either {:>4}; {} {:.2f} % ({:.2f} to {:.2f}), at most {:.1f} %: {}\n",
      info.word, counts.sets, counts.refused, counts.Corrected(), counts.mu.wrong, counts.e.wrong,
      counts.wrong, sound ? "refused" : "wrong", 100.0 * count / counts.sets, 100 * interval.lower,
      100 * interval.upper, 100 * limit,
      !within ? "EXCEEDED"
      : shown ? "within"
              : "not decided");
  return {{"sets", counts.sets},
          {"refused", counts.refused},
          {"wrong", counts.wrong},
          {"inertia_open", counts.inertia_open},
          {"verdicts", counts.verdicts},
          {"corrected", counts.corrected},
          {"named_beside_coefficients", counts.named},
          {"wrong_by_body", counts.wrong_by_body},
          {"sets_by_body", counts.sets_by_body},
          {"mu_k", ToJson(counts.mu)},
          {"e_star", ToJson(counts.e)},
          {"judged", sound ? "refused" : "wrong"},
          {"lower95", interval.lower},
          {"upper95", interval.upper},
          {"at_most", limit},
          {"within", within}};
}

}  // namespace

int main(int argc, char** argv) {
  int sets = 2000;
  std::string only;
  bool show = false;
  test::Study study("gate",
                    "Sound states refused, and confident wrong intervals of unsound ones, of the "
                    "tables that identify --events reads",
                    20261207);
  study.app.add_option("--sets", sets, "of each kind")->capture_default_str();
  study.app.add_option("--only", only, "a kind alone");
  study.app.add_flag("--show", show, "a line on every set that counts against a limit");
  int code = 0;
  if (!study.Read(argc, argv, &code)) return code;
  const test::TemporaryFolder folder;
  bool fine = true;
  nlohmann::json json;
  std::mutex mutex;
  for (const test::FaultInfo& info : test::kFaults) {
    if (!only.empty() && only != info.word) continue;
    test::GateCounts total;
    study.Each(sets, info.word, "sets", [&](int n) {
      const std::uint64_t seed = study.seed + 104729ull * static_cast<std::uint64_t>(n + 1) +
                                 static_cast<std::uint64_t>(info.fault);
      const test::StateSet set = test::DrawStates(info.fault, seed);
      const test::Answer answer = test::AnswerTo(set, folder.path(), seed);
      const test::GateCounts one = test::CountGate(set, answer);
      const std::lock_guard lock(mutex);
      total += one;
      if (show && (one.wrong > 0 || (info.fault == test::Fault::kNone && one.refused > 0)))
        fmt::print("{}: {}\n", n, test::Describe(set, answer));
    });
    json["kinds"][info.word] = Judge(info, total, &fine);
  }
  json["sets"] = sets;
  return study.Keep(std::move(json), fine);
}
