// Markers in space from their images in several cameras.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "data/error.h"
#include "data/text.h"
#include "reconstruction/marker_points.h"
#include "reconstruction/triangulate.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

struct Frame {
  double t = 0;  // mean of the markers in it [s]
  int camera = 0;
  std::vector<const TrackPoint*> images;
};

std::vector<int> ViewsOf(const MarkerTracks& tracks, const CameraRig& rig) {
  std::vector<int> views;
  std::vector<std::string> names;
  for (const RigCamera& camera : rig.cameras) names.push_back(camera.name);
  for (const std::string& name : tracks.cameras) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      throw ConfigError(fmt::format("points from tracks: found camera {}, allowed those of the rig: {}", Excerpt(name), JoinNames(names)));
    views.push_back(static_cast<int>(found - names.begin()));
  }
  return views;
}

// Frames of all cameras in the order of their times.
std::vector<Frame> FramesOf(const MarkerTracks& tracks) {
  std::map<std::pair<int, long long>, Frame> by_frame;
  for (const TrackPoint& point : tracks.points) {
    if ((point.flags & (kPredicted | kOutlier)) != 0) continue;
    Frame& frame = by_frame[{point.camera, point.frame}];
    frame.camera = point.camera;
    frame.images.push_back(&point);
  }
  std::vector<Frame> frames;
  for (auto& [key, frame] : by_frame) {
    for (const TrackPoint* image : frame.images) frame.t += image->t / static_cast<double>(frame.images.size());
    frames.push_back(std::move(frame));
  }
  std::sort(frames.begin(), frames.end(), [](const Frame& a, const Frame& b) { return a.t < b.t; });
  return frames;
}

}  // namespace

TrackPoints PointsFromTracks(const MarkerTracks& tracks, const CameraRig& rig, const TrackPointsOptions& options) {
  if (!(options.max_time_difference >= 0) || !(options.misfit_probability >= 0 && options.misfit_probability < 1) ||
      !(options.max_relative_sd > 0))
    throw ConfigError(
        fmt::format("points from tracks: found max_time_difference {} s, misfit_probability {}, max_relative_sd {}, allowed: 0 or "
                    "more, from 0 to below 1, above 0",
                    options.max_time_difference, options.misfit_probability, options.max_relative_sd));
  const std::vector<int> views = ViewsOf(tracks, rig);
  const std::vector<Frame> frames = FramesOf(tracks);
  PlaceOptions place;
  place.max_relative_sd = options.max_relative_sd;
  place.misfit_probability = options.misfit_probability;
  TrackPoints out;
  MarkerPoints& points = out.points;
  points.name = tracks.recording;
  points.markers = tracks.markers;
  points.p_WM.resize(tracks.markers.size());
  points.cov.resize(tracks.markers.size());
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k + 1 < frames.size(); ++k)
    if (frames[k].camera != frames[k + 1].camera) nearest = std::min(nearest, frames[k + 1].t - frames[k].t);
  for (std::size_t begin = 0; begin < frames.size();) {
    // Frames of different cameras that follow each other within the allowed difference.
    std::size_t end = begin + 1;
    const auto has = [&](int camera) {
      return std::any_of(frames.begin() + static_cast<std::ptrdiff_t>(begin), frames.begin() + static_cast<std::ptrdiff_t>(end),
                         [&](const Frame& f) { return f.camera == camera; });
    };
    while (end < frames.size() && frames[end].t - frames[begin].t <= options.max_time_difference && !has(frames[end].camera)) ++end;
    const std::size_t n = end - begin;
    double t = 0;
    for (std::size_t k = begin; k < end; ++k) t += frames[k].t / static_cast<double>(n);
    std::map<int, std::vector<PixelObservation>> seen;  // by marker
    int used = 0, all = 0;
    for (std::size_t k = begin; k < end; ++k)
      for (const TrackPoint* image : frames[k].images) {
        ++all;
        if (n < 2 || std::abs(image->t - t) > options.max_time_difference) continue;
        seen[image->marker].push_back({views[static_cast<std::size_t>(image->camera)], image->q, image->cov});
        ++used;
      }
    out.alone += all - used;
    begin = end;
    if (n < 2) continue;
    ++out.instants;
    const std::size_t i = points.t.size();
    points.t.push_back(t);
    for (std::size_t m = 0; m < points.markers.size(); ++m) {
      points.p_WM[m].emplace_back();
      points.cov[m].emplace_back(Eigen::Matrix3d::Zero());
    }
    for (const auto& [marker, images] : seen) {
      if (images.size() < 2) {
        ++out.alone;
        continue;
      }
      const PlacedPoint placed = PlacePoint(rig, images, place);
      if (!placed.usable) {
        ++(placed.fault == PlaceFault::kNotOnePoint ? out.misfit : out.undetermined);
        continue;
      }
      points.p_WM[static_cast<std::size_t>(marker)][i] = placed.point.p_W;
      points.cov[static_cast<std::size_t>(marker)][i] = placed.point.cov;
    }
  }
  if (out.instants == 0)
    throw DataError(fmt::format(
        "{}: found no instant that two cameras share (nearest frames {} apart), allowed within {} s; cameras that do not "
        "expose together are brought together by the poses of the body, not here",
        tracks.recording, std::isfinite(nearest) ? fmt::format("{:.3g} s", nearest) : "endlessly", options.max_time_difference));
  // Numbered as the frames of the first camera, from 1.
  for (const Frame& frame : frames) {
    if (std::abs(frame.t - points.t[0]) > options.max_time_difference) continue;
    points.first_frame = frame.images[0]->frame + 1;
    break;
  }
  return out;
}

}  // namespace impactlab
