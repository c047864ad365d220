#pragma once
// Second detection where a marker is expected: a global threshold can merge a marker with a
// brightly lit body, so a local window is thresholded again.

#include <Eigen/Core>
#include <vector>

#include "tracking/spot/spot.h"
#include "tracking/track/tracker.h"

namespace impactlab {

// For every expected marker without a spot, thresholds a small window at a level of its own. A spot
// found there that lies where it is expected (3 px and 3 standard deviations) and is as large,
// within a factor of 2, joins `spots`; a larger spot that contained it is removed. `noise`: of the
// frame. Returns how many were found.
int LookAgain(const GrayImage& image, const SpotOptions& options, const PixelNoise& noise,
              const std::vector<ExpectedMarker>& expected, std::vector<Spot>* spots);

}  // namespace impactlab
