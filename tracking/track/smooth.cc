#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tracking/track/detail/kalman.h"
#include "tracking/track/tracker.h"

namespace impactlab {
namespace {

using tracking::Innovation;
using tracking::MarkerState;
using tracking::Matrix6;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2Pi = 1.8378770664093453;
// Costs are -2 ln(likelihood). An outlier: one observation in a thousand, anywhere in a megapixel.
constexpr double kOutlierCost = 41.4;
constexpr double kSmoothImpactCost = 9.2;  // one frame in a hundred
constexpr double kHintCost = 1.4;          // a hint: every second
constexpr double kKinkCost = 9.2;          // a change of acceleration alone: the release
constexpr double kPrune = 60;  // hypotheses that cost this much more than the best are dropped
constexpr std::size_t kHypotheses = 32;
// tried for the history [px^2/s^5]
constexpr std::array<double, 5> kJerks{1e5, 1e7, 1e9, 1e10, 1e11};

struct Data {
  const std::vector<double>& t;
  std::vector<char> seen;  // usable observation
  std::vector<Eigen::Vector2d> q;
  std::vector<Eigen::Matrix2d> cov;  // with the floor
  std::vector<char> hint;
  TrackerOptions options;
  int size() const { return static_cast<int>(t.size()); }
};

// Events at which the model of constant jerk does not hold: the steps before which an impact or a
// change of acceleration (kink) happens, and the outliers.
struct Events {
  std::vector<int> impacts, kinks, outliers;
};

// A history of the marker up to now.
struct Branch {
  MarkerState state;  // after its last accepted observation
  double cost = 0;
  double jerk = 0;
  int since = 0;  // accepted observations since the last event
  Events events;
};

double Cost(const Innovation& innovation) {
  return innovation.nis + innovation.log_det + 2 * kLog2Pi;
}

// The most likely history: Viterbi algorithm over the times of impacts, kinks and outliers and the
// strength of the jerk, which may change at an impact.
Branch BestHistory(const Data& data, int first) {
  std::vector<Branch> branches;
  for (const double jerk : kJerks) {
    Branch& branch = branches.emplace_back();
    branch.state = tracking::Start(data.q[first], data.cov[first], data.t[first], data.options);
    branch.since = 1;
    branch.jerk = jerk;
  }
  std::vector<Branch> next;
  for (int k = first + 1; k < data.size(); ++k) {
    if (!data.seen[k]) continue;
    next.clear();
    enum Event { kNone, kImpact, kKink };
    const auto extend = [&](const Branch& from, Event event, double price, double jerk) {
      MarkerState state = from.state;
      const double h = data.t[k] - state.t;
      tracking::PredictState(data.t[k], jerk, &state);
      if (event == kImpact) tracking::OpenVelocity(h, data.options, &state);
      if (event == kKink)
        tracking::AddJerk(h, data.options.acceleration_sd * data.options.acceleration_sd / h,
                          &state.cov);
      const Innovation innovation = tracking::InnovationOf(state, data.q[k], data.cov[k]);
      const double cost = Cost(innovation);
      if (event != kNone && cost > kOutlierCost) return;
      Branch& branch = next.emplace_back(from);
      branch.cost += price;
      branch.jerk = jerk;
      if (cost > kOutlierCost) {
        branch.cost += kOutlierCost;
        branch.events.outliers.push_back(k);
        return;
      }
      branch.cost += cost;
      tracking::CorrectState(innovation, data.cov[k], &state);
      branch.state = state;
      ++branch.since;
      if (event == kNone) return;
      branch.since = 1;
      (event == kImpact ? branch.events.impacts : branch.events.kinks).push_back(k);
    };
    for (const Branch& branch : branches) extend(branch, kNone, 0, branch.jerk);
    // Only the best history can be the best one's past.
    const Branch& best = branches.front();
    if (best.since >= 2) {
      for (const double jerk : kJerks)
        extend(best, kImpact, data.hint[k] ? kHintCost : kSmoothImpactCost, jerk);
    }
    if (best.since >= 4) extend(best, kKink, kKinkCost, best.jerk);
    std::sort(next.begin(), next.end(),
              [](const Branch& a, const Branch& b) { return a.cost < b.cost; });
    std::size_t keep = 1;
    while (keep < std::min(next.size(), kHypotheses) && next[keep].cost < next[0].cost + kPrune)
      ++keep;
    next.resize(keep);
    branches.swap(next);
  }
  return branches[0];
}

// Parameters of the filter between two impacts.
struct Stretch {
  int first = 0, last = 0;  // observed steps
  double jerk = 0;
  std::vector<MarkerState> smoothed;
};

double JerkAt(const Data& data, const std::vector<char>& kink, double jerk, int k) {
  if (!kink[k]) return jerk;
  return jerk +
         data.options.acceleration_sd * data.options.acceleration_sd / (data.t[k] - data.t[k - 1]);
}

// Forward filter over the stretch; returns the cost. `filtered` and `nis` may be null.
double Filter(const Data& data, const std::vector<char>& use, const std::vector<char>& kink,
              const Stretch& s, double jerk, std::vector<MarkerState>* filtered,
              std::vector<double>* nis) {
  MarkerState state =
      tracking::Start(data.q[s.first], data.cov[s.first], data.t[s.first], data.options);
  if (filtered) filtered->assign(1, state);
  if (nis) (*nis)[s.first] = 0;
  double cost = 0;
  for (int k = s.first + 1; k <= s.last; ++k) {
    tracking::PredictState(data.t[k], JerkAt(data, kink, jerk, k), &state);
    if (data.seen[k]) {
      const Innovation innovation = tracking::InnovationOf(state, data.q[k], data.cov[k]);
      if (nis) (*nis)[k] = innovation.nis;
      if (use[k]) {
        cost += Cost(innovation);
        tracking::CorrectState(innovation, data.cov[k], &state);
      }
    }
    if (filtered) filtered->push_back(state);
  }
  return cost;
}

// Strength of the jerk of greatest likelihood; of those nearly as likely the largest, since too
// small a one makes errors look small.
double FitJerk(const Data& data, const std::vector<char>& use, const std::vector<char>& kink,
               const Stretch& s) {
  constexpr double kTolerance = 1;
  std::vector<std::pair<double, double>> costs;
  double least = std::numeric_limits<double>::infinity();
  for (int half = 8; half <= 28; ++half) {
    const double jerk = std::pow(10, 0.5 * half);
    costs.emplace_back(Filter(data, use, kink, s, jerk, nullptr, nullptr), jerk);
    least = std::min(least, costs.back().first);
  }
  double result = costs.front().second;
  for (const auto& [cost, jerk] : costs) {
    if (cost <= least + kTolerance) result = jerk;
  }
  return result;
}

void Smooth(const Data& data, const std::vector<char>& use, const std::vector<char>& kink,
            Stretch* s, std::vector<double>* nis) {
  std::vector<MarkerState> filtered;
  Filter(data, use, kink, *s, s->jerk, &filtered, nis);
  s->smoothed = filtered;
  for (int k = s->last - 1; k >= s->first; --k) {
    s->smoothed[k - s->first] = tracking::SmoothBack(
        filtered[k - s->first], s->smoothed[k - s->first + 1], JerkAt(data, kink, s->jerk, k + 1));
  }
}

// The observation that fits all others of its stretch worst, as a Mahalanobis distance squared from
// what they predict; -1 for none.
std::pair<int, double> WorstObservation(const Data& data, const std::vector<char>& use,
                                        const Stretch& s) {
  std::pair<int, double> worst{-1, 0};
  for (int k = s.first; k <= s.last; ++k) {
    if (!use[k]) continue;
    const MarkerState& state = s.smoothed[k - s.first];
    // Residual q - q_smoothed has covariance R - P; where the step is determined by its own
    // observation alone the residual is 0.
    const Eigen::Matrix2d r = data.cov[k], rest = r - state.cov.topLeftCorner<2, 2>();
    if (!(rest.determinant() > 1e-4 * r.determinant() && rest.trace() > 0)) continue;
    const Eigen::Vector2d d = data.q[k] - state.x.head<2>();
    const double d2 = d.dot(rest.inverse() * d);
    if (d2 > worst.second) worst = {k, d2};
  }
  return worst;
}

// The instant in the gap between two stretches at which their continuations agree best.
double MeetingTime(const Data& data, const Stretch& a, const Stretch& b) {
  constexpr int kParts = 8;
  double best = std::numeric_limits<double>::infinity(), at = data.t[b.first];
  for (int k = a.last + 1; k <= b.first; ++k) {
    for (int part = 1; part <= kParts; ++part) {
      const double t = data.t[k - 1] + (data.t[k] - data.t[k - 1]) * part / kParts;
      MarkerState x = a.smoothed.back(), y = b.smoothed.front();
      tracking::PredictState(t, a.jerk, &x);
      tracking::PredictState(t, b.jerk, &y);
      const Eigen::Matrix2d cov = x.cov.topLeftCorner<2, 2>() + y.cov.topLeftCorner<2, 2>();
      const double cost =
          Cost(tracking::InnovationOf(x, y.x.head<2>(), y.cov.topLeftCorner<2, 2>()));
      if (cov.allFinite() && cost < best) {
        best = cost;
        at = t;
      }
    }
  }
  return at;
}

void Put(const MarkerState& state, SmoothedStep* step) {
  step->q = state.x.head<2>();
  step->v = state.x.segment<2>(2);
  step->cov_q = state.cov.topLeftCorner<2, 2>();
  step->cov_v = state.cov.block<2, 2>(2, 2);
}

Data Prepare(const std::vector<double>& t,
             const std::vector<std::optional<Observation>>& observations,
             const TrackerOptions& options, const std::vector<bool>& impact_hint) {
  tracking::Check(options);
  if (observations.size() != t.size() || (!impact_hint.empty() && impact_hint.size() != t.size())) {
    throw std::invalid_argument("SmoothTrack: times, observations and hints differ in length");
  }
  for (std::size_t k = 0; k < t.size(); ++k) {
    if (!std::isfinite(t[k]) || (k > 0 && !(t[k] > t[k - 1])))
      throw std::invalid_argument("SmoothTrack: times must increase");
  }
  const std::size_t n = t.size();
  Data data{t,
            std::vector<char>(n, 0),
            std::vector<Eigen::Vector2d>(n),
            std::vector<Eigen::Matrix2d>(n),
            std::vector<char>(n, 0),
            options};
  for (std::size_t k = 0; k < n; ++k) {
    if (observations[k] && tracking::Usable(*observations[k])) {
      data.seen[k] = 1;
      data.q[k] = observations[k]->q;
      data.cov[k] = tracking::Covariance(*observations[k], options);
    }
    // The tracker sees a jump in the frame it becomes visible in, which may be one late.
    if (!impact_hint.empty() && impact_hint[k]) {
      data.hint[k] = 1;
      if (k > 0) data.hint[k - 1] = 1;
    }
  }
  return data;
}

}  // namespace

std::vector<SmoothedStep> SmoothTrack(const std::vector<double>& t,
                                      const std::vector<std::optional<Observation>>& observations,
                                      const TrackerOptions& options,
                                      const std::vector<bool>& impact_hint) {
  const Data data = Prepare(t, observations, options, impact_hint);
  const int n = data.size();
  SmoothedStep nothing;
  nothing.q = nothing.v = Eigen::Vector2d::Constant(kNan);
  nothing.cov_q = nothing.cov_v = Eigen::Matrix2d::Constant(kNan);
  nothing.nis = kNan;
  std::vector<SmoothedStep> steps(n, nothing);
  const int first =
      static_cast<int>(std::find(data.seen.begin(), data.seen.end(), 1) - data.seen.begin());
  if (first == n) return steps;

  const Branch best = BestHistory(data, first);
  std::vector<char> use = data.seen, kink(n, 0);
  for (const int k : best.events.outliers) use[k] = 0;
  for (const int k : best.events.kinks) kink[k] = 1;

  std::vector<int> starts{first};
  starts.insert(starts.end(), best.events.impacts.begin(), best.events.impacts.end());
  std::vector<Stretch> stretches;
  std::vector<double> nis(n, kNan);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    Stretch s;
    s.first = starts[i];
    s.last = i + 1 < starts.size() ? starts[i + 1] - 1 : n - 1;
    // Steps outside of all accepted intervals belong to the gaps.
    while (s.last > s.first && !use[s.last]) --s.last;
    int count = static_cast<int>(std::count(use.begin() + s.first, use.begin() + s.last + 1, 1));
    for (int removed = 0, most = count / 5 + 1;; ++removed) {
      s.jerk = FitJerk(data, use, kink, s);
      Smooth(data, use, kink, &s, &nis);
      const auto [k, d2] = WorstObservation(data, use, s);
      if (k < 0 || d2 <= options.gate * options.gate || removed == most || count < 4) break;
      use[k] = 0;
      --count;
      while (s.first < s.last && !use[s.first]) ++s.first;
      while (s.last > s.first && !use[s.last]) --s.last;
    }
    stretches.push_back(std::move(s));
  }

  // Steps outside of the stretches continue the one on their side of the impact.
  std::size_t side = 0;
  double border = stretches.size() > 1 ? MeetingTime(data, stretches[0], stretches[1])
                                       : std::numeric_limits<double>::infinity();
  for (int k = 0; k < n; ++k) {
    bool impact = false;
    if (t[k] >= border) {
      ++side;
      impact = true;
      border = side + 1 < stretches.size() ? MeetingTime(data, stretches[side], stretches[side + 1])
                                           : std::numeric_limits<double>::infinity();
    }
    const Stretch& s = stretches[side];
    MarkerState state = s.smoothed[std::clamp(k, s.first, s.last) - s.first];
    tracking::PredictState(t[k], s.jerk, &state);
    Put(state, &steps[k]);
    steps[k].impact = impact;
    steps[k].outlier = data.seen[k] && !use[k];
    steps[k].nis = data.seen[k] ? nis[k] : kNan;
    if (data.seen[k] && std::isnan(steps[k].nis))
      steps[k].nis = tracking::InnovationOf(state, data.q[k], data.cov[k]).nis;
  }
  return steps;
}

}  // namespace impactlab
