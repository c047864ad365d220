// Every key of the files that the run was made by, as it was used, and their text to do it again.
#include "pipelines/reference/configuration.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/files/text.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

// a longer value stands in full in the text below the table
constexpr std::size_t kValueLetters = 160;
// of a file that lists recordings one by one, such as that of the tracking
constexpr std::size_t kTextBytes = 12'000;

const char* SourceWord(KeySource source) {
  switch (source) {
    case KeySource::kFile:
      return "file";
    case KeySource::kOverride:
      return "command line";
    case KeySource::kDerived:
      return "worked out";
    case KeySource::kDefault:
      return "default";
    case KeySource::kLeftOut:
      return "left out";
    case KeySource::kUnknown:
      break;
  }
  return "not known";
}

std::string EscapeLines(std::string_view text) {
  std::string out;
  for (std::size_t end; (end = text.find('\n')) != std::string_view::npos;
       text.remove_prefix(end + 1))
    out += Escape(text.substr(0, end)) + "\n";
  return out + Escape(text);
}

// Names of keys and files stand between backquotes in the reference.
std::string WithCode(const std::string& text) {
  std::string out;
  bool inside = false;
  std::size_t at = 0;
  for (std::size_t end; (end = text.find('`', at)) != std::string::npos;
       at = end + 1, inside = !inside)
    out += Escape(text.substr(at, end - at)) + (inside ? "</code>" : "<code>");
  return out + Escape(text.substr(at)) + (inside ? "</code>" : "");
}

std::string ValueCell(const UsedKey& key) {
  if (key.source == KeySource::kLeftOut) return "\u2013";
  const std::string all = JoinNames(key.values, "; ");
  if (all.size() <= kValueLetters) return Escape(all);
  if (key.values.size() > 1) {
    const std::string ends = key.values.front() + " \u2026 " + key.values.back();
    return fmt::format("{} values: {}", key.values.size(),
                       Escape(ends.size() <= 2 * kValueLetters ? ends : key.values.front()));
  }
  std::size_t cut = kValueLetters;
  while (cut > 0 && (static_cast<unsigned char>(all[cut]) & 0xC0) == 0x80) --cut;
  return Escape(all.substr(0, cut)) + "\u2026";
}

std::string CountWords(const Configuration& configuration) {
  std::string out;
  for (const auto& [source, words] :
       {std::pair(KeySource::kFile, "from the file"),
        std::pair(KeySource::kOverride, "from the command line"),
        std::pair(KeySource::kDerived, "worked out from others"),
        std::pair(KeySource::kDefault, "by default"), std::pair(KeySource::kLeftOut, "left out")}) {
    const auto n =
        std::count_if(configuration.keys.begin(), configuration.keys.end(),
                      [wanted = source](const UsedKey& key) { return key.source == wanted; });
    if (n > 0) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", n, words);
  }
  return out;
}

std::string FileWords(const Configuration& configuration) {
  const std::string name = "<code>" + Escape(configuration.file.string()) + "</code>";
  if (configuration.sha256.empty())
    return "<p>" + name +
           " could not be read when this page was written, so the keys that were defaults are not "
           "marked.</p>\n";
  return fmt::format(
      "<p>{}: {} keys, {}. SHA-256 of the file: <code class=\"hash\">{}</code></p>\n", name,
      configuration.keys.size(), CountWords(configuration), configuration.sha256);
}

std::string Html(const std::string& id, const std::string& title,
                 const Configuration& configuration, std::size_t most_bytes) {
  HtmlTable table(title + ", key by key", {"Key", "Value", "Unit", "From", "Default", "Meaning"});
  for (const UsedKey& key : configuration.keys)
    table.Row({Escape(key.key), ValueCell(key), Escape(key.unit), SourceWord(key.source),
               WithCode(key.otherwise), WithCode(key.meaning)},
              key.source == KeySource::kLeftOut ? "muted" : "");
  std::string out = "<h3>" + title + "</h3>\n" + FileWords(configuration) +
                    (table.rows() > 0 ? table.Html() : "");
  if (configuration.yaml.size() > most_bytes)
    return out +
           "<p class=\"foot\">Its text as it was used lists recordings one by one and stands in "
           "tracking/run.yaml beside this page.</p>\n";
  return out + fmt::format(
                   "<div class=\"controls\" data-copies=\"{0}-yaml\" hidden><button "
                   "type=\"button\">Copy {1}.yaml</button><span class=\"where\" "
                   "role=\"status\"></span></div>\n<details><summary>{1}.yaml as it was used, {2} "
                   "lines</summary><div class=\"scroll tall\" tabindex=\"0\" role=\"region\" "
                   "aria-label=\"{1}.yaml as it was used\"><pre "
                   "id=\"{0}-yaml\">{3}</pre></div></details>\n",
                   id, configuration.kind,
                   std::count(configuration.yaml.begin(), configuration.yaml.end(), '\n'),
                   EscapeLines(configuration.yaml));
}

}  // namespace

Section ConfigurationSection(const ReportContext& context) {
  const Experiment& e = context.run.experiment;
  Section section{.id = "configuration", .title = "Configuration", .html = {}, .figures = {}};
  section.html =
      "<p>Every key of the files this run was made by, as it was used. Paths are written from the "
      "root of the file system, directions as unit vectors, vertices about the centre of "
      "mass.</p>\n";
  section.html += Html("experiment", "Experiment",
                       DescribeConfiguration("experiment", ToYaml(e), e.path,
                                             [&] { return ToYaml(LoadExperiment(e.path)); }),
                       std::string::npos);
  if (e.floor_of_rig || e.gravity_of_rig)
    section.html += fmt::format(
        "<p class=\"foot\">{} left out and taken from the rig: <a href=\"#methods\">Methods and "
        "provenance</a>.</p>\n",
        e.floor_of_rig && e.gravity_of_rig ? "Floor and gravity were"
        : e.floor_of_rig                   ? "The floor was"
                                           : "Gravity was");
  const auto tracking = [&](const std::string& id, const std::string& title,
                            const TrackConfig& plan) {
    Configuration used = DescribeConfiguration("tracking", ToYaml(plan), plan.path,
                                               [&] { return ToYaml(LoadTracking(plan.path)); });
    // The cameras of the experiment stand before those that the tracking file names.
    const bool solved = !e.markers->calibration.empty();
    const std::string rig = solved ? "calibration/rig.yaml of this run" : e.markers->rig.string();
    for (UsedKey& key : used.keys)
      if (key.key == "rig" && !rig.empty()) key.values = {rig}, key.source = KeySource::kDerived;
    section.html += Html(id, title, used, kTextBytes);
  };
  if (e.markers) tracking("tracking", "Tracking", e.markers->plan);
  if (e.second && e.second->plan)
    tracking("tracking-second", "Tracking of the second body", *e.second->plan);
  if (e.markers && !e.markers->calibration.empty()) {
    const std::filesystem::path& file = e.markers->calibration;
    try {
      std::string yaml = ToYaml(LoadCalibration(file));
      section.html +=
          Html("calibration", "Calibration",
               DescribeConfiguration("calibration", yaml, file, [&] { return yaml; }), kTextBytes);
    } catch (const std::exception&) {
      section.html += "<p>The calibration file <code>" + Escape(file.string()) +
                      "</code> could not be read when this page was written; calibration/run.yaml "
                      "holds what was used.</p>\n";
    }
  }
  return section;
}

}  // namespace impactlab::pipelines
