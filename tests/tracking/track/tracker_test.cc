#include "tracking/track/tracker.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <limits>
#include <random>

#include "data/statistics/statistics.h"
#include "tests/tracking/track/drop_scene.h"

namespace impactlab {
namespace {

using test::BallLayout;
using test::BoxLayout;
using test::Drop;
using test::DropFrame;
using test::DropOptions;
using test::Judge;
using test::MakeDrop;
using test::RodLayout;
using test::Score;
using test::Seen;
using test::TrackAll;

TrackerOptions For(const DropOptions& drop) {
  TrackerOptions options;
  options.markers = static_cast<int>(drop.layout.size());
  options.position_floor = 0.02;
  return options;
}

DropOptions Clean() {
  DropOptions options;
  options.layout = RodLayout();
  options.occlusions = 0;
  options.clutter = 0;
  options.false_spots = 0;
  return options;
}

// A recording of 40 markers and 20,000 frames has 800,000 steps.
TEST(Tracker, AStepIsSmall) { EXPECT_LE(sizeof(TrackStep), 56u); }

// Random drops with everything at once.
TEST(Tracker, RandomDropsKeepIdentities) {
  Score all;
  for (int run = 0; run < 30; ++run) {
    std::mt19937_64 rng(51000 + run);
    DropOptions options;
    options.rate = run % 2 ? 120 : 240;
    options.layout = run % 3 == 0   ? RodLayout()
                     : run % 3 == 1 ? BoxLayout(4 + run % 2)
                                    : BallLayout(1 + run % 2);
    options.spin_jump = 8;
    options.variable_rate = run % 5 == 0;
    options.dropped = run % 7 == 0 ? 0.02 : 0;
    const Drop drop = MakeDrop(options, rng);
    const Score score = Judge(drop, TrackAll(drop, For(options)));
    all.swaps += score.swaps;
    all.lost += score.lost;
    all.seen += score.seen;
    all.wrong += score.wrong;
    all.points += score.points;
    EXPECT_EQ(score.swaps, 0) << run;
  }
  EXPECT_LE(static_cast<double>(all.lost), 1.5e-3 * static_cast<double>(all.seen));
  EXPECT_LE(static_cast<double>(all.wrong), 5e-4 * static_cast<double>(all.points));
}

TEST(Tracker, ACleanDropIsOneTrackAMarkerWithImpactsInTheirFrames) {
  for (int run = 0; run < 10; ++run) {
    std::mt19937_64 rng(52000 + run);
    DropOptions options = Clean();
    options.rate = run % 2 ? 120 : 240;
    options.impacts = 1;
    options.spin_jump = 8;
    const Drop drop = MakeDrop(options, rng);
    const auto tracks = TrackAll(drop, For(options));
    ASSERT_EQ(tracks.size(), 3u) << run;
    std::size_t after = 0;
    while (drop.frames[after].t < drop.impact_times[0]) ++after;
    for (const Track& track : tracks) {
      EXPECT_FALSE(track.still);
      EXPECT_EQ(track.steps.size(), drop.frames.size());
      int impacts = 0;
      for (std::size_t k = 0; k < track.steps.size(); ++k) {
        EXPECT_EQ(track.steps[k].frame, drop.frames[k].frame);
        if (!track.steps[k].impact) continue;
        ++impacts;
        EXPECT_NEAR(static_cast<double>(k), static_cast<double>(after), 1) << "run " << run;
      }
      EXPECT_EQ(impacts, 1) << run;
    }
    EXPECT_EQ(Judge(drop, tracks).swaps, 0);
  }
}

// T32: markers are foretold so well, blurred or not, that they are inside small windows in every
// frame, impacts included.
TEST(Tracker, HostileT32PredictionKeepsMarkersInsideItsWindows) {
  double area = 0;
  long long windows = 0, outside = 0, lost = 0, seen = 0;
  for (int run = 0; run < 10; ++run) {
    std::mt19937_64 rng(53000 + run);
    DropOptions options = Clean();
    options.rate = run % 2 ? 120 : 240;
    options.spin_jump = 8;
    const Drop drop = MakeDrop(options, rng);
    MarkerTracker tracker(For(options));
    for (const DropFrame& f : drop.frames) {
      // Searched in the windows alone once all are found.
      std::vector<Observation> found = f.observations;
      if (!tracker.Searching()) {
        const auto list = tracker.Windows(f.t, options.radius + 2);
        for (const Window& w : list)
          area += static_cast<double>(w.right - w.left) * (w.bottom - w.top);
        windows += static_cast<long long>(list.size());
        for (const Eigen::Vector2d& q : f.q) {
          bool inside = false;
          for (const Window& w : list)
            inside |= w.left <= q.x() && q.x() <= w.right && w.top <= q.y() && q.y() <= w.bottom;
          outside += !inside;
        }
      }
      // Blur of a fast marker makes its image longer from frame to frame.
      for (Observation& o : found) o.area *= 1 + std::abs(f.v[0].y()) / 3000;
      tracker.Update(f.frame, f.t, found);
    }
    const auto tracks = tracker.Finish();
    const Score score = Judge(drop, tracks);
    lost += score.lost;
    seen += score.seen;
  }
  EXPECT_LE(static_cast<double>(lost), 1e-3 * static_cast<double>(seen));
  EXPECT_EQ(outside, 0);
  EXPECT_GT(windows, 1000);
  EXPECT_LT(area / static_cast<double>(windows), 140 * 140);
}

// T34: two similar bodies cross, a marker of each is hidden for five frames meanwhile.
TEST(Tracker, HostileT34SimilarBodiesCross) {
  int joined = 0, total = 0;
  long long lost = 0, seen = 0;
  for (int run = 0; run < 30; ++run) {
    std::mt19937_64 rng(54000 + run);
    std::uniform_real_distribution<double> uniform;
    Drop both;
    for (int body = 0; body < 2; ++body) {
      DropOptions options = Clean();
      options.rate = 240;
      options.impacts = 1;
      options.spin_jump = 4;
      options.height = 500;
      options.tilt_spin = 1;
      options.merge = false;
      options.at = {body == 0 ? 440 : 840, 100 + 20 * uniform(rng)};
      options.sideways = (body == 0 ? 1 : -1) * (850 + 100 * uniform(rng));
      options.layout = {{-40, 0, 0}, {20, 0, 0}, {40, 0, 0}};
      const Drop one = MakeDrop(options, rng);
      if (body == 0) {
        both = one;
        continue;
      }
      both.frames.resize(std::min(both.frames.size(), one.frames.size()));
      for (std::size_t k = 0; k < both.frames.size(); ++k) {
        DropFrame& f = both.frames[k];
        const DropFrame& g = one.frames[k];
        for (std::size_t i = 0; i < g.observations.size(); ++i) {
          f.observations.push_back(g.observations[i]);
          f.truth.push_back(g.truth[i] + 3);
        }
        f.q.insert(f.q.end(), g.q.begin(), g.q.end());
        f.v.insert(f.v.end(), g.v.begin(), g.v.end());
        f.visible.insert(f.visible.end(), g.visible.begin(), g.visible.end());
      }
    }
    // Hidden around the frame in which the bodies meet; merged where images touch.
    std::size_t meet = 0;
    double least = 1e9;
    for (std::size_t k = 0; k < both.frames.size(); ++k) {
      const double d = (both.frames[k].q[1] - both.frames[k].q[4]).norm();
      if (d < least) {
        least = d;
        meet = k;
      }
    }
    for (std::size_t k = 0; k < both.frames.size(); ++k) {
      DropFrame& f = both.frames[k];
      const bool hidden = k + 2 >= meet && k <= meet + 2;
      for (std::size_t i = 0; i < f.observations.size();) {
        const int who = f.truth[i];
        bool drop = hidden && (who == 0 || who == 4);
        for (std::size_t j = 0; j < i && !drop && who >= 0; ++j) {
          if (f.truth[j] < 0 || (f.observations[j].q - f.observations[i].q).norm() > 13) continue;
          f.observations[j].q = (f.observations[j].q + f.observations[i].q) / 2;
          f.observations[j].area *= 1.6;
          f.observations[j].flags |= kTouching;
          f.visible[f.truth[j]] = 0;
          f.truth[j] = -2;
          drop = true;
        }
        if (!drop) {
          ++i;
          continue;
        }
        f.visible[who] = 0;
        f.observations.erase(f.observations.begin() + static_cast<std::ptrdiff_t>(i));
        f.truth.erase(f.truth.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    TrackerOptions options;
    options.markers = 6;
    options.position_floor = 0.02;
    const auto tracks = TrackAll(both, options);
    const Score score = Judge(both, tracks);
    EXPECT_EQ(score.swaps, 0) << run;
    lost += score.lost;
    seen += score.seen;
    joined += score.tracks == 6;
    ++total;
  }
  EXPECT_EQ(lost, 0) << "of " << seen;
  EXPECT_GE(joined, total - 2) << "hardly any needs joining by others";
}

TEST(Tracker, NisIsOneOnBallisticArcs) {
  double sum = 0;
  long long n = 0;
  for (int run = 0; run < 30; ++run) {
    std::mt19937_64 rng(55000 + run);
    DropOptions options = Clean();
    options.rate = 240;
    options.impacts = 0;
    options.tilt_spin = 0;
    const Drop drop = MakeDrop(options, rng);
    InnovationReport report;
    TrackerOptions exact = For(options);
    exact.position_floor = 0;
    TrackAll(drop, exact, &report);
    EXPECT_LT(report.lower, 1);
    EXPECT_GT(report.upper, 1);
    EXPECT_LT(report.outside_gate, 1e-3);
    sum += report.mean * static_cast<double>(report.n);
    n += report.n;
  }
  EXPECT_NEAR(sum / static_cast<double>(n), 1, 0.1);
}

TEST(Tracker, HeldThenDroppedIsNoImpactAndNothingIsLost) {
  for (const double rate : {120.0, 240.0}) {
    for (int run = 0; run < 10; ++run) {
      std::mt19937_64 rng(56000 + run);
      DropOptions options = Clean();
      options.rate = rate;
      options.held = 1;
      options.impacts = 0;
      options.tilt_spin = 1;
      const Drop drop = MakeDrop(options, rng);
      const auto tracks = TrackAll(drop, For(options));
      ASSERT_EQ(tracks.size(), 3u);
      for (const Track& track : tracks) {
        for (const TrackStep& step : track.steps) {
          EXPECT_GE(step.observation, 0) << "frame " << step.frame;
          EXPECT_FALSE(step.impact) << "frame " << step.frame << " rate " << rate;
        }
      }
    }
  }
}

TEST(Tracker, ClutterIsStillAndComesLast) {
  std::mt19937_64 rng(57);
  DropOptions options = Clean();
  options.clutter = 12;
  options.false_spots = 2;
  const Drop drop = MakeDrop(options, rng);
  const auto tracks = TrackAll(drop, For(options));
  ASSERT_GE(tracks.size(), 15u);
  for (std::size_t k = 0; k < tracks.size(); ++k) {
    const DropFrame& f = drop.frames[drop.frames.size() / 2];
    for (const TrackStep& step : tracks[k].steps) {
      if (step.frame != f.frame || step.observation < 0) continue;
      EXPECT_EQ(f.truth[step.observation] <= -10, tracks[k].still) << k;
    }
    EXPECT_EQ(tracks[k].still, k >= 3);
  }
}

// Two markers pass each other in the picture; for some frames they are one spot, which belongs to
// nobody.
TEST(Tracker, CrossingMarkersAreNotExchanged) {
  int whole = 0;
  for (int run = 0; run < 40; ++run) {
    std::mt19937_64 rng(58000 + run);
    std::normal_distribution<double> normal;
    Drop drop;
    const double offset = 2 * normal(rng), speed = 400 + 50 * normal(rng);
    for (int k = 0; k < 60; ++k) {
      DropFrame f;
      f.frame = k;
      f.t = k / 120.0;
      f.q = {{300 + speed * f.t, 200 + 300 * f.t}, {700 - speed * f.t, 200 + offset + 300 * f.t}};
      f.v.assign(2, Eigen::Vector2d::Zero());
      f.visible.assign(2, 1);
      if ((f.q[0] - f.q[1]).norm() < 13) {
        Observation o = Seen((f.q[0] + f.q[1]) / 2, 0.1, f.t, 6, rng);
        o.area *= 1.5;
        o.flags = kTouching;
        f.observations = {o};
        f.truth = {-2};
        f.visible.assign(2, 0);
      } else {
        f.observations = {Seen(f.q[0], 0.1, f.t, 6, rng), Seen(f.q[1], 0.1, f.t, 6, rng)};
        f.truth = {0, 1};
      }
      drop.frames.push_back(f);
    }
    TrackerOptions options;
    options.markers = 2;
    const auto tracks = TrackAll(drop, options);
    const Score score = Judge(drop, tracks);
    EXPECT_EQ(score.swaps, 0) << run;
    EXPECT_EQ(score.lost, 0) << run;
    whole += tracks.size() == 2;
    for (const Track& track : tracks) {
      for (const TrackStep& step : track.steps)
        EXPECT_TRUE(step.observation < 0 || drop.frames[step.frame].truth[step.observation] >= 0);
    }
  }
  EXPECT_GE(whole, 36);
}

TEST(Tracker, AFragmentThatMayBeAnywhereTakesNobodysSpot) {
  // A faint speck beside a marker is seen for three frames and gone. Then a flash ends, and the
  // marker's image grows: no two images in one.
  MarkerTracker tracker;
  constexpr int kGrows = 13;
  const auto spot = [](double x, double y, double area, double sd, double t) {
    Observation o;
    o.q = {x, y};
    o.cov = sd * sd * Eigen::Matrix2d::Identity();
    o.t = t;
    o.area = area;
    o.peak = 100;
    return o;
  };
  int own = -1;
  for (int k = 0; k < 20; ++k) {
    const double t = k / 120.0, y = 100 + 400 * t + 0.5 * 8000 * t * t;
    std::vector<Observation> frame{spot(200, y, k < kGrows ? 76 : 122, 0.05, t)};
    if (k >= 9 && k < 12) frame.push_back(spot(205, y + 4, 25, 1, t));
    const std::vector<int>& given = tracker.Update(k, t, frame);
    if (k == 3) own = given[0];
    if (k >= kGrows + 2) {  // by now nobody knows where the speck is
      EXPECT_EQ(given[0], own) << k;
    }
  }
  EXPECT_GE(own, 0);
}

TEST(Tracker, RowTimesOfARollingShutterAreUsed) {
  // Rows 20 us apart: at 3 m/s the time of the row is worth 0.2 px; a tracker that used the frame's
  // would see a wrong speed.
  std::mt19937_64 rng(59);
  MarkerTracker tracker;
  constexpr double kLine = 20e-6, kSpeed = 1500;
  int id = -1;
  for (int k = 0; k < 50; ++k) {
    const double t = k / 120.0;
    // y = 100 + v (t + y line)
    const double y = (100 + kSpeed * t) / (1 - kSpeed * kLine);
    Observation o = Seen({500, y}, 0.02, t + y * kLine, 6, rng);
    id = tracker.Update(k, t, {o})[0];
  }
  ASSERT_TRUE(tracker.Velocity(id));
  EXPECT_NEAR(tracker.Velocity(id)->y(), kSpeed, 10);
  EXPECT_NEAR(tracker.Velocity(id)->x(), 0, 10);
  EXPECT_FALSE(tracker.Velocity(12345));
  const auto tracks = tracker.Finish();
  ASSERT_EQ(tracks.size(), 1u);
  EXPECT_NEAR(tracks[0].steps[49].t,
              49 / 120.0 + (100 + kSpeed * 49 / 120.0) / (1 - kSpeed * kLine) * kLine, 1e-4);
}

TEST(Tracker, HostileInputs) {
  TrackerOptions bad;
  bad.gate = 0;
  EXPECT_THROW(MarkerTracker{bad}, std::invalid_argument);
  bad = {};
  bad.jump_speed = std::nan("");
  EXPECT_THROW(MarkerTracker{bad}, std::invalid_argument);

  std::mt19937_64 rng(60);
  MarkerTracker tracker;
  EXPECT_TRUE(tracker.Windows(0, 5).empty());
  EXPECT_TRUE(tracker.Searching());
  for (int k = 0; k < 10; ++k)
    tracker.Update(k, 0.01 * k, {Seen({100, 100}, 0.1, 0.01 * k, 6, rng)});
  EXPECT_THROW(tracker.Update(9, 0.2, {}), std::invalid_argument);
  EXPECT_THROW(tracker.Update(10, 0.09, {}), std::invalid_argument);
  EXPECT_THROW(tracker.Update(10, 0.05, {}), std::invalid_argument);
  EXPECT_THROW(tracker.Update(10, std::nan(""), {}), std::invalid_argument);
  EXPECT_THROW(tracker.Windows(std::nan(""), 5), std::invalid_argument);
  // Spots that mean nothing are nobody's, and take nobody's place.
  Observation nan = Seen({100, 100}, 0.1, 0.1, 6, rng), huge = nan, wide = nan, old = nan;
  nan.cov(0, 0) = std::nan("");
  huge.cov *= 1e30;
  wide.cov = 400 * Eigen::Matrix2d::Identity();
  wide.q.x() = 180;
  old.t = -5;
  const auto ids =
      tracker.Update(10, 0.1, {nan, huge, Seen({100.1, 100}, 0.1, 0.1, 6, rng), wide, old});
  EXPECT_EQ(ids[0], -1);
  EXPECT_EQ(ids[1], -1);
  EXPECT_GE(ids[2], 0);
  EXPECT_NE(ids[3], ids[2]);
  EXPECT_EQ(ids[4], -1);
  // A leap in time ends in numbers, not in NaN.
  tracker.Update(11, 1e6, {});
  tracker.Update(12, 1e12, {Seen({100, 100}, 0.1, 1e12, 6, rng)});
  for (const Window& w : tracker.Windows(1e12 + 1, 5)) EXPECT_LE(w.left, w.right);
  for (const Track& track : tracker.Finish()) {
    for (const TrackStep& step : track.steps) EXPECT_TRUE(step.state.allFinite());
  }
}

TEST(Tracker, TenThousandEmptyFrames) {
  MarkerTracker tracker;
  std::mt19937_64 rng(61);
  for (int k = 0; k < 10; ++k)
    tracker.Update(k, 0.01 * k, {Seen({100, 100}, 0.1, 0.01 * k, 6, rng)});
  for (int k = 10; k < 10010; ++k) EXPECT_TRUE(tracker.Update(k, 0.01 * k, {}).empty());
  EXPECT_TRUE(tracker.Searching());
  EXPECT_TRUE(tracker.Windows(101, 5).empty());
  const auto tracks = tracker.Finish();
  ASSERT_EQ(tracks.size(), 1u);
  EXPECT_EQ(tracks[0].steps.size(), 10u);
}

TEST(Tracker, TwoThousandSpotsAFrameAreBounded) {
  std::mt19937_64 rng(62);
  DropOptions options = Clean();
  options.rate = 240;
  options.false_spots = 0;
  const Drop drop = MakeDrop(options, rng);
  std::uniform_real_distribution<double> uniform;
  MarkerTracker tracker(For(options));
  double seconds = 0;
  int frames = 0;
  for (const DropFrame& f : drop.frames) {
    std::vector<Observation> all = f.observations;
    // A storm of spots for a while.
    if (f.frame > 20 && f.frame <= 40) {
      while (all.size() < 2000)
        all.push_back(
            Seen({1280 * uniform(rng), 720 * uniform(rng)}, 0.1, f.t, 4 + 6 * uniform(rng), rng));
    }
    const std::clock_t start = std::clock();
    tracker.Update(f.frame, f.t, all);
    if (all.size() < 2000) continue;
    seconds += static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    ++frames;
  }
  EXPECT_EQ(frames, 20);
  EXPECT_LT(seconds / frames, 0.1);
}

TEST(Tracker, LostFramesAndVariableRateAreNoImpacts) {
  for (int run = 0; run < 10; ++run) {
    std::mt19937_64 rng(63000 + run);
    DropOptions options = Clean();
    options.variable_rate = true;
    options.dropped = 0.1;
    options.impacts = 0;
    options.tilt_spin = 1;
    const Drop drop = MakeDrop(options, rng);
    const auto tracks = TrackAll(drop, For(options));
    ASSERT_EQ(tracks.size(), 3u) << run;
    for (const Track& track : tracks) {
      EXPECT_GE(track.steps.size() + 1, drop.frames.size()) << "one step a frame that there is";
      for (const TrackStep& step : track.steps)
        EXPECT_FALSE(step.impact) << run << " " << step.frame;
    }
  }
}

}  // namespace
}  // namespace impactlab
