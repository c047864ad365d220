#pragma once
// Linear algebra of covariances as ordinary functions. Eigen compiles an expression anew in every
// source that writes it; a call of these costs the compiler nothing. For code outside hot loops.

#include <Eigen/Core>

namespace impactlab {

/// A constant matrix argument: a MatrixXd, a block of one, or a matrix of fixed size without a
/// copy.
using MatrixView = Eigen::Ref<const Eigen::MatrixXd>;

/// Propagated covariance J C J' (m x m) of J (m x n) and a covariance C (n x n).
Eigen::MatrixXd Congruence(const MatrixView& J, const MatrixView& C);

/// Components of the columns of B (m x k) outside the space that the columns of J (m x n, m > n)
/// span: B in an orthonormal basis of the complement (m - n x k), by Householder's QR.
Eigen::MatrixXd ComplementCoordinates(const MatrixView& J, const MatrixView& B);

/// diag(s) A diag(s) (n x n) of a vector s of n and a matrix A (n x n): a covariance in other
/// units.
Eigen::MatrixXd ScaleBothSides(const Eigen::VectorXd& s, const MatrixView& A);

/// Eigenvalues in ascending order, and eigenvectors in the columns.
struct SymmetricEigen {
  Eigen::VectorXd values;
  Eigen::MatrixXd vectors;
  bool ok = false;  ///< the iteration has converged; without it values and vectors mean nothing
};

/// Eigenvalues and eigenvectors of a symmetric matrix, of which the lower triangle is read.
SymmetricEigen EigenOf(const MatrixView& A);

/// The same of a 3 x 3 matrix, by sizes known to the compiler.
struct SymmetricEigen3 {
  Eigen::Vector3d values;
  Eigen::Matrix3d vectors;
};
SymmetricEigen3 Eigen3Of(const Eigen::Matrix3d& A);

/// A = U diag(s) V' of a 3 x 3 matrix, with s falling and both U and V whole.
struct Svd3 {
  Eigen::Matrix3d U, V;
  Eigen::Vector3d s;
};
Svd3 Svd3Of(const Eigen::Matrix3d& A);

/// Solution X (n x k) of A X = B for a symmetric positive definite A (n x n) by L D L' with
/// pivoting; only the lower triangle of A is read. Directions in which D vanishes are left at zero;
/// the solution is not finite if A or B is not.
Eigen::MatrixXd SolveSpd(const MatrixView& A, const MatrixView& B);

/// Inverse of a regular 6 x 6 matrix; not finite for a singular one.
Eigen::Matrix<double, 6, 6> Inverse(const Eigen::Matrix<double, 6, 6>& A);

/// Moore-Penrose inverse (n x n) of a symmetric positive semidefinite matrix: eigenvalues up to
/// `tolerance` times the largest count as zero.
Eigen::MatrixXd PseudoInverse(const MatrixView& A, double tolerance = 1e-12);

}  // namespace impactlab
