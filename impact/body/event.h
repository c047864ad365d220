#pragma once
// One impact of one recording: minus and plus state, contact and their joint covariance.

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "impact/body/body.h"
#include "impact/body/contact.h"

namespace impactlab {

// Why an impact of a recording cannot be used as a single-contact event. Kinematic criteria stated
// beforehand, never how well a law fits.
enum class RejectReason {
  kNone,
  kTooFewFrames,  // an arc has fewer frames than its motion has freedoms to spare
  // another contact inside the frame resolution, or before the plus arc is determined
  kSecondContact,
  // two or more vertices arrive within the frame resolution or the attitude's uncertainty
  kEdgeOrFlatLanding,
  kRollingContact,  // the body stays on the surface after the impact
  kNoApproach,      // the contact point does not approach the surface
  kArcMisfit,       // flight arcs do not follow free flight within their noise
  kNoFreeFlight,    // no arc of free flight before the impact
  kNoImpact,        // the recording holds no impact
  kNotConverged,    // the fit found no optimum
  kBadRecording     // the file cannot be used: see detail
};
// Code used in files, e.g. "second_contact".
const char* ReasonName(RejectReason reason);

// Order of the joint covariance of an event: minus velocity, minus spin, plus velocity, plus spin,
// contact lever r = p_WP - p_WB; all in W. Planar events have zero rows for v_y, omega_x, omega_z
// and r_y.
inline constexpr int kVMinus = 0, kOmegaMinus = 3, kVPlus = 6, kOmegaPlus = 9, kLever = 12,
                     kEventDim = 15;
using EventCovariance = Eigen::Matrix<double, kEventDim, kEventDim>;

// The struck body where it moves as well. The event is then one of relative motion: its v_minus and
// v_plus are those of the first body less the velocity that the struck body's contact point had
// just before the impact, so that the impulse is still m (v_plus - v_minus); its A_F is the sum of
// both inverse masses, its v_plus_F the velocity of the first body's contact point against the
// second's (Stronge, Impact Mechanics, 2000, ch. 4). All in W.
struct StruckState {
  // pose at the impact
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  // of its centre of mass [m/s], [rad/s]
  Eigen::Vector3d v_minus = Eigen::Vector3d::Zero(), omega_minus = Eigen::Vector3d::Zero();
  Eigen::Vector3d v_plus = Eigen::Vector3d::Zero(), omega_plus = Eigen::Vector3d::Zero();
  Eigen::Vector3d normal = Eigen::Vector3d::UnitZ();  // unit, out of its surface
  // its inverse mass at the contact point [1/kg]; singular on a fixed axis
  Eigen::Matrix3d A_W = Eigen::Matrix3d::Zero();
  // Momentum of both bodies before against after, no law involved: chi-square and its degrees of
  // freedom.
  double closure_chi_square = 0;
  int closure_dof = 0;
  Eigen::Vector3d PointMinus(const Eigen::Vector3d& p_W) const {
    return v_minus + omega_minus.cross(p_W - X_WB.translation());
  }
  Eigen::Vector3d PointPlus(const Eigen::Vector3d& p_W) const {
    return v_plus + omega_plus.cross(p_W - X_WB.translation());
  }
};

struct ImpactEvent {
  std::string recording;
  int impact = 0;  // 0 for the first impact of the recording
  bool planar = false;
  // impact time on the recording's clock [s]
  double t = 0;
  double sd_t = 0;  // [s]
  // pose at the impact (continuous through it)
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  // in W [m/s], [rad/s]
  Eigen::Vector3d v_minus = Eigen::Vector3d::Zero(), omega_minus = Eigen::Vector3d::Zero();
  Eigen::Vector3d v_plus = Eigen::Vector3d::Zero(), omega_plus = Eigen::Vector3d::Zero();
  Eigen::Vector3d p_WP = Eigen::Vector3d::Zero();  // contact point [m]
  EventCovariance cov = EventCovariance::Zero();
  // Unit axis about which the spin was not measured (all markers lie on it) and a prior stands in
  // its place; zero: all was measured.
  Eigen::Vector3d unseen_axis_B = Eigen::Vector3d::Zero();
  ContactState contact;  // A_F, v_minus_F, X_WF
  // measured velocity of the contact point after [m/s]
  Eigen::Vector3d v_plus_F = Eigen::Vector3d::Zero();
  std::optional<StruckState> struck;  // nothing: the surface is at rest
  bool accepted = false;
  RejectReason reason = RejectReason::kNone;
  std::string detail;                     // one line for people: figure found and figure allowed
  int frames_minus = 0, frames_plus = 0;  // frames in the two arcs
  // frames the recorder lost at this impact (plus arc late by as many intervals)
  int frames_lost = 0;
  double sigma_position = 0;  // noise scale from the arc residuals [m]
  double sigma_angle = 0;     // [rad]
};

// Fills contact, v_plus_F from the states, the contact point and the body. `plane` is the surface;
// that of a struck body counts instead.
void UpdateContact(ImpactEvent& event, const Body& body, const Plane& plane,
                   const Eigen::Vector3d& gravity_W);

// Measured impulse in F from the velocity change (m dv) [N s].
Eigen::Vector3d MeasuredImpulse(const ImpactEvent& event, const Body& body);

}  // namespace impactlab
