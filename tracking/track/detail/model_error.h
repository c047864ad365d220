#pragma once
// What the fit of one image leaves out of the position of a marker.

namespace impactlab::tracking {

// Position errors that no noise of a pixel accounts for (shading, texture, the lens's own shape),
// standard deviation [px].
inline constexpr double kModelError = 0.01;

}  // namespace impactlab::tracking
