// Sweep files of maps.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "data/files/text.h"
#include "impact/law/law_table.h"
#include "pipelines/config/grid_axis.h"
#include "pipelines/config/visit.h"
#include "pipelines/config/yaml.h"
#include "pipelines/map/impact_map.h"

namespace impactlab {
namespace {

using pipelines::EnumWord;
using pipelines::Keys;
using pipelines::Need;

constexpr double kMaxPoints = 1e6;  // some 200 MB a law

// In the order of the enumeration.
struct Parameter {
  const char* name;
  const char* meaning;
};
constexpr Parameter kParameters[kMapParameters] = {
    {"lean_rad",
     "between the normal and the line from the contact to the centre of mass. Default: 0"},
    {"azimuth_rad", "in space: of the lean, about the normal from F_x. Default: 0"},
    {"v_x_m_per_s", "of the centre of mass. Default: 0"},
    {"v_y_m_per_s", "in space: of the centre of mass. Default: 0"},
    {"v_z_m_per_s", "of the centre of mass. Default: 0"},
    {"contact_v_x_m_per_s", "of the contact point, instead of v_x. Default: 0"},
    {"contact_v_y_m_per_s", "in space: of the contact point, instead of v_y. Default: 0"},
    {"contact_v_z_m_per_s", "of the contact point, instead of v_z. Default: 0"},
    {"theta_dot_rad_per_s", "in a plane: spin. Default: 0"},
    {"omega_x_rad_per_s", "in space: spin. Default: 0"},
    {"omega_y_rad_per_s", "in space: spin. Default: 0"},
    {"omega_z_rad_per_s", "in space: spin. Default: 0"},
    {"e", "restitution, as each law means it; here or on an axis. Default: required"},
    {"mu_k", "kinetic friction; here or on an axis. Default: required"},
    {"mu_s_over_mu_k", "static over kinetic friction. Default: 1"},
    {"e_t", "in a plane: tangential restitution of Whittaker's law. Default: 0"},
    {"impulse_ratio", "of law ratio: J_t / J_n. Default: required with it"}};

int Index(MapParameter p) { return static_cast<int>(p); }

// Parameters of planar maps and of maps in space; the rest is refused rather than ignored.
bool Counts(MapParameter p, bool planar) {
  switch (p) {
    case MapParameter::kAzimuth:
    case MapParameter::kVy:
    case MapParameter::kContactVy:
    case MapParameter::kOmegaX:
    case MapParameter::kOmegaY:
    case MapParameter::kOmegaZ:
      return !planar;
    case MapParameter::kThetaDot:
    case MapParameter::kEt:
    case MapParameter::kImpulseRatio:
      return planar;
    default:
      return true;
  }
}

bool OfContact(MapParameter p) {
  return p == MapParameter::kContactVx || p == MapParameter::kContactVy ||
         p == MapParameter::kContactVz;
}
bool OfCentre(MapParameter p) {
  return p == MapParameter::kVx || p == MapParameter::kVy || p == MapParameter::kVz;
}

std::vector<std::string> Allowed(bool planar) {
  std::vector<std::string> names;
  for (int i = 0; i < kMapParameters; ++i)
    if (Counts(static_cast<MapParameter>(i), planar))
      names.push_back(MapParameterNames()[static_cast<std::size_t>(i)]);
  return names;
}

MapParameter Named(const std::string& name) {
  const auto& names = MapParameterNames();
  return static_cast<MapParameter>(std::find(names.begin(), names.end(), name) - names.begin());
}

Range RangeOf(MapParameter p) {
  switch (p) {
    case MapParameter::kE:
      return Closed(0, 1);
    case MapParameter::kMuK:
      return Closed(0, 1e6);
    case MapParameter::kMuSOverMuK:
      return AtLeast(1);
    case MapParameter::kEt:
      return Closed(-1, 1);
    default:
      return Closed(-1e6, 1e6);
  }
}

void VisitAxis(Keys& keys, MapAxis& axis, bool planar) {
  std::string name;
  keys.OneOf("sets", name, Allowed(planar),
             "parameter: of the body's attitude, of its motion (v of the centre of mass, contact_v "
             "of the contact point instead), or of the law",
             Need::kRequired);
  axis.parameter = Named(name);
  keys.Text("label", axis.label, "with unit", Need::kRequired);
  keys.Number("offset", axis.offset, {},
              "parameter = offset + factor * value on the axis, for sources that count otherwise");
  keys.Number("factor", axis.factor, {}, "parameter = offset + factor * value on the axis");
  axis.shown =
      pipelines::VisitGrid(keys, kMaxPoints, "of values; or step. At most 1e6 points in all");
  const Range range = RangeOf(axis.parameter);
  for (const double end : {axis.shown.front(), axis.shown.back()})
    keys.Check(range.Contains(axis.Value(end)), "sets",
               fmt::format("{} = {:g}", name, axis.Value(end)), range.Words());
}

using Kind = MapStatement::Kind;
constexpr EnumWord<Kind> kStatements[] = {
    {Kind::kChange, "change"},     {Kind::kCases, "cases"},        {Kind::kMaximum, "maximum"},
    {Kind::kMinimum, "minimum"},   {Kind::kInside, "inside"},      {Kind::kPresent, "present"},
    {Kind::kNegative, "negative"}, {Kind::kSymmetric, "symmetric"}};
constexpr EnumWord<char> kMirrors[] = {{'x', "x"}, {'y', "y"}};

void VisitPrinted(Keys& keys, MapStatement& s) {
  keys.Number("printed", s.printed, {}, "value, or place on x, as printed", Need::kRequired);
  keys.Number("tolerance", s.tolerance, Positive(), "within which it agrees", Need::kRequired);
}

// Of a statement about one quantity, in a box.
void VisitQuantity(Keys& keys, MapStatement& s, const MapSweep& sweep) {
  std::vector<std::string> quantities;
  for (const MapQuantity& q : MapQuantities()) quantities.push_back(q.name);
  keys.OneOf("quantity", s.quantity, quantities,
             "column of the output that it is said of Allowed: dissipation, v_plus_x_m_per_s, "
             "contact_v_plus_x_m_per_s, ..., as the CSV names them",
             Need::kRequired);
  if (s.kind == Kind::kMaximum || s.kind == Kind::kMinimum) VisitPrinted(keys, s);
  const bool inside = s.kind == Kind::kInside;
  if (inside) keys.Flag("least", s.least, "the least value lies inside, not the largest");
  if (s.kind == Kind::kSymmetric) {
    keys.Word("axis", s.axis, kMirrors, "of the symmetry", Need::kRequired);
    s.tolerance = 1e-9;
    keys.Number("tolerance", s.tolerance, Positive(), "");
  }
  const YamlNode& node = *keys.reading();
  if (inside || node.Has("x"))
    keys.Vector("x", s.x_box, 2, {}, "box on x that it is said of. Default: all", Need::kRequired);
  if (sweep.y && (inside || node.Has("y")))
    keys.Vector("y", s.y_box, 2, {}, "box on y; change and cases: the one value of y. Default: all",
                Need::kRequired);
}

void VisitStatement(Keys& keys, MapStatement& s, const MapSweep& sweep) {
  keys.Word("kind", s.kind, kStatements,
            "Change of the case along x, all cases along x, largest or smallest value, where it "
            "lies, cases present, a value below zero, or a symmetry.",
            Need::kRequired);
  keys.Text("says", s.says, "the words", Need::kRequired);
  keys.Stated(true).Text("note", s.note, "a remark. Default: none");
  s.law = sweep.laws.front();
  keys.OneOf("law", s.law, sweep.laws,
             "which law it is said of. Allowed: one of laws Default: the first");
  if (s.kind == Kind::kChange) {
    keys.Text("from", s.from, "case digit below the change", Need::kRequired);
    keys.Text("to", s.to, "case digit above it", Need::kRequired);
    VisitPrinted(keys, s);
  } else if (s.kind == Kind::kCases || s.kind == Kind::kPresent) {
    keys.Texts("cases", s.cases, "case digits", Need::kRequired);
  } else {
    VisitQuantity(keys, s, sweep);
  }
  if ((s.kind == Kind::kChange || s.kind == Kind::kCases) && sweep.y)
    keys.Number("y", s.y, {}, "", Need::kRequired);
  keys.Check(s.kind != Kind::kSymmetric || s.axis != 'y' || sweep.y, "axis", "y",
             "x: a scan has no second axis");
}

void VisitMapBody(Keys& keys, MapSweep& sweep) {
  keys.Flag("planar", sweep.planar, "motion in a plane", Need::kRequired);
  keys.Number("mass_kg", sweep.mass, Positive(), "its mass");
  keys.Number("lever_m", sweep.lever, Positive(), "length L of the lever", Need::kRequired);
  const char* const key = "inertia_kg_m2";
  const char* const meaning =
      "about the centre of mass: one number in a plane, three (B_x, B_y, B_z) in space";
  Eigen::Vector3d& I = sweep.inertia;
  if (sweep.planar) {
    double moment = 1;
    keys.Number(key, moment, Positive(), meaning, Need::kRequired);
    I.setConstant(moment);
    return;
  }
  pipelines::VisitVector(keys, key, I, Positive(), meaning, Need::kRequired);
  for (int i = 0; i < 3; ++i)
    keys.Check(I[(i + 1) % 3] + I[(i + 2) % 3] >= I[i] * (1 - 1e-12), key,
               fmt::format("{:g} above the sum of the other two", I[i]),
               "moments that a body can have");
}

void VisitMapLaws(Keys& keys, MapSweep& sweep) {
  const std::vector<std::string> spatial = SpatialLawNames();
  std::vector<std::string> all, planar;
  for (const PredictionLaw& law : PredictionLaws()) {
    all.push_back(law.word);
    if (!law.spatial) planar.push_back(law.listed ? law.word : law.word + " (" + law.rule + ")");
  }
  all.emplace_back("ratio");
  sweep.laws = {LawName(kReferenceLaw)};
  keys.Texts("laws", sweep.laws,
             fmt::format("{}; in a plane also {} and ratio (a given J_t / J_n, no law)",
                         JoinNames(spatial), JoinNames(planar))
                 .c_str());
  for (auto law = sweep.laws.begin(); law != sweep.laws.end(); ++law) {
    const auto known = std::find(all.begin(), all.end(), *law);
    const bool in_space = std::find(spatial.begin(), spatial.end(), *law) != spatial.end();
    keys.Check(known != all.end() && (sweep.planar || in_space), "laws", *law,
               sweep.planar ? JoinNames(all) : JoinNames(spatial) + " in space");
    keys.Check(std::find(sweep.laws.begin(), law, *law) == law, "laws", *law + " twice",
               "every law once");
  }
}

void VisitMapAxes(Keys& keys, MapSweep& sweep) {
  keys.Map(
      "x", "axis to the right", [&](Keys& k) { VisitAxis(k, sweep.x, sweep.planar); },
      Need::kRequired);
  keys.Stated(true).Map("y",
                        "axis upwards. Default: none, a scan that draws all laws in one "
                        "picture",
                        [&](Keys& k) { VisitAxis(k, sweep.y.emplace(), sweep.planar); });
  keys.Check(!sweep.y || sweep.y->parameter != sweep.x.parameter, "y", "the parameter of x",
             "another parameter");
  keys.Check(static_cast<double>(sweep.x.shown.size()) *
                     static_cast<double>(sweep.y ? sweep.y->shown.size() : 1) <=
                 kMaxPoints,
             "x", "too many points", "at most 1e6 in all");
}

// Values that no axis sets; `given` gains their parameters.
void VisitFixed(Keys& keys, MapSweep& sweep, std::vector<MapParameter>& given) {
  for (int i = 0; i < kMapParameters; ++i) {
    const auto p = static_cast<MapParameter>(i);
    if (!Counts(p, sweep.planar)) continue;
    const auto at = static_cast<std::size_t>(i);
    const char* const name = kParameters[at].name;
    const YamlNode& fixed = *keys.reading();
    fixed.Explain(name, kParameters[at].meaning);
    if (!fixed.Has(name)) continue;
    keys.Check(std::find(given.begin(), given.end(), p) == given.end(), name,
               "a parameter that an axis sets", "every parameter once");
    keys.Number(name, sweep.fixed[at], RangeOf(p), kParameters[at].meaning, Need::kRequired);
    given.push_back(p);
  }
}

// Whether everything is set that the laws need.
void VisitMotionAndLaw(Keys& keys, MapSweep& sweep) {
  sweep.fixed[static_cast<std::size_t>(Index(MapParameter::kMuSOverMuK))] = 1;
  std::vector<MapParameter> given = {sweep.x.parameter};
  if (sweep.y) given.push_back(sweep.y->parameter);
  keys.Map(
      "fixed",
      "the other parameters; e and mu_k (with law ratio alone impulse_ratio) are here or on an "
      "axis",
      [&](Keys& k) { VisitFixed(k, sweep, given); }, Need::kRequired);
  const auto has = [&](auto test) { return std::any_of(given.begin(), given.end(), test); };
  sweep.contact_velocity = has(OfContact);
  keys.Check(!sweep.contact_velocity || !has(OfCentre), "fixed",
             "velocities of the contact point and of the centre", "one of the two kinds");
  const bool only_ratio = sweep.laws == std::vector<std::string>{"ratio"};
  for (const MapParameter p :
       {MapParameter::kE, only_ratio ? MapParameter::kImpulseRatio : MapParameter::kMuK})
    keys.Check(std::find(given.begin(), given.end(), p) != given.end(), "fixed",
               "no " + MapParameterNames()[static_cast<std::size_t>(Index(p))],
               "it here or on an axis");
}

void VisitMapPictures(Keys& keys, MapSweep& sweep) {
  std::vector<std::string> known = {"case"};
  for (const MapQuantity& q : MapQuantities()) known.push_back(q.name);
  sweep.pictures = {"case", "dissipation"};
  keys.Texts("pictures", sweep.pictures, "case and columns of the output");
  for (const std::string& picture : sweep.pictures)
    keys.Check(std::find(known.begin(), known.end(), picture) != known.end(), "pictures", picture,
               JoinNames(known));
}

// The whole file. Sweeps are read only.
void VisitSweep(Keys& keys, MapSweep& sweep) {
  keys.Schema("impactlab.map/1");
  keys.Text("name", sweep.name, "title", Need::kRequired);
  keys.Stated(true).Text("figure", sweep.figure, "the figure it repeats. Default: none");
  keys.Stated(true).Text("assumptions", sweep.assumptions,
                         "what the source leaves open and we chose. Default: none");
  keys.Map(
      "body", "what strikes", [&](Keys& k) { VisitMapBody(k, sweep); }, Need::kRequired);
  VisitMapLaws(keys, sweep);
  VisitMapAxes(keys, sweep);
  VisitMotionAndLaw(keys, sweep);
  VisitMapPictures(keys, sweep);
  keys.List("statements", sweep.statements,
            "what the source says of the figure, to be checked. Default: none",
            pipelines::Style::kLines,
            [&](Keys& k, MapStatement& statement) { VisitStatement(k, statement, sweep); });
}

}  // namespace

const std::vector<std::string>& MapParameterNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const auto& [name, meaning] : kParameters) out.emplace_back(name);
    return out;
  }();
  return names;
}

MapSweep LoadMapSweep(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  MapSweep sweep;
  sweep.path = path;
  Keys keys(root);
  VisitSweep(keys, sweep);
  root.Finish();
  return sweep;
}

}  // namespace impactlab
