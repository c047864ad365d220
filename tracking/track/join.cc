#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/base/infinity.h"
#include "tracking/track/detail/active_track.h"

namespace impactlab::tracking {
namespace {

constexpr double kJoinGate = 40;  // largest cost of a join: -2 ln(likelihood) against a perfect one
constexpr double kSureOfJoin = 9;  // the next best assignment must cost this much more
constexpr double kJoinImpactCost = 12;
constexpr double kJerk = 1e9;        // of tracks that do not turn [px^2/s^5]
constexpr double kFastestSpin = 25;  // fastest rotation of a body [rad/s]

// State at the beginning of a track from its steps near there, seen backwards in time.
MarkerState HeadState(const Tracklet& tracklet, const TrackerOptions& options) {
  // Filtered positions of the first steps are as observed, nearly: backwards from them, up to an
  // impact.
  const std::vector<TrackStep>& steps = tracklet.track.steps;
  std::size_t last = 0;
  while (last + 1 < std::min(steps.size(), kHeadSteps) && !steps[last + 1].impact) ++last;
  MarkerState s;
  bool begun = false;
  for (auto seen = tracklet.head.rbegin(); seen != tracklet.head.rend(); ++seen) {
    if (seen->step > last) continue;
    if (!begun) {
      s = Start(seen->q, seen->cov, seen->t, options);
      begun = true;
      continue;
    }
    PredictState(seen->t, kJerk / 10, &s);
    CorrectState(InnovationOf(s, seen->q, seen->cov), seen->cov, &s);
  }
  return s;
}

// Jerk that covers for what rotation does to a constant acceleration over `h` seconds: h^5 jerk /
// 20 = (h^3 / 6 spin |a|)^2.
double SpinJerk(const MarkerState& state, double h) {
  constexpr double kMost = 1e5;  // [px/s^2]
  const double rate = kFastestSpin * std::min(state.x.tail<2>().norm(), kMost);
  return kJerk + 20.0 / 36 * rate * rate * std::abs(h);
}

// Prediction for joining; its covariance grows with the uncertainty of the motion.
MarkerState StateAt(MarkerState state, double t) {
  PredictState(t, SpinJerk(state, t - state.t), &state);
  return state;
}

// -2 ln(likelihood) that one marker went from state `a` to state `b`, against an exact agreement.
double JoinCost(const MarkerState& a, const MarkerState& b, double reach) {
  double best = kInfinity;
  const double gap = b.t - a.t;
  // Without an impact: position and velocity agree in the middle.
  {
    const double t = a.t + gap / 2;
    const MarkerState x = StateAt(a, t), y = StateAt(b, t);
    const Eigen::Matrix4d cov = x.cov.topLeftCorner<4, 4>() + y.cov.topLeftCorner<4, 4>();
    const Eigen::Vector4d d = x.x.head<4>() - y.x.head<4>();
    best = d.dot(cov.inverse() * d);
  }
  // With one: positions agree at some instant.
  constexpr int kParts = 16;
  for (int part = 0; part <= kParts; ++part) {
    const double t = a.t + gap * part / kParts;
    const MarkerState x = StateAt(a, t), y = StateAt(b, t);
    const Eigen::Matrix2d cov = x.cov.topLeftCorner<2, 2>() + y.cov.topLeftCorner<2, 2>();
    const Eigen::Vector2d d = x.x.head<2>() - y.x.head<2>(),
                          jump = x.x.segment<2>(2) - y.x.segment<2>(2);
    best = std::min(best, d.dot(cov.inverse() * d) + kJoinImpactCost +
                              jump.squaredNorm() / (reach * reach / 9));
  }
  return best;
}

void Bridge(const std::vector<std::pair<long long, double>>& times, const MarkerState& a,
            const MarkerState& b, Track* track, Track* next) {
  const long long from = track->steps.back().frame, to = next->steps.front().frame;
  auto it = std::upper_bound(times.begin(), times.end(), std::make_pair(from, kInfinity));
  const double row = a.t - std::prev(it)->second;
  // The marker changes from one continuation to the other where the two are nearest.
  double meet = b.t, least = kInfinity;
  for (auto k = it; k != times.end() && k->first < to; ++k) {
    const MarkerState x = StateAt(a, k->second + row), y = StateAt(b, k->second + row);
    const double d = (x.x.head<2>() - y.x.head<2>()).norm();
    if (d < least) {
      least = d;
      meet = k->second + row;
    }
  }
  for (; it != times.end() && it->first < to; ++it) {
    const MarkerState s = StateAt(it->second + row < meet ? a : b, it->second + row);
    TrackStep step;
    step.frame = it->first;
    step.t = it->second + row;
    step.state = s.x.head<4>();
    track->steps.push_back(step);
  }
  track->steps.insert(track->steps.end(), next->steps.begin(), next->steps.end());
  std::vector<TrackStep>().swap(next->steps);
  track->still = track->still && next->still;
}

}  // namespace

std::vector<Track> JoinTracks(const std::vector<std::pair<long long, double>>& times, double reach,
                              const TrackerOptions& options, std::vector<Tracklet> tracklets) {
  const int n = static_cast<int>(tracklets.size());
  std::vector<MarkerState> head(n), tail(n);
  for (int i = 0; i < n; ++i) {
    head[i] = HeadState(tracklets[i], options);
    tail[i] = tracklets[i].tail;
  }
  Eigen::MatrixXd cost = Eigen::MatrixXd::Constant(n, n, kInfinity);
  for (int i = 0; i < n; ++i) {
    const long long end = tracklets[i].track.steps.back().frame;
    for (int j = 0; j < n; ++j) {
      const long long begin = tracklets[j].track.steps.front().frame;
      if (i == j || begin <= end || begin - end > options.gap_max + 1) continue;
      // Far outside of what the fastest jump could bridge.
      if ((head[j].x.head<2>() - tail[i].x.head<2>()).norm() >
          4 * reach * (head[j].t - tail[i].t) + 50)
        continue;
      const double c = JoinCost(tail[i], head[j], reach);
      if (c < kJoinGate) cost(i, j) = c;
    }
  }
  const std::vector<int> assigned = AssignLeastCost(cost, kJoinGate);
  const auto total = [&](const Eigen::MatrixXd& c, const std::vector<int>& ways) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += ways[i] < 0 ? kJoinGate : c(i, ways[i]);
    return sum;
  };
  const double best = total(cost, assigned);
  std::vector<int> follow(n, -1);
  for (int i = 0; i < n; ++i) {
    if (assigned[i] < 0) continue;
    Eigen::MatrixXd without = cost;
    without(i, assigned[i]) = kInfinity;
    if (total(without, AssignLeastCost(without, kJoinGate)) - best >= kSureOfJoin)
      follow[i] = assigned[i];
  }
  std::vector<char> continued(n, 0);
  for (const int j : follow) {
    if (j >= 0) continued[j] = 1;
  }
  std::vector<Track> joined;
  for (int i = 0; i < n; ++i) {
    if (continued[i]) continue;
    Track track = std::move(tracklets[i].track);
    for (int k = i; follow[k] >= 0; k = follow[k])
      Bridge(times, tail[k], head[follow[k]], &track, &tracklets[follow[k]].track);
    joined.push_back(std::move(track));
  }
  return joined;
}

}  // namespace impactlab::tracking
