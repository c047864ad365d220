#include "pipelines/page/draw_motion.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "pipelines/page/body_outline.h"

namespace impactlab::pipelines {
namespace {

using Eigen::Vector3d;

constexpr int kRound = 48;  // corners of an ellipse

// Closed loop of points about the origin in the plane of a and b.
std::vector<int> AddEllipse(const Vector3d& a, const Vector3d& b, DrawnPart& part) {
  std::vector<int> loop;
  for (int i = 0; i < kRound; ++i) {
    const double angle = 2 * M_PI * i / kRound;
    loop.push_back(static_cast<int>(part.points_B.size()));
    part.points_B.push_back(a * std::cos(angle) + b * std::sin(angle));
  }
  return loop;
}

// Corners of a planar outline in order about the centre of mass.
std::vector<int> InOrder(const std::vector<Vector3d>& points) {
  std::vector<int> loop(points.size());
  std::iota(loop.begin(), loop.end(), 0);
  const auto angle = [&](int i) {
    return std::atan2(points[static_cast<std::size_t>(i)].z(),
                      points[static_cast<std::size_t>(i)].x());
  };
  std::sort(loop.begin(), loop.end(), [&](int i, int j) { return angle(i) < angle(j); });
  return loop;
}

void AddFaces(const Body& body, DrawnPart& part) {
  for (const BodyOutline::Face& face : OutlineOf(body).faces) {
    std::vector<int> loop;
    for (const Vector3d& corner : face.corners_B) {
      const auto at = std::find_if(part.points_B.begin(), part.points_B.end(),
                                   [&](const Vector3d& p) { return (p - corner).norm() < 1e-12; });
      loop.push_back(static_cast<int>(at - part.points_B.begin()));
      if (at == part.points_B.end()) part.points_B.push_back(corner);
    }
    part.faces.push_back(loop);
  }
}

}  // namespace

double DrawnPlane::OffsetAt(double t) const {
  return offset + (amplitude == 0 ? 0 : amplitude * std::sin(frequency * t + phase));
}

DrawnPart DrawBody(const Body& body, const std::string& name) {
  DrawnPart part;
  part.name = name;
  switch (body.shape) {
    case BodyShape::kBall:
      // A radius shows how it turns.
      part.points_B = {Vector3d::Zero(), Vector3d(body.radius, 0, 0)};
      part.lines = {{0, 1}};
      part.ball_radius = body.radius;
      break;
    case BodyShape::kRod: {
      const Vector3d reach =
          (body.half_length - body.radius) * (body.planar ? Vector3d::UnitX() : Vector3d::UnitZ());
      part.points_B = {reach, -reach};
      part.lines = {{0, 1}};
      part.thickness = 2 * body.radius;
      break;
    }
    case BodyShape::kEllipsoid: {
      const Vector3d& h = body.half_extents;
      const Vector3d x(h.x(), 0, 0), y(0, h.y(), 0), z(0, 0, h.z());
      const std::vector<int> side = AddEllipse(x, z, part);
      if (body.planar) {
        part.faces = {side};
        part.lines = {{side[0], side[kRound / 2]}};
        break;
      }
      part.lines = {side, AddEllipse(x, y, part), AddEllipse(y, z, part)};
      for (std::vector<int>& line : part.lines) line.push_back(line.front());
      break;
    }
    case BodyShape::kBox:
    case BodyShape::kPolytope:
      if (!body.planar) {
        AddFaces(body, part);
        break;
      }
      part.points_B = Vertices(body);
      part.faces = {InOrder(part.points_B)};
      break;
    case BodyShape::kPoints:
      part.points_B = body.points_B;
      part.lines = {InOrder(part.points_B)};
      break;
  }
  return part;
}

DrawnPart DrawArm(double length, double ball_radius, const std::string& name) {
  DrawnPart part;
  part.name = name;
  part.points_B = {Vector3d(length, 0, 0), Vector3d::Zero()};
  part.lines = {{0, 1}};
  part.ball_radius = ball_radius;
  return part;
}

}  // namespace impactlab::pipelines
