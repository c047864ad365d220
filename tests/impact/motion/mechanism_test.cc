// Mechanisms of bodies: every derivative against differences, energy of free motion, and the impact
// system they freeze to.

#include "impact/motion/mechanism.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "data/base/error.h"
#include "impact/motion/mechanism_bodies.h"
#include "tests/impact/motion/mechanism_motion.h"

namespace impactlab {
namespace {

using Eigen::Isometry3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr double kStep = 1e-4;

ContactProperties Steel() {
  ContactProperties p;
  p.mu_k = 0.2;
  p.mu_s = 0.3;
  p.e = 0.6;
  return p;
}

MovingPlane Shaker(const Vector3d& normal, const Vector3d& belt) {
  MovingPlane plane;
  plane.name = "shaker";
  plane.plane = {normal, -3};
  plane.amplitude = 0.02;
  plane.frequency = 37;
  plane.phase = 0.4;
  plane.belt_W = belt;
  return plane;
}

MovingBody At(const Body& body, const Vector3d& p, const Vector3d& v, const Vector3d& omega) {
  MovingBody out;
  out.start.body = body;
  out.start.X_WB.translation() = p;
  out.start.v_WB = v;
  out.start.omega_WB = omega;
  return out;
}

MovingBody Turned(MovingBody body, double angle) {
  const bool planar = body.start.body.planar;
  body.start.X_WB.linear() =
      planar ? PlanarPose(0, 0, angle).linear()
             : Eigen::AngleAxisd(angle, Vector3d(1, -2, 0.5).normalized()).toRotationMatrix();
  return body;
}

BodyMechanism PlanarShapes() {
  std::vector<MovingBody> bodies = {
      Turned(At(MakeRod(1, 0.05, 2, true), {0, 0, 0}, {0.3, 0, -1}, {0, -2, 0}), 0.7),
      Turned(At(MakeBox({0.4, 0, 0.2}, 1, true, 0.03), {2, 0, 0.3}, {1, 0, 0.4}, {0, 3, 0}), -2.1),
      Turned(At(MakeEllipsoid({0.3, 0, 0.1}, 0.5, true), {4, 0, 0.2}, {-1, 0, 0.2}, {0, 4, 0}),
             1.2),
      At(MakeBall(0.2, 0.7, true), {6, 0, 0.2}, {-1, 0, 0.2}, {0, -5, 0})};
  bodies[0].linear_drag = 0.3;
  bodies[1].quadratic_drag = 0.2;
  const std::vector<MovingPlane> planes = {Shaker({0.3, 0, 2}, {2, 0, -0.3}),
                                           MovingPlane{"wall", {{1, 0, 0}, -9}}};
  return MakeBodyMechanism(bodies, {}, planes, EveryBodyOnEveryPlane(4, 2, Steel()));
}

BodyMechanism SpatialShapes() {
  const std::vector<Vector3d> wedge = {{0, 0, 0}, {0.3, 0, 0}, {0, 0.4, 0}, {0, 0, 0.2}};
  const std::vector<MovingBody> bodies = {
      Turned(At(MakeRod(1, 0.05, 2), {0, 0, 0}, {0.3, 0.1, -1}, {1, -2, 0.4}), 0.7),
      Turned(At(MakeBox({0.4, 0.1, 0.2}, 1, false, 0.03), {2, 0, 0.3}, {1, -0.3, 0.4}, {-2, 3, 1}),
             -2.1),
      Turned(At(MakeEllipsoid({0.3, 0.2, 0.1}, 0.5), {4, 0, 0.2}, {-1, 0.5, 0.2}, {2, 4, -3}), 1.2),
      Turned(At(MakePolytope(wedge, 0.6, false, 0.01), {0, 3, 0.2}, {-1, 0, 0.2}, {2, 1, 2}), 0.3),
      Turned(At(MakeBall(0.2, 0.7), {6, 0, 0.2}, {-1, 0, 0.2}, {3, -5, 2}), 0.9)};
  return MakeBodyMechanism(bodies, {}, {Shaker({0.3, -0.2, 2}, {2, 3, 0})},
                           EveryBodyOnEveryPlane(5, 1, Steel()));
}

// Three balls and a body of points, every one against every other.
BodyMechanism MechanismBalls(bool planar) {
  const auto flat = [&](const Vector3d& v) { return planar ? Vector3d(v.x(), 0, v.z()) : v; };
  const auto spin = [&](const Vector3d& v) { return planar ? Vector3d(0, v.y(), 0) : v; };
  std::vector<MovingBody> bodies = {
      At(MakeBall(0.3, 1, planar), {0, 0, 0}, flat({1, 2, 0.5}), spin({1, -4, 2})),
      At(MakeBall(0.2, 0.5, planar), flat({0.5, 0.2, 0.6}), flat({-1, 0.3, 0.2}), spin({-2, 3, 1})),
      At(MakeBall(0.4, 2, planar), flat({-0.7, 0.4, 0.7}), flat({0.5, 0.1, -0.3}),
         spin({0.3, 2, -1})),
      At(MakePoints({{0.2, 0, 0}, {-0.2, 0, 0.1}}, 1, Vector3d(0.02, 0.03, 0.02).asDiagonal(),
                    planar),
         flat({0.1, 0.3, -1}), flat({0.2, -0.7, 1}), spin({1, 1, 1}))};
  std::vector<TouchingPair> pairs;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < i; ++j) pairs.push_back({Steel(), i, -1, j});
  return MakeBodyMechanism(bodies, {}, {}, pairs);
}

// Two rods: a pin on the ground and one between them.
BodyMechanism PlanarPendulum() {
  std::vector<MovingBody> bodies(2);
  const double q[] = {0.5, -0.8}, rate[] = {2, -3};
  Vector3d end = Vector3d::Zero(), v_end = Vector3d::Zero();
  std::vector<SystemJoint> joints;
  for (int i = 0; i < 2; ++i) {
    const Vector3d along(std::sin(q[i]), 0, -std::cos(q[i])),
        across(std::cos(q[i]), 0, std::sin(q[i]));
    bodies[i] = At(
        MakePoints({{0, 0, 0.5}, {0, 0, -0.5}}, 1 + i, Vector3d(0.1, 0.1, 0.1).asDiagonal(), true),
        end + 0.5 * along, v_end + 0.5 * rate[i] * across, {0, -rate[i], 0});
    bodies[i].start.X_WB.linear() = PlanarPose(0, 0, q[i]).linear();
    joints.push_back({i, i - 1, end, Vector3d::Zero()});
    end += along;
    v_end += rate[i] * across;
  }
  return MakeBodyMechanism(bodies, joints, {MovingPlane{"floor", {Vector3d::UnitZ(), -3}}},
                           {{Steel(), 1, 0, -1}});
}

// A bar hinged to the ground, another on a slanting hinge at its end, and a third on a ball joint
// at the end of that.
BodyMechanism SpatialLinkage() {
  const Vector3d axis1(1, 2, 0.5), axis2(0.2, -1, 1);
  const Vector3d joint2(1, 0.1, -0.2), joint3(1.8, 0.4, 0.3);
  const Vector3d w1 = 1.5 * axis1.normalized(), w2 = w1 - 2 * axis2.normalized(), w3(1, -2, 3);
  const Vector3d p[] = {{0.5, 0, 0}, {1.4, 0.2, 0}, {2, 0.7, 0.3}};
  const Vector3d v2 = w1.cross(joint2) + w2.cross(p[1] - joint2);
  const Vector3d v3 = v2 + w2.cross(joint3 - p[1]) + w3.cross(p[2] - joint3);
  const std::vector<MovingBody> bodies = {
      Turned(At(MakeBox({1, 0.1, 0.2}, 1), p[0], w1.cross(p[0]), w1), 0.4),
      Turned(At(MakeBox({0.2, 0.9, 0.1}, 2), p[1], v2, w2), -1.1),
      Turned(At(MakeBox({0.2, 0.3, 0.5}, 0.6), p[2], v3, w3), 2)};
  return MakeBodyMechanism(bodies,
                           {{0, kGround, Vector3d::Zero(), axis1},
                            {1, 0, joint2, axis2},
                            {2, 1, joint3, Vector3d::Zero()}},
                           {MovingPlane{"floor", {Vector3d::UnitZ(), -4}}},
                           EveryBodyOnEveryPlane(3, 1, Steel()));
}

std::vector<BodyMechanism> All() {
  return {PlanarShapes(),        SpatialShapes(),  MechanismBalls(true),
          MechanismBalls(false), PlanarPendulum(), SpatialLinkage()};
}

TEST(Mechanism, GapsAndContactVelocitiesHaveTheRatesThatTheTermsSay) {
  std::mt19937 generator(7);
  for (const BodyMechanism& made : All()) {
    const Mechanism& m = made.mechanism;
    for (int i = 0; i < static_cast<int>(m.contacts.size()); ++i) {
      SCOPED_TRACE(m.contacts[i].name);
      MechanismState state = made.start;
      state.t = 0.3;
      ExpectContactRates(m, state, i, made.contacts[i].plane < 0,
                         3 * RandomVector(m.n_u, generator));
      ContactTerms terms;
      m.contact(state, i, terms);
      // A ball that rolls on a plane at rest has none.
      if (m.contacts[i].name != "ball on wall") {
        EXPECT_GT(terms.bias.norm(), 1e-3);
      }
    }
  }
}

// The body room's own lowest point moves with the material point that touches, in the frame of the
// plane.
TEST(Mechanism, RowsAreVelocitiesOfTheLowestPoint) {
  for (const BodyMechanism& made : {PlanarShapes(), SpatialShapes()}) {
    const Mechanism& m = made.mechanism;
    const MovingPlane& moving = made.planes[0];
    MechanismState state = made.start;
    state.t = 0.3;
    const double angle = moving.frequency * state.t + moving.phase;
    const double length = moving.plane.normal.norm();
    const Plane plane{moving.plane.normal / length,
                      moving.plane.offset / length + moving.amplitude * std::sin(angle)};
    int checked = 0;
    for (int i = 0; i < static_cast<int>(m.contacts.size()); ++i) {
      const ContactOfBodies& c = made.contacts[i];
      if (c.plane != 0) continue;
      const Isometry3d X_WB = made.StateOf(state, c.body).X_WB;
      const PlaneContact lowest = ContactWithPlane(made.bodies[c.body].start.body, X_WB, plane);
      if (lowest.feature >= 0 && lowest.feature != c.feature) continue;
      ++checked;
      SCOPED_TRACE(m.contacts[i].name);
      ContactTerms terms;
      m.contact(state, i, terms);
      EXPECT_NEAR(terms.gap, lowest.gap, 1e-14);
      const Vector3d p_BP = X_WB.inverse() * lowest.p_WP;
      const auto point = [&](double h) {
        return Vector3d(made.StateOf(Advance(m, state, VectorXd::Zero(m.n_u), h), c.body).X_WB *
                        p_BP);
      };
      const Vector3d v_W = (point(kStep) - point(-kStep)) / (2 * kStep);
      const Vector3d surface_W =
          moving.belt_W + moving.amplitude * moving.frequency * std::cos(angle) * plane.normal;
      const Vector3d v_F =
          FrameAt(lowest.p_WP, plane.normal, m.width == 2).linear().transpose() * (v_W - surface_W);
      const VectorXd wanted =
          m.width == 2 ? VectorXd(Eigen::Vector2d(v_F.x(), v_F.z())) : VectorXd(v_F);
      EXPECT_LT((ContactVelocity(m, state, i) - wanted).norm(), 2e-6);
    }
    EXPECT_EQ(checked, static_cast<int>(made.bodies.size()));
  }
}

TEST(Mechanism, JointsHaveTheErrorsRatesAndBiasOfTheirPoints) {
  std::mt19937 generator(3);
  for (const BodyMechanism& made : {PlanarPendulum(), SpatialLinkage()}) {
    const Mechanism& m = made.mechanism;
    MechanismTerms terms, before, after;
    m.terms(made.start, terms);
    EXPECT_EQ(terms.joint_rows.rows(), m.width == 2 ? 4 : 13);
    EXPECT_LT(terms.joint_error.cwiseAbs().maxCoeff(), 1e-15);
    EXPECT_LT((terms.joint_rows * made.start.u).cwiseAbs().maxCoeff(), 1e-14);
    // Off the joints as well.
    MechanismState state = made.start;
    state.u += 0.3 * RandomVector(m.n_u, generator);
    state = Advance(m, state, VectorXd::Zero(m.n_u), 0.05);
    const VectorXd du = RandomVector(m.n_u, generator);
    m.terms(state, terms);
    EXPECT_GT(terms.joint_error.norm(), 1e-3);
    const MechanismState earlier = Advance(m, state, du, -kStep),
                         later = Advance(m, state, du, kStep);
    m.terms(earlier, before);
    m.terms(later, after);
    const VectorXd error_rate = (after.joint_error - before.joint_error) / (2 * kStep),
                   rate = terms.joint_rows * state.u;
    EXPECT_LT((error_rate - rate).cwiseAbs().maxCoeff(), 1e-6);
    const VectorXd change =
        (after.joint_rows * later.u - before.joint_rows * earlier.u) / (2 * kStep);
    EXPECT_LT((change - terms.joint_rows * du - terms.joint_bias).cwiseAbs().maxCoeff(), 1e-5);
  }
}

TEST(Mechanism, FreeMotionKeepsEnergyAndDragTakesWhatItSays) {
  for (const BodyMechanism& made : All()) {
    const Mechanism& m = made.mechanism;
    double drag = 0;
    for (const MovingBody& b : made.bodies) {
      const double v = b.start.v_WB.norm();
      drag -= b.start.body.mass * (b.linear_drag + b.quadratic_drag * v) * v * v;
    }
    EXPECT_NEAR(FreePower(m, made.start), drag, 1e-5);
    EXPECT_GT(KineticEnergy(m, made.start), 0.1);
  }
  EXPECT_FALSE(PlanarShapes().mechanism.passive);
  EXPECT_TRUE(PlanarPendulum().mechanism.passive);
}

TEST(Mechanism, FreezesToTheSystemOfTheSameBodies) {
  for (BodyMechanism made : {PlanarShapes(), SpatialShapes(), PlanarPendulum(), SpatialLinkage(),
                             MechanismBalls(true), MechanismBalls(false)}) {
    const Mechanism& m = made.mechanism;
    std::vector<SystemBody> bodies;
    for (const MovingBody& b : made.bodies) bodies.push_back(b.start);
    std::vector<SystemContact> contacts;
    std::vector<int> touching;
    const bool planar = m.width == 2;
    const MechanismState& state = made.start;
    VectorXd v_surface(0);
    for (int i = 0; i < static_cast<int>(m.contacts.size()); ++i) {
      const ContactOfBodies& c = made.contacts[i];
      if (c.feature != 0 || c.other_feature != 0 || (c.plane == 1)) continue;
      SystemContact contact{m.contacts[i], c.body, c.other, {}};
      const Isometry3d X_WB = bodies[c.body].X_WB;
      if (c.plane >= 0) {
        const Vector3d n = made.planes[c.plane].plane.normal.normalized();
        const Body& body = bodies[c.body].body;
        std::vector<Vector3d> centres = Vertices(body);
        if (centres.size() > 1 && (body.corner_radius > 0 || body.shape == BodyShape::kRod))
          continue;
        const Vector3d lever =
            centres.empty()
                ? Vector3d(X_WB.linear() * SupportLever(body, X_WB.linear().transpose() * n))
                : Vector3d(X_WB.linear() * centres[0]);
        contact.other = kGround;
        contact.X_WF = FrameAt(X_WB.translation() + lever, n, planar);
      } else {
        if (bodies[c.body].body.shape != BodyShape::kBall) continue;
        const Vector3d line = X_WB.translation() - bodies[c.other].X_WB.translation();
        if (std::abs(line.norm() - bodies[c.body].body.radius - bodies[c.other].body.radius) > 0.5)
          continue;
        contact.X_WF = FrameAt(X_WB.translation() - bodies[c.body].body.radius * line.normalized(),
                               line, planar);
      }
      contacts.push_back(contact);
      touching.push_back(i);
    }
    ASSERT_FALSE(touching.empty());
    std::vector<SystemJoint> joints;
    if (bodies.size() == 2)
      joints = {{0, kGround, Vector3d::Zero(), {}},
                {1, 0, Vector3d(std::sin(0.5), 0, -std::cos(0.5)), {}}};
    if (bodies.size() == 3)
      joints = {{0, kGround, Vector3d::Zero(), Vector3d(1, 2, 0.5)},
                {1, 0, Vector3d(1, 0.1, -0.2), Vector3d(0.2, -1, 1)},
                {2, 1, Vector3d(1.8, 0.4, 0.3), Vector3d::Zero()}};
    const ImpactSystem wanted = MakeBodySystem(bodies, joints, contacts);
    VectorXd shift;
    const ImpactSystem found = FreezeForImpact(m, state, touching, shift);
    EXPECT_EQ(found.width, wanted.width);
    EXPECT_LT((found.M - wanted.M).cwiseAbs().maxCoeff(), 1e-15);
    ASSERT_EQ(found.joints.rows(), wanted.joints.rows());
    EXPECT_LT((found.joints - wanted.joints).norm(), 1e-14);
    for (std::size_t i = 0; i < touching.size(); ++i) {
      SCOPED_TRACE(m.contacts[touching[i]].name);
      const Eigen::Index at = static_cast<Eigen::Index>(i) * m.width;
      // Balls that do not touch yet have each its own contact point, which counts across the line
      // of centres.
      const Eigen::Index same = made.contacts[touching[i]].plane >= 0 ? m.width : 1;
      const MatrixXd difference = found.rows.middleRows(at + m.width - same, same) -
                                  wanted.rows.middleRows(at + m.width - same, same);
      EXPECT_LT(difference.cwiseAbs().maxCoeff(), 1e-14);
      ContactTerms terms;
      m.contact(state, touching[i], terms);
      EXPECT_LT((terms.rows * shift - terms.v_surface).norm(), 1e-12);
    }
    EXPECT_LT((found.u_minus + shift - wanted.u_minus).cwiseAbs().maxCoeff(), 1e-13);
    CheckSystem(found);
  }
}

// A drift of the joints that an integration leaves does not make the impact refuse the state.
TEST(Mechanism, FreezingTakesAwayWhatDriftLeftInTheJoints) {
  const BodyMechanism made = PlanarPendulum();
  MechanismState state = made.start;
  state.u[0] += 1e-7;
  VectorXd shift;
  const ImpactSystem system = FreezeForImpact(made.mechanism, state, {1}, shift);
  EXPECT_NO_THROW(CheckSystem(system));
  EXPECT_LT((system.u_minus - made.start.u).norm(), 3e-7);
  EXPECT_EQ(shift.norm(), 0);
}

TEST(Mechanism, ABodyThatStartsLaterStandsStillUntouched) {
  MovingBody late = At(MakeBall(0.1, 1, true), {0, 0, 0.1}, {1, 0, 0}, {0, 0, 0});
  late.start_t = 2;
  const BodyMechanism made =
      MakeBodyMechanism({late, At(MakeBall(0.1, 1, true), {1, 0, 2}, {0, 0, 0}, {0, 0, 0})}, {},
                        {MovingPlane{}}, EveryBodyOnEveryPlane(2, 1, Steel()));
  EXPECT_EQ(made.mechanism.breaks, std::vector<double>{2});
  EXPECT_EQ(made.mechanism.contacts[0].name, "ball on floor");
  EXPECT_EQ(made.mechanism.contacts[1].name, "ball 2 on floor");
  for (const double t : {1.0, 2.0}) {
    MechanismState state = made.start;
    state.t = t;
    const bool free = t >= 2;
    VectorXd dq;
    made.mechanism.rates(state, dq);
    EXPECT_EQ(dq[0], free ? 1 : 0);
    EXPECT_EQ(FreeAcceleration(made.mechanism, state)[1], free ? -9.80665 : 0);
    EXPECT_EQ(FreeAcceleration(made.mechanism, state)[4], -9.80665);
    ContactTerms terms;
    made.mechanism.contact(state, 0, terms);
    EXPECT_NEAR(terms.gap, free ? 0 : 1e6, 1e-15);
    EXPECT_EQ(made.StateOf(state, 0).v_WB.x(), free ? 1 : 0);
  }
}

TEST(Mechanism, SpinVibrationAndTurningLinesSetTheFrequency) {
  const BodyMechanism shapes = PlanarShapes(), balls = MechanismBalls(true);
  EXPECT_EQ(shapes.mechanism.frequency(shapes.start), 37);
  EXPECT_GE(balls.mechanism.frequency(balls.start), 4);
  MechanismState state = shapes.start;
  state.u[2] = -50;
  EXPECT_EQ(shapes.mechanism.frequency(state), 50);
}

TEST(Mechanism, RefusesWhatCannotBe) {
  const MovingBody ball = At(MakeBall(0.1, 1, true), {0, 0, 1}, {0, 0, 0}, {0, 0, 0});
  const MovingPlane floor;
  const auto refused =
      [&](const std::vector<MovingBody>& bodies, const std::vector<SystemJoint>& joints,
          const std::vector<MovingPlane>& planes, const std::vector<TouchingPair>& pairs) {
        try {
          MakeBodyMechanism(bodies, joints, planes, pairs);
        } catch (const ConfigError& fault) {
          return std::string(fault.what());
        }
        return std::string("accepted");
      };
  EXPECT_EQ(refused({}, {}, {}, {}), "mechanism: bodies: found none, allowed at least one");
  EXPECT_EQ(refused({ball}, {}, {floor}, {{Steel(), 0, 1, -1}}),
            "mechanism: pairs: plane: found 1, allowed 0 to 0");
  EXPECT_EQ(refused({ball}, {}, {floor}, {{Steel(), 0, -1, 0}}),
            "mechanism: pairs: other: found 0, allowed another body");
  EXPECT_EQ(refused({ball, At(MakeBox({1, 0, 1}, 1, true), {3, 0, 3}, {0, 0, 0}, {0, 0, 0})}, {},
                    {}, {{Steel(), 0, -1, 1}}),
            "mechanism: pairs: box: found a box, allowed balls and points, whose contacts with "
            "each other are followed");
  MovingPlane belt;
  belt.belt_W = Vector3d(1, 0, 0.5);
  EXPECT_EQ(refused({ball}, {}, {belt}, {}),
            "mechanism: floor: belt_W: found (1, 0, 0.5), allowed a velocity along the plane");
  MovingBody deep = ball;
  deep.start.X_WB.translation().z() = 0.0999;
  EXPECT_EQ(refused({deep}, {}, {floor}, {{Steel(), 0, 0, -1}}),
            "mechanism: ball on floor: found a depth of 0.0001 m at the start, allowed a gap of at "
            "least 0");
  MovingBody loose = ball;
  loose.start.v_WB.x() = 1;
  EXPECT_EQ(refused({loose}, {{0, kGround, Vector3d(0, 0, 2), Vector3d::Zero()}}, {}, {}),
            "mechanism 'ball': u at joint row 0: found a velocity of 1, allowed 0: the joints hold "
            "at the start");
  MovingBody late = ball;
  late.start_t = 1;
  EXPECT_EQ(
      refused({late}, {{0, kGround, Vector3d(0, 0, 2), Vector3d::Zero()}}, {}, {}),
      "mechanism: joints: ball: found a body that starts later, allowed bodies that start at 0");
  ContactProperties bouncy = Steel();
  bouncy.e = 1.5;
  EXPECT_EQ(refused({ball}, {}, {floor}, {{bouncy, 0, 0, -1}}),
            "system: contact ball on floor: e: found 1.5, allowed 0 to 1");
  // A body pinned to the ground above a floor that vibrates: no motion follows the floor.
  MovingPlane shaker;
  shaker.amplitude = 0.01;
  shaker.frequency = 10;
  const BodyMechanism stuck = MakeBodyMechanism(
      {ball}, {{0, kGround, Vector3d(0, 0, 1), Vector3d::Zero()}}, {shaker}, {{Steel(), 0, 0, -1}});
  VectorXd shift;
  EXPECT_THROW(FreezeForImpact(stuck.mechanism, stuck.start, {0}, shift), ConfigError);
  MechanismState short_state = stuck.start;
  short_state.u.resize(2);
  EXPECT_THROW(CheckMechanism(stuck.mechanism, short_state), ConfigError);
}

}  // namespace
}  // namespace impactlab
