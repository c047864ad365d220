#include "impact/motion/sliding.h"

#include "impact/law/energetic_map.h"
#include "impact/motion/detail/contact_field.h"
#include "impact/multi/system.h"

namespace impactlab {

std::optional<SlidingContact> ClassifySliding(const Mechanism& mechanism,
                                              const MechanismState& state, int contact) {
  if (mechanism.width != 2) return std::nullopt;
  // Only the inverse mass of the contact is asked: velocities of the surfaces do not matter.
  Eigen::VectorXd shift;
  const ContactSpace space = ReduceToContacts(FreezeForImpact(mechanism, state, {contact}, shift));
  impact::FieldValues values;
  impact::ContactField(mechanism, 1).Evaluate(state, values);
  PlanarContact planar{.A_tt = space.A(0, 0),
                       .A_tn = space.A(0, 1),
                       .A_nn = space.A(1, 1),
                       .v_t = values.v[2 * contact],
                       .v_n = 0};
  if (!(planar.Determinant() > 1e-12 * planar.A_tt * planar.A_nn)) return std::nullopt;
  SlidingContact out;
  out.mu_k = mechanism.contacts[static_cast<std::size_t>(contact)].mu_k;
  out.v_t = planar.v_t;
  out.free_acceleration = values.a[2 * contact + 1];
  out.mu_press = FindCriticalFriction(planar, 0.5).press;
  out.regime = ClassifyContact(planar, out.mu_k, out.free_acceleration);
  return out;
}

}  // namespace impactlab
