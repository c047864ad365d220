#pragma once
// Impact-aware motion fit: free-flight arcs on either side of an unknown impact time.
//
// Minus and plus arc share the pose at the impact time; velocity and spin jump. Time, common pose,
// minus and plus states are estimated jointly, so their covariance is joint. No smoothing filter
// crosses the impact. Planar arcs are linear in all but the impact time; spatial arcs follow
// torque-free Newton-Euler motion on SO(3).

#include <Eigen/Core>
#include <string>
#include <vector>

#include "impact/body/event.h"
#include "impact/body/free_flight.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab {

struct MotionFitOptions {
  FlightOptions flight;  // gravity and drag of the arcs
  // fewest frames in an arc: spare freedoms for a noise scale
  int min_frames = 5;
  // most frames used on either side: longer arcs gain little and collect model error
  int max_frames = 30;
  // frames on either side of the impact left out: contact lasts a finite time
  int contact_frames = 0;
  // two vertices that arrive within this many frames are not one contact
  double feature_tolerance_frames = 1.0;
  // an arc is rejected when its residual is less likely than this against the set's noise scale
  double misfit_probability = 1e-4;
  // pose noise [m]; 0: estimated from all arcs of the recording
  double sigma_position = 0;
  double sigma_angle = 0;  // [rad]; 0: estimated
  // frames a tracker may silently lose at an impact: the plus arc is late by whole frame intervals;
  // 0: none
  int max_lost_frames = 2;
  // contact lasts a finite time, so arcs meet only this well [m]
  double jump_allowance_position = 1e-4;
  double jump_allowance_angle = 3e-3;  // [rad]
  int first_impacts = 0;               // keep only the first n impacts of a recording; 0: all
  // Acceleration of free fall as recorded over the gravity above, where recordings show that scale,
  // clock or gravity are far off: flights are told from contact by this one. Arcs are fitted with
  // the gravity above all the same.
  double fall_ratio = 1;
};

// A stretch of free flight, fitted with its own gravity: the control experiment.
struct FlightArc {
  std::string recording;
  int first = 0, last = 0;                                   // frames, inclusive
  double duration = 0;                                       // [s]
  Eigen::Vector3d acceleration_W = Eigen::Vector3d::Zero();  // fitted [m/s^2]
  Eigen::Vector3d sd_acceleration = Eigen::Vector3d::Zero();
  // mean velocity of the body's origin [m/s]
  Eigen::Vector3d velocity_W = Eigen::Vector3d::Zero();
  double rms_position = 0, rms_angle = 0;  // residuals [m], [rad]
  // change of angular momentum over the arc relative to its size (planar: spin)
  double omega_drift = 0;
  // Mean spin [rad/s], and what the spin gains beyond free flight with its sd [rad/s^2], in B. The
  // sd holds noise that is alike from frame to frame; 0: not measured.
  Eigen::Vector3d omega_B = Eigen::Vector3d::Zero();
  Eigen::Vector3d spin_acceleration_B = Eigen::Vector3d::Zero();
  Eigen::Vector3d sd_spin_acceleration = Eigen::Vector3d::Zero();
};

// A stretch in which the body rests: the other control experiment.
struct RestPose {
  std::string recording;
  int first = 0, last = 0;
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();  // mean pose
  double sd_position = 0, sd_angle = 0;                    // scatter of the frames
};

struct MotionFit {
  // accepted or rejected, in time order; one with kNoImpact or kBadRecording where there is nothing
  // else
  std::vector<ImpactEvent> events;
  std::vector<FlightArc> arcs;
  std::vector<RestPose> rests;
  // noise scale of the recording, from arc residuals with their degrees of freedom
  double sigma_position = 0, sigma_angle = 0;
  int dof = 0;
};

// Cuts the recording into stretches of free flight and fits an event at every break near the floor.
// Bad recordings are values (kBadRecording, kTooFewFrames), a body of the other kind (planar or
// spatial) or options that cannot be throw ConfigError.
//
// Flight that is not quite free - a wrong scale or clock, friction of plates, drag - shows as
// acceleration in the recording's own flights. Where it does significantly, every arc gets an
// unknown acceleration of that standard deviation, which widens the covariance of its velocities.
// The residuals of the flights, each with an acceleration of its own, give the noise of every
// coordinate.
MotionFit FitMotion(const PoseRecording& recording, const Body& body, const Plane& floor,
                    const MotionFitOptions& options = {});

// The flights, rests and noise of FitMotion without its events.
MotionFit FitFlights(const PoseRecording& recording, const Body& body, const Plane& floor,
                     const MotionFitOptions& options = {});

}  // namespace impactlab
