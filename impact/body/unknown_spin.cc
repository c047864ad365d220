#include "impact/body/unknown_spin.h"

#include <cmath>

#include "data/math/rotation.h"

namespace impactlab {

bool SpinIsUnknown(const ImpactEvent& event) {
  constexpr double kUnknown = 10;  // [rad/s]
  if (!event.omega_plus.isZero(0)) return false;
  const Eigen::Vector3d variance = event.cov.diagonal().segment<3>(kOmegaPlus);
  return (event.planar ? variance.y() : variance.minCoeff()) > kUnknown * kUnknown;
}

bool SpinIsOpen(const ImpactEvent& event) {
  constexpr double kMostSlip = 0.1;  // of the speed of approach
  if (!SpinIsUnknown(event)) return false;
  const Eigen::Matrix3d slip = CrossMatrix(event.p_WP - event.X_WB.translation());
  const Eigen::Matrix3d spin = event.cov.block<3, 3>(kOmegaMinus, kOmegaMinus);
  const double variance = (slip * spin * slip.transpose()).trace();
  return std::sqrt(variance) > kMostSlip * std::abs(event.contact.v_minus_F.z());
}

}  // namespace impactlab
