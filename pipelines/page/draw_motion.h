#pragma once
// What the parts of a mechanism look like, for its page and its video.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <string>
#include <vector>

#include "impact/body/body.h"

namespace impactlab::pipelines {

// Points in the frame of the part [m], and what is drawn of them.
struct DrawnPart {
  std::string name;
  std::vector<Eigen::Vector3d> points_B;
  // closed loops, counter-clockwise seen from outside; planar: the outline
  std::vector<std::vector<int>> faces;
  std::vector<std::vector<int>> lines;
  double thickness = 0;    // of lines, with round ends [m]; 0: thin
  double ball_radius = 0;  // of a ball or disc about the first point [m]
};

// A plane of W that may move along its normal; seen from the side it is a line.
struct DrawnPlane {
  std::string name;
  Eigen::Vector3d normal = Eigen::Vector3d::UnitZ();
  double offset = 0;                               // at rest [m]
  double amplitude = 0, frequency = 0, phase = 0;  // as MovingPlane
  double OffsetAt(double t) const;
};

DrawnPart DrawBody(const Body& body, const std::string& name);
// A massless rod along B_x from the origin to `length`, a ball at its end.
DrawnPart DrawArm(double length, double ball_radius, const std::string& name);

}  // namespace impactlab::pipelines
