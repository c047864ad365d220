#include "impact/body/event.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "data/base/error.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

TEST(Event, ReasonsHaveTheirNamesInFiles) {
  EXPECT_STREQ(ReasonName(RejectReason::kNone), "");
  EXPECT_STREQ(ReasonName(RejectReason::kTooFewFrames), "too_few_frames");
  EXPECT_STREQ(ReasonName(RejectReason::kSecondContact), "second_contact");
  EXPECT_STREQ(ReasonName(RejectReason::kEdgeOrFlatLanding), "edge_or_flat_landing");
  EXPECT_STREQ(ReasonName(RejectReason::kRollingContact), "rolling_contact");
  EXPECT_STREQ(ReasonName(RejectReason::kNoApproach), "no_approach");
  EXPECT_STREQ(ReasonName(RejectReason::kArcMisfit), "arc_misfit");
  EXPECT_STREQ(ReasonName(RejectReason::kNoFreeFlight), "no_free_flight");
  EXPECT_STREQ(ReasonName(RejectReason::kNoImpact), "no_impact");
  EXPECT_STREQ(ReasonName(RejectReason::kNotConverged), "not_converged");
  EXPECT_STREQ(ReasonName(RejectReason::kBadRecording), "bad_recording");
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(RejectReason::kBadRecording); ++i) {
    EXPECT_TRUE(names.insert(ReasonName(static_cast<RejectReason>(i))).second) << i;
  }
}

// States made by an impulse give that impulse back, and a contact velocity change of A_F J.
void CheckRoundTrip(const Body& body, const Eigen::Isometry3d& X_WB, const Plane& plane,
                    const Vector3d& J_F) {
  const Vector3d g(0, 0, -9.80665);
  ImpactEvent event;
  event.planar = body.planar;
  event.X_WB = X_WB;
  event.p_WP = ContactWithPlane(body, X_WB, plane).p_WP;
  event.v_minus = Vector3d(0.4, body.planar ? 0 : -0.2, -2);
  event.omega_minus = Vector3d(body.planar ? 0 : 3, -5, body.planar ? 0 : 1);
  const Eigen::Isometry3d X_WF = ContactFrame(plane, event.p_WP, g, body.planar);
  const VelocityChange change = ApplyImpulse(body, X_WB, X_WF, J_F);
  event.v_plus = event.v_minus + change.dv_W;
  event.omega_plus = event.omega_minus + change.domega_W;
  UpdateContact(event, body, plane, g);
  EXPECT_LT((event.contact.X_WF.matrix() - X_WF.matrix()).norm(), 1e-15);
  EXPECT_LT((event.contact.v_minus_F + event.contact.A_F * J_F - event.v_plus_F).norm(), 1e-12);
  EXPECT_LT((MeasuredImpulse(event, body) - J_F).norm(), 1e-14);
  const Vector3d r = event.p_WP - X_WB.translation();
  EXPECT_LT((X_WF.linear() * event.v_plus_F - (event.v_plus + event.omega_plus.cross(r))).norm(),
            1e-14);
}

TEST(Event, ContactFollowsFromTheStates) {
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  X_WB.linear() = Eigen::AngleAxisd(0.7, Vector3d(1, 2, -1).normalized()).toRotationMatrix();
  X_WB.translation() = Vector3d(0.3, -0.1, 0.2);
  CheckRoundTrip(MakeBox(Vector3d(0.1, 0.2, 0.3), 0.4), X_WB,
                 Plane{Vector3d(0.3, 0.2, 1).normalized(), 0.05}, Vector3d(-0.1, 0.07, 0.8));
  CheckRoundTrip(MakeBox(Vector3d(0.1, 0, 0.3), 0.4, true), PlanarPose(0.2, 0.1, 0.4),
                 Plane{Vector3d(-0.3, 0, 1).normalized(), 0.05}, Vector3d(-0.1, 0, 0.8));
}

TEST(Event, RefusesAPlanarEventOfASpatialBody) {
  ImpactEvent event;
  event.planar = true;
  EXPECT_THROW(UpdateContact(event, MakeBall(0.1, 1), Plane{}, Vector3d(0, 0, -9.8)), ConfigError);
}

}  // namespace
}  // namespace impactlab
