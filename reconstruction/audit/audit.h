#pragma once
// Model-free data audit: does what was recorded obey mechanics, and if not, which frame error
// explains it?
//
// Evidence comes from independent sources - conservation of angular momentum about the contact
// point, rest poses against geometry, acceleration of free flight - and a cause is named only when
// two of them agree. None uses a law of friction or restitution, but for one: whether x runs the
// wrong way, where the sense of friction cannot discriminate and the likelihood of the impulses by
// either hand is the second witness.

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "impact/body/event.h"
#include "reconstruction/audit/closure.h"
#include "reconstruction/audit/rigidity.h"
#include "reconstruction/motion/motion_fit.h"

namespace impactlab {

struct Estimate {
  double value = 0, sd = 0;
  double lower95 = 0, upper95 = 0;
  bool determined = false;
  std::string reason;  // why not determined
};

// Angular momentum about the contact point: I (omega+ - omega-) = r x m (v+ - v-), residual in spin
// change.
struct MomentumAudit {
  int n = 0;
  double rms = 0, median_abs = 0, bias = 0;  // of the residual spin change [rad/s]
  // RMS of the measured spin change about its mean [rad/s]
  double spread = 0;
  double expected_rms = 0;       // from the events' covariance [rad/s]
  Estimate gyration_normal;      // radius of gyration from the normal impulse term [m]
  Estimate gyration_tangential;  // from the tangential impulse term [m]
  double gyration_body = 0;      // of the body as given [m]
  // Residual against spread; NaN where it cannot be determined, as with a single event, which has
  // no spread.
  double relative() const {
    return n > 1 && spread > 0 ? rms / spread : std::numeric_limits<double>::quiet_NaN();
  }
};

struct EventAudit {
  std::string recording;
  int impact = 0;
  double momentum_residual = 0;  // [rad/s]
  double momentum_sd = 0;        // [rad/s]
  double energy_gain = 0;        // (T+ - T-) / T-
  double energy_sd = 0;
  // Slip keeps its sense: "opposes", "assists"; elsewhere, against the cone of those events:
  // "inside_cone", "outside_cone"; else "not_tested".
  std::string friction;
  bool momentum_ok = false, energy_ok = false, friction_ok = false;
};

// What one source of evidence says about one frame error.
struct Evidence {
  // "theta_offset_rad" | "rotation_offset_{x,y,z}_rad", "com_offset_{x,y,z}_m", "length_scale",
  // "clock_rate", "mirrored", "theta_flipped", "floor_offset_m", "floor_tilt_rad" (slope along x),
  // "floor_tilt_y_rad" (along y), "gravity_tilt_rad", "inertia_scale", "axis_swapped"; empty where
  // a source gave no information at all
  std::string parameter;
  // "momentum", "rest_attitude", "rest_height", "free_flight", "contact_height", "friction",
  // "shape"
  std::string source;
  Estimate estimate;
};

struct Finding {
  std::string parameter;  // frame error named, or a degenerate set joined by '|'
  bool named = false;     // two independent sources agree
  Estimate estimate;      // combined
  std::string text;       // one line for people
};

// What momentum and contact heights say about the body itself.
struct BodyCorrection {
  double corner_radius_change = 0;  // named rounding of the corners beyond the one given [m]
  // inertia that momentum shows over the one given, where it differs significantly: a nuisance,
  // never named as a cause
  double inertia_scale = 1;
};
Body CorrectedBody(const Body& body, const BodyCorrection& correction);

struct AuditOptions {
  Eigen::Vector3d gravity_W = Eigen::Vector3d(0, 0, -9.80665);
  double significance = 3.5;  // standard deviations before a deviation counts
  bool allow_mirror = true;
  bool fit_inertia = true;  // take the inertia as a nuisance in `momentum_corrected`
};

struct AuditResult {
  ClosureVerdict closure;  // as recorded: before any named correction
  // Of the flights. Where they are not those of one rigid body, nothing is named or corrected.
  RigidityVerdict rigidity;
  MomentumAudit momentum;  // as recorded
  // After `correction` and `body`, over the events that are single contacts with them; the radii of
  // gyration carry their uncertainty.
  MomentumAudit momentum_corrected;
  std::vector<EventAudit> events;
  Estimate gravity;  // size of the free-flight acceleration [m/s^2]
  std::vector<Evidence> evidence;
  std::vector<Finding> findings;
  FrameCorrection correction;  // named errors only
  BodyCorrection body;
  std::string inertia_note;  // inertia given, from shape and from momentum, side by side
};

AuditResult Audit(std::span<const ImpactEvent> events, std::span<const FlightArc> arcs,
                  std::span<const RestPose> rests, const Body& body, const Plane& floor,
                  const AuditOptions& options = {});

// Accepted events as they would read without the errors, over the floor as it truly is; contact
// point and covariance follow. Events need their attitudes.
std::vector<ImpactEvent> CorrectEvents(std::span<const ImpactEvent> events,
                                       const FrameCorrection& correction, const Body& body,
                                       const Plane& floor, const Eigen::Vector3d& gravity_W);

}  // namespace impactlab
