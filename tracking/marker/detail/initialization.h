#pragma once
// Private to the tracking room: start of a fit of the edge model from a detected spot.

#include "data/files/image.h"
#include "tracking/marker/detail/solve.h"

namespace impactlab::tracking {

// The box with the margin of the options, within their limit. Works for any numbers.
Window Grown(double left, double top, double right, double bottom, const MarkerFitOptions& options);

// The pixels of the window that the picture has, all used.
MarkerPatch TakePatch(const GrayImage& image, const Window& wanted);

// The form whose area would have the second moments of the spot, the motion taken off.
Eigen::Vector3d StartForm(const Spot& spot, const MarkerFitOptions& options);

MarkerProblem ProblemOf(const MarkerFitOptions& options, bool circle);

MarkerVector StartOf(const MarkerPatch& patch, const Spot& spot, const MarkerFitOptions& options);

// The circle of the same area.
MarkerVector AsCircle(MarkerVector p);

// Prior: position and size of the marker as those of the spot, weak enough to have no influence
// where the pixels determine them.
void SetPrior(const MarkerVector& start, MarkerProblem* problem);

}  // namespace impactlab::tracking
