#pragma once
// The spheres with which a body with corners touches a plane.

#include <Eigen/Core>
#include <vector>

#include "impact/body/body.h"

namespace impactlab::impact {

struct CornerSpheres {
  // [m], in the order of Vertices(); empty for smooth shapes and a rod as long as its caps
  std::vector<Eigen::Vector3d> centres_B;
  double radius = 0;  // [m], 0 for sharp corners
};
CornerSpheres CornersOf(const Body& body);

}  // namespace impactlab::impact
