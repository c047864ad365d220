#include "impact/body/body.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "data/base/error.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector3d;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

class Random {
 public:
  explicit Random(std::uint64_t seed) : rng_(seed) {}
  double Uniform(double lo, double hi) {
    return std::uniform_real_distribution<double>(lo, hi)(rng_);
  }
  Vector3d Vector(double scale) {
    return {Uniform(-scale, scale), Uniform(-scale, scale), Uniform(-scale, scale)};
  }
  Vector3d Direction() {
    std::normal_distribution<double> normal;
    return Vector3d(normal(rng_), normal(rng_), normal(rng_)).normalized();
  }
  Isometry3d Pose() {
    Isometry3d X = Isometry3d::Identity();
    X.linear() = Eigen::AngleAxisd(Uniform(0, 3.1), Direction()).toRotationMatrix();
    X.translation() = Vector(1);
    return X;
  }
  std::vector<Vector3d> Cloud(int n) {
    std::vector<Vector3d> points;
    points.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i)
      points.push_back(Vector(0.3).cwiseProduct(Vector3d(1, 0.5, 0.7)) + Vector3d(0.2, -0.1, 0.4));
    return points;
  }

 private:
  std::mt19937_64 rng_;
};

// Second moments of a solid of unit mass from a fine grid of cells: independent of the closed
// forms.
Matrix3d GridInertia(const Vector3d& half, const std::function<bool(const Vector3d&)>& inside,
                     int n = 80) {
  Matrix3d second = Matrix3d::Zero();
  double count = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < n; ++k) {
        const Vector3d p =
            half.cwiseProduct(Vector3d(2 * i + 1 - n, 2 * j + 1 - n, 2 * k + 1 - n) / n);
        if (!inside(p)) continue;
        second += p * p.transpose();
        count += 1;
      }
    }
  }
  second /= count;
  return second.trace() * Matrix3d::Identity() - second;
}

// The golden sign test: seen with x right and z up, theta turns from x towards z.
TEST(Body, PlanarThetaIsCounterClockwiseWithXRightAndZUp) {
  const Isometry3d X = PlanarPose(1, 2, 0.3);
  EXPECT_NEAR((X.linear() * Vector3d::UnitX() - Vector3d(std::cos(0.3), 0, std::sin(0.3))).norm(),
              0, 1e-15);
  EXPECT_NEAR((X.linear() * Vector3d::UnitZ() - Vector3d(-std::sin(0.3), 0, std::cos(0.3))).norm(),
              0, 1e-15);
  EXPECT_EQ(X.translation(), Vector3d(1, 0, 2));
  // omega_WB = (0, -theta_dot, 0): the skew part of dR/dt R^T.
  const double h = 1e-6;
  const Matrix3d rate = (PlanarPose(0, 0, 0.3 + h).linear() - PlanarPose(0, 0, 0.3 - h).linear()) /
                        (2 * h) * X.linear().transpose();
  EXPECT_NEAR(rate(0, 2), -1, 1e-9);  // omega_y
  EXPECT_NEAR(rate(2, 1), 0, 1e-9);
  EXPECT_NEAR(rate(1, 0), 0, 1e-9);
}

TEST(Body, CounterClockwiseDiscSlidingRightMovesItsLowestPointFasterRight) {
  const double r = 0.1, theta_dot = 5, v_x = 2;
  const Body disc = MakeDisc(r, 1);
  const Isometry3d X_WB = PlanarPose(0, r, 0.7);
  const PlaneContact contact = ContactWithPlane(disc, X_WB, Plane{});
  const Isometry3d X_WF = ContactFrame(Plane{}, contact.p_WP, Vector3d(0, 0, -9.8), true);
  const ContactState state =
      MakeContactState(disc, X_WB, Vector3d(v_x, 0, -1), Vector3d(0, -theta_dot, 0), X_WF);
  EXPECT_NEAR(state.v_minus_F.x(), v_x + theta_dot * r, 1e-15);
  EXPECT_NEAR(state.v_minus_F.z(), -1, 1e-15);
  // Friction that points left on the lowest point of a body turns it clockwise: theta_dot falls,
  // omega_y rises.
  EXPECT_GT(ApplyImpulse(disc, X_WB, X_WF, Vector3d(-1, 0, 0)).domega_W.y(), 0);
}

TEST(Body, PlanarAngleReturnsThetaInItsHalfOpenTurn) {
  for (int i = 0; i < 55; ++i) {
    const double theta = -10 + 0.37 * i;
    EXPECT_NEAR(PlanarAngle(PlanarPose(0.2, -1, theta)), std::remainder(theta, 2 * M_PI), 1e-14)
        << theta;
  }
  EXPECT_NEAR(PlanarAngle(PlanarPose(0, 0, M_PI)), M_PI, 1e-15);
  Isometry3d half_turn = Isometry3d::Identity();
  half_turn.linear().diagonal() = Vector3d(-1, 1, -1);
  half_turn.linear()(2, 0) = -0.0;
  EXPECT_EQ(PlanarAngle(half_turn), M_PI);
}

TEST(Body, InertiaOfSolidsAgreesWithAGridOfCells) {
  const double m = 2.5;
  const Vector3d h(0.1, 0.15, 0.25);
  const auto box = GridInertia(h, [](const Vector3d&) { return true; });
  EXPECT_LT((MakeBox(2 * h, m).inertia_B / m - box).norm(), 4e-4 * box.norm());
  const auto ellipsoid =
      GridInertia(h, [&](const Vector3d& p) { return p.cwiseQuotient(h).norm() < 1; });
  EXPECT_LT((MakeEllipsoid(h, m).inertia_B / m - ellipsoid).norm(), 2e-3 * ellipsoid.norm());
  for (const double length : {0.2, 0.21, 0.5, 2.0}) {
    const double r = 0.1;
    const auto rod = GridInertia(Vector3d(r, r, length / 2), [&](const Vector3d& p) {
      const double beyond = std::max(0.0, std::abs(p.z()) - (length / 2 - r));
      return std::hypot(p.x(), p.y(), beyond) < r;
    });
    EXPECT_LT((MakeRod(length, r, m).inertia_B / m - rod).norm(), 3e-3 * rod.norm()) << length;
  }
}

TEST(Body, RodLiesBetweenBallAndSlenderRod) {
  EXPECT_NEAR((MakeRod(0.2, 0.1, 3).inertia_B - MakeBall(0.1, 3).inertia_B).norm(), 0, 1e-16);
  EXPECT_NEAR(MakeRod(1, 1e-6, 3).inertia_B(0, 0), 3.0 / 12, 1e-5);
  const Body space = MakeRod(0.3048, 0.0047625, 0.169),
             plane = MakeRod(0.3048, 0.0047625, 0.169, true);
  EXPECT_EQ(plane.inertia_B(1, 1), space.inertia_B(1, 1));
  EXPECT_EQ(plane.inertia_B(0, 0), space.inertia_B(2, 2));
  EXPECT_TRUE(space.mass_known);
  // Published solid steel rod of Sun 2017: 1309.4 kg mm^2 with flat ends.
  EXPECT_NEAR(space.inertia_B(0, 0) * 1e6, 1309.4, 0.03 * 1309.4);
}

TEST(Body, SolidsKeepTheirInertiaInAPlaneAndPlatesHaveTheirOwn) {
  EXPECT_DOUBLE_EQ(MakeBox(Vector3d(0.3, 0, 0.4), 12, true).inertia_B(1, 1), 0.09 + 0.16);
  EXPECT_DOUBLE_EQ(MakeBall(2, 3, true).inertia_B(1, 1), 4.8);
  EXPECT_DOUBLE_EQ(MakeDisc(2, 3).inertia_B(1, 1), 6);
  EXPECT_DOUBLE_EQ(MakeEllipsoid(Vector3d(2, 0, 1), 4, true).inertia_B(1, 1), 4);
  EXPECT_DOUBLE_EQ(MakeEllipse({2, 1}, 4).inertia_B(1, 1), 5);
  for (const double r : {0.02, 0.3}) {
    EXPECT_DOUBLE_EQ(MakeBall(r, 2, true).inertia_B(1, 1), MakeBall(r, 2).inertia_B(1, 1));
    EXPECT_DOUBLE_EQ(MakeEllipsoid(Vector3d(r, 2 * r, 3 * r), 2, true).inertia_B(1, 1),
                     MakeEllipsoid(Vector3d(r, 2 * r, 3 * r), 2).inertia_B(1, 1));
    EXPECT_DOUBLE_EQ(UniformSolid(MakeDisc(r, 2))->inertia_B(1, 1), r * r);
    EXPECT_DOUBLE_EQ(UniformSolid(MakeBall(r, 2, true))->inertia_B(1, 1), 0.8 * r * r);
  }
}

TEST(Body, PolytopeOfBoxCornersIsTheBoxWhereverItLies) {
  Random random(11);
  for (int trial = 0; trial < 50; ++trial) {
    const Vector3d sides = Vector3d(0.1, 0.1, 0.1) + random.Vector(0.09);
    const Body box = MakeBox(sides, 2);
    const Isometry3d X = random.Pose();
    std::vector<Vector3d> corners;
    for (const Vector3d& p : Vertices(box)) corners.push_back(X * p);
    const Body hull = MakePolytope(corners, 2);
    ASSERT_EQ(hull.points_B.size(), 8U);
    const Matrix3d expected = X.linear() * box.inertia_B * X.linear().transpose();
    EXPECT_LT((hull.inertia_B - expected).norm(), 1e-12 * expected.norm());
    // order kept
    for (int i = 0; i < 8; ++i)
      EXPECT_LT((hull.points_B[i] - X.linear() * Vertices(box)[i]).norm(), 1e-12);
  }
}

TEST(Body, PolytopeInertiaOfKnownSolids) {
  // Regular tetrahedron of side a: I = m a^2 / 20.
  const double s = 0.5;  // cube corners at +-s: a = 2 sqrt(2) s
  const Body tetrahedron = MakePolytope({{s, s, s}, {s, -s, -s}, {-s, s, -s}, {-s, -s, s}}, 3);
  EXPECT_LT((tetrahedron.inertia_B - 3 * 8 * s * s / 20 * Matrix3d::Identity()).norm(), 1e-14);
  // Regular octahedron of side a: I = m a^2 / 10.
  const Body octahedron =
      MakePolytope({{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {-1, 0, 0}, {0, -1, 0}, {0, 0, -1}}, 5);
  EXPECT_LT((octahedron.inertia_B - 5 * 2.0 / 10 * Matrix3d::Identity()).norm(), 1e-14);
  // Prism of a regular 64-gon of circumradius R: I_zz = m R^2 (2 + cos(2 pi / n)) / 6.
  const int n = 64;
  std::vector<Vector3d> prism, polygon;
  for (int i = 0; i < n; ++i) {
    const double a = 2 * M_PI * i / n;
    prism.emplace_back(std::cos(a), std::sin(a), 0.25);
    prism.emplace_back(std::cos(a), std::sin(a), -0.25);
    polygon.emplace_back(std::cos(a) + 4, 0, std::sin(a) - 3);
  }
  const double polar = (2 + std::cos(2 * M_PI / n)) / 6;
  const Body solid = MakePolytope(prism, 7);
  EXPECT_EQ(solid.points_B.size(), 2U * n);
  EXPECT_NEAR(solid.inertia_B(2, 2), 7 * polar, 1e-13);
  EXPECT_NEAR(solid.inertia_B(0, 0), 7 * (polar / 2 + 0.25 / 12), 1e-13);
  const Body plate = MakePolytope(polygon, 7, true);
  EXPECT_NEAR(plate.inertia_B(1, 1), 7 * polar, 1e-12);
  EXPECT_EQ(plate.points_B.size(), 64U);
  // A wedge: centre of mass away from the mean of its vertices.
  const Body triangle = MakePolytope({{0, 0, 0}, {3, 0, 0}, {0, 0, 3}, {1e-3, 0, 1e-3}}, 1, true);
  ASSERT_EQ(triangle.points_B.size(), 3U);
  EXPECT_LT((triangle.points_B[0] - Vector3d(-1, 0, -1)).norm(), 1e-14);
  EXPECT_NEAR(triangle.inertia_B(1, 1), (9 + 9) / 18.0, 1e-14);
}

TEST(Body, PolytopeOfACloudHoldsEveryPointAndTurnsWithIt) {
  Random random(12);
  for (int trial = 0; trial < 30; ++trial) {
    const std::vector<Vector3d> cloud = random.Cloud(4 + 7 * trial);
    const Body body = MakePolytope(cloud, 1);
    const Isometry3d X = random.Pose();
    std::vector<Vector3d> moved;
    moved.reserve(cloud.size());
    for (const Vector3d& p : cloud) moved.push_back(X * p);
    const Body turned = MakePolytope(moved, 1);
    ASSERT_EQ(turned.points_B.size(), body.points_B.size());
    EXPECT_LT((turned.inertia_B - X.linear() * body.inertia_B * X.linear().transpose()).norm(),
              1e-12 * body.inertia_B.norm());
    // Which point of the cloud is the first vertex tells where the centre of mass lies.
    Vector3d centre = Vector3d::Constant(kNan);
    for (const Vector3d& p : cloud) {
      const Vector3d candidate = p - body.points_B[0];
      for (const Vector3d& q : cloud) {
        if ((q - candidate - body.points_B[1]).norm() < 1e-13) centre = candidate;
      }
    }
    ASSERT_TRUE(centre.allFinite());
    for (int d = 0; d < 100; ++d) {
      const Vector3d n = random.Direction();
      double least = kInf;
      for (const Vector3d& p : cloud) least = std::min(least, n.dot(p - centre));
      EXPECT_NEAR(n.dot(SupportLever(body, n)), least, 1e-13);
    }
  }
}

TEST(Body, PolytopeInertiaOfACloudAgreesWithAGridOfCells) {
  Random random(13);
  const Body body = MakePolytope(random.Cloud(14), 1);
  std::vector<Vector3d> directions;
  directions.reserve(4000);
  for (int i = 0; i < 4000; ++i) directions.push_back(random.Direction());
  std::vector<double> support;
  support.reserve(directions.size());
  for (const Vector3d& n : directions) support.push_back(n.dot(SupportLever(body, n)));
  // The solid's moments about its centre of mass; 4000 half spaces enclose it closely, never too
  // tightly.
  const Matrix3d grid = GridInertia(
      Vector3d::Constant(0.5),
      [&](const Vector3d& p) {
        for (std::size_t i = 0; i < directions.size(); ++i) {
          if (directions[i].dot(p) < support[i]) return false;
        }
        return true;
      },
      50);
  EXPECT_LT((body.inertia_B - grid).norm(), 0.03 * grid.norm());
}

TEST(Body, HullOfManyCoplanarAndNoisyPointsEitherWorksOrSaysWhy) {
  Random random(14);
  int built = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const double noise = std::pow(10, random.Uniform(-16, -3));
    std::vector<Vector3d> points;
    points.reserve(27);
    for (int i = 0; i < 27; ++i) {
      const int layer = i / 9;
      points.push_back(Vector3d(i % 3, i / 3 % 3, layer) + random.Vector(noise));
    }
    const Isometry3d X = trial % 2 == 0 ? Isometry3d::Identity() : random.Pose();
    for (Vector3d& p : points) p = X * p;
    try {
      const Body body = MakePolytope(points, 1);
      ++built;
      EXPECT_LT((body.inertia_B - 4.0 / 6 * Matrix3d::Identity()).norm(), 1e-9 + 10 * noise)
          << noise;
      if (noise < 1e-12) {
        EXPECT_EQ(body.points_B.size(), 8U);
      }
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("almost"));
      EXPECT_GT(noise, 1e-11);  // a clean grid is never refused
    }
  }
  EXPECT_GT(built, 150);
}

TEST(Body, RoundedCornersLieInsideTheOutline) {
  const double rho = 0.01;
  const Body sharp = MakeBox(Vector3d(0.2, 0.1, 0.3), 1),
             round = MakeBox(Vector3d(0.2, 0.1, 0.3), 1, false, rho);
  EXPECT_EQ(round.inertia_B, sharp.inertia_B);
  for (int i = 0; i < 3; ++i) {
    const Vector3d axis = Vector3d::Unit(i);
    // lies flat at the same height
    EXPECT_NEAR(axis.dot(SupportLever(round, axis)), axis.dot(SupportLever(sharp, axis)), 1e-16);
  }
  // On its corner it is lower by the part of the corner that is missing.
  const Vector3d diagonal = Vector3d::Ones().normalized();
  EXPECT_NEAR(
      diagonal.dot(SupportLever(round, diagonal)) - diagonal.dot(SupportLever(sharp, diagonal)),
      rho * (std::sqrt(3.0) - 1), 1e-15);
  Random random(15);
  for (int i = 0; i < 1000; ++i) {
    const Vector3d n = random.Direction();
    EXPECT_GE(n.dot(SupportLever(round, n)), n.dot(SupportLever(sharp, n)) - 1e-15);
  }
}

TEST(Body, RoundedPolytopeLiesFlatOnEveryFace) {
  Random random(16);
  // Three, four and five faces meet at a vertex.
  const double g = (1 + std::sqrt(5.0)) / 2;
  std::vector<Vector3d> icosahedron;
  for (const double a : {-1.0, 1.0}) {
    for (const double b : {-g, g}) {
      icosahedron.insert(icosahedron.end(),
                         {Vector3d(0, a, b), Vector3d(a, b, 0), Vector3d(b, 0, a)});
    }
  }
  const std::vector<std::vector<Vector3d>> solids{
      {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}},
      {{1, 1, 0}, {1, -1, 0}, {-1, 1, 0}, {-1, -1, 0}, {0, 0, 1.5}},
      {{0, 0, 0}, {2, 0, 0}, {0, 1, 0}, {0, 0, 3}, {2, 0, 3}, {0, 1, 3}},
      icosahedron};
  for (const auto& points : solids) {
    const double rho = 0.05;
    const Body sharp = MakePolytope(points, 1), round = MakePolytope(points, 1, false, rho);
    const auto& v = sharp.points_B;
    int flat = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      for (std::size_t j = 0; j < v.size(); ++j) {
        for (std::size_t k = 0; k < v.size(); ++k) {
          Vector3d n = (v[j] - v[i]).cross(v[k] - v[i]);
          if (n.norm() < 1e-9) continue;
          n.normalize();
          if (std::abs(n.dot(v[i]) - n.dot(SupportLever(sharp, n))) > 1e-12) continue;  // no face
          Isometry3d X = Isometry3d::Identity();
          X.linear() = Eigen::Quaterniond::FromTwoVectors(n, Vector3d::UnitZ()).toRotationMatrix();
          const PlaneContact a = ContactWithPlane(sharp, X, Plane{}, 1e-9),
                             b = ContactWithPlane(round, X, Plane{}, 1e-9);
          EXPECT_NEAR(a.gap, b.gap, 1e-12);
          EXPECT_EQ(a.n_touching, b.n_touching);
          EXPECT_GE(a.n_touching, 3);
          ++flat;
        }
      }
    }
    EXPECT_GT(flat, 10);
    for (int i = 0; i < 500; ++i) {
      const Vector3d n = random.Direction();
      EXPECT_GE(n.dot(SupportLever(round, n)), n.dot(SupportLever(sharp, n)) - 1e-12);
    }
  }
  const Body plate = MakePolytope({{0, 0, 0}, {2, 0, 0}, {2, 0, 1}, {0, 0, 1}}, 1, true, 0.2);
  const Body box = MakeBox(Vector3d(2, 0, 1), 1, true, 0.2);
  for (int i = 0; i < 64; ++i) {
    const double theta = 0.1 * i;
    EXPECT_NEAR(ContactWithPlane(plate, PlanarPose(0, 0, theta), Plane{}).gap,
                ContactWithPlane(box, PlanarPose(0, 0, theta), Plane{}).gap, 1e-14);
  }
}

TEST(Body, RoundingWhereManyFacesMeetStaysInside) {
  Random random(17);
  for (int trial = 0; trial < 20; ++trial) {
    const std::vector<Vector3d> cloud = random.Cloud(40);
    const Body sharp = MakePolytope(cloud, 1), round = MakePolytope(cloud, 1, false, 0.002);
    for (int i = 0; i < 300; ++i) {
      const Vector3d n = random.Direction();
      EXPECT_GE(n.dot(SupportLever(round, n)), n.dot(SupportLever(sharp, n)) - 1e-13);
    }
  }
}

TEST(Body, ContactCountsCornerEdgeAndFace) {
  const Body box = MakeBox(Vector3d(0.2, 0.1, 0.3), 1);
  const auto tilted = [&](const Vector3d& axis, double angle, double lift) {
    Isometry3d X = Isometry3d::Identity();
    X.linear() = Eigen::AngleAxisd(angle, axis).toRotationMatrix();
    X.translation().z() = lift;
    return ContactWithPlane(box, X, Plane{});
  };
  const PlaneContact face = tilted(Vector3d::UnitX(), 0, 0.2);
  EXPECT_EQ(face.n_touching, 4);
  EXPECT_NEAR(face.gap, 0.05, 1e-16);
  EXPECT_EQ(face.next_gap, 0);
  const PlaneContact edge = tilted(Vector3d::UnitX(), 0.3, 0);
  EXPECT_EQ(edge.n_touching, 2);
  EXPECT_NEAR(edge.gap, -(0.15 * std::cos(0.3) + 0.05 * std::sin(0.3)), 1e-15);
  const PlaneContact corner = tilted(Vector3d(1, -1, 0).normalized(), 0.3, 0);
  EXPECT_EQ(corner.n_touching, 1);
  EXPECT_EQ(corner.feature, 0);  // turned about x - y, the corner at -x, -y, -z goes down
  EXPECT_GT(corner.next_gap, 0.01);
  // Within the tolerance of a tilt too small to tell.
  EXPECT_EQ(tilted(Vector3d::UnitX(), 1e-4, 0).n_touching, 4);
  EXPECT_EQ(tilted(Vector3d::UnitX(), 1e-2, 0).n_touching, 2);

  const Body rod = MakeRod(0.3, 0.01, 1);
  Isometry3d lying = Isometry3d::Identity();
  lying.linear() = Eigen::AngleAxisd(M_PI / 2, Vector3d::UnitY()).toRotationMatrix();
  EXPECT_EQ(ContactWithPlane(rod, lying, Plane{}).n_touching, 2);
  EXPECT_NEAR(ContactWithPlane(rod, lying, Plane{}).gap, -0.01, 1e-15);
  EXPECT_EQ(ContactWithPlane(rod, Isometry3d::Identity(), Plane{}).n_touching, 1);
  EXPECT_EQ(ContactWithPlane(rod, Isometry3d::Identity(), Plane{}).feature, 1);
  EXPECT_NEAR(ContactWithPlane(rod, Isometry3d::Identity(), Plane{}).gap, -0.15, 1e-15);
  EXPECT_EQ(Vertices(rod)[0], Vector3d(0, 0, 0.15));

  const PlaneContact ball = ContactWithPlane(MakeBall(0.1, 1), Isometry3d::Identity(), Plane{});
  EXPECT_EQ(ball.feature, -1);
  EXPECT_EQ(ball.next_gap, kInf);
  EXPECT_TRUE(Vertices(MakeBall(0.1, 1)).empty());

  const Body square = MakeBox(Vector3d(0.1, 0, 0.1), 1, true);
  EXPECT_EQ(ContactWithPlane(square, PlanarPose(0, 0, 0), Plane{}).n_touching, 2);
  // A small counter-clockwise turn lowers the corner at -x, -z.
  const PlaneContact turned = ContactWithPlane(square, PlanarPose(0, 0, 0.1), Plane{});
  EXPECT_EQ(Vertices(square)[turned.feature],
            Vector3d(0.05, 0, -0.05).cwiseProduct(Vector3d(-1, 1, 1)));
}

TEST(Body, ContactMovesWithTheWorld) {
  Random random(18);
  const std::vector<Body> bodies{
      MakeBox(Vector3d(0.2, 0.1, 0.3), 1, false, 0.02), MakeRod(0.3, 0.02, 1), MakeBall(0.1, 1),
      MakeEllipsoid(Vector3d(0.1, 0.2, 0.15), 1), MakePolytope(random.Cloud(30), 1)};
  for (const Body& body : bodies) {
    for (int i = 0; i < 50; ++i) {
      const Isometry3d X_WB = random.Pose(), X = random.Pose();
      const Plane plane{random.Direction(), random.Uniform(-1, 1)};
      const PlaneContact contact = ContactWithPlane(body, X_WB, plane);
      EXPECT_NEAR(plane.normal.dot(contact.p_WP) - plane.offset, contact.gap, 1e-14);
      const Vector3d n_B = X_WB.linear().transpose() * plane.normal;
      EXPECT_LT((X_WB * SupportLever(body, n_B) - contact.p_WP).norm(), 1e-14);
      Plane moved{X.linear() * plane.normal, 0};
      moved.offset = plane.offset + moved.normal.dot(X.translation());
      const PlaneContact there = ContactWithPlane(body, X * X_WB, moved);
      EXPECT_NEAR(there.gap, contact.gap, 1e-14);
      EXPECT_LT((X * contact.p_WP - there.p_WP).norm(), 1e-13);
      const Plane scaled{3 * plane.normal, 3 * plane.offset};  // the same plane
      EXPECT_NEAR(ContactWithPlane(body, X_WB, scaled).gap, contact.gap, 1e-14);
    }
  }
}

TEST(Body, EllipsoidTouchesWhereItsNormalIsVertical) {
  Random random(19);
  const Vector3d h(0.1, 0.2, 0.15);
  const Body body = MakeEllipsoid(h, 1);
  for (int i = 0; i < 100; ++i) {
    const Vector3d n = random.Direction();
    const Vector3d p = SupportLever(body, n);
    EXPECT_NEAR(p.cwiseQuotient(h).squaredNorm(), 1, 1e-14);
    EXPECT_LT((p.cwiseQuotient(h.cwiseAbs2()).normalized() + n).norm(), 1e-14);
  }
  const Body ellipse = MakeEllipsoid(Vector3d(2, 0, 1), 1, true);
  EXPECT_NEAR(ContactWithPlane(ellipse, PlanarPose(0, 0, 0.4), Plane{}).gap,
              -std::hypot(2 * std::sin(0.4), std::cos(0.4)), 1e-15);
}

TEST(Body, ContactFramePointsDownhill) {
  const Vector3d g(0, 0, -9.81);
  const Isometry3d level = ContactFrame(Plane{}, Vector3d(1, 2, 3), g, false);
  EXPECT_EQ(level.linear(), Matrix3d::Identity());
  EXPECT_EQ(level.translation(), Vector3d(1, 2, 3));
  Random random(20);
  for (int i = 0; i < 100; ++i) {
    const Vector3d n = random.Direction();
    const Matrix3d R = ContactFrame(Plane{n, 0}, Vector3d::Zero(), g, false).linear();
    EXPECT_LT((R.transpose() * R - Matrix3d::Identity()).norm(), 1e-14);
    EXPECT_NEAR(R.determinant(), 1, 1e-14);
    EXPECT_LT((R.col(2) - n).norm(), 1e-15);
    EXPECT_NEAR(R.col(1).dot(g), 0, 1e-13);  // F_y is level
    EXPECT_GT(R.col(0).dot(g), 0);           // F_x goes down
  }
  // Gravity that is no number on a level plane's scale, no gravity, and a wall seen along W_x.
  EXPECT_LT((ContactFrame(Plane{}, Vector3d::Zero(), Vector3d(0, 1e-12, -9.81), false).linear() -
             Matrix3d::Identity())
                .norm(),
            1e-15);
  EXPECT_LT((ContactFrame(Plane{}, Vector3d::Zero(), Vector3d::Zero(), false).linear() -
             Matrix3d::Identity())
                .norm(),
            1e-15);
  const Matrix3d wall =
      ContactFrame(Plane{Vector3d::UnitX(), 0}, Vector3d::Zero(), Vector3d::Zero(), false).linear();
  EXPECT_LT((wall.col(0) - Vector3d::UnitY()).norm(), 1e-15);

  // Planar: F_x along W_x also where that is uphill, F_y = W_y on any floor.
  const Matrix3d uphill =
      ContactFrame(Plane{Vector3d(-0.5, 0, 1), 0}, Vector3d::Zero(), g, true).linear();
  EXPECT_GT(uphill(0, 0), 0);
  EXPECT_GT(uphill(2, 0), 0);
  EXPECT_LT((uphill.col(1) - Vector3d::UnitY()).norm(), 1e-15);
  EXPECT_THROW(ContactFrame(Plane{Vector3d(0, 1, 1), 0}, Vector3d::Zero(), g, true), ConfigError);
  EXPECT_THROW(ContactFrame(Plane{Vector3d::Zero(), 0}, Vector3d::Zero(), g, false), ConfigError);
  EXPECT_THROW(
      ContactWithPlane(MakeBall(1, 1), Isometry3d::Identity(), Plane{Vector3d(0, 0, kNan), 0}),
      ConfigError);
}

// A_F, ApplyImpulse, MakeContactState and KineticEnergy are four views of one mechanics.
TEST(Body, ImpulseInverseMassAndEnergyAgree) {
  Random random(21);
  for (int i = 0; i < 300; ++i) {
    const bool planar = i % 2 == 1;
    Body body =
        planar ? MakeBox(Vector3d(0.2, 0, 0.3), 1.7, true) : MakePolytope(random.Cloud(12), 1.7);
    Isometry3d X_WB =
        planar ? PlanarPose(random.Uniform(-1, 1), random.Uniform(-1, 1), random.Uniform(-3, 3))
               : random.Pose();
    Plane plane{planar ? Vector3d(random.Uniform(-1, 1), 0, 1).normalized() : random.Direction(),
                0};
    const PlaneContact contact = ContactWithPlane(body, X_WB, plane);
    const Isometry3d X_WF = ContactFrame(plane, contact.p_WP, Vector3d(0, 0, -9.81), planar);
    Vector3d v = random.Vector(2), omega = random.Vector(9), J = random.Vector(1);
    if (planar) v.y() = J.y() = omega.x() = omega.z() = 0;
    const ContactState before = MakeContactState(body, X_WB, v, omega, X_WF);
    const VelocityChange change = ApplyImpulse(body, X_WB, X_WF, J);
    const ContactState after =
        MakeContactState(body, X_WB, v + change.dv_W, omega + change.domega_W, X_WF);
    EXPECT_LT((before.v_minus_F + before.A_F * J - after.v_minus_F).norm(),
              1e-12 * (1 + J.norm() * before.A_F.norm()));
    const double gain =
        KineticEnergy(body, X_WB.linear(), v + change.dv_W, omega + change.domega_W) -
        KineticEnergy(body, X_WB.linear(), v, omega);
    EXPECT_NEAR(gain, 0.5 * J.dot(before.v_minus_F + after.v_minus_F),
                1e-12 * (1 + std::abs(gain)));
    EXPECT_EQ(before.A_F, before.A_F.transpose().eval());
    EXPECT_GT(Eigen::SelfAdjointEigenSolver<Matrix3d>(before.A_F).eigenvalues().minCoeff(), 0);
    if (planar) {
      EXPECT_EQ(before.A_F(0, 1), 0);
      EXPECT_EQ(before.A_F(1, 2), 0);
      EXPECT_EQ(before.A_F(1, 1), 1 / body.mass);
      EXPECT_EQ(before.v_minus_F.y(), 0);
    }
  }
}

TEST(Body, InverseMassOfAFallingRodByHand) {
  // Rod of Sun 2017, section 2.8: m = L = 1, contact at r = (-cos b, -sin b) L/2 from the
  // centre of mass.
  Body rod = MakeRod(1, 1e-3, 1, true);
  rod.inertia_B(1, 1) = 1.0 / 12;
  const double b = 0.8;
  Isometry3d X_WF = Isometry3d::Identity();
  X_WF.translation() = 0.5 * Vector3d(-std::cos(b), 0, -std::sin(b));
  const Matrix3d A = ContactInverseMass(rod, Isometry3d::Identity(), X_WF);
  EXPECT_NEAR(A(0, 0), 1 + 3 * std::sin(b) * std::sin(b), 1e-14);
  EXPECT_NEAR(A(2, 2), 1 + 3 * std::cos(b) * std::cos(b), 1e-14);
  EXPECT_NEAR(A(0, 2), -3 * std::sin(b) * std::cos(b), 1e-14);
}

struct Refusal {
  const char* what;
  std::function<void()> make;
  const char* says;
};

TEST(Body, RefusesBodiesThatCannotBe) {
  const Vector3d ones = Vector3d::Ones();
  // inradius 1 / sqrt(3)
  const std::vector<Vector3d> tetrahedron{{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}};
  const auto points = [](const Matrix3d& inertia) {
    return [inertia] { MakePoints({Vector3d::UnitX()}, 1, inertia); };
  };
  Matrix3d skew = Matrix3d::Identity(), nan = Matrix3d::Identity();
  skew(0, 1) = 0.1;
  nan(2, 1) = kNan;
  const std::vector<Refusal> refusals{
      {"zero mass", [&] { MakeBox(ones, 0); }, "found 0"},
      {"negative mass", [&] { MakeBall(1, -2); }, "found -2"},
      {"NaN mass", [&] { MakeRod(1, 0.1, kNan); }, "found nan"},
      {"infinite mass", [&] { MakePolytope(tetrahedron, kInf); }, "found inf"},
      {"zero side", [&] { MakeBox(Vector3d(1, 0, 1), 1); }, "found 0"},
      {"NaN side", [&] { MakeBox(Vector3d(kNan, 1, 1), 1); }, "found nan"},
      {"negative side", [&] { MakeBox(Vector3d(1, 1, -2), 1); }, "found -1"},
      {"planar zero side", [&] { MakeBox(Vector3d(0, 1, 1), 1, true); }, "found 0"},
      {"negative radius", [&] { MakeBall(-1, 1); }, "found -1"},
      {"NaN radius", [&] { MakeBall(kNan, 1); }, "found nan"},
      {"NaN semi-axis", [&] { MakeEllipsoid(Vector3d(1, kNan, 1), 1); }, "found nan"},
      {"rod thicker than long", [&] { MakeRod(1, 0.51, 1); }, "at most half the length, 0.5"},
      {"rod of no radius", [&] { MakeRod(1, 0, 1); }, "found 0"},
      {"rod of infinite length", [&] { MakeRod(kInf, 1, 1); }, "found inf"},
      {"corner radius above half the least side",
       [&] { MakeBox(Vector3d(1, 2, 3), 1, false, 0.51); }, "found 0.51, allowed 0 to 0.5"},
      {"negative corner radius", [&] { MakeBox(ones, 1, false, -0.1); }, "found -0.1"},
      {"NaN corner radius", [&] { MakeBox(ones, 1, false, kNan); }, "found nan"},
      {"corner radius above inradius", [&] { MakePolytope(tetrahedron, 1, false, 0.58); },
       "found 0.58, allowed 0 to 0.577"},
      {"polytope NaN corner radius", [&] { MakePolytope(tetrahedron, 1, false, kNan); },
       "found nan"},
      {"polytope negative corner radius", [&] { MakePolytope(tetrahedron, 1, false, -1e-3); },
       "found -0.001"},
      {"three vertices",
       [&] {
         MakePolytope({{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}}, 1);
       },
       "found 3"},
      {"no vertices", [&] { MakePolytope({}, 1); }, "found 0"},
      {"four vertices, two the same",
       [&] {
         MakePolytope({{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {1, 1, 1}}, 1);
       },
       "found 3"},
      {"coplanar vertices",
       [&] {
         MakePolytope({{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 1, 1}, {2, 3, 1}}, 1);
       },
       "in one plane"},
      {"collinear vertices",
       [&] {
         MakePolytope({{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3}}, 1);
       },
       "in one plane"},
      {"planar collinear vertices",
       [&] {
         MakePolytope({{0, 0, 0}, {1, 0, 1}, {2, 0, 2}}, 1, true);
       },
       "on one line"},
      {"planar two vertices",
       [&] {
         MakePolytope({{0, 0, 0}, {1, 0, 1}}, 1, true);
       },
       "found 2"},
      {"planar vertex off the plane",
       [&] {
         MakePolytope({{0, 0, 0}, {1, 0.5, 1}, {1, 0, 0}}, 1, true);
       },
       "found y = 0.5"},
      {"NaN vertex",
       [&] {
         MakePolytope({{0, 0, 0}, {1, kNan, 1}, {1, 0, 0}, {0, 1, 0}}, 1);
       },
       "nan"},
      {"no contact point", [&] { MakePoints({}, 1, Matrix3d::Identity()); }, "found 0 points"},
      {"infinite contact point",
       [&] { MakePoints({Vector3d(kInf, 0, 0)}, 1, Matrix3d::Identity()); }, "inf"},
      {"inertia breaks the triangle inequality", points(Vector3d(1, 1, 2.1).asDiagonal()),
       "triangle inequality"},
      {"inertia not positive definite", points(Vector3d(1, 1, -1).asDiagonal()),
       "positive definite"},
      {"zero inertia", points(Matrix3d::Zero()), "positive definite"},
      {"inertia not symmetric", points(skew), "symmetric"},
      {"inertia NaN", points(nan), "finite"},
      {"planar inertia zero",
       [&] { MakePoints({Vector3d::UnitX()}, 1, Vector3d(1, 0, 1).asDiagonal(), true); },
       "(yy): found 0"},
  };
  for (const Refusal& refusal : refusals) {
    try {
      refusal.make();
      ADD_FAILURE() << refusal.what << ": accepted";
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(refusal.says)) << refusal.what;
      EXPECT_THAT(error.what(), ::testing::HasSubstr("allowed")) << refusal.what;
    }
  }
  EXPECT_NO_THROW(MakePolytope(tetrahedron, 1, false, 0.577));
  EXPECT_NO_THROW(MakeBox(Vector3d(1, 2, 3), 1, false, 0.5));
  EXPECT_NO_THROW(MakePoints({Vector3d::UnitX()}, 1, Vector3d(1, 1, 2).asDiagonal()));  // a plate
  EXPECT_NO_THROW(MakePoints({Vector3d::UnitX()}, 1, Vector3d(0.003, 1.312, 1.312).asDiagonal()));
  // A radius set by hand on a polytope built without one cannot be rounded.
  Body body = MakePolytope(tetrahedron, 1);
  body.corner_radius = 0.1;
  EXPECT_THROW(CheckBody(body), ConfigError);
  EXPECT_THROW(SupportLever(body, Vector3d::UnitZ()), ConfigError);
}

}  // namespace
}  // namespace impactlab
