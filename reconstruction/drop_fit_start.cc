#include "reconstruction/drop_fit_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/triangulate.h"
#include "data/statistics.h"
#include "reconstruction/motion_fit_arcs.h"
#include "reconstruction/motion_fit_flights.h"

namespace impactlab::internal {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kLongestGap = 2.5;  // frame intervals over which a track is interpolated
constexpr int kOffsetInstants = 10;  // times at which the rays are compared
constexpr double kOffsetStep = 0.2;  // of the grid [frame intervals]
// Noise of rough poses; only its order counts.
constexpr double kRoughPosition = 2e-4, kRoughAngle = 5e-3;  // [m], [rad]

// The points of one marker in one clock, by time.
struct Track {
  std::vector<const DropPoint*> points;
  // Image at a time, along the line between its neighbours; nothing outside or over a gap.
  std::optional<Eigen::Vector2d> At(double t, double longest, Eigen::Matrix2d* root) const {
    const auto after = std::lower_bound(points.begin(), points.end(), t, [](const DropPoint* p, double time) { return p->t < time; });
    if (after == points.end()) return std::nullopt;
    *root = (*after)->root;
    if ((*after)->t == t) return (*after)->q;
    if (after == points.begin()) return std::nullopt;
    const DropPoint &a = **(after - 1), &b = **after;
    if (b.t - a.t > longest) return std::nullopt;
    return Eigen::Vector2d(a.q + (t - a.t) / (b.t - a.t) * (b.q - a.q));
  }
};

// [clock][marker]
std::vector<std::vector<Track>> Tracks(const DropProblem& problem) {
  std::vector<std::vector<Track>> tracks(problem.clocks(), std::vector<Track>(problem.markers.size()));
  for (const DropPoint& point : problem.points) tracks[point.clock][point.marker].points.push_back(&point);
  for (auto& clock : tracks) {
    for (Track& track : clock) {
      std::sort(track.points.begin(), track.points.end(), [](const DropPoint* a, const DropPoint* b) { return a->t < b->t; });
    }
  }
  return tracks;
}

// Times of the first clock, those within a twentieth of a frame taken as one: rows of one picture.
std::vector<double> FirstTimes(const DropProblem& problem, double frame_interval) {
  std::vector<double> times;
  for (const Instant& instant : problem.instants) {
    if (instant.clock != 0) break;
    if (times.empty() || instant.t - times.back() > 0.3 * frame_interval) times.push_back(instant.t);
  }
  return times;
}

CameraRig Bare(const CameraRig& rig) {
  CameraRig bare;
  bare.cameras = rig.cameras;
  return bare;
}

TriangulatedPoint PlaceMarker(const CameraRig& bare, const std::vector<std::vector<Track>>& tracks, int marker, double t,
                              const std::vector<double>& offset, double longest) {
  std::vector<PixelObservation> seen;
  for (std::size_t c = 0; c < tracks.size(); ++c) {
    const Track& track = tracks[c][marker];
    if (track.points.empty()) continue;
    Eigen::Matrix2d root;
    const auto q = track.At(t + offset[0] - offset[c], longest, &root);
    if (!q) continue;
    seen.push_back({track.points.front()->view, *q, (root.transpose() * root).inverse()});
  }
  if (seen.size() < 2) return {};
  return Triangulate(bare, seen, {10, false});
}

}  // namespace

double FrameInterval(const DropProblem& problem) {
  std::vector<double> steps;
  double last = 0;
  bool any = false;
  for (const Instant& instant : problem.instants) {
    if (instant.clock != 0) break;
    if (any && instant.t > last) steps.push_back(instant.t - last);
    last = instant.t;
    any = true;
  }
  if (steps.empty()) return 0;
  // Rows of one picture have times of their own, close together: steps between pictures are those near the largest common one.
  const double high = Quantile(steps, 0.98);
  std::vector<double> long_steps;
  for (double step : steps) {
    if (step > 0.3 * high) long_steps.push_back(step);
  }
  if (long_steps.size() == steps.size()) return Median(steps);
  const double duration = last - problem.instants.front().t;
  return duration / std::max<double>(1, std::round(duration / Median(long_steps)));
}

PoseRecording RoughPoses(const CameraRig& rig, const DropProblem& problem, const std::vector<double>& offset) {
  const double frame_interval = FrameInterval(problem), longest = kLongestGap * frame_interval;
  const CameraRig bare = Bare(rig);
  const auto tracks = Tracks(problem);
  PoseRecording poses;
  std::optional<Isometry3d> last;
  for (double t : FirstTimes(problem, frame_interval)) {
    std::vector<Vector3d> p_B, p_W;
    std::vector<double> weights;
    for (std::size_t m = 0; m < problem.markers.size(); ++m) {
      const TriangulatedPoint point = PlaceMarker(bare, tracks, static_cast<int>(m), t, offset, longest);
      if (!point.usable) continue;
      p_B.push_back(problem.markers[m].p_BM);
      p_W.push_back(point.p_W);
      weights.push_back(1);
    }
    if (p_B.size() < 3 && !(problem.has_axis && p_B.size() == 2)) continue;
    Isometry3d X = AlignPoints(p_B, p_W, weights).X_WB;
    if (problem.has_axis) {
      const Matrix3d R_near = last ? Matrix3d(last->linear()) : Matrix3d(X.linear());
      const Matrix3d R =
          Eigen::Quaterniond::FromTwoVectors(R_near * problem.axis_B, X.linear() * problem.axis_B).toRotationMatrix() * R_near;
      X.translation() = X * p_B.front() - R * p_B.front();
      X.linear() = R;
    }
    last = X;
    poses.t.push_back(t + offset[0]);
    poses.X_WB.push_back(X);
  }
  return poses;
}

std::vector<double> RoughOffsets(const CameraRig& rig, const DropProblem& problem, double frame_interval) {
  const auto tracks = Tracks(problem);
  std::vector<double> offset(tracks.size(), 0.0);
  if (!problem.free_clocks() || !(frame_interval > 0)) return offset;
  const CameraRig bare = Bare(rig);
  const std::vector<double> times = FirstTimes(problem, frame_interval);
  const int reach = std::clamp(static_cast<int>(std::ceil(3 * problem.offset_sd / (kOffsetStep * frame_interval))), 1, 30);
  for (std::size_t c = 1; c < tracks.size(); ++c) {
    auto pair = tracks;
    for (std::size_t other = 1; other < pair.size(); ++other) {
      if (other != c) pair[other].assign(problem.markers.size(), {});
    }
    std::vector<double> costs;
    for (int k = -reach; k <= reach; ++k) {
      offset[c] = k * kOffsetStep * frame_interval;
      double sum = 0;
      int n = 0;
      const std::size_t stride = std::max<std::size_t>(1, times.size() / kOffsetInstants);
      for (std::size_t i = stride / 2; i < times.size(); i += stride) {
        for (std::size_t m = 0; m < problem.markers.size(); ++m) {
          const TriangulatedPoint point = PlaceMarker(bare, pair, static_cast<int>(m), times[i], offset, kLongestGap * frame_interval);
          if (!point.usable) continue;
          // An outlier, or an impact between the frames, is not to decide.
          sum += std::log1p(point.chi_square / 10);
          ++n;
        }
      }
      costs.push_back(n > 0 ? sum / n : 1e300);
    }
    const int best = static_cast<int>(std::min_element(costs.begin(), costs.end()) - costs.begin());
    offset[c] = costs[best] < 1e300 ? (best - reach) * kOffsetStep * frame_interval : 0;
  }
  return offset;
}

std::string StartDrop(const PoseRecording& poses, const DropProblem& problem, double t_impact, const MotionFitOptions& options,
                      DropState* state) {
  const int n = static_cast<int>(poses.t.size());
  int split = 0;
  while (split < n && poses.t[split] < t_impact) ++split;
  if (split < 3 || n - split < 3)
    return fmt::format("{} poses before and {} after the impact at {:.4f} s, a start needs three of each", split, n - split, t_impact);
  FlightModel model;
  model.recording = &poses;
  model.body = &problem.body;
  model.flight.gravity_W = problem.gravity_W;
  NoiseModel noise;
  for (int i = 0; i < 6; ++i) noise.sd[i] = i < 3 ? kRoughPosition : kRoughAngle;
  const int most = options.max_frames;
  // The frames beside the impact may be on the other side of it: shares that leave them out or give them away.
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [last, first] : {std::pair(split - 1, split), std::pair(split - 2, split - 1), std::pair(split, split + 1),
                                    std::pair(split - 2, split + 1), std::pair(split - 3, split - 2), std::pair(split + 1, split + 2)}) {
    if (last < 2 || n - first < 3) continue;
    const Segment minus{std::max(0, last - most + 1), last}, plus{first, std::min(n - 1, first + most - 1)};
    const Arc a = FitArc(model, minus, noise), b = FitArc(model, plus, noise);
    JoinOptions join;
    join.t_min = poses.t[last] - (poses.t[first] - poses.t[last]);
    join.t_max = poses.t[first] + (poses.t[first] - poses.t[last]);
    const Joint<6> joint = Join<6>(a, b, model, join);
    if (!joint.converged) continue;
    const double cost = (a.chi_square + b.chi_square + joint.chi_square) / (a.dof + b.dof + 5);
    if (!(cost < best)) continue;
    best = cost;
    state->tau = joint.t;
    state->p = joint.minus.pose.head<3>();
    state->q = Eigen::Quaterniond(joint.minus.R).normalized();
    state->v[0] = joint.minus.velocity.head<3>();
    state->v[1] = joint.plus.velocity.head<3>();
    state->omega[0] = joint.minus.velocity.tail<3>();
    state->omega[1] = joint.plus.velocity.tail<3>();
  }
  if (!std::isfinite(best)) return fmt::format("no two flights meet about {:.4f} s", t_impact);
  if (problem.has_axis) {
    for (Vector3d& omega : state->omega) omega -= problem.axis_B * problem.axis_B.dot(omega);
  }
  return "";
}

std::optional<RoughImpact> FlaggedImpact(const MarkerTracks& tracks, const DropProblem& problem, double frame_interval) {
  std::vector<double> flagged;
  for (const DropPoint& point : problem.points) {
    if (tracks.points[point.index].flags & kImpact) flagged.push_back(point.t);
  }
  std::sort(flagged.begin(), flagged.end());
  // Clusters of flags; one marker alone may have jumped for another reason.
  std::vector<double> impacts, cluster;
  for (std::size_t i = 0; i <= flagged.size(); ++i) {
    if (i == flagged.size() || (!cluster.empty() && flagged[i] - cluster.back() > 2.5 * frame_interval)) {
      if (cluster.size() > 1) impacts.push_back(Median(cluster));
      cluster.clear();
    }
    if (i < flagged.size()) cluster.push_back(flagged[i]);
  }
  if (impacts.empty()) return std::nullopt;
  RoughImpact impact;
  impact.t = impacts.front();
  if (impacts.size() > 1) impact.end = impacts[1] - 2 * frame_interval;
  return impact;
}

std::optional<RoughImpact> ImpactOfMotion(const PoseRecording& poses, const DropProblem& problem, const Plane& floor,
                                          const MotionFitOptions& options) {
  if (static_cast<int>(poses.t.size()) < 2 * options.min_frames) return std::nullopt;
  FlightModel model;
  model.recording = &poses;
  model.body = &problem.body;
  model.flight.gravity_W = problem.gravity_W;
  const Flights flights = FindFlights(model, floor, options);
  for (std::size_t i = 0; i + 1 < flights.flights.size(); ++i) {
    const Segment &minus = flights.flights[i], &plus = flights.flights[i + 1];
    if (plus.first - minus.last > 3) continue;
    const double half = 0.5 * (poses.t[minus.last + 1] - poses.t[minus.last]);
    return RoughImpact{0.5 * (poses.t[minus.last] + poses.t[plus.first]), poses.t[minus.first] - half, poses.t[plus.last] + half};
  }
  return std::nullopt;
}

}  // namespace impactlab::internal
