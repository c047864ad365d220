#pragma once
// The attitude of a body at an impact from nothing but its momentum: the impulse m dv at the point
// where the body touches must turn it as it turned, I dw = r x (m dv). Three equations; a rod has
// two freedoms that matter, a box three, and the corner that touches goes with the azimuth of the
// slope. No law of friction or restitution enters, but where several attitudes fit, those whose
// contact approaches and leaves come first, and among them the one whose impulse lies closest to
// the normal.

#include "pipelines/literature/audit.h"

namespace impactlab {

// `usable` where the contact approaches and leaves and the misfit is within `largest_share` of |I
// dw|; else the best there is, with the reason.
SolvedAttitude SolveAttitude(const Body& body, const PrintedRow& row, double largest_share);

// How far the surface of the body lies from its centre of mass at most [m].
double LargestLever(const Body& body);

}  // namespace impactlab
