// Poses of a whole recording from its tracks: right at every instant, honest in their covariance,
// blind to nothing.

#include "reconstruction/pose/track_poses.h"

#include <gtest/gtest.h>

#include <set>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::test {
namespace {

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

Isometry3d TrackedPose(const Flying& f) {
  Isometry3d X = Isometry3d::Identity();
  X.linear() = f.R;
  X.translation() = f.p;
  return X;
}

Vector6 TrackPosesPoseError(const Isometry3d& estimate, const Isometry3d& truth) {
  Vector6 error;
  error.head<3>() = estimate.translation() - truth.translation();
  const Eigen::AngleAxisd turn(Matrix3d(truth.linear().transpose() * estimate.linear()));
  error.tail<3>() = turn.angle() * turn.axis();
  return error;
}

// The truth turned about its axis until its roll is that of the estimate.
Isometry3d WithRollOf(const Isometry3d& estimate, const Isometry3d& truth) {
  const Vector3d x = estimate.linear().col(0);
  Isometry3d same = truth;
  same.linear() = truth.linear() *
                  Turned(std::atan2(x.dot(truth.linear().col(1)), x.dot(truth.linear().col(0))) *
                         Vector3d::UnitZ());
  return same;
}

struct Scene {
  CameraRig rig = DropRig(2);
  Drop drop;
  Filming filming;
  MarkerTracks tracks;
};

Scene Make(Thing thing, double late, double pixel_sd, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Scene scene;
  scene.drop = DrawDrop(thing, random);
  scene.filming.late = {0, late, 0, 0};
  scene.filming.pixel_sd = pixel_sd;
  scene.tracks = Film(scene.drop, scene.rig, scene.filming, random);
  return scene;
}

int FramesOf(const MarkerTracks& tracks) {
  std::set<long long> frames;
  for (const TrackPoint& p : tracks.points) {
    if (p.camera == 0) frames.insert(p.frame);
  }
  return static_cast<int>(frames.size());
}

TEST(TrackPoses, SynchronousExactTracksGiveEveryPose) {
  const Scene s = Make(Thing::kBox, 0, 0, 1);
  const TrackPoses poses = PosesFromTracks(s.tracks, s.rig, s.drop.markers);
  ASSERT_EQ(static_cast<int>(poses.recording.t.size()), FramesOf(s.tracks));
  EXPECT_TRUE(poses.observable);
  EXPECT_TRUE(poses.refused.empty());
  EXPECT_EQ(poses.recording.name, "drop");
  ASSERT_EQ(poses.poses.size(), poses.recording.t.size());
  for (std::size_t i = 0; i < poses.recording.t.size(); ++i) {
    EXPECT_LT(
        TrackPosesPoseError(poses.recording.X_WB[i], TrackedPose(s.drop.At(poses.recording.t[i])))
            .norm(),
        1e-8);
    EXPECT_NEAR(poses.recording.t[i], static_cast<double>(poses.frames[i]) / s.filming.rate, 1e-12);
  }
}

// Frames half an interval apart at twice the spin of a thrown body: what is left is what a cubic
// misses, and nothing at the impact.
TEST(TrackPoses, OtherCamerasAreBroughtToTheInstant) {
  for (double late : {0.0021, 0.0035}) {
    const Scene s = Make(Thing::kBox, late, 0, 2);
    const TrackPoses poses = PosesFromTracks(s.tracks, s.rig, s.drop.markers);
    ASSERT_GE(static_cast<int>(poses.recording.t.size()), FramesOf(s.tracks) - 5);
    double worst = 0;
    for (std::size_t i = 0; i < poses.recording.t.size(); ++i) {
      worst = std::max(worst, TrackPosesPoseError(poses.recording.X_WB[i],
                                                  TrackedPose(s.drop.At(poses.recording.t[i])))
                                  .norm());
    }
    EXPECT_LT(worst, 2e-5);
    // The same with a straight line over the gap at the impact would be off by millimetres: none is
    // used there.
    ASSERT_EQ(poses.impacts.size(), 1u);
    EXPECT_LT(poses.impacts[0].begin, s.drop.t);
    EXPECT_GT(poses.impacts[0].end, s.drop.t);
  }
}

TEST(TrackPoses, KnownImpactCutsWithoutFlags) {
  Scene s = Make(Thing::kBox, 0.0021, 0, 3);
  for (TrackPoint& p : s.tracks.points) p.flags = 0;
  TrackPosesOptions known;
  known.impacts = {s.drop.t};
  const TrackPoses with = PosesFromTracks(s.tracks, s.rig, s.drop.markers, known),
                   without = PosesFromTracks(s.tracks, s.rig, s.drop.markers);
  // Where nobody says that there is an impact the kink costs poses, or certainty; in no case does
  // it get into a pose unseen.
  const auto information = [&](const TrackPoses& poses) {
    double sum = 0;
    for (std::size_t i = 0; i < poses.recording.t.size(); ++i) {
      EXPECT_LT(
          TrackPosesPoseError(poses.recording.X_WB[i], TrackedPose(s.drop.At(poses.recording.t[i])))
              .norm(),
          2e-5);
      if (std::abs(poses.recording.t[i] - s.drop.t) < 0.01) sum += 1 / poses.poses[i].cov.trace();
    }
    return sum;
  };
  EXPECT_GT(information(with), 1.05 * information(without));
  // Images that saw both flights are left out.
  known.exposure = 0.009;
  const TrackPoses poses = PosesFromTracks(s.tracks, s.rig, s.drop.markers, known);
  for (double t : poses.recording.t) EXPECT_GT(std::abs(t - s.drop.t), 0.0045);
}

// Errors against the covariance, instant by instant and between neighbours, which share images when
// cameras are not synchronous.
void ExpectCovered(Thing thing, double late, double offset, std::uint64_t seed) {
  double nees = 0;
  int dof = 0;
  Matrix6 product = Matrix6::Zero(), stated = Matrix6::Zero(), scale = Matrix6::Zero();
  int pairs = 0;
  double own = 0, whole = 0;
  for (std::uint64_t k = 0; k < 12; ++k) {
    std::mt19937_64 random(seed + k);
    Scene s;
    s.drop = DrawDrop(thing, random);
    s.filming.late = {0, late, 0, 0};
    s.filming.offset = {0, offset, 0, 0};
    s.tracks = Film(s.drop, s.rig, s.filming, random);
    TrackPosesOptions options;
    options.offset = {0, offset};
    const TrackPoses poses = PosesFromTracks(s.tracks, s.rig, s.drop.markers, options);
    ASSERT_GT(poses.recording.t.size(), 30u);
    Vector6 last = Vector6::Zero();
    for (std::size_t i = 0; i < poses.recording.t.size(); ++i) {
      Isometry3d truth = TrackedPose(s.drop.At(poses.recording.t[i]));
      if (!poses.poses[i].observable) truth = WithRollOf(poses.recording.X_WB[i], truth);
      const int n = poses.poses[i].observable ? 6 : 5;
      const Vector6 error = TrackPosesPoseError(poses.recording.X_WB[i], truth);
      const Matrix6 cov = poses.poses[i].cov;
      if (i % 4 == 0) {  // far enough apart to be independent
        nees += error.head(n).dot(cov.topLeftCorner(n, n).ldlt().solve(error.head(n)));
        dof += n;
      }
      if (i > 0 && poses.frames[i] == poses.frames[i - 1] + 1) {
        product += last * error.transpose();
        stated += CrossCovariance(poses, s.tracks, static_cast<int>(i) - 1, static_cast<int>(i));
        scale += cov;
        ++pairs;
        own += CrossCovariance(poses, s.tracks, static_cast<int>(i), static_cast<int>(i)).trace();
        whole += poses.poses[i].cov_pixels.trace();
      }
      last = error;
    }
  }
  const Interval band = ChiSquareBand(dof, 1e-4);
  EXPECT_TRUE(band.lower < nees && nees < band.upper)
      << nees << " of " << dof << ", " << band.lower << " to " << band.upper;
  // What cubics seem to miss counts in the covariance, and is little.
  EXPECT_LT(own, whole * (1 + 1e-9));
  EXPECT_GT(own, 0.9 * whole);
  for (int i = 0; i < 5; ++i) {
    const double found = product(i, i) / scale(i, i), expected = stated(i, i) / scale(i, i);
    EXPECT_NEAR(found, expected, 4.5 / std::sqrt(pairs)) << i;
    if (late > 0.001) {
      EXPECT_GT(expected, 0.03);
    }
  }
}

TEST(TrackPoses, CovarianceOfSynchronousFrames) { ExpectCovered(Thing::kBox, 0, 0, 100); }
TEST(TrackPoses, CovarianceOfFramesApart) { ExpectCovered(Thing::kBar, 0.0021, 0, 200); }
TEST(TrackPoses, CovarianceOfARodWithAnOffset) { ExpectCovered(Thing::kRod, 0.001, 0.0008, 300); }

TEST(TrackPoses, RodKeepsItsRollAndSaysSo) {
  const Scene s = Make(Thing::kRod, 0.001, 0.05, 4);
  const TrackPoses poses = PosesFromTracks(s.tracks, s.rig, s.drop.markers);
  ASSERT_GT(poses.recording.t.size(), 20u);
  EXPECT_FALSE(poses.observable);
  EXPECT_NEAR(std::abs(poses.axis_B.z()), 1, 1e-4);
  for (std::size_t i = 1; i < poses.recording.t.size(); ++i) {
    ASSERT_TRUE(poses.recording.X_WB[i].matrix().allFinite());
    const Matrix3d step =
        poses.recording.X_WB[i - 1].linear().transpose() * poses.recording.X_WB[i].linear();
    const Eigen::AngleAxisd turn(step);
    EXPECT_NEAR(turn.angle() * turn.axis().z(), 0, 2e-3);
  }
}

TEST(TrackPoses, RollingShutterRowsAreBroughtTogether) {
  std::mt19937_64 random(5);
  Scene s;
  s.drop = DrawDrop(Thing::kBox, random);
  s.filming.pixel_sd = 0;
  s.filming.t_line = 4e-3 / 720;
  s.filming.late = {0, 0.0012, 0, 0};
  s.tracks = Film(s.drop, s.rig, s.filming, random);
  const TrackPoses poses = PosesFromTracks(s.tracks, s.rig, s.drop.markers);
  ASSERT_GE(static_cast<int>(poses.recording.t.size()), FramesOf(s.tracks) - 6);
  for (std::size_t i = 0; i < poses.recording.t.size(); ++i) {
    EXPECT_LT(
        TrackPosesPoseError(poses.recording.X_WB[i], TrackedPose(s.drop.At(poses.recording.t[i])))
            .norm(),
        1e-4);
  }
}

TEST(TrackPoses, StrayImagesAreVotedOutOrRefuseTheInstant) {
  std::mt19937_64 random(6);
  Scene s;
  s.drop = DrawDrop(Thing::kBox, random);
  s.rig = DropRig(3);
  s.tracks = Film(s.drop, s.rig, s.filming, random);
  const TrackPoses clean = PosesFromTracks(s.tracks, s.rig, s.drop.markers);
  int strays = 0;
  for (TrackPoint& p : s.tracks.points) {
    if (p.camera == 1 && p.marker == 2 && p.frame % 7 == 0) p.q += Vector2d(3, -2), ++strays;
  }
  ASSERT_GT(strays, 5);
  const TrackPoses poses = PosesFromTracks(s.tracks, s.rig, s.drop.markers);
  EXPECT_EQ(poses.outliers, strays);
  ASSERT_EQ(poses.recording.t.size(), clean.recording.t.size());
  for (std::size_t i = 0; i < poses.recording.t.size(); ++i) {
    EXPECT_LT(
        TrackPosesPoseError(poses.recording.X_WB[i], clean.recording.X_WB[i]).head<3>().norm(),
        1e-3);
  }
  TrackPosesOptions strict;
  strict.outliers = 0;
  const TrackPoses refused = PosesFromTracks(s.tracks, s.rig, s.drop.markers, strict);
  EXPECT_EQ(static_cast<int>(refused.refused.size()), strays);
  ASSERT_FALSE(refused.refused.empty());
  EXPECT_NE(refused.refused[0].reason.find("not those of the layout"), std::string::npos)
      << refused.refused[0].reason;
}

TEST(TrackPoses, PointsThatWereNotMeasuredArePassedOver) {
  Scene s = Make(Thing::kBox, 0.001, 0.05, 7);
  const TrackPoses all = PosesFromTracks(s.tracks, s.rig, s.drop.markers);
  for (TrackPoint& p : s.tracks.points) {
    if (p.marker != 0 || p.frame % 5 != 0) continue;
    p.flags |= p.camera == 0 ? kPredicted : kOutlier;
    p.q += Vector2d(40, 40);
  }
  const TrackPoses poses = PosesFromTracks(s.tracks, s.rig, s.drop.markers);
  EXPECT_TRUE(poses.outliers == 0);
  EXPECT_GE(poses.recording.t.size() + 3, all.recording.t.size());
}

TEST(TrackPoses, RefusalsAndErrorsNameWhatTheyMean) {
  Scene s = Make(Thing::kBox, 0, 0.05, 8);
  MarkerTracks alone = s.tracks;
  std::erase_if(alone.points, [](const TrackPoint& p) { return p.camera == 1; });
  const TrackPoses poses = PosesFromTracks(alone, s.rig, s.drop.markers);
  EXPECT_TRUE(poses.recording.t.empty());
  ASSERT_FALSE(poses.refused.empty());
  EXPECT_NE(poses.refused[0].reason.find("seen by 1 camera "), std::string::npos)
      << poses.refused[0].reason;
  const TrackPoses none =
      PosesFromTracks({"empty", s.tracks.cameras, s.tracks.markers, {}}, s.rig, s.drop.markers);
  EXPECT_TRUE(none.recording.t.empty() && none.refused.empty());

  MarkerTracks strange = s.tracks;
  strange.cameras[1] = "nobody";
  EXPECT_THROW(PosesFromTracks(strange, s.rig, s.drop.markers), ConfigError);
  auto more = s.drop.markers;
  more.push_back(more[0]);
  EXPECT_THROW(PosesFromTracks(s.tracks, s.rig, more), ConfigError);
  TrackPosesOptions options;
  options.offset = {0, 0, 0};
  EXPECT_THROW(PosesFromTracks(s.tracks, s.rig, s.drop.markers, options), ConfigError);
  options = {};
  options.longest_gap = 0;
  EXPECT_THROW(PosesFromTracks(s.tracks, s.rig, s.drop.markers, options), ConfigError);
  options = {};
  options.impacts = {std::nan("")};
  EXPECT_THROW(PosesFromTracks(s.tracks, s.rig, s.drop.markers, options), ConfigError);
}

}  // namespace
}  // namespace impactlab::test
