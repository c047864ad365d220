// Coverage of the triangulated point and its depth with noise of the pixels and of the rig, the
// latter drawn from the rig's own covariance.

#include <gtest/gtest.h>

#include <cstdio>

#include "calibration/camera/triangulate.h"
#include "data/statistics/statistics.h"
#include "tests/calibration/world_scene.h"
#include "tests/support/per_test_level.h"

namespace impactlab {
namespace {

TEST(TriangulateSlow, HostileT37CoverageWithPixelAndRigNoise) {
  constexpr int kSamples = 20000;
  const std::vector<double> baselines = {0.005, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0};
  const double level = PerTestLevel(1e-3, static_cast<int>(3 * baselines.size()));
  for (const double baseline : baselines) {
    std::mt19937_64 random(21);
    const CameraRig truth = scene::SideBySide(baseline, 2);
    const Eigen::MatrixXd cov = scene::TypicalCovariance(truth, baseline < 0.03 ? 0.1 : 0.5);
    const Eigen::MatrixXd root = scene::Root(cov);
    const Eigen::Vector3d p_W(0.05, -0.1, 2.05);
    const double depth = p_W.norm();
    std::vector<double> errors;
    double sd = 0;
    int inside68 = 0, inside95 = 0, inside3 = 0;
    for (int k = 0; k < kSamples; ++k) {
      CameraRig rig =
          scene::Moved(truth, root * scene::Normals(static_cast<int>(cov.rows()), random));
      rig.covariance = cov;
      const auto p = Triangulate(rig, scene::Observe(truth, p_W, 0.1, random));
      ASSERT_TRUE(p.usable) << p.reason;
      errors.push_back(std::abs(p.inverse_depth - 1 / depth));
      sd += p.sd_inverse_depth / kSamples;
      inside68 += p.depth_lower68 < depth && depth < p.depth_upper68;
      inside95 += p.depth_lower95 < depth && depth < p.depth_upper95;
      // In coordinates in which the error is normal: direction and inverse depth.
      const Eigen::Vector3d error = p.p_W / p.p_W.squaredNorm() - p_W / p_W.squaredNorm();
      const Eigen::Vector3d d = p.p_W.normalized();
      const Eigen::Matrix3d to_inverse =
          (Eigen::Matrix3d::Identity() - 2 * d * d.transpose()) / p.p_W.squaredNorm();
      inside3 += scene::Mahalanobis(error, to_inverse * p.cov * to_inverse.transpose()) <
                 ChiSquareQuantile(0.95, 3);
    }
    const double half_width = Quantile(errors, 0.6827);
    EXPECT_NEAR(half_width / sd, 1, 0.1) << baseline;
    EXPECT_TRUE(BinomialBand(kSamples, 0.6827, level).Contains(inside68))
        << baseline << ": " << inside68;
    EXPECT_TRUE(BinomialBand(kSamples, 0.95, level).Contains(inside95))
        << baseline << ": " << inside95;
    EXPECT_TRUE(BinomialBand(kSamples, 0.95, level).Contains(inside3))
        << baseline << ": " << inside3;
    std::printf(
        "baseline %5.3f m: sampled over predicted half width %.3f; inside 68 %%: %.4f, 95 %%: "
        "%.4f, point: %.4f\n",
        baseline, half_width / sd, 1.0 * inside68 / kSamples, 1.0 * inside95 / kSamples,
        1.0 * inside3 / kSamples);
  }
}

}  // namespace
}  // namespace impactlab
