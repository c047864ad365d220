#include "impact/multi/sequence.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "data/base/error.h"
#include "impact/multi/certify.h"
#include "impact/multi/simultaneous.h"
#include "impact/multi/springs.h"
#include "impact/multi/system_builders.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using Eigen::VectorXd;

std::string SequenceFailures(const ImpactSystem& system, const MultiOutcome& outcome,
                             RestitutionLaw law = RestitutionLaw::kEnergetic) {
  return CertifySystem(system, outcome, {1}, law).Failed(" ");
}

// Smallest and largest normal velocity of each contact over the set [m/s].
Eigen::MatrixX2d NormalRange(const OutcomeSet& set, const ContactSpace& space) {
  Eigen::MatrixX2d range(space.n_contacts, 2);
  range.col(0).setConstant(INFINITY);
  range.col(1).setConstant(-INFINITY);
  for (const MultiOutcome& outcome : set.outcomes) {
    VectorXd v(space.n_contacts);
    for (int i = 0; i < space.n_contacts; ++i) v[i] = outcome.v_plus[space.Normal(i)];
    range.col(0) = VectorXd(range.col(0).cwiseMin(v));
    range.col(1) = VectorXd(range.col(1).cwiseMax(v));
  }
  return range;
}

std::vector<ContactProperties> SequenceContacts(int n, double e) {
  return std::vector<ContactProperties>(n, {"", {.e = e, .mu_k = 0, .mu_s = 0}});
}

// Three equal balls, the first moving: impacts 1-2, 2-3 and so on; each row by hand.
TEST(Sequence, ThreeBallsByHand) {
  const ImpactSystem system = MakeBallChain({1, 1, 1}, {1, 0, 0}, SequenceContacts(2, 0.5));
  SequenceOptions options;
  options.order = {1, 0};
  const MultiOutcome outcome = SolveSequence(system, options);
  ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
  // 1-2: (0.25, 0.75, 0). 2-3: (0.25, 0.1875, 0.5625). 1-2 again: 0.0625 to divide: (0.203125,
  // 0.234375, 0.5625).
  ASSERT_EQ(outcome.events, 3);
  EXPECT_LT((outcome.u_plus - Vector3d(0.203125, 0.234375, 0.5625)).norm(), 1e-15);
  EXPECT_EQ(SequenceFailures(system, outcome), "");
  EXPECT_NEAR(outcome.energy_change, 0.5 * outcome.u_plus.squaredNorm() - 0.5, 1e-15);
  options.order = {0, 0};
  EXPECT_THROW(SolveSequence(system, options), ConfigError);
}

// Two balls thrown against a resting one from both sides touch it at once: the order decides. The
// set holds both orders and every spring ratio between.
TEST(Sequence, SetOfOutcomes) {
  const ImpactSystem system = MakeBallChain({1, 2, 1}, {1, 0, -1}, SequenceContacts(2, 1));
  const OutcomeSet set = SequenceOutcomes(system);
  EXPECT_TRUE(set.complete);
  ASSERT_EQ(set.outcomes.size(), 2U);
  const VectorXd sum = set.outcomes[0].u_plus + set.outcomes[1].u_plus.reverse();  // mirror images
  EXPECT_LT(sum.norm(), 1e-14);
  EXPECT_GT((set.outcomes[0].u_plus - set.outcomes[1].u_plus).norm(), 0.1);
  for (const MultiOutcome& outcome : set.outcomes) {
    EXPECT_EQ(SequenceFailures(system, outcome), "");
    EXPECT_NEAR(outcome.energy_change, 0, 1e-15);
  }
  const ContactSpace space = ReduceToContacts(system);
  const OutcomeSet springs = SpringOutcomes(system, {1e-6, 1, 1e6});
  EXPECT_EQ(springs.tried, 9);
  EXPECT_EQ(springs.outcomes.size(), 5U);  // ratios 1e-12, 1e-6, 1, 1e6, 1e12
  // Springs of very different stiffness act one after the other: they reach both ends of the set of
  // orders.
  const Eigen::MatrixX2d a = NormalRange(set, space), b = NormalRange(springs, space);
  EXPECT_LT((a - b).cwiseAbs().maxCoeff(), 1e-4);
  // With one order only there is one outcome.
  EXPECT_EQ(
      SequenceOutcomes(MakeBallChain({1, 1}, {1, 0}, SequenceContacts(1, 0.7))).outcomes.size(),
      1U);
}

// Elastic balls of equal mass exchange velocities: springs of any ratio that act one after the
// other agree with the sequence.
TEST(Sequence, StiffChainOfSpringsIsTheSequence) {
  ImpactSystem system = MakeBallChain({1, 1, 1}, {1, 0, 0}, SequenceContacts(2, 1));
  const MultiOutcome sequence = SolveSequence(system);
  double last = 1;
  for (const double ratio : {1.0, 1e2, 1e4, 1e6}) {
    system.contacts[0].stiffness = ratio;  // the first contact is over before the second has begun
    const double difference = (SolveSprings(system).u_plus - sequence.u_plus).norm();
    EXPECT_LT(difference, last);
    last = difference;
  }
  EXPECT_LT(last, 2e-3);
}

// Shen and Townsend 1998 as a system: the exact single contact inside the multi-contact frame.
TEST(Sequence, DoublePendulumByPoissonsLaw) {
  const double degree = M_PI / 180;
  const ImpactSystem system = MakeChain({2, 2}, {3, 3}, {20 * degree, 30 * degree}, {-0.1, -0.2},
                                        {"tip", {.e = 0.7, .mu_k = 0.5, .mu_s = 0.63}});
  SequenceOptions options;
  options.law = RestitutionLaw::kPoisson;
  const MultiOutcome outcome = SolveSequence(system, options);
  EXPECT_NEAR(outcome.J[1], 0.7733, 0.6e-4);
  EXPECT_NEAR(outcome.v_plus[0], 0, 1e-14);
  EXPECT_NEAR(outcome.v_plus[1], 0.08048, 0.6e-5);
  EXPECT_NEAR(outcome.energy_change, -0.1194, 0.6e-4);
  EXPECT_EQ(SequenceFailures(system, outcome, RestitutionLaw::kPoisson), "");
}

TEST(Sequence, SphereInACornerInSpace) {
  const ImpactSystem system = MakeSphereInCorner(0.5, 1, Vector3d(3, 2, -4), Vector3d::Zero(),
                                                 {"", {.e = 0.5, .mu_k = 0.35, .mu_s = 0.35}});
  const OutcomeSet set = SequenceOutcomes(system);
  EXPECT_TRUE(set.complete);
  EXPECT_GT(set.outcomes.size(), 1U);
  for (const MultiOutcome& outcome : set.outcomes) {
    EXPECT_EQ(SequenceFailures(system, outcome), "");
    EXPECT_LT(outcome.energy_change, 0);
    EXPECT_GT(outcome.u_plus.tail(3).norm(), 1);  // it gains spin
  }
}

TEST(Simultaneous, NewtonIsItsDefinition) {
  const ImpactSystem balls = MakeBallChain({1, 1, 1}, {1, 0, 0}, SequenceContacts(2, 1));
  const MultiOutcome outcome = SolveSimultaneous(balls, MultiLaw::kSimultaneousNewton);
  ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
  // v12 = +1, v23 >= 0 with as little impulse as that takes: (-1/3, 2/3, 2/3), the known result of
  // Newton's law for a chain.
  EXPECT_LT((outcome.u_plus - Vector3d(-1, 2, 2) / 3).norm(), 1e-13);
  EXPECT_EQ(SequenceFailures(balls, outcome), "");
  EXPECT_NEAR(outcome.energy_change, 0, 1e-14);
}

TEST(Simultaneous, PoissonIsItsDefinition) {
  const ImpactSystem balls = MakeBallChain({1, 1, 1}, {1, 0, 0}, SequenceContacts(2, 1));
  const MultiOutcome outcome = SolveSimultaneous(balls, MultiLaw::kSimultaneousPoisson);
  ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
  // Compression brings all to 1/3 with impulses 2/3 and 1/3; restitution repeats them.
  EXPECT_LT((outcome.u_plus - Vector3d(-1, 2, 2) / 3).norm(), 1e-13);
  EXPECT_LT((outcome.J - Eigen::Vector2d(4, 2) / 3).norm(), 1e-13);
  EXPECT_EQ(SequenceFailures(balls, outcome), "");
  EXPECT_THROW(SolveSimultaneous(balls, MultiLaw::kSprings), ConfigError);
}

// One contact that slips one way all through: all laws and both forms agree.
TEST(Simultaneous, OneSlidingContactAgreesWithTheExactPath) {
  const SystemBody disc{MakeBall(0.1, 2, true), Eigen::Isometry3d::Identity(), Vector3d(5, 0, -1),
                        Vector3d::Zero()};
  const ImpactSystem system =
      MakeBodySystem({disc}, {},
                     {{{"", {.e = 0.6, .mu_k = 0.3, .mu_s = 0.3}},
                       0,
                       kGround,
                       FrameAt(Vector3d(0, 0, -0.1), Vector3d::UnitZ(), true)}});
  const MultiOutcome exact = SolveSequence(system);
  for (const MultiLaw law : {MultiLaw::kSimultaneousNewton, MultiLaw::kSimultaneousPoisson}) {
    const MultiOutcome outcome = SolveSimultaneous(system, law);
    EXPECT_LT((outcome.u_plus - exact.u_plus).norm(), 1e-13);
    EXPECT_EQ(SequenceFailures(system, outcome), "");
  }
}

// Newton's law with friction gains energy at the double pendulum with mu_k = mu_s = 0.63: Kane's
// puzzle (Shen and Townsend 1998, section 6.1: 0.59 J).
TEST(Simultaneous, EnergyGainIsReported) {
  const double degree = M_PI / 180;
  const ImpactSystem system = MakeChain({2, 2}, {3, 3}, {20 * degree, 30 * degree}, {-0.1, -0.2},
                                        {"tip", {.e = 0.7, .mu_k = 5, .mu_s = 5}});
  const MultiOutcome outcome = SolveSimultaneous(system, MultiLaw::kSimultaneousNewton);
  ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
  EXPECT_NEAR(outcome.v_plus[0], 0, 1e-14);
  EXPECT_NEAR(outcome.energy_change, 0.587, 1e-3);
  EXPECT_EQ(SequenceFailures(system, outcome), "energy");
}

TEST(Simultaneous, LemkeSolvesAndSaysWhenItCannot) {
  Eigen::Matrix2d M;
  M << 2, 1, 1, 2;
  VectorXd z;
  ASSERT_TRUE(impact::SolveLcp(M, Eigen::Vector2d(-5, -6), z));
  EXPECT_LT((z - Eigen::Vector2d(4, 7) / 3).norm(), 1e-14);
  ASSERT_TRUE(impact::SolveLcp(M, Eigen::Vector2d(1, 0), z));
  EXPECT_EQ(z.norm(), 0);
  M << -1, 0, 0, -1;
  EXPECT_FALSE(impact::SolveLcp(M, Eigen::Vector2d(-1, -1), z));
}

}  // namespace
}  // namespace impactlab
