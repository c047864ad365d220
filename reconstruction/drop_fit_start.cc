#include "reconstruction/drop_fit_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/triangulate.h"
#include "data/statistics.h"
#include "reconstruction/motion_fit_arcs.h"

namespace impactlab::internal {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kLongestGap = 2.5;  // frame intervals over which a track is interpolated
constexpr int kOffsetPoints = 400;   // at most, whose rays are compared
constexpr int kOffsetReach = 500;    // steps of the first grid to either side at most
// Steps of the grids of offsets [frame intervals].
constexpr double kOffsetSteps[] = {0.2, 0.04, 0.01};
// Poses off the layout by so many medians, beyond so much [m], hold a stray point.
constexpr double kWorstFit = 4, kFitFloor = 2e-4;
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
  std::vector<double> misfit;
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
    const AbsoluteOrientation aligned = AlignPoints(p_B, p_W, weights);
    Isometry3d X = aligned.X_WB;
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
    misfit.push_back(std::sqrt(aligned.left / static_cast<double>(p_B.size())));
  }
  if (poses.t.empty()) return poses;
  const double limit = kFitFloor + kWorstFit * Median(misfit);
  PoseRecording good;
  for (std::size_t i = 0; i < misfit.size(); ++i) {
    if (misfit[i] > limit) continue;
    good.t.push_back(poses.t[i]);
    good.X_WB.push_back(poses.X_WB[i]);
  }
  return good;
}

namespace {

// One image as a ray from its camera, in W.
struct Ray {
  double t = 0, sd = 0;  // [s], angle [rad]
  Vector3d d = Vector3d::Zero();
};

// [clock][marker], by time.
std::vector<std::vector<std::vector<Ray>>> RaysOf(const DropProblem& problem) {
  std::vector<std::vector<std::vector<Ray>>> rays(problem.clocks(), std::vector<std::vector<Ray>>(problem.markers.size()));
  for (const DropPoint& point : problem.points) {
    const View& view = problem.views[point.view];
    const auto d = Unproject(view.camera->camera, point.q);
    if (!d) continue;
    const double sd = std::sqrt(2 / point.root.squaredNorm()) / view.camera->camera.fx;
    rays[point.clock][point.marker].push_back({point.t, sd, view.R_CW.transpose() * *d});
  }
  for (auto& clock : rays) {
    for (auto& marker : clock) std::sort(marker.begin(), marker.end(), [](const Ray& a, const Ray& b) { return a.t < b.t; });
  }
  return rays;
}

// Mean over the rays of one camera of how far they pass from those of another, whose clock is `offset` behind. Robust: an outlier, or an
// impact between two frames, is not to decide. Infinite where nothing can be compared.
struct OffsetCost {
  const std::vector<std::vector<Ray>>&a, &b;
  Vector3d from_a_to_b;
  double longest = 0;
  std::size_t stride = 1;

  double operator()(double offset, int* compared) const {
    double sum = 0;
    *compared = 0;
    for (std::size_t m = 0; m < a.size(); ++m) {
      for (std::size_t i = stride / 2; i < a[m].size(); i += stride) {
        const Ray& ray = a[m][i];
        const double t = ray.t - offset;
        const auto after = std::lower_bound(b[m].begin(), b[m].end(), t, [](const Ray& r, double time) { return r.t < time; });
        if (after == b[m].end() || after == b[m].begin() || after->t - (after - 1)->t > longest) continue;
        const double share = (t - (after - 1)->t) / (after->t - (after - 1)->t);
        const Vector3d d = ((1 - share) * (after - 1)->d + share * after->d).normalized(), n = ray.d.cross(d);
        const double sine2 = n.squaredNorm();
        if (!(sine2 > 1e-8)) continue;
        // Distance along both rays to where they pass each other; behind a camera nothing is seen.
        const double along_a = from_a_to_b.cross(d).dot(n) / sine2, along_b = from_a_to_b.cross(ray.d).dot(n) / sine2;
        double angle = 1;
        if (along_a > 0 && along_b > 0) angle = std::abs(from_a_to_b.dot(n)) / std::sqrt(sine2) / std::min(along_a, along_b);
        sum += std::log1p(std::pow(angle / (3 * std::hypot(ray.sd, after->sd)), 2));
        ++*compared;
      }
    }
    return *compared > 0 ? sum / *compared : std::numeric_limits<double>::infinity();
  }
};

}  // namespace

std::vector<double> RoughOffsets(const DropProblem& problem, double frame_interval) {
  const auto rays = RaysOf(problem);
  std::vector<double> offset(rays.size(), 0.0);
  if (!(problem.offset_sd > 0) || !(frame_interval > 0)) return offset;
  std::vector<const View*> view(rays.size(), nullptr);
  for (const DropPoint& point : problem.points) view[point.clock] = &problem.views[point.view];
  std::size_t points = 0;
  for (const auto& marker : rays[0]) points += marker.size();
  for (std::size_t c = 1; c < rays.size(); ++c) {
    if (!view[0] || !view[c]) continue;
    const OffsetCost cost{rays[0], rays[c], view[c]->p_WC - view[0]->p_WC, kLongestGap * frame_interval,
                          std::max<std::size_t>(1, points / kOffsetPoints)};
    double best = 0;
    for (const double step : kOffsetSteps) {
      const bool first = step == kOffsetSteps[0];
      const int reach =
          first ? std::clamp(static_cast<int>(std::ceil(3 * problem.offset_sd / (step * frame_interval))), 1, kOffsetReach) : 5;
      std::vector<double> costs;
      std::vector<int> compared;
      for (int k = -reach; k <= reach; ++k) {
        int n = 0;
        // Of places that fit alike the nearest counts.
        costs.push_back(cost(best + k * step * frame_interval, &n) + (first ? 1e-9 * std::abs(k) : 0));
        compared.push_back(n);
      }
      // A few frames in common fit anywhere.
      const int most = *std::max_element(compared.begin(), compared.end());
      int lowest = -1;
      for (int k = 0; k < static_cast<int>(costs.size()); ++k) {
        if (2 * compared[k] >= most && std::isfinite(costs[k]) && (lowest < 0 || costs[k] < costs[lowest])) lowest = k;
      }
      if (lowest < 0) break;
      best += (lowest - reach) * step * frame_interval;
    }
    offset[c] = best;
  }
  return offset;
}

std::string StartDrop(const PoseRecording& poses, const DropProblem& problem, double t_impact, const MotionFitOptions& options,
                      DropState* state) {
  const int n = static_cast<int>(poses.t.size());
  int split = 0;
  while (split < n && poses.t[split] < t_impact) ++split;
  if (split < 3 || n - split < 3)
    return fmt::format(
        "{} poses before and {} after the impact at {:.4f} s, a "
        "start needs three of each",
        split, n - split, t_impact);
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

}  // namespace impactlab::internal
