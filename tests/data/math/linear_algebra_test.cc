#include "data/math/linear_algebra.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Matrix6d = Eigen::Matrix<double, 6, 6>;

MatrixXd Random(int rows, int cols, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  return MatrixXd::NullaryExpr(rows, cols, [&] { return normal(random); });
}

MatrixXd RandomSpd(int n, std::mt19937_64& random) {
  const MatrixXd root = Random(n, n + 2, random);
  return root * root.transpose();
}

TEST(LinearAlgebra, ClosedFormsOfTwoByTwo) {
  Eigen::Matrix2d A;
  A << 2, 1, 1, 2;
  const SymmetricEigen eigen = EigenOf(A);
  ASSERT_TRUE(eigen.ok);
  EXPECT_NEAR(eigen.values[0], 1, 1e-14);
  EXPECT_NEAR(eigen.values[1], 3, 1e-14);
  EXPECT_NEAR(std::abs(eigen.vectors(0, 1)), std::sqrt(0.5), 1e-14);
  EXPECT_NEAR(eigen.vectors(0, 0), -eigen.vectors(1, 0), 1e-14);
  Eigen::Matrix2d inverse;
  inverse << 2, -1, -1, 2;
  EXPECT_TRUE(SolveSpd(A, Eigen::Matrix2d::Identity()).isApprox(inverse / 3, 1e-14));
  EXPECT_TRUE(SolveSpd(A, Eigen::Vector2d(3, 3)).isApprox(Eigen::Vector2d(1, 1), 1e-14));
  Eigen::RowVector2d J(1, -1);
  EXPECT_NEAR(Congruence(J, A)(0, 0), 2, 1e-15);
  Eigen::Matrix2d scaled;
  scaled << 8, 6, 6, 18;
  EXPECT_TRUE(ScaleBothSides(Eigen::Vector2d(2, 3), A).isApprox(scaled, 1e-15));
}

// Of v v' with |v|^2 = 5 the Moore-Penrose inverse is v v' / 25.
TEST(LinearAlgebra, PseudoInverseLeavesTheNullSpaceOut) {
  const Eigen::Vector3d v(1, 2, 0);
  const Eigen::Matrix3d A = v * v.transpose();
  EXPECT_TRUE(PseudoInverse(A).isApprox(A / 25, 1e-13));
  EXPECT_TRUE(PseudoInverse(MatrixXd::Zero(3, 3)).isZero());
  std::mt19937_64 random(1);
  const MatrixXd regular = RandomSpd(5, random);
  EXPECT_TRUE(PseudoInverse(regular).isApprox(regular.inverse(), 1e-9));
}

TEST(LinearAlgebra, AgreesWithPlainEigen) {
  std::mt19937_64 random(2);
  for (const int n : {1, 2, 3, 6, 15, 40}) {
    const MatrixXd C = RandomSpd(n, random), J = Random(4, n, random), B = Random(n, 3, random);
    EXPECT_TRUE(Congruence(J, C).isApprox(J * C * J.transpose(), 1e-12)) << n;
    EXPECT_TRUE((C * SolveSpd(C, B)).isApprox(B, 1e-8)) << n;
    const VectorXd s = Random(n, 1, random);
    EXPECT_TRUE(ScaleBothSides(s, C).isApprox(s.asDiagonal() * C * s.asDiagonal(), 1e-12)) << n;
    const SymmetricEigen eigen = EigenOf(C);
    EXPECT_TRUE(eigen.ok);
    EXPECT_TRUE(Congruence(eigen.vectors, MatrixXd(eigen.values.asDiagonal())).isApprox(C, 1e-12))
        << n;
  }
  const Matrix6d general = Random(6, 6, random);
  EXPECT_TRUE((general * Inverse(general)).isApprox(Matrix6d::Identity(), 1e-10));
}

// Blocks and matrices of fixed size are taken as they are.
TEST(LinearAlgebra, TakesBlocksAndFixedSizes) {
  std::mt19937_64 random(3);
  const MatrixXd C = RandomSpd(8, random);
  const Eigen::Matrix<double, 3, 5> J = Random(3, 5, random);
  const MatrixXd block = C.block(2, 1, 5, 5);
  EXPECT_TRUE(Congruence(J, C.block(2, 1, 5, 5)).isApprox(J * block * J.transpose(), 1e-12));
}

TEST(LinearAlgebra, ComplementCoordinatesKeepWhatTheColumnsMiss) {
  std::mt19937_64 random(4);
  const MatrixXd J = Random(7, 3, random), B = Random(7, 2, random);
  const MatrixXd rest = ComplementCoordinates(J, B);
  ASSERT_EQ(rest.rows(), 4);
  ASSERT_EQ(rest.cols(), 2);
  EXPECT_LT(ComplementCoordinates(J, J).norm(), 1e-13 * J.norm());
  // Lengths and angles are those of B - J (J' J)^-1 J' B.
  const MatrixXd projected = B - J * (J.transpose() * J).inverse() * J.transpose() * B;
  EXPECT_TRUE((rest.transpose() * rest).isApprox(projected.transpose() * projected, 1e-11));
}

TEST(LinearAlgebra, NotFiniteStaysVisible) {
  Eigen::Matrix2d A = Eigen::Matrix2d::Identity();
  A(1, 0) = A(0, 1) = std::nan("");
  EXPECT_FALSE(SolveSpd(A, Eigen::Vector2d(1, 1)).allFinite());
  EXPECT_FALSE(Congruence(A, Eigen::Matrix2d::Identity()).allFinite());
}

TEST(LinearAlgebra, DecompositionsOfThreeByThree) {
  Eigen::Matrix3d A;
  A << 2, -1, 0.3, 0.4, 1, -2, 0.7, 0.1, 0.5;
  const Svd3 svd = Svd3Of(A);
  EXPECT_TRUE((svd.U * svd.s.asDiagonal() * svd.V.transpose()).isApprox(A, 1e-14));
  EXPECT_TRUE((svd.U.transpose() * svd.U).isApprox(Eigen::Matrix3d::Identity(), 1e-14));
  EXPECT_TRUE((svd.V.transpose() * svd.V).isApprox(Eigen::Matrix3d::Identity(), 1e-14));
  EXPECT_TRUE(svd.s[0] >= svd.s[1] && svd.s[1] >= svd.s[2] && svd.s[2] > 0);
  const Eigen::Matrix3d S = A * A.transpose();
  const SymmetricEigen3 eigen = Eigen3Of(S);
  EXPECT_TRUE(
      (eigen.vectors * eigen.values.asDiagonal() * eigen.vectors.transpose()).isApprox(S, 1e-14));
  EXPECT_TRUE(eigen.values.cwiseSqrt().reverse().isApprox(svd.s, 1e-12));
}

}  // namespace
}  // namespace impactlab
