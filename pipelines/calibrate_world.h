#pragma once
// The `world` and `lengths` of a calibration file: from the frame of the first camera to that of the experiment. Private to the pipelines
// room.

#include <optional>
#include <string>
#include <vector>

#include "calibration/world.h"
#include "data/yaml.h"

namespace impactlab {

// What the file says about W. Nothing: W stays the frame of the first camera.
struct WorldPlan {
  std::string board_shot;  // shot in which the board lay on the struck surface
  BoardWorldOptions board;
  std::vector<KnownPoint> points;
  struct Direction {
    int camera = 0;
    Eigen::Vector3d gravity = Eigen::Vector3d::UnitY();  // in the frame of that camera
    double sd = 0;                                       // [rad]
  };
  std::optional<Direction> gravity;
  std::vector<PixelObservation> plumb_line;
  std::vector<KnownLength> lengths;
  bool places() const { return !board_shot.empty() || !points.empty(); }
  bool empty() const { return !places() && !gravity && plumb_line.empty() && lengths.empty(); }
};

struct WorldResult {
  std::string problem;         // W cannot be had: why
  std::optional<World> world;  // the rig in W
  PointsWorld points;          // residuals of the known points, where there are any
  std::optional<ScaleCheck> scale;
};

namespace internal {

WorldPlan ParseWorld(const YamlNode& root, const std::vector<std::string>& cameras);
std::string WorldYaml(const WorldPlan& plan, const std::vector<std::string>& cameras);
WorldResult FindWorld(const WorldPlan& plan, const CalibrationProblem& problem, const CalibrationResult& result);
std::string BriefReport(const WorldResult& result);

}  // namespace internal
}  // namespace impactlab
