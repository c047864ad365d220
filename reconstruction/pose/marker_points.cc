#include "reconstruction/pose/marker_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "data/base/error.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// A mirror image has to leave this little of what the layout leaves before it is named.
constexpr double kMirroredShare = 0.1;

template <typename Value>
void CheckShape(const MarkerPoints& points, const std::vector<std::vector<Value>>& values,
                const char* what, bool may_lack) {
  if (may_lack && values.empty()) return;
  if (values.size() != points.markers.size())
    throw ConfigError(fmt::format("{}: {}: found lists of {} markers, allowed {}", points.name,
                                  what, values.size(), points.markers.size()));
  for (const auto& list : values)
    if (list.size() != points.t.size())
      throw ConfigError(fmt::format("{}: {}: found {} frames, allowed {}", points.name, what,
                                    list.size(), points.t.size()));
}

// Frames since the first one, by rounding every step; empty where a step is none of whole
// intervals.
std::vector<double> EvenTimes(const std::vector<double>& t, double interval) {
  std::vector<double> places = {0.0};
  for (std::size_t i = 1; i < t.size(); ++i) {
    const double step = std::round((t[i] - t[i - 1]) / interval);
    if (step < 1) return {};
    places.push_back(places.back() + step);
  }
  return places;
}

// Slope and worst deviation of the straight line of times over places.
struct Line {
  double interval = 0, worst = 0;
};
Line FitLine(const std::vector<double>& t, const std::vector<double>& places) {
  const auto n = static_cast<double>(t.size());
  // From the first time on: recordings may begin at a large one.
  double mean_t = 0, mean_k = 0, kk = 0, kt = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    mean_t += (t[i] - t[0]) / n;
    mean_k += places[i] / n;
  }
  for (std::size_t i = 0; i < t.size(); ++i) {
    kk += (places[i] - mean_k) * (places[i] - mean_k);
    kt += (places[i] - mean_k) * (t[i] - t[0] - mean_t);
  }
  Line line;
  line.interval = kt / kk;
  for (std::size_t i = 0; i < t.size(); ++i)
    line.worst =
        std::max(line.worst, std::abs(t[i] - t[0] - mean_t - line.interval * (places[i] - mean_k)));
  return line;
}

// The nearest rate a file would state, where it agrees to what doubles hold.
double Rounded(double rate) {
  const double text = ParseNumber(fmt::format("{:.10g}", rate)).value_or(rate),
               single = static_cast<double>(static_cast<float>(rate));
  for (const double candidate : {text, single})
    if (std::abs(candidate / rate - 1) < 1e-11) return candidate;
  return rate;
}

}  // namespace

void CheckMarkerPoints(const MarkerPoints& points) {
  std::set<std::string> names;
  for (const std::string& name : points.markers)
    if (name.empty() || !names.insert(name).second)
      throw ConfigError(fmt::format("{}: found marker {}{}, allowed every name once", points.name,
                                    Excerpt(name), name.empty() ? "" : " twice"));
  if (points.markers.empty() || points.t.empty())
    throw ConfigError(
        fmt::format("{}: found {} markers and {} frames, allowed at least one of each", points.name,
                    points.markers.size(), points.t.size()));
  CheckShape(points, points.p_WM, "positions", false);
  CheckShape(points, points.cov, "covariances", true);
  CheckShape(points, points.residual, "residuals", true);
  for (std::size_t i = 0; i < points.t.size(); ++i)
    if (!std::isfinite(points.t[i]) || (i > 0 && !(points.t[i] > points.t[i - 1])))
      throw ConfigError(fmt::format("{}: frame {}: found time {} s, allowed times that rise",
                                    points.name, i, points.t[i]));
  for (std::size_t m = 0; m < points.markers.size(); ++m)
    for (std::size_t i = 0; i < points.t.size(); ++i) {
      const bool bad_position = points.p_WM[m][i] && !points.p_WM[m][i]->allFinite();
      const bool bad_cov = !points.cov.empty() && !(points.cov[m][i].allFinite() &&
                                                    points.cov[m][i].diagonal().minCoeff() >= 0);
      const bool bad_residual =
          !points.residual.empty() &&
          !(std::isfinite(points.residual[m][i]) && points.residual[m][i] >= 0);
      if (bad_position || bad_cov || bad_residual)
        throw ConfigError(fmt::format("{}: marker {}, frame {}: found {} that is none", points.name,
                                      Excerpt(points.markers[m]), i,
                                      bad_position ? "a position"
                                      : bad_cov    ? "a covariance"
                                                   : "a residual"));
    }
  for (const MarkerEvent& event : points.events)
    if (!std::isfinite(event.t))
      throw ConfigError(
          fmt::format("{}: event {}: found no time", points.name, Excerpt(event.label)));
}

std::optional<double> FrameRate(const MarkerPoints& points, double tolerance) {
  const std::vector<double>& t = points.t;
  if (t.size() < 2) return std::nullopt;
  std::vector<double> steps(t.size());
  std::adjacent_difference(t.begin(), t.end(), steps.begin());
  steps.erase(steps.begin());
  const double smallest = *std::min_element(steps.begin(), steps.end());
  for (const double guess : {Median(steps), smallest}) {
    if (!(guess > 0)) continue;
    const std::vector<double> places = EvenTimes(t, guess);
    if (places.empty()) continue;
    const Line line = FitLine(t, places);
    if (line.interval > 0 && line.worst <= tolerance * line.interval)
      return Rounded(1 / line.interval);
  }
  return std::nullopt;
}

namespace {

// Markers of the layout that the recording has: place in the recording, position on the body.
struct UsedMarkers {
  std::vector<std::pair<std::size_t, Vector3d>> used;
  std::vector<std::string> absent;
};

UsedMarkers FindUsedMarkers(const MarkerPoints& points, const std::vector<NamedMarker>& layout) {
  std::map<std::string, std::size_t> index;
  for (std::size_t m = 0; m < points.markers.size(); ++m) index[points.markers[m]] = m;
  std::set<std::string> names;
  UsedMarkers out;
  for (const NamedMarker& marker : layout) {
    if (!names.insert(marker.name).second || !marker.p_BM.allFinite())
      throw ConfigError(
          fmt::format("layout: marker {}: found {}, allowed every name once, with a position",
                      Excerpt(marker.name),
                      marker.p_BM.allFinite() ? "its name twice" : "a position that is none"));
    const auto at = index.find(marker.name);
    if (at == index.end()) {
      out.absent.push_back(marker.name);
    } else {
      out.used.emplace_back(at->second, marker.p_BM);
    }
  }
  return out;
}

// The markers that one frame shows.
struct FramePoints {
  std::vector<Vector3d> p_B, p_W;
  std::vector<double> weights;
  std::vector<std::size_t> which;
  bool weighted = false;  // every one has a covariance
};

FramePoints PointsOfFrame(const MarkerPoints& points, const UsedMarkers& markers, std::size_t i) {
  FramePoints out;
  out.weighted = !points.cov.empty();
  for (const auto& [m, p_BM] : markers.used) {
    if (!points.p_WM[m][i]) continue;
    out.which.push_back(m);
    out.p_B.push_back(p_BM);
    out.p_W.push_back(*points.p_WM[m][i]);
    const double trace = points.cov.empty() ? 0 : points.cov[m][i].trace();
    out.weighted = out.weighted && trace > 0;
    out.weights.push_back(trace > 0 ? 3 / trace : 1);
  }
  return out;
}

// Frames whose markers do not have the distances of the layout.
struct MisfitFrames {
  int mirrored = 0;
  double worst = 0, worst_point = 0;

  void Add(const MarkerPoints& points, const FramePoints& now, const AbsoluteOrientation& plain,
           double rms, std::size_t i, PointPoses* out) {
    ++out->misfit;
    worst = std::max(worst, rms);
    for (std::size_t k = 0; k < now.which.size(); ++k) {
      const double off = (plain.X_WB * now.p_B[k] - now.p_W[k]).norm();
      if (off <= worst_point) continue;
      worst_point = off;
      out->worst = fmt::format("marker {} in frame {}, {:.3g} m from where the others put it",
                               Excerpt(points.markers[now.which[k]]),
                               points.first_frame + static_cast<long long>(i), off);
    }
    mirrored += plain.reflected < kMirroredShare * plain.left;
  }
};

// The marker is the centre of a ball, whose attitude it does not show: the same in every frame.
void FollowCentre(const MarkerPoints& points, std::size_t marker, PointPoses* out) {
  for (std::size_t i = 0; i < points.t.size(); ++i) {
    const std::optional<Vector3d>& p = points.p_WM[marker][i];
    if (!p) {
      ++out->too_few;
      continue;
    }
    out->poses.t.push_back(points.t[i]);
    out->poses.X_WB.emplace_back(Eigen::Translation3d(*p));
    out->frames.push_back(static_cast<int>(i));
    out->rms.push_back(0);
  }
  out->usable = !out->frames.empty();
  if (!out->usable) out->reason = "no frame shows the marker";
}

}  // namespace

PointPoses PosesFromPoints(const MarkerPoints& points, const std::vector<NamedMarker>& layout,
                           const PointPoseOptions& options) {
  CheckMarkerPoints(points);
  if (!(options.max_rms > 0) || !(options.min_spread > 0))
    throw ConfigError(
        fmt::format("poses from points: found max_rms {} m, min_spread {} m, allowed above 0",
                    options.max_rms, options.min_spread));
  const UsedMarkers markers = FindUsedMarkers(points, layout);
  PointPoses out;
  out.poses.name = points.name;
  if (layout.size() == 1 && markers.used.size() == 1 && layout.front().p_BM.isZero(0)) {
    FollowCentre(points, markers.used.front().first, &out);
    return out;
  }
  if (markers.used.size() < 3) {
    out.reason = fmt::format(
        "{} markers of the layout are in the recording, a pose needs three{}", markers.used.size(),
        markers.absent.empty() ? "" : "; not there: " + JoinNames(markers.absent));
    return out;
  }
  MisfitFrames misfit;
  for (std::size_t i = 0; i < points.t.size(); ++i) {
    const FramePoints now = PointsOfFrame(points, markers, i);
    if (now.p_B.size() < 3) {
      ++out.too_few;
      continue;
    }
    const std::vector<double> ones(now.p_B.size(), 1.0);
    const AbsoluteOrientation plain = AlignPoints(now.p_B, now.p_W, ones);
    const Vector3d spread_W = AlignPoints(now.p_W, now.p_W, ones).spread;
    if (std::min(plain.spread[1], spread_W[1]) < options.min_spread) {
      ++out.collinear;
      continue;
    }
    const double rms = std::sqrt(plain.left / static_cast<double>(now.p_B.size()));
    if (rms > options.max_rms) {
      misfit.Add(points, now, plain, rms, i, &out);
      continue;
    }
    out.poses.t.push_back(points.t[i]);
    out.poses.X_WB.push_back(now.weighted ? AlignPoints(now.p_B, now.p_W, now.weights).X_WB
                                          : plain.X_WB);
    out.frames.push_back(static_cast<int>(i));
    out.rms.push_back(rms);
    out.sum_squares += plain.left;
    out.dof += 3 * static_cast<int>(now.p_B.size()) - 6;
  }
  if (2 * misfit.mirrored > out.misfit + static_cast<int>(out.frames.size())) {
    out.reason = "the layout is mirrored: its mirror image fits the markers, it does not";
    out.poses.t.clear();
    out.poses.X_WB.clear();
    out.frames.clear();
    out.rms.clear();
  } else if (out.frames.empty()) {
    out.reason = out.misfit > 0 ? fmt::format(
                                      "the distances of the markers are not those of the layout: "
                                      "{:.3g} m rms, allowed {:.3g} m; worst {}",
                                      misfit.worst, options.max_rms, out.worst)
                 : out.collinear > 0
                     ? "the markers lie on a line: the rotation about it cannot be seen"
                     : "no frame shows three markers of the layout";
  }
  out.usable = !out.frames.empty();
  return out;
}

}  // namespace impactlab
