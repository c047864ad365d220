#pragma once
// Convex hulls of small point sets (a few hundred points) and the uniform solids they bound.
// Internal to the impact room.

#include <Eigen/Core>
#include <vector>

namespace impactlab::impact {

// A face in space, or an edge in the plane: normal.dot(p) <= offset inside, `loop` lists its
// corners counter-clockwise seen from outside.
struct HullFace {
  Eigen::Vector3d normal = Eigen::Vector3d::Zero();
  double offset = 0;
  std::vector<int> loop;  // indices of points
};

// Uniform solid (or lamina) of unit density.
struct SolidMoments {
  double measure = 0;                                 // volume [m^3], or area [m^2]
  Eigen::Vector3d centre = Eigen::Vector3d::Zero();   // centre of mass
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();  // about the centre, per unit mass [m^2]
};

struct ConvexHull {
  // extreme points only, in the order in which they were given
  std::vector<Eigen::Vector3d> vertices;
  // coplanar points share one face; indices refer to `vertices`
  std::vector<HullFace> faces;
  SolidMoments solid;
};

// Extreme points of a set in the plane, counter-clockwise from the one of least x (Andrew 1979,
// monotone chain): indices. Points within `tolerance` of the line between their neighbours are left
// out.
std::vector<int> PlanarHull(const std::vector<Eigen::Vector2d>& points, double tolerance = 0);

// Coplanar points (boxes, prisms) share one face. Points closer than 1e-9 of the extent are one
// point; points inside, on a face or on an edge are left out, within 1e-9 of the extent. Planar:
// hull in the x-z plane, y must be zero. Throws ConfigError when the points span no volume (no
// area).
ConvexHull BuildConvexHull(const std::vector<Eigen::Vector3d>& points, bool planar);

// Inset direction k of every vertex: the sphere of radius rho that rounds vertex p inside the
// outline has its centre at p - rho * k, where normal.dot(k) = 1 for the faces that meet there.
// Where more than three faces meet without a common sphere, the sphere of least inset that touches
// three of them and stays inside the others.
std::vector<Eigen::Vector3d> InsetDirections(const ConvexHull& hull, bool planar);

// Largest rounding radius for which every rounded vertex stays inside all faces.
double LargestCornerRadius(const ConvexHull& hull, const std::vector<Eigen::Vector3d>& inset);

}  // namespace impactlab::impact
