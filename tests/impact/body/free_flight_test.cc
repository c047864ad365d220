#include "impact/body/free_flight.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <array>
#include <boost/math/special_functions/jacobi_elliptic.hpp>
#include <boost/numeric/odeint/integrate/integrate_adaptive.hpp>
#include <boost/numeric/odeint/stepper/bulirsch_stoer.hpp>
#include <cmath>
#include <limits>
#include <random>

#include "data/base/error.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

// Position (3), velocity (3), body axes in W by columns (9), angular velocity in B (3).
using Flat = std::array<long double, 18>;

// The equations of motion as they stand, in long double by extrapolation: nothing shared with the
// code under test.
BodyState Reference(const BodyState& state, const Body& body, const FlightOptions& options,
                    double dt) {
  Flat x{};
  const Vector3d omega_B = state.X_WB.linear().transpose() * state.omega_WB;
  for (int i = 0; i < 3; ++i) {
    x[i] = state.X_WB.translation()[i];
    x[3 + i] = state.v_WB[i];
    for (int j = 0; j < 3; ++j) x[6 + 3 * j + i] = state.X_WB.linear()(i, j);
    x[15 + i] = omega_B[i];
  }
  using Vector3l = Eigen::Matrix<long double, 3, 1>;
  using Matrix3l = Eigen::Matrix<long double, 3, 3>;
  const Matrix3l I = body.inertia_B.cast<long double>();
  const Matrix3l I_inverse = I.inverse();
  const auto rhs = [&](const Flat& s, Flat& d, long double) {
    const Vector3l v(s[3], s[4], s[5]), w(s[15], s[16], s[17]);
    const Vector3l a = options.gravity_W.cast<long double>() -
                       static_cast<long double>(options.drag_per_m) * v.norm() * v;
    const Vector3l alpha = I_inverse * (I * w).cross(w);
    for (int i = 0; i < 3; ++i) {
      d[i] = v[i];
      d[3 + i] = a[i];
      d[15 + i] = alpha[i];
    }
    const Eigen::Map<const Matrix3l> R(s.data() + 6);
    Matrix3l W;
    W << 0, -w.z(), w.y(), w.z(), 0, -w.x(), -w.y(), w.x(), 0;
    Eigen::Map<Matrix3l>(d.data() + 6) = R * W;
  };
  using boost::numeric::odeint::bulirsch_stoer;
  bulirsch_stoer<Flat, long double> stepper(1e-15L, 1e-15L, 1.0L, 1.0L);
  boost::numeric::odeint::integrate_adaptive(stepper, rhs, x, 0.0L, static_cast<long double>(dt),
                                             static_cast<long double>(dt) / 50);
  BodyState next;
  for (int i = 0; i < 3; ++i) {
    next.X_WB.translation()[i] = static_cast<double>(x[i]);
    next.v_WB[i] = static_cast<double>(x[3 + i]);
    for (int j = 0; j < 3; ++j) next.X_WB.linear()(i, j) = static_cast<double>(x[6 + 3 * j + i]);
  }
  next.omega_WB =
      next.X_WB.linear() *
      Vector3d(static_cast<double>(x[15]), static_cast<double>(x[16]), static_cast<double>(x[17]));
  return next;
}

void ExpectSame(const BodyState& a, const BodyState& b, double relative) {
  EXPECT_LT((a.X_WB.translation() - b.X_WB.translation()).norm(),
            relative * (1 + b.X_WB.translation().norm()));
  EXPECT_LT((a.X_WB.linear() - b.X_WB.linear()).norm(), relative * std::sqrt(3.0));
  EXPECT_LT((a.v_WB - b.v_WB).norm(), relative * (1 + b.v_WB.norm()));
  EXPECT_LT((a.omega_WB - b.omega_WB).norm(), relative * (1 + b.omega_WB.norm()));
}

BodyState SomeState(std::mt19937_64& rng, double spin) {
  std::uniform_real_distribution<double> u(-1, 1);
  BodyState state;
  state.X_WB.linear() = Eigen::AngleAxisd(3 * u(rng), Vector3d(u(rng), u(rng), u(rng)).normalized())
                            .toRotationMatrix();
  state.X_WB.translation() = Vector3d(u(rng), u(rng), u(rng));
  state.v_WB = 3 * Vector3d(u(rng), u(rng), u(rng));
  state.omega_WB = spin * Vector3d(u(rng), u(rng), u(rng));
  return state;
}

std::vector<Body> Bodies() {
  const Body box = MakeBox(Vector3d(0.1, 0.2, 0.35), 1.3);
  Body skewed = box;  // principal axes away from the axes of B
  const Matrix3d R = Eigen::AngleAxisd(0.8, Vector3d(1, -2, 0.5).normalized()).toRotationMatrix();
  skewed.inertia_B = R * box.inertia_B * R.transpose();
  Body nearly = MakeRod(0.3, 0.02, 1);  // symmetric but for a part in 1e9
  nearly.inertia_B(0, 0) *= 1 + 1e-9;
  return {MakeBall(0.1, 1),
          MakeRod(0.3, 0.02, 1),
          MakeBox(Vector3d(0.3, 0.3, 0.02), 1),
          MakeBox(Vector3d(0.02, 0.3, 0.3), 1),
          box,
          skewed,
          nearly};
}

TEST(FreeFlight, AgreesWithTheEquationsOfMotionBothWaysInTime) {
  std::mt19937_64 rng(31);
  for (const Body& body : Bodies()) {
    for (const double drag : {0.0, 0.02}) {
      for (const double dt : {1.0, -0.3, 0.01}) {
        const BodyState state = SomeState(rng, 8);
        FlightOptions options;
        options.drag_per_m = drag;
        options.gravity_W = Vector3d(1, -2, -9);
        SCOPED_TRACE(::testing::Message() << body.name << " drag " << drag << " dt " << dt);
        ExpectSame(Propagate(state, body, options, dt), Reference(state, body, options, dt), 1e-12);
      }
    }
  }
}

TEST(FreeFlight, ConservesAngularMomentumAndEnergyOverManyTurns) {
  std::mt19937_64 rng(32);
  for (const Body& body : Bodies()) {
    BodyState state = SomeState(rng, 60);
    FlightOptions options;
    const auto momentum = [&](const BodyState& s) {
      return Vector3d(s.X_WB.linear() * body.inertia_B * s.X_WB.linear().transpose() * s.omega_WB);
    };
    const auto energy = [&](const BodyState& s) {
      return KineticEnergy(body, s.X_WB.linear(), s.v_WB, s.omega_WB) -
             body.mass * options.gravity_W.dot(s.X_WB.translation());
    };
    const Vector3d L = momentum(state);
    const double E = energy(state);
    for (int i = 0; i < 50; ++i) {
      state = Propagate(state, body, options, 0.1);
      EXPECT_LT((momentum(state) - L).norm(), 1e-12 * L.norm());
      EXPECT_NEAR(energy(state), E, 3e-12 * (std::abs(E) + body.mass * 9.81 * 125));
      EXPECT_LT(
          (state.X_WB.linear().transpose() * state.X_WB.linear() - Matrix3d::Identity()).norm(),
          1e-14);
    }
  }
}

// Angular velocity of an asymmetric body in Jacobi's elliptic functions (Landau & Lifshitz,
// Mechanics, section 37).
TEST(FreeFlight, AsymmetricSpinFollowsEllipticFunctions) {
  const Body body = MakeBox(Vector3d(0.35, 0.2, 0.1), 1.3);  // I1 < I2 < I3
  const Vector3d I = body.inertia_B.diagonal();
  BodyState state;
  // w2 = 0 at the start, spin mostly about the axis of largest moment
  state.omega_WB = Vector3d(1, 0, 6);
  const double E2 = I.dot(state.omega_WB.cwiseAbs2()),
               M2 = I.cwiseProduct(state.omega_WB).squaredNorm();
  ASSERT_GT(M2, E2 * I[1]);
  const double rate = std::sqrt((I[2] - I[1]) * (M2 - E2 * I[0]) / (I[0] * I[1] * I[2]));
  const double k = std::sqrt((I[1] - I[0]) * (E2 * I[2] - M2) / ((I[2] - I[1]) * (M2 - E2 * I[0])));
  const double w2 = std::sqrt((E2 * I[2] - M2) / (I[1] * (I[2] - I[1])));
  for (const double t : {-1.0, -0.3, 0.01, 0.2, 0.7, 1.0}) {
    const BodyState next = Propagate(state, body, {}, t);
    const Vector3d w = next.X_WB.linear().transpose() * next.omega_WB;
    double cn = 0, dn = 0;
    const double sn = boost::math::jacobi_elliptic(k, rate * t, &cn, &dn);
    EXPECT_NEAR(w[0], 1 * cn, 1e-11);
    EXPECT_NEAR(w[1], w2 * sn, 1e-11);
    EXPECT_NEAR(w[2], 6 * dn, 1e-11);
  }
}

TEST(FreeFlight, SpinAboutTheIntermediateAxisFlips) {
  const Body body = MakeBox(Vector3d(0.35, 0.2, 0.1), 1.3);
  BodyState state;
  state.omega_WB = Vector3d(1e-3, 15, 0);
  bool flipped = false;
  for (int i = 1; i <= 60; ++i) {
    const double t = 0.05 * i;
    const BodyState next = Propagate(state, body, {}, t);
    flipped = flipped || (next.X_WB.linear().transpose() * next.omega_WB).y() < -14.9;
  }
  EXPECT_TRUE(flipped);
  // Exactly about the axis it stays, as an equilibrium does.
  state.omega_WB = Vector3d(0, 15, 0);
  EXPECT_LT((Propagate(state, body, {}, 1).X_WB.linear() -
             Eigen::AngleAxisd(15, Vector3d::UnitY()).toRotationMatrix())
                .norm(),
            1e-12);
}

TEST(FreeFlight, ForwardAndBackReturnsToTheStart) {
  std::mt19937_64 rng(33);
  for (const Body& body : Bodies()) {
    for (int i = 0; i < 20; ++i) {
      const BodyState state = SomeState(rng, 20);
      FlightOptions options;
      options.drag_per_m = i % 2 == 0 ? 0 : 0.03;
      const double dt = 0.4;
      ExpectSame(Propagate(Propagate(state, body, options, dt), body, options, -dt), state, 2e-12);
      ExpectSame(Propagate(Propagate(state, body, options, 0.15), body, options, 0.25),
                 Propagate(state, body, options, dt), 2e-12);
      ExpectSame(Propagate(state, body, options, 0), state, 3e-15);
    }
  }
}

TEST(FreeFlight, PlanarBodiesSpinSteadilyInTheirPlane) {
  Body body = MakeBox(Vector3d(0.1, 0, 0.3), 1, true);
  BodyState state;
  state.X_WB = PlanarPose(1, 2, 0.4);
  state.v_WB = Vector3d(1, 0, 3);
  state.omega_WB = Vector3d(0, -7, 0);  // theta_dot = 7
  FlightOptions options;
  // gravity out of the plane does not move a planar body
  options.gravity_W = Vector3d(0.5, 0.3, -9.7);
  const BodyState next = Propagate(state, body, options, 0.3);
  EXPECT_NEAR(PlanarAngle(next.X_WB), 0.4 + 7 * 0.3, 1e-14);
  EXPECT_EQ(next.omega_WB, state.omega_WB);
  EXPECT_NEAR(next.X_WB.translation().x(), 1 + 0.3 + 0.5 * 0.5 * 0.09, 1e-15);
  EXPECT_EQ(next.X_WB.translation().y(), 0);
  EXPECT_NEAR(next.X_WB.translation().z(), 2 + 0.9 - 0.5 * 9.7 * 0.09, 1e-15);
  EXPECT_EQ(next.v_WB.y(), 0);
}

// Straight up and down with quadratic drag, in closed form: v = -U tan(...) rising, U tanh(...)
// falling.
TEST(FreeFlight, VerticalThrowWithDragPassesItsTurningPoint) {
  const Body ball = MakeBall(0.02, 1);
  const double k = 0.05, g = 9.80665, terminal = std::sqrt(g / k), rate = std::sqrt(g * k), up = 4;
  const double t_top = std::atan(up / terminal) / rate;
  const double height = std::log1p(up * up / (terminal * terminal)) / (2 * k);
  FlightOptions options;
  options.drag_per_m = k;
  BodyState state;
  state.v_WB = Vector3d(0, 0, up);
  const BodyState top = Propagate(state, ball, options, t_top);
  EXPECT_NEAR(top.v_WB.z(), 0, 1e-13);
  EXPECT_NEAR(top.X_WB.translation().z(), height, 1e-13);
  const BodyState down = Propagate(state, ball, options, t_top + 0.6);
  EXPECT_NEAR(down.v_WB.z(), -terminal * std::tanh(rate * 0.6), 1e-12);
  EXPECT_NEAR(down.X_WB.translation().z(), height - std::log(std::cosh(rate * 0.6)) / k, 1e-12);
  // Back in time over the top, and from rest both ways.
  const BodyState back = Propagate(down, ball, options, -(t_top + 0.6));
  EXPECT_NEAR(back.v_WB.z(), up, 1e-11);
  EXPECT_NEAR(back.X_WB.translation().z(), 0, 1e-11);
  EXPECT_NEAR(Propagate(BodyState{}, ball, options, 0.6).v_WB.z(),
              -terminal * std::tanh(rate * 0.6), 1e-13);
  EXPECT_NEAR(Propagate(BodyState{}, ball, options, -t_top).v_WB.z(), up, 1e-12);
  // A hair off the vertical, on both sides of the switch between the two treatments, changes the
  // answer by no more than that hair.
  for (const double aside : {1e-3, 1e-5, 1e-6, 3.9e-7, 4.1e-7, 1e-9, 1e-15}) {
    state.v_WB.x() = aside;
    const BodyState off = Propagate(state, ball, options, t_top + 0.6);
    EXPECT_NEAR(off.v_WB.z(), down.v_WB.z(), 1e-12 + 0.1 * aside * aside) << aside;
    EXPECT_NEAR(off.X_WB.translation().z(), down.X_WB.translation().z(),
                1e-12 + 0.1 * aside * aside)
        << aside;
    EXPECT_NEAR(off.v_WB.x() / aside,
                std::exp(-std::log1p(up * up / (terminal * terminal)) / 2 -
                         std::log(std::cosh(rate * 0.6))),
                1e-4)
        << aside;
  }
}

TEST(FreeFlight, DragWithoutGravityFollowsItsLogarithm) {
  FlightOptions options;
  options.gravity_W.setZero();
  options.drag_per_m = 0.3;
  BodyState state;
  state.v_WB = Vector3d(3, -4, 0);
  const BodyState next = Propagate(state, MakeBall(0.1, 1), options, 2);
  EXPECT_NEAR(next.v_WB.norm(), 5 / (1 + 0.3 * 5 * 2), 1e-13);
  EXPECT_NEAR(next.X_WB.translation().norm(), std::log(1 + 0.3 * 5 * 2) / 0.3, 1e-12);
  EXPECT_EQ(Propagate(BodyState{}, MakeBall(0.1, 1), options, 2).v_WB, Vector3d::Zero());
  // Backwards the speed has a pole at t = -1/(k v) = -2/3 s.
  EXPECT_NEAR(Propagate(state, MakeBall(0.1, 1), options, -0.6).v_WB.norm(),
              5 / (1 - 0.3 * 5 * 0.6), 1e-10);
  EXPECT_THROW(Propagate(state, MakeBall(0.1, 1), options, -0.7), ConfigError);
}

TEST(FreeFlight, TinyDragTendsToNone) {
  std::mt19937_64 rng(34);
  const BodyState state = SomeState(rng, 3);
  FlightOptions none, tiny;
  tiny.drag_per_m = 1e-15;
  ExpectSame(Propagate(state, MakeBall(0.1, 1), tiny, 1),
             Propagate(state, MakeBall(0.1, 1), none, 1), 1e-13);
}

TEST(FreeFlight, RefusesTimesAndDragsThatAreNone) {
  const Body ball = MakeBall(0.1, 1);
  FlightOptions options;
  EXPECT_THROW(Propagate(BodyState{}, ball, options, std::numeric_limits<double>::quiet_NaN()),
               ConfigError);
  EXPECT_THROW(Propagate(BodyState{}, ball, options, std::numeric_limits<double>::infinity()),
               ConfigError);
  options.drag_per_m = -1;
  EXPECT_THROW(Propagate(BodyState{}, ball, options, 1), ConfigError);
  options.drag_per_m = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(Propagate(BodyState{}, ball, options, 1), ConfigError);
}

}  // namespace
}  // namespace impactlab
