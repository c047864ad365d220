// A reduced sentinel of gate_study: sound states are not refused, and unsound ones give no
// confident wrong interval, but for as many sets as chance allows at the stated rates.

#include <gtest/gtest.h>

#include "data/statistics/statistics.h"
#include "tests/statistical/gate_cells.h"
#include "tests/support/folder.h"
#include "tests/support/per_test_level.h"

namespace impactlab::test {
namespace {

GateCounts CountSets(Fault fault, int sets) {
  const TemporaryFolder folder;
  GateCounts total;
  for (int n = 0; n < sets; ++n) {
    const std::uint64_t seed = 4001 + 104729ull * static_cast<std::uint64_t>(n);
    const StateSet set = DrawStates(fault, seed);
    total += CountGate(set, AnswerTo(set, folder.path(), seed));
  }
  return total;
}

TEST(Gate, SoundStatesAreNotRefused) {
  const GateCounts counts = CountSets(Fault::kNone, 24);
  EXPECT_LE(counts.refused, BinomialBand(counts.sets, 0.01, 1e-3).upper);
  EXPECT_LE(counts.inertia_open, BinomialBand(counts.sets, 0.02, 1e-3).upper);
  EXPECT_GE(counts.e.held, counts.sets - counts.refused - 6);
}

TEST(Gate, UnsoundStatesGiveNoConfidentWrongInterval) {
  const double level = PerTestLevel(1e-3, static_cast<int>(kFaults.size()) - 1);
  for (const FaultInfo& info : kFaults) {
    if (info.fault == Fault::kNone) continue;
    const GateCounts counts = CountSets(info.fault, 12);
    EXPECT_LE(counts.wrong, BinomialBand(counts.sets, 0.005, level).upper) << info.word;
  }
}

}  // namespace
}  // namespace impactlab::test
