#include "reconstruction/identity/detail/poses.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/base/error.h"
#include "data/statistics/order_statistic.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Matrix2d;
using Eigen::Vector2d;
using Eigen::Vector3d;

// a pose predicts all places this well, or is not called known [px]
constexpr double kKnownForPose = 3;
constexpr double kLongestPoseWay = 0.2;  // from a known pose to one that is looked for [s]

}  // namespace

Matrix2d Wider(const TrackPoint& p, const CompletionOptions& o) {
  const double sd = (p.flags & kPartial) != 0 ? o.partial_sd : o.pixel_sd;
  return (p.cov.allFinite() ? p.cov : Matrix2d::Zero()) + sd * sd * Matrix2d::Identity();
}

BodyPoses::BodyPoses(const MarkerTracks& tracks, const CameraRig& rig,
                     const std::vector<Vector3d>& layout, const CompletionOptions& o)
    : rig_(rig), o_(o) {
  for (const std::string& name : tracks.cameras) {
    const auto at = std::find_if(rig.cameras.begin(), rig.cameras.end(),
                                 [&](const RigCamera& c) { return c.name == name; });
    if (at == rig.cameras.end())
      throw ConfigError(
          fmt::format("identity: the tracks have a camera {}, the rig has none", name));
    rig_camera_.push_back(static_cast<int>(at - rig.cameras.begin()));
  }
  layout_.p = layout;
  layout_.known.assign(layout.size(), 1);
  MeasureLayout(&layout_);
  named_.assign(tracks.cameras.size(), std::vector<std::map<long long, TrackPoint>>(layout.size()));
  for (const TrackPoint& p : tracks.points) {
    if ((p.flags & (kPredicted | kOutlier)) == 0 && p.marker < static_cast<int>(layout.size()))
      Add(p);
  }
}

BodyImage BodyPoses::AsImage(const TrackPoint& point, int label) const {
  return {point.camera, label, rig_camera_[point.camera], point.q, Wider(point, o_)};
}

void BodyPoses::Learn(double t) {
  const auto pose = StartBody(rig_, layout_, ImagesAt(t));
  if (pose && Determined(*pose)) poses_[t] = *pose;
}

// Image of a marker at a time: its own, or one between its neighbours, wider by what the curve
// through more of them says otherwise.
std::optional<BodyImage> BodyPoses::ImageAt(int camera, int label, double t) const {
  constexpr double kSame = 2e-4;        // a row or two of a rolling shutter [s]
  constexpr long long kLongestGap = 3;  // frames
  const auto& points = named_[camera][label];
  // Times follow frames: the first point at or after t.
  auto next = points.begin();
  std::size_t n = points.size();
  if (n == 0) return std::nullopt;
  {
    // Frames are nearly even in time, so that a search from the guess is short.
    const TrackPoint &first = points.begin()->second, &last = points.rbegin()->second;
    const double rate =
        last.t > first.t ? static_cast<double>(last.frame - first.frame) / (last.t - first.t) : 0;
    next = points.lower_bound(first.frame +
                              static_cast<long long>(std::clamp((t - first.t) * rate, -1e9, 1e9)));
    while (next != points.begin() && (next == points.end() || std::prev(next)->second.t >= t))
      --next;
    while (next != points.end() && next->second.t < t) ++next;
  }
  for (auto at : {next, next == points.begin() ? next : std::prev(next)}) {
    if (at == points.end() || std::abs(at->second.t - t) > kSame) continue;
    return AsImage(at->second, label);
  }
  if (next == points.end() || next == points.begin()) return std::nullopt;
  const auto before = std::prev(next);
  const TrackPoint &a = before->second, &b = next->second;
  if (b.frame - a.frame > kLongestGap) return std::nullopt;
  const double x = (t - a.t) / (b.t - a.t);
  BodyImage image{camera, label, rig_camera_[camera], (1 - x) * a.q + x * b.q,
                  (1 - x) * Wider(a, o_) + x * Wider(b, o_)};
  double off = 0.05 * (b.q - a.q).norm();
  if (before != points.begin() && std::next(next) != points.end()) {
    const TrackPoint &c = std::prev(before)->second, &d = std::next(next)->second;
    if (b.frame - c.frame <= 2 * kLongestGap && d.frame - a.frame <= 2 * kLongestGap) {
      const TrackPoint* all[4] = {&c, &a, &b, &d};
      Vector2d q = Vector2d::Zero();
      for (int i = 0; i < 4; ++i) {
        double w = 1;
        for (int j = 0; j < 4; ++j) {
          if (j != i) w *= (t - all[j]->t) / (all[i]->t - all[j]->t);
        }
        q += w * all[i]->q;
      }
      off = 0.5 * (q - image.q).norm();
      image.q = q;
    }
  }
  image.cov += off * off * Matrix2d::Identity();
  return image;
}

std::vector<BodyImage> BodyPoses::ImagesAt(double t) const {
  std::vector<BodyImage> out;
  for (std::size_t c = 0; c < named_.size(); ++c) {
    for (std::size_t l = 0; l < layout_.p.size(); ++l) {
      if (const auto image = ImageAt(static_cast<int>(c), static_cast<int>(l), t))
        out.push_back(*image);
    }
  }
  return out;
}

std::optional<Vector2d> BodyPoses::PredictImage(const BodyPose& pose, int camera, int label,
                                                Eigen::Matrix<double, 2, 6>* by_pose) const {
  return reconstruction::PredictImage(rig_, layout_, pose, rig_camera_[camera], label, by_pose);
}

std::optional<BodyPose> BodyPoses::Fit(const BodyPose& start,
                                       const std::vector<BodyImage>& images) const {
  return FitBody(rig_, layout_, start, images);
}

// Whether a pose predicts every marker in every camera, and agrees with its images.
bool BodyPoses::Determined(const BodyPose& pose) const {
  if (pose.fit > kMostMiss) return false;
  for (std::size_t c = 0; c < named_.size(); ++c) {
    for (std::size_t l = 0; l < layout_.p.size(); ++l) {
      Eigen::Matrix<double, 2, 6> J;
      if (!PredictImage(pose, static_cast<int>(c), static_cast<int>(l), &J)) continue;
      if ((J * pose.cov * J.transpose()).trace() > 2 * kKnownForPose * kKnownForPose) return false;
    }
  }
  return true;
}

// Between the known poses next to a time, or beyond the last of them.
std::optional<BodyPose> BodyPoses::Expected(double t) const {
  const auto next = poses_.lower_bound(t);
  const bool has_next = next != poses_.end() && next->first - t < kLongestPoseWay;
  const bool has_before = next != poses_.begin() && t - std::prev(next)->first < kLongestPoseWay;
  if (!has_next && !has_before) return std::nullopt;
  BodyPose out;
  double way = 0, more = 1;
  if (has_next && has_before) {
    const auto& [t0, a] = *std::prev(next);
    const auto& [t1, b] = *next;
    out.X_WB = Between(a.X_WB, b.X_WB, (t - t0) / (t1 - t0));
    way = std::min(t - t0, t1 - t);
  } else {
    const auto& [t0, a] = has_next ? *next : *std::prev(next);
    out.X_WB = a.X_WB;
    way = std::abs(t - t0);
    more = 2;
  }
  out.cov = Loose(0.02 + more * o_.turn_error * way, 0.002 + more * o_.speed_error * way);
  return out;
}

// Typical size of a marker's image in a camera near a frame; 0 where it is not known.
double BodyPoses::SizeOf(int camera, int label, long long frame) const {
  std::vector<double> sizes;
  const auto& points = named_[camera][label];
  auto next = points.lower_bound(frame);
  auto before = next;
  for (int k = 0; k < 6; ++k) {
    if (next != points.end()) {
      if (next->second.major > 0) sizes.push_back(next->second.major);
      ++next;
    }
    if (before != points.begin()) {
      --before;
      if (before->second.major > 0) sizes.push_back(before->second.major);
    }
  }
  return sizes.size() < 3 ? 0 : UpperMedian(std::move(sizes));
}

}  // namespace impactlab::reconstruction
