// Mechanisms of the literature: derivatives, energy, and the figures that its sources state for
// them at rest.

#include "impact/motion/mechanism_builders.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "data/base/error.h"
#include "tests/impact/motion/mechanism_motion.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

BeltPendulum Pendulum(double theta, double phi) {
  BeltPendulum p;
  p.theta = theta;
  p.phi = phi;
  return p;
}

Cradle Balls() {
  Cradle cradle;
  cradle.masses = {0.1, 0.2, 0.1, 0.3};
  cradle.angles = {-0.4, -0.1, 0.05, 0.2};
  cradle.rates = {1, -2, 0.5, -3};
  cradle.spaces = {0, 0.001, 0.002};
  return cradle;
}

TEST(MechanismBuilders, DerivativesOfPendulumAndCradle) {
  std::mt19937 generator(5);
  BeltPendulum p = Pendulum(0.7, -1.1);
  p.l2 = 0.6;
  p.m2 = 0.8;
  p.theta_dot = 2;
  p.phi_dot = -3;
  p.belt = -0.4;
  p.torque = 1.3;
  p.wall = 0.5;
  const StartedMechanism pendulum = MakeBeltPendulum(p), cradle = MakeCradleMechanism(Balls());
  ExpectContactRates(pendulum.mechanism, pendulum.start, 0, false, 3 * RandomVector(2, generator));
  for (int i = 0; i < 3; ++i)
    ExpectContactRates(cradle.mechanism, cradle.start, i, true, 3 * RandomVector(4, generator));
  for (const StartedMechanism& made : {pendulum, cradle}) {
    EXPECT_NEAR(FreePower(made.mechanism, made.start), 0, 2e-5);
    EXPECT_GT(std::abs(FreeAcceleration(made.mechanism, made.start)[0]), 0.5);
  }
  EXPECT_FALSE(pendulum.mechanism.passive);
  EXPECT_TRUE(cradle.mechanism.passive);
  p.belt = 0;
  EXPECT_TRUE(MakeBeltPendulum(p).mechanism.passive);
}

// The pendulum's first rod with a second that weighs nothing, and a ball of the cradle.
TEST(MechanismBuilders, SwingAsThePhysicalPendulum) {
  BeltPendulum p = Pendulum(0.3, 0.5);
  p.l1 = 1.7;
  p.m2 = 1e-12;
  const StartedMechanism made = MakeBeltPendulum(p);
  EXPECT_NEAR(FreeAcceleration(made.mechanism, made.start)[0], -9.81 / 1.7 * std::sin(0.3), 1e-9);
  Cradle cradle = Balls();
  const StartedMechanism balls = MakeCradleMechanism(cradle);
  EXPECT_NEAR(FreeAcceleration(balls.mechanism, balls.start)[1],
              -kStandardGravity * 0.1 * std::sin(-0.1) / (0.01 + 0.4 * 1e-4), 1e-9);
}

// The Bristol thesis, chapter 6, corrected: contact-space inverse mass and critical friction at the
// two printed configurations.
TEST(MechanismBuilders, PendulumHasTheCriticalFrictionOfTheBristolThesis) {
  const auto inverse_mass = [](double theta, double phi) {
    const StartedMechanism made = MakeBeltPendulum(Pendulum(theta, phi));
    VectorXd shift;
    return ReduceToContacts(FreezeForImpact(made.mechanism, made.start, {0}, shift)).A;
  };
  const MatrixXd A1 = inverse_mass(3.8572, 4.1154);
  EXPECT_NEAR(A1(0, 0), 1.406650, 1e-6);
  EXPECT_NEAR(A1(0, 1), 0.872926, 1e-6);
  EXPECT_NEAR(A1(1, 1), 0.715767, 1e-6);
  EXPECT_NEAR(A1(1, 1) / A1(0, 1), 0.819962, 1e-6);
  const MatrixXd A2 = inverse_mass(4.2062, 4.3), A3 = inverse_mass(4.21, 4.3);
  EXPECT_NEAR(A2(1, 1) / A2(0, 1), 0.461365, 1e-6);
  EXPECT_NEAR(A3(1, 1) / A3(0, 1), 0.459474, 1e-6);
}

// Held while it slides on the belt: the contact force balances gravity and torque. Errata 8 gives
// the figures of a consistent sign.
TEST(MechanismBuilders, PendulumHeldOnTheBeltIsInBalance) {
  BeltPendulum p = Pendulum(4.21, 4.3);
  p.belt = -0.98;
  p.properties.mu_k = p.properties.mu_s = 0.3;
  const HoldingForces held = HoldPendulum(p, -0.3);
  EXPECT_NEAR(held.normal, 35.68, 0.01);
  EXPECT_NEAR(held.torque, -0.799, 0.001);
  EXPECT_NEAR(HoldPendulum(Pendulum(3.8572, 4.1154), -0.7).normal, -241.9, 0.1);
  p.torque = held.torque;
  const StartedMechanism made = MakeBeltPendulum(p);
  ContactTerms contact;
  MechanismTerms terms;
  made.mechanism.contact(made.start, 0, contact);
  made.mechanism.terms(made.start, terms);
  EXPECT_NEAR(contact.gap, 0, 1e-15);
  // slides up the belt that runs down
  EXPECT_NEAR(ContactVelocity(made.mechanism, made.start, 0)[0], 0.98, 1e-15);
  EXPECT_LT((terms.force + contact.rows.transpose() * (held.normal * Vector2d(-0.3, 1))).norm(),
            1e-12);
}

// Chapter 5 of the Bristol thesis, corrected: acceleration of the rod that slides on its end P1,
// and of P2.
TEST(MechanismBuilders, RodOnFloorSlidesAsTheCorrectedFieldOfTheBristolThesis) {
  const double theta = 0.4, rate = 0.7, mu = 0.3, w = 2, t = 0.3;
  RodOnFloor rod;
  rod.frequency = w;
  rod.mu = mu;
  rod.pose = {0, std::sin(w * t) + std::sin(theta), theta};
  rod.rates = {0.5, 0, rate};
  // At the start the floor stands elsewhere; only the state at t counts.
  rod.pose.y() += 2;
  const BodyMechanism made = MakeRodOnFloor(rod);
  MechanismState state = made.start;
  state.t = t;
  state.q[1] -= 2;
  for (const int end : {1, 0}) {
    const double sign = end == 1 ? 1 : -1;  // P1 is at -x
    state.q[1] = std::sin(w * t) + sign * std::sin(theta);
    state.u[1] = w * std::cos(w * t) + sign * rate * std::cos(theta);
    ContactTerms contact;
    MechanismTerms terms;
    made.mechanism.contact(state, end, contact);
    made.mechanism.terms(state, terms);
    EXPECT_NEAR(contact.gap, 0, 1e-15);
    const VectorXd v = ContactVelocity(made.mechanism, state, end);
    EXPECT_NEAR(v[1], 0, 1e-15);
    const double s = v[0] > 0 ? -1 : 1, c = std::cos(theta), sn = std::sin(theta);
    const double force = (9.81 - sign * sn * rate * rate - w * w * std::sin(w * t)) /
                         (1 + 3 * c * c - 3 * s * mu * c * sn);
    const Vector3d du(s * mu * force, -9.81 + force, sign * (3 * s * mu * sn - 3 * c) * force);
    EXPECT_LT(
        (terms.M * du - terms.force - contact.rows.transpose() * (force * Vector2d(s * mu, 1)))
            .norm(),
        1e-12);
    EXPECT_NEAR(contact.rows.row(1) * du + contact.bias[1], 0, 1e-12);
  }
}

TEST(MechanismBuilders, BodiesStartWhereTheySay) {
  ContactProperties p;
  p.e = 0.5;
  const auto gaps = [](const BodyMechanism& made) {
    std::vector<double> out;
    ContactTerms contact;
    for (std::size_t i = 0; i < made.contacts.size(); ++i) {
      made.mechanism.contact(made.start, static_cast<int>(i), contact);
      out.push_back(contact.gap);
    }
    return out;
  };
  EXPECT_NEAR(gaps(MakeBouncingBall(0.9, 1))[0], 1, 1e-15);
  const auto disc = gaps(MakeDiscInCornerMechanism(0.2, 1, {0.3, 0.4}, {1, -1}, 2, p));
  EXPECT_NEAR(disc[0], 0.3, 1e-15);
  EXPECT_NEAR(disc[1], 0.4, 1e-15);
  const auto sphere =
      gaps(MakeSphereInCornerMechanism(0.2, 1, {0.1, 0.2, 0.3}, {1, 1, -1}, {0, 0, 1}, p));
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(sphere[i], 0.1 * (i + 1), 1e-15);
  const auto planar = gaps(MakeRockingBlockMechanism({0.2, 0, 0.5}, 1, 0.1, true, p));
  EXPECT_NEAR(planar[2], 0, 1e-15);
  EXPECT_NEAR(planar[3], 0.2 * std::sin(0.1), 1e-15);
  const auto block = gaps(MakeRockingBlockMechanism({0.2, 0.3, 0.5}, 1, 0.1, false, p));
  // bits 1 and 4 off: -x, low
  for (const int corner : {0, 2}) EXPECT_NEAR(block[corner], 0, 1e-15);
  for (const int corner : {1, 3}) EXPECT_NEAR(block[corner], 0.2 * std::sin(0.1), 1e-15);
}

// The cradle hung with touching balls freezes to the cradle of the impact systems.
TEST(MechanismBuilders, CradleFreezesToTheCradleOfItsSystem) {
  Cradle cradle = Balls();
  cradle.spaces.clear();
  cradle.angles = {0, 0, 0, 0};
  cradle.properties.e = 1;
  const StartedMechanism made = MakeCradleMechanism(cradle);
  VectorXd shift;
  const ContactSpace found =
      ReduceToContacts(FreezeForImpact(made.mechanism, made.start, {0, 1, 2}, shift));
  const ContactSpace wanted =
      ReduceToContacts(MakeCradle(cradle.masses, cradle.length, cradle.radius, cradle.rates,
                                  std::vector<ContactProperties>(3)));
  EXPECT_LT((found.NormalRows() * found.NormalRows().transpose() - wanted.A).cwiseAbs().maxCoeff(),
            1e-12);
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(found.v_minus[found.Normal(i)], wanted.v_minus[i], 1e-14) << i;
}

TEST(MechanismBuilders, RefuseWhatCannotBe) {
  Cradle cradle = Balls();
  cradle.angles[1] = -0.5;
  EXPECT_THROW(MakeCradleMechanism(cradle), ConfigError);  // inside its neighbour
  cradle = Balls();
  cradle.angles[0] = 0.9;
  EXPECT_THROW(MakeCradleMechanism(cradle), ConfigError);  // beyond it
  cradle = Balls();
  cradle.rates.pop_back();
  EXPECT_THROW(MakeCradleMechanism(cradle), ConfigError);
  BeltPendulum p = Pendulum(0.7, 0.7);
  p.wall = -2;
  EXPECT_THROW(MakeBeltPendulum(p), ConfigError);
  p.wall.reset();
  p.m1 = 0;
  EXPECT_THROW(MakeBeltPendulum(p), ConfigError);
  EXPECT_THROW(MakeBouncingBall(1.1, 1), ConfigError);
  EXPECT_THROW(MakeBouncingBall(0.9, -1), ConfigError);
  EXPECT_THROW(MakeRockingBlockMechanism({0.2, 0, 0.5}, 1, 2, true, {}), ConfigError);
}

}  // namespace
}  // namespace impactlab
