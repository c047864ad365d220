#include "pipelines/simulate/detail/system_bodies.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/files/text.h"
#include "impact/body/outline_radius.h"
#include "pipelines/config/visit.h"
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
Pair ReadPair(const YamlNode& node, const std::vector<BodyEntry>& bodies, const char* meaning) {
  std::vector<std::string> names;
  names.reserve(bodies.size());
  for (const BodyEntry& b : bodies) names.push_back(b.body.body.name);
  const std::string allowed =
      fmt::format("one or two of {}, the second may be {}", JoinNames(names), kGroundName);
  node.Explain("between", meaning);
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

Vector3d ReadContactPoint(const YamlNode& node, const SystemBody& body, const Vector3d& normal,
                          bool planar) {
  const char* const in_W = "at_m";
  const char* const in_B = "at_body_m";
  Keys keys(node);
  Vector3d p = Vector3d::Zero(), p_B = Vector3d::Zero();
  VisitPoint(keys.Stated(true), in_W, p, planar, {},
             "contact point in W; or at_body_m. Default: of a ball or ellipsoid the point that "
             "touches");
  if (node.Has(in_W)) {
    keys.Check(!node.Has(in_B), in_B, "at_m as well", "one of at_m and at_body_m");
    return p;
  }
  VisitPoint(keys.Stated(true), in_B, p_B, planar, {}, "or in the frame B of the first body");
  if (node.Has(in_B)) return body.X_WB * p_B;
  keys.Check(body.body.shape == BodyShape::kBall || body.body.shape == BodyShape::kEllipsoid, in_W,
             "nothing",
             "the point at_m in W or at_body_m in the body; only a ball or an ellipsoid has a "
             "single point to touch with");
  return body.X_WB * SupportLever(body.body, body.X_WB.linear().transpose() * normal);
}

// The point lies on its bodies, as far as a sphere about them tells: metres for millimetres would
// pass everything else.
void CheckReach(const YamlNode& node, const std::vector<BodyEntry>& bodies, const Pair& pair,
                const Vector3d& p_W, double gap) {
  for (const int i : {pair.body, pair.other}) {
    if (i == kGround) continue;
    const SystemBody& b = bodies[static_cast<std::size_t>(i)].body;
    const double distance = (p_W - b.X_WB.translation()).norm(), reach = OutlineRadius(b.body);
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
  std::string kind;
  Keys keys(node);
  keys.OneOf("kind", kind,
             planar ? std::vector<std::string>{"pin"} : std::vector<std::string>{"ball", "hinge"},
             "a pin in a plane; a ball or hinge in space", Need::kRequired);
  const Pair pair = ReadPair(node, bodies, "two bodies, or one name: against the ground");
  entry.joint.body = pair.body;
  entry.joint.other = pair.other;
  VisitPoint(keys, "at_m", entry.joint.p_W, planar, {}, "the point in W that both share",
             Need::kRequired);
  if (kind == "hinge")
    VisitDirection(keys, "axis", entry.joint.axis_W, false, "direction of a hinge");
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

// A contact's own value comes before that of all contacts, whose key is asked for in either case.
ContactProperties ReadProperties(const YamlNode& node, const YamlNode& every) {
  ContactProperties c;
  const auto choose = [&](const char* key, const char* of_every,
                          const char* of_one) -> const YamlNode& {
    every.Explain(key, of_every);
    every.Has(key);
    node.Explain(key, of_one);
    return node.Has(key) ? node : every;
  };
  const char* const mu_k = "mu_k";
  const char* const mu_s = "mu_s";
  const YamlNode& of_mu_k =
      choose(mu_k, "kinetic friction", "kinetic friction. Default: that of every_contact, else 0");
  c.mu_k = of_mu_k.Number(mu_k, 0.0, NonNegative());
  // A contact with a mu_k of its own does not take the mu_s of the others.
  const YamlNode& own_or_every = choose(mu_s, "static friction. Default: mu_k",
                                        "static friction. Default: mu_k where that is given here, "
                                        "else that of every_contact");
  const YamlNode& of_mu_s = node.Has(mu_k) ? node : own_or_every;
  c.mu_s = of_mu_s.Number(mu_s, c.mu_k, NonNegative());
  if (c.mu_s < c.mu_k)
    throw of_mu_s.Fault(mu_s, FormatNumber(c.mu_s),
                        fmt::format("at least mu_k, {}", FormatNumber(c.mu_k)));
  const char* const e = "e";
  const YamlNode& of_e = choose(e, "restitution, as the law means it; here or with the contact",
                                "restitution, as the law means it; here or in every_contact");
  if (!of_e.Has(e))
    throw node.Fault(e, "nothing", "a restitution from 0 to 1, here or in every_contact");
  c.e = of_e.Number(e, Closed(0, 1));
  const char* const stiffness = "stiffness_N_per_m";
  c.stiffness = choose(stiffness, "for laws of springs; only ratios count unless gaps differ",
                       "for laws of springs. Default: that of every_contact, else 1")
                    .Number(stiffness, 1.0, Positive());
  const char* const gap = "gap_m";
  c.gap =
      choose(gap,
             "distance from the surface when the impact begins, of the order of an indentation",
             "distance from the surface when the impact begins. Default: that of every_contact, "
             "else 0")
          .Number(gap, 0.0, NonNegative());
  return c;
}

Vector3d ToPoint(const std::vector<double>& v, bool planar) {
  return planar ? Vector3d(v[0], 0, v[1]) : Vector3d(v[0], v[1], v[2]);
}

BodyEntry ReadSystemBody(const YamlNode& node, bool planar) {
  BodyEntry entry;
  entry.node = node;
  SystemBody& b = entry.body;
  node.Explain("name", "every name once; `ground` is what does not move. Default: the shape");
  node.Explain("shape",
               "this, and the keys of shape, mass and inertia, as `body` of an experiment");
  node.Explain("mass_kg", "as in `body`, and required");
  b.body = ParseBody(node, planar);
  if (!b.body.mass_known)
    throw node.Fault("mass_kg", "nothing", "the mass, which impulses and other bodies depend on");
  Keys keys(node);
  Vector3d p = Vector3d::Zero();
  VisitPoint(keys.Stated(true), "position_m", p, planar, {},
             "of the centre of mass, at the impact or at the start. Default: the origin");
  VisitPoint(keys.Stated(true), "v_m_per_s", b.v_WB, planar, {},
             "of the centre of mass, before the impact or at the start. Default: 0; with a joint, "
             "what follows from the joints");
  entry.given.assign(planar ? 2 : 3, node.Has("v_m_per_s"));
  if (planar) {
    double theta = 0, theta_dot = 0;
    keys.Number("theta_rad", theta, {},
                "in a plane: angle, counter-clockwise seen with x right and z up");
    keys.Number("theta_dot_rad_per_s", theta_dot, {},
                "in a plane: its rate. Default: 0; with a joint, what follows from the joints");
    b.X_WB = PlanarPose(p.x(), p.z(), theta);
    b.omega_WB = Vector3d(0, -theta_dot, 0);
    entry.given.push_back(node.Has("theta_dot_rad_per_s"));
    return entry;
  }
  b.X_WB.translation() = p;
  std::vector<double> q = {1, 0, 0, 0};
  keys.Stated(true).Vector("quaternion", q, 4, {},
                           "in space: attitude w, x, y, z, body to world. Default: that of W");
  if (node.Has("quaternion")) {
    const Eigen::Quaterniond rotation(q[0], q[1], q[2], q[3]);
    keys.Check(std::abs(rotation.norm() - 1) <= 1e-3, "quaternion",
               fmt::format("w, x, y, z of length {:.6g}", rotation.norm()),
               "a unit quaternion (to 1e-3)");
    b.X_WB.linear() = rotation.normalized().toRotationMatrix();
  }
  VisitVector(keys, "omega_rad_per_s", b.omega_WB, {},
              "in space: spin. Default: 0; with a joint, what follows from the joints");
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
  root.Explain("joints", "that hold, where they are at the impact or at the start. Default: none");
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
  bool planar = true;
  Keys(root).Flag("planar", planar, "motion in the x-z plane", Need::kRequired);
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
  builder_joints.reserve(joints.size());
  for (const JointEntry& entry : joints) builder_joints.push_back(entry.joint);
  root.Explain("contacts", "where bodies touch");
  const std::vector<YamlNode> contact_nodes = root.List("contacts");
  if (static_cast<int>(contact_nodes.size()) > kMostSystemContacts)
    throw root.Fault("contacts", fmt::format("{} contacts", contact_nodes.size()),
                     fmt::format("at most {}", kMostSystemContacts));
  std::vector<SystemContact> contacts;
  for (const YamlNode& node : contact_nodes) {
    SystemContact contact;
    contact.properties = ReadProperties(node, every);
    contact.properties.name = fmt::format("C{}", contacts.size() + 1);
    Keys keys(node);
    keys.Text("name", contact.properties.name, "for messages and tables. Default: C1, C2, ...");
    const Pair pair = ReadPair(node, entries,
                               "the first is pushed along the normal, the other against it; one "
                               "name: against the ground");
    contact.body = pair.body;
    contact.other = pair.other;
    Vector3d normal = Vector3d::Zero();
    VisitDirection(keys, "normal", normal, planar,
                   "out of the second into the first body, of any length");
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
