#pragma once
// Events of a ball whose centre alone was followed: what is known of its spin.

#include "impact/body/event.h"

namespace impactlab {

// Standard deviation that stands for a spin of which nothing is known [rad/s].
inline constexpr double kUnknownSpin = 1000;

// An event whose spin after the impact is 0 exactly and not known to 10 rad/s was not seen to spin.
bool SpinIsUnknown(const ImpactEvent& event);

// Of these, an event whose spin before the impact is not known either: the slip that it may cause
// is more than a tenth of the speed of approach. Whether and in which direction such a contact
// slides is not known, so that its tangential impulse bounds friction from below and no more.
bool SpinIsOpen(const ImpactEvent& event);

}  // namespace impactlab
