// Classical estimators: what each differentiates exactly, what each is biased by, and whether its
// stated noise is its noise.

#include "reconstruction/motion/classical.h"

#include <gtest/gtest.h>

#include <array>
#include <map>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "reconstruction/motion/detail/classical_stencil.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::test {
namespace {

constexpr std::array kAll = {ClassicalEstimator::kHoubolt, ClassicalEstimator::kCentralDifference,
                             ClassicalEstimator::kSavitzkyGolay,
                             ClassicalEstimator::kLocalQuadratic, ClassicalEstimator::kKalman};
using Matrix6 = Eigen::Matrix<double, 6, 6>;

// Two flights that meet at t = 0.3; a ball turns about a fixed axis, whatever the spin.
struct Flight {
  Drop drop;
  MeasuredPoses poses;
};

Flight Fly(double sd_position, double sd_angle, std::mt19937_64& random, double phase = 0.4,
           double rate = 120) {
  Flight out;
  out.drop.body = MakeBall(0.05, 0.2);
  out.drop.t = 0.3;
  out.drop.minus = {{0.01, -0.02, 0.05}, {0.2, -0.1, -1.7}, {3, -2, 4}, AnyRotation(random)};
  out.drop.plus = out.drop.minus;
  out.drop.plus.v = {0.5, 0.3, 0.9};
  out.drop.plus.omega = {-4, 3, 1};
  for (int k = -24; k < 24; ++k) {
    const double t = out.drop.t + (k + phase) / rate;
    const double s = t - out.drop.t;
    const Flying& f = s < 0 ? out.drop.minus : out.drop.plus;
    Isometry3d X = Isometry3d::Identity();
    X.translation() =
        f.p + s * f.v + 0.5 * s * s * out.drop.gravity + sd_position * Normal3(random);
    X.linear() = Turned(s * f.omega) * f.R * Turned(sd_angle * Normal3(random));
    out.poses.recording.t.push_back(t);
    out.poses.recording.X_WB.push_back(X);
    Matrix6 cov = Matrix6::Zero();
    cov.diagonal() << Vector3d::Constant(std::pow(std::max(sd_position, 1e-7), 2)),
        Vector3d::Constant(std::pow(std::max(sd_angle, 1e-6), 2));
    out.poses.cov.push_back(cov);
  }
  return out;
}

Eigen::Matrix<double, 12, 1> Errors(const ClassicalEstimate& e, const Drop& drop) {
  Eigen::Matrix<double, 12, 1> error;
  error << e.minus.v - drop.minus.v, e.minus.omega - drop.minus.omega, e.plus.v - drop.plus.v,
      e.plus.omega - drop.plus.omega;
  return error;
}

TEST(Classical, ExactOnParabolasAndSteadySpin) {
  std::mt19937_64 random(1);
  const Flight flight = Fly(0, 0, random);
  for (const ClassicalEstimator estimator : kAll) {
    ClassicalOptions options;
    options.estimator = estimator;
    const ClassicalEstimate e = EstimateClassical(flight.poses, flight.drop.t, options);
    ASSERT_TRUE(e.usable) << e.reason;
    EXPECT_LT(Errors(e, flight.drop).norm(), 1e-6) << ToString(estimator);
    EXPECT_LT(e.minus.times.back(), flight.drop.t);
    EXPECT_GT(e.plus.times.front(), flight.drop.t);
  }
}

// Eq. 4.9 itself, on equal steps.
TEST(Classical, HouboltHasItsCoefficients) {
  const double dt = 1.0 / 120;
  const reconstruction::Stencil stencil =
      reconstruction::Interpolation({0, dt, 2 * dt, 3 * dt}, 3 * dt);
  const Eigen::Vector4d expected = Eigen::Vector4d(-2, 9, -18, 11) / (6 * dt);
  EXPECT_LT((stencil.rate - expected).norm(), 1e-9 * expected.norm());
  // A cubic is differentiated exactly, a quartic is not: error dt^3 x'''' / 4.
  Eigen::Vector4d cubic, quartic;
  for (int i = 0; i < 4; ++i) {
    cubic[i] = std::pow(i * dt - 0.1, 3);
    quartic[i] = std::pow(i * dt, 4);
  }
  EXPECT_NEAR(stencil.rate.dot(cubic), 3 * std::pow(3 * dt - 0.1, 2), 1e-12);
  EXPECT_NEAR(stencil.rate.dot(quartic) - 4 * std::pow(3 * dt, 3), -dt * dt * dt * 24 / 4, 1e-12);
}

// The difference is exact for a parabola already: the gravity term of eq. 4.24 moves it half an
// interval on, no more and no less.
TEST(Classical, PrintedGravityTermIsHalfAnInterval) {
  std::mt19937_64 random(2);
  const double g = 9.80665, dt = 1.0 / 120;
  for (double phase : {0.1, 0.5, 0.9}) {
    const Flight flight = Fly(0, 0, random, phase);
    ClassicalOptions options;
    options.gravity = GravityCorrection::kNone;
    const ClassicalEstimate none = EstimateClassical(flight.poses, flight.drop.t, options);
    options.gravity = GravityCorrection::kHalfInterval;
    const ClassicalEstimate printed = EstimateClassical(flight.poses, flight.drop.t, options);
    const double gap = (1 - phase) * dt;  // from the last pose to the impact
    EXPECT_NEAR(none.minus.v.z() - flight.drop.minus.v.z(), g * gap, 1e-6);
    EXPECT_NEAR(printed.minus.v.z() - flight.drop.minus.v.z(), g * (gap - dt / 2), 1e-6);
    EXPECT_NEAR(printed.plus.v.z() - flight.drop.plus.v.z(), -g * (phase * dt - dt / 2), 1e-6);
    // Backward after the impact: the state of the fourth pose, three frames late.
    options.backward_after = true;
    const ClassicalEstimate late = EstimateClassical(flight.poses, flight.drop.t, options);
    EXPECT_NEAR(late.plus.v.z() - flight.drop.plus.v.z(), -g * ((3 + phase) * dt + dt / 2), 1e-6);
    options.gravity = GravityCorrection::kToImpact;
    EXPECT_LT((EstimateClassical(flight.poses, flight.drop.t, options).plus.v - flight.drop.plus.v)
                  .norm(),
              1e-6);
  }
}

TEST(Classical, StatedNoiseIsTheNoise) {
  for (const ClassicalEstimator estimator : kAll) {
    std::mt19937_64 random(3);
    ClassicalOptions options;
    options.estimator = estimator;
    options.jerk = options.angular_jerk = 1e-8;  // for the smoother: the motion is what it assumes
    double nees[2] = {0, 0};
    const int n = 250;
    for (int k = 0; k < n; ++k) {
      const Flight flight = Fly(2e-4, 3e-3, random);
      const ClassicalEstimate e = EstimateClassical(flight.poses, flight.drop.t, options);
      ASSERT_TRUE(e.usable) << e.reason;
      const auto error = Errors(e, flight.drop);
      nees[0] += error.head<6>().dot(e.minus.cov.ldlt().solve(error.head<6>()));
      nees[1] += error.tail<6>().dot(e.plus.cov.ldlt().solve(error.tail<6>()));
    }
    const Interval band = ChiSquareBand(6.0 * n, 1e-4);
    for (double x : nees)
      EXPECT_TRUE(band.lower < x && x < band.upper) << ToString(estimator) << " " << x;
  }
}

TEST(Classical, MoreFramesLessNoise) {
  std::mt19937_64 random(4);
  const Flight flight = Fly(2e-4, 3e-3, random);
  std::map<ClassicalEstimator, double> sd;
  for (const ClassicalEstimator estimator : kAll) {
    ClassicalOptions options;
    options.estimator = estimator;
    options.window = 11;
    sd[estimator] =
        std::sqrt(EstimateClassical(flight.poses, flight.drop.t, options).minus.cov(2, 2));
  }
  EXPECT_GT(sd[ClassicalEstimator::kHoubolt], 2 * sd[ClassicalEstimator::kCentralDifference]);
  EXPECT_GT(sd[ClassicalEstimator::kHoubolt], 3 * sd[ClassicalEstimator::kLocalQuadratic]);
  EXPECT_GT(sd[ClassicalEstimator::kLocalQuadratic], sd[ClassicalEstimator::kSavitzkyGolay]);
}

// A smoother that does not know of the impact invents velocities that never were, and states a
// small uncertainty for them or a large one.
TEST(Classical, SmoothingAcrossTheImpactIsOff) {
  std::mt19937_64 random(5);
  const Flight flight = Fly(2e-4, 3e-3, random);
  ClassicalOptions options;
  options.estimator = ClassicalEstimator::kKalman;
  const double apart =
      Errors(EstimateClassical(flight.poses, flight.drop.t, options), flight.drop).head<3>().norm();
  options.across_impact = true;
  const ClassicalEstimate e = EstimateClassical(flight.poses, flight.drop.t, options);
  ASSERT_TRUE(e.usable);
  EXPECT_LT(apart, 0.03);
  EXPECT_GT(Errors(e, flight.drop).head<3>().norm(), 0.3);
  EXPECT_LT((e.minus.v - e.plus.v).norm(), 0.5);  // the truth jumps by 2.7 m/s
  EXPECT_GT(e.jerk, 1);
}

// From tracks of cameras that are not synchronous: neighbours share images, which the covariance
// has to know.
TEST(Classical, TracksOfARodGiveTheTransverseSpin) {
  const CameraRig rig = DropRig(2);
  double nees = 0;
  int dof = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    const Drop drop = DrawDrop(Thing::kRod, random);
    Filming filming;
    filming.late = {0, 0.002, 0, 0};
    const MarkerTracks tracks = Film(drop, rig, filming, random);
    const TrackPoses poses = PosesFromTracks(tracks, rig, drop.markers);
    ClassicalOptions options;
    options.estimator = ClassicalEstimator::kLocalQuadratic;
    const ClassicalEstimate e = EstimateClassical(Measured(poses, tracks, rig), drop.t, options);
    if (!e.usable) continue;
    EXPECT_FALSE(e.observable);
    const Vector3d axis = drop.minus.R.col(2);
    EXPECT_NEAR(e.minus.omega.dot(axis), 0, 0.05 * (1 + e.minus.omega.norm()));
    const Vector3d error = e.minus.v - drop.minus.v;
    nees += error.dot(Matrix3d(e.minus.cov.topLeftCorner<3, 3>()).ldlt().solve(error));
    dof += 3;
    const Vector3d across =
        (Matrix3d::Identity() - axis * axis.transpose()) * (e.minus.omega - drop.minus.omega);
    EXPECT_LT(across.norm(), 6 * std::sqrt(e.minus.cov.bottomRightCorner<3, 3>().trace()) + 0.05);
  }
  ASSERT_GT(dof, 40);
  const Interval band = ChiSquareBand(dof, 1e-4);
  EXPECT_TRUE(band.lower < nees && nees < band.upper) << nees << " of " << dof;
}

TEST(Classical, CommonErrorsOfTheRigCount) {
  std::mt19937_64 random(6);
  CameraRig truth = DropRig(2);
  GiveCovariance(&truth, 2, 1e-3, 2e-3);
  double nees = 0, blind = 0;
  const int n = 15;
  for (int k = 0; k < n; ++k) {
    const Drop drop = DrawDrop(Thing::kBox, random);
    const CameraRig rig = Miscalibrated(truth, random);
    const MarkerTracks tracks = Film(drop, truth, {}, random);
    TrackPosesOptions loose;
    loose.pose.misfit_probability = 0;
    const TrackPoses poses = PosesFromTracks(tracks, rig, drop.markers, loose);
    MeasuredPoses measured = Measured(poses, tracks, rig);
    ClassicalOptions options;
    options.estimator = ClassicalEstimator::kLocalQuadratic;
    const ClassicalEstimate e = EstimateClassical(measured, drop.t, options);
    ASSERT_TRUE(e.usable) << e.reason;
    measured.cov_rig.resize(0, 0);
    const ClassicalEstimate pixels = EstimateClassical(measured, drop.t, options);
    const Vector3d error = e.minus.v - drop.minus.v;
    nees += error.dot(Matrix3d(e.minus.cov.topLeftCorner<3, 3>()).ldlt().solve(error));
    blind += error.dot(Matrix3d(pixels.minus.cov.topLeftCorner<3, 3>()).ldlt().solve(error));
  }
  const Interval band = ChiSquareBand(3.0 * n, 1e-4);
  EXPECT_TRUE(band.lower < nees && nees < band.upper) << nees;
  EXPECT_GT(blind, nees);
}

TEST(Classical, TooFewPosesAndMistakes) {
  std::mt19937_64 random(7);
  Flight flight = Fly(0, 0, random);
  MeasuredPoses few = flight.poses;
  few.recording.t.resize(26);
  few.recording.X_WB.resize(26);
  few.cov.resize(26);
  for (const ClassicalEstimator estimator : kAll) {
    ClassicalOptions options;
    options.estimator = estimator;
    const ClassicalEstimate e = EstimateClassical(few, flight.drop.t, options);
    EXPECT_FALSE(e.usable);
    EXPECT_NE(e.reason.find("2 poses after the impact"), std::string::npos) << e.reason;
  }
  few.cov.resize(25);
  EXPECT_THROW(EstimateClassical(few, flight.drop.t), ConfigError);
  ClassicalOptions options;
  options.estimator = ClassicalEstimator::kSavitzkyGolay;
  options.window = 6;
  EXPECT_THROW(EstimateClassical(flight.poses, flight.drop.t, options), ConfigError);
  EXPECT_THROW(EstimateClassical(flight.poses, std::nan("")), ConfigError);
  flight.poses.recording.planar = true;
  EXPECT_THROW(EstimateClassical(flight.poses, flight.drop.t), ConfigError);
}

}  // namespace
}  // namespace impactlab::test
