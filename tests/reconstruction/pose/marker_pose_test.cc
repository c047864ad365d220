// Pose of a marked body at one instant: exactness, covariance by Monte Carlo, and what cannot be
// known.

#include "reconstruction/pose/marker_pose.h"

#include <gtest/gtest.h>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::test {
namespace {

using Vector6 = Eigen::Matrix<double, 6, 1>;

std::vector<BodyMarker> Points(const std::vector<Vector3d>& p) {
  std::vector<BodyMarker> layout;
  layout.reserve(p.size());
  for (const Vector3d& x : p) layout.push_back({x, Vector3d::Zero(), 0});
  return layout;
}

std::vector<BodyMarker> Triangle() {
  return Points({{0.06, 0.01, 0.02}, {-0.05, 0.03, -0.01}, {0.01, -0.04, 0.03}});
}
std::vector<BodyMarker> Five() {
  return Points({{0.06, 0.01, 0.02},
                 {-0.05, 0.03, -0.01},
                 {0.01, -0.04, 0.03},
                 {0.02, 0.03, -0.05},
                 {-0.03, -0.02, 0.04}});
}
std::vector<BodyMarker> Line() { return Points({{0, 0, -0.09}, {0, 0, 0.01}, {0, 0, 0.08}}); }

std::vector<MarkerImage> Look(const CameraRig& rig, const std::vector<BodyMarker>& layout,
                              const Isometry3d& X_WB, double sd, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<MarkerImage> images;
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    for (std::size_t m = 0; m < layout.size(); ++m) {
      MarkerImage image{static_cast<int>(c), static_cast<int>(m),
                        CentroidOf(rig.cameras[c], layout[m], X_WB)};
      // Noise of unequal axes, so that a weight in the wrong place shows.
      const Eigen::Matrix2d root = sd * (Eigen::Matrix2d() << 1.5, 0, 0.4, 0.6).finished();
      image.cov = sd > 0 ? Eigen::Matrix2d(root * root.transpose())
                         : Eigen::Matrix2d(1e-4 * Eigen::Matrix2d::Identity());
      const double x = normal(random), y = normal(random);
      image.q += root * Vector2d(x, y);
      images.push_back(image);
    }
  }
  return images;
}

Isometry3d AnyPose(std::mt19937_64& random) {
  Isometry3d X = Isometry3d::Identity();
  X.linear() = AnyRotation(random);
  X.translation() = 0.05 * Normal3(random) + Vector3d(0, 0, 0.05);
  return X;
}

Isometry3d Shifted(Isometry3d X) {
  X.translation().x() += 0.01;
  X.linear() *= Turned(Vector3d(0.03, -0.02, 0.05));
  return X;
}

Vector6 PoseError(const Isometry3d& estimate, const Isometry3d& truth) {
  Vector6 error;
  error.head<3>() = estimate.translation() - truth.translation();
  const Eigen::AngleAxisd turn(Matrix3d(truth.linear().transpose() * estimate.linear()));
  error.tail<3>() = turn.angle() * turn.axis();
  return error;
}

TEST(MarkerPose, ExactImagesGiveThePose) {
  std::mt19937_64 random(1);
  for (int cameras : {2, 3}) {
    const CameraRig rig = DropRig(cameras);
    for (const auto& layout : {Triangle(), Five()}) {
      const Isometry3d truth = AnyPose(random);
      const MarkerPose pose = PoseFromMarkers(rig, layout, Look(rig, layout, truth, 0, random));
      ASSERT_TRUE(pose.usable) << pose.reason;
      EXPECT_TRUE(pose.observable);
      EXPECT_LT(PoseError(pose.X_WB, truth).norm(), 1e-8);
      EXPECT_LT(pose.chi_square, 1e-10);
      EXPECT_EQ(pose.dof, 2 * cameras * static_cast<int>(layout.size()) - 6);
    }
  }
}

// Discs and balls of 24 mm: through a pinhole the model is exact; what a lens bends over the marker
// itself is left out.
TEST(MarkerPose, DiscsAndBallsAreSeenWhereTheirImagesAre) {
  std::mt19937_64 random(2);
  const CameraRig lens = DropRig(2);
  CameraRig pinhole = lens;
  for (auto& camera : pinhole.cameras) {
    Eigen::VectorXd x = Intrinsics(camera.camera);
    x.tail(5).setZero();
    SetIntrinsics(camera.camera, x);
  }
  std::vector<BodyMarker> discs = Five(), balls = Five();
  for (auto& m : discs)
    m.radius = 0.012, m.normal_B = (Vector3d(0, -1, 0) + 0.5 * m.p_BM.normalized()).normalized();
  for (auto& m : balls) m.radius = 0.012;
  for (const auto& layout : {discs, balls}) {
    for (const CameraRig& rig : {pinhole, lens}) {
      double worst = 0, worst_without = 0;
      for (int k = 0; k < 20; ++k) {
        Isometry3d truth = AnyPose(random);
        truth.linear() = Turned(0.4 * Normal3(random));
        const auto images = Look(rig, layout, truth, 0, random);
        const MarkerPose pose = PoseFromMarkers(rig, layout, images),
                         without = PoseFromMarkers(rig, Five(), images);
        ASSERT_TRUE(pose.usable) << pose.reason;
        worst = std::max(worst, PoseError(pose.X_WB, truth).head<3>().norm());
        worst_without = std::max(worst_without, PoseError(without.X_WB, truth).head<3>().norm());
      }
      const bool exact = rig.cameras[0].camera.distortion[0] == 0;
      EXPECT_LT(worst, exact ? 1e-8 : 2e-5);  // [m]
      EXPECT_GT(worst_without, exact ? 5e-6 : worst);
    }
  }
}

struct Nees {
  double all = 0;
  int dof = 0;
  Eigen::Matrix<double, 6, 1> mean_z = Eigen::Matrix<double, 6, 1>::Zero();
  double chi_square = 0, consistency = 0;
  int chi_dof = 0, n = 0;
};

Nees RunNees(const std::vector<BodyMarker>& layout, int cameras, bool rig_error, double layout_sd,
             int n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  CameraRig truth = DropRig(cameras);
  if (rig_error) GiveCovariance(&truth, 0.5, 2e-4, 2e-4);
  MarkerPoseOptions options;
  options.layout_sd = layout_sd;
  Nees nees;
  for (int k = 0; k < n; ++k) {
    const Isometry3d X = AnyPose(random);
    std::vector<BodyMarker> given = layout;
    for (auto& m : given) m.p_BM += layout_sd * Normal3(random);
    const CameraRig rig = rig_error ? Miscalibrated(truth, random) : truth;
    const MarkerPose pose =
        PoseFromMarkers(rig, given, Look(truth, layout, X, 0.05, random), options);
    EXPECT_TRUE(pose.usable) << pose.reason;
    EXPECT_TRUE(pose.observable);
    if (!pose.usable) continue;
    const Vector6 error = PoseError(pose.X_WB, X);
    nees.all += error.dot(pose.cov.ldlt().solve(error));
    nees.dof += 6;
    nees.mean_z += error.cwiseQuotient(pose.cov.diagonal().cwiseSqrt()) / std::sqrt(n);
    nees.chi_square += pose.chi_square;
    nees.consistency += pose.consistency;
    nees.chi_dof += pose.dof;
    ++nees.n;
  }
  return nees;
}

void ExpectHonest(const Nees& nees) {
  EXPECT_TRUE(ChiSquareBand(nees.dof, 1e-4).lower < nees.all &&
              nees.all < ChiSquareBand(nees.dof, 1e-4).upper)
      << nees.all << " of " << nees.dof;
  EXPECT_TRUE(ChiSquareBand(nees.chi_dof, 1e-4).lower < nees.consistency &&
              nees.consistency < ChiSquareBand(nees.chi_dof, 1e-4).upper)
      << nees.consistency << " of " << nees.chi_dof;
  EXPECT_LT(nees.mean_z.cwiseAbs().maxCoeff(), 4.2) << nees.mean_z.transpose();
}

TEST(MarkerPose, CovarianceOfPixelNoise) {
  ExpectHonest(RunNees(Triangle(), 2, false, 0, 1000, 11));
  const Nees five = RunNees(Five(), 3, false, 0, 500, 12);
  ExpectHonest(five);
  EXPECT_EQ(five.chi_square, five.consistency);
}

TEST(MarkerPose, CovarianceOfRigAndLayoutErrors) {
  const Nees rig = RunNees(Five(), 2, true, 0, 500, 13);
  ExpectHonest(rig);
  EXPECT_GT(rig.chi_square, 1.5 * rig.chi_dof);  // the rig's error does show in the images
  ExpectHonest(RunNees(Five(), 2, true, 3e-4, 500, 14));
}

TEST(MarkerPose, MarkersOnALineLeaveTheRollToAGauge) {
  std::mt19937_64 random(21);
  const CameraRig rig = DropRig(2);
  double nees = 0;
  const int n = 500;
  for (int k = 0; k < n; ++k) {
    const Isometry3d truth = AnyPose(random);
    const MarkerPose pose = PoseFromMarkers(rig, Line(), Look(rig, Line(), truth, 0.05, random));
    ASSERT_TRUE(pose.usable) << pose.reason;
    ASSERT_FALSE(pose.observable);
    ASSERT_TRUE(pose.cov.allFinite());
    ASSERT_TRUE(pose.X_WB.matrix().allFinite());
    EXPECT_LT((pose.axis_B - Vector3d::UnitZ()).norm(), 1e-6);
    EXPECT_NEAR(pose.cov(5, 5), 0, 1e-12);
    EXPECT_GT(pose.cov(3, 3), 0);
    // Turned about the axis onto the estimate's gauge, the truth is covered in the five directions
    // that are known.
    const Vector3d axis = truth.linear().col(2);
    Isometry3d same = truth;
    const Vector3d x = pose.X_WB.linear().col(0), x_true = truth.linear().col(0),
                   y_true = truth.linear().col(1);
    same.linear() =
        truth.linear() * Turned(std::atan2(x.dot(y_true), x.dot(x_true)) * Vector3d::UnitZ());
    EXPECT_LT((same.linear().col(2) - axis).norm(), 1e-12);
    const Vector6 error = PoseError(pose.X_WB, same);
    nees += error.head<5>().dot(pose.cov.topLeftCorner<5, 5>().ldlt().solve(error.head<5>()));
  }
  const Interval band = ChiSquareBand(5.0 * n, 1e-4);
  EXPECT_TRUE(band.lower < nees && nees < band.upper) << nees;
  // A pose before fixes the gauge: nothing turns that need not turn.
  Isometry3d before = AnyPose(random);
  Isometry3d now = before;
  now.linear() = Turned(Vector3d(0.05, -0.02, 0.03)) * before.linear();
  const MarkerPose pose =
      PoseFromMarkers(rig, Line(), Look(rig, Line(), now, 0, random), {}, before);
  const Eigen::AngleAxisd turn(Matrix3d(before.linear().transpose() * pose.X_WB.linear()));
  EXPECT_NEAR(turn.axis().z() * turn.angle(), 0, 1e-6);
}

// Off the line by less than its images tell: no roll is made of noise.
TEST(MarkerPose, NearlyALineIsALine) {
  std::mt19937_64 random(22);
  const CameraRig rig = DropRig(2);
  auto layout = Line();
  layout[1].p_BM.x() = 1e-4;
  for (int k = 0; k < 50; ++k) {
    const MarkerPose pose =
        PoseFromMarkers(rig, layout, Look(rig, layout, AnyPose(random), 0.3, random));
    ASSERT_TRUE(pose.usable) << pose.reason;
    EXPECT_FALSE(pose.observable);
    EXPECT_TRUE(pose.cov.allFinite());
  }
  layout[1].p_BM.x() = 0.02;
  EXPECT_TRUE(
      PoseFromMarkers(rig, layout, Look(rig, layout, AnyPose(random), 0.05, random)).observable);
}

TEST(MarkerPose, RefusalsNameTheReason) {
  std::mt19937_64 random(31);
  const CameraRig rig = DropRig(2);
  const Isometry3d truth = AnyPose(random);
  const auto has = [](const MarkerPose& pose, const std::string& words) {
    EXPECT_FALSE(pose.usable);
    EXPECT_NE(pose.reason.find(words), std::string::npos) << pose.reason;
    EXPECT_TRUE(pose.X_WB.matrix().allFinite());
    EXPECT_TRUE(pose.cov.allFinite());
  };
  auto images = Look(rig, Five(), truth, 0.05, random);
  has(PoseFromMarkers(rig, Five(), {}), "0 markers are seen");
  has(PoseFromMarkers(rig, Five(), {images[0], images[1], images[5], images[6]}),
      "2 markers are seen");
  // Every marker in one camera only: no start without a pose nearby, and with one there is a pose.
  const std::vector<MarkerImage> apart = {images[0], images[1], images[7], images[8], images[4]};
  has(PoseFromMarkers(rig, Five(), apart), "can be placed in space");
  const MarkerPose helped = PoseFromMarkers(rig, Five(), apart, {}, Shifted(truth));
  EXPECT_TRUE(helped.usable) << helped.reason;
  EXPECT_LT(PoseError(helped.X_WB, truth).norm(), 0.02);

  auto mirrored = Five();
  for (auto& m : mirrored) m.p_BM.x() = -m.p_BM.x();
  has(PoseFromMarkers(rig, mirrored, images), "mirrored");
  auto wrong = Five();
  wrong[2].p_BM.x() += 0.003;
  has(PoseFromMarkers(rig, wrong, images), "not those of the layout");
  auto swapped = images;
  std::swap(swapped[0].q, swapped[1].q);
  has(PoseFromMarkers(rig, Five(), swapped), "");
  has(PoseFromMarkers(rig, Points({{0.1, 0, 0}, {0.1, 0, 0}, {0.1, 0, 0}}),
                      Look(rig, Triangle(), truth, 0, random)),
      "at one place");
  // Markers 0.2 mm apart: their noise is larger than what parts them.
  has(PoseFromMarkers(
          rig, Points({{0, 0, 0}, {2e-4, 0, 0}, {0, 2e-4, 0}}),
          Look(rig, Points({{0, 0, 0}, {2e-4, 0, 0}, {0, 2e-4, 0}}), truth, 0.1, random)),
      "too close");
  auto bad = images;
  bad[3].q.x() = std::nan("");
  has(PoseFromMarkers(rig, Five(), bad), "not a number");
  bad = images;
  bad[3].cov.setZero();
  has(PoseFromMarkers(rig, Five(), bad), "positive definite");
  bad = images;
  bad[3].camera = 2;
  EXPECT_THROW(PoseFromMarkers(rig, Five(), bad), ConfigError);
  bad[3].camera = 0;
  bad[3].marker = 5;
  EXPECT_THROW(PoseFromMarkers(rig, Five(), bad), ConfigError);
  CameraRig odd = rig;
  odd.covariance.setIdentity(3, 3);
  EXPECT_THROW(PoseFromMarkers(odd, Five(), images), ConfigError);
  auto crooked = Five();
  crooked[0].normal_B = {0, 0, 2};
  EXPECT_THROW(PoseFromMarkers(rig, crooked, images), ConfigError);
}

TEST(MarkerPose, FrameInvariance) {
  std::mt19937_64 random(41);
  CameraRig rig = DropRig(2);
  const Isometry3d truth = AnyPose(random);
  const auto images = Look(rig, Five(), truth, 0.05, random);
  const MarkerPose one = PoseFromMarkers(rig, Five(), images);
  const Isometry3d move = AnyPose(random);
  for (auto& camera : rig.cameras) camera.X_WC = move * camera.X_WC;
  const MarkerPose other = PoseFromMarkers(rig, Five(), images);
  EXPECT_LT(PoseError(other.X_WB, move * one.X_WB).norm(), 1e-9);
  EXPECT_NEAR(one.chi_square, other.chi_square, 1e-6);
  EXPECT_NEAR(one.cov.trace(), other.cov.trace(), 1e-4 * one.cov.trace());
}

}  // namespace
}  // namespace impactlab::test
