#pragma once
// Rotations as vectors: the exponential map of SO(3), its inverse and its derivative. A rotation
// vector r turns by |r| [rad] about r (Sola, Deray and Atchuthan 2018, eq. 143-148).

#include <Eigen/Core>

namespace impactlab {

/// Matrix K of the vector product: K a = v x a.
Eigen::Matrix3d CrossMatrix(const Eigen::Vector3d& v);

/// Rotation matrix of a rotation vector [rad]; the identity for the zero vector.
Eigen::Matrix3d ExpSO3(const Eigen::Vector3d& r);

/// Rotation vector of a rotation matrix, of length 0 to pi [rad]; small angles to full accuracy.
Eigen::Vector3d LogSO3(const Eigen::Matrix3d& R);

/// Right Jacobian of SO(3): ExpSO3(r + dr) = ExpSO3(r) ExpSO3(J dr) to first order; the integral of
/// ExpSO3(-u r) for u from 0 to 1.
Eigen::Matrix3d RightJacobianSO3(const Eigen::Vector3d& r);

/// The shortest rotation that turns the direction of `from` into that of `to`; half a turn about
/// some axis across them where they are opposite. Neither may be zero.
Eigen::Matrix3d TurnBetween(const Eigen::Vector3d& from, const Eigen::Vector3d& to);

}  // namespace impactlab
