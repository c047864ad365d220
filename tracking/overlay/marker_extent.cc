#include "tracking/overlay/detail/marker_extent.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace impactlab::tracking {

long long FrameOfInterest(const MarkerTracks& tracks, int camera) {
  using Jumps = std::map<long long, double>;  // [px/s]
  Jumps all, struck;
  long long first = std::numeric_limits<long long>::max(), last = -1;
  const TrackPoint* before = nullptr;
  for (const TrackPoint& p : tracks.points) {
    if (p.camera != camera) continue;
    first = std::min(first, p.frame);
    last = std::max(last, p.frame);
    if ((p.flags & kImpact) != 0) {
      const bool known = before != nullptr && before->marker == p.marker;
      const double jump = known ? (p.smooth_v - before->smooth_v).norm() : 0,
                   speed = known ? before->smooth_v.norm() : 0;
      all[p.frame] += std::isfinite(jump) ? jump : 0;
      // At an impact the normal velocity changes sign; a body that starts from rest was released.
      constexpr double kLeastSpeed = 0.25;  // of the jump
      if (std::isfinite(jump) && speed >= kLeastSpeed * jump) struck[p.frame] += jump;
    }
    before = &p;
  }
  const Jumps& jumps = struck.empty() ? all : struck;
  // The markers of a body show one impact in frames side by side.
  constexpr long long kTogether = 2;
  const auto around = [&](long long frame) {
    double sum = 0;
    for (auto at = jumps.lower_bound(frame - kTogether);
         at != jumps.end() && at->first <= frame + kTogether; ++at)
      sum += at->second;
    return sum;
  };
  double most = 0;
  for (const auto& [frame, jump] : jumps) most = std::max(most, around(frame));
  for (const auto& [frame, jump] : jumps)
    if (around(frame) >= 0.2 * most) return frame;
  return last < 0 ? 0 : (first + last) / 2;
}

std::map<long long, MarkerExtent> Extents(const MarkerTracks& tracks, int camera, long long from,
                                          long long to, double* largest) {
  std::map<long long, MarkerExtent> extents;
  for (const TrackPoint& p : tracks.points) {
    if (p.camera != camera || p.frame < from || p.frame > to) continue;
    extents[p.frame].Add(p.q);
    *largest = std::max(*largest, p.major);
  }
  return extents;
}

Eigen::Vector2d MiddleAt(const std::map<long long, MarkerExtent>& extents, long long frame,
                         const Eigen::Vector2d& otherwise) {
  if (extents.empty()) return otherwise;
  auto after = extents.lower_bound(frame);
  if (after == extents.end()) --after;
  if (after != extents.begin() && after->first != frame) {
    const auto before = std::prev(after);
    if (std::abs(before->first - frame) < std::abs(after->first - frame)) after = before;
  }
  return after->second.middle();
}

Eigen::Vector2d CropSize(const std::map<long long, MarkerExtent>& extents, double largest,
                         const Eigen::Vector2d& size) {
  Eigen::Vector2d need = Eigen::Vector2d::Constant(40);
  for (const auto& [index, e] : extents) need = need.cwiseMax(e.high - e.low);
  if (extents.empty()) need = size;
  need += Eigen::Vector2d::Constant(2 * largest + 50);
  return Eigen::Vector2d(std::max(need.x(), need.y() * 4 / 3), std::max(need.y(), need.x() * 3 / 4))
      .cwiseMin(size);
}

Eigen::Vector2d CropCorner(const Eigen::Vector2d& middle, const Eigen::Vector2d& crop,
                           const Eigen::Vector2d& size) {
  return (middle - crop / 2).cwiseMin(size - crop).cwiseMax(0).array().round();
}

FramePart PartOf(long long frame, const Eigen::Vector2d& corner, const Eigen::Vector2d& crop) {
  constexpr int kBeside = 4;  // interpolation, and a size that is rounded when it is scaled
  const Eigen::Vector2d last = corner + crop;
  return Widened(
      {frame, static_cast<int>(std::floor(corner.x())), static_cast<int>(std::floor(corner.y())),
       static_cast<int>(std::ceil(last.x())), static_cast<int>(std::ceil(last.y()))},
      kBeside);
}

}  // namespace impactlab::tracking
