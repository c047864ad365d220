#include "reconstruction/audit/detail/slip.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"

namespace impactlab::reconstruction {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Matrix3x15 = Eigen::Matrix<double, 3, kEventDim>;

Vector3d LeverW(const ImpactEvent& event, const Body& body, const Vector3d& normal) {
  return event.X_WB.linear() * SupportLever(body, event.X_WB.linear().transpose() * normal);
}

double LargestSd(const Matrix3d& cov) { return std::sqrt(std::max(0.0, cov.trace())); }

Slip MeasureSlip(const ImpactEvent& event, const Body& body, const Vector3d& normal) {
  const Vector3d r = LeverW(event, body, normal);
  Matrix3d across = Matrix3d::Identity() - normal * normal.transpose();
  if (body.planar) across -= Vector3d::UnitY() * Vector3d::UnitY().transpose();
  const auto contact = [&](int v, int omega, const Vector3d& spin) {
    Matrix3x15 J = Matrix3x15::Zero();
    J.middleCols<3>(v) = across;
    J.middleCols<3>(omega) = -across * CrossMatrix(r);
    J.middleCols<3>(kLever) = across * CrossMatrix(spin);
    return LargestSd(Congruence(J, event.cov));
  };
  Slip slip;
  slip.minus = across * (event.v_minus + event.omega_minus.cross(r));
  slip.plus = across * (event.v_plus + event.omega_plus.cross(r));
  slip.sd_minus = contact(kVMinus, kOmegaMinus, event.omega_minus);
  slip.sd_plus = contact(kVPlus, kOmegaPlus, event.omega_plus);
  const Vector3d dv = event.v_plus - event.v_minus;
  Matrix3x15 J = Matrix3x15::Zero();
  J.middleCols<3>(kVPlus) = Matrix3d::Identity();
  J.middleCols<3>(kVMinus) = -Matrix3d::Identity();
  const Matrix3d cov = Congruence(J, event.cov);
  slip.dv_t = across * dv;
  slip.dv_n = normal.dot(dv);
  slip.sd_dv_t = LargestSd(across * cov * across.transpose());
  slip.sd_dv_n = std::sqrt(std::max(0.0, normal.dot(cov * normal)));
  return slip;
}

double InitialOpposition(const Slip& slip) {
  if (!(slip.minus.norm() > kClearSlip * slip.sd_minus) ||
      !(slip.dv_t.norm() > kClearSlip * slip.sd_dv_t))
    return std::numeric_limits<double>::quiet_NaN();
  return -slip.dv_t.normalized().dot(slip.minus.normalized());
}

}  // namespace impactlab::reconstruction
