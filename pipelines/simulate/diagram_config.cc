// Files of diagrams.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "data/cache/provenance.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "data/yaml/yaml.h"
#include "pipelines/config/grid_axis.h"
#include "pipelines/config/visit.h"
#include "pipelines/simulate/diagram.h"
#include "pipelines/simulate/orbits.h"

namespace impactlab {
namespace {

using pipelines::EnumWord;
using pipelines::Keys;
using pipelines::Need;

constexpr double kMostCells = 1e6, kMostPoints = 2e7;

constexpr EnumWord<DiagramSection> kSections[] = {{DiagramSection::kApex, "apex"},
                                                  {DiagramSection::kStroboscopic, "stroboscopic"}};
constexpr EnumWord<DiagramFollow> kFollows[] = {
    {DiagramFollow::kNone, "none"}, {DiagramFollow::kUp, "up"}, {DiagramFollow::kDown, "down"}};

void VisitDiagramAxis(Keys& keys, DiagramAxis& axis) {
  keys.Text("key", axis.key,
            "number of the scenario that the axis sets, entries of lists counted from 0; it must "
            "stand in the file",
            Need::kRequired);
  axis.column = axis.key.substr(axis.key.rfind('.') + 1);
  axis.label = axis.key;
  keys.Text("label", axis.label, "with unit. Default: the key");
  axis.values =
      pipelines::VisitGrid(keys, kMostCells, "of values; or step. At most 1e6 motions in all");
}

void VisitStart(Keys& keys, DiagramStart& start, const Diagram& diagram) {
  keys.Text("name", start.name, "of the start", Need::kRequired);
  for (const DiagramStart& other : diagram.starts)
    keys.Check(other.name != start.name, "name", Excerpt(start.name) + " again", "every name once");
  for (const std::string& key : keys.reading()->Keys()) {
    if (key == "name") continue;
    keys.Check(key != diagram.x.key && !(diagram.y && key == diagram.y->key), key.c_str(),
               "a key of an axis", "keys of no axis");
    start.keys.emplace_back(key, 0);
    keys.Number(key.c_str(), start.keys.back().second, {},
                "numbers of the scenario that it replaces, by their keys", Need::kRequired);
  }
}

void VisitDiagramSection(Keys& keys, const Scenario& scenario, Diagram& out) {
  keys.Word("kind", out.section, kSections,
            "apex: a velocity falls through 0; stroboscopic: once in a period of the planes that "
            "vibrate, of one frequency",
            Need::kRequired);
  const bool apex = out.section == DiagramSection::kApex;
  const auto& u = scenario.mechanism.u_names;
  if (apex) {
    std::string falling;
    keys.OneOf("falling", falling, u,
               "apex: the velocity Allowed: a velocity of the scenario, as trajectory.csv names it",
               Need::kRequired);
    out.falling = static_cast<int>(std::find(u.begin(), u.end(), falling) - u.begin());
  } else {
    keys.Number("phase_rad", out.phase, {},
                "stroboscopic: phase of the plane at which the section stands");
  }
  double frequency = 0;
  for (const pipelines::DrawnPlane& plane : scenario.planes) {
    if (plane.amplitude == 0) continue;
    keys.Check(frequency == 0 || plane.frequency == frequency || apex, "kind",
               "stroboscopic, with planes of different frequencies",
               "apex, or planes of one frequency");
    frequency = plane.frequency;
  }
  keys.Check(apex || frequency != 0, "kind", "stroboscopic, where no plane vibrates",
             "apex, or a plane that vibrates");
}

void VisitRecord(Keys& keys, const Mechanism& mechanism, Diagram& out) {
  std::vector<std::string> all = mechanism.q_names;
  all.insert(all.end(), mechanism.u_names.begin(), mechanism.u_names.end());
  keys.Texts("record", out.record,
             "coordinates and velocities kept of every point, columns of trajectory.csv; the first "
             "is drawn",
             Need::kRequired);
  for (const std::string& name : out.record) {
    if (std::find(all.begin(), all.end(), name) != all.end()) continue;
    const std::string nearest = NearestName(name, all);
    keys.Check(false, "record", Excerpt(name) + (nearest.empty() ? "" : ", nearest is " + nearest),
               "names out of " + JoinNames(all));
  }
  out.record_label = out.record.front();
  keys.Text("label", out.record_label, "of the first, with unit. Default: its name");
}

void VisitPoints(Keys& keys, Diagram& out) {
  keys.Count("transient", out.transient, Closed(0, 1e6), "points of the section dropped");
  keys.Count("keep", out.keep, Closed(4, 1e5), "points then kept");
  out.longest_period = std::min(out.longest_period, out.keep / 4);
  keys.Count("longest_period", out.longest_period, Closed(1, 1e4),
             "most points of a period that is looked for; keep holds four times that. Default: 8, "
             "at most keep / 4");
  keys.Check(4 * out.longest_period <= out.keep, "longest_period",
             std::to_string(out.longest_period),
             fmt::format("at most a quarter of keep, {}", out.keep / 4));
  keys.Number("tolerance", out.tolerance, Positive(),
              "by how much points a period apart may differ, in the units of record");
  keys.Number("longest_s", out.longest, Positive(),
              "time after which a motion ends without all its points");
  keys.Word("follow", out.follow, kFollows,
            "a value starts from the last state of the value below (up) or above (down), at the "
            "same phase of the plane, and from its own start where that state would be inside a "
            "surface");
}

void VisitDiagramAxes(Keys& keys, Diagram& out) {
  keys.Map(
      "x", "axis to the right", [&](Keys& k) { VisitDiagramAxis(k, out.x); }, Need::kRequired);
  keys.Stated(true).Map("y", "axis upwards. Default: none",
                        [&](Keys& k) { VisitDiagramAxis(k, out.y.emplace()); });
  if (!out.y) return;
  keys.Check(out.y->key != out.x.key, "y", "the key of x", "another key");
  if (out.y->column == out.x.column) out.x.column = out.x.key, out.y->column = out.y->key;
}

// The whole file. Diagrams are read only.
void VisitDiagram(Keys& keys, Diagram& out) {
  keys.Schema("impactlab.diagram/1");
  keys.Text("name", out.name, "title", Need::kRequired);
  keys.Stated(true).Text("figure", out.figure, "the figure it repeats. Default: none");
  keys.Stated(true).Text("assumptions", out.assumptions,
                         "what the source leaves open and we chose. Default: none");
  keys.File("scenario", out.scenario,
            "scenario file; of its simulation the duration and the samples do not count",
            Need::kRequired);
  const Scenario scenario = LoadScenario(out.scenario);
  out.scenario_text = ReadFile(out.scenario);
  VisitDiagramAxes(keys, out);
  keys.List("starts", out.starts, "of the motions. Default: one, the scenario's",
            pipelines::Style::kLines,
            [&](Keys& k, DiagramStart& start) { VisitStart(k, start, out); });
  if (out.starts.empty()) out.starts = {{"start", {}}};
  keys.Map(
      "section", "which points of a motion are kept",
      [&](Keys& k) { VisitDiagramSection(k, scenario, out); }, Need::kRequired);
  VisitRecord(keys, scenario.mechanism, out);
  VisitPoints(keys, out);
  keys.List("lines", out.lines, "across the picture. Default: none", pipelines::Style::kLines,
            [&](Keys& k, std::pair<double, std::string>& line) {
              k.Number("at", line.first, {}, "value of x", Need::kRequired);
              k.Text("label", line.second, "beside it", Need::kRequired);
            });
}

}  // namespace

Scenario Diagram::At(std::size_t start, std::size_t ix, std::size_t iy) const {
  ScenarioNumbers numbers = starts[start].keys;
  numbers.emplace_back(x.key, x.values[ix]);
  if (y) numbers.emplace_back(y->key, y->values[iy]);
  return ScenarioWith(scenario_text, scenario.string(), numbers);
}

Diagram LoadDiagram(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  Diagram out;
  out.path = path;
  Keys keys(root);
  VisitDiagram(keys, out);
  root.Finish();

  const double cells = static_cast<double>(out.nx()) * static_cast<double>(out.ny()) *
                       static_cast<double>(out.starts.size());
  if (cells > kMostCells)
    throw root.Fault("x", fmt::format("{:.0f} values in all", cells),
                     "at most 1e6, of both axes and all starts");
  if (!out.y && cells * out.keep * static_cast<double>(out.record.size()) > kMostPoints)
    throw root.Fault("keep", fmt::format("{} of {:.0f} values", out.keep, cells),
                     "at most 2e7 numbers in all");
  for (std::size_t start = 0; start < out.starts.size(); ++start)
    for (const std::size_t ix : {std::size_t{0}, out.nx() - 1})
      for (const std::size_t iy : {std::size_t{0}, out.ny() - 1}) out.At(start, ix, iy);
  out.hash = Sha256(ProgramVersion() + '\n' + root.Source() + '\n' + out.scenario_text);
  return out;
}

}  // namespace impactlab
