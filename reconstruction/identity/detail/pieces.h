#pragma once
// Tracks cut where a tracker may have changed from one marker to another. Private to identity.

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "tracking/track/tracks.h"

namespace impactlab::reconstruction {

// Part of a track in which the marker is surely one and the same.
struct Piece {
  // places in MarkerTracks::cameras and ::markers
  int camera = 0, track = 0;
  // seen ones, places in MarkerTracks::points
  std::vector<int> points;
  std::vector<double> t;             // [s]
  std::vector<Eigen::Vector2d> q;    // [px]
  std::vector<Eigen::Matrix2d> cov;  // [px^2]
  // velocities are known
  bool moving = false;
  Eigen::Vector2d v_first = Eigen::Vector2d::Zero(), v_last = Eigen::Vector2d::Zero();  // [px/s]
  // piece of the same track before this one
  int before = -1;
  double trust = 0;       // log odds that the track has kept its marker since then
  bool standing = false;  // at a place where something was seen most of the time
  int first_window = -1, last_window = -1;
};

struct ImagePoint {
  Eigen::Vector2d q;
  Eigen::Matrix2d cov;
};

// Typical time from frame to frame of every camera [s]; 0 where a camera has fewer than two frames.
std::vector<double> FrameTimes(const MarkerTracks& tracks);

// Cut at gaps, impacts, touching or partly hidden images, jumps and encounters. Points must be
// ordered (Sort).
std::vector<Piece> CutPieces(const MarkerTracks& tracks);

// Image at time t: a polynomial through the nearest points (at most 4). Nothing outside of the
// piece (by more than `tolerance` [s]).
std::optional<ImagePoint> ImageAtTime(const Piece& piece, double t, double tolerance);

}  // namespace impactlab::reconstruction
