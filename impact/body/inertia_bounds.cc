#include "impact/body/inertia_bounds.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "data/base/error.h"
#include "impact/body/outline_radius.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

// Numbers in files are rounded; nothing real comes near a bound.
constexpr double kSlack = 1 + 1e-3;

// Largest second moment of 1 kg along the unit direction u of B [m^2]; negative where the centre of
// mass lies outside the outline.
double LargestSecondMoment(const Body& body, const Vector3d& u) {
  return -u.dot(SupportLever(body, u)) * u.dot(SupportLever(body, -u));
}

[[noreturn]] void RefuseInertia(const Body& body, const std::string& about, double found,
                                double allowed) {
  const char* unit = body.mass_known ? "kg m^2" : "m^2 (per kg)";
  std::string solid;
  if (const std::optional<Body> uniform = UniformSolid(body)) {
    const Matrix3d& I = uniform->inertia_B;
    solid = body.planar ? fmt::format("; a uniform body of this outline has {:.4g}", I(1, 1))
                        : fmt::format("; a uniform body of this outline has {:.4g}, {:.4g}, {:.4g}",
                                      I(0, 0), I(1, 1), I(2, 2));
  }
  throw ConfigError(fmt::format(
      "body '{}': inertia_kg_m2: found {:.4g} {} {} (radius of gyration {:.4g} m), allowed at most "
      "{:.4g}, which only mass at the edge of the outline reaches{}. Without the key the uniform "
      "body is taken; where there are recordings, a run says what inertia the impacts ask for",
      body.name, found, unit, about, std::sqrt(found / body.mass), std::max(0.0, allowed), solid));
}

}  // namespace

double LargestInertia(const Body& body, const Vector3d& axis_B) {
  if (body.shape == BodyShape::kPoints) return std::numeric_limits<double>::infinity();
  const Vector3d u = axis_B.normalized(), v = u.unitOrthogonal(), w = u.cross(v);
  if (body.planar) {
    return body.mass * std::min(std::pow(OutlineRadius(body), 2),
                                LargestSecondMoment(body, Vector3d::UnitX()) +
                                    LargestSecondMoment(body, Vector3d::UnitZ()));
  }
  return body.mass * std::min(std::pow(OutlineRadius(body), 2),
                              LargestSecondMoment(body, v) + LargestSecondMoment(body, w));
}

void CheckInertiaInOutline(const Body& body) {
  if (body.shape == BodyShape::kPoints) return;
  const Matrix3d& I = body.inertia_B;
  if (body.planar) {
    const double largest = LargestInertia(body, Vector3d::UnitY());
    if (I(1, 1) > kSlack * largest)
      RefuseInertia(body, "about the axis of motion", I(1, 1), largest);
    return;
  }
  constexpr std::array<const char*, 3> kAxes = {"about B_x", "about B_y", "about B_z"};
  for (int i = 0; i < 3; ++i) {
    const double largest = LargestInertia(body, Vector3d::Unit(i));
    if (I(i, i) > kSlack * largest) RefuseInertia(body, kAxes[i], I(i, i), largest);
  }
  // Along one direction the mass may be too far out although no moment about an axis of B shows it.
  const Matrix3d S = 0.5 * I.trace() * Matrix3d::Identity() - I;
  const Eigen::SelfAdjointEigenSolver<Matrix3d> principal(S);
  for (int i = 0; i < 6; ++i) {
    const Vector3d u = i < 3 ? Vector3d::Unit(i) : Vector3d(principal.eigenvectors().col(i - 3));
    const double found = u.dot(S * u), largest = body.mass * LargestSecondMoment(body, u);
    if (found > kSlack * largest && found > 1e-6 * I.trace()) {
      RefuseInertia(body,
                    fmt::format("as second moment of mass along ({:.3g}, {:.3g}, {:.3g}) of B",
                                u.x(), u.y(), u.z()),
                    found, largest);
    }
  }
}

}  // namespace impactlab
