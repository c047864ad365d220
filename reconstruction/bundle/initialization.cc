#include "reconstruction/bundle/detail/initialization.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/camera/triangulate.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"
#include "reconstruction/motion/arcs.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kLongestGap = 2.5;  // frame intervals over which a track is interpolated
constexpr int kOffsetPoints = 400;   // at most, whose rays are compared
constexpr int kOffsetReach = 500;    // steps of the first grid to either side at most
// Steps of the grids of offsets [frame intervals].
constexpr double kOffsetSteps[] = {0.2, 0.04, 0.01};
// Flights whose median image is further off than this, in standard deviations, and than so many
// medians of all, are none; those of the other value need no second start.
constexpr double kFlies = 3, kWorstFit = 4, kEasy = 1;
// Noise of rough poses; only its order counts.
constexpr double kNearFlights = 4;  // frame intervals from the impact
constexpr double kTauStep = 0.05;   // of the times tried [frame intervals]
constexpr double kNearness = 4;
constexpr double kRoughPosition = 2e-4, kRoughAngle = 5e-3;  // [m], [rad]

// The points of one marker in one clock, by time.
struct Track {
  std::vector<const DropPoint*> points;
  // Image at a time, along the line between its neighbours; nothing outside or over a gap.
  std::optional<Eigen::Vector2d> At(double t, double longest, Eigen::Matrix2d* root) const {
    const auto after =
        std::lower_bound(points.begin(), points.end(), t,
                         [](const DropPoint* p, double time) { return p->t < time; });
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
  std::vector<std::vector<Track>> tracks(problem.clocks(),
                                         std::vector<Track>(problem.markers.size()));
  for (const DropPoint& point : problem.points)
    tracks[point.clock][point.marker].points.push_back(&point);
  for (auto& clock : tracks) {
    for (Track& track : clock) {
      std::sort(track.points.begin(), track.points.end(),
                [](const DropPoint* a, const DropPoint* b) { return a->t < b->t; });
    }
  }
  return tracks;
}

// Times of the first clock, those within a twentieth of a frame taken as one: rows of one picture.
std::vector<double> FirstTimes(const DropProblem& problem, double frame_interval) {
  std::vector<double> times;
  for (const Instant& instant : problem.instants) {
    if (instant.clock != 0) break;
    if (times.empty() || instant.t - times.back() > 0.3 * frame_interval)
      times.push_back(instant.t);
  }
  return times;
}

CameraRig Bare(const CameraRig& rig) {
  CameraRig bare;
  bare.cameras = rig.cameras;
  return bare;
}

TriangulatedPoint PlaceMarker(const CameraRig& bare, const std::vector<std::vector<Track>>& tracks,
                              int marker, double t, const std::vector<double>& offset,
                              double longest) {
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
  // Rows of one picture have times of their own, close together: steps between pictures are those
  // near the largest common one.
  const double high = Quantile(steps, 0.98);
  std::vector<double> long_steps;
  for (double step : steps) {
    if (step > 0.3 * high) long_steps.push_back(step);
  }
  if (long_steps.size() == steps.size()) return Median(steps);
  const double duration = last - problem.instants.front().t;
  return duration / std::max<double>(1, std::round(duration / Median(long_steps)));
}

namespace {

// A frame whose markers are placed one by one.
struct PlacedFrame {
  double t = 0;  // offset counted [s]
  std::optional<Isometry3d> X_WB;
};

std::vector<PlacedFrame> PlaceFrames(const CameraRig& rig, const DropProblem& problem,
                                     const std::vector<double>& offset, double frame_interval) {
  const double longest = kLongestGap * frame_interval;
  const CameraRig bare = Bare(rig);
  const auto tracks = Tracks(problem);
  std::vector<PlacedFrame> frames;
  std::optional<Isometry3d> last;
  for (double t : FirstTimes(problem, frame_interval)) {
    PlacedFrame frame;
    frame.t = t + offset[0];
    std::vector<Vector3d> p_B, p_W;
    std::vector<double> weights;
    for (std::size_t m = 0; m < problem.markers.size(); ++m) {
      const TriangulatedPoint point =
          PlaceMarker(bare, tracks, static_cast<int>(m), t, offset, longest);
      if (!point.usable) continue;
      p_B.push_back(problem.markers[m].p_BM);
      p_W.push_back(point.p_W);
      weights.push_back(1);
    }
    if (p_B.size() >= 3 || (problem.has_axis && p_B.size() == 2)) {
      const AbsoluteOrientation aligned = AlignPoints(p_B, p_W, weights);
      Isometry3d X = aligned.X_WB;
      if (problem.has_axis) {
        const Matrix3d R_near = last ? Matrix3d(last->linear()) : Matrix3d(X.linear());
        const Matrix3d R =
            TurnBetween(R_near * problem.axis_B, X.linear() * problem.axis_B) * R_near;
        X.translation() = X * p_B.front() - R * p_B.front();
        X.linear() = R;
      }
      frame.X_WB = last = X;
    }
    frames.push_back(frame);
  }
  return frames;
}

// A flight that passes the poses of two frames, at the first of them.
BriefFlight Through(const PlacedFrame& at, const PlacedFrame& other, const DropProblem& problem) {
  BriefFlight flight;
  flight.t = at.t;
  flight.X_WB = *at.X_WB;
  const double dt = other.t - at.t;
  flight.v_WB =
      (other.X_WB->translation() - at.X_WB->translation()) / dt - 0.5 * dt * problem.gravity_W;
  flight.omega_B = LogSO3(at.X_WB->linear().transpose() * other.X_WB->linear()) / dt;
  if (problem.has_axis) flight.omega_B -= problem.axis_B * problem.axis_B.dot(flight.omega_B);
  return flight;
}

}  // namespace

std::vector<BriefFlight> RoughFlights(const CameraRig& rig, const DropProblem& problem,
                                      const std::vector<double>& offset) {
  const double frame_interval = FrameInterval(problem), longest = kLongestGap * frame_interval;
  const std::vector<PlacedFrame> frames = PlaceFrames(rig, problem, offset, frame_interval);
  const int n = static_cast<int>(frames.size());
  const BriefFlights fitter(problem, offset, frame_interval);
  std::vector<BriefFlight> all;
  for (int k = 0; k < n; ++k) {
    std::optional<BriefFlight> best;
    const auto attempt = [&](const BriefFlight& start) {
      const auto fit = fitter.Fit(start);
      if (fit && (!best || fit->off < best->off)) best = fit;
    };
    if (!all.empty() && frames[k].t - all.back().t < longest)
      attempt(After(all.back(), problem, frames[k].t - all.back().t));
    for (const int other : {k + 1, k - 1}) {
      if (best && best->off < kEasy) break;
      if (other < 0 || other >= n || !frames[k].X_WB || !frames[other].X_WB ||
          std::abs(frames[other].t - frames[k].t) > longest)
        continue;
      attempt(Through(frames[k], frames[other], problem));
    }
    if (best) all.push_back(*best);
  }
  if (all.empty()) return all;
  std::vector<double> off;
  off.reserve(all.size());
  for (const BriefFlight& flight : all) off.push_back(flight.off);
  const double limit = std::max(kFlies, kWorstFit * Median(off));
  std::vector<BriefFlight> good;
  for (const BriefFlight& flight : all) {
    if (flight.off <= limit) good.push_back(fitter.Alone(flight));
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
  std::vector<std::vector<std::vector<Ray>>> rays(
      problem.clocks(), std::vector<std::vector<Ray>>(problem.markers.size()));
  for (const DropPoint& point : problem.points) {
    const View& view = problem.views[point.view];
    const auto d = Unproject(view.camera->camera, point.q);
    if (!d) continue;
    const double sd = std::sqrt(2 / point.root.squaredNorm()) / view.camera->camera.fx;
    rays[point.clock][point.marker].push_back({point.t, sd, view.R_CW.transpose() * *d});
  }
  for (auto& clock : rays) {
    for (auto& marker : clock)
      std::sort(marker.begin(), marker.end(), [](const Ray& a, const Ray& b) { return a.t < b.t; });
  }
  return rays;
}

// Mean over the rays of one camera of how far they pass from those of another, whose clock is
// `offset` behind. Robust: an outlier, or an impact between two frames, is not to decide. Infinite
// where nothing can be compared.
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
        const auto after = std::lower_bound(b[m].begin(), b[m].end(), t,
                                            [](const Ray& r, double time) { return r.t < time; });
        if (after == b[m].end() || after == b[m].begin() || after->t - (after - 1)->t > longest)
          continue;
        const double share = (t - (after - 1)->t) / (after->t - (after - 1)->t);
        const Vector3d d = ((1 - share) * (after - 1)->d + share * after->d).normalized(),
                       n = ray.d.cross(d);
        const double sine2 = n.squaredNorm();
        if (!(sine2 > 1e-8)) continue;
        // Distance along both rays to where they pass each other; behind a camera nothing is seen.
        const double along_a = from_a_to_b.cross(d).dot(n) / sine2,
                     along_b = from_a_to_b.cross(ray.d).dot(n) / sine2;
        double angle = 1;
        if (along_a > 0 && along_b > 0)
          angle = std::abs(from_a_to_b.dot(n)) / std::sqrt(sine2) / std::min(along_a, along_b);
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
    const OffsetCost cost{rays[0], rays[c], view[c]->p_WC - view[0]->p_WC,
                          kLongestGap * frame_interval,
                          std::max<std::size_t>(1, points / kOffsetPoints)};
    double best = 0;
    for (const double step : kOffsetSteps) {
      const bool first = step == kOffsetSteps[0];
      const int reach =
          first ? std::clamp(
                      static_cast<int>(std::ceil(3 * problem.offset_sd / (step * frame_interval))),
                      1, kOffsetReach)
                : 5;
      std::vector<double> costs;
      std::vector<int> compared;
      for (int k = -reach; k <= reach; ++k) {
        int n = 0;
        // Of places that fit alike the nearest counts.
        costs.push_back(cost(best + k * step * frame_interval, &n) +
                        (first ? 1e-9 * std::abs(k) : 0));
        compared.push_back(n);
      }
      // A few frames in common fit anywhere.
      const int most = *std::max_element(compared.begin(), compared.end());
      int lowest = -1;
      for (int k = 0; k < static_cast<int>(costs.size()); ++k) {
        if (2 * compared[k] >= most && std::isfinite(costs[k]) &&
            (lowest < 0 || costs[k] < costs[lowest]))
          lowest = k;
      }
      if (lowest < 0) break;
      best += (lowest - reach) * step * frame_interval;
    }
    offset[c] = best;
  }
  return offset;
}

namespace {

// Mismatch of two poses, in rough standard deviations.
double Apart(const Isometry3d& a, const Isometry3d& b, const DropProblem& problem) {
  Vector3d turn = LogSO3(a.linear().transpose() * b.linear());
  if (problem.has_axis) turn -= problem.axis_B * problem.axis_B.dot(turn);
  return (a.translation() - b.translation()).squaredNorm() / (kRoughPosition * kRoughPosition) +
         turn.squaredNorm() / (kRoughAngle * kRoughAngle);
}

// Flights too short for arcs: the last before the impact and the first after it, where they come
// nearest to each other.
bool StartFromFlights(const std::vector<BriefFlight>& flights, const DropProblem& problem,
                      double t_impact, double frame_interval, DropState* state) {
  double best = std::numeric_limits<double>::infinity();
  for (const BriefFlight& minus : flights) {
    // One that was fitted across the impact gives no information on either side.
    if (minus.t > t_impact + 2 * frame_interval ||
        minus.t < t_impact - kNearFlights * frame_interval)
      continue;
    for (const BriefFlight& plus : flights) {
      if (plus.t <= minus.t || plus.begin < minus.end - 0.3 * frame_interval ||
          plus.t > t_impact + kNearFlights * frame_interval)
        continue;
      const double first = minus.end - 0.5 * frame_interval,
                   last = plus.begin + 0.5 * frame_interval, step = kTauStep * frame_interval;
      for (int i = 0; first + i * step <= last; ++i) {
        const double tau = first + i * step;
        if (std::abs(tau - t_impact) > 2 * frame_interval) continue;
        const BriefFlight a = After(minus, problem, tau - minus.t),
                          b = After(plus, problem, tau - plus.t);
        // Of flights that meet alike those next to the impact are told best.
        const double cost =
            Apart(a.X_WB, b.X_WB, problem) + kNearness * (plus.begin - minus.end) / frame_interval;
        if (!(cost < best)) continue;
        best = cost;
        state->tau = tau;
        state->p = a.X_WB.translation();
        state->q = Eigen::Quaterniond(a.X_WB.linear()).normalized();
        state->v[0] = a.v_WB;
        state->v[1] = b.v_WB;
        state->omega[0] = a.omega_B;
        state->omega[1] = b.omega_B;
      }
    }
  }
  return std::isfinite(best);
}

}  // namespace

std::string StartDrop(const std::vector<BriefFlight>& flights, const DropProblem& problem,
                      double t_impact, double frame_interval, const MotionFitOptions& options,
                      DropState* state) {
  PoseRecording poses;
  for (const BriefFlight& flight : flights) {
    poses.t.push_back(flight.t);
    poses.X_WB.push_back(flight.X_WB);
  }
  const int n = static_cast<int>(poses.t.size());
  int split = 0;
  while (split < n && poses.t[split] < t_impact) ++split;
  if (split < 1 || n - split < 1)
    return fmt::format(
        "{} poses before and {} after the impact at {:.4f} s, a start needs one of each", split,
        n - split, t_impact);
  FlightModel model;
  model.recording = &poses;
  model.body = &problem.body;
  model.flight.gravity_W = problem.gravity_W;
  NoiseModel noise;
  for (int i = 0; i < 6; ++i) noise.sd[i] = i < 3 ? kRoughPosition : kRoughAngle;
  const int most = options.max_frames;
  // The frames beside the impact may be on the other side of it: shares that leave them out or give
  // them away.
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [last, first] :
       {std::pair(split - 1, split), std::pair(split - 2, split - 1), std::pair(split, split + 1),
        std::pair(split - 2, split + 1), std::pair(split - 3, split - 2),
        std::pair(split + 1, split + 2)}) {
    if (last < 2 || n - first < 3) continue;
    const Segment minus{std::max(0, last - most + 1), last},
        plus{first, std::min(n - 1, first + most - 1)};
    const Arc a = FitArc(model, minus, noise), b = FitArc(model, plus, noise);
    JoinOptions join;
    join.t_min = poses.t[last] - (poses.t[first] - poses.t[last]);
    join.t_max = poses.t[first] + (poses.t[first] - poses.t[last]);
    const Joint<6> joint = JoinArcs<6>(a, b, model, join);
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
  if (!std::isfinite(best) && !StartFromFlights(flights, problem, t_impact, frame_interval, state))
    return fmt::format("no two flights meet about {:.4f} s", t_impact);
  if (problem.has_axis) {
    for (Vector3d& omega : state->omega) omega -= problem.axis_B * problem.axis_B.dot(omega);
  }
  return "";
}

}  // namespace impactlab::reconstruction
