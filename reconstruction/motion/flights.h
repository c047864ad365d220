#pragma once
// The stretches of free flight and of rest of one recording, its noise, and what its flights lack
// of freedom.

#include <vector>

#include "reconstruction/motion/arcs.h"
#include "reconstruction/motion/motion_fit.h"

namespace impactlab::reconstruction {

// What one stretch between two breaks is.
enum class StretchKind {
  kShort,   // fewer than min_frames
  kBlind,   // the noise is too large to see whether it falls
  kForced,  // its acceleration is not that of free flight
  kFlight
};

struct FlightSegment {
  Segment frames;
  StretchKind kind = StretchKind::kShort;
  bool rests = false;  // mostly inside a RestPose
};

struct Flights {
  std::vector<FlightSegment> stretches;  // every frame in one of them, in time order
  std::vector<Segment> flights;          // those that fly
  std::vector<RestPose> rests;
  std::vector<FlightArc> arcs;
  NoiseModel noise;
  double sigma_position = 0, sigma_angle = 0;
  int dof = 0;
};

// Acceleration beyond which a stretch is no free flight, relative to gravity: rolling and sliding
// exceed it.
inline constexpr double kNotFlight = 0.25;

// Height over the floor within which the lowest point counts as touching: recordings may be wrong
// in floor, scale and attitude.
double HeightTolerance(const Body& body, double sigma_position);

// `floor` has a unit normal.
Flights FindFlights(const FlightModel& model, const Plane& floor, const MotionFitOptions& options);

}  // namespace impactlab::reconstruction
