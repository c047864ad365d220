#include "data/math/rotation.h"

#include <Eigen/Geometry>
#include <cmath>

namespace impactlab {

using Eigen::Matrix3d;
using Eigen::Vector3d;

Matrix3d CrossMatrix(const Vector3d& v) {
  Matrix3d K;
  K << 0, -v.z(), v.y(), v.z(), 0, -v.x(), -v.y(), v.x(), 0;
  return K;
}

Matrix3d ExpSO3(const Vector3d& r) {
  const double angle = r.norm();
  if (angle == 0) return Matrix3d::Identity();
  return Eigen::AngleAxisd(angle, r / angle).toRotationMatrix();
}

Vector3d LogSO3(const Matrix3d& R) {
  // The part that is antisymmetric gives small angles to full accuracy; AngleAxis takes the rest.
  const Vector3d axis(R(2, 1) - R(1, 2), R(0, 2) - R(2, 0), R(1, 0) - R(0, 1));
  const double sine = 0.5 * axis.norm();
  if (sine < 0.5 && R.trace() > 1) {
    if (sine < 1e-12) return 0.5 * axis;
    return axis * (std::asin(sine) / (2 * sine));
  }
  const Eigen::AngleAxisd turn(R);
  return turn.angle() * turn.axis();
}

Matrix3d RightJacobianSO3(const Vector3d& r) {
  const double angle = r.norm(), square = angle * angle;
  const Matrix3d K = CrossMatrix(r);
  // The series where the differences below lose digits: the first term left out is K^3 / 24.
  if (angle < 1e-4) return Matrix3d::Identity() - 0.5 * K + K * K / 6;
  return Matrix3d::Identity() - (1 - std::cos(angle)) / square * K +
         (angle - std::sin(angle)) / (square * angle) * K * K;
}

Matrix3d TurnBetween(const Vector3d& from, const Vector3d& to) {
  return Eigen::Quaterniond::FromTwoVectors(from, to).toRotationMatrix();
}

}  // namespace impactlab
