// Impacts of a ball of which nobody knows how it spins before: friction is bounded below alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "impact/body/unknown_spin.h"
#include "impact/identify/identify.h"
#include "tests/impact/identify_twin.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;

constexpr double kOpenFriction = 0.3, kOpenRestitution = 0.7;

// As a camera that follows the centre alone leaves the event.
void ForgetSpin(const Body& ball, ImpactEvent& event) {
  event.omega_minus.setZero();
  event.omega_plus.setZero();
  for (const int block : {kOmegaMinus, kOmegaPlus}) {
    event.cov.middleRows<3>(block).setZero();
    event.cov.middleCols<3>(block).setZero();
    for (int axis = 0; axis < 3; ++axis)
      if (!event.planar || axis == 1)
        event.cov(block + axis, block + axis) = kUnknownSpin * kUnknownSpin;
  }
  UpdateContact(event, ball, Plane(), {0, 0, -9.80665});
}

std::vector<ImpactEvent> DrawBalls(const Body& ball, int n, double spin, double sd_mu,
                                   unsigned seed) {
  twin::Options options{.n = n, .mu = kOpenFriction, .e = kOpenRestitution, .sd_mu = sd_mu};
  options.sd_n = 0.005;
  options.sd_r = 0;
  options.speed_t = 1.5;
  options.spin = spin;
  std::mt19937_64 random(seed);
  std::vector<ImpactEvent> events;
  events.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) events.push_back(twin::RandomEvent(ball, options, random, i));
  return events;
}

double MeasuredRatio(const ImpactEvent& event) {
  const Eigen::Vector3d dv = event.v_plus - event.v_minus;
  return dv.head<2>().norm() / dv.z();
}

LawFit OpenFit(const std::vector<ImpactEvent>& events, const Body& ball) {
  return Identify(events, ball, {{}, RestitutionLaw::kEnergetic});
}

TEST(OpenSpin, BoundsFrictionBelowAlone) {
  for (const bool planar : {true, false})
    for (const double spin : {5.0, 150.0}) {
      const Body ball = MakeBall(0.02, 0.05, planar);
      std::vector<ImpactEvent> events = DrawBalls(ball, 40, spin, 0, 7);
      const LawFit known = OpenFit(events, ball);
      for (ImpactEvent& event : events) ForgetSpin(ball, event);
      const LawFit fit = OpenFit(events, ball);
      std::vector<double> ratios;
      ratios.reserve(events.size());
      for (const ImpactEvent& event : events) ratios.push_back(MeasuredRatio(event));
      std::sort(ratios.begin(), ratios.end());
      EXPECT_FALSE(fit.mu_k.identifiable) << planar << spin;
      EXPECT_TRUE(std::isinf(fit.mu_k.upper95));
      EXPECT_LE(fit.mu_k.lower95, kOpenFriction + 0.002);
      // Ratios that spread may be those of friction that scatters.
      EXPECT_GT(fit.mu_k.lower95, (spin > 100 ? 0.9 : 0.65) * ratios[ratios.size() - 3])
          << planar << spin;
      EXPECT_THAT(fit.mu_k.reason, HasSubstr("the spin before 40 of 40 impacts was not measured"));
      EXPECT_THAT(fit.mu_k.reason, HasSubstr("bounded below only"));
      EXPECT_TRUE(fit.e.identifiable);
      // Restitution does not hang on the spin.
      EXPECT_NEAR(fit.e.value, known.e.value, known.e.sd);
      EXPECT_LT(fit.e.sd, 1.5 * known.e.sd);
    }
}

// Friction that differs from impact to impact is above its mean in the impacts of the highest
// ratio.
TEST(OpenSpin, ScatterOfFrictionDoesNotRaiseTheBound) {
  const Body ball = MakeBall(0.02, 0.05, true);
  int held = 0;
  double sum = 0;
  constexpr int kSets = 20;
  for (unsigned seed = 0; seed < kSets; ++seed) {
    std::vector<ImpactEvent> events = DrawBalls(ball, 30, 150, 0.04, 20 + seed);
    for (ImpactEvent& event : events) ForgetSpin(ball, event);
    const LawFit fit = OpenFit(events, ball);
    EXPECT_FALSE(fit.mu_k.identifiable);
    held += fit.mu_k.lower95 <= kOpenFriction;
    sum += fit.mu_k.lower95;
  }
  EXPECT_GE(held, kSets - 2);
  EXPECT_GT(sum / kSets, 0.7 * kOpenFriction);  // some stick
}

// Straight drops ask for no friction, whatever the spin.
TEST(OpenSpin, SmallRatiosBoundLittle) {
  const Body ball = MakeBall(0.02, 0.05, true);
  std::vector<ImpactEvent> events = DrawBalls(ball, 20, 0, 0, 8);
  for (ImpactEvent& event : events) {
    event.v_plus.x() = event.v_minus.x();
    ForgetSpin(ball, event);
  }
  const LawFit fit = OpenFit(events, ball);
  EXPECT_FALSE(fit.mu_k.identifiable);
  EXPECT_LT(fit.mu_k.lower95, 0.01);
  EXPECT_TRUE(std::isinf(fit.mu_k.upper95));
}

// Impacts whose spin is known decide; the others neither help nor disturb much.
TEST(OpenSpin, KnownSpinsBesideDecide) {
  const Body ball = MakeBall(0.02, 0.05, true);
  std::vector<ImpactEvent> events = DrawBalls(ball, 40, 150, 0, 9);
  const LawFit all = OpenFit(events, ball);
  for (std::size_t i = 0; i < events.size(); i += 2) ForgetSpin(ball, events[i]);
  const LawFit half = OpenFit(events, ball);
  ASSERT_TRUE(all.mu_k.identifiable);
  EXPECT_TRUE(half.mu_k.identifiable) << half.mu_k.reason;
  EXPECT_LE(half.mu_k.lower95, kOpenFriction + 1e-3);
  EXPECT_GE(half.mu_k.upper95, kOpenFriction - 1e-3);
  EXPECT_GE(half.mu_k.upper95, all.mu_k.value);
}

TEST(OpenSpin, IsNotThatOfAMeasuredSpin) {
  const Body ball = MakeBall(0.02, 0.05);
  std::vector<ImpactEvent> events = DrawBalls(ball, 3, 150, 0, 10);
  for (ImpactEvent& event : events) {
    EXPECT_FALSE(SpinIsOpen(event));
    event.cov.block<3, 3>(kOmegaMinus, kOmegaMinus) *= 1e6;  // poorly, but measured
    EXPECT_FALSE(SpinIsOpen(event));
    ForgetSpin(ball, event);
    EXPECT_TRUE(SpinIsOpen(event));
    // Declared as at rest: not measured, yet known well enough.
    event.cov.block<3, 3>(kOmegaMinus, kOmegaMinus) = Eigen::Matrix3d::Identity();
    EXPECT_TRUE(SpinIsUnknown(event));
    EXPECT_FALSE(SpinIsOpen(event));
  }
}

// A prediction leaves friction any size and direction inside its cone.
TEST(OpenSpin, PredictionsCoverWhatFrictionMayDo) {
  const Body ball = MakeBall(0.02, 0.05);
  std::vector<ImpactEvent> events = DrawBalls(ball, 60, 150, 0, 11);
  const LawFit known = OpenFit(events, ball);
  for (ImpactEvent& event : events) {
    ForgetSpin(ball, event);
    const Prediction p = Predict(event, ball, ModelOf(known), known);
    for (const int axis : {0, 1})
      EXPECT_LT(std::abs(p.plus[axis] - event.v_plus[axis]),
                1.1 * std::sqrt(p.cov_difference(axis, axis)));
    EXPECT_LT(std::sqrt(p.cov_difference(2, 2)), 0.1);
  }
}

}  // namespace
}  // namespace impactlab
