#include "impact/body/outline_radius.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace impactlab {
namespace {

using Eigen::Vector3d;

// The furthest of many points of the outline in random directions.
double FurthestSeen(const Body& body) {
  std::mt19937_64 random(20261130);
  std::normal_distribution<double> normal;
  double furthest = 0;
  for (int i = 0; i < 20000; ++i) {
    const Vector3d n(normal(random), body.planar ? 0 : normal(random), normal(random));
    furthest = std::max(furthest, SupportLever(body, n.normalized()).norm());
  }
  return furthest;
}

TEST(OutlineRadius, IsTheDistanceOfTheFurthestPoint) {
  for (const Body& body :
       {MakeBox(Vector3d(0.1, 0.2, 0.3), 1), MakeBox(Vector3d(0.1, 0.7, 0.3), 1, true),
        MakeRod(0.3, 0.01, 1), MakeRod(0.3, 0.01, 1, true), MakeBall(0.05, 1), MakeDisc(0.05, 1),
        MakeEllipsoid(Vector3d(0.1, 0.2, 0.05), 1), MakeEllipse({0.1, 0.2}, 1),
        MakePolytope({{0, 0, 0}, {0.1, 0, 0}, {0, 0.2, 0}, {0, 0, 0.3}}, 1),
        MakePoints({Vector3d(0, 0, -0.1), Vector3d(0.2, 0, 0)}, 1, Eigen::Matrix3d::Identity())}) {
    EXPECT_NEAR(OutlineRadius(body), FurthestSeen(body), 1e-3 * OutlineRadius(body)) << body.name;
    EXPECT_GE(OutlineRadius(body), FurthestSeen(body) * (1 - 1e-12)) << body.name;
  }
}

}  // namespace
}  // namespace impactlab
