#pragma once
// Private to the tracking room: where a fit of the edge model starts, from what the detector says
// about a spot.

#include "data/files/image.h"
#include "tracking/marker/detail/solve.h"

namespace impactlab::tracking {

// The box with the margin of the options, within their limit. Any number is taken, sense or not.
Window Grown(double left, double top, double right, double bottom, const MarkerFitOptions& options);

// The pixels of the window that the picture has, all used.
MarkerPatch TakePatch(const GrayImage& image, const Window& wanted);

// The form whose area would have the second moments of the spot, the motion taken off.
Eigen::Vector3d StartForm(const Spot& spot, const MarkerFitOptions& options);

MarkerProblem ProblemOf(const MarkerFitOptions& options, bool circle);

MarkerVector StartOf(const MarkerPatch& patch, const Spot& spot, const MarkerFitOptions& options);

// The circle of the same area.
MarkerVector AsCircle(MarkerVector p);

// What is known before looking: the marker is where and about as large as the spot says. Too weak
// to be felt where pixels tell anything.
void SetPrior(const MarkerVector& start, MarkerProblem* problem);

}  // namespace impactlab::tracking
