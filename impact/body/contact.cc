#include "impact/body/contact.h"

#include <cmath>

namespace impactlab {

bool IsPlanar(const ContactState& contact) {
  constexpr double kRelative = 1e-12;
  const Eigen::Matrix3d& A = contact.A_F;
  const Eigen::Vector3d& v = contact.v_minus_F;
  // Most recordings are exactly planar: comparing with zero first keeps the square roots out of the
  // common path.
  if (v.y() == 0 && A(0, 1) == 0 && A(1, 0) == 0 && A(1, 2) == 0 && A(2, 1) == 0) return true;
  const double scale_A = std::max(A.diagonal().cwiseAbs().maxCoeff(), std::abs(A(0, 2)));
  const double coupling = std::max(std::max(std::abs(A(0, 1)), std::abs(A(1, 0))),
                                   std::max(std::abs(A(1, 2)), std::abs(A(2, 1))));
  return std::abs(v.y()) <= kRelative * v.cwiseAbs().maxCoeff() && coupling <= kRelative * scale_A;
}

}  // namespace impactlab
