#include "tracking/track/tracker.h"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "data/base/infinity.h"
#include "data/statistics/statistics.h"
#include "tracking/track/detail/active_track.h"

namespace impactlab {
namespace tracking {
namespace {

// variance up to which a prediction alone finds a marker again, sum of both axes [px^2]
constexpr double kFoundAgain = 18;
// frames a track seen once more is waited for longer: chance tracks die young
constexpr int kGapPerHit = 3;
constexpr std::size_t kTentative = 200;
constexpr std::size_t kCandidates = 8;  // observations a track is offered at most: those closest
// change of acceleration of a body that begins to turn, in units of acceleration_sd
constexpr double kKinkScale = 3;
constexpr double kForgetSpeed = 0.95;  // a frame
constexpr double kReachFloor = 500;    // jump of speed that is always allowed for [px/s]

TrackStep Predicted(long long frame, const MarkerState& state) {
  TrackStep step;
  step.frame = frame;
  step.t = state.t;
  step.state = state.x.head<4>();
  return step;
}

}  // namespace

}  // namespace tracking

using namespace tracking;

struct MarkerTracker::State {
  TrackerOptions options;
  std::vector<ActiveTrack> actives;
  std::vector<Tracklet> ended;
  std::vector<std::pair<long long, double>> times;
  FrameView view;
  std::vector<int> result;
  int next_id = 0;
  long long nis_count = 0, nis_outside = 0;
  double nis_sum = 0;

  // of the fastest marker, forgotten slowly: right after an impact nobody's is known [px/s]
  double speed = 0;

  void Pace() {
    speed *= kForgetSpeed;
    for (const ActiveTrack& l : actives) {
      if (l.confirmed && l.moved && l.open == 0 && l.hits > 3)
        speed = std::max(speed, l.last.x.segment<2>(2).norm());
    }
  }
  double Reach() const { return std::min(options.jump_speed, 2.5 * speed + kReachFloor); }

  void Look(double t, const std::vector<Observation>& observations) {
    view.observations = &observations;
    view.usable.clear();
    view.owner.assign(observations.size(), kFree);
    for (int j = 0; j < static_cast<int>(observations.size()); ++j) {
      if (Usable(observations[j]) && std::abs(observations[j].t - t) < 1) view.usable.push_back(j);
    }
    std::sort(view.usable.begin(), view.usable.end(),
              [&](int a, int b) { return observations[a].q.x() < observations[b].q.x(); });
  }

  // Observations inside the gate of a track that nobody owns, best first, with their costs.
  void Candidates(const ActiveTrack& l, double radius, bool near,
                  std::vector<std::pair<double, int>>* out) const {
    const std::vector<Observation>& all = *view.observations;
    out->clear();
    const double x = l.now.x(0);
    auto j = std::lower_bound(view.usable.begin(), view.usable.end(), x - radius,
                              [&](int a, double value) { return all[a].q.x() < value; });
    for (; j != view.usable.end() && all[*j].q.x() <= x + radius; ++j) {
      if (view.owner[*j] != kFree) continue;
      const double d2 = GateDistance(l, all[*j], options);
      if (d2 == kInfinity) continue;
      const double look = LookCost(l, all[*j], options, near);
      if (look < kInfinity) out->emplace_back(d2 + look, *j);
    }
    std::sort(out->begin(), out->end());
    if (out->size() > kCandidates) out->resize(kCandidates);
  }

  // Half the side of the box around the gate; rows of a rolling shutter and what observations add
  // are allowed for.
  double GateRadius(const ActiveTrack& l) const {
    return options.gate * std::sqrt(l.now.cov.topLeftCorner<2, 2>().trace() + 50) +
           1e-3 * l.now.x.segment<2>(2).norm();
  }

  // Global assignment of the free observations to `rows`. Tracks that share no observation are
  // independent of each other, so that only clusters need a matrix.
  void Match(const std::vector<int>& rows) {
    std::vector<std::vector<std::pair<double, int>>> candidates(rows.size());
    std::vector<int> first(view.owner.size(), -1), root(rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r) root[r] = static_cast<int>(r);
    const auto find = [&](int r) {
      while (root[r] != r) r = root[r] = root[root[r]];
      return r;
    };
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const ActiveTrack& l = actives[rows[r]];
      const bool near = l.now.cov.topLeftCorner<2, 2>().trace() < 18;
      Candidates(l, GateRadius(l), near, &candidates[r]);
      for (const auto& [cost, j] : candidates[r]) {
        if (first[j] < 0) {
          first[j] = static_cast<int>(r);
        } else {
          root[find(static_cast<int>(r))] = find(first[j]);
        }
      }
    }
    std::unordered_map<int, std::vector<int>> clusters;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (!candidates[r].empty())
        clusters[find(static_cast<int>(r))].push_back(static_cast<int>(r));
    }
    const double alone = options.gate * options.gate + 8;  // what a look may cost at most
    for (const auto& [key, members] : clusters) {
      if (members.size() == 1) {
        Take(rows[members[0]], candidates[members[0]][0].second);
        continue;
      }
      std::vector<int> columns;
      for (const int r : members) {
        for (const auto& [cost, j] : candidates[r]) columns.push_back(j);
      }
      std::sort(columns.begin(), columns.end());
      columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
      Eigen::MatrixXd cost = Eigen::MatrixXd::Constant(static_cast<int>(members.size()),
                                                       static_cast<int>(columns.size()), kInfinity);
      for (std::size_t m = 0; m < members.size(); ++m) {
        for (const auto& [c, j] : candidates[members[m]]) {
          cost(static_cast<int>(m),
               std::lower_bound(columns.begin(), columns.end(), j) - columns.begin()) = c;
        }
      }
      const std::vector<int> assigned = AssignLeastCost(cost, alone);
      for (std::size_t m = 0; m < members.size(); ++m) {
        if (assigned[m] >= 0) Take(rows[members[m]], columns[assigned[m]]);
      }
    }
  }

  void Take(int row, int observation) {
    actives[row].match = observation;
    view.owner[observation] = row;
  }
  void Free(ActiveTrack* l) {
    if (l->match >= 0) view.owner[l->match] = kFree;
    l->match = -1;
  }

  // An impact that was believed on thin evidence is taken back when the marker shows up where it
  // would be without.
  void Revert(ActiveTrack* l, double t) {
    ActiveTrack back = *l;
    back.last = l->fork->last;
    back.seen = l->fork->seen;
    std::erase_if(back.head, [&](const TrackStart& s) { return s.step >= l->fork->steps; });
    back.jerk = l->fork->jerk;
    back.hits = l->fork->hits;
    back.fork.reset();
    back.open = 0;
    for (std::size_t k = l->fork->steps; k < back.steps.size(); ++k) {
      TrackStep& step = back.steps[k];
      MarkerState s = back.last;
      PredictState(step.t, back.jerk.jerk(), &s);
      step = Predicted(step.frame, s);
      ++back.misses;
    }
    back.now = back.last;
    PredictState(t + back.row_time, back.jerk.jerk(), &back.now);
    *l = std::move(back);
  }

  void CheckForks(double t) {
    std::vector<std::pair<double, int>> near;
    for (ActiveTrack& l : actives) {
      if (!l.fork || !l.fork->jump) continue;
      ActiveTrack plain = l;
      plain.last = l.fork->last;
      plain.now = plain.last;
      PredictState(t + l.row_time, l.fork->jerk.jerk(), &plain.now);
      Candidates(plain, GateRadius(plain), true, &near);
      bool own = false;
      for (const std::pair<double, int>& candidate : near) {
        const auto& seen = (*view.observations)[candidate.second];
        own |= std::none_of(actives.begin(), actives.end(), [&](const ActiveTrack& other) {
          return &other != &l && other.confirmed && GateDistance(other, seen, options) < kInfinity;
        });
      }
      if (!own) continue;
      // Where the jump foretells the same place there is nothing to choose.
      if ((plain.now.x.head<2>() - l.now.x.head<2>()).norm() < 3) continue;
      Revert(&l, t);
    }
  }

  // A second chance for tracks that left their gates a little: the body was released, or begins to
  // turn.
  void MatchKinks() {
    std::vector<int> rows;
    std::vector<MarkerState> plain;
    for (int i = 0; i < static_cast<int>(actives.size()); ++i) {
      ActiveTrack& l = actives[i];
      if (!l.confirmed || l.match >= 0 || l.misses > 0 || l.open > 0 || l.doomed) continue;
      rows.push_back(i);
      plain.push_back(l.now);
      const double t = l.now.t, h = t - l.last.t;
      l.now = l.last;
      PredictState(t, std::max(l.jerk.jerk(), options.jerk_density), &l.now);
      if (h > 0)
        AddJerk(h, kKinkScale * kKinkScale * options.acceleration_sd * options.acceleration_sd / h,
                &l.now.cov);
    }
    if (rows.empty()) return;
    Match(rows);
    for (std::size_t k = 0; k < rows.size(); ++k) {
      ActiveTrack& l = actives[rows[k]];
      l.kink = l.match >= 0;
      if (!l.kink) l.now = plain[k];
    }
    // At an impact a marker may land where its hidden neighbour was foretold.
    for (std::size_t k = 0; k < rows.size(); ++k) {
      ActiveTrack& l = actives[rows[k]];
      if (!l.kink) continue;
      for (const ActiveTrack& other : actives) {
        if (!other.confirmed || other.match >= 0 || other.misses > 0 || other.moved != l.moved)
          continue;
        const double radius = Reach() * (other.now.t - other.last.t) + 3;
        if (((*view.observations)[l.match].q - other.now.x.head<2>()).norm() > radius) continue;
        Free(&l);
        l.kink = false;
        l.now = plain[k];
        break;
      }
    }
  }

  // Two markers in one spot: it is assigned to neither.
  void PartMerged() {
    for (ActiveTrack& lost : actives) {
      if (!lost.confirmed || lost.match >= 0) continue;
      for (const int j : view.usable) {
        const Observation& o = (*view.observations)[j];
        const double touch = Radius(o) + 0.5 * Radius(lost),
                     sd = std::sqrt(lost.now.cov(0, 0) + lost.now.cov(1, 1));
        const double reach = touch + std::min(5.0, sd);
        if (std::abs(o.q.x() - lost.now.x(0)) > reach ||
            (o.q - lost.now.x.head<2>()).norm() > reach)
          continue;
        // A marker of unknown position is no reason to take a spot from another.
        if (!(o.flags & kTouching) &&
            (sd > 2 * touch || std::log(std::max(o.area, 1.0)) < lost.log_area + 0.25))
          continue;
        const int owner = view.owner[j];
        if (owner == kBarred) lost.merged = true;
        if (owner < 0) {
          // Lost by both, perhaps in frames before.
          for (ActiveTrack& other : actives) {
            if (&other == &lost || !other.confirmed || other.match >= 0 ||
                (o.q - other.now.x.head<2>()).norm() > reach)
              continue;
            other.merged = lost.merged = true;
            view.owner[j] = kBarred;
          }
          continue;
        }
        ActiveTrack& holder = actives[owner];
        if (!holder.confirmed) continue;
        Free(&holder);
        view.owner[j] = kBarred;
        holder.merged = lost.merged = true;
      }
    }
  }

  void Accept(ActiveTrack* l, long long frame, double t) {
    // Found again on weak evidence: undone when later frames do not confirm it.
    if (l->misses > 0 && l->confirmed && !l->fork) l->BeginFork(false);
    const Observation& o = (*view.observations)[l->match];
    const Eigen::Matrix2d cov = WorkingCovariance(*l, o, options);
    const double h = o.t - l->last.t;
    MarkerState s = l->last;
    if (l->jump || l->kink)
      l->jerk = JerkAdaptation(std::max(l->jerk.jerk(), options.jerk_density));
    PredictState(o.t, l->jerk.jerk(), &s);
    if (l->jump) OpenVelocity(h, options, &s);
    if (l->kink)
      AddJerk(h, kKinkScale * kKinkScale * options.acceleration_sd * options.acceleration_sd / h,
              &s.cov);
    const Innovation innovation = InnovationOf(s, o.q, cov);
    const bool normal = !l->jump && !l->kink && l->open == 0 && l->hits >= 3;
    l->jerk.Add(h, s, innovation, cov.trace() / 2, normal);
    if (normal) {
      ++nis_count;
      nis_sum += innovation.nis;
      nis_outside += innovation.nis > options.gate * options.gate;
    }
    CorrectState(innovation, cov, &s);
    l->last = l->seen = s;
    l->row_time = o.t - t;
    if (l->steps.size() < kHeadSteps) l->head.push_back({l->steps.size(), o.t, o.q, cov});
    l->steps.push_back({frame, o.t, l->match, l->jump && !l->silent, s.x.head<4>()});
    l->open = l->jump ? 1 : std::max(0, l->open - 1);
    l->misses = 0;
    ++l->hits;
    if (l->hits >= options.confirm) l->confirmed = true;
    if (!(o.flags & (kTouching | kHidden | kCut))) {
      // Slow enough for noise, quick enough for what comes nearer or is blurred.
      const double area = std::log(std::max(o.area, 1.0)), limit = std::log(options.size_ratio);
      if (std::abs(area - l->log_area) < limit) l->log_area += 0.25 * (area - l->log_area);
      l->log_peak += 0.25 * std::clamp(std::log(std::max(o.peak, 1.0)) - l->log_peak, -1.0, 1.0);
    }
    const double away = (s.x.head<2>() - l->origin).norm();
    if (away > 4 + 6 * std::sqrt(cov.trace() / 2)) l->moved = true;
    if (l->fork && ++l->fork->age > (l->fork->jump ? 4 : 2)) l->fork.reset();
  }

  void Miss(ActiveTrack* l, long long frame, double t) {
    if (l->fork) {
      Revert(l, t);
    }
    ++l->misses;
    l->steps.push_back(Predicted(frame, l->now));
    l->steps.back().impact = l->jump;
  }

  void End(ActiveTrack* l) {
    while (!l->steps.empty() && l->steps.back().observation < 0) l->steps.pop_back();
    if (!l->confirmed || l->steps.empty()) return;
    Tracklet tracklet;
    tracklet.track.id = l->id;
    tracklet.track.still = !l->moved;
    tracklet.track.steps = std::move(l->steps);
    tracklet.head = std::move(l->head);
    tracklet.tail = l->seen;
    ended.push_back(std::move(tracklet));
  }

  void Begin(long long frame, double t) {
    std::vector<int> free;
    for (const int j : view.usable) {
      if (view.owner[j] == kFree) free.push_back(j);
    }
    const std::size_t waiting = std::count_if(actives.begin(), actives.end(),
                                              [](const ActiveTrack& l) { return !l.confirmed; });
    const std::size_t room = waiting < kTentative ? kTentative - waiting : 0;
    const std::vector<Observation>& all = *view.observations;
    if (free.size() > room) {
      // The largest and brightest first.
      std::sort(free.begin(), free.end(), [&](int a, int b) {
        return all[a].area * all[a].peak > all[b].area * all[b].peak;
      });
      free.resize(room);
    }
    for (const int j : free) {
      actives.emplace_back(next_id++, all[j], frame, t, j, options);
      if (options.confirm == 1) actives.back().confirmed = true;
      view.owner[j] = static_cast<int>(actives.size()) - 1;
    }
  }
};

MarkerTracker::MarkerTracker(const TrackerOptions& options) : state_(std::make_unique<State>()) {
  Check(options);
  state_->options = options;
}
MarkerTracker::~MarkerTracker() = default;
MarkerTracker::MarkerTracker(MarkerTracker&&) noexcept = default;
MarkerTracker& MarkerTracker::operator=(MarkerTracker&&) noexcept = default;

std::vector<Window> MarkerTracker::Windows(double t, double margin) const {
  std::vector<Window> windows;
  if (!std::isfinite(t) || !(margin >= 0))
    throw std::invalid_argument("MarkerTracker: window of no time or size");
  const double reach = state_->Reach();
  for (const ActiveTrack& l : state_->actives) {
    MarkerState s = l.last;
    PredictState(std::max(t + l.row_time, s.t), l.jerk.jerk(), &s);
    const double h = s.t - l.last.t;
    double half = margin + state_->options.gate * std::sqrt(std::max(s.cov(0, 0), s.cov(1, 1)));
    if (l.confirmed && l.moved) half += reach * h;
    constexpr double kMost = 1e6;  // so that a pixel still is an int
    const double x = std::clamp(s.x(0), -kMost, kMost), y = std::clamp(s.x(1), -kMost, kMost);
    half = std::min(half, kMost);
    windows.push_back(
        {static_cast<int>(std::floor(x - half)), static_cast<int>(std::floor(y - half)),
         static_cast<int>(std::ceil(x + half)), static_cast<int>(std::ceil(y + half))});
  }
  return windows;
}

std::vector<ExpectedMarker> MarkerTracker::Expected(double t) const {
  std::vector<ExpectedMarker> out;
  for (const ActiveTrack& l : state_->actives) {
    constexpr int kLately = 2;
    if (!l.confirmed || l.misses > kLately) continue;
    MarkerState s = l.last;
    PredictState(std::max(t + l.row_time, s.t), l.jerk.jerk(), &s);
    out.push_back({s.x.head<2>(), std::sqrt(0.5 * s.cov.topLeftCorner<2, 2>().trace()),
                   std::exp(l.log_area)});
  }
  return out;
}

const std::vector<int>& MarkerTracker::Update(long long frame, double t,
                                              const std::vector<Observation>& observations) {
  State& s = *state_;
  if (!std::isfinite(t))
    throw std::invalid_argument("MarkerTracker: the time of a frame is not finite");
  if (!s.times.empty() && !(frame > s.times.back().first && t > s.times.back().second)) {
    throw std::invalid_argument(
        "MarkerTracker: frames must come in order, with times that increase");
  }
  s.times.emplace_back(frame, t);
  s.Look(t, observations);
  for (ActiveTrack& l : s.actives) {
    l.match = -1;
    l.jump = l.kink = l.silent = l.merged = l.doomed = false;
    l.now = l.last;
    PredictState(std::max(t + l.row_time, l.last.t), l.jerk.jerk(), &l.now);
    if (!l.now.cov.allFinite() || !l.now.x.allFinite()) l.doomed = true;
  }
  s.Pace();
  s.CheckForks(t);

  std::vector<int> rows;
  for (int i = 0; i < static_cast<int>(s.actives.size()); ++i) {
    const ActiveTrack& l = s.actives[i];
    // After a gap only markers with a good prediction; else the companions or, with later frames,
    // the joining.
    if (l.confirmed && l.open == 0 && !l.doomed &&
        (l.misses == 0 || l.now.cov.topLeftCorner<2, 2>().trace() < kFoundAgain))
      rows.push_back(i);
  }
  s.Match(rows);
  bool lost = false;
  for (const ActiveTrack& l : s.actives) lost |= l.confirmed && l.match < 0;
  if (lost) {
    s.MatchKinks();
    s.PartMerged();
    MatchJumps(s.Reach(), s.options, &s.actives, &s.view);
    MatchByCompanions(s.options, &s.actives, &s.view);
  }
  PartAmbiguous(s.options, &s.actives, &s.view);

  rows.clear();
  for (int i = 0; i < static_cast<int>(s.actives.size()); ++i) {
    const ActiveTrack& l = s.actives[i];
    if (l.match < 0 && !l.doomed && !l.confirmed && !l.merged) rows.push_back(i);
  }
  if (!rows.empty()) s.Match(rows);

  s.result.assign(observations.size(), -1);
  for (ActiveTrack& l : s.actives) {
    if (l.match >= 0) {
      s.result[l.match] = l.id;
      s.Accept(&l, frame, t);
    } else {
      s.Miss(&l, frame, t);
    }
  }
  const auto over =
      std::stable_partition(s.actives.begin(), s.actives.end(), [&](const ActiveTrack& l) {
        return !l.doomed &&
               (l.confirmed ? l.misses <= std::min(s.options.gap_max, kGapPerHit * l.hits)
                            : l.misses == 0);
      });
  for (auto l = over; l != s.actives.end(); ++l) s.End(&*l);
  s.actives.erase(over, s.actives.end());
  const std::size_t old = s.actives.size();
  s.Begin(frame, t);
  for (std::size_t i = old; i < s.actives.size(); ++i)
    s.result[s.actives[i].steps[0].observation] = s.actives[i].id;
  s.view.observations = nullptr;
  return s.result;
}

std::optional<Eigen::Vector2d> MarkerTracker::Velocity(int track) const {
  for (const ActiveTrack& l : state_->actives) {
    if (l.id == track) return Eigen::Vector2d(l.last.x.segment<2>(2));
  }
  return {};
}

bool MarkerTracker::Searching() const {
  const State& s = *state_;
  int seen = 0, moving = 0, missing = 0;
  for (const ActiveTrack& l : s.actives) {
    if (!l.confirmed) continue;
    (l.misses == 0 || l.merged ? seen : missing) += 1;
    moving += l.moved && (l.misses == 0 || l.merged);
  }
  if (s.options.markers > 0) return moving < s.options.markers;
  constexpr std::size_t kEvery = 8;  // of markers that come later nobody knows
  return missing > 0 || seen == 0 || s.times.size() % kEvery == 0;
}

std::vector<Track> MarkerTracker::Finish() {
  State& s = *state_;
  const double reach = s.options.jump_speed;
  for (ActiveTrack& l : s.actives) s.End(&l);
  s.actives.clear();
  std::vector<Track> tracks = JoinTracks(s.times, reach, s.options, std::move(s.ended));
  s.ended.clear();
  // Moving tracks first, then those seen most.
  const auto count = [](const Track& track) {
    return std::count_if(track.steps.begin(), track.steps.end(),
                         [](const TrackStep& step) { return step.observation >= 0; });
  };
  std::stable_sort(tracks.begin(), tracks.end(), [&](const Track& a, const Track& b) {
    return a.still != b.still ? b.still : count(a) > count(b);
  });
  return tracks;
}

InnovationReport MarkerTracker::innovations() const {
  InnovationReport report;
  report.n = state_->nis_count;
  if (report.n == 0) return report;
  const double n = static_cast<double>(report.n);
  report.mean = state_->nis_sum / (2 * n);
  const Interval band = ChiSquareBand(2 * n, 1e-3);
  report.lower = band.lower / (2 * n);
  report.upper = band.upper / (2 * n);
  report.outside_gate = static_cast<double>(state_->nis_outside) / n;
  return report;
}

}  // namespace impactlab
