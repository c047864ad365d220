#pragma once
// A second look where a marker must be: the level that parts a whole frame may drown one marker in
// a body that a lamp has lit, while its neighbourhood alone still shows it.

#include <Eigen/Core>
#include <vector>

#include "tracking/spot/spot.h"
#include "tracking/track/tracker.h"

namespace impactlab {

// For every expected marker that no spot answers, parts a small window at a level of its own. A
// spot found there that lies where it is expected (3 px and 3 standard deviations) and is as large,
// within a factor of 2, joins `spots`; one that had swallowed it goes. `noise`: of the frame.
// Returns how many were found.
int LookAgain(const GrayImage& image, const SpotOptions& options, const PixelNoise& noise,
              const std::vector<ExpectedMarker>& expected, std::vector<Spot>* spots);

}  // namespace impactlab
