// Impacts of one body on another that moves: states, momentum and coefficients from the poses of both.

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/error.h"
#include "data/statistics.h"
#include "impact/identify.h"
#include "impact/solve.h"
#include "reconstruction/two_body.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kRestitution = 0.6, kRate = 500;
// Balls stick at the friction of the boxes, which leaves it open.
double FrictionOf(bool ball) { return ball ? 0.06 : 0.2; }

struct Blow {
  PoseRecording first, second;
  Body ball;
  StruckBody plate;
  double t = 0.2;
  test::Flying one_minus, one_plus, two_minus, two_plus;
};

Isometry3d PoseOf(const test::Flying& f) {
  Isometry3d X = Isometry3d::Identity();
  X.linear() = f.R;
  X.translation() = f.p;
  return X;
}

// A rigid swing about the axis by small steps; nothing of the code under test.
test::Flying Swing(const test::Flying& from, const StruckBody& plate, double inertia, double dt) {
  const Vector3d u = plate.axis->axis_W;
  test::Flying f = from;
  double w = from.omega.dot(u);
  const int steps = std::max(1, static_cast<int>(std::ceil(std::abs(dt) / 2e-5)));
  for (int i = 0; i < steps; ++i) {
    const double h = dt / steps;
    const auto torque = [&](const Vector3d& p) { return u.dot((p - plate.axis->p_W).cross(plate.body.mass * Vector3d(0, 0, -9.80665))); };
    w += 0.5 * h * torque(f.p) / inertia;
    const Matrix3d turn = test::Turned(w * h * u);
    f.p = plate.axis->p_W + turn * (f.p - plate.axis->p_W);
    f.R = turn * f.R;
    w += 0.5 * h * torque(f.p) / inertia;
  }
  f.omega = w * u;
  f.v = f.omega.cross(f.p - plate.axis->p_W);
  return f;
}

// A box (or ball) strikes a moving plate of 0.2 x 0.15 x 0.02 m; `on_axis` hangs it on a level axis at one edge.
Blow Make(bool on_axis, bool ball, std::mt19937_64& random, double sd_position = 5e-5, double sd_angle = 5e-4) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  const Vector3d gravity(0, 0, -9.80665);
  const auto vector = [&] {
    const double x = uniform(random), y = uniform(random), z = uniform(random);
    return Vector3d(x, y, z);
  };
  Blow b;
  b.ball = ball ? MakeBall(0.03, 0.1) : MakeBox({0.06, 0.05, 0.04}, 0.15);
  b.plate.body = MakeBox({0.2, 0.15, 0.02}, 0.4);
  b.plate.surface_B = {Vector3d::UnitZ(), 0.01};
  while (true) {
    test::Flying &one = b.one_minus, &two = b.two_minus;
    two = one = {};
    two.R = test::Turned(0.2 * vector());
    two.v = 0.3 * vector();
    two.omega = vector();
    double inertia = 0;
    if (on_axis) {
      FixedAxis axis;
      axis.axis_W = Vector3d(0.1, 1, 0).normalized();
      axis.p_W = two.R * Vector3d(0.1, 0, 0);
      b.plate.axis = axis;
      two.omega = 1.5 * uniform(random) * axis.axis_W;
      two.v = two.omega.cross(two.p - axis.p_W);
      const Vector3d u_B = two.R.transpose() * axis.axis_W;
      inertia = u_B.dot(b.plate.body.inertia_B * u_B) + 0.4 * axis.axis_W.cross(two.p - axis.p_W).squaredNorm();
    }
    const Vector3d n = two.R.col(2);
    one.R = test::AnyRotation(random);
    one.v = Vector3d(0.8, 0.6, 0.3).cwiseProduct(vector()) + Vector3d(0, 0, -1.8);
    one.omega = 4 * vector();
    const Vector3d lever = test::LowestLever(b.ball, one.R, n);
    one.p = two.p + two.R * Vector3d(0.05 * uniform(random) - 0.02, 0.04 * uniform(random), 0.01) - lever;
    if (!ball) {
      const auto heights = test::Heights(b.ball, one, n);
      if (heights[1] - heights[0] < 8e-3) continue;
    }
    const Isometry3d X_WF = ContactFrame({n, n.dot(one.p + lever)}, one.p + lever, gravity, false);
    ContactState contact = MakeContactState(b.ball, PoseOf(one), one.v, one.omega, X_WF);
    // The second body's share by hand.
    const Vector3d r2 = one.p + lever - two.p;
    contact.v_minus_F -= X_WF.linear().transpose() * (two.v + two.omega.cross(r2));
    Matrix3d A2 = Matrix3d::Zero();
    const Matrix3d I2 = two.R * b.plate.body.inertia_B * two.R.transpose();
    for (int k = 0; k < 3; ++k) {
      const Vector3d J = Vector3d::Unit(k);
      if (on_axis) {
        const Vector3d u = b.plate.axis->axis_W, r = one.p + lever - b.plate.axis->p_W;
        A2.col(k) = (u * u.dot(r.cross(J)) / inertia).cross(r);
      } else {
        A2.col(k) = J / b.plate.body.mass + (I2.inverse() * r2.cross(J)).cross(r2);
      }
    }
    contact.A_F += X_WF.linear().transpose() * A2 * X_WF.linear();
    const Vector3d J_W =
        X_WF.linear() *
        Solve(contact, {.law = RestitutionLaw::kEnergetic, .e = kRestitution, .mu_k = FrictionOf(ball), .mu_s = FrictionOf(ball)}).J_F;
    b.one_plus = one;
    b.two_plus = two;
    b.one_plus.v += J_W / b.ball.mass;
    b.one_plus.omega += one.R * b.ball.inertia_B.inverse() * one.R.transpose() * lever.cross(J_W);
    if (on_axis) {
      const Vector3d u = b.plate.axis->axis_W;
      b.two_plus.omega -= u * u.dot((one.p + lever - b.plate.axis->p_W).cross(J_W)) / inertia;
      b.two_plus.v = b.two_plus.omega.cross(two.p - b.plate.axis->p_W);
    } else {
      b.two_plus.v -= J_W / b.plate.body.mass;
      b.two_plus.omega -= I2.inverse() * r2.cross(J_W);
    }
    b.first = b.second = {};
    b.first.name = b.second.name = "blow";
    const auto put = [&](PoseRecording* recording, double t, const test::Flying& f) {
      Isometry3d X = PoseOf(f);
      X.translation() += sd_position * test::Normal3(random);
      X.linear() = X.linear() * test::Turned(sd_angle * test::Normal3(random));
      recording->t.push_back(t);
      recording->X_WB.push_back(X);
    };
    bool clean = true;
    const double shift = 0.5 + 0.5 * uniform(random);
    for (int i = -25; i < 25; ++i) {
      const double s = (i + shift) / kRate;
      const test::Flying f1 = test::Fly(s < 0 ? one : b.one_plus, b.ball.inertia_B, gravity, s);
      const test::Flying f2 = on_axis ? Swing(s < 0 ? two : b.two_plus, b.plate, inertia, s)
                                      : test::Fly(s < 0 ? two : b.two_plus, b.plate.body.inertia_B, gravity, s);
      const Vector3d m = f2.R.col(2);
      clean = clean && (std::abs(s) < 1e-3 || m.dot(f1.p + test::LowestLever(b.ball, f1.R, m) - f2.p) > 0.01);
      put(&b.first, b.t + s, f1);
      put(&b.second, b.t + s, f2);
    }
    if (clean) return b;
  }
}

class TwoBodies : public ::testing::TestWithParam<std::pair<bool, bool>> {};

TEST_P(TwoBodies, StatesMomentumAndCoefficients) {
  const auto [on_axis, ball] = GetParam();
  std::mt19937_64 random(20261205 + 2 * on_axis + ball);
  std::vector<ImpactEvent> events;
  Body body;
  double closure = 0, z2 = 0;
  int n = 0;
  const int kBlows = 20;
  for (int k = 0; k < kBlows; ++k) {
    const Blow blow = Make(on_axis, ball, random);
    body = blow.ball;
    const std::vector<TwoBodyEvent> found = FitTwoBodies(blow.first, blow.ball, blow.second, blow.plate);
    ASSERT_EQ(found.size(), 1u) << k;
    const TwoBodyEvent& out = found[0];
    if (!out.event.accepted) continue;
    ++n;
    EXPECT_NEAR(out.event.t, blow.t, 2e-4);
    EXPECT_LT((out.v2_plus - blow.two_plus.v).norm(), 0.02);
    closure += out.closure_chi_square / static_cast<double>(out.closure.size());
    // Relative velocity of the centre, in the frame that turns with body 2.
    const Vector3d p = blow.one_minus.p + test::LowestLever(blow.ball, blow.one_minus.R, blow.two_minus.R.col(2));
    const Vector3d u2 = blow.two_minus.v + blow.two_minus.omega.cross(p - blow.two_minus.p);
    const Matrix3d back = blow.two_minus.R * out.X_WB2.linear().transpose();
    const Vector3d errors[2] = {back * out.event.v_minus - (blow.one_minus.v - u2), back * out.event.v_plus - (blow.one_plus.v - u2)};
    for (int s = 0; s < 2; ++s) z2 += errors[s].dot(out.event.cov.block<3, 3>(6 * s, 6 * s).ldlt().solve(errors[s])) / 6;
    events.push_back(out.event);
  }
  EXPECT_GE(n, kBlows - 4);
  EXPECT_GT(closure / n, on_axis ? 0.3 : 0.6);
  EXPECT_LT(closure / n, on_axis ? 2.0 : 1.5);
  EXPECT_GT(z2 / n, 0.6);
  EXPECT_LT(z2 / n, 1.6);
  const LawFit fit = Identify(events, body, {.law = RestitutionLaw::kEnergetic}, {.influence = false});
  const double planted[2] = {FrictionOf(ball), kRestitution};
  for (int k = 0; k < 2; ++k) {
    EXPECT_LT(fit.parameters[k].lower95, planted[k]) << fit.parameters[k].name;
    EXPECT_GT(fit.parameters[k].upper95, planted[k]) << fit.parameters[k].name;
    EXPECT_LT(fit.parameters[k].upper95 - fit.parameters[k].lower95, 0.06) << fit.parameters[k].name;
  }
}
INSTANTIATE_TEST_SUITE_P(PlatesStruck, TwoBodies,
                         ::testing::Values(std::pair(false, true), std::pair(false, false), std::pair(true, true), std::pair(true, false)));

TEST(TwoBodyMass, InverseMassesAdd) {
  std::mt19937_64 random(7);
  const Blow free = Make(false, true, random), hung = Make(true, true, random);
  for (const Blow* blow : {&free, &hung}) {
    const TwoBodyEvent out = FitTwoBodies(blow->first, blow->ball, blow->second, blow->plate).at(0);
    const Matrix3d alone = ContactInverseMass(blow->ball, out.event.X_WB, out.event.contact.X_WF);
    const Matrix3d second = out.event.contact.A_F - alone;
    EXPECT_GT(second(2, 2), 0.3);
    const Vector3d values = Eigen::SelfAdjointEigenSolver<Matrix3d>(second).eigenvalues();
    EXPECT_GE(values.minCoeff(), -1e-9);
    // On an axis the plate yields in one direction only.
    EXPECT_EQ((values.array() > 1e-9).count(), blow->plate.axis ? 1 : 3);
  }
}

TEST(TwoBodyMass, WrongMassOfThePlateDoesNotClose) {
  std::mt19937_64 random(8);
  Blow blow = Make(false, true, random);
  blow.plate.body = MakeBox({0.2, 0.15, 0.02}, 0.5);
  EXPECT_GT(FitTwoBodies(blow.first, blow.ball, blow.second, blow.plate).at(0).closure_chi_square, 30);
  EXPECT_THROW(FitTwoBodies(blow.first, MakeBall(0.03, 0.1, true), blow.second, blow.plate), ConfigError);
}

}  // namespace
}  // namespace impactlab
