#include "pipelines/simulate/system_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "impact/multi/system_builders.h"
#include "pipelines/simulate/detail/system_bodies.h"

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

constexpr const char* kSystemSchema = "impactlab.system/1";

VectorXd ToVector(const std::vector<double>& v) {
  return Eigen::Map<const VectorXd>(v.data(), static_cast<Eigen::Index>(v.size()));
}

MatrixXd ToMatrix(const std::vector<std::vector<double>>& rows) {
  MatrixXd m(static_cast<Eigen::Index>(rows.size()), static_cast<Eigen::Index>(rows[0].size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
    m.row(static_cast<Eigen::Index>(i)) = ToVector(rows[i]).transpose();
  return m;
}

// A list that has one entry for each of something.
std::vector<double> One(const YamlNode& node, const std::string& key, std::size_t n,
                        const Range& allowed = {}) {
  return node.Vector(key, static_cast<int>(n), allowed);
}

std::vector<double> Masses(const YamlNode& node, std::size_t least, std::size_t most) {
  std::vector<double> masses = node.Vector("masses_kg", -1, Positive());
  if (masses.size() < least || masses.size() > most)
    throw node.Fault("masses_kg", fmt::format("{} masses", masses.size()),
                     fmt::format("{} to {}", least, most));
  return masses;
}

// The systems of Rodriguez 2014, Shen and Townsend 1998 and Barjau et al. 2014 by their names.
void ReadNamedSystem(const YamlNode& root, SystemToPredict& out) {
  const YamlNode node = root.Map("system");
  const std::string kind = node.Choice("kind", {"cradle", "ball_chain", "rod_chain",
                                                "disc_in_corner", "sphere_in_corner", "free_body"});
  auto& names = out.velocities;
  // Properties come later, for all systems in one way.
  const ContactProperties any;
  if (kind == "cradle" || kind == "ball_chain") {
    const std::vector<double> masses = Masses(node, 2, kMostSystemContacts + 1);
    std::vector<double> v = One(node, "v_m_per_s", masses.size());
    const std::vector<ContactProperties> contacts(masses.size() - 1, any);
    if (kind == "cradle") {
      const double length = node.Number("length_m", Positive());
      for (double& x : v) x /= length;
      out.system = MakeCradle(masses, length, node.Number("radius_m", Positive()), v, contacts);
    } else {
      out.system = MakeBallChain(masses, v, contacts);
    }
    for (std::size_t i = 0; i < masses.size(); ++i)
      names.push_back({fmt::format("ball {}", i + 1), kind == "cradle" ? "rate" : "v",
                       kind == "cradle" ? "rad/s" : "m/s"});
    for (std::size_t i = 0; i + 1 < masses.size(); ++i)
      out.system.contacts[i].name = fmt::format("{}-{}", i + 1, i + 2);
  } else if (kind == "rod_chain") {
    const std::vector<double> masses = Masses(node, 1, kMostSystemVelocities / 3);
    const std::size_t n = masses.size();
    out.system = MakeChain(One(node, "lengths_m", n, Positive()), masses,
                           One(node, "angles_rad", n), One(node, "rates_rad_per_s", n), any);
    out.system.contacts[0].name = "tip";
    for (std::size_t i = 0; i < n; ++i)
      pipelines::AddVelocities(fmt::format("rod {}", i + 1), true, names);
  } else if (kind == "disc_in_corner") {
    const std::vector<double> v = node.Vector("v_m_per_s", 2);
    out.system =
        MakeDiscInCorner(node.Number("radius_m", Positive()), node.Number("mass_kg", Positive()),
                         v[0], v[1], node.Number("theta_dot_rad_per_s", 0.0), any);
    pipelines::AddVelocities("disc", true, names);
  } else if (kind == "sphere_in_corner") {
    const std::vector<double> v = node.Vector("v_m_per_s", 3),
                              omega = node.Vector("omega_rad_per_s", 3, {0, 0, 0});
    out.system =
        MakeSphereInCorner(node.Number("radius_m", Positive()), node.Number("mass_kg", Positive()),
                           Vector3d(v[0], v[1], v[2]), Vector3d(omega[0], omega[1], omega[2]), any);
    pipelines::AddVelocities("sphere", false, names);
  } else {
    const bool planar = node.Flag("planar");
    const SystemBody body = pipelines::ReadSystemBody(node.Map("body"), planar).body;
    std::vector<Vector3d> points;
    for (const auto& p : node.Vectors("points_m", planar ? 2 : 3))
      points.push_back(pipelines::ToPoint(p, planar));
    if (static_cast<int>(points.size()) > kMostSystemContacts)
      throw node.Fault("points_m", fmt::format("{} points", points.size()),
                       fmt::format("at most {}", kMostSystemContacts));
    out.system = MakeFreeBody(body, points, pipelines::ReadDirection(node, "normal", planar), any);
    pipelines::AddVelocities(body.body.name, planar, names);
  }
}

// Mass matrix and rows of another multibody program.
void ReadMatrices(const YamlNode& root, SystemToPredict& out) {
  const YamlNode node = root.Map("matrices");
  ImpactSystem& system = out.system;
  system.u_minus = ToVector(node.Vector("u_minus", -1));
  const auto n = static_cast<int>(system.u_minus.size());
  if (n > kMostSystemVelocities)
    throw node.Fault("u_minus", fmt::format("{} velocities", n),
                     fmt::format("at most {}", kMostSystemVelocities));
  const auto matrix = [&](const char* key) { return ToMatrix(node.Vectors(key, n)); };
  system.M = matrix("mass_matrix");
  if (system.M.rows() != n)
    throw node.Fault("mass_matrix", fmt::format("{} rows", system.M.rows()),
                     fmt::format("{}, as many as u_minus", n));
  system.width = static_cast<int>(node.Integer("rows_per_contact", Closed(1, 3)));
  system.rows = matrix("contact_rows");
  const Eigen::Index m = system.rows.rows() / system.width;
  if (m * system.width != system.rows.rows())
    throw node.Fault("contact_rows", fmt::format("{} rows", system.rows.rows()),
                     fmt::format("{} for each contact", system.width));
  if (m > kMostSystemContacts)
    throw node.Fault("contact_rows", fmt::format("{} contacts", m),
                     fmt::format("at most {}", kMostSystemContacts));
  system.joints = node.Has("joint_rows") ? matrix("joint_rows") : MatrixXd(0, n);
  system.contacts.resize(static_cast<std::size_t>(m));
  std::vector<std::string> names;
  for (int i = 0; i < n; ++i) names.push_back(fmt::format("u{}", i + 1));
  names = node.Texts("names", names);
  if (static_cast<int>(names.size()) != n)
    throw node.Fault("names", fmt::format("{} names", names.size()),
                     fmt::format("{}, as many as u_minus", n));
  for (const std::string& name : names)
    if (std::count(names.begin(), names.end(), name) > 1)
      throw node.Fault("names", Excerpt(name) + " twice", "every name once");
  for (const std::string& name : names) out.velocities.push_back({name, "", ""});
  try {
    for (ContactProperties& c : system.contacts) c.name = "C";
    CheckSystem(system);
  } catch (const ConfigError& fault) {
    // "system: M: found ..." becomes "file:line: matrices.mass_matrix: found ...".
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
    throw node.Fault(
        key, found.substr(0, allowed),
        allowed == found.npos ? "" : found.substr(allowed + std::string_view(", allowed ").size()));
  }
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

void ReadGlobal(const YamlNode& root, SystemToPredict& out) {
  const YamlNode node = root.MapOrEmpty("global");
  const ImpactSystem& system = out.system;
  const std::size_t m = system.contacts.size();
  if (node.Has("e_star")) {
    out.global.e_star = node.Vector("e_star", -1, Closed(-1, 1));
  } else {
    const double e = system.contacts[0].e;
    out.global.e_star = {e};
    for (const ContactProperties& c : system.contacts)
      if (c.e != e) out.global.e_star.clear();
  }
  out.global.mode = node.Choice("mode", "physical", {"physical", "thesis"}) == "thesis"
                        ? GlobalMode::kThesis
                        : GlobalMode::kPhysical;
  if (node.Has("share")) out.global.share = ToVector(One(node, "share", m, Positive()));
  const auto columns = static_cast<int>(m) * system.width;
  if (node.Has("relations")) {
    if (node.Has("closure"))
      throw node.Fault("relations", "closure as well", "one of closure and relations");
    out.global.closure = ToMatrix(node.Vectors("relations", columns));
    return;
  }
  const std::string closure =
      node.Choice("closure", "shares", {"shares", "corner", "block", "chain"});
  if (closure == "shares") return;
  const bool chain = closure == "chain";
  if (chain ? system.width != 1 : (system.width != 2 || m != 2))
    throw node.Fault("closure",
                     fmt::format("{} for {} contacts of {} rows", closure, m, system.width),
                     chain ? "chain for frictionless contacts (1 row each)"
                           : "corner and block for 2 planar contacts (2 rows each)");
  out.global.closure = chain                 ? ChainClosure(static_cast<int>(m))
                       : closure == "corner" ? CornerClosure()
                                             : BlockClosure();
}

void ReadOutcomes(const YamlNode& root, SystemToPredict& out) {
  const YamlNode node = root.MapOrEmpty("outcomes");
  out.max_tried = static_cast<int>(node.Integer("max_tried", 0, Closed(1, 100000)));
  out.ratios = node.Vector("stiffness_ratios", -1, out.ratios, Positive());
  const YamlNode sequence = root.MapOrEmpty("sequence");
  if (!sequence.Has("order")) return;
  std::vector<std::string> names;
  for (const ContactProperties& c : out.system.contacts) names.push_back(c.name);
  const std::string allowed = "every contact once: " + JoinNames(names);
  for (const std::string& word : sequence.Texts("order")) {
    const auto at = std::find(names.begin(), names.end(), word);
    if (at == names.end()) throw sequence.Fault("order", Excerpt(word), allowed);
    out.order.push_back(static_cast<int>(at - names.begin()));
  }
  const std::set<int> different(out.order.begin(), out.order.end());
  if (out.order.size() != names.size() || different.size() != names.size())
    throw sequence.Fault(
        "order", fmt::format("{} names, {} of them different", out.order.size(), different.size()),
        allowed);
}

SystemToPredict ReadSystem(const YamlNode& root) {
  SystemToPredict out;
  root.Choice("schema", {kSystemSchema});
  out.name = root.Text("name", root.File().stem().string());
  if (root.Has("source")) out.source = root.Text("source");
  const YamlNode every = root.MapOrEmpty("every_contact");
  const char* const kForms[] = {"bodies", "system", "matrices"};
  std::string form;
  for (const char* key : kForms) {
    if (!root.Has(key)) continue;
    if (!form.empty())
      throw root.Fault(key, form + " as well", "one of bodies, system and matrices");
    form = key;
  }
  if (form.empty())
    throw root.Fault("bodies", "nothing",
                     "one of bodies, system (a system of the literature by its name) and matrices");
  try {
    if (form == "bodies") {
      pipelines::ReadBodySystem(root, every, out);
    } else {
      form == "system" ? ReadNamedSystem(root, out) : ReadMatrices(root, out);
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
  ReadGlobal(root, out);
  ReadOutcomes(root, out);
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
