#include "tracking/track/detail/kalman.h"

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <cmath>
#include <random>

#include "data/statistics/statistics.h"
#include "tests/support/per_test_level.h"

namespace impactlab {
namespace {

using tracking::AddJerk;
using tracking::CorrectState;
using tracking::Innovation;
using tracking::InnovationOf;
using tracking::JerkAdaptation;
using tracking::MarkerState;
using tracking::Matrix6;
using tracking::PredictState;
using tracking::SmoothBack;
using tracking::Vector6;

Vector6 Draw(const Matrix6& cov, std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  Vector6 z;
  for (int i = 0; i < 6; ++i) z(i) = normal(rng);
  return cov.llt().matrixL() * z;
}

Matrix6 Diagonal() {
  Matrix6 cov = Matrix6::Zero();
  cov.diagonal() << 4, 4, 1e4, 1e4, 1e6, 1e6;
  cov(0, 2) = cov(2, 0) = 50;
  cov(1, 5) = cov(5, 1) = -300;
  return cov;
}

TEST(Kalman, PredictionIsTransitionPlusJerk) {
  MarkerState s;
  s.x << 10, 20, 300, -400, 1000, 9800;
  s.cov = Diagonal();
  const double h = 1.0 / 120;
  Matrix6 f = Matrix6::Identity();
  f(0, 2) = f(1, 3) = f(2, 4) = f(3, 5) = h;
  f(0, 4) = f(1, 5) = h * h / 2;
  Matrix6 expected = f * s.cov * f.transpose();
  AddJerk(h, 1e9, &expected);
  MarkerState p = s;
  PredictState(h, 1e9, &p);
  EXPECT_LT((p.x - f * s.x).norm(), 1e-9);
  EXPECT_LT((p.cov - expected).norm() / expected.norm(), 1e-12);
  EXPECT_NEAR(p.cov(0, 0),
              4 + 2 * 50 * h + 1e4 * h * h + 1e6 * std::pow(h, 4) / 4 + 1e9 * std::pow(h, 5) / 20,
              1e-9);
}

TEST(Kalman, TwoShortStepsAreOneLongOne) {
  MarkerState once;
  once.x << 1, 2, 3, 4, 5, 6;
  once.cov = Diagonal();
  MarkerState twice = once;
  PredictState(0.03, 1e8, &once);
  PredictState(0.011, 1e8, &twice);
  PredictState(0.03, 1e8, &twice);
  EXPECT_LT((once.x - twice.x).norm(), 1e-12);
  EXPECT_LT((once.cov - twice.cov).norm() / once.cov.norm(), 1e-12);
}

TEST(Kalman, BackwardsIsTheMirrorImageOfForwards) {
  // Reversal of time changes the sign of velocity and nothing else.
  MarkerState s;
  s.x << 1, 2, 3, 4, 5, 6;
  s.cov = Diagonal();
  Matrix6 mirror = Matrix6::Identity();
  mirror(2, 2) = mirror(3, 3) = -1;
  MarkerState forwards = s;
  forwards.x = mirror * s.x;
  forwards.cov = mirror * s.cov * mirror;
  PredictState(0.02, 1e9, &forwards);
  PredictState(-0.02, 1e9, &s);
  EXPECT_LT((mirror * forwards.x - s.x).norm(), 1e-12);
  EXPECT_LT((mirror * forwards.cov * mirror - s.cov).norm() / s.cov.norm(), 1e-12);
}

TEST(Kalman, CorrectionEqualsTheInformationForm) {
  MarkerState s;
  s.x << 10, 20, 300, -400, 1000, 9800;
  s.cov = Diagonal();
  Eigen::Matrix2d r;
  r << 0.04, 0.01, 0.01, 0.09;
  const Eigen::Vector2d q(11, 18);
  Matrix6 information = s.cov.inverse();
  information.topLeftCorner<2, 2>() += r.inverse();
  const Matrix6 expected = information.inverse();
  MarkerState c = s;
  const Innovation innovation = InnovationOf(s, q, r);
  EXPECT_NEAR(innovation.log_det, std::log((s.cov.topLeftCorner<2, 2>() + r).determinant()), 1e-12);
  CorrectState(innovation, r, &c);
  EXPECT_LT((c.cov - expected).norm() / expected.norm(), 1e-9);
  Vector6 gain = expected.leftCols<2>() * r.inverse() * (q - s.x.head<2>());
  EXPECT_LT((c.x - s.x - gain).norm() / gain.norm(), 1e-9);
}

TEST(Kalman, CovarianceStaysPositiveUnderExtremeRatios) {
  std::mt19937_64 rng(21);
  std::uniform_real_distribution<double> uniform;
  MarkerState s;
  s.cov = 1e6 * Matrix6::Identity();
  s.cov.bottomRightCorner<2, 2>() *= 1e6;
  for (int k = 0; k < 5000; ++k) {
    PredictState(s.t + std::pow(10, -4 + 4 * uniform(rng)), std::pow(10, 2 + 10 * uniform(rng)),
                 &s);
    const Eigen::Matrix2d r = std::pow(10, -6 + 8 * uniform(rng)) * Eigen::Matrix2d::Identity();
    CorrectState(InnovationOf(s, s.x.head<2>(), r), r, &s);
    ASSERT_TRUE(s.cov.allFinite());
    ASSERT_EQ(s.cov, s.cov.transpose());
    const Vector6 scale = s.cov.diagonal().cwiseSqrt().cwiseInverse();
    const Eigen::SelfAdjointEigenSolver<Matrix6> eigen(scale.asDiagonal() * s.cov *
                                                       scale.asDiagonal());
    ASSERT_GT(eigen.eigenvalues().minCoeff(), -1e-10) << k;
  }
}

// Data from the filter's own model: NIS and NEES inside their exact bands, filtered and smoothed.
TEST(Kalman, ConsistentOnItsOwnModel) {
  std::mt19937_64 rng(22);
  std::normal_distribution<double> normal;
  constexpr int kRuns = 200, kSteps = 60;
  constexpr double kJerk = 3e8, kNoise = 0.1;
  const Eigen::Matrix2d r = kNoise * kNoise * Eigen::Matrix2d::Identity();
  double nis = 0, filtered_nees = 0, smoothed_nees = 0, velocity_nees = 0;
  int count = 0;
  for (int run = 0; run < kRuns; ++run) {
    Matrix6 cov = Matrix6::Zero();
    cov.diagonal() << 1e-2, 1e-2, 1e6, 1e6, 1e8, 1e8;
    MarkerState state;
    state.cov = cov;
    Vector6 truth = Draw(cov, rng);
    std::vector<Vector6> truths;
    std::vector<MarkerState> filtered;
    for (int k = 0; k < kSteps; ++k) {
      const double h = (k % 3 ? 1.0 : 1.7) / 120;
      Matrix6 q = 1e-30 * Matrix6::Identity();
      AddJerk(h, kJerk, &q);
      MarkerState move;
      move.x = truth;
      PredictState(h, 0, &move);
      truth = move.x + Draw(q, rng);
      PredictState(state.t + h, kJerk, &state);
      const Eigen::Vector2d seen =
          truth.head<2>() + kNoise * Eigen::Vector2d(normal(rng), normal(rng));
      const Innovation innovation = InnovationOf(state, seen, r);
      nis += innovation.nis;
      ++count;
      CorrectState(innovation, r, &state);
      truths.push_back(truth);
      filtered.push_back(state);
    }
    // One step a run: steps of a run are not independent.
    const Vector6 e = filtered[kSteps / 2].x - truths[kSteps / 2];
    filtered_nees += e.dot(filtered[kSteps / 2].cov.inverse() * e);
    MarkerState smooth = filtered.back();
    for (int k = kSteps - 2; k >= kSteps / 2; --k) smooth = SmoothBack(filtered[k], smooth, kJerk);
    const Vector6 d = smooth.x - truths[kSteps / 2];
    smoothed_nees += d.dot(smooth.cov.inverse() * d);
    const Eigen::Vector2d v = d.segment<2>(2);
    const Eigen::Matrix2d cov_v = smooth.cov.block<2, 2>(2, 2);
    velocity_nees += v.dot(cov_v.inverse() * v);
    EXPECT_LT(smooth.cov(0, 0), filtered[kSteps / 2].cov(0, 0));
  }
  const double level = PerTestLevel(1e-3, 4);
  const auto inside = [&](double sum, double dof) {
    const Interval band = ChiSquareBand(dof, level);
    EXPECT_GT(sum, band.lower) << sum / dof;
    EXPECT_LT(sum, band.upper) << sum / dof;
  };
  inside(nis, 2.0 * count);
  inside(filtered_nees, 6.0 * kRuns);
  inside(smoothed_nees, 6.0 * kRuns);
  inside(velocity_nees, 2.0 * kRuns);
}

// The jump of velocity at an instant nobody knows, as described.
TEST(Kalman, OpeningCoversJumpsAtAnyInstant) {
  std::mt19937_64 rng(23);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  TrackerOptions options;
  constexpr double kH = 1.0 / 120;
  constexpr int kDraws = 200000;
  Eigen::Matrix3d sampled = Eigen::Matrix3d::Zero();
  for (int i = 0; i < kDraws; ++i) {
    const double rest = kH * uniform(rng), dv = options.jump_speed * normal(rng),
                 rest_a = kH * uniform(rng), da = options.acceleration_sd * normal(rng);
    const Eigen::Vector3d d(dv * rest + da * rest_a * rest_a / 2, dv + da * rest_a, da);
    sampled += d * d.transpose() / kDraws;
  }
  MarkerState s;
  tracking::OpenVelocity(kH, options, &s);
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) {
      const double scale = std::sqrt(s.cov(2 * i, 2 * i) * s.cov(2 * k, 2 * k));
      EXPECT_NEAR(s.cov(2 * i, 2 * k) / scale, sampled(i, k) / scale, 0.02) << i << k;
    }
  }
}

// Whatever it starts from, the adaptation finds the jerk the data were made with, and NIS tells so.
TEST(Kalman, AdaptationFindsTheJerk) {
  std::mt19937_64 rng(24);
  std::normal_distribution<double> normal;
  constexpr double kNoise = 0.1;
  const Eigen::Matrix2d r = kNoise * kNoise * Eigen::Matrix2d::Identity();
  for (const double truth_jerk : {1e7, 1e9, 1e11}) {
    for (const double start : {1e5, 1e9, 1e13}) {
      JerkAdaptation jerk(start);
      MarkerState state;
      state.cov.diagonal() << 1, 1, 1e6, 1e6, 1e8, 1e8;
      Vector6 truth = Vector6::Zero();
      double nis = 0, log_jerk = 0;
      int count = 0;
      for (int k = 0; k < 1500; ++k) {
        const double h = 1.0 / 240;
        Matrix6 q = 1e-30 * Matrix6::Identity();
        AddJerk(h, truth_jerk, &q);
        MarkerState move;
        move.x = truth;
        PredictState(h, 0, &move);
        truth = move.x + Draw(q, rng);
        PredictState(state.t + h, jerk.jerk(), &state);
        const Innovation innovation = InnovationOf(
            state, truth.head<2>() + kNoise * Eigen::Vector2d(normal(rng), normal(rng)), r);
        jerk.Add(h, state, innovation, r(0, 0), true);
        CorrectState(innovation, r, &state);
        if (k < 500) continue;
        nis += innovation.nis;
        log_jerk += std::log10(jerk.jerk());
        ++count;
      }
      EXPECT_NEAR(nis / (2 * count), 1, 0.1) << truth_jerk << " " << start;
      EXPECT_NEAR(log_jerk / count, std::log10(truth_jerk), 0.6) << start;
    }
  }
}

TEST(Kalman, UnusableObservations) {
  Observation o;
  o.cov = 0.01 * Eigen::Matrix2d::Identity();
  EXPECT_TRUE(tracking::Usable(o));
  Observation bad = o;
  bad.q.x() = std::nan("");
  EXPECT_FALSE(tracking::Usable(bad));
  bad = o;
  bad.cov(0, 1) = bad.cov(1, 0) = 0.02;
  EXPECT_FALSE(tracking::Usable(bad));
  bad = o;
  bad.cov(0, 0) = -1;
  EXPECT_FALSE(tracking::Usable(bad));
  bad = o;
  bad.cov *= 1e12;
  EXPECT_FALSE(tracking::Usable(bad));
  bad = o;
  bad.t = std::nan("");
  EXPECT_FALSE(tracking::Usable(bad));
  bad = o;
  bad.cov.setZero();
  EXPECT_TRUE(tracking::Usable(bad)) << "the floor makes it one";
}

}  // namespace
}  // namespace impactlab
