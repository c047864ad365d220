#include "impact/body/event.h"

#include "data/base/error.h"

namespace impactlab {

const char* ReasonName(RejectReason reason) {
  switch (reason) {
    case RejectReason::kNone:
      return "";
    case RejectReason::kTooFewFrames:
      return "too_few_frames";
    case RejectReason::kSecondContact:
      return "second_contact";
    case RejectReason::kEdgeOrFlatLanding:
      return "edge_or_flat_landing";
    case RejectReason::kRollingContact:
      return "rolling_contact";
    case RejectReason::kNoApproach:
      return "no_approach";
    case RejectReason::kArcMisfit:
      return "arc_misfit";
    case RejectReason::kNoFreeFlight:
      return "no_free_flight";
    case RejectReason::kNoImpact:
      return "no_impact";
    case RejectReason::kNotConverged:
      return "not_converged";
    case RejectReason::kBadRecording:
      return "bad_recording";
  }
  return "";
}

void UpdateContact(ImpactEvent& event, const Body& body, const Plane& plane,
                   const Eigen::Vector3d& gravity_W) {
  if (event.planar != body.planar) {
    throw ConfigError("event of '" + event.recording + "': planar: found " +
                      (event.planar ? "true" : "false") + ", allowed: the same as its body '" +
                      body.name + "'");
  }
  const Plane surface =
      event.struck ? Plane{event.struck->normal, event.struck->normal.dot(event.p_WP)} : plane;
  const Eigen::Isometry3d X_WF = ContactFrame(surface, event.p_WP, gravity_W, body.planar);
  event.contact = MakeContactState(body, event.X_WB, event.v_minus, event.omega_minus, X_WF);
  event.v_plus_F =
      MakeContactState(body, event.X_WB, event.v_plus, event.omega_plus, X_WF).v_minus_F;
  if (!event.struck) return;
  const Eigen::Matrix3d R = X_WF.linear();
  event.contact.A_F += R.transpose() * event.struck->A_W * R;
  event.v_plus_F -=
      R.transpose() * (event.struck->PointPlus(event.p_WP) - event.struck->PointMinus(event.p_WP));
}

Eigen::Vector3d MeasuredImpulse(const ImpactEvent& event, const Body& body) {
  Eigen::Vector3d J_F =
      body.mass * (event.contact.X_WF.linear().transpose() * (event.v_plus - event.v_minus));
  if (body.planar) J_F.y() = 0;
  return J_F;
}

}  // namespace impactlab
