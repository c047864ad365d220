#include "impact/body/body.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "data/base/error.h"
#include "data/math/rotation.h"
#include "impact/body/body_corners.h"
#include "impact/body/convex_hull.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

[[noreturn]] void Refuse(const Body& body, std::string_view key, std::string_view found,
                         std::string_view allowed) {
  throw ConfigError(
      fmt::format("body '{}': {}: found {}, allowed {}", body.name, key, found, allowed));
}

void CheckPositive(const Body& body, std::string_view key, double value) {
  if (!(std::isfinite(value) && value > 0))
    Refuse(body, key, fmt::format("{}", value), "a finite number > 0");
}

void CheckSizes(const Body& body) {
  const double rho = body.corner_radius;
  if (!(std::isfinite(rho) && rho >= 0))
    Refuse(body, "corner_radius_m", fmt::format("{}", rho), "a finite number >= 0");
  switch (body.shape) {
    case BodyShape::kBox:
    case BodyShape::kEllipsoid: {
      const Vector3d& h = body.half_extents;
      const char* key = body.shape == BodyShape::kBox ? "half side [m]" : "semi-axis [m]";
      CheckPositive(body, key, h.x());
      if (!body.planar) CheckPositive(body, key, h.y());
      CheckPositive(body, key, h.z());
      const double least = body.planar ? std::min(h.x(), h.z()) : h.minCoeff();
      if (body.shape == BodyShape::kBox && rho > least)
        Refuse(body, "corner_radius_m", fmt::format("{}", rho), fmt::format("0 to {}", least));
      break;
    }
    case BodyShape::kRod:
      CheckPositive(body, "radius_m", body.radius);
      CheckPositive(body, "half length [m]", body.half_length);
      if (body.radius > body.half_length) {
        Refuse(body, "radius_m", fmt::format("{}", body.radius),
               fmt::format("at most half the length, {}", body.half_length));
      }
      break;
    case BodyShape::kBall:
      CheckPositive(body, "radius_m", body.radius);
      break;
    case BodyShape::kPolytope:
    case BodyShape::kPoints: {
      const bool polytope = body.shape == BodyShape::kPolytope;
      const std::size_t least = polytope ? (body.planar ? 3 : 4) : 1;
      if (body.points_B.size() < least)
        Refuse(body, "vertices", fmt::format("{} points", body.points_B.size()),
               fmt::format("at least {}", least));
      double extent = 0;
      for (const Vector3d& p : body.points_B) {
        if (!p.allFinite())
          Refuse(body, "vertices", fmt::format("({}, {}, {})", p.x(), p.y(), p.z()),
                 "finite numbers");
        extent = std::max(extent, p.norm());
      }
      for (const Vector3d& p : body.points_B) {
        if (body.planar && std::abs(p.y()) > 1e-9 * extent)
          Refuse(body, "vertices", fmt::format("y = {} m", p.y()), "y = 0 in planar motion");
      }
      if (polytope && rho > 0 && body.corner_inset_B.size() != body.points_B.size()) {
        Refuse(body, "corner_radius_m", fmt::format("{} without inset directions", rho),
               "a polytope built with its corner radius by MakePolytope");
      }
      break;
    }
  }
}

Body Start(const char* name, BodyShape shape, double mass, bool planar) {
  Body body;
  body.name = name;
  body.shape = shape;
  body.mass = mass;
  body.mass_known = true;
  body.planar = planar;
  CheckPositive(body, "mass_kg", mass);
  return body;
}

Matrix3d Diagonal(double xx, double yy, double zz) { return Vector3d(xx, yy, zz).asDiagonal(); }

// A touching sphere (or, with radius 0, a point) of a body with corners.
struct Corners {
  std::array<Vector3d, 8> own;
  const Vector3d* centre = nullptr;
  const Vector3d* inset = nullptr;  // centre[i] - radius * inset[i] where given
  int size = 0;
  double radius = 0;
  Vector3d operator[](int i) const {
    return inset == nullptr ? centre[i] : Vector3d(centre[i] - radius * inset[i]);
  }
};

// Corner i of a box; order as documented at Vertices().
Vector3d BoxCorner(const Vector3d& h, bool planar, int i) {
  if (planar) return {i == 0 || i == 3 ? h.x() : -h.x(), 0, i < 2 ? h.z() : -h.z()};
  return {(i & 1) != 0 ? h.x() : -h.x(), (i & 2) != 0 ? h.y() : -h.y(),
          (i & 4) != 0 ? h.z() : -h.z()};
}

Vector3d RodAxis(const Body& body) { return body.planar ? Vector3d::UnitX() : Vector3d::UnitZ(); }

// False for shapes without corners.
bool FindCorners(const Body& body, Corners& corners) {
  corners.centre = corners.own.data();
  switch (body.shape) {
    case BodyShape::kBox:
      corners.size = body.planar ? 4 : 8;
      corners.radius = body.corner_radius;
      for (int i = 0; i < corners.size; ++i) {
        corners.own[i] =
            BoxCorner(body.half_extents - Vector3d::Constant(body.corner_radius), body.planar, i);
      }
      return true;
    case BodyShape::kRod: {
      const double reach = body.half_length - body.radius;
      if (reach <= 1e-12 * body.radius) return false;
      corners.size = 2;
      corners.radius = body.radius;
      corners.own[0] = reach * RodAxis(body);
      corners.own[1] = -corners.own[0];
      return true;
    }
    case BodyShape::kPolytope:
    case BodyShape::kPoints:
      corners.size = static_cast<int>(body.points_B.size());
      corners.centre = body.points_B.data();
      if (body.shape == BodyShape::kPolytope && body.corner_radius > 0) {
        if (body.corner_inset_B.size() != body.points_B.size()) CheckSizes(body);
        corners.inset = body.corner_inset_B.data();
        corners.radius = body.corner_radius;
      }
      return true;
    case BodyShape::kBall:
    case BodyShape::kEllipsoid:
      return false;
  }
  return false;
}

// Lowest point of a smooth body in the direction -n, from its centre.
Vector3d SmoothLever(const Body& body, const Vector3d& n_B) {
  if (body.shape != BodyShape::kEllipsoid) return -body.radius * n_B;
  Vector3d h = body.half_extents;
  if (body.planar) h.y() = 0;
  const Vector3d scaled = h.cwiseProduct(n_B);
  return -h.cwiseProduct(scaled) / scaled.norm();
}

// Velocity per unit impulse needs I^-1 about the centre of mass in W.
Matrix3d InverseInertiaW(const Body& body, const Matrix3d& R_WB) {
  if (body.planar) return Diagonal(0, 1 / body.inertia_B(1, 1), 0);
  return R_WB * body.inertia_B.inverse() * R_WB.transpose();
}

}  // namespace

Body MakeBox(const Vector3d& sides, double mass, bool planar, double corner_radius) {
  Body body = Start("box", BodyShape::kBox, mass, planar);
  body.half_extents = 0.5 * sides;
  if (planar && !(std::isfinite(sides.y()) && sides.y() >= 0)) body.half_extents.y() = 0;
  body.corner_radius = corner_radius;
  CheckSizes(body);
  const Vector3d q = body.half_extents.cwiseAbs2() / 3;
  body.inertia_B = mass * Diagonal(q.y() + q.z(), q.x() + q.z(), q.x() + q.y());
  CheckBody(body);
  return body;
}

Body MakeRod(double length, double radius, double mass, bool planar) {
  Body body = Start("rod", BodyShape::kRod, mass, planar);
  body.half_length = 0.5 * length;
  body.radius = radius;
  CheckSizes(body);
  // Cylinder of length h between two hemispheres, shared out by volume: pi r^2 h to 4/3 pi r^3.
  const double r2 = radius * radius, h = length - 2 * radius;
  const double m_caps = mass * (4 * radius / 3) / (h + 4 * radius / 3), m_cylinder = mass - m_caps;
  const double along = m_cylinder * r2 / 2 + m_caps * 0.4 * r2;
  const double across =
      m_cylinder * (h * h / 12 + r2 / 4) + m_caps * (0.4 * r2 + h * h / 4 + 0.375 * h * radius);
  body.inertia_B = planar ? Diagonal(along, across, across) : Diagonal(across, across, along);
  CheckBody(body);
  return body;
}

Body MakeBall(double radius, double mass, bool planar) {
  Body body = Start("ball", BodyShape::kBall, mass, planar);
  body.radius = radius;
  CheckSizes(body);
  body.inertia_B = 0.4 * mass * radius * radius * Matrix3d::Identity();
  CheckBody(body);
  return body;
}

Body MakeDisc(double radius, double mass) {
  Body body = Start("disc", BodyShape::kBall, mass, true);
  body.flat = true;
  body.radius = radius;
  CheckSizes(body);
  const double i = mass * radius * radius;
  body.inertia_B = Diagonal(i / 4, i / 2, i / 4);
  CheckBody(body);
  return body;
}

Body MakeEllipsoid(const Vector3d& semi_axes, double mass, bool planar) {
  Body body = Start("ellipsoid", BodyShape::kEllipsoid, mass, planar);
  body.half_extents = semi_axes;
  CheckSizes(body);
  Vector3d q = semi_axes.cwiseAbs2() / 5;
  if (planar) q.y() = 0;
  body.inertia_B = mass * Diagonal(q.y() + q.z(), q.x() + q.z(), q.x() + q.y());
  CheckBody(body);
  return body;
}

Body MakeEllipse(const Eigen::Vector2d& semi_axes, double mass) {
  Body body = Start("ellipse", BodyShape::kEllipsoid, mass, true);
  body.flat = true;
  body.half_extents = {semi_axes.x(), 0, semi_axes.y()};
  CheckSizes(body);
  const Vector3d q = body.half_extents.cwiseAbs2() / 4;
  body.inertia_B = mass * Diagonal(q.z(), q.x() + q.z(), q.x());
  CheckBody(body);
  return body;
}

std::optional<Body> UniformSolid(const Body& body) {
  const Vector3d& h = body.half_extents;
  switch (body.shape) {
    case BodyShape::kBox:
      return MakeBox(2 * h, body.mass, body.planar);
    case BodyShape::kRod:
      return MakeRod(2 * body.half_length, body.radius, body.mass, body.planar);
    case BodyShape::kBall:
      return body.flat ? MakeDisc(body.radius, body.mass)
                       : MakeBall(body.radius, body.mass, body.planar);
    case BodyShape::kEllipsoid:
      return body.flat ? MakeEllipse({h.x(), h.z()}, body.mass)
                       : MakeEllipsoid(h, body.mass, body.planar);
    case BodyShape::kPolytope:
      return MakePolytope(body.points_B, body.mass, body.planar);
    case BodyShape::kPoints:
      break;
  }
  return std::nullopt;
}

Body MakePolytope(const std::vector<Vector3d>& vertices, double mass, bool planar,
                  double corner_radius) {
  Body body = Start("polytope", BodyShape::kPolytope, mass, planar);
  const impact::ConvexHull hull = impact::BuildConvexHull(vertices, planar);
  body.points_B = hull.vertices;
  for (Vector3d& p : body.points_B) {
    p -= hull.solid.centre;
    if (planar) p.y() = 0;
  }
  body.inertia_B = mass * hull.solid.inertia;
  body.corner_radius = corner_radius;
  if (corner_radius != 0) {
    body.corner_inset_B = impact::InsetDirections(hull, planar);
    const double largest = impact::LargestCornerRadius(hull, body.corner_inset_B);
    if (!(corner_radius >= 0 && corner_radius <= largest))
      Refuse(body, "corner_radius_m", fmt::format("{}", corner_radius),
             fmt::format("0 to {}", largest));
  }
  CheckBody(body);
  return body;
}

Body MakePoints(std::vector<Vector3d> points, double mass, const Matrix3d& inertia_B, bool planar) {
  Body body = Start("points", BodyShape::kPoints, mass, planar);
  body.points_B = std::move(points);
  body.inertia_B = inertia_B;
  CheckBody(body);
  return body;
}

double MeanInertia(const Body& body) {
  return body.planar ? body.inertia_B(1, 1) : body.inertia_B.trace() / 3;
}

double RadiusOfGyration(const Body& body) { return std::sqrt(MeanInertia(body) / body.mass); }

void CheckBody(const Body& body) {
  CheckPositive(body, "mass_kg", body.mass);
  const Matrix3d& I = body.inertia_B;
  if (!I.allFinite()) Refuse(body, "inertia_kg_m2", "a value that is not finite", "finite numbers");
  if (body.planar) {
    CheckPositive(body, "inertia_kg_m2 (yy)", I(1, 1));
  } else {
    const double scale = I.cwiseAbs().maxCoeff();
    const double skew = (I - I.transpose()).cwiseAbs().maxCoeff();
    if (skew > 1e-9 * scale)
      Refuse(body, "inertia_kg_m2",
             fmt::format("entries that differ by {} across the diagonal", skew),
             "a symmetric matrix");
    const Vector3d principal =
        Eigen::SelfAdjointEigenSolver<Matrix3d>(I, Eigen::EigenvaluesOnly).eigenvalues();
    const std::string found =
        fmt::format("principal moments {}, {}, {}", principal(0), principal(1), principal(2));
    if (!(principal(0) > 1e-12 * principal(2)))
      Refuse(body, "inertia_kg_m2", found, "moments > 0 (positive definite)");
    // A mass distribution has I1 + I2 - I3 = 2 * integral of x3^2 dm >= 0.
    if (principal(0) + principal(1) < principal(2) * (1 - 1e-6)) {
      Refuse(
          body, "inertia_kg_m2", found,
          fmt::format("the two smaller to add up to at least the largest (triangle inequality), {}",
                      principal(2)));
    }
  }
  CheckSizes(body);
}

Vector3d SupportLever(const Body& body, const Vector3d& n_B) {
  Corners corners;
  if (!FindCorners(body, corners)) return SmoothLever(body, n_B);
  int lowest = 0;
  double height = kInfinity;
  for (int i = 0; i < corners.size; ++i) {
    const double h = n_B.dot(corners[i]);
    if (h < height) {
      height = h;
      lowest = i;
    }
  }
  return corners[lowest] - corners.radius * n_B;
}

Matrix3d LeverByRotation(const Body& body, const Matrix3d& R, const Vector3d& n) {
  const Vector3d n_B = R.transpose() * n, lever_B = SupportLever(body, n_B);
  if (body.shape == BodyShape::kEllipsoid) {
    // lever_B = -D^2 n_B / |D n_B|, and n_B turns against the body.
    const Vector3d d2 = body.half_extents.cwiseAbs2(), m = d2.cwiseProduct(n_B);
    const double h = std::sqrt(n_B.dot(m));
    const Matrix3d dlever_dn = -Matrix3d(d2.asDiagonal()) / h + m * m.transpose() / (h * h * h);
    return -CrossMatrix(R * lever_B) + R * dlever_dn * R.transpose() * CrossMatrix(n);
  }
  // The lever of a ball does not turn with it; exactly zero, where differences leave rounding.
  if (body.shape == BodyShape::kBall) return Matrix3d::Zero();
  // A vertex turns with the body, the sphere about it does not.
  const double rounding = body.shape == BodyShape::kRod      ? body.radius
                          : body.shape == BodyShape::kPoints ? 0
                                                             : body.corner_radius;
  return -CrossMatrix(R * lever_B + rounding * n);
}

PlaneContact ContactWithPlane(const Body& body, const Isometry3d& X_WB, const Plane& plane,
                              double feature_tolerance) {
  const double length = plane.normal.norm();
  if (!(std::isfinite(length) && length > 0))
    throw ConfigError(
        "plane: normal: found a vector without direction, allowed: a finite vector that is not "
        "zero");
  const Vector3d n = plane.normal / length;
  const double offset = plane.offset / length;
  const Vector3d n_B = X_WB.linear().transpose() * n;
  const double centre_height = n.dot(X_WB.translation()) - offset;
  PlaneContact contact;
  contact.next_gap = kInfinity;
  Corners corners;
  if (!FindCorners(body, corners)) {
    const Vector3d lever = SmoothLever(body, n_B);
    contact.p_WP = X_WB * lever;
    contact.gap = centre_height + n_B.dot(lever);
    return contact;
  }
  double lowest = kInfinity, next = kInfinity;
  for (int i = 0; i < corners.size; ++i) {
    const double h = n_B.dot(corners[i]);
    if (h < lowest) {
      next = lowest;
      lowest = h;
      contact.feature = i;
    } else {
      next = std::min(next, h);
    }
  }
  contact.n_touching = 0;
  for (int i = 0; i < corners.size; ++i)
    contact.n_touching += n_B.dot(corners[i]) <= lowest + feature_tolerance ? 1 : 0;
  contact.next_gap = next - lowest;
  // pose is not finite: report what is left, the gap says so
  if (contact.feature < 0) contact.feature = 0;
  contact.p_WP = X_WB * Vector3d(corners[contact.feature] - corners.radius * n_B);
  contact.gap = centre_height + n_B.dot(corners[contact.feature]) - corners.radius;
  return contact;
}

impact::CornerSpheres impact::CornersOf(const Body& body) {
  Corners corners;
  CornerSpheres spheres;
  if (!FindCorners(body, corners)) return spheres;
  spheres.radius = corners.radius;
  for (int i = 0; i < corners.size; ++i) spheres.centres_B.push_back(corners[i]);
  return spheres;
}

std::vector<Vector3d> Vertices(const Body& body) {
  Corners corners;
  if (!FindCorners(body, corners)) return {};
  if (body.shape == BodyShape::kPolytope || body.shape == BodyShape::kPoints) return body.points_B;
  if (body.shape == BodyShape::kRod)
    return {body.half_length * RodAxis(body), -body.half_length * RodAxis(body)};
  std::vector<Vector3d> vertices;
  vertices.reserve(corners.size);
  for (int i = 0; i < corners.size; ++i)
    vertices.push_back(BoxCorner(body.half_extents, body.planar, i));
  return vertices;
}

Isometry3d ContactFrame(const Plane& plane, const Vector3d& p_WP, const Vector3d& gravity_W,
                        bool planar) {
  const double length = plane.normal.norm();
  if (!(std::isfinite(length) && length > 0))
    throw ConfigError(
        "plane: normal: found a vector without direction, allowed: a finite vector that is not "
        "zero");
  Vector3d n = plane.normal / length;
  Vector3d x;
  if (planar) {
    if (std::abs(n.y()) > 1e-6)
      throw ConfigError(
          fmt::format("plane: normal: found y = {}, allowed: 0 in planar motion", n.y()));
    n = Vector3d(n.x(), 0, n.z()).normalized();
    x = Vector3d::UnitY().cross(n);
    if (x.x() < 0) x = -x;
  } else {
    // A plane level to rounding has no downhill direction of its own.
    const auto along = [&](const Vector3d& d) -> Vector3d { return d - d.dot(n) * n; };
    x = along(gravity_W);
    if (!(x.norm() > 1e-9 * gravity_W.norm())) x = along(Vector3d::UnitX());
    if (!(x.norm() > 1e-9)) x = along(Vector3d::UnitY());
    x.normalize();
    x = along(x).normalized();  // a short first projection leaves some n in x
  }
  Isometry3d X_WF = Isometry3d::Identity();
  X_WF.linear() << x, n.cross(x), n;
  X_WF.translation() = p_WP;
  return X_WF;
}

Matrix3d ContactInverseMass(const Body& body, const Isometry3d& X_WB, const Isometry3d& X_WF) {
  const Matrix3d S = CrossMatrix(X_WF.translation() - X_WB.translation());
  const Matrix3d A_W =
      Matrix3d::Identity() / body.mass - S * InverseInertiaW(body, X_WB.linear()) * S;
  Matrix3d A_F = X_WF.linear().transpose() * A_W * X_WF.linear();
  if (body.planar) {
    A_F.row(1).setZero();
    A_F.col(1).setZero();
    A_F(1, 1) = 1 / body.mass;
  }
  return 0.5 * (A_F + A_F.transpose());
}

ContactState MakeContactState(const Body& body, const Isometry3d& X_WB, const Vector3d& v_WB,
                              const Vector3d& omega_WB, const Isometry3d& X_WF) {
  ContactState contact;
  contact.X_WF = X_WF;
  const Vector3d omega = body.planar ? Vector3d(0, omega_WB.y(), 0) : omega_WB;
  contact.v_minus_F =
      X_WF.linear().transpose() * (v_WB + omega.cross(X_WF.translation() - X_WB.translation()));
  if (body.planar) contact.v_minus_F.y() = 0;
  contact.A_F = ContactInverseMass(body, X_WB, X_WF);
  return contact;
}

VelocityChange ApplyImpulse(const Body& body, const Isometry3d& X_WB, const Isometry3d& X_WF,
                            const Vector3d& J_F) {
  const Vector3d J_W = X_WF.linear() * J_F;
  const Vector3d moment = (X_WF.translation() - X_WB.translation()).cross(J_W);
  return {J_W / body.mass, InverseInertiaW(body, X_WB.linear()) * moment};
}

double KineticEnergy(const Body& body, const Matrix3d& R_WB, const Vector3d& v_WB,
                     const Vector3d& omega_WB) {
  if (body.planar) {
    return 0.5 * body.mass * (v_WB.x() * v_WB.x() + v_WB.z() * v_WB.z()) +
           0.5 * body.inertia_B(1, 1) * omega_WB.y() * omega_WB.y();
  }
  const Vector3d omega_B = R_WB.transpose() * omega_WB;
  return 0.5 * body.mass * v_WB.squaredNorm() + 0.5 * omega_B.dot(body.inertia_B * omega_B);
}

Isometry3d PlanarPose(double x, double z, double theta) {
  Isometry3d X_WB = Isometry3d::Identity();
  X_WB.linear() = Eigen::AngleAxisd(-theta, Vector3d::UnitY()).toRotationMatrix();
  X_WB.translation() = Vector3d(x, 0, z);
  return X_WB;
}

double PlanarAngle(const Isometry3d& X_WB) {
  const double theta = std::atan2(X_WB.linear()(2, 0), X_WB.linear()(0, 0));
  return theta <= -M_PI ? M_PI : theta;
}

}  // namespace impactlab
