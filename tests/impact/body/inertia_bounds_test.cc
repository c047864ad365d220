#include "impact/body/inertia_bounds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "data/base/error.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using ::testing::HasSubstr;

std::vector<Body> Outlines() {
  const std::vector<Vector3d> wedge = {{0.1, 0, 0},   {0, 0.2, 0},     {0, 0, 0.15},
                                       {-0.05, 0, 0}, {0, -0.1, 0.02}, {0.02, 0.03, -0.1}};
  return {MakeBox(Vector3d(0.1, 0.2, 0.3), 0.37, false, 0.02),
          MakeRod(0.3, 0.01, 0.2),
          MakeBall(0.05, 2),
          MakeEllipsoid(Vector3d(0.1, 0.2, 0.05), 1),
          MakePolytope(wedge, 3),
          MakeBox(Vector3d(0.1, 0, 0.3), 0.37, true),
          MakeBall(0.05, 2, true),
          MakeDisc(0.05, 2),
          MakeEllipse({0.1, 0.2}, 2),
          MakeRod(0.3, 0.01, 0.2, true)};
}

std::string Refusal(const Body& body) {
  try {
    CheckInertiaInOutline(body);
  } catch (const ConfigError& fault) {
    return fault.what();
  }
  return "";
}

// Masses at points inside the outline with their centre at the origin, as a body of points.
Matrix3d InertiaOfPointsInside(const Body& body, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Matrix3d second = Matrix3d::Zero();
  const int pairs = 4;
  for (int i = 0; i < pairs; ++i) {
    const Vector3d u =
        Vector3d(normal(random), body.planar ? 0 : normal(random), normal(random)).normalized();
    // A point of the surface and one on the other side, with masses that leave the centre at rest
    // only where both lie on one line: along -lever scaled into the body.
    const Vector3d out = SupportLever(body, u);
    double reach = 1;
    for (int k = 0; k < 200; ++k) {
      const Vector3d v =
          Vector3d(normal(random), body.planar ? 0 : normal(random), normal(random)).normalized();
      const double extent = -v.dot(SupportLever(body, v));
      if (v.dot(out) > 0) reach = std::min(reach, extent / v.dot(out));
    }
    reach *= 0.9;  // the directions are not all of them
    const Vector3d back = -reach * out;
    second +=
        body.mass / pairs * (reach * out * out.transpose() + back * back.transpose()) / (1 + reach);
  }
  return second.trace() * Matrix3d::Identity() - second;
}

TEST(InertiaBounds, NoMassInsideAnOutlineIsRefused) {
  std::mt19937_64 random(20261130);
  for (Body body : Outlines()) {
    EXPECT_EQ(Refusal(body), "") << body.name;
    for (int trial = 0; trial < 100; ++trial) {
      body.inertia_B = InertiaOfPointsInside(body, random);
      EXPECT_EQ(Refusal(body), "") << body.name << "\n" << body.inertia_B;
    }
  }
}

TEST(InertiaBounds, ACubeHasAtMostHalfItsMassTimesItsSideSquared) {
  const Body cube = MakeBox(Vector3d::Constant(0.1), 0.37);
  EXPECT_NEAR(LargestInertia(cube, Vector3d::UnitY()), 0.37 * 0.01 / 2, 1e-15);
  // A ball has all of its mass at its surface at most, and about one axis at its equator.
  EXPECT_NEAR(LargestInertia(MakeBall(0.05, 2), Vector3d::UnitX()), 2 * 0.0025, 1e-15);
  EXPECT_NEAR(LargestInertia(MakeDisc(0.05, 2), Vector3d::UnitY()), 2 * 0.0025, 1e-15);
  EXPECT_TRUE(std::isinf(LargestInertia(MakePoints({Vector3d(0, 0, -1)}, 1, Matrix3d::Identity()),
                                        Vector3d::UnitX())));
}

TEST(InertiaBounds, AFactorThatWasMistakenIsRefusedWithBoundAndUniformBody) {
  Body cube = MakeBox(Vector3d::Constant(0.1), 0.37);
  cube.inertia_B = 0.0081 * Matrix3d::Identity();
  const std::string refusal = Refusal(cube);
  EXPECT_THAT(refusal, HasSubstr("inertia_kg_m2: found 0.0081"));
  EXPECT_THAT(refusal, HasSubstr("allowed at most 0.00185"));
  EXPECT_THAT(refusal, HasSubstr("0.0006167"));
  for (Body body : Outlines()) {
    body.inertia_B *= 10;
    EXPECT_NE(Refusal(body), "") << body.name;
  }
}

TEST(InertiaBounds, MassTooFarOutAlongOneDirectionIsRefused) {
  // Every moment is below the bound of its axis, yet half of tr(I) less I_zz, the spread along z,
  // is more than the flat box holds: a plate that stands across its outline.
  Body flat = MakeBox(Vector3d(0.2, 0.2, 0.02), 1);
  flat.inertia_B = Vector3d(0.01, 0.01, 0.002).asDiagonal();
  EXPECT_THAT(Refusal(flat), HasSubstr("second moment"));
  // Centre of mass outside of the hull.
  Body outside = MakePolytope({{0, 0, 0}, {0.1, 0, 0}, {0, 0.1, 0}, {0, 0, 0.1}}, 1);
  for (Vector3d& p : outside.points_B) p += Vector3d(0.2, 0, 0);
  EXPECT_NE(Refusal(outside), "");
}

}  // namespace
}  // namespace impactlab
