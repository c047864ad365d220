#include "pipelines/run/recording_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "data/base/error.h"
#include "data/files/glob.h"
#include "pipelines/run/experiment.h"

namespace impactlab::pipelines {
namespace fs = std::filesystem;
namespace {

constexpr std::array kRunTables = {"area.csv",
                                   "bounces.csv",
                                   "budget.csv",
                                   "classical.csv",
                                   "classical_fit.csv",
                                   "drops.csv",
                                   "edges.csv",
                                   "events.csv",
                                   "events_cov.csv",
                                   "flights.csv",
                                   "intervals.csv",
                                   "law_comparison.csv",
                                   "layout.csv",
                                   "model_coefficients.csv",
                                   "models.csv",
                                   "motion.csv",
                                   "points.csv",
                                   "points_second.csv",
                                   "predictions.csv",
                                   "repeatability.csv",
                                   "restitution.csv",
                                   "specimens.csv",
                                   "validation.csv",
                                   "validation_summary.csv",
                                   "validation_table.csv"};
// Folders of a run whose tables are written anew, all of them.
constexpr std::array kRunFolders = {"as_recorded", "refused"};
constexpr std::array kPoseFolders = {"poses", "poses_second"};

fs::path Resolved(const fs::path& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error).lexically_normal();
  const fs::path canonical = fs::weakly_canonical(absolute, error);
  return error ? absolute : canonical;
}

}  // namespace

bool IsRunTable(const std::string& name) {
  return std::find(kRunTables.begin(), kRunTables.end(), name) != kRunTables.end();
}

RecordingFiles FindRecordings(const std::string& pattern, const fs::path& base, const fs::path& out,
                              bool writes_poses, const std::string& where) {
  RecordingFiles found;
  const fs::path run = Resolved(out / "run.yaml").parent_path();
  std::error_code absent;
  const bool ran = fs::exists(run / "run.yaml", absent);
  std::vector<std::string> left_out;
  for (const fs::path& file : ExpandGlob(pattern, base)) {
    const fs::path folder = Resolved(file).parent_path();
    const std::string name = file.filename().string();
    const auto written = [&](const char* own) { return folder == run / own; };
    const bool over =
        std::any_of(kRunFolders.begin(), kRunFolders.end(), written) ||
        (writes_poses && std::any_of(kPoseFolders.begin(), kPoseFolders.end(), written));
    const bool table = folder == run && IsRunTable(name);
    if (over || (table && !ran))
      throw ConfigError(
          fmt::format("--out: found '{}', where the run would write over its own recording '{}', "
                      "allowed another folder",
                      out.string(), file.string()));
    if (table)
      left_out.push_back(name);
    else
      found.files.push_back(file);
  }
  if (!left_out.empty())
    found.note = fmt::format(
        "{} of '{}' {} of an earlier run and no recording{}: {}{}", left_out.size(), pattern,
        left_out.size() == 1 ? "is a table" : "are tables", left_out.size() == 1 ? "" : "s",
        left_out.front(), left_out.size() == 1 ? "" : ", ...");
  if (found.files.empty())
    throw DataError(
        fmt::format("{}: no file matches '{}' in '{}'{}", where, pattern,
                    fs::absolute(base.empty() ? fs::path(".") : base).lexically_normal().string(),
                    left_out.empty() ? "" : " but tables of an earlier run"));
  return found;
}

RecordingFiles RecordingsOf(const Experiment& experiment, const std::string& named,
                            const fs::path& out) {
  const bool writes_poses = experiment.points.has_value();
  if (!named.empty()) return FindRecordings(named, {}, out, writes_poses, "--recordings");
  return FindRecordings(
      experiment.recordings, experiment.path.parent_path(), out, writes_poses,
      fmt::format("{}: recordings.files (or --recordings 'GLOB')", experiment.path.string()));
}

}  // namespace impactlab::pipelines
