// Whole tracks: sizes, gaps, impacts, the scale of the errors.

#include "tracking/track/track_smoothing.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace impactlab {
namespace {

using Eigen::Vector2d;

constexpr double kTrackSmoothingRate = 120;  // [1/s]

struct Take {
  std::vector<long long> index;
  std::vector<double> stamps;
  MarkerTracks tracks;
  std::vector<Vector2d> truth;  // by frame
};

// One marker on a parabola, its velocity turned over at `impact` [s].
Take Fall(int frames, double sd, double claimed, std::uint64_t seed, double impact = 1e9) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Take take;
  take.tracks.cameras = {"left", "right"};
  take.tracks.markers = {"m1"};
  for (int k = 0; k < frames; ++k) {
    const double t = k / kTrackSmoothingRate, before = std::min(t, impact),
                 after = std::max(0.0, t - impact);
    const Vector2d v(150, 200 + 4000 * before);
    const Vector2d q =
        Vector2d(100, 50) + Vector2d(150, 200) * before + Vector2d(0, 2000) * before * before +
        Vector2d(-0.5 * v.x(), -0.6 * v.y()) * after + Vector2d(0, 2000) * after * after;
    take.index.push_back(k);
    take.stamps.push_back(t);
    take.truth.push_back(q);
    TrackPoint p;
    p.frame = k;
    p.t = t;
    p.q = q + sd * Vector2d(normal(random), normal(random));
    p.cov = claimed * claimed * Eigen::Matrix2d::Identity();
    p.major = 6;
    p.minor = 5;
    take.tracks.points.push_back(p);
  }
  return take;
}

TrackerOptions TrackSmoothingOptions() {
  TrackerOptions o;
  o.position_floor = 0.001;
  return o;
}

InnovationReport Finish(Take* take) {
  return FinishTracks(take->index, take->stamps, 0, TrackSmoothingOptions(), &take->tracks);
}

TEST(Finish, GapsGetAPredictedPointInEveryFrame) {
  Take take = Fall(60, 0.03, 0.03, 1);
  std::erase_if(take.tracks.points,
                [](const TrackPoint& p) { return p.frame >= 20 && p.frame < 25; });
  // A prediction that came along is worth nothing now.
  TrackPoint stale = take.tracks.points[10];
  stale.frame = 22, stale.t = take.stamps[22], stale.flags = kPredicted, stale.q = Vector2d(5, 5);
  take.tracks.points.push_back(stale);
  Finish(&take);
  ASSERT_EQ(take.tracks.points.size(), 60u);
  for (int k = 0; k < 60; ++k) {
    const TrackPoint& p = take.tracks.points[static_cast<std::size_t>(k)];
    EXPECT_EQ(p.frame, k);
    EXPECT_EQ((p.flags & kPredicted) != 0, k >= 20 && k < 25) << k;
    if ((p.flags & kPredicted) == 0) continue;
    const Vector2d e = p.q - take.truth[static_cast<std::size_t>(k)];
    EXPECT_LT(e.dot(p.cov.inverse() * e), 20) << k;
    EXPECT_LT(e.norm(), 0.5) << k;
    EXPECT_GT(p.cov(0, 0), 0.0);
    EXPECT_TRUE(std::isnan(p.nis));
  }
}

TEST(Finish, FramesThatWereLostGetNoPoint) {
  Take take = Fall(40, 0.03, 0.03, 2);
  take.index.erase(take.index.begin() + 15);
  take.stamps.erase(take.stamps.begin() + 15);
  std::erase_if(take.tracks.points,
                [](const TrackPoint& p) { return p.frame >= 14 && p.frame < 17; });
  Finish(&take);
  ASSERT_EQ(take.tracks.points.size(), 39u);
  for (const TrackPoint& p : take.tracks.points) EXPECT_NE(p.frame, 15);
}

TEST(Finish, SizesTellHiddenAndMergedImages) {
  Take take = Fall(60, 0.03, 0.03, 3);
  auto& points = take.tracks.points;
  for (TrackPoint& p : points) p.major = 6 + 0.02 * static_cast<double>(p.frame);  // comes nearer
  points[30].major = 4;
  points[45].major = 9;
  points[50].major = 3, points[50].flags = kCut;  // says so itself
  points[10].minor = 2;
  Finish(&take);
  for (const TrackPoint& p : points) {
    EXPECT_EQ((p.flags & kHidden) != 0, p.frame == 30 || p.frame == 10) << p.frame;
    EXPECT_EQ((p.flags & kTouching) != 0, p.frame == 45) << p.frame;
  }
  const double missing = 6.6 - 4;
  EXPECT_GT(points[30].cov(0, 0), 0.8 * missing * missing);
  EXPECT_GT(points[45].cov(1, 1), 0.8 * (9 - 6.9) * (9 - 6.9));
  EXPECT_LT(points[29].cov(0, 0), 0.01);
}

// Names are settled after a first pass over each camera, and tracks are finished again.
TEST(Finish, ASizeIsHeldAgainstACovarianceOnce) {
  for (const double noise : {0.03, 0.1}) {
    Take take = Fall(90, noise, 0.03, 3);
    auto& points = take.tracks.points;
    points[30].major = 3;
    points[45].major = 9;
    Finish(&take);
    const double hidden = points[30].cov(0, 0), merged = points[45].cov(1, 1);
    EXPECT_NEAR(std::sqrt(hidden), 3, 0.1);
    for (int repeat = 0; repeat < 2; ++repeat) {
      Finish(&take);
      EXPECT_NEAR(points[30].cov(0, 0), hidden, 1e-9);
      EXPECT_NEAR(points[45].cov(1, 1), merged, 1e-9);
    }
    // Among neighbours of its own size nothing is missing.
    for (TrackPoint& p : points) p.major = 3;
    Finish(&take);
    EXPECT_LT(points[30].cov(0, 0), 0.05);
    EXPECT_TRUE(points[30].cov.ldlt().isPositive());
  }
}

TEST(Finish, ErrorsLargerThanClaimedAreFoundOnce) {
  Take take = Fall(90, 0.1, 0.02, 4);
  const InnovationReport first = Finish(&take);
  EXPECT_GT(first.error_scale, 3.2);
  EXPECT_LT(first.error_scale, 7.5);
  const double sd = std::sqrt(take.tracks.points[40].cov(0, 0));
  EXPECT_NEAR(sd, 0.02 * first.error_scale, 1e-9);
  EXPECT_EQ(Finish(&take).error_scale, 1);
  EXPECT_NEAR(std::sqrt(take.tracks.points[40].cov(0, 0)), sd, 1e-12);
}

TEST(Finish, HonestErrorsStayAsTheyAre) {
  for (std::uint64_t seed = 10; seed < 20; ++seed) {
    Take take = Fall(90, 0.05, 0.05, seed);
    const InnovationReport report = Finish(&take);
    EXPECT_LT(report.error_scale, 1.5) << seed;
    EXPECT_NEAR(take.tracks.points[40].cov(0, 0), 0.0025 * report.error_scale * report.error_scale,
                1e-12);
  }
}

TEST(Finish, StillMarkersSayNothingOfErrors) {
  Take take = Fall(90, 0.1, 0.02, 5);
  for (TrackPoint& p : take.tracks.points)
    p.q += Vector2d(100, 100) - take.truth[static_cast<std::size_t>(p.frame)];
  EXPECT_EQ(Finish(&take).error_scale, 1);
}

TEST(Finish, ImpactsAreFoundAndNotSmoothedThrough) {
  const double impact = 30.4 / kTrackSmoothingRate;
  Take take = Fall(60, 0.03, 0.03, 6, impact);
  Finish(&take);
  const auto& points = take.tracks.points;
  std::vector<long long> impacts;
  for (const TrackPoint& p : points)
    if ((p.flags & kImpact) != 0) impacts.push_back(p.frame);
  ASSERT_EQ(impacts.size(), 1u);
  EXPECT_EQ(impacts.front(), 31);
  for (const TrackPoint& p : points) {
    EXPECT_EQ(p.flags & kOutlier, 0u) << p.frame;
    EXPECT_LT((p.smooth_q - take.truth[static_cast<std::size_t>(p.frame)]).norm(), 0.15) << p.frame;
  }
  const double vy = 200 + 4000 * impact;
  EXPECT_NEAR(points[29].smooth_v.y(), 200 + 4000 * points[29].t, 25);
  EXPECT_NEAR(points[32].smooth_v.y(), -0.6 * vy + 4000 * (points[32].t - impact), 25);
}

TEST(Finish, APointOffItsPathIsAnOutlier) {
  Take take = Fall(60, 0.03, 0.03, 7);
  take.tracks.points[33].q += Vector2d(0, 8);
  Finish(&take);
  for (const TrackPoint& p : take.tracks.points) {
    EXPECT_EQ((p.flags & kOutlier) != 0, p.frame == 33) << p.frame;
    EXPECT_LT((p.smooth_q - take.truth[static_cast<std::size_t>(p.frame)]).norm(), 0.2) << p.frame;
  }
}

TEST(Finish, APointFarOutsideOfItsImageIsLeftOutUnlessPlacedByHand) {
  for (const bool by_hand : {false, true}) {
    Take take = Fall(40, 0.02, 0.02, 12);
    take.tracks.points[17].q += Vector2d(90, -40);
    if (by_hand) take.tracks.points[17].flags |= kManual;
    FinishTracks(take.index, take.stamps, 0, TrackSmoothingOptions(), &take.tracks);
    ASSERT_EQ(take.tracks.points.size(), 40u);
    const TrackPoint& p = take.tracks.points[17];
    EXPECT_EQ((p.flags & kPredicted) != 0, !by_hand);
    EXPECT_EQ((p.q - take.truth[17]).norm() < 1, !by_hand);
  }
}

TEST(Finish, OtherCamerasStayAsTheyAre) {
  Take take = Fall(30, 0.03, 0.03, 8);
  TrackPoint other = take.tracks.points[3];
  other.camera = 1, other.flags = kPredicted | kManual, other.q = Vector2d(7, 8);
  take.tracks.points.push_back(other);
  Finish(&take);
  ASSERT_EQ(take.tracks.points.size(), 31u);
  EXPECT_EQ(take.tracks.points.back().camera, 1);
  EXPECT_EQ(take.tracks.points.back().flags, kPredicted | kManual);
  EXPECT_EQ(take.tracks.points.back().q, Vector2d(7, 8));
}

TEST(Finish, NothingAndSinglePointsAreBorne) {
  Take take = Fall(10, 0.03, 0.03, 9);
  take.tracks.points.clear();
  EXPECT_EQ(Finish(&take).n, 0);
  take = Fall(10, 0.03, 0.03, 9);
  take.tracks.points.resize(1);
  Finish(&take);
  ASSERT_EQ(take.tracks.points.size(), 1u);
  EXPECT_EQ(take.tracks.points[0].flags, 0u);
}

}  // namespace
}  // namespace impactlab
