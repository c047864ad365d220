// Rotation vectors: round trips over the whole range of angles, and the derivative.
#include "data/math/rotation.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>
#include <random>

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kPi = std::numbers::pi;
// Angles where formulae change over or lose digits.
constexpr double kAngles[] = {0,    1e-200, 1e-15,      1e-12,      1e-9,       1e-8,
                              1e-6, 1e-4,   1e-2,       0.5,        kPi / 6,    1.0,
                              2.0,  3.0,    kPi - 1e-3, kPi - 1e-6, kPi - 1e-9, kPi - 1e-12};

Vector3d RandomAxis(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  return Vector3d(normal(random), normal(random), normal(random)).normalized();
}

TEST(Rotation, CrossMatrixIsTheVectorProduct) {
  const Vector3d v(0.3, -1.2, 2.5), a(-0.7, 0.4, 1.1);
  EXPECT_EQ((CrossMatrix(v) * a - v.cross(a)).norm(), 0);
  EXPECT_EQ((CrossMatrix(v) + CrossMatrix(v).transpose()).norm(), 0);
}

TEST(Rotation, ExpTurnsCounterClockwiseAboutItsVector) {
  const Matrix3d R = ExpSO3({0, 0, 0.5 * kPi});
  EXPECT_NEAR((R * Vector3d::UnitX() - Vector3d::UnitY()).norm(), 0, 1e-15);
  EXPECT_EQ(ExpSO3(Vector3d::Zero()), Matrix3d::Identity());
}

TEST(Rotation, LogUndoesExpNearZeroAndNearPi) {
  std::mt19937_64 random(7);
  for (const double angle : kAngles) {
    for (int i = 0; i < 20; ++i) {
      const Vector3d r = angle * RandomAxis(random);
      const Matrix3d R = ExpSO3(r);
      EXPECT_NEAR((R * R.transpose() - Matrix3d::Identity()).norm(), 0, 1e-14) << angle;
      EXPECT_NEAR(R.determinant(), 1, 1e-14) << angle;
      EXPECT_NEAR((LogSO3(R) - r).norm(), 0, 1e-12) << angle;
      EXPECT_NEAR((ExpSO3(LogSO3(R)) - R).norm(), 0, 1e-12) << angle;
    }
  }
}

// A half turn has two rotation vectors; either gives the same rotation.
TEST(Rotation, LogOfAHalfTurnGivesTheSameRotation) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 100; ++i) {
    const Matrix3d R = ExpSO3(kPi * RandomAxis(random));
    EXPECT_NEAR(LogSO3(R).norm(), kPi, 1e-12);
    EXPECT_NEAR((ExpSO3(LogSO3(R)) - R).norm(), 0, 1e-12);
  }
  for (int axis = 0; axis < 3; ++axis) {
    Vector3d diagonal = -Vector3d::Ones();
    diagonal[axis] = 1;
    EXPECT_NEAR(std::abs(LogSO3(diagonal.asDiagonal())[axis]), kPi, 1e-15);
  }
}

TEST(Rotation, RightJacobianAgreesWithDifferences) {
  std::mt19937_64 random(9);
  constexpr double kStep = 1e-6;
  for (const double angle : kAngles) {
    const Vector3d r = angle * RandomAxis(random);
    const Matrix3d J = RightJacobianSO3(r), R = ExpSO3(r);
    for (int k = 0; k < 3; ++k) {
      const Vector3d step = kStep * Vector3d::Unit(k);
      const Vector3d difference =
          (LogSO3(R.transpose() * ExpSO3(r + step)) - LogSO3(R.transpose() * ExpSO3(r - step))) /
          (2 * kStep);
      EXPECT_NEAR((J.col(k) - difference).norm(), 0, 1e-9) << angle << " " << k;
    }
  }
}

TEST(Rotation, RightJacobianIsContinuousWhereItsSeriesEnds) {
  const Vector3d axis = Vector3d(1, -2, 0.5).normalized();
  const Matrix3d below = RightJacobianSO3(0.99999999e-4 * axis),
                 above = RightJacobianSO3(1.00000001e-4 * axis);
  EXPECT_NEAR((above - below).norm(), 0, 2e-12);
}

TEST(Rotation, ShortestTurnBetweenTwoDirections) {
  const Vector3d a(1, 2, -0.5), b(-0.3, 0.2, 4);
  const Matrix3d R = TurnBetween(a, b);
  EXPECT_LT((R * a.normalized() - b.normalized()).norm(), 1e-14);
  EXPECT_LT(LogSO3(R).normalized().cross(a.cross(b).normalized()).norm(), 1e-14);
  EXPECT_NEAR(LogSO3(R).norm(), std::acos(a.normalized().dot(b.normalized())), 1e-14);
  const Matrix3d half = TurnBetween(a, -2 * a);
  EXPECT_LT((half * a + a).norm(), 1e-12);
  EXPECT_NEAR(half.determinant(), 1, 1e-12);
}

}  // namespace
}  // namespace impactlab
