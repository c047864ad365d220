// Mechanisms of the literature (impact/motion/mechanism_builders.h), by their names.

#include "pipelines/simulate/detail/mechanisms.h"

#include <fmt/format.h>

#include <cmath>

#include "impact/motion/mechanism_builders.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"
#include "pipelines/simulate/detail/system_bodies.h"

namespace impactlab::pipelines {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

// Gravity of a mechanism whose ground is level [m/s^2].
double DownwardGravity(const YamlNode& root) {
  FlightOptions flight;
  Keys keys(root);
  VisitFlight(keys, flight, true);
  const Vector3d& g = flight.gravity_W;
  if (root.Has("drag_per_m"))
    throw root.Fault("drag_per_m", "a number",
                     "drag of bodies only; a mechanism of the literature has none");
  if (g.x() != 0 || g.y() != 0)
    throw root.Fault("gravity_m_per_s2", fmt::format("[{}, {}, {}]", g.x(), g.y(), g.z()),
                     "[0, 0, z]: the ground of the mechanism is level");
  return -g.z();
}

// Keys that several mechanisms have, each named once.
void VisitRadius(Keys& keys, double& radius, Need need = Need::kRequired) {
  keys.Number("radius_m", radius, Positive(),
              "of balls, disc or sphere. Default: required; of bouncing_ball 0.1", need);
}

void VisitMass(Keys& keys, double& mass) {
  keys.Number("mass_kg", mass, Positive(), "of rod, disc, sphere or block");
}

void VisitMasses(Keys& keys, std::vector<double>& masses, int n) {
  keys.Vector("masses_kg", masses, n, Positive(),
              "of point masses or balls Allowed: list of numbers above 0", Need::kRequired);
}

void VisitLength(Keys& keys, double& length, Need need) {
  keys.Number(
      "length_m", length, Positive(),
      "rod_on_floor: of the rod; cradle: of the strings, to the centres. Default: 2; of the "
      "cradle required",
      need);
}

void VisitTheta(Keys& keys, double& theta, Need need) {
  keys.Number("theta_rad", theta, {},
              "rod_on_floor: its angle; belt_pendulum: of the first rod, from the downward "
              "vertical. Default: 0",
              need);
}

void VisitThetaDot(Keys& keys, double& theta_dot) {
  keys.Number("theta_dot_rad_per_s", theta_dot, {}, "rate of theta_rad; of the disc its spin");
}

void VisitVelocity(Keys& keys, Vector3d& v, bool planar) {
  VisitPoint(keys, "v_m_per_s", v, planar, {}, "of rod, disc or sphere");
}

void VisitGaps(Keys& keys, Vector3d& gaps, bool planar) {
  VisitPoint(keys, "gaps_m", gaps, planar, {}, "disc, sphere: to floor and walls");
}

Vector2d InPlane(const Vector3d& v) { return {v.x(), v.z()}; }

// The part's B_x along the direction `angle` from the downward vertical.
Isometry3d Hanging(const Vector3d& from, double angle) {
  Isometry3d X = PlanarPose(0, 0, angle - M_PI / 2);
  X.translation() = from;
  return X;
}

void TakePendulum(const YamlNode& node, const BeltPendulum& p, Scenario& out) {
  StartedMechanism made;
  try {
    made = MakeBeltPendulum(p);
  } catch (const ConfigError& fault) {
    throw ConfigError(fmt::format("{}: {}", node.Where(), fault.what()));
  }
  out.mechanism = made.mechanism;
  out.start = made.start;
  out.poses_in_columns = true;
  out.parts = {DrawArm(p.l1, 0.04 * p.l1, "first rod"), DrawArm(p.l2, 0.04 * p.l2, "second rod")};
  const double wall = p.wall.value_or(-p.l1 * std::sin(p.theta) - p.l2 * std::sin(p.phi));
  out.planes = {{p.belt == 0 ? "wall" : "belt", Vector3d::UnitX(), -wall, 0, 0, 0}};
  out.poses = [l1 = p.l1](const MechanismState& state) {
    const Vector3d elbow(l1 * std::sin(state.q[0]), 0, -l1 * std::cos(state.q[0]));
    return std::vector<Isometry3d>{Hanging(Vector3d::Zero(), state.q[0]),
                                   Hanging(elbow, state.q[1])};
  };
}

void VisitPendulum(Keys& keys, BeltPendulum& p) {
  std::vector<double> l, m;
  keys.Vector("lengths_m", l, 2, Positive(), "belt_pendulum: of the rods", Need::kRequired);
  VisitMasses(keys, m, 2);
  p.l1 = l[0], p.l2 = l[1], p.m1 = m[0], p.m2 = m[1];
  VisitTheta(keys, p.theta, Need::kRequired);
  keys.Number("phi_rad", p.phi, {}, "belt_pendulum: of the second rod, from the downward vertical",
              Need::kRequired);
  VisitThetaDot(keys, p.theta_dot);
  keys.Number("phi_dot_rad_per_s", p.phi_dot, {}, "belt_pendulum: rate of phi_rad");
  keys.Number("belt_m_per_s", p.belt, {}, "belt_pendulum: of the belt, upwards");
  double wall = std::nan("");
  keys.Stated(true).Number("wall_m", wall, {},
                           "belt_pendulum: wall or belt at x = -wall_m. Default: where the tip "
                           "touches it at the start");
  if (std::isfinite(wall)) p.wall = wall;
}

void ReadPendulum(Keys& keys, double gravity, const ContactProperties& properties, Scenario& out) {
  BeltPendulum p;
  VisitPendulum(keys, p);
  p.gravity = gravity;
  p.properties = properties;
  // The torque that balances the contact when friction is this ratio of tangential to normal force.
  double held = std::nan("");
  keys.Stated(true).Number("held_with", held, {},
                           "belt_pendulum: ratio of tangential to normal force with which a torque "
                           "holds the pendulum at rest; instead of torque_N_m. Default: not held");
  if (std::isfinite(held)) {
    keys.Check(!keys.reading()->Has("torque_N_m"), "held_with", "torque_N_m as well",
               "one of them");
    p.torque = HoldPendulum(p, held).torque;
  } else {
    keys.Number("torque_N_m", p.torque, {}, "belt_pendulum: on the first rod");
  }
  TakePendulum(*keys.reading(), p, out);
}

void VisitCradle(Keys& keys, Cradle& cradle) {
  VisitMasses(keys, cradle.masses, -1);
  const auto n = static_cast<int>(cradle.masses.size());
  keys.Check(n >= 2 && n <= kMostSystemContacts, "masses_kg", fmt::format("{} balls", n),
             fmt::format("2 to {}", kMostSystemContacts));
  VisitLength(keys, cradle.length, Need::kRequired);
  VisitRadius(keys, cradle.radius);
  keys.Stated(true).Vector(
      "spaces_m", cradle.spaces, n - 1, NonNegative(),
      "cradle: between neighbours. Allowed: list of numbers, one less than balls Default: 0");
  keys.Vector("angles_rad", cradle.angles, n, {},
              "cradle: of the strings, from the downward vertical Allowed: list of numbers, one of "
              "each ball",
              Need::kRequired);
  keys.Stated(true).Vector(
      "rates_rad_per_s", cradle.rates, n, {},
      "cradle: rates of the angles. Allowed: list of numbers, one of each ball Default: 0");
}

void ReadCradle(Keys& keys, double gravity, const ContactProperties& properties, Scenario& out) {
  Cradle cradle;
  VisitCradle(keys, cradle);
  const auto n = static_cast<int>(cradle.masses.size());
  cradle.gravity = gravity;
  cradle.properties = properties;
  const StartedMechanism made = MakeCradleMechanism(cradle);
  out.mechanism = made.mechanism;
  out.start = made.start;
  out.poses_in_columns = true;
  std::vector<double> pivots = {0};
  for (int k = 0; k < n; ++k) {
    out.parts.push_back(DrawArm(cradle.length, cradle.radius, fmt::format("ball {}", k + 1)));
    pivots.push_back(
        pivots.back() + 2 * cradle.radius +
        (cradle.spaces.empty() || k + 1 == n ? 0 : cradle.spaces[static_cast<std::size_t>(k)]));
  }
  out.poses = [pivots, n](const MechanismState& state) {
    std::vector<Isometry3d> poses;
    poses.reserve(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k)
      poses.push_back(Hanging({pivots[static_cast<std::size_t>(k)], 0, 0}, state.q[k]));
    return poses;
  };
}

void SetFriction(const ContactProperties& properties, BodyMechanism& made) {
  for (ContactProperties& c : made.mechanism.contacts) {
    c.mu_k = properties.mu_k;
    c.mu_s = properties.mu_s;
  }
}

BodyMechanism ReadRod(Keys& keys, double gravity, const ContactProperties& properties) {
  RodOnFloor rod;
  VisitLength(keys, rod.length, Need::kOptional);
  VisitMass(keys, rod.mass);
  keys.Number("amplitude_m", rod.amplitude, NonNegative(), "rod_on_floor: of the floor",
              Need::kRequired);
  keys.Number("frequency_rad_per_s", rod.frequency, NonNegative(), "rod_on_floor: of the floor",
              Need::kRequired);
  keys.Number("phase_rad", rod.phase, {}, "rod_on_floor: of the floor");
  Vector3d p = Vector3d::Zero(), v = Vector3d::Zero();
  double theta = 0, theta_dot = 0;
  VisitPoint(keys, "position_m", p, true, {}, "rod_on_floor: of the centre of mass",
             Need::kRequired);
  VisitTheta(keys, theta, Need::kOptional);
  VisitVelocity(keys, v, true);
  VisitThetaDot(keys, theta_dot);
  rod.pose = {p.x(), p.z(), theta};
  rod.rates = {v.x(), v.z(), theta_dot};
  rod.gravity = gravity;
  rod.e = properties.e;
  BodyMechanism made = MakeRodOnFloor(rod);
  SetFriction(properties, made);
  return made;
}

BodyMechanism ReadBall(Keys& keys, double gravity, const ContactProperties& properties) {
  double height = 0, radius = 0.1;
  keys.Number("height_m", height, NonNegative(), "bouncing_ball: of its lowest point",
              Need::kRequired);
  VisitRadius(keys, radius, Need::kOptional);
  BodyMechanism ball = MakeBouncingBall(properties.e, height, gravity, radius);
  SetFriction(properties, ball);
  return ball;
}

// A disc between floor and wall, or a sphere between floor and two walls.
BodyMechanism ReadInCorner(Keys& keys, bool disc, double gravity,
                           const ContactProperties& properties) {
  double radius = 0, mass = 1, theta_dot = 0;
  Vector3d gaps = Vector3d::Zero(), v = gaps, omega = gaps;
  VisitRadius(keys, radius);
  VisitMass(keys, mass);
  VisitGaps(keys, gaps, disc);
  VisitVelocity(keys, v, disc);
  if (disc) {
    VisitThetaDot(keys, theta_dot);
    return MakeDiscInCornerMechanism(radius, mass, InPlane(gaps), InPlane(v), theta_dot, properties,
                                     gravity);
  }
  VisitVector(keys, "omega_rad_per_s", omega, {}, "sphere_in_corner: its spin");
  return MakeSphereInCornerMechanism(radius, mass, gaps, v, omega, properties, gravity);
}

BodyMechanism ReadBlock(Keys& keys, double gravity, const ContactProperties& properties) {
  bool planar = true;
  double mass = 1, tilt = 0;
  Vector3d sides = Vector3d::Zero();
  keys.Flag("planar", planar, "rocking_block: motion in the x-z plane", Need::kRequired);
  VisitPoint(keys, "sides_m", sides, planar, Positive(),
             "rocking_block: width and height; in space length, width and height", Need::kRequired);
  VisitMass(keys, mass);
  keys.Number("tilt_rad", tilt, Closed(0, M_PI / 2), "rocking_block: about the lower edge at -x",
              Need::kRequired);
  return MakeRockingBlockMechanism(sides, mass, tilt, planar, properties, gravity);
}

enum class NamedMechanism { kBall, kRod, kPendulum, kCradle, kDisc, kSphere, kBlock };
constexpr EnumWord<NamedMechanism> kMechanisms[] = {
    {NamedMechanism::kBall, "bouncing_ball"},     {NamedMechanism::kRod, "rod_on_floor"},
    {NamedMechanism::kPendulum, "belt_pendulum"}, {NamedMechanism::kCradle, "cradle"},
    {NamedMechanism::kDisc, "disc_in_corner"},    {NamedMechanism::kSphere, "sphere_in_corner"},
    {NamedMechanism::kBlock, "rocking_block"}};

}  // namespace

void ReadNamedMechanism(const YamlNode& root, const YamlNode& every, Scenario& out) {
  const YamlNode node = root.Map("mechanism");
  Keys keys(node);
  NamedMechanism kind = NamedMechanism::kBall;
  keys.Word("kind", kind, kMechanisms,
            "a ball, a slender rod over a vibrating floor, a double pendulum against a wall or "
            "belt, a cradle, a disc or sphere in a corner, a block on its edge",
            Need::kRequired);
  if (!root.Has("every_contact"))
    throw root.Fault("every_contact", "nothing", "the restitution e, and friction");
  const ContactProperties properties = ReadScenarioProperties(every, every);
  const double gravity = DownwardGravity(root);
  switch (kind) {
    case NamedMechanism::kBall:
      return TakeMechanism(ReadBall(keys, gravity, properties), out);
    case NamedMechanism::kRod:
      return TakeMechanism(ReadRod(keys, gravity, properties), out);
    case NamedMechanism::kPendulum:
      return ReadPendulum(keys, gravity, properties, out);
    case NamedMechanism::kCradle:
      return ReadCradle(keys, gravity, properties, out);
    case NamedMechanism::kDisc:
      return TakeMechanism(ReadInCorner(keys, true, gravity, properties), out);
    case NamedMechanism::kSphere:
      return TakeMechanism(ReadInCorner(keys, false, gravity, properties), out);
    case NamedMechanism::kBlock:
      return TakeMechanism(ReadBlock(keys, gravity, properties), out);
  }
}

}  // namespace impactlab::pipelines
