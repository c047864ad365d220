// Periodic motions of a ball on a vibrating floor against the closed forms of the Bristol thesis
// with its errata (impact/REFERENCES.md).

#include "impact/motion/orbit.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/impact/motion/vibrating_ball.h"

namespace impactlab {
namespace {

// Apex of the orbit that bounces once in n periods. `upper`: the branch with sin phi > 0, which is
// stable after the fold.
MechanismState Apex(double w, double e, int n, bool upper = true) {
  const double c = (1 - e) / (1 + e) * n * M_PI * kG / (w * w),
               phi = upper ? std::acos(c) : -std::acos(c), T = 2 * M_PI * n / w;
  const double height = std::sin(phi) + kG * T * T / 8;
  MechanismState s = OnVibratingFloor(w, e, height).start;
  s.t = phi / w + T / 2;
  return s;
}

double Fold(double e, int n) { return std::sqrt(n * M_PI * kG * (1 - e) / (1 + e)); }

double Doubling(double e, int n) {
  const double a = n * M_PI * (1 - e) / (1 + e), b = 2 * (1 + e * e) / ((1 + e) * (1 + e));
  return std::sqrt(kG * std::sqrt(a * a + b * b));
}

TEST(Orbit, MultipliersOfTheBallThatBouncesOnceAPeriod) {
  const double w = 3, e = 0.9;
  MechanismState guess = Apex(w, e, 1);
  guess.q[1] += 0.01;
  guess.u[1] -= 0.02;
  const PeriodicOrbit orbit =
      FindPeriodicOrbit(OnVibratingFloor(w, e).mechanism, guess, 2 * M_PI / w);
  ASSERT_TRUE(orbit.usable()) << orbit.reason;
  EXPECT_NEAR(orbit.start.q[1], Apex(w, e, 1).q[1], 1e-9);
  EXPECT_NEAR(orbit.start.u[1], 0, 1e-9);
  EXPECT_LT(orbit.residual, 1e-9);
  EXPECT_EQ(orbit.impacts, 1);
  // Four of the six belong to motions along the floor and turning, in which nothing changes.
  int found = 0;
  for (const std::complex<double>& m : orbit.multipliers) {
    if (std::abs(m - std::complex<double>(1, 0)) < 1e-3) continue;
    EXPECT_NEAR(m.real(), -0.723847, 1e-6);
    EXPECT_NEAR(std::abs(m.imag()), 0.534833, 1e-6);
    ++found;
  }
  EXPECT_EQ(found, 2);
}

// The derivative of the motion through impacts against differences of the motion itself.
TEST(Orbit, DerivativeThroughImpactsAgreesWithDifferences) {
  RodOnFloor rod;
  rod.e = 0.7;
  rod.mu = 0.3;
  rod.rates = {0.4, 0, 1.1};
  const BodyMechanism made = MakeRodOnFloor(rod);
  SimulateOptions options;
  options.tolerance = 1e-13;
  options.duration = 1.6;
  const MotionDerivative d =
      DifferentiateMotion(made.mechanism, made.start, options.duration, options);
  ASSERT_TRUE(d.usable()) << d.reason;
  ASSERT_GE(d.impacts, 2);
  for (int k = 0; k < 6; ++k) {
    const double step = 1e-7;
    const auto end = [&](double by) {
      MechanismState s = made.start;
      (k < 3 ? s.q[k] : s.u[k - 3]) += by;
      const MechanismState e = Simulate(made.mechanism, s, options).state;
      Eigen::VectorXd x(6);
      x << e.q, e.u;
      return x;
    };
    const Eigen::VectorXd slope = (end(step) - end(-step)) / (2 * step);
    EXPECT_LT((slope - d.dx.col(k)).norm(), 1e-5 * (1 + slope.norm())) << k;
  }
}

// Folds and period doublings of the corrected table, for n = 1 to 3.
TEST(Orbit, FoldsAndPeriodDoublingsAreFound) {
  for (const auto& [e, n] : {std::pair{0.9, 1}, {0.9, 3}, {0.8, 2}, {0.5, 1}}) {
    const double doubling = Doubling(e, n), fold = Fold(e, n),
                 w = fold + std::min(0.08, 0.5 * (doubling - fold));
    OrbitFamily family;
    family.mechanism = [e = e](double parameter) {
      return OnVibratingFloor(parameter, e).mechanism;
    };
    family.period = [n = n](double parameter) { return 2 * M_PI * n / parameter; };
    OrbitPoint first;
    first.parameter = w;
    first.orbit.start = Apex(w, e, n);
    const OrbitBranch up = FollowOrbit(family, first, 0.1, 0, doubling + 0.03);
    ASSERT_EQ(up.bifurcations.size(), 1u) << e << " " << n << " " << up.end;
    EXPECT_EQ(up.bifurcations[0].kind, BifurcationKind::kPeriodDoubling);
    EXPECT_NEAR(up.bifurcations[0].parameter, doubling, 1e-6) << e << " " << n;
    const OrbitBranch down = FollowOrbit(family, first, -0.1, 0, fold + 0.1, 60);
    ASSERT_GE(down.bifurcations.size(), 1u) << e << " " << n << " " << down.end;
    EXPECT_EQ(down.bifurcations[0].kind, BifurcationKind::kFold);
    EXPECT_NEAR(down.bifurcations[0].parameter, fold, 1e-6) << e << " " << n;
  }
}

// The unstable branch ends where its impact becomes a graze (section 4.5 of the thesis).
TEST(Orbit, UnstableBranchEndsInAGraze) {
  OrbitFamily family;
  family.mechanism = [](double parameter) { return OnVibratingFloor(parameter, 0.5).mechanism; };
  family.period = [](double parameter) { return 2 * M_PI / parameter; };
  OrbitPoint first;
  first.parameter = 4.9;
  first.orbit.start = Apex(4.9, 0.5, 1, false);
  const OrbitBranch branch = FollowOrbit(family, first, 0.02, 4, 5.5, 60);
  ASSERT_GE(branch.points.size(), 2u) << branch.end;
  EXPECT_GT(std::abs(branch.points[0].orbit.multipliers[0]), 1);
  ASSERT_EQ(branch.bifurcations.size(), 1u) << branch.end;
  EXPECT_EQ(branch.bifurcations[0].kind, BifurcationKind::kGrazing);
  EXPECT_NEAR(branch.bifurcations[0].parameter, 4.95653, 1e-4);
}

TEST(Orbit, SaysWhyThereIsNoDerivative) {
  const BodyMechanism ball = MakeBouncingBall(0.5, 0.2);
  const MotionDerivative rests = DifferentiateMotion(ball.mechanism, ball.start, 5);
  EXPECT_FALSE(rests.usable());
  EXPECT_NE(rests.reason.find("lasts"), std::string::npos) << rests.reason;
  RodOnFloor flat;
  flat.pose = {0, 3, 0};
  const BodyMechanism rod = MakeRodOnFloor(flat);
  EXPECT_NE(DifferentiateMotion(rod.mechanism, rod.start, 2).reason.find("at once"),
            std::string::npos);
}

TEST(Orbit, PeriodsOfSections) {
  std::vector<Eigen::VectorXd> points;
  points.reserve(24);
  for (int k = 0; k < 24; ++k) points.push_back(Eigen::VectorXd::Constant(1, k % 3));
  EXPECT_EQ(FindPeriod(points, 1e-9, 8), 3);
  EXPECT_EQ(FindPeriod(points, 1e-9, 2), 0);
  EXPECT_EQ(FindPeriod(points, 3, 8), 1);
}

}  // namespace
}  // namespace impactlab
