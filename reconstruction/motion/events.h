#pragma once
// From a break between two stretches of flight to an impact event: the joint fit over impact time
// and lost frames, then the judgement.
//
// Every test is kinematic and has its limit before any law of impact is seen.

#include "impact/body/event.h"
#include "reconstruction/motion/arcs.h"
#include "reconstruction/motion/motion_fit.h"

namespace impactlab::reconstruction {

// What surrounds the events of one recording.
struct FitContext {
  FlightModel model;
  Plane floor;  // unit normal
  const MotionFitOptions* options = nullptr;
  NoiseModel noise;
  double frame_interval = 0;    // median [s]
  double height_tolerance = 0;  // the contact point is near the floor within this [m]
  double sigma_position = 0, sigma_angle = 0;
};

// Joint fit of one break.
struct BreakFit {
  bool converged = false;
  // the contact point gains speed away from the floor, significantly
  bool is_push = false;
  // another number of lost frames fits about as well
  bool ambiguous_delay = false;
  ImpactEvent event;                                         // states, covariance, contact, frames
  Eigen::Matrix3d cov_attitude_W = Eigen::Matrix3d::Zero();  // of a rotation of W about its axes
  // of the poses of the two arcs at the impact
  double gap_chi_square = 0;
  int gap_dof = 0;
  double near_chi_square = 0;  // what the frames next to the impact add, at its most unlikely
  int near_dof = 0;
  double minus_chi_square = 0, plus_chi_square = 0;
  int minus_dof = 0, plus_dof = 0;
  double t_next = 0;      // first frame of the plus arc, lost frames counted [s]
  double t_previous = 0;  // last frame of the minus arc [s]
};

// `minus` and `plus` are the stretches of flight on either side; at most one frame (or the frames
// left out) lies between them.
BreakFit FitBreak(const FitContext& context, const Segment& minus, const Segment& plus);

// States of the event, their covariance and that of the attitude from two flights that meet in
// space; neither time nor contact.
void FillEvent(const FitContext& context, const Joint<6>& joint, BreakFit& fit);

// Accepts the event or states the first criterion it misses.
void AcceptOrReject(const FitContext& context, BreakFit& fit);

}  // namespace impactlab::reconstruction
