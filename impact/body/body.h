#pragma once
// Rigid bodies and where they touch a plane.
//
// The origin of the body frame B is the centre of mass. Planar bodies move in the x-z plane of W;
// planar theta is positive counter-clockwise seen with x right and z up, that is, a rotation about
// -W_y: R_WB = Ry(-theta), omega_WB = (0, -theta_dot, 0).

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <string>
#include <vector>

#include "impact/body/contact.h"

namespace impactlab {

enum class BodyShape {
  kBox,  // box, or rectangle in planar motion: half_extents
  // cylinder with hemispherical caps, axis B_z in space and B_x in planar motion: half_length (to
  // the cap's tip), radius
  kRod,
  kBall,       // ball, or disc where `flat`: radius
  kEllipsoid,  // ellipsoid, or ellipse where `flat`: half_extents are the semi-axes
  kPolytope,   // convex hull of `points_B`
  kPoints      // contact points `points_B` only
};

struct Body {
  std::string name;
  bool planar = false;
  double mass = 1;  // [kg]
  // false: 1 kg stands for an unknown mass; coefficients and velocities do not depend on it
  bool mass_known = false;
  // about the centre of mass [kg m^2]; planar motion uses the yy entry
  Eigen::Matrix3d inertia_B = Eigen::Matrix3d::Identity();
  BodyShape shape = BodyShape::kBox;
  // Planar motion only: a plate of even thickness (disc, ellipse, rectangle) and not the solid
  // that is named; the inertia of a disc is m r^2 / 2, of a ball 2 m r^2 / 5.
  bool flat = false;
  Eigen::Vector3d half_extents = Eigen::Vector3d::Zero();  // [m]; planar: x and z
  double radius = 0;                                       // [m]
  double half_length = 0;                                  // [m]
  std::vector<Eigen::Vector3d> points_B;                   // vertices about the centre of mass [m]
  // [m] rounding that lies inside the given outline of box and polytope
  double corner_radius = 0;
  // Polytope with corner_radius: the rounding sphere of vertex i is centred at points_B[i] -
  // corner_radius * corner_inset_B[i]; made by MakePolytope.
  std::vector<Eigen::Vector3d> corner_inset_B;
};

// A uniform solid of the given shape, `mass_known` set; inertia of the sharp outline (corner_radius
// left out). Throw ConfigError for a size, mass or inertia that no body can have. A solid keeps its
// inertia in planar motion: a ball has 2 m r^2 / 5 there too; what is flat is a MakeDisc or
// MakeEllipse. In planar motion `sides.y()` and `semi_axes.y()` are not used and may be 0. Lengths
// in m, mass in kg.
Body MakeBox(const Eigen::Vector3d& sides, double mass, bool planar = false,
             double corner_radius = 0);
// Cylinder with hemispherical caps of the same material; `length` from tip to tip, at least 2 *
// radius.
Body MakeRod(double length, double radius, double mass, bool planar = false);
Body MakeBall(double radius, double mass, bool planar = false);
Body MakeEllipsoid(const Eigen::Vector3d& semi_axes, double mass, bool planar = false);
// Plates of even thickness in planar motion: m r^2 / 2 and m (a^2 + b^2) / 4 about W_y;
// `semi_axes` along B_x and B_z.
Body MakeDisc(double radius, double mass);
Body MakeEllipse(const Eigen::Vector2d& semi_axes, double mass);
// The uniform solid, or the plate where `flat`, of the outline and mass of `body`; without a value
// for bodies of points only, which have no outline. Throws ConfigError where the outline encloses
// nothing.
std::optional<Body> UniformSolid(const Body& body);
// Convex hull of `vertices`; inertia of the uniform solid, vertices are moved so that their solid's
// centre of mass is the origin. Points that are no corner of the hull are left out, the others keep
// their order.
Body MakePolytope(const std::vector<Eigen::Vector3d>& vertices, double mass, bool planar = false,
                  double corner_radius = 0);
Body MakePoints(std::vector<Eigen::Vector3d> points, double mass, const Eigen::Matrix3d& inertia_B,
                bool planar = false);

// Checks mass > 0, inertia symmetric, positive definite, triangle inequality (planar: yy entry >
// 0), sizes finite. Throws ConfigError naming the value and what is allowed.
void CheckBody(const Body& body);

/// About the axis of planar motion; in space the mean of the principal moments [kg m^2].
double MeanInertia(const Body& body);
/// Of the mean inertia [m].
double RadiusOfGyration(const Body& body);

// A plane in W: points p with normal.dot(p) = offset; the body is on the side of the normal.
struct Plane {
  Eigen::Vector3d normal = Eigen::Vector3d::UnitZ();
  double offset = 0;  // [m]
};

// Where a body is closest to a plane.
struct PlaneContact {
  Eigen::Vector3d p_WP = Eigen::Vector3d::Zero();  // the body's lowest point
  // signed distance of that point from the plane [m], negative inside
  double gap = 0;
  // index of the vertex that touches; -1 for smooth shapes
  int feature = -1;
  // vertices within `feature_tolerance` of the lowest one: 1 corner, 2 edge or planar flat, 4 face
  int n_touching = 1;
  // gap of the next vertex minus gap of the lowest [m]; infinity for smooth shapes
  double next_gap = 0;
};
PlaneContact ContactWithPlane(const Body& body, const Eigen::Isometry3d& X_WB, const Plane& plane,
                              double feature_tolerance = 1e-4);

// Lever from the centre of mass to the body's lowest point in the direction -n, in B, for a given
// contact direction n_B (unit, in B).
Eigen::Vector3d SupportLever(const Body& body, const Eigen::Vector3d& n_B);

/// Derivative of the lever to the lowest point, in W, by a rotation of W [m/rad]; R is the attitude
/// (body to W), n the unit normal of the floor in W. Closed form for every shape.
Eigen::Matrix3d LeverByRotation(const Body& body, const Eigen::Matrix3d& R,
                                const Eigen::Vector3d& n);

// Vertices that can touch, in B, before `corner_radius` is subtracted; empty for smooth shapes.
// Box: vertex i is at +x, +y, +z where bits 0, 1, 2 of i are set; planar: (+,+), (-,+), (-,-),
// (+,-) in x, z. Rod: the tips of its two caps (+ axis first), which touch together when it lies
// flat.
std::vector<Eigen::Vector3d> Vertices(const Body& body);

// Contact frame at p_WP: F_z = plane normal, F_x downhill for `gravity_W` (W_x projected where the
// plane is level; W_y where that vanishes). For a planar body F_x lies in the x-z plane and points
// along W_x projected.
Eigen::Isometry3d ContactFrame(const Plane& plane, const Eigen::Vector3d& p_WP,
                               const Eigen::Vector3d& gravity_W, bool planar);

// A_F of a single body touching the ground at p_WP, and its approach velocity. Planar bodies have
// A_xy = A_yn = 0 and A_yy = 1/m.
Eigen::Matrix3d ContactInverseMass(const Body& body, const Eigen::Isometry3d& X_WB,
                                   const Eigen::Isometry3d& X_WF);
ContactState MakeContactState(const Body& body, const Eigen::Isometry3d& X_WB,
                              const Eigen::Vector3d& v_WB, const Eigen::Vector3d& omega_WB,
                              const Eigen::Isometry3d& X_WF);

// Rigid-body velocity change caused by an impulse J_F at the origin of F.
struct VelocityChange {
  Eigen::Vector3d dv_W, domega_W;
};
VelocityChange ApplyImpulse(const Body& body, const Eigen::Isometry3d& X_WB,
                            const Eigen::Isometry3d& X_WF, const Eigen::Vector3d& J_F);

// Kinetic energy [J]. Planar bodies use v_x, v_z and omega_y only.
double KineticEnergy(const Body& body, const Eigen::Matrix3d& R_WB, const Eigen::Vector3d& v_WB,
                     const Eigen::Vector3d& omega_WB);

// Planar pose as a spatial one.
Eigen::Isometry3d PlanarPose(double x, double z, double theta);
// theta of a planar pose, in (-pi, pi].
double PlanarAngle(const Eigen::Isometry3d& X_WB);

}  // namespace impactlab
