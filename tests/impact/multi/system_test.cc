// Reduction of multibody systems to their contacts: joints as constraints against minimal
// coordinates, Shen and Townsend 1998, and what is refused.

#include "impact/multi/system.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "data/base/error.h"
#include "impact/law/certify.h"
#include "impact/multi/system_builders.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr double kDegree = M_PI / 180;

ImpactSystem DoublePendulum(const ContactProperties& contact) {
  return MakeChain({2, 2}, {3, 3}, {20 * kDegree, 30 * kDegree}, {-0.1, -0.2}, contact);
}

// The same in the angles of the rods, equations of Shen and Townsend 1998, example 1.
ImpactSystem DoublePendulumInAngles(const ContactProperties& contact) {
  const double m = 3, l = 2, q1 = 20 * kDegree, q2 = 30 * kDegree;
  ImpactSystem system;
  system.width = 2;
  system.M.resize(2, 2);
  system.M << 4.0 / 3 * m * l * l, 0.5 * m * l * l * std::cos(q2 - q1),
      0.5 * m * l * l * std::cos(q2 - q1), m * l * l / 3;
  system.rows.resize(2, 2);
  system.rows << l * std::cos(q1), l * std::cos(q2), l * std::sin(q1), l * std::sin(q2);
  system.u_minus = Eigen::Vector2d(-0.1, -0.2);
  system.contacts = {contact};
  return system;
}

TEST(System, PinsAsConstraintsAgreeWithMinimalCoordinates) {
  const ContactSpace pins = ReduceToContacts(DoublePendulum({})),
                     angles = ReduceToContacts(DoublePendulumInAngles({}));
  EXPECT_EQ(pins.H.cols(), 2);  // six velocities, four joint rows
  EXPECT_LT((pins.A - angles.A).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_LT((pins.v_minus - angles.v_minus).norm(), 1e-15);
  EXPECT_NEAR(pins.w_minus.norm(), angles.w_minus.norm(), 1e-14);
  // Printed digits of Shen and Townsend 1998.
  const MatrixXd printed = (MatrixXd(2, 2) << 0.813446, 0.507103, 0.507103, 0.336520).finished();
  EXPECT_LT((pins.A - printed).cwiseAbs().maxCoeff(), 0.6e-6);
  EXPECT_LT((pins.v_minus - Eigen::Vector2d(-0.534349, -0.268404)).cwiseAbs().maxCoeff(), 0.6e-6);
  EXPECT_NEAR(pins.A(0, 1) / pins.A(0, 0), 0.6234, 0.5e-4);  // critical static coefficient
}

TEST(System, RedundantJointsChangeNothing) {
  ImpactSystem system = DoublePendulum({});
  const ContactSpace once = ReduceToContacts(system);
  const MatrixXd joints = system.joints;
  system.joints.resize(2 * joints.rows(), joints.cols());
  system.joints << joints, 3 * joints;
  const ContactSpace twice = ReduceToContacts(system);
  EXPECT_LT((once.A - twice.A).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_LT((once.response - twice.response).cwiseAbs().maxCoeff(), 1e-14);
}

// A hinge in space about W_y lets a rod swing as the planar pin does.
TEST(System, HingeInSpaceIsThePlanarPin) {
  const double m = 3, l = 2, q = 0.4, rate = -0.7;
  const ContactSpace planar = ReduceToContacts(MakeChain({l}, {m}, {q}, {rate}, {}));
  SystemBody rod;
  const double J = m * l * l / 12;
  rod.body =
      MakePoints({Vector3d(0, 0, 1), Vector3d(0, 0, -1)}, m, Vector3d(J, J, 0.3 * J).asDiagonal());
  rod.X_WB = PlanarPose(0.5 * l * std::sin(q), -0.5 * l * std::cos(q), q);
  rod.omega_WB = Vector3d(0, -rate, 0);
  rod.v_WB = rod.omega_WB.cross(rod.X_WB.translation());
  const Vector3d end = 2 * rod.X_WB.translation();
  const SystemJoint hinge{0, kGround, Vector3d::Zero(), Vector3d::UnitY()};
  const ContactSpace space = ReduceToContacts(
      MakeBodySystem({rod}, {hinge}, {{{}, 0, kGround, FrameAt(end, Vector3d::UnitZ(), false)}}));
  EXPECT_EQ(space.H.cols(), 1);
  const int keep[] = {0, 2};
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(space.v_minus[keep[i]], planar.v_minus[i], 1e-15);
    for (int j = 0; j < 2; ++j) EXPECT_NEAR(space.A(keep[i], keep[j]), planar.A(i, j), 1e-14);
  }
  EXPECT_NEAR(space.A(1, 1), 0, 1e-14);
  // A ball joint leaves it free to swing sideways.
  const SystemJoint ball{0, kGround, Vector3d::Zero(), Vector3d::Zero()};
  EXPECT_GT(
      ReduceToContacts(
          MakeBodySystem({rod}, {ball}, {{{}, 0, kGround, FrameAt(end, Vector3d::UnitZ(), false)}}))
          .A(1, 1),
      0.1);
}

TEST(System, ASingleFreeBodyHasTheInverseMassOfTheBodyRoom) {
  SystemBody box{MakeBox(Vector3d(0.3, 0.2, 0.1), 1.7), Eigen::Isometry3d::Identity(),
                 Vector3d(0.3, -0.2, -1), Vector3d(2, -3, 1)};
  box.X_WB.linear() = Eigen::AngleAxisd(0.8, Vector3d(1, 2, -1).normalized()).toRotationMatrix();
  const Vector3d corner_B(0.15, -0.1, -0.05), n = Vector3d(0.2, -0.1, 1).normalized();
  const ImpactSystem system = MakeFreeBody(box, {corner_B}, n, {});
  const ContactSpace space = ReduceToContacts(system);
  const Eigen::Isometry3d X_WF = FrameAt(box.X_WB * corner_B, n, false);
  const ContactState state = MakeContactState(box.body, box.X_WB, box.v_WB, box.omega_WB, X_WF);
  const ContactState single = SingleContact(space, space.v_minus, 0);
  EXPECT_LT((single.A_F - state.A_F).norm(), 1e-13 * state.A_F.norm());
  EXPECT_LT((single.v_minus_F - state.v_minus_F).norm(), 1e-14);
  const VelocityChange change = ApplyImpulse(box.body, box.X_WB, X_WF, Vector3d(0.1, -0.2, 0.5));
  const VectorXd du = space.response * Vector3d(0.1, -0.2, 0.5);
  EXPECT_LT((du.head(3) - change.dv_W).norm() + (du.tail(3) - change.domega_W).norm(), 1e-13);
  EXPECT_NEAR(KineticEnergy(system, system.u_minus),
              KineticEnergy(box.body, box.X_WB.linear(), box.v_WB, box.omega_WB), 1e-14);
  EXPECT_NEAR(0.5 * space.w_minus.squaredNorm(), KineticEnergy(system, system.u_minus), 1e-14);
}

// Shen and Townsend 1998, example 1: Poisson's law with the impulse, velocities and energy
// recomputed to more digits than printed; the case digit says what slip does.
struct PendulumRow {
  double e, mu_s, mu, J_n, v_t, v_n, change;
  int digit;
};
constexpr PendulumRow kPendulum[] = {{0.5, 0.25, 0.2, 0.9193, 0.04186, 0.10955, -0.1063, 4},
                                     {0.5, 0.5, 0.4, 0.7464, 0.01900, 0.09178, -0.1213, 4},
                                     {0.3, 0.5, 0.4, 0.6469, 0.00092, 0.07847, -0.1294, 4},
                                     {0.7, 0.51, 0.5, 0.7733, 0.01893, 0.09228, -0.1192, 4},
                                     {0.5, 0, 0, 1.1964, 0.07234, 0.13420, -0.0803, 4},
                                     {0.2, 0.5, 0.4, 0.5971, -0.03722, 0.05368, -0.1324, 0},
                                     {0.7, 0.63, 0.5, 0.7733, 0, 0.08048, -0.1194, 3}};

TEST(System, DoublePendulumOfShenAndTownsend1998) {
  for (const PendulumRow& row : kPendulum) {
    SCOPED_TRACE(::testing::Message() << "e " << row.e << " mu_s " << row.mu_s);
    const ImpactSystem system = DoublePendulum({});
    const ContactSpace space = ReduceToContacts(system);
    const ContactState contact = SingleContact(space, space.v_minus, 0);
    const ImpactModel model{{row.e, row.mu, row.mu_s}, RestitutionLaw::kPoisson};
    const ImpactOutcome outcome = Solve(contact, model);
    EXPECT_TRUE(Certify(contact, model, outcome).ok);
    EXPECT_NEAR(outcome.J_F.z(), row.J_n, 0.6e-4);
    EXPECT_NEAR(outcome.v_plus_F.x(), row.v_t, 0.6e-5);
    EXPECT_NEAR(outcome.v_plus_F.z(), row.v_n, 0.6e-5);
    EXPECT_EQ(outcome.path_case.digit == 0, row.digit == 0);
    EXPECT_EQ(outcome.path_case.digit % 2, row.digit % 2);
    const VectorXd u =
        system.u_minus + space.response * Eigen::Vector2d(outcome.J_F.x(), outcome.J_F.z());
    EXPECT_NEAR(KineticEnergy(system, u) - KineticEnergy(system, system.u_minus), row.change,
                0.6e-4);
    EXPECT_LT((system.joints * u).norm(), 1e-14);  // the pins hold after the impact
  }
}

// Stick with Newton's law, the conventional result, gains 0.59 J in the last row: Shen and Townsend
// 1998, section 6.1.
TEST(System, NewtonsLawWithStickingGainsEnergy) {
  const ImpactSystem system = DoublePendulum({});
  const ContactSpace space = ReduceToContacts(system);
  const VectorXd wanted = Eigen::Vector2d(0, -0.7 * space.v_minus[1]) - space.v_minus;
  const VectorXd J = space.A.ldlt().solve(wanted), u = system.u_minus + space.response * J;
  EXPECT_NEAR(KineticEnergy(system, u) - KineticEnergy(system, system.u_minus), 0.587, 1e-3);
}

// Shen and Townsend 1998, example 2: two spheres of equal mass, impulses for unit mass; x along the
// line of centres, n points into ball 2.
TEST(System, TwoSpheresOfShenAndTownsend1998) {
  const Eigen::Matrix3d I = Eigen::Matrix3d::Identity() * 0.4 * 16;
  SystemBody one{MakePoints({Vector3d::UnitX()}, 1, I, true)}, two = one;
  one.X_WB = PlanarPose(-4, 0, 0);
  two.X_WB = PlanarPose(4, 0, 0);
  // v1 = 30 at 60 degrees from the line of centres: 15 i + 25.98 j; w1 = -11 about k, which is out
  // of the plane (x, j).
  one.v_WB = Vector3d(15, 0, 30 * std::sqrt(0.75));
  one.omega_WB = Vector3d(0, 11, 0);  // theta_dot = -11
  const ContactProperties contact{"ball", {.e = 0.8, .mu_k = 0.3, .mu_s = 0.3}};
  const ImpactSystem system = MakeBodySystem(
      {one, two}, {}, {{contact, 1, 0, FrameAt(Vector3d::Zero(), Vector3d::UnitX(), true)}});
  const ContactSpace space = ReduceToContacts(system);
  const ContactState state = SingleContact(space, space.v_minus, 0);
  EXPECT_NEAR(state.v_minus_F.z(), -15, 1e-12);
  const ImpactOutcome outcome = Solve(state, {{0.8, 0.3, 0.3}, RestitutionLaw::kPoisson});
  EXPECT_NEAR(outcome.J_F.z(), 13.5, 1e-9);
  const VectorXd u =
      system.u_minus + space.response * Eigen::Vector2d(outcome.J_F.x(), outcome.J_F.z());
  EXPECT_NEAR(u[0], 1.5, 1e-9);
  EXPECT_NEAR(u[3], 13.5, 1e-9);
  EXPECT_NEAR(u[1], 28.555, 0.6e-3);
  EXPECT_NEAR(u[4], -2.5742, 0.6e-4);
  EXPECT_NEAR(u[2], -9.391, 0.6e-3);
  EXPECT_NEAR(u[5], 1.6089, 0.6e-4);
  EXPECT_NEAR(std::abs(outcome.J_F.x()), 2.5742, 0.6e-4);
  // Stages: compression ends at 7.5, slip stops at 8.5806 and does not begin again.
  EXPECT_EQ(outcome.path[1].event, PathEvent::kCompressionEnds);
  EXPECT_NEAR(outcome.path[1].J_F.z(), 7.5, 1e-9);
  EXPECT_EQ(outcome.path[2].event, PathEvent::kSlipStops);
  EXPECT_NEAR(outcome.path[2].J_F.z(), 8.5806, 0.6e-4);
  EXPECT_EQ(outcome.path_case.digit, 3);
}

TEST(System, RefusesWhatIsNoImpactSystem) {
  const auto message = [](const ImpactSystem& system) -> std::string {
    try {
      CheckSystem(system);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "";
  };
  const ImpactSystem good = DoublePendulum({});
  EXPECT_EQ(message(good), "");
  ImpactSystem bad = good;
  bad.M(0, 0) = -1;
  EXPECT_EQ(message(bad),
            "system: M: found a matrix that is not positive definite, allowed a symmetric positive "
            "definite matrix");
  bad = good;
  bad.M(0, 1) = 1;
  EXPECT_NE(message(bad).find("unsymmetric"), std::string::npos);
  bad = good;
  bad.rows.conservativeResize(1, Eigen::NoChange);
  EXPECT_EQ(message(bad),
            "system: rows: found 1 x 6, allowed 2 x 6 (width times contacts, velocities)");
  bad = good;
  bad.u_minus[0] += 0.1;
  EXPECT_NE(message(bad).find("the joints hold before the impact"), std::string::npos);
  bad = good;
  bad.contacts[0].mu_k = 0.3;
  EXPECT_EQ(message(bad), "system: contact 0: mu_s: found 0, allowed at least mu_k");
  bad = good;
  bad.contacts[0].e = 1.2;
  EXPECT_NE(message(bad).find("allowed 0 to 1"), std::string::npos);
  bad = good;
  bad.u_minus[2] = std::nan("");
  EXPECT_NE(message(bad).find("finite"), std::string::npos);
  EXPECT_THROW(MakeBodySystem({}, {}, {}), ConfigError);
  EXPECT_THROW(MakeBallChain({1, 1}, {1}, {{}}), ConfigError);
  EXPECT_THROW(MakeBodySystem({{MakeBall(1, 1)}}, {}, {{{}, 0, 3}}), ConfigError);
}

TEST(System, CornersAndRedundancy) {
  // Distances in a rigid body leave 3 relations between the nine velocities of three corners, 6 for
  // four (Rodriguez 2014, erratum E7).
  const SystemBody block{MakeBox(Vector3d(0.3, 0.2, 0.1), 2.5), Eigen::Isometry3d::Identity(),
                         -Vector3d::UnitZ(), Vector3d::Zero()};
  const auto corner = [](int i) {
    return Vector3d(i & 1 ? 0.15 : -0.15, i & 2 ? 0.1 : -0.1, -0.05);
  };
  const auto nullity = [](const ImpactSystem& system) {
    return system.rows.rows() - system.rows.colPivHouseholderQr().rank();
  };
  EXPECT_EQ(nullity(MakeFreeBody(block, {corner(0), corner(1), corner(2)}, Vector3d::UnitZ(), {})),
            3);
  const ImpactSystem four =
      MakeFreeBody(block, {corner(0), corner(1), corner(2), corner(3)}, Vector3d::UnitZ(), {});
  EXPECT_EQ(nullity(four), 6);
  EXPECT_EQ(NormalRank(ReduceToContacts(four)), 3);
  EXPECT_EQ(nullity(MakeSphereInCorner(0.5, 1, -Vector3d::Ones(), Vector3d::Zero(), {})), 3);
  EXPECT_TRUE(CanSeparate(ReduceToContacts(four)));
  EXPECT_TRUE(CanSeparate(ReduceToContacts(MakeDiscInCorner(0.5, 1, 8, -4.43, 0, {}))));
  // Between two walls nothing lifts both contacts.
  const SystemBody ball{MakeBall(1, 1, true), Eigen::Isometry3d::Identity(), Vector3d(1, 0, 0),
                        Vector3d::Zero()};
  const Vector3d x = Vector3d::UnitX();
  EXPECT_FALSE(CanSeparate(ReduceToContacts(MakeBodySystem(
      {ball}, {},
      {{{}, 0, kGround, FrameAt(x, -x, true)}, {{}, 0, kGround, FrameAt(-x, x, true)}}))));
}

}  // namespace
}  // namespace impactlab
