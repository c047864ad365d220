// Mechanisms of the documents, by their names.

#include "pipelines/simulate/detail/mechanisms.h"

#include <fmt/format.h>

#include <cmath>

#include "impact/motion/mechanism_builders.h"
#include "pipelines/config/yaml.h"
#include "pipelines/simulate/detail/system_bodies.h"

namespace impactlab::pipelines {
namespace {

using Eigen::Isometry3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

// Gravity of a mechanism whose ground is level [m/s^2].
double DownwardGravity(const YamlNode& root) {
  const Vector3d g = ParseFlight(root, true).gravity_W;
  if (root.Has("drag_per_m"))
    throw root.Fault("drag_per_m", "a number",
                     "drag of bodies only; a mechanism of the documents has none");
  if (g.x() != 0 || g.y() != 0)
    throw root.Fault("gravity_m_per_s2", fmt::format("[{}, {}, {}]", g.x(), g.y(), g.z()),
                     "[0, 0, z]: the ground of the mechanism is level");
  return -g.z();
}

Vector2d Two(const YamlNode& node, const char* key) {
  const std::vector<double> v = node.Vector(key, 2, std::vector<double>{0, 0});
  return {v[0], v[1]};
}

Vector3d Three(const YamlNode& node, const char* key) {
  const std::vector<double> v = node.Vector(key, 3, std::vector<double>{0, 0, 0});
  return {v[0], v[1], v[2]};
}

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

void ReadPendulum(const YamlNode& node, double gravity, const ContactProperties& properties,
                  Scenario& out) {
  BeltPendulum p;
  const std::vector<double> l = node.Vector("lengths_m", 2, Positive()),
                            m = node.Vector("masses_kg", 2, Positive());
  p.l1 = l[0], p.l2 = l[1], p.m1 = m[0], p.m2 = m[1];
  p.theta = node.Number("theta_rad");
  p.phi = node.Number("phi_rad");
  p.theta_dot = node.Number("theta_dot_rad_per_s", 0.0);
  p.phi_dot = node.Number("phi_dot_rad_per_s", 0.0);
  p.belt = node.Number("belt_m_per_s", 0.0);
  p.gravity = gravity;
  if (node.Has("wall_m")) p.wall = node.Number("wall_m");
  p.properties = properties;
  // `held_with`: the torque that balances the contact when friction is this ratio of tangential to
  // normal force.
  if (node.Has("held_with")) {
    if (node.Has("torque_N_m")) throw node.Fault("held_with", "torque_N_m as well", "one of them");
    p.torque = HoldPendulum(p, node.Number("held_with")).torque;
  } else {
    p.torque = node.Number("torque_N_m", 0.0);
  }
  TakePendulum(node, p, out);
}

void ReadCradle(const YamlNode& node, double gravity, const ContactProperties& properties,
                Scenario& out) {
  Cradle cradle;
  cradle.masses = node.Vector("masses_kg", -1, Positive());
  const auto n = static_cast<int>(cradle.masses.size());
  if (n < 2 || n > kMostSystemContacts)
    throw node.Fault("masses_kg", fmt::format("{} balls", n),
                     fmt::format("2 to {}", kMostSystemContacts));
  cradle.length = node.Number("length_m", Positive());
  cradle.radius = node.Number("radius_m", Positive());
  if (node.Has("spaces_m")) cradle.spaces = node.Vector("spaces_m", n - 1, NonNegative());
  cradle.angles = node.Vector("angles_rad", n);
  if (node.Has("rates_rad_per_s")) cradle.rates = node.Vector("rates_rad_per_s", n);
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

BodyMechanism ReadRod(const YamlNode& node, double gravity, const ContactProperties& properties) {
  RodOnFloor rod;
  rod.length = node.Number("length_m", rod.length, Positive());
  rod.mass = node.Number("mass_kg", rod.mass, Positive());
  rod.amplitude = node.Number("amplitude_m", NonNegative());
  rod.frequency = node.Number("frequency_rad_per_s", NonNegative());
  rod.phase = node.Number("phase_rad", 0.0);
  const std::vector<double> p = node.Vector("position_m", 2);
  rod.pose = {p[0], p[1], node.Number("theta_rad", 0.0)};
  const Vector2d v = Two(node, "v_m_per_s");
  rod.rates = {v.x(), v.y(), node.Number("theta_dot_rad_per_s", 0.0)};
  rod.gravity = gravity;
  rod.e = properties.e;
  BodyMechanism made = MakeRodOnFloor(rod);
  SetFriction(properties, made);
  return made;
}

}  // namespace

void ReadNamedMechanism(const YamlNode& root, const YamlNode& every, Scenario& out) {
  const YamlNode node = root.Map("mechanism");
  const std::string kind =
      node.Choice("kind", {"bouncing_ball", "rod_on_floor", "belt_pendulum", "cradle",
                           "disc_in_corner", "sphere_in_corner", "rocking_block"});
  if (!root.Has("every_contact"))
    throw root.Fault("every_contact", "nothing", "the restitution e, and friction");
  const ContactProperties properties = ReadScenarioProperties(every, every);
  const double gravity = DownwardGravity(root);
  const auto mass = [&] { return node.Number("mass_kg", 1.0, Positive()); };
  if (kind == "bouncing_ball") {
    BodyMechanism ball = MakeBouncingBall(properties.e, node.Number("height_m", NonNegative()),
                                          gravity, node.Number("radius_m", 0.1, Positive()));
    SetFriction(properties, ball);
    TakeMechanism(ball, out);
  } else if (kind == "rod_on_floor") {
    TakeMechanism(ReadRod(node, gravity, properties), out);
  } else if (kind == "belt_pendulum") {
    ReadPendulum(node, gravity, properties, out);
  } else if (kind == "cradle") {
    ReadCradle(node, gravity, properties, out);
  } else if (kind == "disc_in_corner") {
    TakeMechanism(
        MakeDiscInCornerMechanism(node.Number("radius_m", Positive()), mass(), Two(node, "gaps_m"),
                                  Two(node, "v_m_per_s"), node.Number("theta_dot_rad_per_s", 0.0),
                                  properties, gravity),
        out);
  } else if (kind == "sphere_in_corner") {
    TakeMechanism(MakeSphereInCornerMechanism(node.Number("radius_m", Positive()), mass(),
                                              Three(node, "gaps_m"), Three(node, "v_m_per_s"),
                                              Three(node, "omega_rad_per_s"), properties, gravity),
                  out);
  } else {
    const bool planar = node.Flag("planar");
    const std::vector<double> sides = node.Vector("sides_m", planar ? 2 : 3, Positive());
    TakeMechanism(MakeRockingBlockMechanism(ToPoint(sides, planar), mass(),
                                            node.Number("tilt_rad", Closed(0, M_PI / 2)), planar,
                                            properties, gravity),
                  out);
  }
}

}  // namespace impactlab::pipelines
