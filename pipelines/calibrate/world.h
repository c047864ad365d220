#pragma once
// What a calibration file states of the world - the struck surface, gravity, known lengths - and
// the rig in it.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/solve/calibrate.h"
#include "calibration/world/world.h"

namespace impactlab {
namespace pipelines {
class Keys;
}

// Pixels of one thing by camera name.
using SeenBy = std::vector<std::pair<std::string, Eigen::Vector2d>>;

struct WorldConfig {
  std::string source;  // "board", "points", "given"; empty: W stays the frame of the first camera
  std::string shot;    // board: shot or picture in which it lies on the struck surface
  BoardWorldOptions board;
  struct Point {
    std::string name;
    Eigen::Vector3d p_W = Eigen::Vector3d::Zero();  // [m]
    double sd = 0, sd_pixel = 0.5;                  // [m], [px]
    SeenBy seen;
  };
  std::vector<Point> points;
  Eigen::Isometry3d X_WA = Eigen::Isometry3d::Identity();  // given: pose of the first camera in W
  double sd_rotation = 0, sd_position = 0;                 // [rad], [m]

  // "plumb_line", "direction"; empty: not known
  std::string gravity;
  // by camera, from the top down [px]
  std::vector<std::pair<std::string, std::vector<Eigen::Vector2d>>> plumb_line;
  double sd_plumb = 0.5;  // [px]
  // "world" or a camera
  std::string direction_frame;
  Eigen::Vector3d down = -Eigen::Vector3d::UnitZ();
  double sd_down = 0;  // [rad]

  struct Length {
    std::string name;
    double length = 0, sd = 0, sd_pixel = 0.5;  // [m], [m], [px]
    SeenBy from, to;
  };
  std::vector<Length> lengths;
  bool empty() const { return source.empty() && gravity.empty() && lengths.empty(); }
};

// Keys `world`, `gravity` and `lengths` of a calibration file (data/README.md) for cameras of these
// names.
void Visit(pipelines::Keys& keys, WorldConfig& plan, const std::vector<std::string>& cameras);

struct WorldRun {
  // why the requested world cannot be determined; the rig is then refused
  std::string problem;
  CameraRig rig;  // in W
  // see World [rad]; only with gravity
  double slope = 0, sd_slope = 0, downhill = 0, sd_downhill = 0;
  std::optional<FrameEstimate> frame;
  std::optional<PointsWorld> points;
  std::optional<GravityEstimate> gravity;
  std::optional<ScaleCheck> scale;
  std::vector<std::string> notes;
};
// The result must be usable. ConfigError for a shot that is not among those of the problem.
WorldRun PlaceWorld(const WorldConfig& plan, const CalibrationProblem& problem,
                    const CalibrationResult& result);

// Lines for a terminal; empty where nothing was asked.
std::string BriefReport(const WorldRun& world);

}  // namespace impactlab
