#pragma once
// Markers, trails, labels and legends over a picture. Private to the room.

#include <Eigen/Core>
#include <string>
#include <vector>

#include "tracking/overlay/detail/draw.h"
#include "tracking/overlay/overlay.h"

namespace impactlab::tracking {

// Where a place of the recording lies in the picture.
struct View {
  // of the recording, shown in the upper left corner [px]
  Eigen::Vector2d origin = Eigen::Vector2d::Zero();
  double scale = 1;
  Eigen::Vector2d At(const Eigen::Vector2d& q) const {
    const Eigen::Vector2d half(0.5, 0.5);
    return (q - origin + half) * scale - half;
  }
};

// State of a point shown by its colour: the first that applies.
struct PointState {
  std::uint32_t flags;  // any of these; 0: none of the others
  const char* name;
  Rgb color;
};
const PointState& StateOf(std::uint32_t flags);

// Height of capitals that suits a picture of this size [px].
double LetterHeight(int width, int height);

// Points of a camera: [first, last) of the points of a marker from a frame on to another, both
// included.
struct PointRange {
  const TrackPoint* first = nullptr;
  const TrackPoint* last = nullptr;
};
PointRange PointsOf(const MarkerTracks& tracks, int camera, int marker, long long from,
                    long long to);

// `letters`: height of the labels.
void PaintMarkers(ColorImage* image, const View& view, const MarkerTracks& tracks, int camera,
                  long long frame, double letters, const OverlayOptions& options);
// In the lower left corner, of the states that occur in this camera.
void PaintLegend(ColorImage* image, const MarkerTracks& tracks, int camera,
                 const OverlayOptions& options);
// A line of text on a dark strip.
void PaintCaption(ColorImage* image, double left, double top, const std::string& text,
                  double height);
// "frame 123   t 0.123456 s"
std::string FrameText(long long frame, double t);

}  // namespace impactlab::tracking
