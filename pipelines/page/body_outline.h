#pragma once
// A body as it is drawn: its faces, or its round ends.

#include <Eigen/Core>
#include <vector>

#include "impact/body/body.h"

namespace impactlab::pipelines {

// A body as its faces, or as the hull of one or two round ends.
struct BodyOutline {
  struct Face {
    Eigen::Vector3d normal_B;
    std::vector<Eigen::Vector3d> corners_B;
  };
  std::vector<Face> faces;                 // of box and polytope; rounded corners are drawn sharp
  Eigen::Vector3d semi_axes;               // of each round end [m]
  std::vector<Eigen::Vector3d> centres_B;  // of the round ends
};
BodyOutline OutlineOf(const Body& body);

}  // namespace impactlab::pipelines
