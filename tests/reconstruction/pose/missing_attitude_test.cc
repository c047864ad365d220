#include "reconstruction/pose/missing_attitude.h"

#include <gtest/gtest.h>

#include <vector>

#include "impact/law/solve.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

const Vector3d kBallGravity(0, 0, -9.80665);
const Plane kBallFloor;

// Impacts of a ball that bounces on the level, by Coulomb friction; with the spins as they are.
std::vector<ImpactEvent> Bounces(const Body& ball, Vector3d v, Vector3d omega, double mu, int n) {
  std::vector<ImpactEvent> events;
  double t = 0.3;
  for (int i = 0; i < n; ++i) {
    ImpactEvent event;
    event.recording = "a";
    event.impact = i;
    event.planar = ball.planar;
    event.accepted = true;
    event.t = t;
    event.X_WB.translation() = Eigen::Vector3d(0.1 * i, 0, ball.radius);
    event.p_WP = {0.1 * i, 0, 0};
    event.v_minus = v;
    event.omega_minus = omega;
    UpdateContact(event, ball, kBallFloor, kBallGravity);
    const ImpactOutcome outcome =
        Solve(event.contact, {{.e = 0.7, .mu_k = mu, .mu_s = mu}, RestitutionLaw::kEnergetic});
    const VelocityChange change = ApplyImpulse(ball, event.X_WB, event.contact.X_WF, outcome.J_F);
    event.v_plus = v = v + change.dv_W;
    event.omega_plus = omega = omega + change.domega_W;
    event.cov.diagonal().setConstant(1e-6);
    const double flight = 2 * v.z() / -kBallGravity.z();
    v += flight * kBallGravity;
    t += flight;
    UpdateContact(event, ball, kBallFloor, kBallGravity);
    events.push_back(event);
  }
  return events;
}

std::vector<ImpactEvent> CentreAlone(std::vector<ImpactEvent> events, const Body& ball) {
  for (ImpactEvent& event : events) TakeSpinAsUnknown(event, ball, kBallFloor, kBallGravity, {});
  return events;
}

// Two impacts at which the ball grips, or of which the first slides, in a plane and in space.
TEST(MissingAttitude, SpinOfTheReleaseIsCarriedFromImpactToImpact) {
  for (const bool planar : {true, false})
    for (const double mu : {0.05, 0.6}) {
      const Body ball = MakeBall(0.02, 0.05, planar);
      const Vector3d omega = planar ? Vector3d(0, -30, 0) : Vector3d(20, -30, 15);
      const auto truth = Bounces(ball, {1.2, planar ? 0 : -0.4, -2}, omega, mu, 3);
      auto events = CentreAlone(truth, ball);
      for (const ImpactEvent& event : events) EXPECT_TRUE(SpinIsOpen(event));
      CarrySpin(events, ball, kBallFloor, kBallGravity, SpinOf(omega, 1));
      double variance = 0;
      for (std::size_t i = 0; i < events.size(); ++i) {
        EXPECT_TRUE(events[i].omega_minus.isApprox(truth[i].omega_minus, 1e-9)) << mu << " " << i;
        EXPECT_TRUE(events[i].contact.v_minus_F.isApprox(truth[i].contact.v_minus_F, 1e-9));
        EXPECT_TRUE(SpinIsUnknown(events[i]));
        EXPECT_FALSE(SpinIsOpen(events[i]));
        const double here = events[i].cov(kOmegaMinus + 1, kOmegaMinus + 1);
        EXPECT_GT(here, variance);
        // 5 / (2 r) of a change of velocity of 1e-3 m/s on either side.
        EXPECT_NEAR(here, 1 + 2e-6 * std::pow(2.5 / 0.02, 2) * static_cast<double>(i), 1e-9);
        variance = here;
        EXPECT_EQ(events[i].cov(kOmegaMinus, kOmegaMinus) == 0, planar);
      }
    }
}

TEST(MissingAttitude, SpinIsNotCarriedPastWhatWasNotMeasured) {
  const Body ball = MakeBall(0.02, 0.05, true);
  const auto truth = Bounces(ball, {1.2, 0, -2}, Vector3d::Zero(), 0.2, 3);
  const KnownSpin release = SpinOf(Vector3d::Zero(), 1);
  const auto open = [&](std::vector<ImpactEvent> events) {
    CarrySpin(events, ball, kBallFloor, kBallGravity, release);
    std::vector<bool> out;
    out.reserve(events.size());
    for (const ImpactEvent& event : events) out.push_back(event.accepted && SpinIsOpen(event));
    return out;
  };
  auto rejected = CentreAlone(truth, ball);
  rejected[1].accepted = false;
  rejected[1].reason = RejectReason::kSecondContact;
  EXPECT_EQ(open(rejected), (std::vector<bool>{false, false, true}));
  auto missing = CentreAlone(truth, ball);
  missing.erase(missing.begin());
  EXPECT_EQ(open(missing), (std::vector<bool>{true, true}));
  // A wall turned the ball back between the impacts.
  auto wall = CentreAlone(truth, ball);
  wall[1].v_minus.x() *= -0.6;
  wall[1].v_plus.x() *= -0.6;
  EXPECT_EQ(open(wall), (std::vector<bool>{false, true, true}));
  auto late = CentreAlone(truth, ball);
  for (ImpactEvent& event : late) event.t = 0;  // no times, no flight between
  EXPECT_EQ(open(late), (std::vector<bool>{false, true, true}));
}

// What was measured at an impact is carried on as well as what was declared of the release.
TEST(MissingAttitude, MeasuredSpinIsCarriedToImpactsWithout) {
  const Body ball = MakeBall(0.02, 0.05, true);
  const auto truth = Bounces(ball, {1.2, 0, -2}, {0, 40, 0}, 0.2, 3);
  auto events = CentreAlone(truth, ball);
  events[0] = truth[0];
  CarrySpin(events, ball, kBallFloor, kBallGravity, {});
  EXPECT_EQ(events[0].omega_plus, truth[0].omega_plus);
  EXPECT_FALSE(SpinIsUnknown(events[0]));
  for (const std::size_t i : {1u, 2u}) {
    EXPECT_NEAR(events[i].omega_minus.y(), truth[i].omega_minus.y(), 1e-9);
    EXPECT_FALSE(SpinIsOpen(events[i]));
  }
}

TEST(MissingAttitude, SpinBeforeFollowsFromTheSpinAfter) {
  const Body ball = MakeBall(0.03, 0.1);
  const auto truth = Bounces(ball, {0.8, 0.3, -1.5}, {5, -60, 12}, 0.1, 1);
  const KnownSpin before = SpinBefore(truth[0], ball, SpinOf(truth[0].omega_plus, 0.5));
  EXPECT_TRUE(before.omega_W.isApprox(truth[0].omega_minus, 1e-9));
  EXPECT_GT(before.cov(1, 1), 0.25);
  // About the normal nothing turns the ball.
  EXPECT_NEAR(before.cov(2, 2), 0.25, 1e-12);
}

TEST(MissingAttitude, OtherBodiesAreRefused) {
  const Body rod = MakeRod(0.1, 0.01, 0.1);
  ImpactEvent event = Bounces(MakeBall(0.02, 0.1), {0, 0, -1}, Vector3d::Zero(), 0.2, 1)[0];
  TakeSpinAsUnknown(event, rod, kBallFloor, kBallGravity, {});
  EXPECT_FALSE(event.accepted);
  EXPECT_EQ(event.reason, RejectReason::kBadRecording);
}

}  // namespace
}  // namespace impactlab
