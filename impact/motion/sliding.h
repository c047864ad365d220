#pragma once
// Painleve's classification (impact/law/painleve.h) of a contact of a planar mechanism on its way.

#include <optional>

#include "impact/law/painleve.h"
#include "impact/motion/mechanism.h"

namespace impactlab {

struct SlidingContact {
  ContactRegime regime = ContactRegime::kContact;
  double mu_k = 0;               // of the contact
  double mu_press = 0;           // friction from which slip presses; infinity: none does
  double v_t = 0;                // slip [m/s]
  double free_acceleration = 0;  // of the contact point along its normal, without contacts [m/s^2]
};

// Of one contact, with no force at the others; the joints hold. Its normal velocity counts as 0.
// Empty in space, and where a joint holds the point along the surface.
std::optional<SlidingContact> ClassifySliding(const Mechanism& mechanism,
                                              const MechanismState& state, int contact);

}  // namespace impactlab
