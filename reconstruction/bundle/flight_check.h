#pragma once
// Free flight as an independent certificate of calibration, time base and layout: nothing but
// gravity acts, so everything is known.
//
// All flights of a recording are fitted together to the images of the markers, with all that was
// declared held within its standard deviation: gravity, the length scale and lenses of the rig, the
// clocks, the layout. Then one declared quantity after the other is set free. What it moves to, and
// by how many standard deviations, is its check; by how much the residuals shrink tells which error
// it is. Suspects that explain the images about as well as each other are stated together: a wrong
// length and a wrong clock are the same for gravity alone, scale / rate^2, and are distinguished
// only where the layout or another length is known. What is wrong with the declarations is wrong in
// every flight: a fault that only a short flight shows is one of that flight, such as a touch that
// no impact was found for, and is no finding.

#include <Eigen/Core>
#include <string>
#include <utility>
#include <vector>

#include "reconstruction/bundle/impact_bundle.h"

namespace impactlab {

enum class FlightFault {
  kScale,           // lengths of the rig against those of the layout and of gravity
  kClock,           // rate of all clocks: a wrong frame rate
  kRate,            // rate of one clock against the first
  kSync,            // offset of one clock against the first
  kRows,            // time between two rows: a rolling shutter that was not declared
  kLens,            // focal length of all cameras
  kView,            // focal length and centre of one camera: focus or crop changed
  kLayout,          // of several markers
  kMarker,          // one marker
  kVertical,        // direction of gravity
  kTorque,          // angular momentum not constant: inertia, or no free flight
  kCamerasSwapped,  // one camera's images are another's
  kUnknown          // something is wrong that none of these explains alone
};
// "scale", "clock", ...
const char* FaultName(FlightFault fault);

struct FlightCheckOptions {
  // gravity, points, and the standard deviations of what was declared; outliers as in the fit of a
  // drop
  ImpactBundleOptions drop;
  // from, to [s]; empty: those that the motion shows
  std::vector<std::pair<double, double>> flights;
  // left out at both ends of a flight: the impact or the hand may be in them
  double guard_frames = 1;
  double gravity_sd = 5e-3;   // of its size [m/s^2]
  double vertical_sd = 2e-3;  // of its direction [rad]
  // of every coordinate of the layout where drop.layout_sd is 0: markers are measured no better [m]
  double layout_sd = 1e-4;
  double probability = 1e-4;  // of a false alarm in the whole recording
  // How far things may be wrong, standard deviations: relative scale, clock rate and focal length;
  // clock offset [s], time between rows [s], picture centre [px], marker [m], direction [rad],
  // angular acceleration [rad/s^2].
  double wrong_scale = 0.2, wrong_rate = 0.2, wrong_focal = 0.1, wrong_offset = 0.05,
         wrong_row_time = 5e-5, wrong_centre = 50, wrong_marker = 0.01, wrong_vertical = 0.2,
         wrong_torque = 50;
};

// One quantity that flights know: what they say against what was declared.
struct FlightQuantity {
  std::string name;  // "gravity", "scale", "clock", "sync camera1", "distance m1 m2", ...
  std::string unit;  // "m_per_s2", "rad", "s", "m", "" for a ratio
  double value = 0, expected = 0;
  double sd = 0;  // of value - expected: pixels, rig and what else was declared
  double z = 0;
  bool ok = true;
};

// A declared quantity set free alone.
struct FlightSuspect {
  FlightFault fault = FlightFault::kUnknown;
  std::string name;  // with its camera or marker
  double gain = 0;   // of chi-square
  int dof = 0;
  // by how much it is wrong: relative, [s], [m], [rad]; the largest where there are several
  double value = 0;
  Eigen::Vector2d shift = Eigen::Vector2d::Zero();  // of the picture's centre, of a view [px]
};

struct FlightCheck {
  bool usable = false;
  // why there is nothing to check: no free flight, ...
  std::string reason;
  std::vector<std::pair<double, double>> flights;  // that were judged
  // too short to count alone, and at odds with all others
  std::vector<std::pair<double, double>> unjudged;
  std::vector<FlightQuantity> quantities;
  std::vector<FlightSuspect> suspects;  // by gain
  double chi_square = 0;                // as declared, noise scaled
  int dof = 0, outliers = 0;
  double noise_scale = 1;  // residuals with all of them free, against the points' covariances
  bool passed = false;
  std::vector<FlightSuspect> culprits;  // one: named. Several: the data cannot tell which
  std::string verdict;                  // one line
};

// Errors as FitImpactBundle.
FlightCheck CheckFlights(const MarkerTracks& tracks, const CameraRig& rig,
                         const std::vector<BodyMarker>& markers, const Body& body,
                         const Plane& floor, const FlightCheckOptions& options = {});

}  // namespace impactlab
