// The global energetic law in space: against the planar scheme, against the exact single contact,
// its symmetries, Rodriguez 2014, chapters 7, 8.

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "impact/multi/certify.h"
#include "impact/multi/global.h"
#include "impact/multi/rest_friction.h"
#include "impact/multi/system_builders.h"
#include "tests/impact/random_system.h"
#include "tests/impact/rocking_block.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

std::string SpaceFailures(const ImpactSystem& system, const MultiOutcome& outcome,
                          const std::vector<double>& e_star) {
  return CertifySystem(system, outcome, e_star).Failed(" ");
}

// A planar system in space: a second tangent at each contact, along which only a mass of its own
// moves.
ImpactSystem InSpace(const ImpactSystem& planar) {
  const Eigen::Index n = planar.M.rows(), m = static_cast<Eigen::Index>(planar.contacts.size());
  ImpactSystem system = planar;
  system.width = 3;
  system.M = MatrixXd::Identity(n + m, n + m);
  system.M.topLeftCorner(n, n) = planar.M;
  system.rows = MatrixXd::Zero(3 * m, n + m);
  for (Eigen::Index i = 0; i < m; ++i) {
    system.rows.row(3 * i).head(n) = planar.rows.row(2 * i);
    system.rows(3 * i + 1, n + i) = 1;
    system.rows.row(3 * i + 2).head(n) = planar.rows.row(2 * i + 1);
  }
  system.joints = MatrixXd::Zero(planar.joints.rows(), n + m);
  system.joints.leftCols(n) = planar.joints;
  system.u_minus = VectorXd::Zero(n + m);
  system.u_minus.head(n) = planar.u_minus;
  return system;
}

MatrixXd InSpace(const MatrixXd& closure) {
  MatrixXd wide = MatrixXd::Zero(closure.rows(), closure.cols() / 2 * 3);
  for (Eigen::Index i = 0; i < closure.cols() / 2; ++i) {
    wide.col(3 * i) = closure.col(2 * i);
    wide.col(3 * i + 2) = closure.col(2 * i + 1);
  }
  return wide;
}

TEST(GlobalInSpace, IsThePlanarSchemeInAPlane) {
  std::mt19937_64 rng(1);
  GlobalOptions options;
  options.max_events = 50;
  int solved = 0;
  for (int n = 0; n < 400; ++n) {
    SCOPED_TRACE(n);
    const ImpactSystem planar = RandomSystem(rng, 2);
    options.e_star = n % 4 == 3 ? std::vector<double>{-0.5, -0.3, 0.4}
                                : std::vector<double>{planar.contacts[0].e, 0.5};
    const MultiOutcome expected = SolveGlobal(planar, options),
                       outcome = SolveGlobal(InSpace(planar), options);
    ASSERT_EQ(outcome.status, expected.status) << outcome.reason << " | " << expected.reason;
    if (outcome.status != SolveStatus::kOk) continue;
    EXPECT_EQ(outcome.events, expected.events);
    EXPECT_LT((outcome.u_plus.head(planar.M.rows()) - expected.u_plus).norm(),
              1e-11 * planar.u_minus.norm());
    ++solved;
  }
  EXPECT_GT(solved, 250);
  // Relations between impulses, with contacts that stop, stick and reverse.
  const ImpactSystem ball =
      MakeDiscInCorner(0.5, 1, 8, -4.43, 0, {"", {.e = 1, .mu_k = 0.35, .mu_s = 0.35}});
  options.e_star = {0.715};
  options.closure = CornerClosure();
  const MultiOutcome expected = SolveGlobal(ball, options);
  options.closure = InSpace(options.closure);
  const MultiOutcome outcome = SolveGlobal(InSpace(ball), options);
  ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
  EXPECT_LT((outcome.u_plus.head(3) - expected.u_plus).norm(), 1e-12);
  EXPECT_EQ(SpaceFailures(InSpace(ball), outcome, {0.715}), "");
}

TEST(GlobalInSpace, IsTheExactSingleContact) {
  std::mt19937_64 rng(2);
  GlobalOptions options;
  int stuck = 0, again = 0, slid = 0;
  for (int n = 0; n < 1200; ++n) {
    SCOPED_TRACE(n);
    ImpactSystem system = RandomSystem(rng, 3, 1);
    ContactProperties& c = system.contacts[0];
    c.mu_k *= n % 2 == 0 ? 1 : 2.5;
    c.mu_s = c.mu_k * (n % 3 == 0 ? 1.2 : 1);
    const ContactSpace space = ReduceToContacts(system);
    options.e_star = {c.e};
    const ImpactOutcome single = Solve(SingleContact(space, space.v_minus, 0),
                                       {{c.e, c.mu_k, c.mu_s}, RestitutionLaw::kEnergetic});
    if (single.status != SolveStatus::kOk) continue;
    const MultiOutcome outcome = SolveGlobal(system, options);
    ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
    EXPECT_LT((outcome.v_plus - single.v_plus_F).norm(), 2e-10 * space.v_minus.norm())
        << single.path_case.Name();
    // The least work of all; where friction presses the bodies together again, compression ends
    // later by the single contact's law.
    EXPECT_LE(outcome.work_c[0], single.work_n_c * (1 - 1e-9));
    EXPECT_EQ(SpaceFailures(system, outcome, options.e_star), "");
    const int digit = single.path_case.digit;
    ++(digit == 0 ? slid : digit % 2 == 1 ? stuck : again);
  }
  EXPECT_GT(slid, 100);
  EXPECT_GT(stuck, 60);
  EXPECT_GT(again, 10);
}

// Turning the tangents of a contact about its normal, or mirroring them, changes no motion.
TEST(GlobalInSpace, DoesNotDependOnTheTangents) {
  std::mt19937_64 rng(3);
  GlobalOptions options;
  options.max_events = 30;
  int solved = 0;
  for (int n = 0; n < 80; ++n) {
    SCOPED_TRACE(n);
    ImpactSystem system = RandomSystem(rng, 3, 4);
    options.e_star = {n % 3 == 0 ? -0.3 : 0.6, 0.5};
    const MultiOutcome outcome = SolveGlobal(system, options);
    ImpactSystem turned = system;
    for (size_t i = 0; i < system.contacts.size(); ++i) {
      const double angle = Uniform(rng, -M_PI, M_PI), mirror = n % 2 == 0 ? 1 : -1;
      Eigen::Matrix2d R;
      R << std::cos(angle), std::sin(angle), -mirror * std::sin(angle), mirror * std::cos(angle);
      turned.rows.middleRows(3 * i, 2) = R * system.rows.middleRows(3 * i, 2);
    }
    const MultiOutcome other = SolveGlobal(turned, options);
    if (outcome.status != SolveStatus::kOk) continue;
    ASSERT_EQ(other.status, outcome.status) << other.reason;
    EXPECT_EQ(other.events, outcome.events);
    EXPECT_LT((other.u_plus - outcome.u_plus).norm(), 1e-9 * system.u_minus.norm());
    EXPECT_LE(outcome.energy_change, 1e-13 * KineticEnergy(system, system.u_minus));
    ++solved;
  }
  EXPECT_GT(solved, 45);
}

// Coulomb's law for contacts that leave rest together, one of them redundant in every third case.
TEST(GlobalInSpace, ContactsAtRestObeyCoulomb) {
  std::mt19937_64 rng(4);
  for (int n = 0; n < 300; ++n) {
    SCOPED_TRACE(n);
    const int contacts = 1 + n % 5, tangents = 1 + n / 5 % 2,
              rank = n % 3 == 0 ? std::max(1, contacts * tangents - 2) : contacts * tangents;
    const MatrixXd H = Normal(rng, contacts * tangents, rank), B = H * H.transpose();
    const VectorXd b = H * Normal(rng, rank, 1);
    VectorXd mu_s(contacts), mu_k(contacts);
    for (int k = 0; k < contacts; ++k)
      mu_k[k] = Uniform(rng, 0.05, 1.5), mu_s[k] = mu_k[k] * (n % 2 == 0 ? 1 : 1.3);
    const impact::RestFriction friction = impact::SolveRestFriction(B, b, mu_s, mu_k);
    const VectorXd rate = B * friction.x + b;
    for (int k = 0; k < contacts; ++k) {
      const VectorXd x = friction.x.segment(tangents * k, tangents),
                     r = rate.segment(tangents * k, tangents);
      if (friction.slips[k]) {
        if (r.norm() > 1e-5 * b.norm()) {
          EXPECT_LT((x + mu_k[k] * r.normalized()).norm(), 1e-6 * mu_k[k]);
        }
        EXPECT_LT(x.dot(r) + mu_k[k] * r.norm(), 1e-10 * b.norm());
      } else {
        EXPECT_LT(r.norm(), 1e-10 * b.norm());
        EXPECT_LE(x.norm(), mu_s[k] * (1 + 1e-10));
      }
    }
  }
}

TEST(GlobalInSpace, JudgeFindsWhatIsWrong) {
  const ImpactSystem system = MakeSphereInCorner(0.5, 1, Vector3d(3, 1, -2), Vector3d(1, 2, 3),
                                                 {"", {.e = 1, .mu_k = 0.35, .mu_s = 0.35}});
  GlobalOptions options;
  options.share = Vector3d(1, 0.7, 0.8);
  const MultiOutcome good = SolveGlobal(system, options);
  ASSERT_EQ(good.status, SolveStatus::kOk) << good.reason;
  EXPECT_EQ(SpaceFailures(system, good, {0.5}), "");
  EXPECT_NE(SpaceFailures(system, good, {0.51}).find("restitution"), std::string::npos);
  const auto spoiled = [&](const auto& spoil) {
    MultiOutcome outcome = good;
    spoil(outcome);
    return SpaceFailures(system, outcome, {0.5});
  };
  const size_t turning = 1;
  ASSERT_GT(good.phases.size(), turning + 1);
  EXPECT_NE(spoiled([](MultiOutcome& o) { o.share[1] = 0.9; }).find("division"), std::string::npos);
  EXPECT_NE(spoiled([](MultiOutcome& o) { o.phases[turning].work_n[0] += 1e-6; }).find("work"),
            std::string::npos);
  // Friction turned about the normal by a thousandth: inside the cone, of the right size.
  EXPECT_NE(spoiled([](MultiOutcome& o) {
              VectorXd& J = o.phases[turning].dJ;
              J.head<2>() = Eigen::Rotation2Dd(1e-3) * J.head<2>().eval();
            }).find("opposes"),
            std::string::npos);
  ImpactSystem rough = system;
  for (ContactProperties& c : rough.contacts) c.mu_k = c.mu_s = 0.36;
  EXPECT_NE(SpaceFailures(rough, good, {0.5}).find("opposes"), std::string::npos);
}

// Impulses that move nothing. The distances between points of a rigid body say so for three
// points, but not for four in a plane.
TEST(GlobalInSpace, ImpulsesThatMoveNothing) {
  const auto idle = [](const ImpactSystem& system) {
    Eigen::ColPivHouseholderQR<MatrixXd> qr(system.rows);
    qr.setThreshold(1e-10);
    return system.rows.rows() - qr.rank();
  };
  const Vector3d size(0.3, 0.2, 0.1);
  EXPECT_EQ(idle(test::MakeRockingBlock(size, 2.5, test::BlockPoints::kThreeCorners, 1,
                                        Vector2d::Zero(), {})),
            3);
  EXPECT_EQ(idle(test::MakeRockingBlock(size, 2.5, test::BlockPoints::kThreeCentred, 1,
                                        Vector2d::Zero(), {})),
            3);
  EXPECT_EQ(idle(MakeSphereInCorner(0.5, 1, -Vector3d::Ones(), Vector3d::Zero(), {})), 3);
  const ImpactSystem four =
      test::MakeRockingBlock(size, 2.5, test::BlockPoints::kFourCorners, 1, Vector2d::Zero(), {});
  EXPECT_EQ(idle(four), 6);
  const Vector2d corner[] = {{-0.15, -0.1}, {-0.15, 0.1}, {0.15, 0.1}, {0.15, -0.1}};
  MatrixXd distances = MatrixXd::Zero(6, 12);
  for (int i = 0, row = 0; i < 4; ++i) {
    for (int j = i + 1; j < 4; ++j, ++row) {
      distances.block<1, 2>(row, 3 * i) = (corner[i] - corner[j]).transpose();
      distances.block<1, 2>(row, 3 * j) = (corner[j] - corner[i]).transpose();
    }
  }
  EXPECT_LT((distances * four.rows).norm(), 1e-14);
  EXPECT_EQ(distances.colPivHouseholderQr().rank(), 5);
}

// Erratum E1: with normals out of the surfaces Rodriguez's relations for the corner, p_nA
// + p_nB = p_A.n_B + p_B.n_A, ask for more friction than mu < 1 can give.
TEST(GlobalInSpace, A17RelationsOfTheCornerWithTrueSigns) {
  const auto corner = [](double mu) {
    return MakeSphereInCorner(0.5, 1, Vector3d(2, 1, -1.5), Vector3d::Zero(),
                              {"", {.e = 1, .mu_k = mu, .mu_s = mu}});
  };
  const ImpactSystem system = corner(0.9);
  MatrixXd relations = MatrixXd::Zero(3, 9);
  const Vector3d normal[] = {Vector3d::UnitZ(), -Vector3d::UnitX(), -Vector3d::UnitY()};
  const int pair[3][2] = {{0, 1}, {0, 2}, {1, 2}};
  for (int row = 0; row < 3; ++row) {
    for (const int side : {0, 1}) {
      const int i = pair[row][side], j = pair[row][1 - side];
      const Eigen::Matrix3d R = FrameAt(Vector3d::Zero(), normal[i], false).linear();
      relations.block<1, 3>(row, 3 * i) = (normal[i] - normal[j]).transpose() * R;
    }
  }
  EXPECT_LT((relations * system.rows).norm(), 1e-14);
  GlobalOptions options;
  options.closure = relations;
  const MultiOutcome outcome = SolveGlobal(system, options);
  EXPECT_EQ(outcome.status, SolveStatus::kNotConverged);
  EXPECT_EQ(outcome.reason, "the closure asks a contact to pull");
  // Friction of 1 along each tangent, sqrt(2) in all, fulfils them.
  VectorXd p(9);
  for (int i = 0; i < 3; ++i) {
    const Eigen::Matrix3d R = FrameAt(Vector3d::Zero(), normal[i], false).linear();
    p.segment<3>(3 * i) = R.transpose() * (normal[0] + normal[1] + normal[2]);
  }
  EXPECT_LT((relations * p).norm(), 1e-14);
  for (int i = 0; i < 3; ++i)
    EXPECT_NEAR(p.segment<2>(3 * i).norm(), std::sqrt(2) * p[3 * i + 2], 1e-14);
}

// Erratum E10: slip of a solid sphere falls by 3.5 mu J_n / m.
TEST(GlobalInSpace, A18SlipOfASphere) {
  const SystemBody ball{MakeBall(0.2, 1.7), Eigen::Isometry3d::Identity(), Vector3d(3, -2, -1),
                        Vector3d(1, 2, -3)};
  const ImpactSystem system = MakeFreeBody(ball, {Vector3d(0, 0, -0.2)}, Vector3d::UnitZ(),
                                           {"", {.e = 1, .mu_k = 0.2, .mu_s = 0.3}});
  const MultiOutcome outcome = SolveGlobal(system);
  const Vector2d before = (system.rows * system.u_minus).head<2>(),
                 after = outcome.v_plus.head<2>();
  EXPECT_NEAR(after.norm(), before.norm() - 3.5 * 0.2 * outcome.J[2] / 1.7, 1e-12);
  EXPECT_NEAR(after.normalized().dot(before.normalized()), 1, 1e-14);
}

// Section 8.1, velocity before chosen here: one event, no slip stops, the sphere gains spin and
// loses energy.
TEST(GlobalInSpace, SphereInACorner) {
  const ImpactSystem system = MakeSphereInCorner(0.5, 1, Vector3d(3, 2, -2.5), Vector3d::Zero(),
                                                 {"", {.e = 1, .mu_k = 0.35, .mu_s = 0.35}});
  GlobalOptions options;
  options.e_star = {0.5};
  const MultiOutcome outcome = SolveGlobal(system, options);
  ASSERT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
  EXPECT_EQ(outcome.events, 1);
  for (const MultiPhase& phase : outcome.phases) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(phase.mode[i], PointMode::kSlip);
      EXPECT_GT(phase.v_end.segment<2>(3 * i).norm(), 0.02);
    }
  }
  EXPECT_GT(outcome.u_plus.tail<3>().norm(), 0.5);
  EXPECT_LT(outcome.energy_change, 0);
  EXPECT_EQ(SpaceFailures(system, outcome, {0.5}), "");
}

// A21: Rodriguez 2014, section 8.2, prints no dimensions: 0.3 x 0.2 x 0.1 m, the edge at -x on the
// ground, the other arriving with 1 m/s, slip 0.2 m/s along x.
MultiOutcome Rock(test::BlockPoints points) {
  const ImpactSystem system =
      test::MakeRockingBlock(Vector3d(0.3, 0.2, 0.1), 2.5, points, 1, Vector2d(0.2, 0),
                             {"", {.e = 1, .mu_k = 0.35, .mu_s = 0.6}});
  GlobalOptions options;
  options.e_star = {0.5};
  MultiOutcome outcome = SolveGlobal(system, options);
  EXPECT_EQ(outcome.status, SolveStatus::kOk) << outcome.reason;
  EXPECT_EQ(SpaceFailures(system, outcome, {0.5}), "");
  EXPECT_LT(outcome.energy_change, 0);
  return outcome;
}

TEST(GlobalInSpace, A21BlockOnThreeCorners) {
  const MultiOutcome outcome = Rock(test::BlockPoints::kThreeCorners);
  // As Rodriguez 2014 says: no slip stops in the first event, B and A leave, C still approaches,
  // and afterwards the block turns about the line from A to C. Here A is driven down by the impulse
  // at C (erratum E3), which takes a third event; he has two.
  EXPECT_EQ(outcome.events, 3);
  for (const MultiPhase& phase : outcome.phases) {
    if (phase.event > 0) continue;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(phase.mode[i], PointMode::kSlip);
    if (&phase + 1 < &outcome.phases.back() && (&phase + 1)->event == 1) {
      EXPECT_GT(phase.v_end[2], 0);
      EXPECT_GT(phase.v_end[5], 0);
      EXPECT_LT(phase.v_end[8], 0);
    }
  }
  const Vector3d omega = outcome.u_plus.tail<3>(), AC = Vector3d(0.3, 0.2, 0).normalized();
  EXPECT_GT(omega.dot(AC), 5);
  EXPECT_LT(std::acos(omega.normalized().dot(AC)), 5 * M_PI / 180);
}

TEST(GlobalInSpace, A21BlockOnPointsThatEncloseItsCentre) {
  for (const test::BlockPoints points :
       {test::BlockPoints::kFourCorners, test::BlockPoints::kThreeCentred}) {
    const MultiOutcome outcome = Rock(points);
    // As Rodriguez 2014 says: two events, slip of all points stops together in the first, A and B
    // leave and the others still approach; the block goes on forward and turns about an axis
    // parallel to AB. He lets slip reverse; mu_s = 0.6 holds it here.
    EXPECT_EQ(outcome.events, 2);
    ASSERT_EQ(outcome.phases.size(), 3U);
    const MultiPhase &slides = outcome.phases[0], &sticks = outcome.phases[1];
    const int n = static_cast<int>(slides.mode.size());
    for (int i = 0; i < n; ++i) {
      EXPECT_EQ(slides.mode[i], PointMode::kSlip);
      EXPECT_LT(slides.v_end.segment<2>(3 * i).norm(), 1e-12);
      EXPECT_EQ(sticks.mode[i], PointMode::kStick);
      EXPECT_EQ(sticks.v_end[3 * i + 2] > 0, i < 2);
    }
    EXPECT_GT(outcome.u_plus[0], 0);
    EXPECT_LT(
        std::abs(outcome.u_plus[1]) + std::abs(outcome.u_plus[3]) + std::abs(outcome.u_plus[5]),
        1e-12);
    EXPECT_GT(std::abs(outcome.u_plus[4]), 1);
  }
}

}  // namespace
}  // namespace impactlab
