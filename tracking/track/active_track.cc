#include "tracking/track/detail/active_track.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/base/infinity.h"

namespace impactlab::tracking {
namespace {

constexpr double kSwapMargin =
    12;  // an exchange of two tracks must cost this much more, -2 ln(odds)

}  // namespace

ActiveTrack::ActiveTrack(int track, const Observation& o, long long frame, double t, int index,
                         const TrackerOptions& options)
    : id(track),
      last(Start(o.q, Covariance(o, options), o.t, options)),
      seen(last),
      now(last),
      jerk(options.jerk_density),
      row_time(o.t - t),
      origin(o.q) {
  log_area = std::log(std::max(o.area, 1.0));
  log_peak = std::log(std::max(o.peak, 1.0));
  steps.push_back({frame, o.t, index, false, last.x.head<4>()});
  head.push_back({0, o.t, o.q, Covariance(o, options)});
}

double Radius(const Observation& o) { return std::sqrt(std::max(o.area, 1.0) / 3.14159); }
double Radius(const ActiveTrack& active) {
  return std::exp(active.log_area / 2) / std::sqrt(3.14159);
}

Eigen::Matrix2d WorkingCovariance(const ActiveTrack& active, const Observation& o,
                                  const TrackerOptions& options) {
  Eigen::Matrix2d cov = Covariance(o, options);
  const double r = Radius(active), ratio = std::log(std::max(o.area, 1.0)) - active.log_area,
               limit = std::log(options.size_ratio);
  double sd = 0;
  if (o.flags & kTouching) sd = 0.1 + 0.05 * r;
  // The centroid of a part of a disc is off by a fraction of the radius, that of two merged discs
  // by up to the radius.
  if ((o.flags & (kHidden | kCut)) || ratio < -limit) sd = std::max(sd, 0.3 * r);
  if (ratio > limit) sd = std::max(sd, 0.5 * Radius(o));
  return cov + sd * sd * Eigen::Matrix2d::Identity();
}

double LookCost(const ActiveTrack& active, const Observation& o, const TrackerOptions& options,
                bool near) {
  const double size =
      (std::log(std::max(o.area, 1.0)) - active.log_area) / std::log(options.size_ratio);
  const double peak = (std::log(std::max(o.peak, 1.0)) - active.log_peak) / 0.5;
  const bool partial = o.flags & (kTouching | kHidden | kCut);
  if (!near && !partial && (std::abs(size) > 1 || std::abs(peak) > 2)) return kInfinity;
  return std::min(4 * size * size, 4.0) + std::min(peak * peak, 4.0);
}

double GateDistance(const ActiveTrack& active, const Observation& o,
                    const TrackerOptions& options) {
  // Extrapolated to the row it was found in; the covariance hardly changes over that.
  const double h = o.t - active.now.t;
  if (!(o.t > active.last.t)) return kInfinity;
  const Eigen::Vector2d shift = h * active.now.x.segment<2>(2);
  const Eigen::Vector2d d = o.q - active.now.x.head<2>() - shift;
  Eigen::Matrix2d cov = WorkingCovariance(active, o, options);
  // An unknown position would fit anywhere: for the gate its standard deviation is at most 5 px.
  constexpr double kMost = 25;
  if (cov.trace() > 2 * kMost) cov *= 2 * kMost / cov.trace();
  const Eigen::Matrix2d s = active.now.cov.topLeftCorner<2, 2>() + cov;
  const double det = s(0, 0) * s(1, 1) - s(0, 1) * s(0, 1);
  const double d2 =
      (s(1, 1) * d.x() * d.x() - 2 * s(0, 1) * d.x() * d.y() + s(0, 0) * d.y() * d.y()) / det;
  return d2 <= options.gate * options.gate ? d2 : kInfinity;
}

void PartAmbiguous(const TrackerOptions& options, std::vector<ActiveTrack>* actives,
                   FrameView* view) {
  const std::vector<Observation>& all = *view->observations;
  for (std::size_t i = 0; i < actives->size(); ++i) {
    ActiveTrack& a = (*actives)[i];
    if (!a.confirmed || a.match < 0 || a.open > 0 || a.jump || a.doomed) continue;
    for (std::size_t k = 0; k < actives->size(); ++k) {
      ActiveTrack& b = (*actives)[k];
      if (k == i || !b.confirmed || b.doomed || b.open > 0 || b.jump) continue;
      if (a.misses == 0 && (b.misses == 0 || b.match < 0)) continue;
      const double b_takes = GateDistance(b, all[a.match], options);
      if (b_takes == kInfinity) continue;
      const double a_takes = GateDistance(a, all[a.match], options);
      double margin = 0;
      if (b.match >= 0) {
        const double a_swapped = GateDistance(a, all[b.match], options);
        if (a_swapped == kInfinity) continue;
        margin = a_swapped + b_takes - a_takes - GateDistance(b, all[b.match], options);
      } else {
        margin = b_takes - a_takes +
                 std::log(b.now.cov.topLeftCorner<2, 2>().determinant() /
                          a.now.cov.topLeftCorner<2, 2>().determinant());
      }
      if (margin >= kSwapMargin) continue;
      if (a.misses > 0) a.doomed = true;
      if (b.misses > 0) b.doomed = true;
    }
  }
  for (ActiveTrack& l : *actives) {
    if (!l.doomed) continue;
    if (l.match >= 0) view->owner[l.match] = kFree;
    l.match = -1;
  }
}

}  // namespace impactlab::tracking
