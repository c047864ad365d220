#include "pipelines/simulate/detail/system_bodies.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/files/text.h"
#include "pipelines/config/yaml.h"

namespace impactlab::pipelines {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr const char* kGroundName = "ground";
// A contact point may lie outside the sphere about a body by so much of its radius: dimensions of
// figures are rounded.
constexpr double kReachTolerance = 1e-3;
// A joint that opens faster than this share of the speed of its bodies is broken.
constexpr double kJointTolerance = 1e-9;

int Find(const std::vector<BodyEntry>& bodies, const std::string& name) {
  for (std::size_t i = 0; i < bodies.size(); ++i)
    if (bodies[i].body.body.name == name) return static_cast<int>(i);
  return -1;
}

struct Pair {
  int body = 0, other = kGround;
};

// `between`: one body, which then meets the ground, or a body and another or the ground.
Pair ReadPair(const YamlNode& node, const std::vector<BodyEntry>& bodies) {
  std::vector<std::string> names;
  for (const BodyEntry& b : bodies) names.push_back(b.body.body.name);
  const std::string allowed =
      fmt::format("one or two of {}, the second may be {}", JoinNames(names), kGroundName);
  const std::vector<std::string> words = node.Texts("between");
  if (words.size() > 2) throw node.Fault("between", fmt::format("{} names", words.size()), allowed);
  Pair pair;
  for (std::size_t k = 0; k < words.size(); ++k) {
    const int at = Find(bodies, words[k]);
    if (at < 0 && (k == 0 || words[k] != kGroundName)) {
      const std::string nearest = NearestName(words[k], names);
      throw node.Fault("between",
                       Excerpt(words[k]) + (nearest.empty() ? "" : ", nearest is " + nearest),
                       allowed);
    }
    (k == 0 ? pair.body : pair.other) = at < 0 ? kGround : at;
  }
  if (pair.body == pair.other)
    throw node.Fault("between", Excerpt(words[0]) + " and itself", "two different bodies");
  return pair;
}

double Reach(const Body& body) {
  switch (body.shape) {
    case BodyShape::kBall:
      return body.radius;
    case BodyShape::kRod:
      return body.half_length;
    case BodyShape::kBox:
      return body.half_extents.norm();
    case BodyShape::kEllipsoid:
      return body.half_extents.maxCoeff();
    default:
      break;
  }
  double reach = 0;
  for (const Vector3d& p : body.points_B) reach = std::max(reach, p.norm());
  return reach;
}

Vector3d ReadContactPoint(const YamlNode& node, const SystemBody& body, const Vector3d& normal,
                          bool planar) {
  const int n = planar ? 2 : 3;
  if (node.Has("at_m")) {
    if (node.Has("at_body_m"))
      throw node.Fault("at_body_m", "at_m as well", "one of at_m and at_body_m");
    return ToPoint(node.Vector("at_m", n), planar);
  }
  if (node.Has("at_body_m")) return body.X_WB * ToPoint(node.Vector("at_body_m", n), planar);
  if (body.body.shape != BodyShape::kBall && body.body.shape != BodyShape::kEllipsoid)
    throw node.Fault("at_m", "nothing",
                     "the point at_m in W or at_body_m in the body; only a ball or an ellipsoid "
                     "has a single point to touch with");
  return body.X_WB * SupportLever(body.body, body.X_WB.linear().transpose() * normal);
}

// The point lies on its bodies, as far as a sphere about them tells: metres for millimetres would
// pass everything else.
void CheckReach(const YamlNode& node, const std::vector<BodyEntry>& bodies, const Pair& pair,
                const Vector3d& p_W, double gap) {
  for (const int i : {pair.body, pair.other}) {
    if (i == kGround) continue;
    const SystemBody& b = bodies[static_cast<std::size_t>(i)].body;
    const double distance = (p_W - b.X_WB.translation()).norm(), reach = Reach(b.body);
    if (distance > reach * (1 + kReachTolerance) + gap)
      throw node.Fault(node.Has("at_body_m") ? "at_body_m" : "at_m",
                       fmt::format("a point {:.6g} m from the centre of mass of {}", distance,
                                   Excerpt(b.body.name)),
                       fmt::format("at most {:.6g} m, its largest radius", reach));
  }
}

// Velocities the file leaves out are those the joints ask for. `u` holds zeros there.
void Complete(const std::vector<BodyEntry>& bodies, const MatrixXd& joints, int freedoms,
              VectorXd& u) {
  std::vector<Eigen::Index> open;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const auto first = static_cast<Eigen::Index>(freedoms * b);
    if (joints.rows() == 0 || joints.middleCols(first, freedoms).isZero(0)) continue;
    for (int k = 0; k < freedoms; ++k)
      if (!bodies[b].given[static_cast<std::size_t>(k)]) open.push_back(first + k);
  }
  if (open.empty()) return;
  const MatrixXd C = joints(Eigen::all, open);
  const Eigen::CompleteOrthogonalDecomposition<MatrixXd> cod(C);
  if (cod.rank() < static_cast<Eigen::Index>(open.size())) {
    // Any motion the joints leave open names a body whose velocities they do not determine.
    const MatrixXd free = Eigen::FullPivLU<MatrixXd>(C).kernel();
    Eigen::Index worst = 0;
    free.cwiseAbs().rowwise().maxCoeff().maxCoeff(&worst);
    const auto b = static_cast<std::size_t>(open[static_cast<std::size_t>(worst)] / freedoms);
    const bool spin = open[static_cast<std::size_t>(worst)] % freedoms >= (freedoms == 3 ? 2 : 3);
    throw bodies[b].node.Fault(
        spin ? (freedoms == 3 ? "theta_dot_rad_per_s" : "omega_rad_per_s") : "v_m_per_s", "nothing",
        "the velocity: the joints leave it open");
  }
  const VectorXd x = cod.solve(-joints * u);
  for (std::size_t k = 0; k < open.size(); ++k) u[open[k]] = x[static_cast<Eigen::Index>(k)];
}

JointEntry ReadJoint(const YamlNode& node, const std::vector<BodyEntry>& bodies, bool planar) {
  JointEntry entry;
  entry.node = node;
  const std::string kind = node.Choice(
      "kind", planar ? std::vector<std::string>{"pin"} : std::vector<std::string>{"ball", "hinge"});
  const Pair pair = ReadPair(node, bodies);
  entry.joint.body = pair.body;
  entry.joint.other = pair.other;
  entry.joint.p_W = ToPoint(node.Vector("at_m", planar ? 2 : 3), planar);
  if (kind == "hinge") entry.joint.axis_W = ReadDirection(node, "axis", false);
  return entry;
}

void CheckJoints(const std::vector<JointEntry>& joints, const MatrixXd& joint_rows,
                 const VectorXd& u, bool planar) {
  Eigen::Index row = 0;
  for (const JointEntry& entry : joints) {
    const int rows = planar ? 2 : entry.joint.axis_W.isZero() ? 3 : 5;
    for (int k = 0; k < rows; ++k, ++row) {
      const double rate = joint_rows.row(row) * u;
      if (std::abs(rate) <= kJointTolerance * joint_rows.row(row).cwiseAbs() * u.cwiseAbs())
        continue;
      throw entry.node.Fault("between",
                             fmt::format("bodies that leave each other at the joint with {:.4g} {}",
                                         std::abs(rate), k < 3 ? "m/s" : "rad/s"),
                             "velocities that keep the joint (left out, they follow from it)");
    }
  }
}

}  // namespace

ContactProperties ReadProperties(const YamlNode& node, const YamlNode& every) {
  ContactProperties c;
  const auto from = [&](const char* key) -> const YamlNode& {
    every.Has(key);
    return node.Has(key) ? node : every;
  };
  c.mu_k = from("mu_k").Number("mu_k", 0.0, NonNegative());
  // A contact with a mu_k of its own does not take the mu_s of the others.
  const YamlNode& of_mu_s = node.Has("mu_k") && !node.Has("mu_s") ? node : from("mu_s");
  c.mu_s = of_mu_s.Number("mu_s", c.mu_k, NonNegative());
  if (c.mu_s < c.mu_k)
    throw of_mu_s.Fault("mu_s", FormatNumber(c.mu_s),
                        fmt::format("at least mu_k, {}", FormatNumber(c.mu_k)));
  if (!node.Has("e") && !every.Has("e"))
    throw node.Fault("e", "nothing", "a restitution from 0 to 1, here or in every_contact");
  c.e = from("e").Number("e", Closed(0, 1));
  c.stiffness = from("stiffness_N_per_m").Number("stiffness_N_per_m", 1.0, Positive());
  c.gap = from("gap_m").Number("gap_m", 0.0, NonNegative());
  return c;
}

Vector3d ToPoint(const std::vector<double>& v, bool planar) {
  return planar ? Vector3d(v[0], 0, v[1]) : Vector3d(v[0], v[1], v[2]);
}

Vector3d ReadDirection(const YamlNode& node, const std::string& key, bool planar) {
  const Vector3d d = ToPoint(node.Vector(key, planar ? 2 : 3), planar);
  if (!(d.norm() > 0)) throw node.Fault(key, "a vector of no length", "a direction");
  return d.normalized();
}

BodyEntry ReadSystemBody(const YamlNode& node, bool planar) {
  BodyEntry entry;
  entry.node = node;
  SystemBody& b = entry.body;
  b.body = ParseBody(node, planar);
  if (!b.body.mass_known)
    throw node.Fault("mass_kg", "nothing", "the mass, which impulses and other bodies depend on");
  const int n = planar ? 2 : 3;
  const Vector3d p =
      node.Has("position_m") ? ToPoint(node.Vector("position_m", n), planar) : Vector3d::Zero();
  const Vector3d v =
      node.Has("v_m_per_s") ? ToPoint(node.Vector("v_m_per_s", n), planar) : Vector3d::Zero();
  b.v_WB = v;
  entry.given.assign(static_cast<std::size_t>(n), node.Has("v_m_per_s"));
  if (planar) {
    b.X_WB = PlanarPose(p.x(), p.z(), node.Number("theta_rad", 0.0));
    b.omega_WB = Vector3d(0, -node.Number("theta_dot_rad_per_s", 0.0), 0);
    entry.given.push_back(node.Has("theta_dot_rad_per_s"));
    return entry;
  }
  b.X_WB.translation() = p;
  if (node.Has("quaternion")) {
    const std::vector<double> q = node.Vector("quaternion", 4);
    const Eigen::Quaterniond rotation(q[0], q[1], q[2], q[3]);
    if (std::abs(rotation.norm() - 1) > 1e-3)
      throw node.Fault("quaternion", fmt::format("w, x, y, z of length {:.6g}", rotation.norm()),
                       "a unit quaternion (to 1e-3)");
    b.X_WB.linear() = rotation.normalized().toRotationMatrix();
  }
  const std::vector<double> omega = node.Vector("omega_rad_per_s", 3, {0, 0, 0});
  b.omega_WB = Vector3d(omega[0], omega[1], omega[2]);
  entry.given.insert(entry.given.end(), 3, node.Has("omega_rad_per_s"));
  return entry;
}

void AddVelocities(const std::string& body, bool planar, std::vector<SystemVelocity>& velocities) {
  if (planar) {
    for (const char* component : {"v_x", "v_z"}) velocities.push_back({body, component, "m/s"});
    velocities.push_back({body, "theta_dot", "rad/s"});
    return;
  }
  for (const char* component : {"v_x", "v_y", "v_z"})
    velocities.push_back({body, component, "m/s"});
  for (const char* component : {"omega_x", "omega_y", "omega_z"})
    velocities.push_back({body, component, "rad/s"});
}

std::vector<BodyEntry> ReadBodies(const YamlNode& root, bool planar) {
  const int freedoms = planar ? 3 : 6;
  const std::vector<YamlNode> nodes = root.List("bodies");
  if (static_cast<int>(nodes.size()) * freedoms > kMostSystemVelocities)
    throw root.Fault("bodies", fmt::format("{} bodies", nodes.size()),
                     fmt::format("at most {}", kMostSystemVelocities / freedoms));
  std::vector<BodyEntry> entries;
  for (const YamlNode& node : nodes) {
    entries.push_back(ReadSystemBody(node, planar));
    const std::string& name = entries.back().body.body.name;
    if (name == kGroundName)
      throw node.Fault("name", kGroundName, "another name: this one stands for what does not move");
    if (Find(entries, name) + 1 < static_cast<int>(entries.size()))
      throw node.Fault("name", Excerpt(name) + " again", "every name once");
  }
  return entries;
}

std::vector<JointEntry> ReadJoints(const YamlNode& root, const std::vector<BodyEntry>& bodies,
                                   bool planar) {
  std::vector<JointEntry> joints;
  if (!root.Has("joints")) return joints;
  for (const YamlNode& node : root.List("joints"))
    joints.push_back(ReadJoint(node, bodies, planar));
  if (static_cast<int>(joints.size()) > kMostSystemVelocities)
    throw root.Fault("joints", fmt::format("{} joints", joints.size()),
                     fmt::format("at most {}", kMostSystemVelocities));
  return joints;
}

VectorXd ReadVelocities(const std::vector<BodyEntry>& bodies, const std::vector<JointEntry>& joints,
                        const MatrixXd& joint_rows, bool planar) {
  const int freedoms = planar ? 3 : 6;
  VectorXd u(static_cast<Eigen::Index>(freedoms * bodies.size()));
  Eigen::Index at = 0;
  for (const BodyEntry& entry : bodies) {
    const SystemBody& b = entry.body;
    if (planar)
      u.segment(at, 3) << b.v_WB.x(), b.v_WB.z(), -b.omega_WB.y();
    else
      u.segment(at, 6) << b.v_WB, b.omega_WB;
    at += freedoms;
  }
  Complete(bodies, joint_rows, freedoms, u);
  CheckJoints(joints, joint_rows, u, planar);
  return u;
}

void ReadBodySystem(const YamlNode& root, const YamlNode& every, SystemToPredict& out) {
  const bool planar = root.Flag("planar");
  const std::vector<BodyEntry> entries = ReadBodies(root, planar);
  std::vector<SystemBody> bodies;
  for (const BodyEntry& entry : entries) {
    AddVelocities(entry.body.body.name, planar, out.velocities);
    bodies.push_back(entry.body);
    // Velocities come later, when the joints have completed them.
    bodies.back().v_WB = bodies.back().omega_WB = Vector3d::Zero();
  }
  const std::vector<JointEntry> joints = ReadJoints(root, entries, planar);
  std::vector<SystemJoint> builder_joints;
  for (const JointEntry& entry : joints) builder_joints.push_back(entry.joint);
  const std::vector<YamlNode> contact_nodes = root.List("contacts");
  if (static_cast<int>(contact_nodes.size()) > kMostSystemContacts)
    throw root.Fault("contacts", fmt::format("{} contacts", contact_nodes.size()),
                     fmt::format("at most {}", kMostSystemContacts));
  std::vector<SystemContact> contacts;
  for (const YamlNode& node : contact_nodes) {
    SystemContact contact;
    contact.properties = ReadProperties(node, every);
    contact.properties.name = node.Text("name", fmt::format("C{}", contacts.size() + 1));
    const Pair pair = ReadPair(node, entries);
    contact.body = pair.body;
    contact.other = pair.other;
    const Vector3d normal = ReadDirection(node, "normal", planar);
    const Vector3d p_W =
        ReadContactPoint(node, entries[static_cast<std::size_t>(pair.body)].body, normal, planar);
    CheckReach(node, entries, pair, p_W, contact.properties.gap);
    contact.X_WF = FrameAt(p_W, normal, planar);
    contacts.push_back(contact);
  }
  out.system = MakeBodySystem(bodies, builder_joints, contacts);
  out.system.u_minus = ReadVelocities(entries, joints, out.system.joints, planar);
}

}  // namespace impactlab::pipelines
