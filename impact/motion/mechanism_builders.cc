#include "impact/motion/mechanism_builders.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "impact/multi/sphere_pair.h"

namespace impactlab {
namespace {

using Eigen::Index;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;

[[noreturn]] void FailBuilder(const std::string& key, const std::string& found,
                              const std::string& allowed) {
  throw ConfigError(fmt::format("mechanism: {}: found {}, allowed {}", key, found, allowed));
}

void CheckPositive(const char* key, double value) {
  if (!(value > 0) || !std::isfinite(value)) FailBuilder(key, fmt::format("{}", value), "above 0");
}

void CheckNumber(const char* key, double value) {
  if (!std::isfinite(value)) FailBuilder(key, fmt::format("{}", value), "a finite number");
}

MovingBody Start(const Body& body, const Eigen::Isometry3d& X_WB, const Vector3d& v_W,
                 const Vector3d& omega_W) {
  MovingBody out;
  out.start = {body, X_WB, v_W, omega_W};
  return out;
}

Eigen::Isometry3d PlacedAt(const Vector3d& p) {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.translation() = p;
  return X;
}

MovingPlane Still(const char* name, const Vector3d& normal) {
  MovingPlane plane;
  plane.name = name;
  plane.plane.normal = normal;
  return plane;
}

// One body and planes it meets with the same properties.
BodyMechanism Alone(const char* name, const MovingBody& body,
                    const std::vector<MovingPlane>& planes, const ContactProperties& properties,
                    double gravity) {
  CheckNumber("gravity", gravity);
  BodyMechanism made =
      MakeBodyMechanism({body}, {}, planes, EveryBodyOnEveryPlane(1, planes.size(), properties),
                        -gravity * Vector3d::UnitZ());
  made.mechanism.name = name;
  return made;
}

void RatesAreVelocities(const MechanismState& state, VectorXd& dq) { dq = state.u; }

// Sines and cosines of the pendulum's rods times their lengths.
struct PendulumArms {
  double s1, c1, s2, c2;
  PendulumArms(const BeltPendulum& p, double theta, double phi)
      : s1(p.l1 * std::sin(theta)),
        c1(p.l1 * std::cos(theta)),
        s2(p.l2 * std::sin(phi)),
        c2(p.l2 * std::cos(phi)) {}
};

void PendulumTerms(const BeltPendulum& p, const MechanismState& state, MechanismTerms& out) {
  const PendulumArms a(p, state.q[0], state.q[1]);
  const double coupling = p.m2 * (a.c1 * a.c2 + a.s1 * a.s2);  // m2 l1 l2 cos(theta - phi)
  const double turning = p.m2 * (a.s1 * a.c2 - a.c1 * a.s2);   // m2 l1 l2 sin(theta - phi)
  const double theta_dot = state.u[0], phi_dot = state.u[1];
  out.M.resize(2, 2);
  out.M << (p.m1 + p.m2) * p.l1 * p.l1, coupling, coupling, p.m2 * p.l2 * p.l2;
  out.force.resize(2);
  out.force << p.torque - (p.m1 + p.m2) * p.gravity * a.s1 - turning * phi_dot * phi_dot,
      turning * theta_dot * theta_dot - p.m2 * p.gravity * a.s2;
  out.joint_rows.resize(0, 2);
  out.joint_bias.resize(0);
  out.joint_error.resize(0);
}

void PendulumContact(const BeltPendulum& p, double wall, const MechanismState& state,
                     ContactTerms& out) {
  const PendulumArms a(p, state.q[0], state.q[1]);
  const double w1 = state.u[0] * state.u[0], w2 = state.u[1] * state.u[1];
  out.gap = a.s1 + a.s2 + wall;
  out.rows.resize(2, 2);
  out.rows << a.s1, a.s2, a.c1, a.c2;
  out.v_surface = Vector2d(p.belt, 0);
  out.bias = Vector2d(a.c1 * w1 + a.c2 * w2, -a.s1 * w1 - a.s2 * w2);
}

// What the functions of a cradle need.
struct CradleModel {
  Cradle cradle;
  std::vector<double> pivots;  // x [m]
  VectorXd inertia;            // about the pivots [kg m^2]

  impact::SphereMotion Ball(const MechanismState& state, int k) const {
    const double L = cradle.length, s = std::sin(state.q[k]), c = std::cos(state.q[k]),
                 rate = state.u[k];
    return {{pivots[static_cast<std::size_t>(k)] + L * s, 0, -L * c},
            Vector3d(L * c, 0, L * s) * rate,
            Vector3d(-L * s, 0, L * c) * (rate * rate),
            {0, -rate, 0},
            cradle.radius};
  }

  void Contact(const MechanismState& state, int k, ContactTerms& out) const {
    const impact::SphereMotion ball = Ball(state, k + 1), other = Ball(state, k);
    const impact::SphereContact contact = impact::ContactOfSpheres(ball, other, true);
    const Vector3d n = contact.R_WF.col(2);
    out.gap = contact.gap;
    out.rows.setZero(2, state.u.size());
    out.v_surface.setZero(2);
    out.bias.resize(2);
    // Levers of the contact points about their pivots; a ball turns about -W_y.
    const Vector3d lever =
        ball.centre - ball.radius * n - Vector3d(pivots[static_cast<std::size_t>(k) + 1], 0, 0);
    const Vector3d other_lever =
        other.centre + other.radius * n - Vector3d(pivots[static_cast<std::size_t>(k)], 0, 0);
    for (Index row = 0; row < 2; ++row) {
      const Vector3d axis = contact.R_WF.col(2 * row);
      out.rows(row, k + 1) = -lever.cross(axis).y();
      out.rows(row, k) = other_lever.cross(axis).y();
      out.bias[row] = contact.bias_F[2 * row];
    }
  }
};

CradleModel MakeModel(const Cradle& cradle) {
  const std::size_t n = cradle.masses.size();
  if (n < 2) FailBuilder("masses", fmt::format("{} balls", n), "at least 2");
  const auto sized = [](const char* key, std::size_t found, std::size_t wanted) {
    if (found != wanted) FailBuilder(key, fmt::format("{} values", found), std::to_string(wanted));
  };
  sized("angles", cradle.angles.size(), n);
  if (!cradle.rates.empty()) sized("rates", cradle.rates.size(), n);
  if (!cradle.spaces.empty()) sized("spaces", cradle.spaces.size(), n - 1);
  CheckPositive("length", cradle.length);
  CheckPositive("radius", cradle.radius);
  CheckNumber("gravity", cradle.gravity);
  CradleModel model{cradle, {0}, VectorXd(n)};
  for (std::size_t i = 0; i < n; ++i) {
    CheckPositive("masses", cradle.masses[i]);
    model.inertia[static_cast<Eigen::Index>(i)] =
        cradle.masses[i] * (cradle.length * cradle.length + 0.4 * cradle.radius * cradle.radius);
    if (i > 0)
      model.pivots.push_back(model.pivots.back() + 2 * cradle.radius +
                             (cradle.spaces.empty() ? 0 : cradle.spaces[i - 1]));
  }
  return model;
}

}  // namespace

BodyMechanism MakeBouncingBall(double e, double height, double gravity, double radius) {
  ContactProperties properties;
  properties.e = e;
  CheckNumber("height", height);
  const MovingBody ball = Start(MakeBall(radius, 1, true), PlacedAt({0, 0, radius + height}),
                                Vector3d::Zero(), Vector3d::Zero());
  return Alone("bouncing ball", ball, {Still("floor", Vector3d::UnitZ())}, properties, gravity);
}

BodyMechanism MakeRodOnFloor(const RodOnFloor& rod) {
  CheckPositive("length", rod.length);
  CheckPositive("mass", rod.mass);
  // Across a slender rod only the inertia about W_y counts; the two others close the triangle
  // inequality.
  const double h = 0.5 * rod.length;
  Body body = MakePoints({{h, 0, 0}, {-h, 0, 0}}, rod.mass,
                         Vector3d(1, 1, 1).asDiagonal() * (rod.mass * h * h / 3), true);
  body.name = "rod";
  MovingPlane floor = Still("floor", Vector3d::UnitZ());
  floor.amplitude = rod.amplitude;
  floor.frequency = rod.frequency;
  floor.phase = rod.phase;
  ContactProperties properties;
  properties.mu_k = properties.mu_s = rod.mu;
  properties.e = rod.e;
  const MovingBody start = Start(body, PlanarPose(rod.pose.x(), rod.pose.y(), rod.pose.z()),
                                 {rod.rates.x(), 0, rod.rates.y()}, {0, -rod.rates.z(), 0});
  return Alone("rod on floor", start, {floor}, properties, rod.gravity);
}

StartedMechanism MakeBeltPendulum(const BeltPendulum& p) {
  CheckPositive("l1", p.l1);
  CheckPositive("l2", p.l2);
  CheckPositive("m1", p.m1);
  CheckPositive("m2", p.m2);
  for (const double value : {p.torque, p.belt, p.gravity, p.wall.value_or(0)})
    CheckNumber("torque, belt, gravity, wall", value);
  const PendulumArms start(p, p.theta, p.phi);
  const double wall = p.wall.value_or(-(start.s1 + start.s2));
  StartedMechanism made;
  Mechanism& m = made.mechanism;
  m.name = "pendulum";
  m.n_q = m.n_u = 2;
  m.width = 2;
  m.contacts = {p.properties};
  m.contacts[0].name = p.belt == 0 ? "tip on wall" : "tip on belt";
  m.q_names = {"theta_rad", "phi_rad"};
  m.u_names = {"theta_dot_rad_per_s", "phi_dot_rad_per_s"};
  m.passive = p.belt == 0;
  m.rates = RatesAreVelocities;
  m.terms = [p](const MechanismState& state, MechanismTerms& out) { PendulumTerms(p, state, out); };
  m.contact = [p, wall](const MechanismState& state, int, ContactTerms& out) {
    PendulumContact(p, wall, state, out);
  };
  m.potential = [p](const MechanismState& state) {
    const PendulumArms a(p, state.q[0], state.q[1]);
    return -(p.m1 + p.m2) * p.gravity * a.c1 - p.m2 * p.gravity * a.c2 - p.torque * state.q[0];
  };
  m.frequency = [p](const MechanismState& state) {
    return std::max({std::abs(state.u[0]), std::abs(state.u[1]),
                     std::sqrt(std::abs(p.gravity) / std::min(p.l1, p.l2))});
  };
  made.start = {0, Vector2d(p.theta, p.phi), Vector2d(p.theta_dot, p.phi_dot)};
  CheckStart(m, made.start);
  return made;
}

HoldingForces HoldPendulum(const BeltPendulum& p, double friction_ratio) {
  const double s1 = std::sin(p.theta), c1 = std::cos(p.theta), s2 = std::sin(p.phi),
               c2 = std::cos(p.phi);
  const double normal = p.m2 * p.gravity * s2 / (s2 * friction_ratio + c2);
  return {(p.m1 + p.m2) * p.gravity * p.l1 * s1 - normal * p.l1 * (s1 * friction_ratio + c1),
          normal};
}

StartedMechanism MakeCradleMechanism(const Cradle& cradle) {
  const CradleModel model = MakeModel(cradle);
  const auto n = static_cast<Eigen::Index>(cradle.masses.size());
  StartedMechanism made;
  Mechanism& m = made.mechanism;
  m.name = "cradle";
  m.n_q = m.n_u = static_cast<int>(n);
  m.width = 2;
  for (Eigen::Index k = 1; k <= n; ++k) {
    m.q_names.push_back(fmt::format("angle_{}_rad", k));
    m.u_names.push_back(fmt::format("rate_{}_rad_per_s", k));
    if (k == n) break;
    m.contacts.push_back(cradle.properties);
    m.contacts.back().name = fmt::format("{}-{}", k, k + 1);
  }
  m.rates = RatesAreVelocities;
  m.terms = [model](const MechanismState& state, MechanismTerms& out) {
    const Eigen::Index size = model.inertia.size();
    out.M = model.inertia.asDiagonal();
    out.force.resize(size);
    for (Eigen::Index k = 0; k < size; ++k)
      out.force[k] = -model.cradle.masses[static_cast<std::size_t>(k)] * model.cradle.gravity *
                     model.cradle.length * std::sin(state.q[k]);
    out.joint_rows.resize(0, size);
    out.joint_bias.resize(0);
    out.joint_error.resize(0);
  };
  m.contact = [model](const MechanismState& state, int k, ContactTerms& out) {
    model.Contact(state, k, out);
  };
  m.potential = [model](const MechanismState& state) {
    double sum = 0;
    for (Eigen::Index k = 0; k < model.inertia.size(); ++k)
      sum -= model.cradle.masses[static_cast<std::size_t>(k)] * model.cradle.gravity *
             model.cradle.length * std::cos(state.q[k]);
    return sum;
  };
  const double swing = std::sqrt(std::abs(cradle.gravity) / cradle.length);
  m.frequency = [swing](const MechanismState& state) {
    return std::max(swing, state.u.cwiseAbs().maxCoeff());
  };
  const auto vector = [n](const std::vector<double>& v) {
    return VectorXd(Eigen::Map<const VectorXd>(v.data(), n));
  };
  made.start = {0, vector(cradle.angles),
                cradle.rates.empty() ? VectorXd(VectorXd::Zero(n)) : vector(cradle.rates)};
  for (Eigen::Index k = 1; k < n; ++k) {
    if (!(model.Ball(made.start, static_cast<int>(k)).centre.x() >
          model.Ball(made.start, static_cast<int>(k) - 1).centre.x()))
      FailBuilder("angles", fmt::format("ball {} beyond ball {}", k, k + 1),
                  "balls in the order of their strings");
  }
  CheckStart(m, made.start);
  return made;
}

BodyMechanism MakeDiscInCornerMechanism(double radius, double mass, const Vector2d& gaps,
                                        const Vector2d& v, double theta_dot,
                                        const ContactProperties& properties, double gravity) {
  const MovingBody disc =
      Start(MakeDisc(radius, mass), PlacedAt({-radius - gaps.y(), 0, radius + gaps.x()}),
            {v.x(), 0, v.y()}, {0, -theta_dot, 0});
  return Alone("disc in corner", disc,
               {Still("floor", Vector3d::UnitZ()), Still("wall", -Vector3d::UnitX())}, properties,
               gravity);
}

BodyMechanism MakeSphereInCornerMechanism(double radius, double mass, const Vector3d& gaps,
                                          const Vector3d& v_W, const Vector3d& omega_W,
                                          const ContactProperties& properties, double gravity) {
  const Vector3d centre(-radius - gaps.y(), -radius - gaps.z(), radius + gaps.x());
  const std::vector<MovingPlane> planes = {Still("floor", Vector3d::UnitZ()),
                                           Still("wall x", -Vector3d::UnitX()),
                                           Still("wall y", -Vector3d::UnitY())};
  return Alone("sphere in corner", Start(MakeBall(radius, mass), PlacedAt(centre), v_W, omega_W),
               planes, properties, gravity);
}

BodyMechanism MakeRockingBlockMechanism(const Vector3d& size, double mass, double tilt, bool planar,
                                        const ContactProperties& properties, double gravity) {
  if (!(tilt >= 0 && tilt < M_PI / 2)) FailBuilder("tilt", fmt::format("{}", tilt), "0 to pi / 2");
  const Body box = MakeBox(size, mass, planar);
  Eigen::Isometry3d X_WB = PlanarPose(0, 0, tilt);
  X_WB.translation() = X_WB.linear() * Vector3d(0.5 * size.x(), 0, 0.5 * size.z());
  return Alone("rocking block", Start(box, X_WB, Vector3d::Zero(), Vector3d::Zero()),
               {Still("floor", Vector3d::UnitZ())}, properties, gravity);
}

}  // namespace impactlab
