// What simulators are known to get wrong: cradles and stacks that gain energy, and a coefficient
// returned that is not the one asked for.

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "impact/multi/certify.h"
#include "impact/multi/global.h"
#include "impact/multi/sequence.h"
#include "impact/multi/simultaneous.h"
#include "impact/multi/springs.h"
#include "impact/multi/system_builders.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using Eigen::VectorXd;

void ExpectSound(const ImpactSystem& system, const MultiOutcome& outcome,
                 const std::vector<double>& e_star = {1}) {
  ASSERT_EQ(outcome.status, SolveStatus::kOk)
      << MultiLawName(outcome.law) << ": " << outcome.reason;
  for (const CertificateCheck& check : CertifySystem(system, outcome, e_star).checks) {
    EXPECT_TRUE(check.ok) << MultiLawName(outcome.law) << ": " << check.name << " " << check.value
                          << " > " << check.limit;
  }
}

std::vector<ContactProperties> Contacts(int n, double e) {
  return std::vector<ContactProperties>(n, {"", {.e = e, .mu_k = 0, .mu_s = 0}});
}

TEST(MultiEnergy, CradlesOfThreeToSevenBalls) {
  for (int n = 3; n <= 7; ++n) {
    SCOPED_TRACE(n);
    std::vector<double> velocities(n, 0.0);
    velocities[0] = 1;
    const std::vector<double> masses(n, 0.3);
    const VectorXd last = VectorXd::Unit(n, n - 1), together = VectorXd::Constant(n, 1.0 / n);
    const ImpactSystem elastic = MakeBallChain(masses, velocities, Contacts(n - 1, 1)),
                       plastic = MakeBallChain(masses, velocities, Contacts(n - 1, 0));
    // e = 1: one impact after the other, and one path for all, hand everything to the last ball;
    // springs spread it, but keep the energy.
    const MultiOutcome sequence = SolveSequence(elastic);
    ExpectSound(elastic, sequence);
    EXPECT_LT((sequence.u_plus - last).norm(), 1e-14);
    GlobalOptions options;
    options.e_star = {1};
    const MultiOutcome global = SolveGlobal(elastic, options);
    ExpectSound(elastic, global);
    EXPECT_LT((global.u_plus - last).norm(), 1e-14);
    const MultiOutcome springs = SolveSprings(elastic);
    ExpectSound(elastic, springs);
    EXPECT_NEAR(springs.energy_change, 0, 1e-13 * 0.15);
    EXPECT_GT((springs.u_plus - last).norm(), 0.05);
    // e = 0: all go on together.
    for (const MultiLaw law : {MultiLaw::kSimultaneousNewton, MultiLaw::kSimultaneousPoisson}) {
      ExpectSound(elastic, SolveSimultaneous(elastic, law));
      const MultiOutcome outcome = SolveSimultaneous(plastic, law);
      ExpectSound(plastic, outcome);
      EXPECT_LT((outcome.u_plus - together).norm(), 1e-13);
    }
    const MultiOutcome converged = SolveSequence(plastic);
    ExpectSound(plastic, converged);
    EXPECT_LT((converged.u_plus - together).norm(), 1e-11);
  }
}

// Boxes on each other, two corners at each level: every level redundant to the next in space, not
// in a plane.
ImpactSystem Stack(int levels, double e, double mu) {
  std::vector<SystemBody> boxes(levels);
  std::vector<SystemContact> contacts;
  const double side = 0.1;
  for (int k = 0; k < levels; ++k) {
    boxes[k] = {MakeBox(Vector3d(side, side, side), 1, true), PlanarPose(0, (k + 0.5) * side, 0),
                Vector3d(0, 0, -1), Vector3d::Zero()};
    for (const double x : {-0.5 * side, 0.5 * side}) {
      contacts.push_back({{"", {.e = e, .mu_k = mu, .mu_s = mu}},
                          k,
                          k - 1,
                          FrameAt(Vector3d(x, 0, k * side), Vector3d::UnitZ(), true)});
    }
  }
  return MakeBodySystem(boxes, {}, contacts);
}

TEST(MultiEnergy, StackedBoxes) {
  for (int levels = 1; levels <= 4; ++levels) {
    SCOPED_TRACE(levels);
    for (const double mu : {0.0, 0.4}) {
      const ImpactSystem plastic = Stack(levels, 0, mu), elastic = Stack(levels, 1, mu);
      for (const MultiLaw law : {MultiLaw::kSimultaneousNewton, MultiLaw::kSimultaneousPoisson}) {
        const MultiOutcome outcome = SolveSimultaneous(plastic, law);
        ExpectSound(plastic, outcome);
        EXPECT_LT(outcome.u_plus.norm(), 1e-13);  // the stack lands and stays
      }
      ExpectSound(elastic, SolveSequence(elastic));
      ExpectSound(plastic, SolveSequence(plastic));
      EXPECT_LE(SolveSequence(elastic).energy_change, 1e-12);
    }
    const ImpactSystem smooth = Stack(levels, 1, 0);
    const MultiOutcome springs = SolveSprings(smooth);
    ExpectSound(smooth, springs);
    EXPECT_NEAR(springs.energy_change, 0, 1e-12 * levels);
    for (int k = 0; k < levels; ++k) {  // symmetric: nothing moves sideways or turns
      EXPECT_NEAR(springs.u_plus[3 * k], 0, 1e-12);
      EXPECT_NEAR(springs.u_plus[3 * k + 2], 0, 1e-11);
    }
  }
}

// e returned is e asked, by each law's own definition, with friction that stops and reverses.
TEST(MultiEnergy, CoefficientReturnedIsTheOneAsked) {
  for (const double e : {0.0, 0.25, 0.75, 1.0}) {
    const ImpactSystem system = MakeChain({2, 2}, {3, 3}, {0.35, 0.52}, {-0.1, -0.2},
                                          {"tip", {.e = e, .mu_k = 0.4, .mu_s = 0.5}});
    const ContactSpace space = ReduceToContacts(system);
    SequenceOptions options;
    options.law = RestitutionLaw::kNewton;
    EXPECT_NEAR(SolveSequence(system, options).v_plus[1], -e * space.v_minus[1], 1e-15);
    EXPECT_NEAR(SolveSimultaneous(system, MultiLaw::kSimultaneousNewton).v_plus[1],
                -e * space.v_minus[1], 1e-14);
    const MultiOutcome poisson = SolveSimultaneous(system, MultiLaw::kSimultaneousPoisson);
    EXPECT_NEAR(poisson.phases[1].dJ[1], e * poisson.phases[0].dJ[1], 1e-14);
    GlobalOptions global_options;
    global_options.e_star = {e};
    const MultiOutcome global = SolveGlobal(system, global_options);
    EXPECT_NEAR(global.work_n[0], (1 - e * e) * global.work_c[0], 1e-15);
    options.law = RestitutionLaw::kEnergetic;
    const MultiOutcome energetic = SolveSequence(system, options);
    EXPECT_NEAR(energetic.phases[0].single.work_n_r, -e * e * energetic.phases[0].single.work_n_c,
                1e-15);
  }
}

}  // namespace
}  // namespace impactlab
