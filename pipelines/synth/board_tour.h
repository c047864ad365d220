#pragma once
// Where a careful person holds a board so that a rig can be calibrated: near and far, tilted every
// way, in all corners of every picture. For synthetic recordings and tests.

#include <Eigen/Geometry>
#include <cstdint>
#include <vector>

#include "calibration/board/board.h"
#include "calibration/camera/rig.h"

namespace impactlab {

struct TourOptions {
  int shots = 40;
  // of the board's centre from the camera it is aimed at [m]
  double distance_min = 0.4, distance_max = 0.8;
  // against the line of sight, uniform over the directions below it [rad]
  double max_tilt = 0.7;
  double max_roll = 0.5;  // about its own normal [rad]
  // of the picture, from its centre: where the board's centre may appear
  double reach = 0.4;
  // keep the whole print in the picture, of all cameras where that can be had
  bool whole = false;
};

namespace pipelines {
class Keys;
}
// Keys of a tour in a scene file; `shots` says of what so many are taken.
void VisitTour(pipelines::Keys& keys, TourOptions& tour, const char* shots);

// Poses X_WG; cameras take turns in being aimed at. The same seed gives the same tour.
std::vector<Eigen::Isometry3d> BoardTour(const CameraRig& rig, const Board& board,
                                         const TourOptions& options, std::uint64_t seed);

}  // namespace impactlab
