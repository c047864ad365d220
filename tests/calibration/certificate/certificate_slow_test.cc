// The certificate's probabilities and the covariance of a rig in the world, over many calibrations
// of known truth.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "calibration/camera/triangulate.h"
#include "calibration/certificate/certificate.h"
#include "calibration/world/world.h"
#include "data/statistics/statistics.h"
#include "tests/support/rig_twin.h"

namespace impactlab {
namespace {

// Largest distance of the empirical distribution from the uniform one, times sqrt(n): above 1.95
// once in a thousand (Kolmogorov).
double Kolmogorov(std::vector<double> p) {
  std::sort(p.begin(), p.end());
  const double n = static_cast<double>(p.size());
  double largest = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    largest = std::max({largest, std::abs(p[i] - static_cast<double>(i) / n),
                        std::abs(p[i] - static_cast<double>(i + 1) / n)});
  return largest * std::sqrt(n);
}

TEST(CertificateSlow, ProbabilitiesAreUniformAndTheWorldCovers) {
  constexpr int kRuns = 150;
  std::vector<double> structure, against_truth, halves;
  int inside_point = 0, inside_frame = 0;
  double squared = 0, predicted = 0;
  std::mt19937_64 random(61);
  std::normal_distribution<double> normal;
  for (int k = 0; k < kRuns; ++k) {
    test::RigTwinOptions options;
    options.cameras = {test::MakePinhole(1280, 720, 1000), test::MakePinhole(1024, 768, 900)};
    options.X_WC = {Eigen::Isometry3d::Identity(), test::BesideLooking(0.3, 0.6)};
    options.shots = 24;
    options.warp = {2e-4, -1e-4};
    const test::RigTwin twin = test::MakeRigTwin(options, 5000 + k);
    const CalibrationResult result = Calibrate(twin.problem);
    ASSERT_TRUE(result.usable()) << result.reason;
    for (int c = 0; c < 2; ++c)
      structure.push_back(SummariseResiduals(twin.problem, result, c).structure_p);
    CalibrationResult truth;
    truth.status = CalibrationStatus::kSolved;
    truth.rig = twin.truth;
    truth.rig.covariance =
        Eigen::MatrixXd::Zero(ParameterCount(twin.truth), ParameterCount(twin.truth));
    const auto compared = CompareHalves(result, result, truth, 0);
    ASSERT_TRUE(compared.usable);
    against_truth.push_back(compared.cameras[0].p);  // the second camera's would not be independent
    squared += std::pow(compared.cameras[0].rms_difference, 2);
    predicted += std::pow(compared.cameras[0].rms_predicted, 2);
    if (k % 3 == 0) {
      const auto crossed = CrossValidate(twin.problem, result);
      ASSERT_TRUE(crossed.usable) << crossed.reason;
      halves.push_back(crossed.cameras[0].p);
    }

    // W from the board of one shot, whose true pose is known.
    int shot = 0;
    while (!result.shots[shot].used) ++shot;
    Eigen::Isometry3d X_WG = Eigen::Isometry3d::Identity();
    X_WG.linear() = Eigen::Vector3d(1, -1, -1).asDiagonal();
    const Eigen::Isometry3d X_WA = X_WG * twin.X_WG[shot].inverse();
    const FrameEstimate frame = FrameFromBoard(result, shot);
    ASSERT_TRUE(frame.usable) << frame.reason;
    Eigen::Matrix<double, 6, 1> error;
    const Eigen::AngleAxisd turn(X_WA.linear().transpose() * frame.X_WA.linear());
    error << turn.angle() * turn.axis(), frame.X_WA.translation() - X_WA.translation();
    inside_frame += error.dot(frame.cov.ldlt().solve(error)) < ChiSquareQuantile(0.95, 6);
    const CameraRig moved = MoveRig(result.rig, frame, "board");
    const Eigen::Vector3d p_A = twin.X_WG[shot] * Eigen::Vector3d(0.1, 0.05, -0.03),
                          p_W = X_WA * p_A;
    std::vector<PixelObservation> observations;
    for (int c = 0; c < 2; ++c) {
      const auto q =
          Project(twin.truth.cameras[c].camera, twin.truth.cameras[c].X_WC.inverse() * p_A);
      if (q)
        observations.push_back({c, *q + 0.1 * Eigen::Vector2d(normal(random), normal(random)),
                                0.01 * Eigen::Matrix2d::Identity()});
    }
    const TriangulatedPoint point = Triangulate(moved, observations);
    ASSERT_TRUE(point.usable) << point.reason;
    inside_point +=
        (point.p_W - p_W).dot(point.cov.ldlt().solve(point.p_W - p_W)) < ChiSquareQuantile(0.95, 3);
  }
  EXPECT_LT(Kolmogorov(structure), 1.95);
  EXPECT_LT(Kolmogorov(against_truth), 1.95);
  EXPECT_LT(Kolmogorov(halves), 1.95);
  EXPECT_NEAR(squared / predicted, 1, 0.35);
  EXPECT_TRUE(BinomialBand(kRuns, 0.95, 3e-4).Contains(inside_frame)) << inside_frame;
  EXPECT_TRUE(BinomialBand(kRuns, 0.95, 3e-4).Contains(inside_point)) << inside_point;
  std::printf(
      "structure %.2f, truth %.2f, halves %.2f (Kolmogorov, limit 1.95); error^2 / predicted %.3f; "
      "frame %d, point %d of %d\n",
      Kolmogorov(structure), Kolmogorov(against_truth), Kolmogorov(halves), squared / predicted,
      inside_frame, inside_point, kRuns);
}

}  // namespace
}  // namespace impactlab
