#include "pipelines/simulate/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "impact/motion/mechanism_bodies.h"
#include "pipelines/config/yaml.h"
#include "pipelines/simulate/detail/mechanisms.h"
#include "pipelines/simulate/detail/system_bodies.h"

namespace impactlab {
namespace pipelines {
namespace {

using Eigen::Vector3d;
using Eigen::VectorXd;

std::vector<MovingPlane> ReadPlanes(const YamlNode& root, const std::vector<BodyEntry>& bodies,
                                    bool planar) {
  std::vector<MovingPlane> planes;
  if (!root.Has("planes")) return planes;
  for (const YamlNode& node : root.List("planes")) {
    MovingPlane plane;
    plane.name = node.Text("name", "floor");
    const auto same = [&](const auto& other) { return other == plane.name; };
    if (std::any_of(planes.begin(), planes.end(),
                    [&](const MovingPlane& p) { return same(p.name); }) ||
        std::any_of(bodies.begin(), bodies.end(),
                    [&](const BodyEntry& b) { return same(b.body.body.name); }))
      throw node.Fault("name", Excerpt(plane.name) + " again",
                       "every name once, of planes and bodies");
    if (node.Has("normal")) plane.plane.normal = ReadDirection(node, "normal", planar);
    plane.plane.offset = node.Number("offset_m", 0.0);
    plane.amplitude = node.Number("amplitude_m", 0.0, NonNegative());
    plane.frequency = node.Number("frequency_rad_per_s", 0.0, NonNegative());
    plane.phase = node.Number("phase_rad", 0.0);
    if (plane.amplitude > 0 && plane.frequency == 0)
      throw node.Fault("frequency_rad_per_s", "0", "above 0 where amplitude_m is");
    const int n = planar ? 2 : 3;
    plane.belt_W = ToPoint(
        node.Vector("belt_m_per_s", n, std::vector<double>(static_cast<std::size_t>(n), 0.0)),
        planar);
    if (std::abs(plane.belt_W.dot(plane.plane.normal)) > 1e-9 * plane.belt_W.norm())
      throw node.Fault("belt_m_per_s", "a velocity out of the plane", "one along it");
    planes.push_back(plane);
  }
  return planes;
}

// `between`: a body, and a plane or another body.
TouchingPair ReadTouching(const YamlNode& node, const std::vector<std::string>& bodies,
                          const std::vector<std::string>& planes) {
  std::vector<std::string> all = bodies;
  all.insert(all.end(), planes.begin(), planes.end());
  const std::string allowed = fmt::format("a body and a plane, or two bodies: {}", JoinNames(all));
  const std::vector<std::string> words = node.Texts("between");
  if (words.size() != 2)
    throw node.Fault("between", fmt::format("{} names", words.size()), allowed);
  TouchingPair pair;
  for (std::size_t k = 0; k < 2; ++k) {
    const auto at = std::find(all.begin(), all.end(), words[k]) - all.begin();
    const bool known = at < static_cast<long>(all.size()),
               body = at < static_cast<long>(bodies.size());
    if (!known || (k == 0 && !body)) {
      const std::string nearest = known ? "" : NearestName(words[k], all);
      throw node.Fault("between",
                       Excerpt(words[k]) + (known             ? " as the first"
                                            : nearest.empty() ? ""
                                                              : ", nearest is " + nearest),
                       allowed);
    }
    const int index = static_cast<int>(at);
    if (k == 0)
      pair.body = index;
    else
      (body ? pair.other : pair.plane) = body ? index : index - static_cast<int>(bodies.size());
  }
  if (pair.other == pair.body)
    throw node.Fault("between", Excerpt(words[0]) + " and itself", allowed);
  return pair;
}

// Without a list of contacts every body may touch every plane and every ball every other ball.
std::vector<TouchingPair> ReadTouchingPairs(const YamlNode& root, const YamlNode& every,
                                            const std::vector<MovingBody>& bodies,
                                            const std::vector<MovingPlane>& planes) {
  std::vector<TouchingPair> pairs;
  if (root.Has("contacts")) {
    std::vector<std::string> body_names, plane_names;
    for (const MovingBody& b : bodies) body_names.push_back(b.name);
    for (const MovingPlane& p : planes) plane_names.push_back(p.name);
    for (const YamlNode& node : root.List("contacts")) {
      pairs.push_back(ReadTouching(node, body_names, plane_names));
      pairs.back().properties = ReadScenarioProperties(node, every);
    }
    return pairs;
  }
  const auto is_ball = [&](std::size_t i) {
    return bodies[i].start.body.shape == BodyShape::kBall;
  };
  bool any = !planes.empty();
  for (std::size_t i = 0, balls = 0; i < bodies.size(); ++i)
    any = any || (is_ball(i) && ++balls > 1);
  if (!any && root.Has("every_contact"))
    throw root.Fault("every_contact", "contact laws where nothing can touch",
                     "planes or several balls beside it, or none");
  if (!any) return pairs;
  if (!root.Has("every_contact"))
    throw root.Fault("every_contact", "neither every_contact nor contacts",
                     "one of them, with the restitution e");
  const ContactProperties properties = ReadScenarioProperties(every, every);
  pairs = EveryBodyOnEveryPlane(bodies.size(), planes.size(), properties);
  for (std::size_t i = 0; i < bodies.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (is_ball(i) && is_ball(j))
        pairs.push_back({properties, static_cast<int>(i), -1, static_cast<int>(j)});
  return pairs;
}

void ReadSimulation(const YamlNode& root, SimulateOptions& options) {
  const YamlNode node = root.Map("simulation");
  options.duration = node.Number("duration_s", Positive());
  options.sample_step = node.Number("sample_step_s", options.duration / 2000, Positive());
  if (options.duration / options.sample_step > kMostSamples)
    throw node.Fault("sample_step_s",
                     fmt::format("{} for {} s", FormatNumber(options.sample_step),
                                 FormatNumber(options.duration)),
                     fmt::format("at least {}, for {} samples",
                                 FormatNumber(options.duration / kMostSamples), kMostSamples));
  const RestitutionLaw laws[] = {RestitutionLaw::kEnergetic, RestitutionLaw::kPoisson,
                                 RestitutionLaw::kNewton};
  std::vector<std::string> names;
  for (const RestitutionLaw law : laws) names.emplace_back(LawName(law));
  const std::string law = node.Choice("law", names[0], names);
  for (const RestitutionLaw l : laws)
    if (law == LawName(l)) options.law = l;
  const MultiLaw several[] = {MultiLaw::kSequence, MultiLaw::kSimultaneousNewton,
                              MultiLaw::kSimultaneousPoisson, MultiLaw::kGlobalEnergetic};
  names.clear();
  for (const MultiLaw l : several) names.emplace_back(MultiLawName(l));
  const std::string word = node.Choice("several_contacts", names[0], names);
  for (const MultiLaw l : several)
    if (word == MultiLawName(l)) options.several = l;
  options.tolerance = node.Number("tolerance", options.tolerance, Closed(1e-14, 1e-3));
  options.least_rebound = node.Number("least_rebound_m_per_s", options.least_rebound, Positive());
  if (node.Has("longest_step_s")) options.longest_step = node.Number("longest_step_s", Positive());
  options.most_events = static_cast<long>(node.Integer("most_events", 1000000, Closed(1, 1e9)));
  options.stop_at_rest = node.Flag("stop_at_rest", true);
}

}  // namespace

ContactProperties ReadScenarioProperties(const YamlNode& node, const YamlNode& every) {
  for (const YamlNode* from : {&node, &every})
    for (const char* key : {"stiffness_N_per_m", "gap_m"})
      if (from->Has(key))
        throw from->Fault(
            key, "a number",
            "nothing: bodies that move are rigid and their gaps follow from where they are");
  return ReadProperties(node, every);
}

void TakeMechanism(const BodyMechanism& made, Scenario& out) {
  out.mechanism = made.mechanism;
  out.start = made.start;
  for (const MovingBody& b : made.bodies) out.parts.push_back(DrawBody(b.start.body, b.name));
  for (const MovingPlane& p : made.planes) {
    const double length = p.plane.normal.norm();
    out.planes.push_back({p.name, p.plane.normal / length, p.plane.offset / length, p.amplitude,
                          p.frequency, p.phase});
  }
  const auto shared = std::make_shared<const BodyMechanism>(made);
  out.poses = [shared](const MechanismState& state) {
    std::vector<Eigen::Isometry3d> poses;
    for (std::size_t k = 0; k < shared->bodies.size(); ++k)
      poses.push_back(shared->StateOf(state, static_cast<int>(k)).X_WB);
    return poses;
  };
}

void ReadMovingBodies(const YamlNode& root, const YamlNode& every, Scenario& out) {
  const bool planar = root.Flag("planar");
  const FlightOptions flight = ParseFlight(root, planar);
  const std::vector<BodyEntry> entries = ReadBodies(root, planar);
  std::vector<MovingBody> bodies;
  for (const BodyEntry& entry : entries) {
    MovingBody body;
    body.start = entry.body;
    body.name = entry.body.body.name;
    body.linear_drag = entry.node.Number("drag_per_s", 0.0, NonNegative());
    body.quadratic_drag = entry.node.Number("drag_per_m", flight.drag_per_m, NonNegative());
    body.start_t = entry.node.Number("start_s", 0.0, NonNegative());
    bodies.push_back(body);
  }
  const std::vector<JointEntry> joint_entries = ReadJoints(root, entries, planar);
  std::vector<SystemJoint> joints;
  for (const JointEntry& entry : joint_entries) joints.push_back(entry.joint);
  const std::vector<MovingPlane> planes = ReadPlanes(root, entries, planar);
  const std::vector<TouchingPair> pairs = ReadTouchingPairs(root, every, bodies, planes);

  // At rest every joint holds; its rows then say which velocities follow from the others.
  std::vector<MovingBody> resting = bodies;
  for (MovingBody& b : resting) b.start.v_WB = b.start.omega_WB = Vector3d::Zero();
  const BodyMechanism still = MakeBodyMechanism(resting, joints, planes, pairs, flight.gravity_W);
  MechanismTerms terms;
  still.mechanism.terms(still.start, terms);
  const VectorXd u = ReadVelocities(entries, joint_entries, terms.joint_rows, planar);
  for (std::size_t k = 0; k < bodies.size(); ++k) {
    SystemBody& b = bodies[k].start;
    const auto at = static_cast<Eigen::Index>(k) * (planar ? 3 : 6);
    b.v_WB = planar ? Vector3d(u[at], 0, u[at + 1]) : Vector3d(u.segment<3>(at));
    b.omega_WB = planar ? Vector3d(0, -u[at + 2], 0) : Vector3d(u.segment<3>(at + 3));
  }
  TakeMechanism(MakeBodyMechanism(bodies, joints, planes, pairs, flight.gravity_W), out);
}

}  // namespace pipelines

namespace {

Scenario ReadScenario(const YamlNode& root) {
  Scenario out;
  root.Choice("schema", {"impactlab.scenario/1"});
  out.name = root.Text("name", root.File().stem().string());
  if (root.Has("source")) out.source = root.Text("source");
  const YamlNode every = root.MapOrEmpty("every_contact");
  const bool named = root.Has("mechanism");
  if (named == root.Has("bodies"))
    throw root.Fault(named ? "mechanism" : "bodies", named ? "bodies as well" : "nothing",
                     "one of bodies and mechanism (one of the documents by its name)");
  try {
    named ? pipelines::ReadNamedMechanism(root, every, out)
          : pipelines::ReadMovingBodies(root, every, out);
  } catch (const ConfigError& fault) {
    // The impact room does not know the file.
    const std::string_view what = fault.what();
    if (what.rfind("mechanism", 0) != 0 && what.rfind("system: ", 0) != 0 &&
        what.rfind("body '", 0) != 0)
      throw;
    throw ConfigError(fmt::format("{}: {}", root.Where(named ? "mechanism" : "bodies"), what));
  }
  pipelines::ReadSimulation(root, out.options);
  root.Finish();
  return out;
}

}  // namespace

Scenario LoadScenario(const std::filesystem::path& path) { return ReadScenario(LoadYaml(path)); }

Scenario ParseScenario(const std::string& text, const std::string& name) {
  return ReadScenario(ParseYaml(text, name));
}

}  // namespace impactlab
