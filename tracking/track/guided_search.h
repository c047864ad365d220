#pragma once
// Second search of frames in which a marker was missed although its position follows from the other
// markers of its body: a small window about that position is searched for a disc of the marker's
// size that differs from its surroundings, whatever the threshold of the whole frame was.

#include <Eigen/Core>
#include <vector>

#include "tracking/track/camera_track.h"
#include "tracking/track/tracks.h"
#include "tracking/video/frames.h"
#include "tracking/video/second_look.h"

namespace impactlab {

struct WantedMarker {
  long long frame = 0;
  Eigen::Vector2d q = Eigen::Vector2d::Zero();  // where it should be [px]
  double sd = 0;                                // of q, one component [px]
  double radius = 0;                            // of its image, the longer semi-axis [px]
  Eigen::Vector2d v = Eigen::Vector2d::Zero();  // [px/s]
};

// The part of a frame in which a marker that is wanted is searched. `exposure` as in
// CameraTrackOptions [s].
FramePart SearchedPart(const WantedMarker& wanted, double exposure);

// Images found at the positions asked for (4 standard deviations, at most 24 px), at most one for
// each; marker -1, camera 0. They are candidates: which marker they are, and whether they are one,
// remains to be decided. `blur` and `noise` as found in the first pass; the other numbers in
// `options` as they were used then. A source that cannot be read a second time gives nothing.
std::vector<TrackPoint> GuidedSearch(const CameraTrackOptions& options, double blur,
                                     const PixelNoise& noise,
                                     const std::vector<WantedMarker>& wanted, SecondLook* look);

// The same in one picture, without a time.
std::vector<TrackPoint> SearchPicture(const GrayImage& image, const CameraTrackOptions& options,
                                      double blur, const PixelNoise& noise,
                                      const std::vector<WantedMarker>& wanted);

}  // namespace impactlab
