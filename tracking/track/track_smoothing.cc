#include "tracking/track/track_smoothing.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "data/statistics/order_statistic.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

// Median over the fitted points within `reach` of k, k itself left out; 0 where there are fewer
// than three.
double TypicalRadius(const std::vector<TrackPoint>& points, std::size_t k, std::size_t reach,
                     double TrackPoint::*size) {
  std::vector<double> sizes;
  for (std::size_t j = k > reach ? k - reach : 0; j < std::min(points.size(), k + reach + 1); ++j)
    if (j != k && points[j].*size > 0) sizes.push_back(points[j].*size);
  return sizes.size() < 3 ? 0 : UpperMedian(std::move(sizes));
}

// The longer axis of a disc follows its distance alone and hardly changes; the shorter one follows
// its tilt. What an earlier check has added to a covariance is taken out before the new share comes
// in: neighbours may have changed with the names.
void CheckSizes(std::vector<TrackPoint>* points) {
  constexpr std::size_t kFar = 15, kNear = 4;
  constexpr double kSmaller = 0.8, kLarger = 1.2;
  constexpr double kLeast = 0.5;  // difference of a semi-axis that noise does not make [px]
  std::vector<double> grow(points->size(), 0);
  std::vector<std::uint32_t> flags(points->size(), 0);
  for (std::size_t k = 0; k < points->size(); ++k) {
    const TrackPoint& p = (*points)[k];
    if (!(p.major > 0) || (p.flags & kCut) != 0) continue;
    const double major = TypicalRadius(*points, k, kFar, &TrackPoint::major),
                 minor = TypicalRadius(*points, k, kNear, &TrackPoint::minor);
    if (major > 0 && p.major > kLarger * major && p.major - major > kLeast) {
      flags[k] |= kTouching;
      grow[k] = p.major - major;
    }
    const double missing = std::max(major > 0 && p.major < kSmaller * major ? major - p.major : 0,
                                    minor > 0 && p.minor < kSmaller * minor ? minor - p.minor : 0);
    if (missing > kLeast) {
      flags[k] |= kHidden;
      grow[k] = std::max(grow[k], missing);
    }
  }
  for (std::size_t k = 0; k < points->size(); ++k) {
    TrackPoint& p = (*points)[k];
    p.flags |= flags[k];
    p.cov += (grow[k] * grow[k] - p.size_sd * p.size_sd) * Eigen::Matrix2d::Identity();
    p.size_sd = grow[k];
  }
}

// Ratio of the scatter of clear moving points about a short polynomial to what their covariances
// say: noise of the pixels is not all that moves a point where a video was compressed or the marker
// is no disc. 1 where the data cannot tell or the covariances hold.
double ErrorScale(const std::vector<std::vector<TrackPoint>>& markers) {
  // a turn of 20 rad/s leaves 0.02 px at 120 frames a second
  constexpr int kWindow = 7, kOrder = 3;
  constexpr std::size_t kEnough = 4;
  constexpr std::uint32_t kUnclear = ~static_cast<std::uint32_t>(kBlurred | kRelabelled | kManual);
  constexpr double kStep = 0.3;       // pixels a frame: a still picture repeats its errors
  constexpr long long kLongest = 11;  // frames a window may span: some of its points may be unclear
  std::vector<double> ratios;
  for (const std::vector<TrackPoint>& points : markers) {
    std::vector<const TrackPoint*> window;
    for (const TrackPoint& p : points) {
      if ((p.flags & kImpact) != 0) window.clear();
      if ((p.flags & kUnclear) != 0) continue;
      if (!window.empty() && p.frame - window.front()->frame >= kLongest) window.clear();
      window.push_back(&p);
      if (window.size() < kWindow) continue;
      const double t0 = window.front()->t, t1 = window.back()->t;
      if (t1 > t0 && (window.back()->q - window.front()->q).norm() > kStep * kWindow) {
        Eigen::Matrix<double, kWindow, kOrder + 1> basis;
        Eigen::Matrix<double, kWindow, 2> q;
        for (int k = 0; k < kWindow; ++k) {
          const TrackPoint& one = *window[static_cast<std::size_t>(k)];
          const double sd = std::sqrt(0.5 * one.cov.trace()), x = 2 * (one.t - t0) / (t1 - t0) - 1;
          double power = 1 / sd;
          for (int j = 0; j <= kOrder; ++j, power *= x) basis(k, j) = power;
          q.row(k) = (one.q - p.q).transpose() / sd;
        }
        const Eigen::Matrix<double, kWindow, 2> rest =
            q - basis * (basis.transpose() * basis).ldlt().solve(basis.transpose() * q);
        ratios.push_back(rest.squaredNorm());
      }
      window.clear();
    }
  }
  if (ratios.size() < kEnough) return 1;
  // A low quantile, because impacts that were not seen spoil their windows; it must stand out of
  // its own scatter.
  constexpr double kDof = 2 * (kWindow - kOrder - 1), kShare = 0.3, kSure = 3;
  const double expected = ChiSquareQuantile(kShare, kDof), found = Quantile(ratios, kShare);
  // of the quantile, by the density there
  const double sd = 1.3 * std::sqrt(kDof / static_cast<double>(ratios.size()));
  return found > expected + kSure * sd ? std::sqrt(found / expected) : 1;
}

// `points`: measured ones of a marker in order of their frames. Returns one point for every frame
// from the first to the last.
std::vector<TrackPoint> Smoothed(const std::vector<TrackPoint>& points,
                                 const std::vector<long long>& index,
                                 const std::vector<double>& stamps, const TrackerOptions& options) {
  const auto place = [&](long long frame) {
    return std::lower_bound(index.begin(), index.end(), frame) - index.begin();
  };
  const std::ptrdiff_t first = place(points.front().frame), last = place(points.back().frame);
  std::vector<double> t;
  std::vector<std::optional<Observation>> observations;
  std::vector<bool> hints;
  std::vector<TrackPoint> out;
  std::size_t next = 0;
  for (std::ptrdiff_t i = first; i <= last; ++i) {
    const long long frame = index[static_cast<std::size_t>(i)];
    const double stamp = stamps[static_cast<std::size_t>(i)];
    if (next < points.size() && points[next].frame == frame) {
      const TrackPoint& p = points[next++];
      Observation o;
      o.q = p.q, o.cov = p.cov, o.t = p.t, o.flags = p.flags;
      t.push_back(p.t);
      observations.emplace_back(o);
      hints.push_back((p.flags & kImpact) != 0);
      out.push_back(p);
      continue;
    }
    // Row times change slowly: that of the points on both sides, in between.
    const TrackPoint &a = points[next - 1], &b = points[std::min(next, points.size() - 1)];
    const double shift_a = a.t - stamps[static_cast<std::size_t>(place(a.frame))],
                 shift_b = b.t - stamps[static_cast<std::size_t>(place(b.frame))];
    const double share = b.frame > a.frame ? static_cast<double>(frame - a.frame) /
                                                 static_cast<double>(b.frame - a.frame)
                                           : 0;
    TrackPoint bridge;
    bridge.camera = a.camera, bridge.marker = a.marker, bridge.frame = frame;
    bridge.t = stamp + (1 - share) * shift_a + share * shift_b;
    bridge.flags = kPredicted;
    t.push_back(bridge.t);
    observations.emplace_back(std::nullopt);
    hints.push_back(false);
    out.push_back(bridge);
  }
  const std::vector<SmoothedStep> smooth = SmoothTrack(t, observations, options, hints);
  for (std::size_t k = 0; k < out.size(); ++k) {
    TrackPoint& p = out[k];
    p.smooth_q = smooth[k].q;
    p.smooth_v = smooth[k].v;
    p.nis = smooth[k].nis;
    p.flags &= ~static_cast<std::uint32_t>(kImpact | kOutlier);
    if (smooth[k].impact) p.flags |= kImpact;
    if (smooth[k].outlier) p.flags |= kOutlier;
    if ((p.flags & kPredicted) == 0) continue;
    p.q = smooth[k].q;
    p.cov = smooth[k].cov_q;
  }
  return out;
}

// A single outlier far beyond the marker's own image is an image of something else: it is left out,
// and the gap is bridged. Several in a row may be the marker on a path that the smoothing has
// missed; they stay.
bool LeaveStrangers(std::vector<TrackPoint>* points) {
  constexpr double kSizes = 3, kLeast = 12;  // semi-axes, and [px]
  std::vector<char> stranger(points->size(), 0);
  for (std::size_t k = 0; k < points->size(); ++k) {
    const TrackPoint& p = (*points)[k];
    const double far = std::max(kLeast, kSizes * p.major);
    stranger[k] = (p.flags & kOutlier) != 0 && (p.flags & (kPredicted | kManual)) == 0 &&
                  (p.q - p.smooth_q).norm() > far;
  }
  std::vector<TrackPoint> kept;
  bool any = false;
  for (std::size_t k = 0; k < points->size(); ++k) {
    const bool alone =
        (k == 0 || stranger[k - 1] == 0) && (k + 1 == points->size() || stranger[k + 1] == 0);
    any = any || (stranger[k] != 0 && alone);
    if (((*points)[k].flags & kPredicted) == 0 && (stranger[k] == 0 || !alone))
      kept.push_back((*points)[k]);
  }
  if (!any || kept.empty()) return false;
  *points = std::move(kept);
  return true;
}

}  // namespace

InnovationReport FinishMarkers(const std::vector<long long>& index,
                               const std::vector<double>& stamps, const TrackerOptions& options,
                               std::vector<std::vector<TrackPoint>>* markers) {
  InnovationReport report;
  for (std::vector<TrackPoint>& points : *markers) {
    std::erase_if(points, [](const TrackPoint& p) { return (p.flags & kPredicted) != 0; });
    if (points.empty()) continue;
    std::sort(points.begin(), points.end(),
              [](const TrackPoint& a, const TrackPoint& b) { return a.frame < b.frame; });
    CheckSizes(&points);
    points = Smoothed(points, index, stamps, options);
    if (LeaveStrangers(&points)) points = Smoothed(points, index, stamps, options);
  }
  // Only now are the impacts known, between which the scatter is measured.
  report.error_scale = ErrorScale(*markers);
  double sum = 0;
  long long outside = 0;
  for (std::vector<TrackPoint>& points : *markers) {
    if (report.error_scale > 1 && !points.empty()) {
      std::erase_if(points, [](const TrackPoint& p) { return (p.flags & kPredicted) != 0; });
      for (TrackPoint& p : points) {
        // What its size says of a point is no noise of pixels.
        const Eigen::Matrix2d size = p.size_sd * p.size_sd * Eigen::Matrix2d::Identity();
        p.cov = report.error_scale * report.error_scale * (p.cov - size) + size;
      }
      points = Smoothed(points, index, stamps, options);
    }
    for (const TrackPoint& p : points) {
      if (std::isfinite(p.nis) && (p.flags & (kPredicted | kImpact | kOutlier)) == 0) {
        ++report.n;
        sum += p.nis;
      }
      outside += (p.flags & kOutlier) != 0;
    }
  }
  if (report.n > 0) {
    const double dof = 2 * static_cast<double>(report.n);
    report.mean = sum / dof;
    report.lower = ChiSquareQuantile(0.0005, dof) / dof;
    report.upper = ChiSquareQuantile(0.9995, dof) / dof;
    report.outside_gate = static_cast<double>(outside) / static_cast<double>(report.n + outside);
  }
  return report;
}

InnovationReport FinishTracks(const std::vector<long long>& index,
                              const std::vector<double>& stamps, int camera,
                              const TrackerOptions& options, MarkerTracks* tracks) {
  std::map<int, std::vector<TrackPoint>> by_marker;
  std::vector<TrackPoint> out;
  for (const TrackPoint& p : tracks->points) {
    if (p.camera != camera) {
      out.push_back(p);
    } else if ((p.flags & kPredicted) == 0) {
      by_marker[p.marker].push_back(p);
    }
  }
  // There may be many: every point is kept once.
  std::vector<TrackPoint>().swap(tracks->points);
  std::vector<std::vector<TrackPoint>> markers;
  markers.reserve(by_marker.size());
  for (auto& [marker, points] : by_marker) markers.push_back(std::move(points));
  const InnovationReport report = FinishMarkers(index, stamps, options, &markers);
  for (std::vector<TrackPoint>& points : markers) {
    out.insert(out.end(), points.begin(), points.end());
    std::vector<TrackPoint>().swap(points);
  }
  tracks->points = std::move(out);
  Sort(tracks);
  return report;
}

}  // namespace impactlab
