#include "data/math/linear_algebra.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>
#include <limits>

namespace impactlab {

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd Congruence(const MatrixView& J, const MatrixView& C) {
  const MatrixXd left = J, middle = C;
  return left * middle * left.transpose();
}

MatrixXd ComplementCoordinates(const MatrixView& J, const MatrixView& B) {
  const MatrixXd columns = J, right = B;
  const Eigen::HouseholderQR<MatrixXd> qr(columns);
  const MatrixXd turned = qr.householderQ().adjoint() * right;
  return turned.bottomRows(J.rows() - J.cols());
}

MatrixXd ScaleBothSides(const VectorXd& s, const MatrixView& A) {
  return s.asDiagonal() * A * s.asDiagonal();
}

SymmetricEigen EigenOf(const MatrixView& A) {
  const MatrixXd matrix = A;
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(matrix);
  return {eigen.eigenvalues(), eigen.eigenvectors(), eigen.info() == Eigen::Success};
}

SymmetricEigen3 Eigen3Of(const Eigen::Matrix3d& A) {
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(A);
  return {eigen.eigenvalues(), eigen.eigenvectors()};
}

Svd3 Svd3Of(const Eigen::Matrix3d& A) {
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(A, Eigen::ComputeFullU | Eigen::ComputeFullV);
  return {svd.matrixU(), svd.matrixV(), svd.singularValues()};
}

MatrixXd SolveSpd(const MatrixView& A, const MatrixView& B) {
  const MatrixXd matrix = A, right = B;
  // The decomposition takes a pivot that is not a number for a zero one.
  if (!matrix.allFinite())
    return MatrixXd::Constant(right.rows(), right.cols(), std::numeric_limits<double>::quiet_NaN());
  const Eigen::LDLT<MatrixXd> ldlt(matrix);
  return ldlt.solve(right);
}

Eigen::Matrix<double, 6, 6> Inverse(const Eigen::Matrix<double, 6, 6>& A) { return A.inverse(); }

MatrixXd PseudoInverse(const MatrixView& A, double tolerance) {
  const SymmetricEigen eigen = EigenOf(A);
  const double limit = tolerance * (A.rows() > 0 ? eigen.values.maxCoeff() : 0);
  VectorXd inverse(eigen.values.size());
  for (Eigen::Index i = 0; i < inverse.size(); ++i)
    inverse[i] = eigen.values[i] > limit ? 1 / eigen.values[i] : 0;
  return eigen.vectors * inverse.asDiagonal() * eigen.vectors.transpose();
}

}  // namespace impactlab
