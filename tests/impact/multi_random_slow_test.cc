// Random systems of 1 to 12 contacts, redundant or not, through every law that applies; the judge decides.

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cstdio>
#include <map>

#include "impact/multi_certify.h"
#include "impact/multi_global.h"
#include "impact/multi_sequence.h"
#include "impact/multi_simultaneous.h"
#include "impact/multi_springs.h"
#include "tests/impact/random_system.h"

namespace impactlab {
namespace {

using Eigen::VectorXd;

struct Tally {
  int solved = 0, none = 0, invalid = 0, open = 0, wedged = 0;
  std::map<std::string, int> failed;
};

// True when the outcome is all it should be. Outcomes that did not end still have to be finite and, for energetic laws, poor in energy.
void Judge(const ImpactSystem& system, const MultiOutcome& outcome, bool may_gain, Tally& tally, const std::vector<double>& e_star = {1}) {
  ASSERT_TRUE(outcome.J.allFinite() && outcome.v_plus.allFinite() && outcome.u_plus.allFinite());
  const double energy = KineticEnergy(system, system.u_minus);
  // Rounding adds up over elastic impacts of hundreds of phases.
  if (!may_gain) {
    EXPECT_LE(outcome.energy_change, 1e-12 * energy * (1 + 0.05 * outcome.phases.size()));
  }
  if (outcome.status == SolveStatus::kNoApproach) {
    ++tally.none;
    EXPECT_EQ(outcome.J.norm(), 0);
    return;
  }
  if (outcome.status == SolveStatus::kInvalid) {
    ++tally.invalid;
    return;
  }
  if (outcome.status == SolveStatus::kNotConverged) {
    ++(CanSeparate(ReduceToContacts(system)) ? tally.open : tally.wedged);
    return;
  }
  ++tally.solved;
  for (const CertificateCheck& check : CertifySystem(system, outcome, e_star).checks) {
    if (check.ok || (may_gain && check.name == "energy")) continue;
    if (++tally.failed[check.name] <= 3)
      std::printf("%s: %s %g > %g\n", MultiLawName(outcome.law), check.name.c_str(), check.value, check.limit);
  }
}

void Report(const char* name, const Tally& tally) {
  std::printf("%-20s solved %d, no approach %d, not of this law %d, wedged %d, not ended %d;", name, tally.solved, tally.none,
              tally.invalid, tally.wedged, tally.open);
  for (const auto& [check, n] : tally.failed) std::printf(" %s %d", check.c_str(), n);
  std::printf("\n");
  std::fflush(stdout);
}

// Calls `solve` with every random system.
template <typename F>
void ForEach(int n_systems, F solve) {
  std::mt19937_64 rng(6);
  for (int n = 0; n < n_systems; ++n) {
    SCOPED_TRACE(n);
    solve(n, RandomSystem(rng, 1 + n % 3));
    if (testing::Test::HasFatalFailure()) return;
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
  EXPECT_TRUE(tally.failed.empty());
  EXPECT_GT(tally.solved, 2000);
}

TEST(MultiRandom, Sequence) {
  Tally tally;
  SequenceOptions options;
  options.max_impacts = 300;
  ForEach(kSystems, [&](int, const ImpactSystem& system) { Judge(system, SolveSequence(system, options), false, tally); });
  Report("sequence", tally);
  EXPECT_TRUE(tally.failed.empty());
  EXPECT_GT(tally.solved, 7000);
}

TEST(MultiRandom, Simultaneous) {
  for (const MultiLaw law : {MultiLaw::kSimultaneousNewton, MultiLaw::kSimultaneousPoisson}) {
    Tally tally;
    ForEach(kSystems, [&](int n, const ImpactSystem& system) {
      if (system.width < 3 || n % 30 == 2) Judge(system, SolveSimultaneous(system, law), true, tally);
    });
    Report(MultiLawName(law), tally);
    EXPECT_TRUE(tally.failed.empty());
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
  EXPECT_TRUE(tally.failed.empty());
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
    if (HasFatalFailure()) return;
  }
  Report("global in space", tally);
  EXPECT_TRUE(tally.failed.empty());
  EXPECT_GT(tally.solved, kSpatialSystems * 3 / 4);
}

}  // namespace
}  // namespace impactlab
