// A marker from its images: coverage, votes, and geometry that cannot say where a point is.

#include "reconstruction/pose/triangulate.h"

#include <gtest/gtest.h>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::test {
namespace {

std::vector<PixelObservation> TriangulateLook(const CameraRig& rig, const Vector3d& p_W, double sd,
                                              std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<PixelObservation> seen;
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    // Noise of unequal axes, so that a weight in the wrong place shows.
    const Eigen::Matrix2d root = sd * (Eigen::Matrix2d() << 1.5, 0, 0.4, 0.6).finished();
    PixelObservation one{static_cast<int>(c),
                         *Project(rig.cameras[c].camera, rig.cameras[c].X_WC.inverse() * p_W)};
    one.cov = sd > 0 ? Eigen::Matrix2d(root * root.transpose())
                     : Eigen::Matrix2d(1e-4 * Eigen::Matrix2d::Identity());
    const double x = normal(random), y = normal(random);
    one.q += root * Vector2d(x, y);
    seen.push_back(one);
  }
  return seen;
}

void TriangulateExpectCovered(int cameras, bool rig_error, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  CameraRig truth = DropRig(cameras);
  if (rig_error) GiveCovariance(&truth, 0.5, 2e-4, 2e-4);
  double nees = 0, consistency = 0, blind = 0;
  int chi_dof = 0;
  const int n = 1000;
  for (int k = 0; k < n; ++k) {
    const Vector3d p = 0.08 * Normal3(random);
    const CameraRig rig = rig_error ? Miscalibrated(truth, random) : truth;
    PlaceOptions options;
    options.misfit_probability = 0;
    const PlacedPoint point = PlacePoint(rig, TriangulateLook(truth, p, 0.05, random), options);
    ASSERT_TRUE(point.usable) << point.reason;
    const Vector3d error = point.point.p_W - p;
    nees += error.dot(point.point.cov.ldlt().solve(error));
    consistency += point.point.consistency;
    chi_dof += point.point.dof;
    options.rig_covariance = false;
    const PlacedPoint pixels = PlacePoint(rig, TriangulateLook(truth, p, 0.05, random), options);
    const Vector3d other = pixels.point.p_W - p;
    blind += other.dot(pixels.point.cov.ldlt().solve(other));
  }
  const Interval band = ChiSquareBand(3.0 * n, 1e-4), chi = ChiSquareBand(chi_dof, 1e-4);
  EXPECT_TRUE(band.lower < nees && nees < band.upper) << nees;
  EXPECT_TRUE(chi.lower < consistency && consistency < chi.upper)
      << consistency << " of " << chi_dof;
  if (rig_error) {
    EXPECT_GT(blind, 2 * band.upper);  // the rig's errors are not small here
  }
}

TEST(PlacePoint, CovarianceOfTwoViews) { TriangulateExpectCovered(2, false, 1); }
TEST(PlacePoint, CovarianceOfThreeViews) { TriangulateExpectCovered(3, false, 2); }
TEST(PlacePoint, CovarianceWithTheRig) { TriangulateExpectCovered(3, true, 3); }

TEST(PlacePoint, TheRigsDerivativesGiveTheCovarianceOfADistance) {
  std::mt19937_64 random(4);
  CameraRig rig = DropRig(2);
  GiveCovariance(&rig, 0.5, 2e-4, 2e-4);
  PlaceOptions options;
  options.derivatives = true;
  const PlacedPoint a = PlacePoint(rig, TriangulateLook(rig, {0, 0, 0}, 0, random), options);
  const PlacedPoint b = PlacePoint(rig, TriangulateLook(rig, {0.05, 0, 0}, 0, random), options);
  ASSERT_TRUE(a.usable && b.usable);
  EXPECT_NEAR(a.baseline, 0.34, 1e-12);
  EXPECT_GT(a.angle, 0.3);
  EXPECT_LT(a.angle, 0.45);
  // Errors of the rig are common: the distance of two near points is known far better than either.
  const Eigen::MatrixXd difference = b.point.dp_drig - a.point.dp_drig;
  const Eigen::Matrix3d cov = difference * rig.covariance * difference.transpose();
  EXPECT_LT(cov(0, 0), 0.2 * (a.point.cov - a.point.cov_pixels)(0, 0));
}

TEST(PlacePoint, ThreeViewsVoteOutTheWrongOne) {
  std::mt19937_64 random(5);
  CameraRig rig = DropRig(3);
  // off the line of the others, so that no two of them agree with a stray
  rig.cameras[2].X_WC.translation() += Vector3d(0, 0, 0.25);
  rig.cameras[2].X_WC.linear() =
      Turned(Vector3d(0.27, 0, 0)).transpose() * rig.cameras[2].X_WC.linear();
  int right = 0;
  const int n = 200;
  for (int k = 0; k < n; ++k) {
    const Vector3d p = 0.05 * Normal3(random);
    auto seen = TriangulateLook(rig, p, 0.05, random);
    const int stray = k % 3;
    const double angle = 0.1 * k;
    seen[stray].q += 6 * Vector2d(std::cos(angle), std::sin(angle));
    const PlacedPoint point = PlacePoint(rig, seen);
    if (!point.usable) {
      // Along the line that two cameras cannot judge no vote decides; that is said.
      EXPECT_EQ(point.fault, PlaceFault::kNotOnePoint) << point.reason;
      continue;
    }
    // Where a point came out, it is the right one.
    EXPECT_FALSE(point.views[stray].used) << k;
    EXPECT_NE(point.views[stray].reason.find("voted out"), std::string::npos);
    EXPECT_NEAR(point.views[stray].r.norm(), 6, 1);
    EXPECT_GT(point.views[stray].distance, 20);
    EXPECT_LT((point.point.p_W - p).norm(), 1e-3);
    ++right;
  }
  EXPECT_GT(right, 0.8 * n);
}

TEST(PlacePoint, TwoStraysAmongSix) {
  std::mt19937_64 random(6);
  CameraRig rig = DropRig(6);
  for (int c = 0; c < 6; ++c) {
    RigCamera& camera = rig.cameras[c];
    const Vector3d p(0.9 * std::sin(0.5 * (c - 2.5)), -0.9 * std::cos(0.5 * (c - 2.5)),
                     0.15 * (c % 3)),
        forward = -p.normalized();
    const Vector3d right = forward.cross(Vector3d::UnitZ()).normalized();
    camera.X_WC.linear() << right, forward.cross(right), forward;
    camera.X_WC.translation() = p;
  }
  for (int k = 0; k < 20; ++k) {
    const Vector3d p = 0.05 * Normal3(random);
    auto seen = TriangulateLook(rig, p, 0.1, random);
    const int a = k % 6, b = (a + 1 + k / 6) % 6;
    seen[a].q += Vector2d(8, -15);
    seen[b].q += Vector2d(-20, 9);
    const PlacedPoint point = PlacePoint(rig, seen);
    ASSERT_TRUE(point.usable) << point.reason;
    for (int c = 0; c < 6; ++c) EXPECT_EQ(point.views[c].used, c != a && c != b) << k << " " << c;
    EXPECT_LT((point.point.p_W - p).norm(), 1e-3);
  }
}

TEST(PlacePoint, TwoViewsThatDisagreeAreNotOnePoint) {
  std::mt19937_64 random(7);
  const CameraRig rig = DropRig(2);
  auto seen = TriangulateLook(rig, {0.02, 0.01, 0.03}, 0.05, random);
  seen[1].q.y() += 5;
  const PlacedPoint point = PlacePoint(rig, seen);
  EXPECT_FALSE(point.usable);
  EXPECT_EQ(point.fault, PlaceFault::kNotOnePoint);
  EXPECT_NE(point.reason.find("chi-square"), std::string::npos) << point.reason;
  PlaceOptions trusting;
  trusting.misfit_probability = 0;
  EXPECT_TRUE(PlacePoint(rig, seen, trusting).usable);
}

TEST(PlacePoint, DegenerateGeometryIsNamed) {
  std::mt19937_64 random(8);
  const CameraRig rig = DropRig(2);
  const auto fault = [](const PlacedPoint& point, PlaceFault expected) {
    EXPECT_FALSE(point.usable);
    EXPECT_EQ(point.fault, expected) << point.reason;
    EXPECT_FALSE(point.reason.empty());
    EXPECT_TRUE(point.point.p_W.allFinite() && point.point.cov.allFinite());
  };
  auto seen = TriangulateLook(rig, {0, 0, 0}, 0.05, random);
  fault(PlacePoint(rig, {}), PlaceFault::kTooFewViews);
  fault(PlacePoint(rig, {seen[0]}), PlaceFault::kTooFewViews);
  auto bad = seen;
  bad[1].q.x() = std::nan("");
  fault(PlacePoint(rig, bad), PlaceFault::kTooFewViews);
  EXPECT_NE(PlacePoint(rig, bad).reason.find("camera1: the image point is not a number"),
            std::string::npos)
      << PlacePoint(rig, bad).reason;
  bad = seen;
  bad[0].cov.setZero();
  fault(PlacePoint(rig, bad), PlaceFault::kTooFewViews);

  // A kilometre away: the rays are parallel as far as anyone can tell.
  const Vector3d far_away = rig.cameras[0].X_WC * Vector3d(0, 0, 2000);
  CameraRig ahead = rig;
  for (auto& camera : ahead.cameras) camera.X_WC.linear() = rig.cameras[0].X_WC.linear();
  fault(PlacePoint(ahead, TriangulateLook(ahead, far_away, 0.05, random)),
        PlaceFault::kParallelRays);
  // Nearer, with a large uncertainty: a depth, but a poor one.
  const Vector3d distant = rig.cameras[0].X_WC * Vector3d(0, 0, 12);
  PlaceOptions strict;
  strict.max_relative_sd = 1e-3;
  fault(PlacePoint(ahead, TriangulateLook(ahead, distant, 0.05, random), strict),
        PlaceFault::kDepthUndetermined);
  // Rays that meet behind the cameras: the images of the point's reflections in both centres.
  auto crossed = seen;
  for (int c = 0; c < 2; ++c) {
    const Vector3d p_C =
        rig.cameras[c].X_WC.inverse() * (rig.cameras[0].X_WC * Vector3d(0.1, 0.1, -3));
    crossed[c].q = *Project(rig.cameras[c].camera, -p_C);
  }
  fault(PlacePoint(rig, crossed), PlaceFault::kBehindCamera);
  // Cameras at one place.
  CameraRig together = rig;
  together.cameras[1].X_WC.translation() = rig.cameras[0].X_WC.translation() + Vector3d(2e-4, 0, 0);
  fault(PlacePoint(together, TriangulateLook(together, {0, 0, 0}, 0.05, random)),
        PlaceFault::kNoBaseline);
}

TEST(PlacePoint, MistakesOfTheCallerThrow) {
  std::mt19937_64 random(9);
  CameraRig rig = DropRig(2);
  const auto seen = TriangulateLook(rig, {0, 0, 0}, 0.05, random);
  EXPECT_THROW(PlacePoint(rig, {seen[0], seen[0]}), ConfigError);
  EXPECT_THROW(PlacePoint(rig, {{2, {1, 1}}, seen[0]}), ConfigError);
  EXPECT_THROW(PlacePoint(rig, {{-1, {1, 1}}}), ConfigError);
  PlaceOptions options;
  options.misfit_probability = 1;
  EXPECT_THROW(PlacePoint(rig, seen, options), ConfigError);
  rig.covariance.setIdentity(3, 3);
  EXPECT_THROW(PlacePoint(rig, seen), ConfigError);
}

}  // namespace
}  // namespace impactlab::test
