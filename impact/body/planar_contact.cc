#include "impact/body/planar_contact.h"

namespace impactlab {

std::optional<PlanarContact> PlanarPart(const ContactState& contact) {
  if (!IsPlanar(contact)) return std::nullopt;
  return PlanarContact{.A_tt = contact.A_F(0, 0),
                       .A_tn = contact.A_F(0, 2),
                       .A_nn = contact.A_F(2, 2),
                       .v_t = contact.v_minus_F.x(),
                       .v_n = contact.v_minus_F.z()};
}

ContactState InSpace(const PlanarContact& contact) {
  ContactState out;
  out.A_F << contact.A_tt, 0, contact.A_tn, 0, contact.A_tt, 0, contact.A_tn, 0, contact.A_nn;
  out.v_minus_F << contact.v_t, 0, contact.v_n;
  return out;
}

PlanarContact PlanarBodyContact(double mass, double inertia, double r_t, double r_n, double v_t,
                                double v_n, double theta_dot) {
  return {.A_tt = 1 / mass + r_n * r_n / inertia,
          .A_tn = -r_t * r_n / inertia,
          .A_nn = 1 / mass + r_t * r_t / inertia,
          .v_t = v_t - theta_dot * r_n,
          .v_n = v_n + theta_dot * r_t};
}

ContactState MakeContactState(const ContactBody& striking, const ContactBody& struck,
                              const Eigen::Isometry3d& X_WF) {
  ContactState contact =
      MakeContactState(*striking.body, striking.X_WB, striking.v_WB, striking.omega_WB, X_WF);
  const ContactState other =
      MakeContactState(*struck.body, struck.X_WB, struck.v_WB, struck.omega_WB, X_WF);
  contact.A_F += other.A_F;
  contact.v_minus_F -= other.v_minus_F;
  return contact;
}

}  // namespace impactlab
