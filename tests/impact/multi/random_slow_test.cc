// Random systems of 1 to 12 contacts, redundant or not, through every law that applies; the judge
// decides.

#include <gtest/gtest.h>

#include <string>

#include "impact/multi/global.h"
#include "impact/multi/sequence.h"
#include "impact/multi/simultaneous.h"
#include "impact/multi/springs.h"
#include "tests/impact/multi_judge.h"
#include "tests/impact/random_system.h"

namespace impactlab {
namespace {

// Calls `solve` with every random system.
template <typename F>
void ForEach(int n_systems, F solve) {
  std::mt19937_64 rng(6);
  for (int n = 0; n < n_systems; ++n) {
    SCOPED_TRACE(n);
    solve(n, RandomSystem(rng, 1 + n % 3));
  }
}

constexpr int kSystems = 10000;
constexpr int kSpatialSystems = 200;

TEST(MultiRandom, Springs) {
  Tally tally;
  SpringOptions options;
  options.max_phases = 300;
  ForEach(kSystems, [&](int, ImpactSystem system) {
    if (system.width != 1) return;
    for (ContactProperties& c : system.contacts) c.e = std::max(c.e, 0.05);
    Judge(system, SolveSprings(system, options), false, tally);
  });
  Report("springs", tally);
  EXPECT_TRUE(tally.Fine());
  EXPECT_GT(tally.solved, 2000);
}

TEST(MultiRandom, Sequence) {
  Tally tally;
  SequenceOptions options;
  options.max_impacts = 300;
  ForEach(kSystems, [&](int, const ImpactSystem& system) {
    Judge(system, SolveSequence(system, options), false, tally);
  });
  Report("sequence", tally);
  EXPECT_TRUE(tally.Fine());
  EXPECT_GT(tally.solved, 7000);
}

TEST(MultiRandom, Simultaneous) {
  for (const MultiLaw law : {MultiLaw::kSimultaneousNewton, MultiLaw::kSimultaneousPoisson}) {
    Tally tally;
    ForEach(kSystems, [&](int n, const ImpactSystem& system) {
      if (system.width < 3 || n % 30 == 2)
        Judge(system, SolveSimultaneous(system, law), true, tally);
    });
    Report(MultiLawName(law), tally);
    EXPECT_TRUE(tally.Fine());
    EXPECT_GT(tally.solved, 4500);
  }
}

TEST(MultiRandom, Global) {
  Tally tally;
  GlobalOptions options;
  options.max_events = 200;
  ForEach(kSystems, [&](int, const ImpactSystem& system) {
    if (system.width == 3) return;
    options.e_star = {system.contacts[0].e, 0.5};
    Judge(system, SolveGlobal(system, options), false, tally, options.e_star);
  });
  Report("global", tally);
  EXPECT_TRUE(tally.Fine());
  EXPECT_GT(tally.solved, 4500);
}

// Slip that turns is integrated twice, by the law and by its judge: fewer systems.
TEST(MultiRandom, GlobalInSpace) {
  Tally tally;
  GlobalOptions options;
  options.max_events = 40;
  std::mt19937_64 rng(7);
  for (int n = 0; n < kSpatialSystems; ++n) {
    SCOPED_TRACE(n);
    const ImpactSystem system = RandomSystem(rng, 3);
    options.e_star = {system.contacts[0].e, 0.5};
    const MultiOutcome outcome = SolveGlobal(system, options);
    Judge(system, outcome, false, tally, options.e_star);
    if (outcome.status == SolveStatus::kNotConverged) {
      EXPECT_FALSE(outcome.reason.empty());
      EXPECT_EQ(outcome.reason.find("without end"), std::string::npos) << outcome.reason;
    }
  }
  Report("global in space", tally);
  EXPECT_TRUE(tally.Fine());
  EXPECT_GT(tally.solved, kSpatialSystems * 3 / 4);
}

}  // namespace
}  // namespace impactlab
