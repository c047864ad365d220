#pragma once
// Private to the room.

#include "calibration/solve/calibrate.h"

namespace impactlab::calibration {

// ConfigError for a problem that makes no sense: names, sizes, unknown parameters, views that are
// not one a camera, points out of order.
void CheckSetup(const CalibrationProblem& problem);

}  // namespace impactlab::calibration
