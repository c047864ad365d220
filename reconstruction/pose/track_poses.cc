#include "reconstruction/pose/track_poses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "reconstruction/pose/detail/track_images.h"
#include "reconstruction/pose/marker_pose_image.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix2d;
using Eigen::Vector2d;
using reconstruction::Brought;

// by which an image must be worse than every other before it is rejected as an outlier [chi-square]
constexpr double kPoseVote = 10;

class Reader {
 public:
  Reader(const MarkerTracks& tracks, const CameraRig& rig, const std::vector<BodyMarker>& markers,
         const TrackPosesOptions& options)
      : tracks_(tracks),
        rig_(rig),
        markers_(markers),
        options_(options),
        views_(reconstruction::RigViews(rig)),
        images_(tracks, rig, markers.size(),
                {options.pixel_sd, options.offset, options.impacts, options.exposure,
                 options.longest_gap, options.reach}) {}

  TrackPoses Run() {
    out_.recording.name = tracks_.recording;
    out_.pixel_sd = options_.pixel_sd;
    if (!images_.usable()) return std::move(out_);
    out_.impacts = images_.impacts();
    std::optional<Isometry3d> last;
    for (const auto& [frame, t] : images_.instants()) {
      const std::string reason = PoseAt(frame, t, last);
      if (reason.empty())
        last = out_.poses.back().X_WB;
      else
        out_.refused.push_back({frame, t, reason});
    }
    return std::move(out_);
  }

 private:
  MarkerPose Fit(const std::vector<Brought>& brought, std::size_t without,
                 const std::optional<Isometry3d>& near) const {
    std::vector<MarkerImage> images;
    for (std::size_t i = 0; i < brought.size(); ++i) {
      if (i != without) images.push_back(brought[i].image);
    }
    return PoseFromMarkers(rig_, markers_, images, options_.pose, near);
  }

  // The image without which all others agree, when there is one and no other would do.
  std::optional<std::size_t> VotedOut(const std::vector<Brought>& brought, const MarkerPose& all,
                                      const std::optional<Isometry3d>& near) const {
    if (options_.outliers < 1 || all.dof < 4 || options_.pose.misfit_probability == 0 ||
        all.consistency <= ChiSquareQuantile(1 - options_.pose.misfit_probability, all.dof)) {
      return std::nullopt;
    }
    double best = std::numeric_limits<double>::infinity(), second = best;
    std::optional<std::size_t> out;
    for (std::size_t i = 0; i < brought.size(); ++i) {
      const MarkerPose rest = Fit(brought, i, near);
      if (rest.dof == 0) continue;
      if (rest.consistency < best) {
        second = best;
        best = rest.consistency;
        out = rest.usable ? std::optional(i) : std::nullopt;
      } else {
        second = std::min(second, rest.consistency);
      }
    }
    return second - best > kPoseVote ? out : std::nullopt;
  }

  // Empty on success, else why there is no pose.
  std::string PoseAt(long long frame, double t, const std::optional<Isometry3d>& near) {
    std::vector<Brought> brought;
    std::set<int> cameras;
    for (int c = 0; c < images_.cameras(); ++c) {
      for (int m = 0; m < static_cast<int>(markers_.size()); ++m) {
        std::optional<Brought> one = images_.Bring(c, m, t);
        if (!one) continue;
        cameras.insert(c);
        brought.push_back(std::move(*one));
      }
    }
    if (static_cast<int>(cameras.size()) < options_.cameras)
      return fmt::format("seen by {} camera{} at this instant, asked for are {}", cameras.size(),
                         cameras.size() == 1 ? "" : "s", options_.cameras);
    MarkerPose pose = Fit(brought, brought.size(), near);
    if (!pose.usable) {
      const auto out = VotedOut(brought, pose, near);
      if (!out) return pose.reason;
      pose = Fit(brought, *out, near);
      brought.erase(brought.begin() + static_cast<std::ptrdiff_t>(*out));
      ++out_.outliers;
    }
    out_.images.push_back(Sources(pose, brought));
    if (!pose.observable) {
      out_.observable = false;
      out_.axis_B = pose.axis_B;
    }
    out_.recording.t.push_back(t);
    out_.recording.X_WB.push_back(pose.X_WB);
    out_.frames.push_back(frame);
    out_.poses.push_back(std::move(pose));
    return "";
  }

  std::vector<PoseImage> Sources(const MarkerPose& pose,
                                 const std::vector<Brought>& brought) const {
    std::vector<PoseImage> sources;
    for (const Brought& one : brought) {
      Vector2d q;
      reconstruction::ImageDerivatives d;
      if (!reconstruction::ImageOf(views_[one.image.camera], markers_[one.image.marker], pose.X_WB,
                                   &q, &d))
        continue;
      Eigen::Matrix<double, 2, 6> J;
      J << d.by_p_W, d.by_phi_B;
      const Eigen::Matrix<double, 6, 2> dx_dq =
          pose.cov_pixels * J.transpose() * one.image.cov.inverse();
      for (const auto& [point, share] : one.weights) sources.push_back({point, share * dx_dq});
    }
    std::sort(sources.begin(), sources.end(),
              [](const PoseImage& a, const PoseImage& b) { return a.point < b.point; });
    return sources;
  }

  const MarkerTracks& tracks_;
  const CameraRig& rig_;
  const std::vector<BodyMarker>& markers_;
  const TrackPosesOptions& options_;
  std::vector<reconstruction::View> views_;
  reconstruction::TrackImages images_;
  TrackPoses out_;
};

void CheckPoseInput(const MarkerTracks& tracks, const CameraRig& rig,
                    const std::vector<BodyMarker>& markers, const TrackPosesOptions& o) {
  reconstruction::CheckLayout(markers);
  reconstruction::CheckRig(rig, "poses of tracks");
  if (markers.size() > tracks.markers.size())
    throw ConfigError(
        fmt::format("poses of tracks: found a layout of {} markers, allowed: the {} that the "
                    "tracks name at most",
                    markers.size(), tracks.markers.size()));
  if (!o.offset.empty() && o.offset.size() != tracks.cameras.size())
    throw ConfigError(fmt::format(
        "poses of tracks: found {} offsets, allowed: one for each of {} cameras, or none",
        o.offset.size(), tracks.cameras.size()));
  const auto bad = [](double x) { return !(x >= 0) || !std::isfinite(x); };
  const auto no_number = [](double x) { return !std::isfinite(x); };
  if (bad(o.pixel_sd) || bad(o.exposure) || bad(o.reach) || o.longest_gap < 1 || o.cameras < 1 ||
      o.outliers < 0 || o.outliers > 1 ||
      std::any_of(o.offset.begin(), o.offset.end(), no_number) ||
      std::any_of(o.impacts.begin(), o.impacts.end(), no_number)) {
    throw ConfigError(
        "poses of tracks: found an option without meaning, allowed: noises, exposure and reach of "
        "0 or more, gaps and cameras of 1 or "
        "more, "
        "0 or 1 outliers, finite offsets and impact times");
  }
}

}  // namespace

TrackPoses PosesFromTracks(const MarkerTracks& tracks, const CameraRig& rig,
                           const std::vector<BodyMarker>& markers,
                           const TrackPosesOptions& options) {
  CheckPoseInput(tracks, rig, markers, options);
  return Reader(tracks, rig, markers, options).Run();
}

Eigen::Matrix<double, 6, 6> CrossCovariance(const TrackPoses& poses, const MarkerTracks& tracks,
                                            int i, int j) {
  Eigen::Matrix<double, 6, 6> cov = Eigen::Matrix<double, 6, 6>::Zero();
  auto other = poses.images[j].begin();
  for (const PoseImage& image : poses.images[i]) {
    while (other != poses.images[j].end() && other->point < image.point) ++other;
    if (other == poses.images[j].end()) break;
    if (other->point != image.point) continue;
    const Matrix2d noise =
        tracks.points[image.point].cov + poses.pixel_sd * poses.pixel_sd * Matrix2d::Identity();
    cov += image.dx_dq * noise * other->dx_dq.transpose();
  }
  return cov;
}

}  // namespace impactlab
