#pragma once
// Selection of the frames and image regions of a recording that pictures show. Private to the room.

#include <Eigen/Core>
#include <map>

#include "tracking/track/tracks.h"
#include "tracking/video/second_look.h"

namespace impactlab::tracking {

// The frame that pictures of a recording are about: the first in which velocities jump at least a
// fifth as much as they ever do, all markers together; a hand that lets go makes small jumps
// before. Else the first marked impact, else the middle of the tracks.
long long FrameOfInterest(const MarkerTracks& tracks, int camera);

struct MarkerExtent {
  Eigen::Vector2d low = Eigen::Vector2d::Constant(1e9), high = Eigen::Vector2d::Constant(-1e9);
  void Add(const Eigen::Vector2d& q) { low = low.cwiseMin(q), high = high.cwiseMax(q); }
  bool empty() const { return low.x() > high.x(); }
  Eigen::Vector2d middle() const { return (low + high) / 2; }
};

// Where the markers are in each frame, both ends included; `largest` grows to the largest semi-axis
// of their images.
std::map<long long, MarkerExtent> Extents(const MarkerTracks& tracks, int camera, long long from,
                                          long long to, double* largest);

// Middle of the markers, from the nearest frame where there are none.
Eigen::Vector2d MiddleAt(const std::map<long long, MarkerExtent>& extents, long long frame,
                         const Eigen::Vector2d& otherwise);

// Size of a cut that holds the markers of every one of these frames, in the shape of 4:3, and no
// more than the `size` of the frame; all of it where no marker is known.
Eigen::Vector2d CropSize(const std::map<long long, MarkerExtent>& extents, double largest,
                         const Eigen::Vector2d& size);
// Upper left corner of a cut about `middle`, in whole pixels inside the frame.
Eigen::Vector2d CropCorner(const Eigen::Vector2d& middle, const Eigen::Vector2d& crop,
                           const Eigen::Vector2d& size);

// The part of a frame that such a cut shows; `corner` and `crop` may have fractions of a pixel.
FramePart PartOf(long long frame, const Eigen::Vector2d& corner, const Eigen::Vector2d& crop);

}  // namespace impactlab::tracking
