// Sweep files of maps.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/config/grid_axis.h"
#include "pipelines/map/impact_map.h"

namespace impactlab {
namespace {

constexpr double kMaxPoints = 1e6;  // some 200 MB a law

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

MapAxis ReadAxis(const YamlNode& node, bool planar) {
  MapAxis axis;
  axis.parameter = Named(node.Choice("sets", Allowed(planar)));
  axis.label = node.Text("label");
  axis.offset = node.Number("offset", 0.0);
  axis.factor = node.Number("factor", 1.0);
  axis.shown = pipelines::ReadGrid(node, kMaxPoints);
  const Range range = RangeOf(axis.parameter);
  for (const double end : {axis.shown.front(), axis.shown.back()})
    if (!range.Contains(axis.Value(end)))
      throw node.Fault(
          "sets",
          fmt::format("{} = {:g}",
                      MapParameterNames()[static_cast<std::size_t>(Index(axis.parameter))],
                      axis.Value(end)),
          range.Words());
  return axis;
}

MapStatement ReadStatement(const YamlNode& node, const MapSweep& sweep) {
  using Kind = MapStatement::Kind;
  const std::vector<std::string> kinds = {"change", "cases",   "maximum",  "minimum",
                                          "inside", "present", "negative", "symmetric"};
  MapStatement s;
  const std::string kind = node.Choice("kind", kinds);
  s.kind = static_cast<Kind>(std::find(kinds.begin(), kinds.end(), kind) - kinds.begin());
  s.says = node.Text("says");
  if (node.Has("note")) s.note = node.Text("note");
  s.law = node.Choice("law", sweep.laws.front(), sweep.laws);
  std::vector<std::string> quantities;
  for (const MapQuantity& q : MapQuantities()) quantities.push_back(q.name);
  if (s.kind == Kind::kChange) {
    s.from = node.Text("from");
    s.to = node.Text("to");
    s.printed = node.Number("printed");
    s.tolerance = node.Number("tolerance", Positive());
  } else if (s.kind == Kind::kCases || s.kind == Kind::kPresent) {
    s.cases = node.Texts("cases");
  } else {
    s.quantity = node.Choice("quantity", quantities);
    if (s.kind == Kind::kMaximum || s.kind == Kind::kMinimum) {
      s.printed = node.Number("printed");
      s.tolerance = node.Number("tolerance", Positive());
    }
    if (s.kind == Kind::kInside) s.least = node.Flag("least", false);
    if (s.kind == Kind::kSymmetric) {
      s.axis = node.Choice("axis", {"x", "y"})[0];
      s.tolerance = node.Number("tolerance", 1e-9, Positive());
    }
    if (s.kind == Kind::kInside || node.Has("x")) s.x_box = node.Vector("x", 2);
    if (sweep.y && (s.kind == Kind::kInside || node.Has("y"))) s.y_box = node.Vector("y", 2);
  }
  if ((s.kind == Kind::kChange || s.kind == Kind::kCases) && sweep.y) s.y = node.Number("y");
  if (s.kind == Kind::kSymmetric && s.axis == 'y' && !sweep.y)
    throw node.Fault("axis", "y", "x: a scan has no second axis");
  return s;
}

void ReadMapBody(const YamlNode& root, MapSweep* into) {
  MapSweep& sweep = *into;
  const YamlNode body = root.Map("body");
  sweep.planar = body.Flag("planar");
  sweep.mass = body.Number("mass_kg", 1.0, Positive());
  sweep.lever = body.Number("lever_m", Positive());
  if (sweep.planar) {
    sweep.inertia.setConstant(body.Number("inertia_kg_m2", Positive()));
  } else {
    const std::vector<double> I = body.Vector("inertia_kg_m2", 3, Positive());
    sweep.inertia = {I[0], I[1], I[2]};
    for (int i = 0; i < 3; ++i)
      if (I[(i + 1) % 3] + I[(i + 2) % 3] < I[i] * (1 - 1e-12))
        throw body.Fault("inertia_kg_m2", fmt::format("{:g} above the sum of the other two", I[i]),
                         "moments that a body can have");
  }
}

void ReadMapLaws(const YamlNode& root, MapSweep* into) {
  MapSweep& sweep = *into;
  std::vector<std::string> all = LawNames();
  all.push_back("brach_printed");
  all.push_back("ratio");
  sweep.laws = root.Texts("laws", {"energetic"});
  for (std::size_t i = 0; i < sweep.laws.size(); ++i) {
    const auto known = std::find(all.begin(), all.end(), sweep.laws[i]);
    // The first three have a path and work in space.
    if (known == all.end() || (!sweep.planar && known - all.begin() > 2))
      throw root.Fault("laws", sweep.laws[i],
                       sweep.planar ? JoinNames(all) : "energetic, poisson, newton in space");
    if (std::find(sweep.laws.begin(), sweep.laws.begin() + static_cast<std::ptrdiff_t>(i),
                  sweep.laws[i]) != sweep.laws.begin() + static_cast<std::ptrdiff_t>(i))
      throw root.Fault("laws", sweep.laws[i] + " twice", "every law once");
  }
}

void ReadMapAxes(const YamlNode& root, MapSweep* into) {
  MapSweep& sweep = *into;
  sweep.x = ReadAxis(root.Map("x"), sweep.planar);
  if (root.Has("y")) sweep.y = ReadAxis(root.Map("y"), sweep.planar);
  if (sweep.y && sweep.y->parameter == sweep.x.parameter)
    throw root.Fault("y", "the parameter of x", "another parameter");
  if (static_cast<double>(sweep.x.shown.size()) *
          static_cast<double>(sweep.y ? sweep.y->shown.size() : 1) >
      kMaxPoints)
    throw root.Fault("x", "too many points", "at most 1e6 in all");
}

// Values that no axis sets, and whether everything is set that the laws need.
void ReadFixed(const YamlNode& root, MapSweep* into) {
  MapSweep& sweep = *into;
  sweep.fixed[static_cast<std::size_t>(Index(MapParameter::kMuSOverMuK))] = 1;
  const YamlNode fixed = root.Map("fixed");
  std::vector<MapParameter> given = {sweep.x.parameter};
  if (sweep.y) given.push_back(sweep.y->parameter);
  for (const std::string& name : Allowed(sweep.planar)) {
    const MapParameter p = Named(name);
    if (!fixed.Has(name)) continue;
    if (std::find(given.begin(), given.end(), p) != given.end())
      throw fixed.Fault(name, "a parameter that an axis sets", "every parameter once");
    sweep.fixed[static_cast<std::size_t>(Index(p))] = fixed.Number(name, RangeOf(p));
    given.push_back(p);
  }
  const auto has = [&](auto test) { return std::any_of(given.begin(), given.end(), test); };
  sweep.contact_velocity = has(OfContact);
  if (sweep.contact_velocity && has(OfCentre))
    throw root.Fault("fixed", "velocities of the contact point and of the centre",
                     "one of the two kinds");
  const bool only_ratio = sweep.laws == std::vector<std::string>{"ratio"};
  for (const MapParameter p :
       {MapParameter::kE, only_ratio ? MapParameter::kImpulseRatio : MapParameter::kMuK})
    if (std::find(given.begin(), given.end(), p) == given.end())
      throw root.Fault("fixed", "no " + MapParameterNames()[static_cast<std::size_t>(Index(p))],
                       "it here or on an axis");
}

void ReadMapPictures(const YamlNode& root, MapSweep* into) {
  MapSweep& sweep = *into;
  std::vector<std::string> pictures = {"case"};
  for (const MapQuantity& q : MapQuantities()) pictures.push_back(q.name);
  sweep.pictures = root.Texts("pictures", {"case", "dissipation"});
  for (const std::string& picture : sweep.pictures)
    if (std::find(pictures.begin(), pictures.end(), picture) == pictures.end())
      throw root.Fault("pictures", picture, JoinNames(pictures));
}

}  // namespace

const std::vector<std::string>& MapParameterNames() {
  static const std::vector<std::string> names = {"lean_rad",
                                                 "azimuth_rad",
                                                 "v_x_m_per_s",
                                                 "v_y_m_per_s",
                                                 "v_z_m_per_s",
                                                 "contact_v_x_m_per_s",
                                                 "contact_v_y_m_per_s",
                                                 "contact_v_z_m_per_s",
                                                 "theta_dot_rad_per_s",
                                                 "omega_x_rad_per_s",
                                                 "omega_y_rad_per_s",
                                                 "omega_z_rad_per_s",
                                                 "e",
                                                 "mu_k",
                                                 "mu_s_over_mu_k",
                                                 "e_t",
                                                 "impulse_ratio"};
  return names;
}

MapSweep LoadMapSweep(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  MapSweep sweep;
  sweep.path = path;
  root.Choice("schema", {"impactlab.map/1"});
  sweep.name = root.Text("name");
  if (root.Has("figure")) sweep.figure = root.Text("figure");
  if (root.Has("assumptions")) sweep.assumptions = root.Text("assumptions");
  ReadMapBody(root, &sweep);
  ReadMapLaws(root, &sweep);
  ReadMapAxes(root, &sweep);
  ReadFixed(root, &sweep);
  ReadMapPictures(root, &sweep);
  if (root.Has("statements"))
    for (const YamlNode& node : root.List("statements"))
      sweep.statements.push_back(ReadStatement(node, sweep));
  root.Finish();
  return sweep;
}

}  // namespace impactlab
