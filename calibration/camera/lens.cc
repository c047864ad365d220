#include "calibration/camera/lens.h"

#include <cmath>

namespace impactlab::calibration {
namespace {

using PointDerivative = Eigen::Matrix<double, 2, 3, Eigen::RowMajor>;

// Brown-Conrady and rational: columns of `dq_dintrinsics` in the order fx fy cx cy k1 k2 p1 p2 k3
// (k4 k5 k6).
bool ProjectPinhole(bool rational, const double* intrinsics, const Eigen::Vector3d& p_CM,
                    Eigen::Vector2d* q, PointDerivative* dq_dp,
                    IntrinsicDerivative* dq_dintrinsics) {
  if (!(p_CM.z() > 0)) return false;
  const double fx = intrinsics[0], fy = intrinsics[1], cx = intrinsics[2], cy = intrinsics[3];
  const double k1 = intrinsics[4], k2 = intrinsics[5], p1 = intrinsics[6], p2 = intrinsics[7],
               k3 = intrinsics[8];
  const double inverse_z = 1 / p_CM.z();
  const double a = p_CM.x() * inverse_z, b = p_CM.y() * inverse_z;
  const double aa = a * a, bb = b * b, ab = a * b;
  const double r2 = aa + bb, r4 = r2 * r2, r6 = r4 * r2;

  const double numerator = 1 + k1 * r2 + k2 * r4 + k3 * r6;
  const double dnumerator = k1 + 2 * k2 * r2 + 3 * k3 * r4;  // by r2
  double inverse_denominator = 1, scale = numerator, dscale = dnumerator;
  if (rational) {
    const double k4 = intrinsics[9], k5 = intrinsics[10], k6 = intrinsics[11];
    const double denominator = 1 + k4 * r2 + k5 * r4 + k6 * r6;
    if (!(denominator > 0)) return false;
    inverse_denominator = 1 / denominator;
    scale = numerator * inverse_denominator;
    dscale = (dnumerator - scale * (k4 + 2 * k5 * r2 + 3 * k6 * r4)) * inverse_denominator;
  }
  const double a_distorted = scale * a + 2 * p1 * ab + p2 * (r2 + 2 * aa);
  const double b_distorted = scale * b + p1 * (r2 + 2 * bb) + 2 * p2 * ab;
  *q << fx * a_distorted + cx, fy * b_distorted + cy;

  if (dq_dp) {
    const double mixed = 2 * dscale * ab + 2 * p1 * a + 2 * p2 * b;
    const double da_da = fx * (scale + 2 * dscale * aa + 2 * p1 * b + 6 * p2 * a),
                 da_db = fx * mixed;
    const double db_da = fy * mixed,
                 db_db = fy * (scale + 2 * dscale * bb + 6 * p1 * b + 2 * p2 * a);
    *dq_dp << da_da * inverse_z, da_db * inverse_z, -(da_da * a + da_db * b) * inverse_z,  //
        db_da * inverse_z, db_db * inverse_z, -(db_da * a + db_db * b) * inverse_z;
  }
  if (dq_dintrinsics) {
    auto& d = *dq_dintrinsics;
    const double by_numerator_x = fx * a * inverse_denominator,
                 by_numerator_y = fy * b * inverse_denominator;
    d(0, 0) = a_distorted, d(1, 0) = 0;
    d(0, 1) = 0, d(1, 1) = b_distorted;
    d(0, 2) = 1, d(1, 2) = 0;
    d(0, 3) = 0, d(1, 3) = 1;
    d(0, 4) = by_numerator_x * r2, d(1, 4) = by_numerator_y * r2;
    d(0, 5) = by_numerator_x * r4, d(1, 5) = by_numerator_y * r4;
    d(0, 6) = fx * 2 * ab, d(1, 6) = fy * (r2 + 2 * bb);
    d(0, 7) = fx * (r2 + 2 * aa), d(1, 7) = fy * 2 * ab;
    d(0, 8) = by_numerator_x * r6, d(1, 8) = by_numerator_y * r6;
    if (rational) {
      d(0, 9) = -scale * d(0, 4), d(1, 9) = -scale * d(1, 4);
      d(0, 10) = -scale * d(0, 5), d(1, 10) = -scale * d(1, 5);
      d(0, 11) = -scale * d(0, 8), d(1, 11) = -scale * d(1, 8);
    }
  }
  return true;
}

// Kannala-Brandt: columns fx fy cx cy k1 k2 k3 k4.
bool ProjectFisheye(const double* intrinsics, const Eigen::Vector3d& p_CM, Eigen::Vector2d* q,
                    PointDerivative* dq_dp, IntrinsicDerivative* dq_dintrinsics) {
  const double fx = intrinsics[0], fy = intrinsics[1], cx = intrinsics[2], cy = intrinsics[3];
  const double *k = intrinsics + 4, x = p_CM.x(), y = p_CM.y(), z = p_CM.z();
  const double radius = std::hypot(x, y), squared = radius * radius + z * z;
  if (!(squared > 0) || (radius == 0 && z < 0)) return false;
  const double theta = std::atan2(radius, z), t2 = theta * theta, t4 = t2 * t2, t6 = t4 * t2,
               t8 = t4 * t4;
  const double distorted = theta * (1 + k[0] * t2 + k[1] * t4 + k[2] * t6 + k[3] * t8);
  const double ddistorted = 1 + 3 * k[0] * t2 + 5 * k[1] * t4 + 7 * k[2] * t6 + 9 * k[3] * t8;
  // Near the axis theta / radius is 1 / z - radius^2 / (3 z^3).
  const bool near_axis = radius < 1e-7 * z;
  const double scale = near_axis ? 1 / z : distorted / radius;
  *q << fx * scale * x + cx, fy * scale * y + cy;

  if (dq_dp) {
    // scale' = d scale / d (x^2 + y^2) * 2, and d scale / d z.
    const double by_radius = near_axis ? (2 * k[0] - 2.0 / 3) / (z * z * z)
                                       : (ddistorted * z / squared - scale) / (radius * radius);
    const double by_z = -ddistorted / squared;
    *dq_dp << fx * (scale + by_radius * x * x), fx * by_radius * x * y, fx * by_z * x,  //
        fy * by_radius * x * y, fy * (scale + by_radius * y * y), fy * by_z * y;
  }
  if (dq_dintrinsics) {
    auto& d = *dq_dintrinsics;
    const double unit = near_axis ? 1 / z : theta / radius;
    d(0, 0) = scale * x, d(1, 0) = 0;
    d(0, 1) = 0, d(1, 1) = scale * y;
    d(0, 2) = 1, d(1, 2) = 0;
    d(0, 3) = 0, d(1, 3) = 1;
    double power = t2;
    for (int i = 0; i < 4; ++i, power *= t2)
      d(0, 4 + i) = fx * unit * power * x, d(1, 4 + i) = fy * unit * power * y;
  }
  return true;
}

}  // namespace

bool ProjectLens(LensModel model, const double* intrinsics, const Eigen::Vector3d& p_CM,
                 Eigen::Vector2d* q, PointDerivative* dq_dp, IntrinsicDerivative* dq_dintrinsics) {
  switch (model) {
    case LensModel::kBrown:
      return ProjectPinhole(false, intrinsics, p_CM, q, dq_dp, dq_dintrinsics);
    case LensModel::kRational:
      return ProjectPinhole(true, intrinsics, p_CM, q, dq_dp, dq_dintrinsics);
    case LensModel::kFisheye:
      return ProjectFisheye(intrinsics, p_CM, q, dq_dp, dq_dintrinsics);
  }
  return false;
}

}  // namespace impactlab::calibration
