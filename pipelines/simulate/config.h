#pragma once
// A scenario file (schema impactlab.scenario/1): a mechanism, where it starts, and how long it is
// followed. Every key stands in data/README.md.

#include <Eigen/Geometry>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "impact/motion/simulate.h"
#include "pipelines/page/draw_motion.h"

namespace impactlab {

// A mechanism with what its page and its tables need to know of it.
struct Scenario {
  std::string name, source;
  Mechanism mechanism;
  MechanismState start;
  SimulateOptions options;
  std::vector<pipelines::DrawnPart> parts;
  std::vector<pipelines::DrawnPlane> planes;
  // Poses of the parts in W.
  std::function<std::vector<Eigen::Isometry3d>(const MechanismState&)> poses;
  bool poses_in_columns = false;  // q holds no poses: tables list them beside it

  bool planar() const { return mechanism.width == 2; }
};

// More samples than that are refused.
inline constexpr int kMostSamples = 1000000;

// ConfigError "file:line: key: found, allowed" for what the file says, and for mechanisms that
// cannot be (a body inside a plane, velocities that break a joint).
Scenario LoadScenario(const std::filesystem::path& path);
// `name` stands for the file in messages.
Scenario ParseScenario(const std::string& text, const std::string& name);

}  // namespace impactlab
