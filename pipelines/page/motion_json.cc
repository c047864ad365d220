#include "pipelines/page/motion_json.h"

#include <algorithm>

#include "pipelines/page/plot.h"

namespace impactlab::pipelines {
namespace {

using FilmJson = nlohmann::ordered_json;
using Eigen::Vector3d;

// Largest area of a face, by which its brightness is measured [m^2].
double LargestFace(const DrawnPart& part) {
  double largest = 0;
  for (const std::vector<int>& face : part.faces) {
    Vector3d area = Vector3d::Zero();
    for (std::size_t k = 0; k < face.size(); ++k)
      area += part.points_B[static_cast<std::size_t>(face[k])].cross(
          part.points_B[static_cast<std::size_t>(face[(k + 1) % face.size()])]);
    largest = std::max(largest, area.norm());
  }
  return largest;
}

}  // namespace

FilmJson TripleJson(const Vector3d& v) {
  return {Rounded(v.x(), 6), Rounded(v.y(), 6), Rounded(v.z(), 6)};
}

FilmJson PartJson(const DrawnPart& part, const Vector3d& trace_B) {
  FilmJson points = FilmJson::array();
  for (const Vector3d& p : part.points_B) points.push_back(TripleJson(p));
  return {{"name", part.name},
          {"points", points},
          {"faces", part.faces},
          {"lines", part.lines},
          {"thickness", part.thickness},
          {"ball", part.ball_radius},
          {"largest", LargestFace(part)},
          {"trace", TripleJson(trace_B)}};
}

FilmJson PlaneJson(const DrawnPlane& plane) {
  return {{"name", plane.name},           {"normal", TripleJson(plane.normal)},
          {"offset", plane.offset},       {"amplitude", plane.amplitude},
          {"frequency", plane.frequency}, {"phase", plane.phase}};
}

std::array<Vector3d, 4> ViewPyramid(const RigCamera& camera, double depth) {
  const Camera& lens = camera.camera;
  const double x[] = {-0.5, lens.width - 0.5, lens.width - 0.5, -0.5},
               y[] = {-0.5, -0.5, lens.height - 0.5, lens.height - 0.5};
  std::array<Vector3d, 4> corners;
  for (std::size_t k = 0; k < 4; ++k) {
    Vector3d ray((x[k] - lens.cx) / lens.fx, (y[k] - lens.cy) / lens.fy, 1);
    const double wide = ray.head<2>().norm();
    if (wide > 1) ray.head<2>() /= wide;
    corners[k] = camera.X_WC * Vector3d(depth * ray);
  }
  return corners;
}

}  // namespace impactlab::pipelines
