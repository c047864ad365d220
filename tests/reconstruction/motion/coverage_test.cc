// Does the joint covariance of an event cover the truth? Monte Carlo over random clean impacts.

#include <gtest/gtest.h>

#include <cmath>

#include "data/statistics/statistics.h"
#include "tests/reconstruction/motion/motion_scene.h"

namespace impactlab::testing {
namespace {

MotionFitOptions Exact(const Noise& noise) {
  MotionFitOptions options;
  options.sigma_position = noise.position;
  options.sigma_angle = noise.angle;
  options.max_lost_frames = 0;
  options.jump_allowance_position = options.jump_allowance_angle = 0;
  return options;
}

struct Coverage {
  int fits = 0, accepted = 0, events = 0, dof = 0;
  double chi_square = 0;
  std::vector<double> t;  // (estimated - true) / sd of the impact time
  double largest_rest = 0;
};

Coverage RunFits(const Body& body, double rate, const Noise& noise, int n, std::uint64_t seed,
                 const MotionFitOptions& options) {
  std::mt19937_64 rng(seed);
  Coverage coverage;
  for (int i = 0; i < n; ++i) {
    const RandomImpact truth = DrawImpact(body, rate, 8, rng);
    const PoseRecording recording = Record(truth.scene, truth.times, noise, rng);
    const MotionFit fit = FitMotion(recording, body, truth.scene.floor, options);
    ++coverage.fits;
    EXPECT_EQ(fit.events.size(), 1u);
    const ImpactEvent& event = fit.events.front();
    if (event.sd_t <= 0) continue;
    ++coverage.events;
    coverage.accepted += event.accepted;
    int rank = 0;
    coverage.chi_square += ChiSquareOf(EventError(event, truth), event.cov, &rank);
    coverage.dof += rank;
    coverage.t.push_back((event.t - truth.t) / event.sd_t);
  }
  return coverage;
}

void ExpectCovered(const Coverage& coverage) {
  const Interval band = ChiSquareBand(coverage.dof, 1e-3);
  EXPECT_GT(coverage.chi_square, band.lower) << coverage.dof;
  EXPECT_LT(coverage.chi_square, band.upper) << coverage.dof;
  double t2 = 0;
  for (const double z : coverage.t) t2 += z * z;
  const Interval t_band = ChiSquareBand(static_cast<double>(coverage.t.size()), 1e-3);
  EXPECT_GT(t2, t_band.lower);
  EXPECT_LT(t2, t_band.upper);
}

TEST(MotionFitCoverage, PlanarCovarianceCoversTheTruth) {
  const Body body = MakeBox({0.06, 0.06, 0.06}, 0.3, true);
  const Noise noise{4e-5, 7e-4};
  const Coverage coverage = RunFits(body, 250, noise, 1500, 20240101, Exact(noise));
  EXPECT_GE(coverage.events, 1480);
  EXPECT_GE(coverage.accepted, 0.9 * coverage.fits);
  // 6 velocities, lever on a circle
  EXPECT_NEAR(static_cast<double>(coverage.dof) / coverage.events, 7, 0.01);
  ExpectCovered(coverage);
}

TEST(MotionFitCoverage, SpatialCovarianceCoversTheTruth) {
  const Body body = MakeBox({0.10, 0.10, 0.10}, 0.37);
  const Noise noise{1e-4, 1e-3};
  const Coverage coverage = RunFits(body, 148, noise, 300, 20240102, Exact(noise));
  EXPECT_GE(coverage.events, 295);
  EXPECT_GE(coverage.accepted, 0.9 * coverage.fits);
  EXPECT_NEAR(static_cast<double>(coverage.dof) / coverage.events, 14, 0.01);
  ExpectCovered(coverage);
}

// A body whose spin wanders in the body frame: constant omega would not fit.
TEST(MotionFitCoverage, TumblingBodyIsCoveredToo) {
  const Body body = MakeBox({0.16, 0.10, 0.05}, 0.5);
  const Noise noise{5e-5, 3e-4};
  const Coverage coverage = RunFits(body, 200, noise, 250, 20240103, Exact(noise));
  EXPECT_GE(coverage.events, 245);
  EXPECT_GE(coverage.accepted, 0.85 * coverage.fits);
  ExpectCovered(coverage);
}

// The contact point of a smooth body moves over it with the attitude; a rod touches with its cap.
TEST(MotionFitCoverage, SmoothBodiesAndRodsAreCovered) {
  const Noise noise{5e-5, 8e-4};
  const Coverage egg =
      RunFits(MakeEllipsoid({0.05, 0.035, 0.03}, 0.2), 200, noise, 100, 20240105, Exact(noise));
  EXPECT_GE(egg.accepted, 0.9 * egg.fits);
  ExpectCovered(egg);
  const Coverage disc = RunFits(MakeDisc(0.03, 0.1), 250, noise, 300, 20240106, Exact(noise));
  EXPECT_GE(disc.accepted, 0.9 * disc.fits);
  EXPECT_EQ(disc.dof, 6 * disc.events);  // a disc's lever does not turn
  ExpectCovered(disc);
  const Coverage rod =
      RunFits(MakeRod(0.2, 0.01, 0.1, true), 250, noise, 300, 20240107, Exact(noise));
  EXPECT_GE(rod.accepted, 0.85 * rod.fits);
  ExpectCovered(rod);
}

// The noise scale comes from the residuals: a little wider, and Student-like.
TEST(MotionFitCoverage, EstimatedNoiseScaleKeepsCoverage) {
  const Body body = MakeBox({0.06, 0.06, 0.06}, 0.3, true);
  const Noise noise{4e-5, 7e-4};
  MotionFitOptions options = Exact(noise);
  options.sigma_position = options.sigma_angle = 0;
  std::mt19937_64 rng(20240104);
  int n = 0, inside = 0;
  double ratio = 0;
  for (int i = 0; i < 1000; ++i) {
    const RandomImpact truth = DrawImpact(body, 250, 12, rng);
    const PoseRecording recording = Record(truth.scene, truth.times, noise, rng);
    const MotionFit fit = FitMotion(recording, body, truth.scene.floor, options);
    const ImpactEvent& event = fit.events.front();
    if (event.sd_t <= 0) continue;
    ++n;
    ratio += std::log(fit.sigma_position / noise.position);
    const double error =
        event.v_plus_F.z() - truth.plus.v_WB.z() -
        truth.plus.omega_WB
            .cross(ContactWithPlane(body, truth.minus.X_WB, truth.scene.floor).p_WP -
                   truth.minus.X_WB.translation())
            .z();
    Eigen::Matrix<double, 1, kEventDim> row = Eigen::Matrix<double, 1, kEventDim>::Zero();
    const Vector3d r = event.p_WP - event.X_WB.translation();
    row.segment<3>(kVPlus) = Eigen::RowVector3d(0, 0, 1);
    row.segment<3>(kOmegaPlus) = r.cross(Vector3d::UnitZ()).transpose();
    row.segment<3>(kLever) = Vector3d::UnitZ().cross(event.omega_plus).transpose();
    inside += std::abs(error) < 1.96 * std::sqrt((row * event.cov * row.transpose()).value());
  }
  EXPECT_GE(n, 990);
  EXPECT_NEAR(ratio / n, 0, 0.02);
  // 95 % intervals with about 60 degrees of freedom cover 94.5 %.
  EXPECT_TRUE(BinomialBand(n, 0.945, 1e-3).Contains(inside)) << inside << " of " << n;
}

}  // namespace
}  // namespace impactlab::testing
