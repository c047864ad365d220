#include "reconstruction/bundle/detail/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/base/error.h"
#include "data/statistics/statistics.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Vector3d;

// of the length of the markers: off a line by more, they show the roll
constexpr double kThinnest = 0.03;

void TakePoints(const MarkerTracks& tracks, const CameraRig& rig,
                const ImpactBundleOptions& options, DropRecording* out) {
  std::vector<int> view_of;
  for (const std::string& name : tracks.cameras) {
    const auto found = std::find_if(rig.cameras.begin(), rig.cameras.end(),
                                    [&](const RigCamera& c) { return c.name == name; });
    if (found == rig.cameras.end())
      throw ConfigError(
          fmt::format("fit of a drop: found camera '{}', allowed: those of the rig", name));
    view_of.push_back(static_cast<int>(found - rig.cameras.begin()));
  }
  int bad = 0;
  for (std::size_t i = 0; i < tracks.points.size(); ++i) {
    const TrackPoint& p = tracks.points[i];
    if (p.marker >= static_cast<int>(out->problem.markers.size()) ||
        (p.flags & (kPredicted | kOutlier)) || p.t < options.t_begin || p.t > options.t_end) {
      continue;
    }
    DropPoint point;
    point.index = static_cast<int>(i);
    point.view = view_of[p.camera];
    point.clock = p.camera;
    point.marker = p.marker;
    point.t = p.t;
    point.q = p.q;
    const Eigen::Matrix2d cov =
        p.cov + options.pixel_sd * options.pixel_sd * Eigen::Matrix2d::Identity();
    if (!p.q.allFinite() || !std::isfinite(p.t) || !reconstruction::WeightRoot(cov, &point.root)) {
      ++bad;
      continue;
    }
    out->problem.points.push_back(point);
  }
  if (bad > 0)
    out->notes.push_back(
        fmt::format("{} points without a finite place or a "
                    "positive covariance were passed over",
                    bad));
}

// Markers on a line: they are put on it, and the rotation about it becomes a convention.
void FindAxis(const std::set<int>& seen, const ImpactBundleOptions& options, DropRecording* out) {
  DropProblem& problem = out->problem;
  std::vector<Vector3d> p_B;
  p_B.reserve(seen.size());
  for (int m : seen) p_B.push_back(problem.markers[m].p_BM);
  const AbsoluteOrientation shape = AlignPoints(p_B, p_B, std::vector<double>(p_B.size(), 1.0));
  Vector3d axis = shape.axes_B.col(0), middle = Vector3d::Zero();
  for (const Vector3d& p : p_B) middle += p / static_cast<double>(p_B.size());
  const auto on_line = [&](const Vector3d& p) -> Vector3d {
    return middle + axis * axis.dot(p - middle);
  };
  const auto worst = [&] {
    double most = 0;
    for (const Vector3d& p : p_B) most = std::max(most, (p - on_line(p)).norm());
    return most;
  };
  // A layout that is hardly known is no line for it: the images will show.
  const double length = shape.spread.x() * std::sqrt(12.0);
  const double allowed =
      std::max(options.collinear_tolerance, std::min(3 * options.layout_sd, kThinnest * length));
  if (worst() > allowed) return;
  constexpr double kAlong = 0.996;  // 5 degrees
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> moments(problem.body.inertia_B);
  for (int k = 0; k < 3; ++k) {
    const double along = moments.eigenvectors().col(k).dot(axis);
    if (std::abs(along) < kAlong) continue;
    problem.moment_sd = options.spin_axis_moment_sd;
    problem.principal_B = (along > 0 ? 1 : -1) * moments.eigenvectors().col(k);
    // Within what tells a line, it is the axis itself: beside it the markers would circle as the
    // body spins, in a direction that a roll nobody sees would have to tell.
    const Vector3d line = axis, through = middle;
    axis = problem.principal_B;
    middle.setZero();
    if (worst() <= allowed) continue;
    axis = line;
    middle = through;
  }
  if (axis.dot(p_B.back() - p_B.front()) < 0) axis = -axis;
  for (int m : seen) problem.markers[m].p_BM = on_line(problem.markers[m].p_BM);
  problem.has_axis = true;
  problem.axis_B = axis;
  problem.turn.resize(3, 2);
  problem.turn.col(0) = axis.unitOrthogonal();
  problem.turn.col(1) = axis.cross(problem.turn.col(0));
  out->notes.push_back(
      "the markers lie on a line: roll is a convention, the "
      "spin about it has its prior");
  if (options.layout_sd > 0 || options.layout.cov.size() == 0) return;
  double variance = 0;
  for (const int m : seen)
    variance +=
        (problem.turn.transpose() * options.layout.cov.block<3, 3>(3 * m, 3 * m) * problem.turn)
            .trace() /
        (2.0 * p_B.size());
  problem.beside_sd = std::sqrt(std::max(0.0, variance));
}

}  // namespace

DropRecording PrepareDrops(const MarkerTracks& tracks, const CameraRig& rig,
                           const std::vector<BodyMarker>& markers, const Body& body,
                           const Plane& floor, const ImpactBundleOptions& options) {
  DropRecording out;
  out.name = tracks.recording;
  DropProblem& problem = out.problem;
  problem.views = RigViews(rig);
  problem.markers = markers;
  problem.body = body;
  problem.gravity_W = options.motion.flight.gravity_W;
  problem.offset_sd = tracks.cameras.size() > 1 ? options.offset_sd : 0;
  problem.row_time_sd = options.row_time_sd;
  problem.rate_sd = options.rate_sd;
  problem.layout_sd = options.layout_sd;
  problem.distances = options.distances;
  problem.spin_sd[0] = options.spin_axis_prior_sd;
  problem.spin_sd[1] = options.spin_axis_prior_sd_plus;
  const double length = floor.normal.norm();
  out.floor = {floor.normal / length, floor.offset / length};
  out.offset.assign(tracks.cameras.size(), 0);
  TakePoints(tracks, rig, options, &out);
  std::set<int> seen;
  for (const DropPoint& point : problem.points) seen.insert(point.marker);
  if (seen.size() < 3) {
    out.reason = fmt::format("{} markers are seen, a fit needs three", seen.size());
    return out;
  }
  FindAxis(seen, options, &out);
  LinkInstants(&problem);
  out.frame_interval = FrameInterval(problem);
  if (!(out.frame_interval > 0)) {
    out.reason = fmt::format("{} has no two frames with markers", tracks.cameras.front());
    return out;
  }
  out.offset = RoughOffsets(problem, out.frame_interval);
  out.offset.resize(tracks.cameras.size(), 0);
  out.flights = RoughFlights(rig, problem, out.offset);
  for (const BriefFlight& flight : out.flights) {
    out.poses.t.push_back(flight.t);
    out.poses.X_WB.push_back(flight.X_WB);
  }
  out.poses.name = tracks.recording;
  if (out.poses.t.empty()) {
    out.reason =
        "no frame has three markers that can be placed in space: seen "
        "by one camera only, or rays that do not meet";
    return out;
  }
  out.rough =
      FindImpacts(tracks, problem, out.offset, out.flights, out.poses, out.floor, options.motion);
  return out;
}

}  // namespace impactlab::reconstruction
