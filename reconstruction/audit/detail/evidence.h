#pragma once
// Sources of evidence of the data audit and how they are brought together (private to this room).
//
// All sources constrain one vector of frame errors, each as a quadratic form: value and
// information, possibly singular. The errors, in order (planar | spatial): attitude offset (theta |
// rotation vector in B), offset of the centre of mass (x, z | x, y, z in B), log length scale, log
// clock rate, floor offset, floor tilt (slope along W_x | along W_x and W_y), rounding of the
// corners beyond the body's (boxes and rounded polytopes); and nuisances: the log of the inertia
// seen by momentum over the body's and the effective contact time by which approach speed deepens
// the contact height are always free, handedness (0: right, 1: mirrored) and the log ratio of the
// inertia seen by the tangential impulse to that seen by the normal one are fitted on request.

#include <Eigen/Core>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/math/rotation.h"
#include "reconstruction/audit/audit.h"
#include "reconstruction/audit/detail/robust.h"

namespace impactlab::reconstruction {

struct ErrorLayout {
  ErrorLayout(const Body& body, std::span<const ImpactEvent* const> events);
  bool planar;
  // Whether errors of attitude and centre of mass show: of a ball that nobody saw turn they do not.
  bool turns;
  int attitude = 0, com, scale, clock, floor, tilt, corner, inertia, contact_time, contact_depth,
      handedness, split, size;
  double corner_given = 0;         // the body's own rounding [m]
  Eigen::VectorXd unit;            // size at which an error of this kind matters
  std::vector<std::string> names;  // as in Evidence::parameter
  // Errors that come and go together: attitude, com, scale, clock, floor, tilt, corner where it
  // applies.
  std::vector<std::vector<int>> blocks;

  // rotation_offset_B
  Eigen::Vector3d Rotation(const Eigen::VectorXd& p) const;
  // com_offset_B
  Eigen::Vector3d Com(const Eigen::VectorXd& p) const;
  // with the corner radius of p
  Body Rounded(const Body& body, const Eigen::VectorXd& p) const;
  // of the true floor
  Eigen::Vector3d Normal(const Eigen::VectorXd& p, const Eigen::Vector3d& given) const;
};

struct Source {
  std::string name;
  bool usable = false;
  std::string reason;
  Eigen::VectorXd value;
  Eigen::MatrixXd information;
  int n = 0;           // events, rests or arcs used
  double scatter = 0;  // extra scatter of a row beyond its stated noise
  double typical = 0;  // robust size of a residual
};

// What every source needs.
struct AuditInput {
  std::vector<const ImpactEvent*> events;  // accepted ones
  std::span<const FlightArc> arcs;
  std::span<const RestPose> rests;
  const Body* body = nullptr;
  Plane floor;  // normal of unit length
  AuditOptions options;
};

// Without the events whose spin was not measured, which say nothing of angular momentum.
AuditInput WithMeasuredSpins(AuditInput input);

// Momentum fit of the given parameters, each with a prior about zero where `prior_sd` is above 0.
RobustFit FitMomentum(const AuditInput& input, const ErrorLayout& layout,
                      const Eigen::VectorXd& start, const std::vector<int>& active,
                      const Eigen::VectorXd& prior_sd = {});
// What momentum can see: attitude, centre of mass, corners, inertia.
std::vector<int> MomentumParameters(const ErrorLayout& layout);
Source MomentumSource(const AuditInput& input, const ErrorLayout& layout,
                      const Eigen::VectorXd& start);
Source ContactHeightSource(const AuditInput& input, const ErrorLayout& layout,
                           const Eigen::VectorXd& start);
Source FreeFlightSource(const AuditInput& input, const ErrorLayout& layout);
// Attitude and height of the rests: two sources, for one may be wrong without the other.
Source RestAttitudeSource(const AuditInput& input, const ErrorLayout& layout);
Source RestHeightSource(const AuditInput& input, const ErrorLayout& layout,
                        const Eigen::VectorXd& start);

// How a body may lie on level ground: direction of B that points up, height of the centre of mass.
struct RestCandidate {
  Eigen::Vector3d up_B;
  double height;
};
std::vector<RestCandidate> RestCandidates(const Body& body);

// Residual of the spin change, omega+ - omega- minus what the momentum change about the contact
// point gives, in B [rad/s], and its covariance.
struct SpinResidual {
  Eigen::Vector3d value;
  Eigen::Matrix3d cov;
};
SpinResidual MomentumResidual(const ImpactEvent& event, const Body& body,
                              const Eigen::Vector3d& floor_normal);
// The same with a lever of its own, from the centre of mass in W [m], in place of the body's
// support.
SpinResidual MomentumResidualAbout(const ImpactEvent& event, const Body& body,
                                   const Eigen::Vector3d& lever_W);

// The event as it would read without the errors; contact point and covariance follow.
ImpactEvent CorrectEvent(const ImpactEvent& event, const FrameCorrection& correction,
                         const Body& body, const Plane& floor, const Eigen::Vector3d& gravity_W);

EventAudit AuditEvent(const ImpactEvent& event, const Body& body, const Plane& floor,
                      const AuditOptions& options);
// Friction of all events together: whether it opposes slip where slip keeps its sense, and lies
// inside the cone of those events elsewhere.
void AuditFriction(std::span<const ImpactEvent* const> events, const Body& body, const Plane& floor,
                   const AuditOptions& options, std::span<EventAudit> audits);
// `prior_sd`: how well attitude, centre of mass and corners are known, for the radii of gyration;
// empty: taken as they are.
MomentumAudit AuditMomentum(const AuditInput& input, const ErrorLayout& layout,
                            const Eigen::VectorXd& prior_sd);

// Takes out of the flights of a ball whose spin was not measured what lift, across the velocity,
// and drag do to them, where they tell a lift from gravity; nothing where they do not.
std::optional<std::vector<FlightArc>> WithoutLift(const AuditInput& input, AuditResult& result);

// Handedness: does the recording's x (space: y) run the wrong way against its attitudes?
struct Handedness {
  bool mirrored = false;  // named by two sources
  // likewise, on a body whose outline tells a reversed theta from a reversed x
  bool theta_flipped = false;
  std::vector<Evidence> evidence;
  std::vector<Finding> findings;
};
Handedness JudgeHandedness(const AuditInput& input, const ErrorLayout& layout);

// One explanation of all evidence: which errors there are, and how well they are known.
struct Explanation {
  std::vector<Source> sources;
  std::vector<Evidence> evidence;
  std::vector<Finding> findings;
  // errors that explain the evidence best, named or not, and the inertia that goes with them
  Eigen::VectorXd best;
  Eigen::VectorXd sd;     // of `named` and of the inertia
  Eigen::VectorXd named;  // values of the named errors, zero elsewhere
};
Explanation Explain(const std::vector<Source>& sources, const ErrorLayout& layout,
                    const AuditOptions& options);

// Estimate with a 95 % interval from a value and its sd.
Estimate MakeEstimate(double value, double sd);
Estimate Undetermined(const std::string& reason);
// "0.9790 +- 0.0011", two digits of the sd, in units of 1 / factor.
std::string PlusMinus(const Estimate& estimate, double factor = 1);
// Body-fixed rotation ExpSO3(r).

}  // namespace impactlab::reconstruction
