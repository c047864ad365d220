#include "pipelines/synth_motion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using internal::FloorContacts;

TEST(SynthMotion, ImpactTimeIsTheRootOfTheGap) {
  // A ball has its root in closed form.
  const Body ball = MakeBall(0.02, 0.1);
  const Plane floor;
  const FloorContacts contacts(ball, floor);
  BodyState s;
  for (const double height : {1e-6, 0.01, 0.3, 5.0}) {
    s.X_WB.translation() = Vector3d(0, 0, 0.02 + height);
    s.v_WB = Vector3d(1, 0, 0.3);
    s.omega_WB = Vector3d(30, 20, 10);
    const double g = 9.80665, expected = (0.3 + std::sqrt(0.09 + 2 * g * height)) / g;
    const auto contact = internal::FindContact(contacts, ball, FlightOptions{}, s, 10);
    EXPECT_EQ(contact.point, 0);
    EXPECT_NEAR(contact.t, expected, 1e-12);
  }
  EXPECT_EQ(internal::FindContact(contacts, ball, FlightOptions{}, s, 0.5).point, -1);
}

TEST(SynthMotion, GrazingVertexIsNotMissed) {
  // A fast rotor whose vertex dips into the floor for less than a scanning step.
  const Body stick = MakePoints({{0.1, 0, 0}, {-0.1, 0, 0}}, 1, 0.01 * Matrix3d::Identity(), true);
  const FloorContacts contacts(stick, Plane{});
  FlightOptions weightless;
  weightless.gravity_W.setZero();
  for (const double depth : {1e-3, 1e-6, 1e-9}) {
    BodyState s;
    s.X_WB = PlanarPose(0, 0.1 - depth, 0.013);
    s.omega_WB = Vector3d(0, -20, 0);
    const auto contact = internal::FindContact(contacts, stick, weightless, s, 1);
    ASSERT_GE(contact.point, 0) << depth;
    const double angle = std::asin(1 - depth / 0.1);  // of the lower tip below the horizontal at contact
    EXPECT_NEAR(contact.t, (angle - 0.013) / 20, 1e-8) << depth;
  }
  BodyState clear;
  clear.X_WB = PlanarPose(0, 0.1 + 1e-9, 0.013);
  clear.omega_WB = Vector3d(0, -20, 0);
  EXPECT_EQ(internal::FindContact(contacts, stick, weightless, clear, 1).point, -1);
}

// Motion that starts in touch with a level floor and meets no impact.
internal::DropMotion Touching(const Body& body, double mu, const BodyState& start, double t_max) {
  internal::MotionRules rules;
  rules.model = {RestitutionLaw::kEnergetic, 0.0, mu, mu};
  std::mt19937_64 rng(1);
  return internal::SimulateDrop(body, Plane{}, rules, start, 0.1, t_max, rng);
}

TEST(SynthMotion, LastingContactSlidesAndStopsAsCoulombSays) {
  for (const bool planar : {true, false}) {
    SCOPED_TRACE(planar);
    const Body box = MakeBox({0.1, planar ? 0 : 0.1, 0.04}, 0.5, planar);
    BodyState s;
    s.X_WB.translation() = Vector3d(0, 0, 0.02);
    s.v_WB = Vector3d(0.5, 0, 0);
    const internal::DropMotion motion = Touching(box, 0.2, s, 1);
    EXPECT_TRUE(motion.strikes.empty());
    const auto pose = [&](double t) { return PoseAt(motion, box, FlightOptions{}, t); };
    const double decel = 0.2 * 9.80665;
    EXPECT_NEAR(pose(0.1).translation().x(), 0.05 - 0.5 * decel * 0.01, 2e-5);
    EXPECT_NEAR(pose(0.9).translation().x(), 0.25 / (2 * decel), 2e-5);
    EXPECT_LT((pose(0.9).linear() - Matrix3d::Identity()).norm(), 1e-9);
    EXPECT_NEAR(pose(0.9).translation().z(), 0.02, 1e-9);
    EXPECT_EQ(motion.stretches.back().kind, internal::Stretch::Kind::kRest);
  }
}

TEST(SynthMotion, SlidingBallEndsRolling) {
  for (const bool planar : {true, false}) {
    SCOPED_TRACE(planar);
    const Body ball = MakeBall(0.05, 0.3, planar);
    BodyState s;
    s.X_WB.translation() = Vector3d(0, 0, 0.05);
    s.v_WB = Vector3d(0.7, 0, 0);
    const internal::DropMotion motion = Touching(ball, 0.3, s, 0.5);
    const BodyState& last = motion.stretches.back().state;
    EXPECT_NEAR(last.v_WB.x(), 0.7 * (planar ? 2.0 / 3 : 5.0 / 7), 1e-6);
    EXPECT_NEAR(last.omega_WB.y() * 0.05, last.v_WB.x(), 1e-6);
  }
}

TEST(SynthMotion, SquareTipsOverItsCornerWithTheEnergyOfTheFall) {
  const Body square = MakeBox({0.1, 0, 0.1}, 0.5, true);
  const double r = 0.05 * std::sqrt(2.0), start = 0.2;  // angle of the diagonal off the vertical
  BodyState s;
  s.X_WB = PlanarPose(r * std::sin(start), r * std::cos(start), M_PI / 4 - start);
  const internal::DropMotion motion = Touching(square, 20, s, 5);
  double turned = 0;
  for (const internal::Stretch& stretch : motion.stretches) {
    const double angle = std::atan2(stretch.state.X_WB.translation().x(), stretch.state.X_WB.translation().z());
    if (angle > 0.7) break;
    ASSERT_TRUE(stretch.kind == internal::Stretch::Kind::kContact || stretch.t == 0) << stretch.t;  // never lifts off
    const double fall = 0.5 * 9.80665 * r * (std::cos(start) - std::cos(angle));
    const double kinetic = KineticEnergy(square, stretch.state.X_WB.linear(), stretch.state.v_WB, stretch.state.omega_WB);
    if (angle > 0.3) {
      EXPECT_NEAR(kinetic / fall, 1, 3e-3);
    }
    turned = angle;
  }
  EXPECT_GT(turned, 0.69);
}

TEST(SynthMotion, ContactThatLastsTurnsOneFlightSmoothlyIntoTheOther) {
  const Body box = MakeBox({0.1, 0.08, 0.06}, 0.3);
  BodyState release;
  release.X_WB.linear() = Eigen::AngleAxisd(1.3, Vector3d(1, 2, 0.5).normalized()).toRotationMatrix();
  release.X_WB.translation() = Vector3d(0, 0, 0.2);
  release.v_WB = Vector3d(0.3, 0.1, 0);
  release.omega_WB = Vector3d(1, -2, 3);
  internal::MotionRules rules;
  rules.model = {RestitutionLaw::kEnergetic, 0.6, 0.2, 0.2};
  std::mt19937_64 rng(1);
  const internal::DropMotion sudden = internal::SimulateDrop(box, Plane{}, rules, release, 0.03, 10, rng);
  rules.contact_time = 2e-3;
  const internal::DropMotion lasting = internal::SimulateDrop(box, Plane{}, rules, release, 0.03, 10, rng);
  ASSERT_EQ(lasting.strikes.size(), 1u);
  const internal::Strike& strike = lasting.strikes.front();
  // It touches when it would, and is half way a millisecond later.
  EXPECT_NEAR(strike.t, sudden.strikes.front().t + 1e-3, 1e-9);
  const auto velocity = [&](double t) -> Vector3d {
    constexpr double h = 1e-6;
    return (internal::PoseAt(lasting, box, rules.flight, t + h).translation() -
            internal::PoseAt(lasting, box, rules.flight, t - h).translation()) /
           (2 * h);
  };
  const Vector3d before = strike.event.v_minus, after = strike.event.v_plus;
  ASSERT_GT((after - before).norm(), 0.5);
  EXPECT_LT((velocity(strike.t - 1.01e-3) - before).norm(), 0.012);  // gravity within a millisecond
  EXPECT_LT((velocity(strike.t + 1.01e-3) - after).norm(), 0.012);
  EXPECT_LT((velocity(strike.t) - 0.5 * (before + after)).norm(), 0.01 * (after - before).norm());
  double last = -1e9;
  for (double s = -1e-3; s <= 1e-3; s += 1e-4) {
    const double share = (velocity(strike.t + s) - before).dot(after - before) / (after - before).squaredNorm();
    EXPECT_GT(share, last - 1e-3) << s;
    EXPECT_NEAR(share, 0.5 * (1 - std::cos(M_PI * (s / 2e-3 + 0.5))), 0.02) << s;
    last = share;
  }
}

}  // namespace
}  // namespace impactlab
