#pragma once
// The largest moments of inertia that a mass inside an outline can have.
//
// The second moments of a mass distribution about its centre of mass, S = integral of x x' dm =
// tr(I) / 2 1 - I, are bounded along every direction u by the extent of the outline: a mass m
// between lo < 0 and hi > 0 along u has u' S u <= m (-lo) hi (Bhatia and Davis 2000, eq. 1.3), and
// tr(S) <= m R^2 for the point that is furthest from the centre, at R. Uniform solids stay far
// below; a unit or a factor that was mistaken goes above.

#include "impact/body/body.h"

namespace impactlab {

/// Largest inertia about the axis `axis_B` (unit, in B, through the centre of mass) that the mass
/// of `body` can have inside its outline [kg m^2]; infinity for bodies of points only, whose
/// outline is not known. In planar motion the outline is the one in the x-z plane and the axis
/// B_y.
double LargestInertia(const Body& body, const Eigen::Vector3d& axis_B);

/// Throws ConfigError naming inertia, bound and the uniform solid's value where the inertia of
/// `body` is larger than any that its mass can have inside its outline. Bodies of points pass.
void CheckInertiaInOutline(const Body& body);

}  // namespace impactlab
