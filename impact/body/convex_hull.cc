#include "impact/body/convex_hull.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "data/base/error.h"

namespace impactlab::impact {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kRelativeTolerance = 1e-9;

// Extreme points of `ids` in the plane with the given normal, counter-clockwise seen from the tip
// of the normal. Walks from corner to corner (Jarvis), always to the point that has no other to its
// right; of points on one line the farthest.
std::vector<int> PlanarHull(const std::vector<Vector3d>& points, const std::vector<int>& ids,
                            const Vector3d& normal, double tolerance) {
  const Vector3d u = normal.unitOrthogonal();
  const Vector3d v = normal.cross(u);
  int start = ids.front();
  for (const int i : ids) {
    const double du = u.dot(points[i] - points[start]);
    if (du < -tolerance || (du <= tolerance && v.dot(points[i] - points[start]) < 0)) start = i;
  }
  std::vector<int> loop{start};
  while (loop.size() <= ids.size()) {
    const Vector3d& from = points[loop.back()];
    int next = -1;
    for (const int i : ids) {
      const Vector3d step = points[i] - from;
      if (step.norm() <= tolerance) continue;
      if (next < 0) {
        next = i;
        continue;
      }
      const Vector3d best = points[next] - from;
      const bool farther = step.norm() > best.norm();
      const double left = best.cross(step).dot(normal) / std::max(step.norm(), best.norm());
      if (left < -tolerance || (left <= tolerance && farther)) next = i;
    }
    if (next < 0 || next == start) break;
    loop.push_back(next);
  }
  return loop;
}

// Turns the supporting plane through `a` with `normal` about the line along `axis` until it meets
// the next point, and returns its new normal.
Vector3d Pivot(const std::vector<Vector3d>& points, const Vector3d& a, const Vector3d& axis,
               const Vector3d& normal, double tolerance) {
  const Vector3d t = axis.cross(normal).normalized();  // leaves the face across the edge
  double best = std::numeric_limits<double>::infinity();
  double reach = 0;
  for (const Vector3d& p : points) {
    const double s = t.dot(p - a), h = std::max(0.0, -normal.dot(p - a));
    const double distance = std::hypot(s, h);
    if (distance <= tolerance) continue;
    const double angle = std::atan2(h <= tolerance ? 0.0 : h, s);
    // Of points that are coplanar within the tolerance the farthest defines the plane best.
    const double slack = tolerance / distance + (reach > 0 ? tolerance / reach : 0.0);
    if (angle < best - slack || (angle < best + slack && distance > reach)) {
      best = angle;
      reach = distance;
    }
  }
  return (std::sin(best) * t + std::cos(best) * normal).normalized();
}

HullFace MakeFace(const std::vector<Vector3d>& points, const Vector3d& a, const Vector3d& normal,
                  double tolerance) {
  std::vector<int> ids;
  for (int i = 0; i < static_cast<int>(points.size()); ++i) {
    if (std::abs(normal.dot(points[i] - a)) <= tolerance) ids.push_back(i);
  }
  HullFace face;
  face.loop = PlanarHull(points, ids, normal, tolerance);
  // Newell's normal averages over the whole face.
  const int n = static_cast<int>(face.loop.size());
  Vector3d area = Vector3d::Zero();
  for (int i = 0; i < n; ++i)
    area += (points[face.loop[i]] - a).cross(points[face.loop[(i + 1) % n]] - a);
  face.normal = area.norm() > 0 ? Vector3d(area.normalized()) : normal;
  for (const int i : face.loop) face.offset += face.normal.dot(points[i]) / n;
  return face;
}

std::vector<HullFace> WrapFaces(const std::vector<Vector3d>& points, double tolerance) {
  // A first supporting plane through the point of least x, turned about two axes until it holds
  // three points.
  const Vector3d a =
      *std::min_element(points.begin(), points.end(),
                        [](const Vector3d& p, const Vector3d& q) { return p.x() < q.x(); });
  Vector3d normal = Pivot(points, a, Vector3d::UnitY(), -Vector3d::UnitX(), tolerance);
  Vector3d axis = Vector3d::UnitY();
  for (const Vector3d& p : points) {
    const Vector3d d = p - a;
    if (std::abs(normal.dot(d)) <= tolerance && d.cross(Vector3d::UnitY()).norm() > tolerance)
      axis = d.normalized();
  }
  normal = Pivot(points, a, axis, normal, tolerance);
  std::vector<HullFace> faces{MakeFace(points, a, normal, tolerance)};
  std::map<std::pair<int, int>, int> owner;  // directed edge -> face
  const std::size_t most = 2 * points.size();
  bool closed = true;
  for (std::size_t f = 0; f < faces.size() && closed; ++f) {
    const std::vector<int> loop = faces[f].loop;
    closed = loop.size() >= 3 && faces.size() <= most;
    for (std::size_t i = 0; i < loop.size() && closed; ++i) {
      closed = owner.emplace(std::pair(loop[i], loop[(i + 1) % loop.size()]), static_cast<int>(f))
                   .second;
    }
    // Neighbours are added only once every edge of this face is known, and only where no face waits
    // for that edge already.
    for (std::size_t i = 0; i < loop.size() && closed; ++i) {
      const int from = loop[i], to = loop[(i + 1) % loop.size()];
      const bool waiting = std::any_of(faces.begin(), faces.end(), [&](const HullFace& face) {
        for (std::size_t j = 0; j < face.loop.size(); ++j) {
          if (face.loop[j] == to && face.loop[(j + 1) % face.loop.size()] == from) return true;
        }
        return false;
      });
      if (waiting) continue;
      const Vector3d next =
          Pivot(points, points[from], points[to] - points[from], faces[f].normal, tolerance);
      faces.push_back(MakeFace(points, points[from], next, tolerance));
    }
  }
  for (const auto& [edge, face] : owner)
    closed = closed && owner.count({edge.second, edge.first}) == 1;
  if (!closed) {
    throw ConfigError(
        fmt::format("vertices: found {} points some of which are almost, but not quite, on a "
                    "common face; allowed: a clear convex hull "
                    "(move or leave out points closer than 1e-9 of the extent to a face)",
                    points.size()));
  }
  return faces;
}

// Sums tetrahedra (triangles) that join an inner point with the faces (edges).
SolidMoments Moments(const std::vector<Vector3d>& points, const std::vector<HullFace>& faces,
                     bool planar) {
  Vector3d inner = Vector3d::Zero();
  for (const Vector3d& p : points) inner += p / static_cast<double>(points.size());
  SolidMoments solid;
  Matrix3d second = Matrix3d::Zero();  // integral of x x^T about `inner`
  const auto add = [&](double measure, const Vector3d& a, const Vector3d& b, const Vector3d& c,
                       double k) {
    const Vector3d sum = a + b + c;
    solid.measure += measure;
    solid.centre += measure / k * sum;
    second += measure / (k * (k + 1)) *
              (sum * sum.transpose() + a * a.transpose() + b * b.transpose() + c * c.transpose());
  };
  for (const HullFace& face : faces) {
    const Vector3d a = points[face.loop[0]] - inner;
    for (std::size_t i = 1; i + 1 < face.loop.size(); ++i) {
      const Vector3d b = points[face.loop[i]] - inner, c = points[face.loop[i + 1]] - inner;
      add(a.dot(b.cross(c)) / 6, a, b, c, 4);
    }
    if (planar) {
      const Vector3d b = points[face.loop[1]] - inner;
      add(0.5 * std::abs(a.cross(b).y()), a, b, Vector3d::Zero(), 3);
    }
  }
  solid.centre /= solid.measure;
  const Matrix3d central = second / solid.measure - solid.centre * solid.centre.transpose();
  solid.inertia = central.trace() * Matrix3d::Identity() - central;
  solid.centre += inner;
  return solid;
}

}  // namespace

ConvexHull BuildConvexHull(const std::vector<Vector3d>& points, bool planar) {
  Eigen::AlignedBox3d bounds;
  for (const Vector3d& p : points) {
    if (!p.allFinite())
      throw ConfigError(fmt::format("vertices: found ({}, {}, {}), allowed: finite numbers", p.x(),
                                    p.y(), p.z()));
    bounds.extend(p);
  }
  const double extent = points.empty() ? 0 : bounds.diagonal().norm();
  const double tolerance = kRelativeTolerance * extent;
  std::vector<Vector3d> unique;
  for (const Vector3d& p : points) {
    if (planar && std::abs(p.y()) > tolerance)
      throw ConfigError(
          fmt::format("vertices: found y = {} m, allowed: y = 0 in planar motion", p.y()));
    if (std::none_of(unique.begin(), unique.end(),
                     [&](const Vector3d& q) { return (p - q).norm() <= tolerance; }))
      unique.push_back(p);
  }
  const std::size_t least = planar ? 3 : 4;
  if (unique.size() < least) {
    throw ConfigError(fmt::format("vertices: found {} different points, allowed: at least {}",
                                  unique.size(), least));
  }
  Vector3d mean = Vector3d::Zero();
  for (const Vector3d& p : unique) mean += p / static_cast<double>(unique.size());
  Matrix3d scatter = Matrix3d::Zero();
  for (const Vector3d& p : unique) scatter += (p - mean) * (p - mean).transpose();
  if (planar) scatter(1, 1) = scatter.trace();
  const Vector3d spread = Eigen::SelfAdjointEigenSolver<Matrix3d>(scatter).eigenvalues();
  if (!(spread(0) > 1e-14 * spread(2))) {
    throw ConfigError(
        planar ? "vertices: found points on one line, allowed: points that span an area"
               : "vertices: found points in one plane, allowed: points that span a volume");
  }

  std::vector<HullFace> faces;
  if (planar) {
    std::vector<int> ids(unique.size());
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int>(i);
    // Counter-clockwise seen with x right and z up is a positive turn about -y.
    const std::vector<int> loop = PlanarHull(unique, ids, -Vector3d::UnitY(), tolerance);
    for (std::size_t i = 0; i < loop.size(); ++i) {
      HullFace edge;
      edge.loop = {loop[i], loop[(i + 1) % loop.size()]};
      edge.normal =
          (unique[edge.loop[1]] - unique[edge.loop[0]]).cross(-Vector3d::UnitY()).normalized();
      edge.offset = edge.normal.dot(unique[edge.loop[0]]);
      faces.push_back(edge);
    }
  } else {
    faces = WrapFaces(unique, tolerance);
  }

  ConvexHull hull;
  std::vector<int> index(unique.size(), -1);
  std::set<int> extreme;
  for (const HullFace& face : faces) extreme.insert(face.loop.begin(), face.loop.end());
  for (const int i : extreme) {
    index[i] = static_cast<int>(hull.vertices.size());
    hull.vertices.push_back(unique[i]);
  }
  for (HullFace& face : faces) {
    for (int& i : face.loop) i = index[i];
  }
  hull.faces = std::move(faces);
  hull.solid = Moments(hull.vertices, hull.faces, planar);
  return hull;
}

std::vector<Vector3d> InsetDirections(const ConvexHull& hull, bool planar) {
  std::vector<Vector3d> inset;
  for (int v = 0; v < static_cast<int>(hull.vertices.size()); ++v) {
    std::vector<Vector3d> normals;
    for (const HullFace& face : hull.faces) {
      if (std::find(face.loop.begin(), face.loop.end(), v) != face.loop.end())
        normals.push_back(face.normal);
    }
    // makes the system square; its component is removed below
    if (planar) normals.push_back(Vector3d::UnitY());
    // Every triple of faces gives a candidate sphere; those inside all faces are the corners of the
    // eroded solid.
    Vector3d best = Vector3d::Constant(std::numeric_limits<double>::infinity());
    const std::size_t n = normals.size();
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i + 1; j < n; ++j) {
        for (std::size_t k = j + 1; k < n; ++k) {
          Matrix3d N;
          N << normals[i].transpose(), normals[j].transpose(), normals[k].transpose();
          if (std::abs(N.determinant()) < 1e-12) continue;
          const Vector3d candidate = N.inverse() * (planar ? Vector3d(1, 1, 0) : Vector3d(1, 1, 1));
          const bool inside =
              planar || std::all_of(normals.begin(), normals.end(), [&](const Vector3d& normal) {
                return normal.dot(candidate) >= 1 - 1e-9;
              });
          if (inside && candidate.norm() < best.norm()) best = candidate;
        }
      }
    }
    inset.push_back(best);
  }
  return inset;
}

double LargestCornerRadius(const ConvexHull& hull, const std::vector<Vector3d>& inset) {
  double largest = std::numeric_limits<double>::infinity();
  for (std::size_t v = 0; v < hull.vertices.size(); ++v) {
    for (const HullFace& face : hull.faces) {
      const double room = face.offset - face.normal.dot(hull.vertices[v]);
      const double loss = 1 - face.normal.dot(inset[v]);
      if (loss > 1e-9) largest = std::min(largest, std::max(0.0, room) / loss);
    }
  }
  return largest;
}

}  // namespace impactlab::impact
