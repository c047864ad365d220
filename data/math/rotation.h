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

}  // namespace impactlab
