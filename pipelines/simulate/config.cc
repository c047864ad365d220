#include "pipelines/simulate/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "impact/motion/mechanism_bodies.h"
#include "pipelines/config/restitution_keys.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"
#include "pipelines/simulate/detail/mechanisms.h"
#include "pipelines/simulate/detail/system_bodies.h"

namespace impactlab {
namespace pipelines {
namespace {

using Eigen::Vector3d;
using Eigen::VectorXd;

void VisitPlane(Keys& keys, MovingPlane& plane, const std::vector<MovingPlane>& earlier,
                const std::vector<BodyEntry>& bodies, bool planar) {
  keys.Text("name", plane.name, "no other plane or body has it");
  const auto taken = [&](const std::string& other) { return other == plane.name; };
  keys.Check(std::none_of(earlier.begin(), earlier.end(),
                          [&](const MovingPlane& p) { return taken(p.name); }) &&
                 std::none_of(bodies.begin(), bodies.end(),
                              [&](const BodyEntry& b) { return taken(b.body.body.name); }),
             "name", Excerpt(plane.name) + " again", "every name once, of planes and bodies");
  VisitDirection(keys.Stated(true), "normal", plane.plane.normal, planar,
                 "out of the surface, of any length. Default: upwards");
  keys.Number("offset_m", plane.plane.offset, {}, "points p with n . p = offset");
  keys.Number("amplitude_m", plane.amplitude, NonNegative(),
              "the plane moves along n by amplitude sin(frequency t + phase)");
  keys.Number("frequency_rad_per_s", plane.frequency, NonNegative(), "of that motion");
  keys.Number("phase_rad", plane.phase, {}, "of that motion at t = 0");
  keys.Check(plane.amplitude <= 0 || plane.frequency != 0, "frequency_rad_per_s", "0",
             "above 0 where amplitude_m is");
  VisitPoint(keys, "belt_m_per_s", plane.belt_W, planar, {}, "velocity of its points along it");
  keys.Check(std::abs(plane.belt_W.dot(plane.plane.normal)) <= 1e-9 * plane.belt_W.norm(),
             "belt_m_per_s", "a velocity out of the plane", "one along it");
}

// `between`: a body, and a plane or another body.
TouchingPair ReadTouching(const YamlNode& node, const std::vector<std::string>& bodies,
                          const std::vector<std::string>& planes) {
  std::vector<std::string> all = bodies;
  all.insert(all.end(), planes.begin(), planes.end());
  const std::string allowed = fmt::format("a body and a plane, or two bodies: {}", JoinNames(all));
  node.Explain("between",
               "a body and a plane, or two bodies that are balls or points; sides of other bodies "
               "do not meet each other");
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
  root.Explain("contacts",
               "what may touch. Default: every body every plane, and every ball every other ball");
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

void VisitSimulation(Keys& keys, SimulateOptions& o) {
  keys.Number("duration_s", o.duration, Positive(), "of the motion", Need::kRequired);
  o.sample_step = o.duration / 2000;
  keys.Number("sample_step_s", o.sample_step, Positive(),
              "time between rows of trajectory.csv; at most 1e6 rows. Default: duration_s / 2000");
  keys.Check(o.duration / o.sample_step <= kMostSamples, "sample_step_s",
             fmt::format("{} for {} s", FormatNumber(o.sample_step), FormatNumber(o.duration)),
             fmt::format("at least {}, for {} samples", FormatNumber(o.duration / kMostSamples),
                         kMostSamples));
  pipelines::VisitLaw(keys, o.law, "of impacts at one contact");
  std::vector<std::string> names;
  for (const MultiLawInfo& law : kMultiLaws)
    if (law.simulated) names.emplace_back(law.word);
  std::string word = MultiLawName(o.several);
  keys.OneOf("several_contacts", word, names,
             "contacts that touch at once: one after the other by law, the fastest first; together "
             "by Newton's or Poisson's law; or by the global energetic law with the least e of the "
             "contacts that touch");
  for (const MultiLawInfo& law : kMultiLaws)
    if (word == law.word) o.several = law.law;
  keys.Number("tolerance", o.tolerance, Closed(1e-14, 1e-3),
              "of a step, relative, and absolute in the units of coordinates and velocities");
  keys.Number("least_rebound_m_per_s", o.least_rebound, Positive(),
              "slower approaches do not rebound; what they would have done is in accumulation_s");
  keys.Stated(true).Number("longest_step_s", o.longest_step, Positive(),
                           "upper bound of a step. Default: what spins and vibrations allow");
  o.most_events = 1000000;
  keys.Count("most_events", o.most_events, Closed(1, 1e9),
             "more are given up, with exit code 3; the files are written");
  o.stop_at_rest = true;
  keys.Flag("stop_at_rest", o.stop_at_rest,
            "end when nothing moves any more, or rolls and spins on for a second as it is");
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
  Keys keys(root);
  bool planar = true;
  keys.Flag("planar", planar, "motion in the x-z plane", Need::kRequired);
  FlightOptions flight;
  VisitFlight(keys, flight, planar);
  const std::vector<BodyEntry> entries = ReadBodies(root, planar);
  std::vector<MovingBody> bodies;
  for (const BodyEntry& entry : entries) {
    MovingBody body;
    body.start = entry.body;
    body.name = entry.body.body.name;
    body.quadratic_drag = flight.drag_per_m;
    Keys of_body(entry.node);
    of_body.Number("drag_per_s", body.linear_drag, NonNegative(),
                   "force = -m (drag_per_s + drag_per_m abs(v)) v at the centre of mass");
    of_body.Number("drag_per_m", body.quadratic_drag, NonNegative(),
                   "quadratic drag, as in drag_per_s. Default: drag_per_m of the file");
    of_body.Number("start_s", body.start_t, NonNegative(),
                   "the body stands still and nothing touches it before; not with a joint");
    bodies.push_back(body);
  }
  const std::vector<JointEntry> joint_entries = ReadJoints(root, entries, planar);
  std::vector<SystemJoint> joints;
  joints.reserve(joint_entries.size());
  for (const JointEntry& entry : joint_entries) joints.push_back(entry.joint);
  std::vector<MovingPlane> planes;
  keys.List("planes", planes, "that bodies may touch. Default: none", Style::kLines,
            [&](Keys& k, MovingPlane& plane) { VisitPlane(k, plane, planes, entries, planar); });
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
  out.name = root.File().stem().string();
  pipelines::Keys keys(root);
  keys.Schema("impactlab.scenario/1");
  keys.Text("name", out.name, "title. Default: name of the file");
  keys.Stated(true).Text("source", out.source, "where it is from. Default: none");
  root.Explain("every_contact", "for every contact that does not give its own");
  const YamlNode every = root.MapOrEmpty("every_contact");
  root.Explain("mechanism", "in place of bodies");
  root.Explain("bodies", "of one's own, with planes; or a mechanism");
  const bool named = root.Has("mechanism");
  if (named == root.Has("bodies"))
    throw root.Fault(named ? "mechanism" : "bodies", named ? "bodies as well" : "nothing",
                     "one of bodies and mechanism (one of the literature by its name)");
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
  keys.Map(
      "simulation", "how it is followed",
      [&](pipelines::Keys& k) { pipelines::VisitSimulation(k, out.options); },
      pipelines::Need::kRequired);
  root.Finish();
  return out;
}

}  // namespace

Scenario LoadScenario(const std::filesystem::path& path) { return ReadScenario(LoadYaml(path)); }

Scenario ParseScenario(const std::string& text, const std::string& name) {
  return ReadScenario(ParseYaml(text, name));
}

}  // namespace impactlab
