#pragma once
// The inertia of a body by the levers and spin changes of its impacts, where no attitude is known
// and the audit of frames has nothing to go by.

#include <span>

#include "impact/body/body.h"
#include "impact/body/event.h"

namespace impactlab {

/// Inertia that angular momentum about the contact point finds in accepted events, over the one
/// declared, where they differ beyond chance (3.5 standard deviations); 1 otherwise, of fewer than
/// eight events, and of bodies in space other than balls, which need an attitude. The tenth of the
/// events that fits worst is left out.
double InertiaByLevers(std::span<const ImpactEvent> events, const Body& body);

}  // namespace impactlab
