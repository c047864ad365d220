#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <random>

#include "data/statistics/statistics.h"
#include "tests/support/per_test_level.h"
#include "tests/tracking/track/drop_scene.h"
#include "tracking/track/tracker.h"

namespace impactlab {
namespace {

using test::Drop;
using test::DropFrame;
using test::DropOptions;
using test::MakeDrop;

struct Series {
  std::vector<double> t;
  std::vector<std::optional<Observation>> observations;
};

Series SeriesOf(const Drop& drop) {
  Series s;
  for (const DropFrame& f : drop.frames) {
    s.t.push_back(f.t);
    s.observations.push_back(f.observations.empty() ? std::nullopt
                                                    : std::make_optional(f.observations[0]));
  }
  return s;
}

DropOptions Single() {
  DropOptions options;
  options.layout = {{60, 20, 0}};
  options.occlusions = 0;
  options.false_spots = 0;
  options.clutter = 0;
  options.tilt_spin = 0;
  options.spin_jump = 0;
  return options;
}

TrackerOptions Exact() {
  TrackerOptions options;
  options.position_floor = 0;
  return options;
}

double Nees(const Eigen::Vector2d& d, const Eigen::Matrix2d& cov) {
  return d.dot(cov.inverse() * d);
}

// Arcs and impacts of a body that does not turn: one sample an arc, from its middle, so that
// samples are independent. The jerk is fitted and rounded up, which makes the covariance somewhat
// too large where there is none: the band is one-sided below.
TEST(SmoothTrack, CovarianceHoldsOnArcsBetweenImpacts) {
  double q = 0, v = 0;
  int n = 0;
  for (int run = 0; run < 150; ++run) {
    std::mt19937_64 rng(31000 + run);
    DropOptions options = Single();
    options.rate = run % 2 ? 120 : 240;
    const Drop drop = MakeDrop(options, rng);
    const Series s = SeriesOf(drop);
    const auto steps = SmoothTrack(s.t, s.observations, Exact());
    std::vector<double> borders{options.held};
    borders.insert(borders.end(), drop.impact_times.begin(), drop.impact_times.end());
    borders.push_back(s.t.back());
    for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
      const double middle = (borders[i] + borders[i + 1]) / 2;
      const std::size_t k = std::lower_bound(s.t.begin(), s.t.end(), middle) - s.t.begin();
      q += Nees(steps[k].q - drop.frames[k].q[0], steps[k].cov_q);
      v += Nees(steps[k].v - drop.frames[k].v[0], steps[k].cov_v);
      ++n;
    }
  }
  const Interval band = ChiSquareBand(2.0 * n, PerTestLevel(1e-3, 2));
  EXPECT_LT(q, band.upper) << q / (2 * n);
  EXPECT_LT(v, band.upper) << v / (2 * n);
  EXPECT_GT(q, 0.6 * 2 * n) << "far too wide";
  EXPECT_GT(v, 0.5 * 2 * n) << "far too wide";
}

// The frames beside an impact, which velocities before and after come from.
TEST(SmoothTrack, VelocitiesBesideAnImpactAreOfTheirOwnSide) {
  double v = 0;
  int n = 0, found = 0, impacts = 0, extra = 0;
  for (int run = 0; run < 100; ++run) {
    std::mt19937_64 rng(32000 + run);
    DropOptions options = Single();
    options.rate = run % 2 ? 120 : 240;
    options.impacts = 1;
    const Drop drop = MakeDrop(options, rng);
    const Series s = SeriesOf(drop);
    const auto steps = SmoothTrack(s.t, s.observations, Exact());
    const std::size_t after =
        std::lower_bound(s.t.begin(), s.t.end(), drop.impact_times[0]) - s.t.begin();
    // Within what noise hides from a jump of 2 px or more nobody knows the side.
    const double margin =
        std::min(s.t[after] - drop.impact_times[0], drop.impact_times[0] - s.t[after - 1]) *
        options.rate;
    ++impacts;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      if (steps[k].impact && (k == after || margin < 0.05)) ++found;
      if (steps[k].impact && k + 1 != after && k != after && k != after + 1) ++extra;
    }
    if (margin < 0.05 || !steps[after].impact) continue;
    for (const std::size_t k : {after - 1, after}) {
      v += Nees(steps[k].v - drop.frames[k].v[0], steps[k].cov_v);
      ++n;
      EXPECT_LT(std::sqrt(steps[k].cov_v.trace()), 300) << "a velocity that says nothing";
    }
  }
  EXPECT_GE(found, impacts - 1);
  EXPECT_EQ(extra, 0);
  const Interval band = ChiSquareBand(2.0 * n, 1e-3);
  EXPECT_LT(v, band.upper) << v / (2 * n);
  EXPECT_GT(v, 0.4 * 2 * n) << v / (2 * n);
}

// Marker on a body that spins 10-20 rad/s: no constant acceleration. The jerk that is fitted must
// cover for that.
TEST(SmoothTrack, CovarianceCoversSpinningBodies) {
  double q = 0, v = 0;
  int n = 0;
  for (int run = 0; run < 120; ++run) {
    std::mt19937_64 rng(33000 + run);
    DropOptions options = Single();
    options.rate = run % 2 ? 120 : 240;
    options.spin = (run % 3 - 1) * (10 + run % 11);
    options.impacts = 1;
    options.spin_jump = 8;
    const Drop drop = MakeDrop(options, rng);
    const Series s = SeriesOf(drop);
    const auto steps = SmoothTrack(s.t, s.observations, Exact());
    for (const double at : {options.held + 0.1, drop.impact_times[0] + 0.05}) {
      const std::size_t k = std::lower_bound(s.t.begin(), s.t.end(), at) - s.t.begin();
      if (k >= steps.size()) continue;
      q += Nees(steps[k].q - drop.frames[k].q[0], steps[k].cov_q);
      v += Nees(steps[k].v - drop.frames[k].v[0], steps[k].cov_v);
      ++n;
    }
  }
  const Interval band = ChiSquareBand(2.0 * n, PerTestLevel(1e-3, 2));
  EXPECT_LT(q, band.upper) << q / (2 * n);
  EXPECT_LT(v, band.upper) << v / (2 * n);
  EXPECT_GT(q, 0.5 * 2 * n);
}

TEST(SmoothTrack, NothingCrossesAnImpact) {
  std::mt19937_64 rng(34);
  DropOptions options = Single();
  options.impacts = 1;
  Drop drop = MakeDrop(options, rng);
  Series s = SeriesOf(drop);
  const auto before = SmoothTrack(s.t, s.observations, Exact());
  const std::size_t after =
      std::lower_bound(s.t.begin(), s.t.end(), drop.impact_times[0]) - s.t.begin();
  ASSERT_TRUE(before[after].impact);
  // Everything after the impact moves; nothing before it may notice.
  for (std::size_t k = after; k < s.t.size(); ++k)
    s.observations[k]->q += Eigen::Vector2d(0.4, -0.3);
  const auto moved = SmoothTrack(s.t, s.observations, Exact());
  ASSERT_TRUE(moved[after].impact);
  for (std::size_t k = 0; k < after; ++k) EXPECT_EQ(before[k].q, moved[k].q) << k;
  EXPECT_GT((before[after].q - moved[after].q).norm(), 0.3);
}

TEST(SmoothTrack, OutliersAreFlaggedAndDoNotPull) {
  for (int run = 0; run < 20; ++run) {
    std::mt19937_64 rng(35000 + run);
    DropOptions options = Single();
    const Drop drop = MakeDrop(options, rng);
    Series s = SeriesOf(drop);
    const std::size_t k = 20 + run;
    s.observations[k]->q += Eigen::Vector2d(3 + run, 2);
    const auto steps = SmoothTrack(s.t, s.observations, Exact());
    EXPECT_TRUE(steps[k].outlier) << run;
    EXPECT_LT((steps[k].q - drop.frames[k].q[0]).norm(), 0.5) << run;
    int others = 0;
    for (const SmoothedStep& step : steps) others += step.outlier;
    EXPECT_LE(others, 2) << run;
  }
}

TEST(SmoothTrack, BridgesGapsAlsoAcrossAnImpact) {
  double worst = 0;
  for (int run = 0; run < 40; ++run) {
    std::mt19937_64 rng(36000 + run);
    DropOptions options = Single();
    options.rate = 240;
    options.impacts = 1;
    const Drop drop = MakeDrop(options, rng);
    Series s = SeriesOf(drop);
    const std::size_t after =
        std::lower_bound(s.t.begin(), s.t.end(), drop.impact_times[0]) - s.t.begin();
    for (std::size_t k = after - 1 - run % 4; k < after + 3; ++k) s.observations[k].reset();
    const auto steps = SmoothTrack(s.t, s.observations, Exact());
    int impacts = 0;
    for (std::size_t k = 0; k < steps.size(); ++k) {
      ASSERT_TRUE(steps[k].q.allFinite() && steps[k].v.allFinite()) << k;
      EXPECT_EQ(std::isnan(steps[k].nis), !s.observations[k].has_value());
      if (steps[k].impact) {
        ++impacts;
        // The instant at which both sides meet: good to a frame.
        EXPECT_LE(std::abs(static_cast<double>(k) - static_cast<double>(after)), 1) << run;
      }
      worst = std::max(worst, (steps[k].q - drop.frames[k].q[0]).norm());
    }
    EXPECT_EQ(impacts, 1) << run;
  }
  EXPECT_LT(worst, 12);
}

TEST(SmoothTrack, AHintFindsASmallImpact) {
  // 60 px/s at 240 fps: a quarter of a pixel a frame in noise of a tenth.
  std::mt19937_64 rng(37);
  std::normal_distribution<double> normal;
  int with = 0, without = 0;
  for (int run = 0; run < 30; ++run) {
    Series s;
    for (int k = 0; k < 60; ++k) {
      const double t = k / 240.0;
      s.t.push_back(t);
      Observation o;
      o.q = {100 + 500 * t, 100 + (k >= 30 ? 60 * (t - 30 / 240.0) : 0) + 4903 * t * t};
      o.q += 0.1 * Eigen::Vector2d(normal(rng), normal(rng));
      o.cov = 0.01 * Eigen::Matrix2d::Identity();
      o.t = t;
      s.observations.emplace_back(o);
    }
    std::vector<bool> hint(60, false);
    hint[31] = true;
    const auto count = [&](const std::vector<SmoothedStep>& steps) {
      int n = 0;
      for (int k = 27; k < 34; ++k) n += steps[k].impact;
      return n;
    };
    with += count(SmoothTrack(s.t, s.observations, Exact(), hint));
    without += count(SmoothTrack(s.t, s.observations, Exact()));
  }
  EXPECT_GE(with, without);
  EXPECT_LE(with, 30);
}

TEST(SmoothTrack, AHintAloneMakesNoImpact) {
  for (int run = 0; run < 30; ++run) {
    std::mt19937_64 rng(38000 + run);
    DropOptions options = Single();
    options.impacts = 0;
    Drop drop = MakeDrop(options, rng);
    const Series s = SeriesOf(drop);
    std::vector<bool> hint(s.t.size(), false);
    hint[s.t.size() - 12] = hint[s.t.size() / 2] = true;
    for (const SmoothedStep& step : SmoothTrack(s.t, s.observations, Exact(), hint))
      EXPECT_FALSE(step.impact);
  }
}

TEST(SmoothTrack, HostileInputs) {
  const TrackerOptions options;
  EXPECT_TRUE(SmoothTrack({}, {}, options).empty());
  EXPECT_THROW(SmoothTrack({0, 1}, {std::nullopt}, options), std::invalid_argument);
  EXPECT_THROW(SmoothTrack({0, 1}, {std::nullopt, std::nullopt}, options, {true}),
               std::invalid_argument);
  EXPECT_THROW(SmoothTrack({0, 0}, {std::nullopt, std::nullopt}, options), std::invalid_argument);
  EXPECT_THROW(SmoothTrack({1, 0}, {std::nullopt, std::nullopt}, options), std::invalid_argument);
  EXPECT_THROW(SmoothTrack({0, std::nan("")}, {std::nullopt, std::nullopt}, options),
               std::invalid_argument);
  const auto none = SmoothTrack({0, 1}, {std::nullopt, std::nullopt}, options);
  ASSERT_EQ(none.size(), 2u);
  EXPECT_TRUE(std::isnan(none[0].q.x()));
  Observation bad;
  bad.cov.setConstant(std::nan(""));
  Observation good;
  good.cov = 0.01 * Eigen::Matrix2d::Identity();
  good.q = {5, 6};
  const auto one = SmoothTrack({0, 0.01, 0.02}, {bad, good, bad}, options);
  EXPECT_NEAR(one[1].q.x(), 5, 1e-9);
  EXPECT_TRUE(one[0].q.allFinite());
  EXPECT_GT(one[0].cov_q(0, 0), 100) << "nothing but one position is known";
}

}  // namespace
}  // namespace impactlab
