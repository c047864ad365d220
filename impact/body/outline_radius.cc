#include "impact/body/outline_radius.h"

#include <algorithm>

namespace impactlab {

double OutlineRadius(const Body& body) {
  Eigen::Vector3d half = body.half_extents;
  if (body.planar) half.y() = 0;
  switch (body.shape) {
    case BodyShape::kBox:
      return half.norm();
    case BodyShape::kEllipsoid:
      return half.maxCoeff();
    case BodyShape::kRod:
      return body.half_length;
    case BodyShape::kBall:
      return body.radius;
    case BodyShape::kPolytope:
    case BodyShape::kPoints:
      break;
  }
  double radius = 0;
  for (const Eigen::Vector3d& p : body.points_B) radius = std::max(radius, p.norm());
  return radius;
}

}  // namespace impactlab
