#include "impact/body/convex_hull.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "data/base/error.h"

namespace impactlab::impact {
namespace {

using Eigen::Vector2d;
using Eigen::Vector3d;

TEST(ConvexHull, InThePlaneHoldsEveryPointAndTurnsToTheLeft) {
  std::mt19937_64 rng(3);
  std::uniform_real_distribution<double> side(-1, 1);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<Vector2d> points(3 + static_cast<std::size_t>(trial));
    for (Vector2d& p : points) p = {side(rng), side(rng)};
    const std::vector<int> hull = PlanarHull(points);
    ASSERT_GE(hull.size(), 3U);
    EXPECT_EQ(std::set<int>(hull.begin(), hull.end()).size(), hull.size());
    for (std::size_t i = 0; i < hull.size(); ++i) {
      const Vector2d a = points[static_cast<std::size_t>(hull[i])],
                     b = points[static_cast<std::size_t>(hull[(i + 1) % hull.size()])];
      for (const Vector2d& p : points)
        EXPECT_GE((b - a).x() * (p - a).y() - (b - a).y() * (p - a).x(), -1e-15);
    }
  }
}

TEST(ConvexHull, InThePlaneLeavesOutPointsOnEdgesWithinTheTolerance) {
  const std::vector<Vector2d> points = {{1e-12, 0.5}, {0, 0}, {1, 0},       {0.5, -1e-12},
                                        {1, 1},       {0, 1}, {-1e-12, 0.7}};
  EXPECT_EQ(PlanarHull(points).size(), 6U);  // all but the one just inside
  const std::vector<int> hull = PlanarHull(points, 1e-9);
  EXPECT_EQ(std::set<int>(hull.begin(), hull.end()), (std::set<int>{1, 2, 4, 5}));
  // Points of a fine polygon lie within the tolerance of their neighbours' line; not all of them
  // go.
  std::vector<Vector2d> circle;
  circle.reserve(400);
  for (int k = 0; k < 400; ++k)
    circle.emplace_back(std::cos(k * M_PI / 200), std::sin(k * M_PI / 200));
  EXPECT_GT(PlanarHull(circle, 2e-4).size(), 100U);
  EXPECT_LT(PlanarHull(circle, 2e-4).size(), 300U);
}

// Every edge belongs to two faces, in opposite directions, and every vertex lies inside all faces.
void ExpectClosed(const ConvexHull& hull, double tolerance) {
  std::multiset<std::pair<int, int>> edges;
  for (const HullFace& face : hull.faces) {
    ASSERT_GE(face.loop.size(), 3U);
    for (std::size_t i = 0; i < face.loop.size(); ++i)
      edges.insert({face.loop[i], face.loop[(i + 1) % face.loop.size()]});
    for (const Vector3d& p : hull.vertices) EXPECT_LE(face.normal.dot(p), face.offset + tolerance);
  }
  for (const auto& [from, to] : edges) {
    EXPECT_EQ(edges.count({from, to}), 1U);
    EXPECT_EQ(edges.count({to, from}), 1U);
  }
  EXPECT_EQ(hull.vertices.size() + hull.faces.size(), edges.size() / 2 + 2);  // Euler
}

TEST(ConvexHull, InSpaceMergesCoplanarFacets) {
  std::mt19937_64 rng(4);
  std::normal_distribution<double> normal;
  for (int trial = 0; trial < 50; ++trial) {
    const Eigen::Quaterniond q =
        Eigen::Quaterniond(normal(rng), normal(rng), normal(rng), normal(rng)).normalized();
    std::vector<Vector3d> prism;
    const int n = 3 + trial % 20;
    for (int k = 0; k < n; ++k)
      for (const double z : {0.0, 0.5, 1.0})
        prism.push_back(q * Vector3d(std::cos(2 * M_PI * k / n), std::sin(2 * M_PI * k / n), z));
    std::shuffle(prism.begin(), prism.end(), rng);
    const ConvexHull hull = BuildConvexHull(prism, false);
    EXPECT_EQ(hull.vertices.size(), static_cast<std::size_t>(2 * n));
    EXPECT_EQ(hull.faces.size(), static_cast<std::size_t>(n + 2));
    EXPECT_NEAR(hull.solid.measure, 0.5 * n * std::sin(2 * M_PI / n), 1e-12);
    ExpectClosed(hull, 1e-12);
  }
}

// Coordinates typed with a few digits: corners of a face are then almost in one plane.
TEST(ConvexHull, InSpaceTakesRoundedCoordinates) {
  std::mt19937_64 rng(5);
  std::normal_distribution<double> normal;
  for (const double digit : {1e-4, 1e-6, 1e-8, 1e-9, 1e-10, 1e-12}) {
    for (int trial = 0; trial < 20; ++trial) {
      const Eigen::Quaterniond q =
          Eigen::Quaterniond(normal(rng), normal(rng), normal(rng), normal(rng)).normalized();
      std::vector<Vector3d> prism;
      for (int k = 0; k < 6; ++k)
        for (const double z : {0.0, 0.1}) {
          Vector3d p =
              q * Vector3d(0.05 * std::cos(k * M_PI / 3), 0.05 * std::sin(k * M_PI / 3), z);
          for (double& x : p) x = digit * std::round(x / digit);
          prism.push_back(p);
        }
      const ConvexHull hull = BuildConvexHull(prism, false);
      EXPECT_EQ(hull.vertices.size(), 12U) << digit;
      EXPECT_NEAR(hull.solid.measure, 0.1 * 1.5 * std::sqrt(3.0) * 0.05 * 0.05, 0.05 * digit)
          << digit;
    }
  }
}

TEST(ConvexHull, InSpaceRefusesFlatSets) {
  EXPECT_THROW(BuildConvexHull({{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}}, false), ConfigError);
}

}  // namespace
}  // namespace impactlab::impact
