#include "impact/law/painleve.h"

#include <cmath>
#include <limits>

namespace impactlab {

const char* RegimeName(ContactRegime regime) {
  switch (regime) {
    case ContactRegime::kContact:
      return "contact";
    case ContactRegime::kSeparation:
      return "separation";
    case ContactRegime::kInconsistent:
      return "inconsistent";
    case ContactRegime::kIndeterminate:
      return "indeterminate";
    case ContactRegime::kMoving:
      return "moving";
  }
  return "unknown";
}

ContactRegime ClassifyContact(const PlanarContact& contact, double mu,
                              double free_normal_acceleration) {
  if (std::abs(contact.v_n) > 1e-12 * std::abs(contact.v_t)) return ContactRegime::kMoving;
  const double s = contact.v_t > 0 ? 1 : contact.v_t < 0 ? -1 : 0;
  const double k_n = contact.A_nn - s * mu * contact.A_tn;
  if (s == 0 || k_n > 0)
    return free_normal_acceleration < 0 ? ContactRegime::kContact : ContactRegime::kSeparation;
  // At free_n = 0 zero force holds the contact, and so does a separation that never starts: several
  // solutions again.
  return free_normal_acceleration < 0 ? ContactRegime::kInconsistent
                                      : ContactRegime::kIndeterminate;
}

double RodCriticalFriction(double theta, double gyration_over_lever) {
  const double k2 = gyration_over_lever * gyration_over_lever, s = std::sin(theta),
               c = std::cos(theta);
  const double coupling = std::abs(s * c);
  return coupling > 0 ? (k2 + c * c) / coupling : std::numeric_limits<double>::infinity();
}

LeastCriticalFriction LeastRodCriticalFriction(double gyration_over_lever) {
  // With t = tan theta, mu = (k^2 (1 + t^2) + 1) / t: least where k^2 t^2 = k^2 + 1.
  const double k2 = gyration_over_lever * gyration_over_lever, t = std::sqrt(1 + 1 / k2);
  return {std::atan(t), (k2 * (1 + t * t) + 1) / t};
}

}  // namespace impactlab
