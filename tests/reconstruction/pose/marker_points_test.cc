// Markers in space to poses, and tracks to markers in space.

#include "reconstruction/pose/marker_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>

#include "data/base/error.h"
#include "reconstruction/formats/marker_files.h"
#include "tests/data/message.h"
#include "tests/support/rig_twin.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;
using test::MessageOf;
using ::testing::HasSubstr;

std::vector<NamedMarker> Layout() {
  return {{"a", {0.03, 0.02, -0.01}},
          {"b", {-0.04, 0.01, 0.02}},
          {"c", {0.01, -0.05, 0.015}},
          {"d", {0.0, 0.01, 0.06}}};
}

// Turning about an axis that is none of the body's, so that every convention of angles meets its
// pole.
Isometry3d PoseAt(double t) {
  Isometry3d X = Isometry3d::Identity();
  X.linear() = (Eigen::AngleAxisd(9 * t, Vector3d(0.48, -0.6, 0.64)) *
                Eigen::AngleAxisd(M_PI / 2, Vector3d::UnitY()))
                   .toRotationMatrix();
  X.translation() = Vector3d(0.3 * t, 0.1, 1 - 0.5 * t);
  return X;
}

MarkerPoints Recorded(const std::vector<NamedMarker>& layout, double noise, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  MarkerPoints points;
  points.name = "spin";
  for (const NamedMarker& marker : layout) points.markers.push_back(marker.name);
  points.p_WM.resize(layout.size());
  for (int i = 0; i < 200; ++i) {
    points.t.push_back(i / 240.0);
    for (std::size_t m = 0; m < layout.size(); ++m)
      points.p_WM[m].emplace_back(PoseAt(points.t.back()) * layout[m].p_BM +
                                  noise * Vector3d(normal(rng), normal(rng), normal(rng)));
  }
  return points;
}

TEST(PosesFromPoints, ExactWithoutNoiseAndFramesLeftOut) {
  MarkerPoints points = Recorded(Layout(), 0, 1);
  points.p_WM[3][10].reset();                              // three are left
  points.p_WM[0][20].reset(), points.p_WM[1][20].reset();  // two
  *points.p_WM[2][30] += Vector3d(0, 0.05, 0);             // another marker's name
  const PointPoses poses = PosesFromPoints(points, Layout());
  ASSERT_TRUE(poses.usable) << poses.reason;
  EXPECT_EQ(poses.too_few, 1);
  EXPECT_EQ(poses.misfit, 1);
  ASSERT_EQ(poses.frames.size(), 198u);
  for (std::size_t k = 0; k < poses.frames.size(); ++k) {
    EXPECT_EQ(poses.poses.t[k], points.t[static_cast<std::size_t>(poses.frames[k])]);
    EXPECT_LT((poses.poses.X_WB[k].matrix() - PoseAt(poses.poses.t[k]).matrix()).norm(), 1e-13);
  }
}

TEST(PosesFromPoints, OneMarkerIsTheCentreOfABall) {
  MarkerPoints points = Recorded(Layout(), 0, 1);
  const std::size_t seen = points.t.size();
  points.p_WM[0][2].reset();
  const PointPoses found = PosesFromPoints(points, {{points.markers[0], Eigen::Vector3d::Zero()}});
  ASSERT_TRUE(found.usable) << found.reason;
  EXPECT_EQ(found.poses.t.size(), seen - 1);
  EXPECT_EQ(found.too_few, 1);
  EXPECT_EQ(found.poses.X_WB[2].translation(), *points.p_WM[0][3]);
  EXPECT_TRUE(found.poses.X_WB[2].linear().isIdentity(0));
  // Elsewhere on the body it shows neither the centre nor the attitude.
  EXPECT_FALSE(PosesFromPoints(points, {{points.markers[0], {0, 0, 0.01}}}).usable);
}

TEST(PosesFromPoints, CovariancesWeigh) {
  MarkerPoints points = Recorded(Layout(), 0, 1);
  points.cov.assign(4, std::vector<Matrix3d>(200, 1e-10 * Matrix3d::Identity()));
  for (std::size_t i = 0; i < 200; ++i) {
    *points.p_WM[3][i] += Vector3d(2e-3, 0, 0);
    points.cov[3][i] = 1e-4 * Matrix3d::Identity();
  }
  const PointPoses weighted = PosesFromPoints(points, Layout());
  points.cov.clear();
  const PointPoses plain = PosesFromPoints(points, Layout());
  EXPECT_LT((weighted.poses.X_WB[0].translation() - PoseAt(0).translation()).norm(), 1e-7);
  EXPECT_GT((plain.poses.X_WB[0].translation() - PoseAt(0).translation()).norm(), 1e-4);
}

TEST(PosesFromPoints, RefusesMirroredCollinearAndForeignLayouts) {
  const MarkerPoints points = Recorded(Layout(), 1e-4, 3);
  std::vector<NamedMarker> layout = Layout();
  for (NamedMarker& marker : layout) marker.p_BM.y() *= -1;
  const PointPoses mirrored = PosesFromPoints(points, layout);
  EXPECT_FALSE(mirrored.usable);
  EXPECT_THAT(mirrored.reason, HasSubstr("mirrored"));
  EXPECT_TRUE(mirrored.poses.t.empty());

  std::vector<NamedMarker> rod = {{"a", {0, 0, 0}}, {"b", {0, 0, 0.1}}, {"c", {0, 0, 0.25}}};
  const PointPoses line = PosesFromPoints(Recorded(rod, 1e-5, 4), rod);
  EXPECT_FALSE(line.usable);
  EXPECT_EQ(line.collinear, 200);
  EXPECT_THAT(line.reason, HasSubstr("line"));

  layout = Layout();
  for (NamedMarker& marker : layout) marker.p_BM *= 1.5;
  EXPECT_THAT(PosesFromPoints(points, layout).reason, HasSubstr("not those of the layout"));
  layout = {{"a", {0, 0, 0}}, {"x", {1, 0, 0}}, {"y", {0, 1, 0}}};
  EXPECT_THAT(PosesFromPoints(points, layout).reason, HasSubstr("not there: x, y"));
  layout = {{"a", {0, 0, 0}}, {"a", {1, 0, 0}}, {"b", {0, 1, 0}}};
  EXPECT_THAT(MessageOf<ConfigError>([&] { PosesFromPoints(points, layout); }),
              HasSubstr("every name once"));
}

TEST(PosesFromPoints, FrameRateIsFoundAndUnevenTimesHaveNone) {
  MarkerPoints points = Recorded(Layout(), 0, 1);
  EXPECT_EQ(FrameRate(points), 240.0);
  points.t.erase(points.t.begin() + 50, points.t.begin() + 60);
  EXPECT_EQ(FrameRate(points), 240.0) << "frames left out";
  for (double& t : points.t) t = std::round(1000 * t) / 1000;
  ASSERT_TRUE(FrameRate(points, 0.2)) << "stamps of whole milliseconds";
  EXPECT_NEAR(*FrameRate(points, 0.2), 240, 0.02);
  points.t[30] += 0.4 / 240;
  EXPECT_FALSE(FrameRate(points));
}

// Markers as two cameras see them.
struct Seen {
  CameraRig rig;
  MarkerTracks tracks;
  MarkerPoints truth;
};

Seen See(double late, double pixel_sd, std::uint64_t seed) {
  Seen s;
  for (int c = 0; c < 2; ++c) {
    RigCamera camera;
    camera.name = c == 0 ? "left" : "right";
    camera.camera = test::MakePinhole(1280, 720, 1060);
    camera.X_WC.translation() = Vector3d(0.34 * c, 0, -0.9);
    s.rig.cameras.push_back(camera);
  }
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  s.truth.name = s.tracks.recording = "drop";
  s.truth.markers = s.tracks.markers = {"a", "b"};
  s.tracks.cameras = {"right", "left"};  // in another order than the rig's
  s.truth.p_WM.resize(2);
  const auto at = [](int m, double t) {
    return Vector3d(0.15 + 0.05 * m + 0.1 * t, 0.02 * m - 0.05 + 0.3 * t, 0.1 * m);
  };
  for (int i = 0; i < 40; ++i) {
    s.truth.t.push_back(0.5 + i / 120.0);
    for (int m = 0; m < 2; ++m) {
      s.truth.p_WM[static_cast<std::size_t>(m)].emplace_back(at(m, s.truth.t.back()));
      for (int c = 0; c < 2; ++c) {
        TrackPoint p;
        p.camera = c;
        p.marker = m;
        p.frame = i + 7;
        p.t = s.truth.t.back() + (c == 1 ? late : 0);
        const RigCamera& camera = s.rig.cameras[static_cast<std::size_t>(1 - c)];
        p.q = *Project(camera.camera, camera.X_WC.inverse() * at(m, p.t)) +
              pixel_sd * Eigen::Vector2d(normal(rng), normal(rng));
        p.cov = std::max(1e-6, pixel_sd * pixel_sd) * Eigen::Matrix2d::Identity();
        s.tracks.points.push_back(p);
      }
    }
  }
  Sort(&s.tracks);
  return s;
}

// 800 points of three coordinates: chi-square within four standard deviations, whether the cameras
// expose together or 4 ms apart. Images brought to another instant share their noise with the
// neighbours': wider bounds.
TEST(PointsFromTracks, TriangulatesWithHonestCovarianceWheneverTheCamerasExpose) {
  for (const double late : {0.0, 0.004}) {
    int n = 0;
    double chi = 0;
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Seen s = See(late, 0.1, seed);
      const TrackPoints out = PointsFromTracks(s.tracks, s.rig);
      ASSERT_EQ(out.points.t.size(), 40u);
      EXPECT_EQ(out.points.first_frame, 8) << "files count from 1";
      EXPECT_EQ(out.misfit + out.undetermined, 0);
      EXPECT_EQ(out.placed + out.alone, 80);
      EXPECT_LE(out.alone, late > 0 ? 2 : 0) << "the second camera begins after the first";
      for (std::size_t m = 0; m < 2; ++m)
        for (std::size_t i = 0; i < 40; ++i) {
          if (!out.points.p_WM[m][i]) continue;
          const Vector3d d = *out.points.p_WM[m][i] - *s.truth.p_WM[m][i];
          EXPECT_LT(d.norm(), 2e-3);
          chi += d.dot(out.points.cov[m][i].ldlt().solve(d));
          n += 3;
        }
    }
    EXPECT_NEAR(chi, n, (late > 0 ? 8 : 4) * std::sqrt(2.0 * n)) << "late by " << late;
  }
}

TEST(PointsFromTracks, PassesOverPredictionsOutliersAndStrangers) {
  Seen s = See(0, 0.05, 1);
  for (TrackPoint& p : s.tracks.points) {
    if (p.camera == 0 && p.marker == 0 && p.frame == 10) p.flags = kPredicted, p.q.x() += 20;
    if (p.camera == 1 && p.marker == 1 && p.frame == 20) p.flags = kOutlier, p.q.x() += 20;
    if (p.camera == 1 && p.marker == 1 && p.frame == 30) p.q.y() += 30;
  }
  const TrackPoints out = PointsFromTracks(s.tracks, s.rig);
  for (const auto& [m, i] : {std::pair<std::size_t, std::size_t>{0, 3}, {1, 13}}) {
    ASSERT_TRUE(out.points.p_WM[m][i]) << "from the images before and after";
    EXPECT_LT((*out.points.p_WM[m][i] - *s.truth.p_WM[m][i]).norm(), 1e-3);
  }
  EXPECT_FALSE(out.points.p_WM[1][23]);
  EXPECT_EQ(out.misfit, 1);
  EXPECT_EQ(out.alone, 0);
  TrackPointsOptions strict;
  strict.longest_gap = 1;
  const TrackPoints without = PointsFromTracks(s.tracks, s.rig, strict);
  EXPECT_FALSE(without.points.p_WM[0][3]);
  EXPECT_FALSE(without.points.p_WM[1][13]);
  EXPECT_EQ(without.alone, 2);

  strict.offset = {0, 0, 0};
  EXPECT_THAT(MessageOf<ConfigError>([&] { PointsFromTracks(s.tracks, s.rig, strict); }),
              HasSubstr("found 3 offsets"));
  MarkerTracks apart = s.tracks;
  for (TrackPoint& p : apart.points) p.t += 10 * p.camera;
  EXPECT_THAT(MessageOf<DataError>([&] { PointsFromTracks(apart, s.rig); }),
              HasSubstr("the cameras share no time"));
  TrackPointsOptions clocks;
  clocks.offset = {0, -10};
  EXPECT_EQ(PointsFromTracks(apart, s.rig, clocks).placed, out.placed);
  s.tracks.cameras[0] = "middle";
  EXPECT_THAT(MessageOf<ConfigError>([&] { PointsFromTracks(s.tracks, s.rig); }),
              HasSubstr("allowed those of the rig: left, right"));
}

}  // namespace
}  // namespace impactlab
