#pragma once
// One solve of a rig: from start values to least squares without outliers. Private to the room.

#include <Eigen/Core>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "calibration/solve/bundle.h"
#include "calibration/solve/calibrate.h"
#include "calibration/solve/detail/board_correspondence.h"

namespace impactlab::calibration {

struct RigSolution {
  bool ok = false;
  CalibrationStatus status = CalibrationStatus::kNoData;
  std::string reason;
  Bundle bundle;
  CalibrationProblem problem;                  // views renumbered
  std::vector<std::vector<ViewCheck>> checks;  // [shot][camera]
  std::vector<std::string> notes;
  // half the sum of squares of the inliers, sd = 1 [px^2]
  double cost = std::numeric_limits<double>::infinity();
  int n_points = 0, n_outliers = 0, iterations = 0;
  bool converged = false;
};

// `guesses`: intrinsics to start from, by camera; a closed form where there is none.
RigSolution SolveRig(CalibrationProblem problem, const CalibrationOptions& options,
                     const std::vector<std::optional<Eigen::VectorXd>>& guesses);

// Noise of each camera at sd = 1 [px], unbiased for least squares: the sum of squares is divided by
// the number of residuals less the leverage of the points.
std::vector<double> UnbiasedSigmas(const Bundle& bundle, const std::vector<double>& leverage,
                                   bool pooled);

}  // namespace impactlab::calibration
