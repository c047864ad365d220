#pragma once
// Whether the shots of a board can determine the cameras: number, tilt, depth and coverage, with
// findings.

#include <Eigen/Geometry>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "calibration/solve/calibrate.h"

namespace impactlab {

enum class RigVerdict { kGood, kUsable, kRefused };
const char* ToString(RigVerdict verdict);  // "good", "usable", "refused"

// One reason for a lower verdict (or a remark: level kGood).
struct RigFinding {
  RigVerdict level = RigVerdict::kUsable;  // the best verdict possible with it
  int camera = -1;                         // -1: the whole
  // stable: "parallel-boards", "coverage", "uncertainty", "model-error", "halves-disagree", ...
  std::string code;
  std::string text;    // what is the matter, with numbers and units
  std::string advice;  // what to film or check next; may be empty
};

// Limits for the geometry of the shots, checked before the solve.
struct GeometryOptions {
  int min_shots = 3, good_shots = 10;  // board views a camera
  // largest angle between two boards; two nearly parallel boards count as one [rad]
  double min_tilt_spread = 0.10;
  double good_tilt_spread = 0.5;  // [rad]
  double min_depth_ratio = 1.05;  // farthest over nearest board point (95 and 5 %)
  double good_depth_ratio = 1.3;  //
  // share of image cells that hold a point: below it the rest of the image is extrapolation
  double min_coverage = 0.2;
  double good_coverage = 0.6;                    //
  int coverage_columns = 10, coverage_rows = 8;  // cells
};
struct CameraGeometry {
  int shots = 0, points = 0;
  double tilt_spread = 0;                // largest angle between the normals of two boards [rad]
  double depth_near = 0, depth_far = 0;  // 5 and 95 % of the board points [m]
  double coverage = 0;                   // share of the cells that hold a point
  // points in the outer fifth of width and height: top left, top right, bottom left, bottom right
  std::array<int, 4> corner_points{};
  int coverage_columns = 0, coverage_rows = 0;
  std::vector<int> cell_points;  // row by row
};
struct GeometryCheck {
  std::vector<CameraGeometry> cameras;
  std::vector<RigFinding> findings;
};
// `X_CG[camera][shot]`: pose of the board in that camera where it is known, at least roughly.
using BoardPoses = std::vector<std::vector<std::optional<Eigen::Isometry3d>>>;
GeometryCheck CheckGeometry(const CalibrationProblem& problem, const BoardPoses& X_CG,
                            const GeometryOptions& options = {});
BoardPoses PosesInCameras(const CalibrationResult& result);

}  // namespace impactlab
