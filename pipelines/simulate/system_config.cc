#include "pipelines/simulate/system_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "impact/multi/system_builders.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"
#include "pipelines/simulate/detail/system_bodies.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

using pipelines::EnumWord;
using pipelines::Keys;
using pipelines::Need;
using pipelines::Style;
using pipelines::VisitPoint;
using Rows = std::vector<std::vector<double>>;

VectorXd ToVector(const std::vector<double>& v) {
  return Eigen::Map<const VectorXd>(v.data(), static_cast<Eigen::Index>(v.size()));
}

MatrixXd ToMatrix(const std::vector<std::vector<double>>& rows) {
  MatrixXd m(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(rows[0].size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    m.row(static_cast<Eigen::Index>(i)) = ToVector(rows[i]).transpose();
  return m;
}

enum class NamedSystem { kCradle, kBallChain, kRodChain, kDisc, kSphere, kFreeBody };
constexpr EnumWord<NamedSystem> kSystems[] = {
    {NamedSystem::kCradle, "cradle"},           {NamedSystem::kBallChain, "ball_chain"},
    {NamedSystem::kRodChain, "rod_chain"},      {NamedSystem::kDisc, "disc_in_corner"},
    {NamedSystem::kSphere, "sphere_in_corner"}, {NamedSystem::kFreeBody, "free_body"}};

// Keys that several systems have, each named once.
std::vector<double> VisitSystemMasses(Keys& keys, std::size_t least, std::size_t most) {
  std::vector<double> masses;
  keys.Vector("masses_kg", masses, -1, Positive(), "of balls or rods", Need::kRequired);
  keys.Check(masses.size() >= least && masses.size() <= most, "masses_kg",
             fmt::format("{} masses", masses.size()), fmt::format("{} to {}", least, most));
  return masses;
}

std::vector<double> VisitSystemVelocity(Keys& keys, std::size_t n) {
  std::vector<double> v;
  keys.Vector("v_m_per_s", v, static_cast<int>(n), {},
              "of balls along their line; of disc or sphere in W Allowed: list of numbers",
              Need::kRequired);
  return v;
}

double VisitSystemRadius(Keys& keys) {
  double radius = 0;
  keys.Number("radius_m", radius, Positive(), "of balls, disc or sphere", Need::kRequired);
  return radius;
}

// Balls on strings, or balls in a row.
void ReadBalls(Keys& keys, bool cradle, SystemToPredict& out) {
  const std::vector<double> masses = VisitSystemMasses(keys, 2, kMostSystemContacts + 1);
  std::vector<double> v = VisitSystemVelocity(keys, masses.size());
  const std::vector<ContactProperties> contacts(masses.size() - 1, ContactProperties{});
  if (cradle) {
    double length = 0;
    keys.Number("length_m", length, Positive(), "cradle: of the strings, to the centres",
                Need::kRequired);
    for (double& x : v) x /= length;
    out.system = MakeCradle(masses, length, VisitSystemRadius(keys), v, contacts);
  } else {
    out.system = MakeBallChain(masses, v, contacts);
  }
  for (std::size_t i = 0; i < masses.size(); ++i)
    out.velocities.push_back(
        {fmt::format("ball {}", i + 1), cradle ? "rate" : "v", cradle ? "rad/s" : "m/s"});
  for (std::size_t i = 0; i + 1 < masses.size(); ++i)
    out.system.contacts[i].name = fmt::format("{}-{}", i + 1, i + 2);
}

void ReadRods(Keys& keys, SystemToPredict& out) {
  const std::vector<double> masses = VisitSystemMasses(keys, 1, kMostSystemVelocities / 3);
  const auto n = static_cast<int>(masses.size());
  std::vector<double> lengths, angles, rates;
  keys.Vector("lengths_m", lengths, n, Positive(),
              "rod_chain: of the rods Allowed: list of numbers above 0", Need::kRequired);
  keys.Vector("angles_rad", angles, n, {},
              "rod_chain: from the downward vertical Allowed: list of numbers, one of each rod",
              Need::kRequired);
  keys.Vector("rates_rad_per_s", rates, n, {},
              "rod_chain: rates of the angles Allowed: list of numbers, one of each rod",
              Need::kRequired);
  out.system = MakeChain(lengths, masses, angles, rates, ContactProperties{});
  out.system.contacts[0].name = "tip";
  for (int i = 0; i < n; ++i)
    pipelines::AddVelocities(fmt::format("rod {}", i + 1), true, out.velocities);
}

void ReadSystemInCorner(Keys& keys, bool disc, SystemToPredict& out) {
  const std::vector<double> v = VisitSystemVelocity(keys, disc ? 2 : 3);
  double mass = 0, theta_dot = 0;
  Vector3d omega = Vector3d::Zero();
  if (disc)
    keys.Number("theta_dot_rad_per_s", theta_dot, {}, "disc_in_corner: its spin");
  else
    pipelines::VisitVector(keys, "omega_rad_per_s", omega, {}, "sphere_in_corner: its spin");
  keys.Number("mass_kg", mass, Positive(), "of disc or sphere", Need::kRequired);
  const double radius = VisitSystemRadius(keys);
  out.system = disc ? MakeDiscInCorner(radius, mass, v[0], v[1], theta_dot, ContactProperties{})
                    : MakeSphereInCorner(radius, mass, Vector3d(v[0], v[1], v[2]), omega,
                                         ContactProperties{});
  pipelines::AddVelocities(disc ? "disc" : "sphere", disc, out.velocities);
}

void ReadFreeBody(Keys& keys, SystemToPredict& out) {
  bool planar = true;
  keys.Flag("planar", planar, "free_body: motion in the x-z plane", Need::kRequired);
  SystemBody body;
  keys.Map(
      "body", "As `bodies` of a system.",
      [&](Keys& k) { body = pipelines::ReadSystemBody(*k.reading(), planar).body; },
      Need::kRequired);
  Rows rows;
  keys.Vectors("points_m", rows, planar ? 2 : 3, {}, Style::kFlow, "free_body: contact points in B",
               Need::kRequired);
  keys.Check(static_cast<int>(rows.size()) <= kMostSystemContacts, "points_m",
             fmt::format("{} points", rows.size()), fmt::format("at most {}", kMostSystemContacts));
  std::vector<Vector3d> points;
  for (const std::vector<double>& p : rows) points.push_back(pipelines::ToPoint(p, planar));
  Vector3d normal = Vector3d::Zero();
  pipelines::VisitDirection(keys, "normal", normal, planar,
                            "free_body: of the plane that they strike");
  out.system = MakeFreeBody(body, points, normal, ContactProperties{});
  pipelines::AddVelocities(body.body.name, planar, out.velocities);
}

// The systems of Rodriguez 2014, Shen and Townsend 1998 and Barjau et al. 2014 by their names.
void ReadNamedSystem(Keys& keys, SystemToPredict& out) {
  NamedSystem kind = NamedSystem::kCradle;
  keys.Word("kind", kind, kSystems,
            "balls on strings, balls in a row, rods hung from the ground whose tip strikes the "
            "floor, a disc between floor and wall, a sphere between floor and two walls, a free "
            "body",
            Need::kRequired);
  switch (kind) {
    case NamedSystem::kCradle:
    case NamedSystem::kBallChain:
      return ReadBalls(keys, kind == NamedSystem::kCradle, out);
    case NamedSystem::kRodChain:
      return ReadRods(keys, out);
    case NamedSystem::kDisc:
    case NamedSystem::kSphere:
      return ReadSystemInCorner(keys, kind == NamedSystem::kDisc, out);
    case NamedSystem::kFreeBody:
      return ReadFreeBody(keys, out);
  }
}

// Which rows of the matrices a fault of the system speaks of: "system: M: found ..." becomes
// "file:line: matrices.mass_matrix: found ...".
void CheckMatrices(const Keys& keys, ImpactSystem& system) {
  try {
    for (ContactProperties& c : system.contacts) c.name = "C";
    CheckSystem(system);
  } catch (const ConfigError& fault) {
    std::string_view rest = fault.what();
    rest.remove_prefix(std::min(rest.size(), std::string_view("system: ").size()));
    const std::size_t colon = rest.find(": found ");
    if (colon == rest.npos) throw;
    std::string key(rest.substr(0, colon)),
        found(rest.substr(colon + std::string_view(": found ").size()));
    key = key == "M"                     ? "mass_matrix"
          : key.rfind("u_minus", 0) == 0 ? "u_minus"
          : key == "rows"                ? "contact_rows"
                                         : key;
    const std::size_t allowed = found.find(", allowed ");
    throw keys.reading()->Fault(
        key, found.substr(0, allowed),
        allowed == found.npos ? "" : found.substr(allowed + std::string_view(", allowed ").size()));
  }
}

// Mass matrix and rows of another multibody program.
void ReadMatrices(Keys& keys, SystemToPredict& out) {
  ImpactSystem& system = out.system;
  std::vector<double> u;
  keys.Vector("u_minus", u, -1, {}, "velocities before the impact", Need::kRequired);
  system.u_minus = ToVector(u);
  const auto n = static_cast<int>(u.size());
  keys.Check(n <= kMostSystemVelocities, "u_minus", fmt::format("{} velocities", n),
             fmt::format("at most {}", kMostSystemVelocities));
  Rows mass, contact, joint;
  keys.Vectors("mass_matrix", mass, n, {}, Style::kFlow,
               "in units that make u' M u / 2 an energy in J Allowed: n lists of n numbers",
               Need::kRequired);
  system.M = ToMatrix(mass);
  keys.Check(system.M.rows() == n, "mass_matrix", fmt::format("{} rows", system.M.rows()),
             fmt::format("{}, as many as u_minus", n));
  keys.Count("rows_per_contact", system.width, Closed(1, 3),
             "1: normal; 2: F_x, normal; 3: F_x, F_y, normal", Need::kRequired);
  keys.Vectors("contact_rows", contact, n, {}, Style::kFlow,
               "velocities of the contact points in their frames, contact by contact Allowed: "
               "lists of n numbers",
               Need::kRequired);
  system.rows = ToMatrix(contact);
  const Eigen::Index m = system.rows.rows() / system.width;
  keys.Check(m * system.width == system.rows.rows(), "contact_rows",
             fmt::format("{} rows", system.rows.rows()),
             fmt::format("{} for each contact", system.width));
  keys.Check(m <= kMostSystemContacts, "contact_rows", fmt::format("{} contacts", m),
             fmt::format("at most {}", kMostSystemContacts));
  keys.Vectors("joint_rows", joint, n, {}, Style::kFlow,
               "velocities that are zero; may depend on each other. Allowed: lists of n numbers "
               "Default: none");
  system.joints = joint.empty() ? MatrixXd(0, n) : ToMatrix(joint);
  system.contacts.resize(static_cast<std::size_t>(m));
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) names.push_back(fmt::format("u{}", i + 1));
  keys.Texts("names", names, "of the velocities. Default: u1, u2, ...");
  keys.Check(static_cast<int>(names.size()) == n, "names", fmt::format("{} names", names.size()),
             fmt::format("{}, as many as u_minus", n));
  for (const std::string& name : names)
    keys.Check(std::count(names.begin(), names.end(), name) == 1, "names", Excerpt(name) + " twice",
               "every name once");
  for (const std::string& name : names) out.velocities.push_back({name, "", ""});
  CheckMatrices(keys, system);
}

// Properties of the contacts of a system that was made without them: `every_contact`, and
// `contacts` one by one.
void ReadSystemContacts(const YamlNode& root, const YamlNode& every, ImpactSystem& system) {
  const std::size_t m = system.contacts.size();
  std::vector<YamlNode> nodes(m);
  if (root.Has("contacts")) {
    nodes = root.List("contacts");
    if (nodes.size() != m)
      throw root.Fault("contacts", fmt::format("{} contacts", nodes.size()),
                       fmt::format("{}, as many as the system has", m));
  } else if (!root.Has("every_contact")) {
    throw root.Fault("every_contact", "neither every_contact nor contacts",
                     "one of them, with the restitution e");
  }
  for (std::size_t i = 0; i < m; ++i) {
    const std::string name = system.contacts[i].name.empty() || system.contacts[i].name == "C"
                                 ? fmt::format("C{}", i + 1)
                                 : system.contacts[i].name;
    // Without a node of its own a contact reads its faults at every_contact.
    system.contacts[i] = pipelines::ReadProperties(root.Has("contacts") ? nodes[i] : every, every);
    system.contacts[i].name = nodes[i].Text("name", name);
  }
}

enum class Closure { kShares, kCorner, kBlock, kChain };
constexpr EnumWord<Closure> kClosures[] = {{Closure::kShares, "shares"},
                                           {Closure::kCorner, "corner"},
                                           {Closure::kBlock, "block"},
                                           {Closure::kChain, "chain"}};
constexpr EnumWord<GlobalMode> kModes[] = {{GlobalMode::kPhysical, "physical"},
                                           {GlobalMode::kThesis, "thesis"}};

// How the impulses of dependent contacts are divided where no rows of one's own are given.
void VisitClosure(Keys& keys, const ImpactSystem& system, GlobalOptions& global) {
  const std::size_t m = system.contacts.size();
  Closure closure = Closure::kShares;
  keys.Word("closure", closure, kClosures,
            "how it divides the normal impulses of dependent contacts, a rule of selection: by "
            "shares, or by the relations of Rodriguez 2014 (corner; block, planar with two "
            "contacts; chain, frictionless)");
  if (closure == Closure::kShares) return;
  const bool chain = closure == Closure::kChain;
  keys.Check(chain ? system.width == 1 : (system.width == 2 && m == 2), "closure",
             fmt::format("{} for {} contacts of {} rows",
                         kClosures[static_cast<std::size_t>(closure)].word, m, system.width),
             chain ? "chain for frictionless contacts (1 row each)"
                   : "corner and block for 2 planar contacts (2 rows each)");
  global.closure = chain                         ? ChainClosure(static_cast<int>(m))
                   : closure == Closure::kCorner ? CornerClosure()
                                                 : BlockClosure();
}

void VisitGlobal(Keys& keys, const ImpactSystem& system, GlobalOptions& global) {
  const std::size_t m = system.contacts.size();
  global.e_star.clear();
  keys.Stated(true).Vector("e_star", global.e_star, -1, Closed(-1, 1),
                           "coefficients by event; the last holds for all that follow. Default: "
                           "the common e; none where contacts differ");
  if (global.e_star.empty()) {
    const double e = system.contacts[0].e;
    if (std::all_of(system.contacts.begin(), system.contacts.end(),
                    [&](const ContactProperties& c) { return c.e == e; }))
      global.e_star = {e};
  }
  keys.Word("mode", global.mode, kModes,
            "or thesis: what the tables of Rodriguez 2014 were computed with; its certificate "
            "fails");
  std::vector<double> share;
  keys.Stated(true).Vector("share", share, static_cast<int>(m), Positive(),
                           "proportions, one of each contact. Allowed: list of numbers above 0 "
                           "Default: equal");
  if (!share.empty()) global.share = ToVector(share);
  Rows relations;
  keys.Vectors("relations", relations, static_cast<int>(m) * system.width, {}, Style::kFlow,
               "of one's own, rows over the stacked impulses (tangents with sign, normals by "
               "magnitude); instead of closure. Allowed: lists of numbers Default: none");
  if (relations.empty()) return VisitClosure(keys, system, global);
  keys.Check(!keys.reading()->Has("closure"), "relations", "closure as well",
             "one of closure and relations");
  global.closure = ToMatrix(relations);
}

// Names of all contacts in the order in which they are struck.
void VisitOrder(Keys& keys, SystemToPredict& out) {
  std::vector<std::string> names, words;
  for (const ContactProperties& c : out.system.contacts) names.push_back(c.name);
  keys.Stated(true).Texts("order", words,
                          "names of all contacts: of those that approach the first is struck next. "
                          "Default: the fastest first");
  if (words.empty()) return;
  const std::string allowed = "every contact once: " + JoinNames(names);
  for (const std::string& word : words) {
    const auto at = std::find(names.begin(), names.end(), word);
    keys.Check(at != names.end(), "order", Excerpt(word), allowed);
    out.order.push_back(static_cast<int>(at - names.begin()));
  }
  const std::set<int> different(out.order.begin(), out.order.end());
  keys.Check(out.order.size() == names.size() && different.size() == names.size(), "order",
             fmt::format("{} names, {} of them different", out.order.size(), different.size()),
             allowed);
}

void VisitOutcomes(Keys& keys, SystemToPredict& out) {
  keys.Map("outcomes", "what rigid bodies leave open", [&](Keys& k) {
    k.Count("max_tried", out.max_tried, Closed(1, 100000),
            "orders, and combinations of stiffness, tried for the set of outcomes. Default: 500 of "
            "each, springs up to 7 contacts");
    k.Vector("stiffness_ratios", out.ratios, -1, Positive(),
             "the stiffness of every contact is multiplied by each, all combinations");
  });
  keys.Map("sequence", "of laws that strike one contact after the other",
           [&](Keys& k) { VisitOrder(k, out); });
}

// Bodies, a system of the literature by its name, or matrices: the one that is there.
std::string FormOf(const YamlNode& root) {
  const std::pair<const char*, const char*> kForms[] = {
      {"bodies", "bodies, with joints and contacts; or system, or matrices"},
      {"system", "in place of bodies"},
      {"matrices", "in place of bodies"}};
  std::string form;
  for (const auto& [key, meaning] : kForms) {
    root.Explain(key, meaning);
    if (!root.Has(key)) continue;
    if (!form.empty())
      throw root.Fault(key, form + " as well", "one of bodies, system and matrices");
    form = key;
  }
  if (form.empty())
    throw root.Fault("bodies", "nothing",
                     "one of bodies, system (a system of the literature by its name) and matrices");
  return form;
}

SystemToPredict ReadSystem(const YamlNode& root) {
  SystemToPredict out;
  out.name = root.File().stem().string();
  Keys keys(root);
  keys.Schema("impactlab.system/1");
  keys.Text("name", out.name, "title. Default: name of the file");
  keys.Stated(true).Text("source", out.source, "where it is from. Default: none");
  root.Explain("every_contact", "for every contact that does not give its own");
  const YamlNode every = root.MapOrEmpty("every_contact");
  const std::string form = FormOf(root);
  try {
    if (form == "bodies") {
      pipelines::ReadBodySystem(root, every, out);
    } else {
      const YamlNode node = root.Map(form);
      Keys of_form(node);
      form == "system" ? ReadNamedSystem(of_form, out) : ReadMatrices(of_form, out);
      ReadSystemContacts(root, every, out.system);
    }
    CheckSystem(out.system);
  } catch (const ConfigError& fault) {
    // The impact room does not know the file.
    if (std::string_view(fault.what()).rfind("system: ", 0) != 0) throw;
    throw ConfigError(fmt::format("{}: {}", root.Where(form), fault.what()));
  }
  std::set<std::string> seen;
  for (const ContactProperties& c : out.system.contacts)
    if (!seen.insert(c.name).second)
      throw root.Fault("contacts", fmt::format("the name {} twice", Excerpt(c.name)),
                       "every name once");
  keys.Map("global", "of the global energetic law",
           [&](Keys& k) { VisitGlobal(k, out.system, out.global); });
  VisitOutcomes(keys, out);
  root.Finish();
  return out;
}

}  // namespace

bool IsSystemFile(const std::filesystem::path& path) {
  return LoadYaml(path).Text("schema").rfind("impactlab.system/", 0) == 0;
}

SystemToPredict LoadSystem(const std::filesystem::path& path) { return ReadSystem(LoadYaml(path)); }

SystemToPredict ParseSystem(const std::string& text, const std::string& name) {
  return ReadSystem(ParseYaml(text, name));
}

}  // namespace impactlab
