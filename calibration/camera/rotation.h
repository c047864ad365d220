#pragma once
// Rotation vectors: R(r) turns by |r| [rad] about r. Private to the room.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cmath>

namespace impactlab::calibration {

inline Eigen::Matrix3d Skew(const Eigen::Vector3d& v) {
  Eigen::Matrix3d m;
  m << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
  return m;
}

inline Eigen::Matrix3d RotationFromVector(const Eigen::Vector3d& r) {
  const double angle = r.norm();
  if (angle < 1e-9) return Eigen::Matrix3d::Identity() + Skew(r);
  return Eigen::AngleAxisd(angle, r / angle).toRotationMatrix();
}

// In [0, pi].
inline Eigen::Vector3d VectorFromRotation(const Eigen::Matrix3d& R) {
  Eigen::Quaterniond q(R);
  if (q.w() < 0) q.coeffs() *= -1;
  const double sine = q.vec().norm();
  if (sine < 1e-12) return 2 * q.vec();
  return q.vec() * (2 * std::atan2(sine, q.w()) / sine);
}

// R(r + dr) = R(r) R(J dr) to first order.
inline Eigen::Matrix3d RightJacobian(const Eigen::Vector3d& r) {
  const double angle2 = r.squaredNorm(), angle = std::sqrt(angle2);
  const Eigen::Matrix3d K = Skew(r);
  if (angle < 1e-4) return Eigen::Matrix3d::Identity() - 0.5 * K + K * K / 6;
  return Eigen::Matrix3d::Identity() - K * ((1 - std::cos(angle)) / angle2) +
         K * K * ((angle - std::sin(angle)) / (angle2 * angle));
}

}  // namespace impactlab::calibration
