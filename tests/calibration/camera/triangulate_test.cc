#include "calibration/camera/triangulate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "tests/calibration/world_scene.h"
#include "tests/support/per_test_level.h"

namespace impactlab {
namespace {

using scene::Moved;
using scene::Observe;
using scene::SideBySide;
using ::testing::HasSubstr;

void ExpectNoNan(const TriangulatedPoint& p) {
  EXPECT_TRUE(p.p_W.allFinite());
  EXPECT_TRUE(p.cov.allFinite());
  EXPECT_TRUE(p.cov_pixels.allFinite());
  for (double x : {p.depth, p.inverse_depth, p.sd_inverse_depth, p.depth_lower68, p.depth_upper68,
                   p.depth_lower95, p.depth_upper95})
    EXPECT_FALSE(std::isnan(x));
}

TEST(Triangulate, FindsPointsOfExactPixels) {
  std::mt19937_64 random(11);
  std::uniform_real_distribution<double> u(-1, 1);
  for (const LensModel model : {LensModel::kBrown, LensModel::kRational, LensModel::kFisheye}) {
    for (int n = 2; n <= 4; ++n) {
      const CameraRig rig = SideBySide(0.8, 2, n, model);
      for (int k = 0; k < 50; ++k) {
        const Eigen::Vector3d p(0.3 * u(random), 0.2 * u(random), 2 + 0.5 * u(random));
        const auto found = Triangulate(rig, Observe(rig, p, 0, random));
        ASSERT_TRUE(found.usable) << found.reason;
        EXPECT_LT((found.p_W - p).norm(), 1e-9);
        EXPECT_NEAR(found.depth, p.norm(), 1e-9);
        EXPECT_LT(found.chi_square, 1e-12);
        EXPECT_EQ(found.dof, 2 * n - 3);
      }
    }
  }
}

TEST(Triangulate, AnswerDoesNotDependOnTheOrderOfCameras) {
  std::mt19937_64 random(12);
  const CameraRig rig = SideBySide(0.5, 2, 3);
  auto observations = Observe(rig, {0.1, -0.05, 1.8}, 0.5, random);
  observations[1].cov << 0.3, 0.1, 0.1, 0.6;
  const auto one = Triangulate(rig, observations);
  std::reverse(observations.begin(), observations.end());
  const auto other = Triangulate(rig, observations);
  EXPECT_LT((one.p_W - other.p_W).norm(), 1e-9);
  EXPECT_LT((one.cov - other.cov).norm(), 1e-7 * one.cov.norm());
  EXPECT_NEAR(one.chi_square, other.chi_square, 1e-9);
}

TEST(Triangulate, IsAMinimumOfTheReprojection) {
  std::mt19937_64 random(13);
  const CameraRig rig = SideBySide(0.5, 2, 3);
  const auto observations = Observe(rig, {0.1, -0.05, 1.8}, 2, random);
  const auto found = Triangulate(rig, observations);
  const auto cost = [&](const Eigen::Vector3d& p) {
    double sum = 0;
    for (const auto& o : observations) {
      const Eigen::Vector2d r =
          *Project(rig.cameras[o.camera].camera, rig.cameras[o.camera].X_WC.inverse() * p) - o.q;
      sum += r.dot(o.cov.inverse() * r);
    }
    return sum;
  };
  EXPECT_NEAR(cost(found.p_W), found.chi_square, 1e-6);
  for (int i = 0; i < 3; ++i)
    for (double h : {-1e-4, 1e-4})
      EXPECT_GT(cost(found.p_W + h * Eigen::Vector3d::Unit(i)), found.chi_square);
}

// The estimate is an implicit function of the rig: its derivative against re-solving with a moved
// rig.
TEST(Triangulate, DerivativesByTheRigMatchDifferences) {
  std::mt19937_64 random(14);
  TriangulateOptions options;
  options.derivatives = true;
  for (const LensModel model : {LensModel::kBrown, LensModel::kFisheye}) {
    const CameraRig rig = SideBySide(0.6, 2, 3, model);
    const auto observations = Observe(rig, {0.15, -0.1, 1.9}, 0, random);
    const auto found = Triangulate(rig, observations, options);
    const int n = ParameterCount(rig);
    ASSERT_EQ(found.dp_drig.cols(), n);
    for (int i = 0; i < n; ++i) {
      const double h = 1e-5;
      const Eigen::VectorXd d = h * Eigen::VectorXd::Unit(n, i);
      const Eigen::Vector3d plus = Triangulate(Moved(rig, d), observations).p_W,
                            minus = Triangulate(Moved(rig, -d), observations).p_W;
      EXPECT_LT(((plus - minus) / (2 * h) - found.dp_drig.col(i)).norm(),
                1e-6 * (1 + found.dp_drig.col(i).norm()))
          << ParameterNames(rig)[i];
    }
  }
}

// The same by pixels: covariance = sum of (dp/dq) cov (dp/dq)'.
TEST(Triangulate, PixelCovarianceMatchesDifferences) {
  std::mt19937_64 random(15);
  const CameraRig rig = SideBySide(0.6, 2, 3);
  auto observations = Observe(rig, {0.15, -0.1, 1.9}, 0, random);
  observations[2].cov << 0.09, 0.02, 0.02, 0.04;
  const auto found = Triangulate(rig, observations);
  Eigen::Matrix3d expected = Eigen::Matrix3d::Zero();
  for (auto& o : observations) {
    Eigen::Matrix<double, 3, 2> dp_dq;
    for (int i = 0; i < 2; ++i) {
      const double h = 1e-3;
      o.q(i) += h;
      const Eigen::Vector3d plus = Triangulate(rig, observations).p_W;
      o.q(i) -= 2 * h;
      dp_dq.col(i) = (plus - Triangulate(rig, observations).p_W) / (2 * h);
      o.q(i) += h;
    }
    expected += dp_dq * o.cov * dp_dq.transpose();
  }
  EXPECT_LT((expected - found.cov_pixels).norm(), 1e-5 * expected.norm());
}

TEST(Triangulate, HostileT36NoBaselineIsNamedAndNothingIsNan) {
  std::mt19937_64 random(16);
  CameraRig rig;
  for (int c = 0; c < 2; ++c)
    rig.cameras.push_back(
        {c ? "right" : "left", scene::SmallCamera(), Eigen::Isometry3d::Identity()});
  rig.covariance = scene::TypicalCovariance(rig);
  const auto found = Triangulate(rig, {{0, {640, 360}}, {1, {640, 360}}});
  EXPECT_FALSE(found.usable);
  EXPECT_THAT(found.reason, HasSubstr("no depth"));
  EXPECT_EQ(found.depth_lower95, 0);
  EXPECT_TRUE(std::isinf(found.depth_upper95));
  ExpectNoNan(found);

  // The covariance grows without bound as the baseline goes to 0, without a jump and without NaN.
  double last = 0;
  for (int power = 0; power < 10; ++power) {
    const double baseline = std::pow(10, -power);
    rig.cameras[1].X_WC.translation().x() = baseline;
    const auto p = Triangulate(rig, Observe(rig, {0.1, 0.05, 2}, 0, random));
    ExpectNoNan(p);
    EXPECT_GT(p.sd_inverse_depth, 5 * last) << baseline;
    EXPECT_EQ(p.usable, p.sd_inverse_depth < 0.3 * p.inverse_depth) << p.reason;
    if (!p.usable) {
      EXPECT_THAT(p.reason, HasSubstr("depth"));
    }
    last = p.sd_inverse_depth;
  }
}

TEST(Triangulate, HostileT36ParallelAxesAndIntegerPixels) {
  CameraRig rig;
  for (int c = 0; c < 2; ++c)
    rig.cameras.push_back(
        {c ? "right" : "left", scene::SmallCamera(), Eigen::Isometry3d::Identity()});
  rig.cameras[1].X_WC.translation().x() = 0.4;
  // the same pixel: rays exactly parallel
  const auto parallel = Triangulate(rig, {{0, {700, 400}}, {1, {700, 400}}});
  EXPECT_FALSE(parallel.usable);
  EXPECT_THAT(parallel.reason, HasSubstr("parallel"));
  EXPECT_TRUE(std::isinf(parallel.depth_upper95));
  EXPECT_GT(parallel.depth_lower95, 10);
  ExpectNoNan(parallel);

  // crossed: the rays meet behind
  const auto apart = Triangulate(rig, {{0, {700, 400}}, {1, {800, 400}}});
  EXPECT_FALSE(apart.usable);
  EXPECT_THAT(apart.reason, HasSubstr("behind"));
  ExpectNoNan(apart);

  const auto near = Triangulate(rig, {{0, {700, 400}}, {1, {500, 401}}});
  ASSERT_TRUE(near.usable) << near.reason;
  EXPECT_NEAR(near.p_W.z(), 2, 0.1);
  ExpectNoNan(near);
}

TEST(Triangulate, PointOnTheLineThatJoinsTheCamerasHasNoDepth) {
  CameraRig rig;
  for (int c = 0; c < 2; ++c)
    rig.cameras.push_back({c ? "far" : "near", scene::SmallCamera(LensModel::kFisheye, 400),
                           Eigen::Isometry3d::Identity()});
  rig.cameras[1].X_WC.translation().z() = 0.5;
  const Eigen::Vector2d axis(645.3, 352.7);
  const auto found = Triangulate(rig, {{0, axis}, {1, axis}});
  EXPECT_FALSE(found.usable);
  ExpectNoNan(found);
}

TEST(Triangulate, RefusesWhatItCannotUse) {
  std::mt19937_64 random(17);
  const CameraRig rig = SideBySide(0.5, 2, 2);
  EXPECT_THROW(Triangulate(rig, {{0, {1, 1}}, {2, {1, 1}}}), ConfigError);
  EXPECT_THROW(Triangulate(rig, {{-1, {1, 1}}}), ConfigError);
  CameraRig odd = rig;
  odd.covariance = Eigen::MatrixXd::Identity(5, 5);
  EXPECT_THROW(Triangulate(odd, {{0, {1, 1}}, {1, {1, 1}}}), ConfigError);
  EXPECT_THAT(Triangulate(rig, {}).reason, HasSubstr("fewer than two"));
  EXPECT_THAT(Triangulate(rig, {{0, {600, 300}}}).reason, HasSubstr("fewer than two"));
  EXPECT_THAT(Triangulate(rig, {{0, {NAN, 3}}, {1, {1, 1}}}).reason, HasSubstr("not a number"));
  auto observations = Observe(rig, {0, 0, 2}, 0, random);
  observations[1].cov.setZero();
  EXPECT_THAT(Triangulate(rig, observations).reason, HasSubstr("positive definite"));
  observations[1].cov << 1, 2, 2, 1;
  EXPECT_THAT(Triangulate(rig, observations).reason, HasSubstr("positive definite"));

  // A lens that folds: a pixel beyond the fold has no ray.
  CameraRig folding = rig;
  Eigen::VectorXd v = Intrinsics(folding.cameras[1].camera);
  v.segment<5>(4) << -0.4, 0, 0, 0, 0;
  SetIntrinsics(folding.cameras[1].camera, v);
  EXPECT_THAT(Triangulate(folding, {{0, {600, 300}}, {1, {645 + 700, 352}}}).reason,
              HasSubstr("camera1"));
}

TEST(Triangulate, RefusesADepthThatIsNotDetermined) {
  std::mt19937_64 random(18);
  const CameraRig rig = SideBySide(0.005, 2);
  const auto found = Triangulate(rig, [&] {
    auto o = Observe(rig, {0, 0, 2}, 0, random);
    for (auto& x : o) x.cov = Eigen::Matrix2d::Identity();
    return o;
  }());
  EXPECT_FALSE(found.usable);
  EXPECT_THAT(found.reason, HasSubstr("not determined"));
  // sqrt(2) sigma / (f b)
  EXPECT_NEAR(found.sd_inverse_depth, std::sqrt(2.0) / (1007.5 * 0.005), 0.02);
  EXPECT_TRUE(std::isinf(found.depth_upper95));
  EXPECT_NEAR(found.depth_lower68, 1 / (0.5 + found.sd_inverse_depth), 1e-6);
  ExpectNoNan(found);
}

// Baselines from 5 mm to 2 m at about 2 m: the predicted 68 % half width of the inverse depth
// against sampling.
TEST(Triangulate, HostileT37InverseDepthMatchesSampling) {
  constexpr int kSamples = 1500;
  for (const double baseline : {0.005, 0.02, 0.1, 0.5, 2.0}) {
    std::mt19937_64 random(19);
    const CameraRig rig = SideBySide(baseline, 2);
    const Eigen::Vector3d truth(0.05, -0.1, 2.05);
    const auto exact = Triangulate(rig, Observe(rig, truth, 0, random));  // 0.1 px
    ASSERT_TRUE(exact.usable) << exact.reason;
    EXPECT_GT(exact.depth_upper95 - exact.depth, exact.depth - exact.depth_lower95)
        << "the far side is longer";
    std::vector<double> errors;
    int inside68 = 0, inside95 = 0;
    for (int k = 0; k < kSamples; ++k) {
      const auto p = Triangulate(rig, Observe(rig, truth, 0.1, random));
      ASSERT_TRUE(p.usable) << p.reason;
      errors.push_back(std::abs(p.inverse_depth - 1 / truth.norm()));
      inside68 += p.depth_lower68 < truth.norm() && truth.norm() < p.depth_upper68;
      inside95 += p.depth_lower95 < truth.norm() && truth.norm() < p.depth_upper95;
    }
    EXPECT_NEAR(Quantile(errors, 0.6827) / exact.sd_inverse_depth, 1, 0.1) << baseline;
    const double level = PerTestLevel(1e-3, 10);
    EXPECT_TRUE(BinomialBand(kSamples, 0.6827, level).Contains(inside68))
        << baseline << ": " << inside68;
    EXPECT_TRUE(BinomialBand(kSamples, 0.95, level).Contains(inside95))
        << baseline << ": " << inside95;
  }
}

TEST(Triangulate, ChiSquareHasItsMean) {
  std::mt19937_64 random(20);
  const CameraRig rig = SideBySide(0.5, 2, 4);
  double sum = 0;
  constexpr int kSamples = 2000;
  for (int k = 0; k < kSamples; ++k)
    sum += Triangulate(rig, Observe(rig, {0, 0.1, 2}, 0.3, random)).chi_square;
  EXPECT_NEAR(sum / kSamples, 5, 4 * std::sqrt(2 * 5.0 / kSamples));
}

// With a rig that is wrong within its covariance the residuals are larger than the pixels' noise,
// and known to be.
TEST(Triangulate, ConsistencyCountsTheRig) {
  std::mt19937_64 random(22);
  const CameraRig truth = SideBySide(0.5, 2, 3);
  const Eigen::MatrixXd cov = scene::TypicalCovariance(truth, 0.5), root = scene::Root(cov);
  double with_rig = 0, pixels = 0;
  constexpr int kSamples = 1000;
  for (int k = 0; k < kSamples; ++k) {
    CameraRig rig = Moved(truth, root * scene::Normals(static_cast<int>(cov.rows()), random));
    rig.covariance = cov;
    const auto p = Triangulate(rig, Observe(truth, {0, 0.1, 2}, 0.1, random));
    with_rig += p.consistency / kSamples;
    pixels += p.chi_square / kSamples;
  }
  EXPECT_NEAR(with_rig, 3, 4 * std::sqrt(6.0 / kSamples));
  EXPECT_GT(pixels, 6);
}

}  // namespace
}  // namespace impactlab
