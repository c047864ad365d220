#pragma once
// From tracks to the least squares of CheckFlights: flights found, their start, and what was
// declared.

#include <string>
#include <utility>
#include <vector>

#include "reconstruction/bundle/detail/flight_check_fit.h"

namespace impactlab::reconstruction {

struct FlightSetup {
  std::string reason;  // why there is nothing to fit; empty where there is
  std::vector<std::pair<double, double>> flights;
  FlightProblem problem;
  Eigen::VectorXd prior;  // as declared
  Eigen::VectorXd start;
  std::vector<double> rough_offset;  // of every clock, by how the rays meet
  double layout_sd = 0;              // of every coordinate, as declared
};

FlightSetup SetUpFlights(const MarkerTracks& tracks, const CameraRig& rig,
                         const std::vector<BodyMarker>& markers, const Body& body,
                         const Plane& floor, const FlightCheckOptions& options);

}  // namespace impactlab::reconstruction
