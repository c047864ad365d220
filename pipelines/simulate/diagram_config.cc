// Files of diagrams.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "data/cache/provenance.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "data/yaml/set.h"
#include "data/yaml/yaml.h"
#include "pipelines/config/grid_axis.h"
#include "pipelines/simulate/diagram.h"

namespace impactlab {
namespace {

constexpr double kMostCells = 1e6, kMostPoints = 2e7;

DiagramAxis ReadAxis(const YamlNode& node) {
  DiagramAxis axis;
  axis.key = node.Text("key");
  axis.column = axis.key.substr(axis.key.rfind('.') + 1);
  axis.label = node.Text("label", axis.key);
  axis.values = pipelines::ReadGrid(node, kMostCells);
  return axis;
}

std::vector<DiagramStart> ReadStarts(const YamlNode& root, const Diagram& diagram) {
  if (!root.Has("starts")) return {{"start", {}}};
  std::vector<DiagramStart> starts;
  for (const YamlNode& node : root.List("starts")) {
    DiagramStart start;
    start.name = node.Text("name");
    if (std::any_of(starts.begin(), starts.end(),
                    [&](const DiagramStart& s) { return s.name == start.name; }))
      throw node.Fault("name", Excerpt(start.name) + " again", "every name once");
    for (const std::string& key : node.Keys()) {
      if (key == "name") continue;
      if (key == diagram.x.key || (diagram.y && key == diagram.y->key))
        throw node.Fault(key, "a key of an axis", "keys of no axis");
      start.keys.emplace_back(key, node.Number(key));
    }
    starts.push_back(std::move(start));
  }
  return starts;
}

void ReadSection(const YamlNode& root, const Scenario& scenario, Diagram& out) {
  const Mechanism& mechanism = scenario.mechanism;
  const YamlNode node = root.Map("section");
  const bool apex = node.Choice("kind", {"apex", "stroboscopic"}) == "apex";
  out.section = apex ? DiagramSection::kApex : DiagramSection::kStroboscopic;
  const auto& u = mechanism.u_names;
  if (apex) {
    out.falling =
        static_cast<int>(std::find(u.begin(), u.end(), node.Choice("falling", u)) - u.begin());
  } else {
    out.phase = node.Number("phase_rad", 0.0);
  }
  double frequency = 0;
  for (const pipelines::DrawnPlane& plane : scenario.planes) {
    if (plane.amplitude == 0) continue;
    if (frequency != 0 && plane.frequency != frequency && !apex)
      throw node.Fault("kind", "stroboscopic, with planes of different frequencies",
                       "apex, or planes of one frequency");
    frequency = plane.frequency;
  }
  if (!apex && frequency == 0)
    throw node.Fault("kind", "stroboscopic, where no plane vibrates",
                     "apex, or a plane that vibrates");

  std::vector<std::string> all = mechanism.q_names;
  all.insert(all.end(), u.begin(), u.end());
  out.record = root.Texts("record");
  for (const std::string& name : out.record) {
    if (std::find(all.begin(), all.end(), name) != all.end()) continue;
    const std::string nearest = NearestName(name, all);
    throw root.Fault("record", Excerpt(name) + (nearest.empty() ? "" : ", nearest is " + nearest),
                     "names out of " + JoinNames(all));
  }
  out.record_label = root.Text("label", out.record.front());
}

}  // namespace

Scenario Diagram::At(std::size_t start, std::size_t ix, std::size_t iy) const {
  const std::string file = scenario.string();
  std::string text = scenario_text;
  for (const auto& [key, value] : starts[start].keys) text = SetYamlNumber(text, file, key, value);
  text = SetYamlNumber(text, file, x.key, x.values[ix]);
  if (y) text = SetYamlNumber(text, file, y->key, y->values[iy]);
  return ParseScenario(text, file);
}

Diagram LoadDiagram(const std::filesystem::path& path) {
  const YamlNode root = LoadYaml(path);
  Diagram out;
  out.path = path;
  root.Choice("schema", {"impactlab.diagram/1"});
  out.name = root.Text("name");
  if (root.Has("figure")) out.figure = root.Text("figure");
  if (root.Has("assumptions")) out.assumptions = root.Text("assumptions");
  out.scenario = root.Folder() / root.Text("scenario");
  const Scenario scenario = LoadScenario(out.scenario);
  out.scenario_text = ReadFile(out.scenario);
  out.x = ReadAxis(root.Map("x"));
  if (root.Has("y")) {
    out.y = ReadAxis(root.Map("y"));
    if (out.y->key == out.x.key) throw root.Fault("y", "the key of x", "another key");
    if (out.y->column == out.x.column) out.x.column = out.x.key, out.y->column = out.y->key;
  }
  out.starts = ReadStarts(root, out);
  ReadSection(root, scenario, out);
  out.transient = static_cast<int>(root.Integer("transient", out.transient, Closed(0, 1e6)));
  out.keep = static_cast<int>(root.Integer("keep", out.keep, Closed(4, 1e5)));
  out.longest_period = static_cast<int>(
      root.Integer("longest_period", std::min(out.longest_period, out.keep / 4), Closed(1, 1e4)));
  if (4 * out.longest_period > out.keep)
    throw root.Fault("longest_period", std::to_string(out.longest_period),
                     fmt::format("at most a quarter of keep, {}", out.keep / 4));
  out.tolerance = root.Number("tolerance", out.tolerance, Positive());
  out.longest = root.Number("longest_s", out.longest, Positive());
  const std::vector<std::string> ways = {"none", "up", "down"};
  const std::string way = root.Choice("follow", ways[0], ways);
  out.follow = way == "up"     ? DiagramFollow::kUp
               : way == "down" ? DiagramFollow::kDown
                               : DiagramFollow::kNone;
  if (root.Has("lines"))
    for (const YamlNode& node : root.List("lines"))
      out.lines.emplace_back(node.Number("at"), node.Text("label"));
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
