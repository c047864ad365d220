#include "impact/body/convex_hull.h"

#include <fmt/format.h>
#include <libqhull_r/qhull_ra.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "data/base/error.h"

namespace impactlab::impact {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kRelativeTolerance = 1e-9;

// Extreme points of `ids` in the plane with the given normal, counter-clockwise seen from the tip
// of the normal.
std::vector<int> PlanarHullOf(const std::vector<Vector3d>& points, const std::vector<int>& ids,
                              const Vector3d& normal, double tolerance) {
  const Vector3d u = normal.unitOrthogonal();
  const Vector3d v = normal.cross(u);
  std::vector<Eigen::Vector2d> plane;
  for (const int i : ids) {
    const Vector3d d = points[i] - points[ids.front()];
    plane.emplace_back(u.dot(d), v.dot(d));
  }
  std::vector<int> loop = PlanarHull(plane, tolerance);
  for (int& i : loop) i = ids[i];
  return loop;
}

// Face of the hull through the points `ids`.
HullFace MakeFace(const std::vector<Vector3d>& points, const std::vector<int>& ids,
                  const Vector3d& normal, double tolerance) {
  HullFace face;
  face.loop = PlanarHullOf(points, ids, normal, tolerance);
  // Newell's normal averages over the whole face.
  const int n = static_cast<int>(face.loop.size());
  const Vector3d& a = points[ids.front()];
  Vector3d area = Vector3d::Zero();
  for (int i = 0; i < n; ++i)
    area += (points[face.loop[i]] - a).cross(points[face.loop[(i + 1) % n]] - a);
  face.normal = area.norm() > 0 ? Vector3d(area.normalized()) : normal;
  for (const int i : face.loop) face.offset += face.normal.dot(points[i]) / n;
  return face;
}

// Faces by Qhull (Barber, Dobkin and Huhdanpaa, ACM Trans. Math. Software 22 (1996) 469), which
// merges facets that are coplanar within `tolerance`.
std::vector<HullFace> FacesOf(const std::vector<Vector3d>& points, double tolerance) {
  std::vector<double> coordinates;
  for (const Vector3d& p : points) coordinates.insert(coordinates.end(), {p.x(), p.y(), p.z()});
  // The library writes its messages to a file.
  const std::unique_ptr<FILE, int (*)(FILE*)> messages(std::fopen("/dev/null", "w"), &std::fclose);
  std::string options = fmt::format("qhull C-{0:g} W{0:g} U{0:g}", tolerance);
  qhT qhull;
  qh_zero(&qhull, messages.get());
  const int fault = qh_new_qhull(&qhull, 3, static_cast<int>(points.size()), coordinates.data(),
                                 False, options.data(), nullptr, messages.get());
  std::vector<HullFace> faces;
  if (fault == 0) {
    for (facetT* facet = qhull.facet_list; facet != nullptr && facet->next != nullptr;
         facet = facet->next) {
      std::vector<int> ids;
      vertexT *vertex, **vertexp;
      FOREACHvertex_(facet->vertices) ids.push_back(qh_pointid(&qhull, vertex->point));
      HullFace face = MakeFace(points, ids, Vector3d(facet->normal), tolerance);
      if (face.loop.size() >= 3) faces.push_back(std::move(face));
    }
  }
  qh_freeqhull(&qhull, !qh_ALL);
  int kept = 0, total = 0;
  qh_memfreeshort(&qhull, &kept, &total);
  if (fault != 0)
    throw ConfigError(
        fmt::format("vertices: found {} points without a clear convex hull; allowed: points that "
                    "are not almost in one plane",
                    points.size()));
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

std::vector<int> PlanarHull(const std::vector<Eigen::Vector2d>& points, double tolerance) {
  std::vector<int> order(points.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return points[a].x() != points[b].x() ? points[a].x() < points[b].x()
                                          : points[a].y() < points[b].y();
  });
  // Twice the area of a triangle, positive where it turns to the left.
  const auto turn = [&](int o, int a, int b) {
    const Eigen::Vector2d u = points[a] - points[o], v = points[b] - points[o];
    return u.x() * v.y() - u.y() * v.x();
  };
  std::vector<int> hull;
  for (int pass = 0; pass < 2; ++pass) {
    const std::size_t base = hull.size();
    for (const int i : order) {
      while (hull.size() >= base + 2 && !(turn(hull[hull.size() - 2], hull.back(), i) > 0))
        hull.pop_back();
      hull.push_back(i);
    }
    hull.pop_back();
    std::reverse(order.begin(), order.end());
  }
  for (std::size_t i = 0; tolerance > 0 && hull.size() > 2 && i < hull.size();) {
    const int before = hull[(i + hull.size() - 1) % hull.size()],
              after = hull[(i + 1) % hull.size()];
    const double height = turn(before, hull[i], after) / (points[after] - points[before]).norm();
    if (height > tolerance) {
      ++i;
      continue;
    }
    hull.erase(hull.begin() + static_cast<std::ptrdiff_t>(i));
    i = i > 0 ? i - 1 : 0;  // its neighbour may be between others now
  }
  return hull;
}

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
    const std::vector<int> loop = PlanarHullOf(unique, ids, -Vector3d::UnitY(), tolerance);
    for (std::size_t i = 0; i < loop.size(); ++i) {
      HullFace edge;
      edge.loop = {loop[i], loop[(i + 1) % loop.size()]};
      edge.normal =
          (unique[edge.loop[1]] - unique[edge.loop[0]]).cross(-Vector3d::UnitY()).normalized();
      edge.offset = edge.normal.dot(unique[edge.loop[0]]);
      faces.push_back(edge);
    }
  } else {
    faces = FacesOf(unique, tolerance);
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
