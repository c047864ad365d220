// Markers in space from their images in several cameras.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/files/text.h"
#include "reconstruction/pose/detail/track_images.h"
#include "reconstruction/pose/marker_points.h"
#include "reconstruction/pose/marker_pose_image.h"
#include "reconstruction/pose/triangulate.h"

namespace impactlab {
namespace {

void CheckPointInput(const MarkerTracks& tracks, const CameraRig& rig,
                     const TrackPointsOptions& o) {
  reconstruction::CheckRig(rig, "points from tracks");
  std::vector<std::string> names;
  names.reserve(rig.cameras.size());
  for (const RigCamera& camera : rig.cameras) names.push_back(camera.name);
  for (const std::string& name : tracks.cameras)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw ConfigError(
          fmt::format("points from tracks: found camera {}, allowed those of the rig: {}",
                      Excerpt(name), JoinNames(names)));
  const bool offsets_fit = o.offset.empty() || o.offset.size() == tracks.cameras.size();
  const bool finite =
      std::all_of(o.offset.begin(), o.offset.end(), [](double x) { return std::isfinite(x); });
  if (!offsets_fit || !finite || !(o.misfit_probability >= 0 && o.misfit_probability < 1) ||
      !(o.max_relative_sd > 0) || o.longest_gap < 1)
    throw ConfigError(fmt::format(
        "points from tracks: found {} offsets, misfit_probability {}, max_relative_sd {}, "
        "longest_gap {}, allowed: one "
        "finite number for each of {} cameras or none, from 0 to below 1, above 0, 1 or more",
        o.offset.size(), o.misfit_probability, o.max_relative_sd, o.longest_gap,
        tracks.cameras.size()));
}

}  // namespace

TrackPoints PointsFromTracks(const MarkerTracks& tracks, const CameraRig& rig,
                             const TrackPointsOptions& options) {
  CheckPointInput(tracks, rig, options);
  reconstruction::TrackImagesOptions bring;
  bring.offset = options.offset;
  bring.longest_gap = options.longest_gap;
  const reconstruction::TrackImages images(tracks, rig, tracks.markers.size(), bring);
  PlaceOptions place;
  place.max_relative_sd = options.max_relative_sd;
  place.misfit_probability = options.misfit_probability;
  TrackPoints out;
  MarkerPoints& points = out.points;
  points.name = tracks.recording;
  points.markers = tracks.markers;
  points.p_WM.resize(tracks.markers.size());
  points.cov.resize(tracks.markers.size());
  if (images.usable()) {
    for (const auto& [frame, t] : images.instants()) {
      if (points.t.empty()) points.first_frame = frame + 1;
      points.t.push_back(t);
      for (std::size_t m = 0; m < points.markers.size(); ++m) {
        points.p_WM[m].emplace_back();
        points.cov[m].emplace_back(Eigen::Matrix3d::Zero());
        std::vector<PixelObservation> seen;
        for (int c = 0; c < images.cameras(); ++c)
          if (const auto one = images.Bring(c, static_cast<int>(m), t))
            seen.push_back({one->image.camera, one->image.q, one->image.cov});
        if (seen.size() < 2) {
          out.alone += static_cast<int>(seen.size());
          continue;
        }
        const PlacedPoint placed = PlacePoint(rig, seen, place);
        if (!placed.usable) {
          ++(placed.fault == PlaceFault::kNotOnePoint ? out.misfit : out.undetermined);
          continue;
        }
        ++out.placed;
        points.p_WM[m].back() = placed.point.p_W;
        points.cov[m].back() = placed.point.cov;
      }
    }
  }
  if (out.placed == 0)
    throw DataError(fmt::format(
        "{}: found no marker that two cameras see at one instant ({} images alone, {} points not "
        "of one point, {} without "
        "a place), allowed at least one; the cameras share no time, or the rig is not theirs",
        tracks.recording, out.alone, out.misfit, out.undetermined));
  return out;
}

}  // namespace impactlab
