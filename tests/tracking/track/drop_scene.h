#pragma once
// Marked bodies that fall and bounce before one camera, at the level of observations: what a
// detector would report, with the truth beside.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>
#include <random>
#include <vector>

#include "tracking/track/tracker.h"

namespace impactlab::test {

struct DropOptions {
  double rate = 120;                    // [1/s]
  std::vector<Eigen::Vector3d> layout;  // [px at the scale of the picture]
  double noise = 0.1;                   // standard deviation of an observation [px]
  double radius = 6;                    // of a marker [px]
  double height = 400;                  // of the fall [px]
  double spin = 0;                      // before the impact [rad/s]
  // at the impact, about the optical axis, one standard deviation [rad/s]
  double spin_jump = 15;
  double tilt_spin = 3;  // out of the plane, one standard deviation [rad/s]
  int impacts = 2;
  double held = 0.1;         // before the release [s]
  int occlusions = 3;        // of single markers, 2 to 8 frames
  int clutter = 5;           // bright spots that stand still
  double false_spots = 1.5;  // a frame, anywhere
  bool merge = true;         // markers closer than their diameters are seen as one spot
  bool variable_rate = false;
  double dropped = 0;  // share of frames lost
  Eigen::Vector2d at{640, 100};
  double sideways = 0;  // speed [px/s]
};

struct DropFrame {
  long long frame = 0;
  double t = 0;
  std::vector<Observation> observations;
  // marker of every observation; -1 false, -2 merged, -10 - k clutter
  std::vector<int> truth;
  std::vector<Eigen::Vector2d> q, v;  // true, of all markers
  std::vector<char> visible;          // seen on its own
};

struct Drop {
  std::vector<DropFrame> frames;
  std::vector<double> impact_times;
};

inline Observation Seen(const Eigen::Vector2d& q, double noise, double t, double radius,
                        std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  Observation o;
  o.q = q + noise * Eigen::Vector2d(normal(rng), normal(rng));
  o.cov = noise * noise * Eigen::Matrix2d::Identity();
  o.t = t;
  o.area = M_PI * radius * radius * (1 + 0.03 * normal(rng));
  o.peak = 150 + 5 * normal(rng);
  return o;
}

inline Drop MakeDrop(const DropOptions& options, std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  constexpr double kGravity = 9806;  // [px/s^2]: 1 px/mm
  struct Phase {
    double t;
    Eigen::Vector2d p, v;
    Eigen::Matrix3d r;
    Eigen::Vector3d w;
    double g;
  };
  const double fall = std::sqrt(2 * options.height / kGravity);
  std::vector<Phase> phases;
  const Eigen::Matrix3d start = (Eigen::AngleAxisd(normal(rng), Eigen::Vector3d::UnitZ()) *
                                 Eigen::AngleAxisd(0.2 * normal(rng), Eigen::Vector3d::UnitY()))
                                    .toRotationMatrix();
  phases.push_back({-1, options.at, Eigen::Vector2d::Zero(), start, Eigen::Vector3d::Zero(), 0});
  const Eigen::Vector3d w0(0.3 * options.tilt_spin * normal(rng),
                           0.3 * options.tilt_spin * normal(rng), options.spin);
  phases.push_back({options.held, options.at, {options.sideways, 0}, start, w0, kGravity});
  Drop drop;
  const auto at = [&](const Phase& f, double t) {
    Phase now = f;
    const double h = t - f.t;
    now.t = t;
    now.p = f.p + h * f.v + Eigen::Vector2d(0, f.g * h * h / 2);
    now.v = f.v + Eigen::Vector2d(0, f.g * h);
    if (f.w.norm() > 0)
      now.r = Eigen::AngleAxisd(f.w.norm() * h, f.w.normalized()).toRotationMatrix() * f.r;
    return now;
  };
  double next = options.held + fall * (1 + 0.05 * normal(rng)) + 0.5 / options.rate * uniform(rng);
  for (int i = 0; i < options.impacts; ++i) {
    Phase f = at(phases.back(), next);
    drop.impact_times.push_back(next);
    const double e = 0.3 + 0.5 * uniform(rng);
    f.v = {f.v.x() + 300 * normal(rng), -e * f.v.y()};
    f.w += Eigen::Vector3d(options.tilt_spin * normal(rng), options.tilt_spin * normal(rng),
                           options.spin_jump * normal(rng));
    phases.push_back(f);
    next += std::max(0.08, -2 * f.v.y() / kGravity) * (0.7 + 0.3 * uniform(rng));
  }
  const double end = next;
  const int n = static_cast<int>(options.layout.size());
  std::vector<Eigen::Vector2d> clutter;
  clutter.reserve(static_cast<std::size_t>(options.clutter));
  for (int k = 0; k < options.clutter; ++k)
    clutter.emplace_back(1280 * uniform(rng), 720 * uniform(rng));
  struct Hidden {
    int marker;
    long long first, last;
  };
  std::vector<Hidden> hidden;
  for (int k = 0; k < options.occlusions; ++k) {
    const long long first = 5 + static_cast<long long>(uniform(rng) * (end * options.rate - 12));
    hidden.push_back({static_cast<int>(uniform(rng) * n), first,
                      first + 1 + static_cast<int>(7 * uniform(rng))});
  }
  double t = 0;
  for (long long frame = 0; t < end; ++frame) {
    if (frame > 0) t += (options.variable_rate ? 0.6 + 0.8 * uniform(rng) : 1) / options.rate;
    if (frame > 4 && uniform(rng) < options.dropped) continue;
    DropFrame f;
    f.frame = frame;
    f.t = t;
    std::size_t phase = 0;
    while (phase + 1 < phases.size() && phases[phase + 1].t <= t) ++phase;
    const Phase now = at(phases[phase], t);
    for (const Eigen::Vector3d& m : options.layout) {
      const Eigen::Vector3d r = now.r * m;
      const Eigen::Vector3d rv = now.w.cross(r);
      f.q.emplace_back(now.p + r.head<2>());
      f.v.emplace_back(now.v + rv.head<2>());
    }
    f.visible.assign(n, 1);
    for (int i = 0; i < n; ++i) {
      for (const Hidden& h : hidden) {
        if (h.marker == i && h.first <= frame && frame <= h.last) f.visible[i] = 0;
      }
      if (f.q[i].x() < 8 || f.q[i].x() > 1271 || f.q[i].y() < 8 || f.q[i].y() > 711)
        f.visible[i] = 0;
    }
    std::vector<int> cluster(n);
    for (int i = 0; i < n; ++i) cluster[i] = i;
    const double noise = options.noise, radius = options.radius;
    for (int i = 0; i < n && options.merge; ++i) {
      for (int k = 0; k < i; ++k) {
        if (f.visible[i] && f.visible[k] && (f.q[i] - f.q[k]).norm() < 2 * radius + 1) {
          const int from = cluster[i], to = cluster[k];
          for (int& c : cluster) c = c == from ? to : c;
        }
      }
    }
    for (int c = 0; c < n; ++c) {
      Eigen::Vector2d sum = Eigen::Vector2d::Zero();
      int count = 0, last = -1;
      for (int i = 0; i < n; ++i) {
        if (cluster[i] != c || !f.visible[i]) continue;
        sum += f.q[i];
        ++count;
        last = i;
      }
      if (count == 0) continue;
      Observation o = Seen(sum / count, noise, t, radius, rng);
      if (count > 1) {
        o.area *= 1.3 + 0.6 * uniform(rng);
        o.flags = kTouching;
        for (int i = 0; i < n; ++i) {
          if (cluster[i] == c) f.visible[i] = 0;
        }
        last = -2;
      }
      f.observations.push_back(o);
      f.truth.push_back(last);
    }
    for (std::size_t k = 0; k < clutter.size(); ++k) {
      f.observations.push_back(
          Seen(clutter[k], noise, t, radius * (0.8 + 0.1 * static_cast<double>(k % 5)), rng));
      f.truth.push_back(-10 - static_cast<int>(k));
    }
    for (int k = std::poisson_distribution<int>(options.false_spots + 1e-9)(rng); k > 0; --k) {
      f.observations.push_back(Seen({1280 * uniform(rng), 720 * uniform(rng)}, noise, t,
                                    radius * (0.6 + uniform(rng)), rng));
      f.truth.push_back(-1);
    }
    std::vector<int> order(f.observations.size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = static_cast<int>(k);
    std::shuffle(order.begin(), order.end(), rng);
    DropFrame mixed = f;
    for (std::size_t k = 0; k < order.size(); ++k) {
      mixed.observations[k] = f.observations[order[k]];
      mixed.truth[k] = f.truth[order[k]];
    }
    drop.frames.push_back(std::move(mixed));
  }
  return drop;
}

inline std::vector<Track> TrackAll(const Drop& drop, const TrackerOptions& options,
                                   InnovationReport* report = nullptr) {
  MarkerTracker tracker(options);
  for (const DropFrame& f : drop.frames) tracker.Update(f.frame, f.t, f.observations);
  if (report) *report = tracker.innovations();
  return tracker.Finish();
}

// What a run did with the truth.
struct Score {
  int swaps = 0;         // changes of the true marker within a track
  long long lost = 0;    // frames in which a marker seen since 3 frames is in no track
  long long seen = 0;    // frames of markers seen
  long long wrong = 0;   // observations in tracks of markers that are none of a single marker
  long long points = 0;  // observations in tracks of markers
  int tracks = 0;        // that hold mainly markers
  int predicted = 0;     // steps
};

inline Score Judge(const Drop& drop, const std::vector<Track>& tracks) {
  Score score;
  std::vector<const DropFrame*> by_frame;
  for (const DropFrame& f : drop.frames) {
    by_frame.resize(static_cast<std::size_t>(f.frame) + 1, nullptr);
    by_frame.back() = &f;
  }
  const std::size_t n = drop.frames.front().q.size();
  std::vector<std::vector<char>> covered(by_frame.size(), std::vector<char>(n, 0));
  for (const Track& track : tracks) {
    std::vector<int> count(n, 0);
    int others = 0, last = -1;
    int swaps = 0, wrong = 0, points = 0;
    for (const TrackStep& step : track.steps) {
      if (step.observation < 0) continue;
      const int who = by_frame[step.frame]->truth[step.observation];
      if (who >= 0) {
        covered[step.frame][who] = 1;
        ++count[who];
        swaps += last >= 0 && last != who;
        last = who;
        ++points;
      } else {
        ++others;
        if (who != -2) ++wrong;
      }
    }
    score.swaps += swaps;
    if (points > others) {
      ++score.tracks;
      score.points += points + others;
      score.wrong += wrong;
      for (const TrackStep& step : track.steps) score.predicted += step.observation < 0;
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    int run = 0;
    for (std::size_t k = 0; k < by_frame.size(); ++k) {
      if (!by_frame[k]) continue;
      run = by_frame[k]->visible[i] ? run + 1 : 0;
      score.seen += run > 0;
      score.lost += run >= 3 && !covered[k][i];
    }
  }
  return score;
}

inline std::vector<Eigen::Vector3d> RodLayout() { return {{-90, 0, 0}, {40, 0, 0}, {90, 0, 0}}; }
inline std::vector<Eigen::Vector3d> BoxLayout(int n) {
  const std::vector<Eigen::Vector3d> all{{-60, -40, 0}, {55, -35, 0}, {50, 40, 0},
                                         {-40, 45, 0},  {5, -10, 0},  {-20, 12, 0}};
  return {all.begin(), all.begin() + n};
}
inline std::vector<Eigen::Vector3d> BallLayout(int n) {
  const std::vector<Eigen::Vector3d> all{{0, 0, 0}, {25, 5, 0}, {-12, 22, 0}};
  return {all.begin(), all.begin() + n};
}

}  // namespace impactlab::test
