#pragma once
// Size of a body about its centre of mass.

#include "impact/body/body.h"

namespace impactlab {

/// Distance of the furthest point of the outline, or of the contact points of a body that is given
/// by points, from the centre of mass [m]; in planar motion of the outline in the x-z plane.
double OutlineRadius(const Body& body);

}  // namespace impactlab
