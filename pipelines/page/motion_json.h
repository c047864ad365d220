#pragma once
// Input of the animated view of motions (assets/motion.js) as JSON. Not installed: shows nlohmann's
// JSON.

#include <Eigen/Core>
#include <array>
#include <nlohmann/json.hpp>

#include "calibration/camera/rig.h"
#include "pipelines/page/draw_motion.h"

namespace impactlab::pipelines {

nlohmann::ordered_json TripleJson(const Eigen::Vector3d& v);

// A part and the point of it, in its frame, whose path is drawn.
nlohmann::ordered_json PartJson(const DrawnPart& part, const Eigen::Vector3d& trace_B);

nlohmann::ordered_json PlaneJson(const DrawnPlane& plane);

// Corners, in W, of the pyramid that a camera sees, `depth` from its eye [m]: without distortion,
// whose rays need not reach the corners; a very wide one is drawn blunt.
std::array<Eigen::Vector3d, 4> ViewPyramid(const RigCamera& camera, double depth);

}  // namespace impactlab::pipelines
