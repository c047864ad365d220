#pragma once
// Checks of a calibration problem before it is solved. Private to the room.

#include "calibration/solve/calibrate.h"

namespace impactlab::calibration {

// ConfigError for an inconsistent problem: names, sizes, unknown parameters, views that are not one
// a camera, points out of order.
void CheckSetup(const CalibrationProblem& problem);

}  // namespace impactlab::calibration
