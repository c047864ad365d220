#include "pipelines/page/body_outline.h"

#include <utility>

#include "impact/body/convex_hull.h"

namespace impactlab::pipelines {

using Eigen::Vector3d;

BodyOutline OutlineOf(const Body& body) {
  BodyOutline outline;
  switch (body.shape) {
    case BodyShape::kBall:
      outline.semi_axes = Vector3d::Constant(body.radius);
      outline.centres_B = {Vector3d::Zero()};
      return outline;
    case BodyShape::kEllipsoid:
      outline.semi_axes = body.half_extents;
      outline.centres_B = {Vector3d::Zero()};
      return outline;
    case BodyShape::kRod: {
      const Vector3d end(0, 0, body.half_length - body.radius);
      outline.semi_axes = Vector3d::Constant(body.radius);
      outline.centres_B = {-end, end};
      return outline;
    }
    case BodyShape::kBox:
    case BodyShape::kPolytope:
    case BodyShape::kPoints:
      break;
  }
  const impact::ConvexHull hull = impact::BuildConvexHull(Vertices(body), false);
  for (const impact::HullFace& face : hull.faces) {
    BodyOutline::Face out{face.normal, {}};
    for (const int i : face.loop)
      out.corners_B.push_back(hull.vertices[static_cast<std::size_t>(i)]);
    outline.faces.push_back(std::move(out));
  }
  return outline;
}

}  // namespace impactlab::pipelines
