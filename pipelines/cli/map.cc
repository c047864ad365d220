// The verb that computes maps.

#include <fmt/core.h>

#include <set>

#include "data/base/error.h"
#include "data/base/progress.h"
#include "data/files/atomic_file.h"
#include "data/files/table.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/map/impact_map.h"

namespace impactlab {
namespace {

void WriteStatements(const std::filesystem::path& path, const std::vector<ImpactMap>& maps) {
  CsvWriter out(path, {"map", "figure", "says", "found", "verdict", "note"});
  for (const ImpactMap& map : maps)
    for (const MapStatement& statement : map.sweep.statements) {
      const StatementResult result = CheckStatement(map, statement);
      out.Text(map.sweep.path.stem().string())
          .Text(map.sweep.figure)
          .Text(statement.says)
          .Text(result.found);
      out.Text(!result.decided ? "undecided"
               : result.agrees ? "agrees"
                               : "differs")
          .Text(statement.note);
      out.EndRow();
    }
  out.Commit();
}

}  // namespace

int MapCommand(const MapArguments& arguments) {
  // All files are read before anything is computed: a fault in the last one should not cost the
  // work on the first.
  std::vector<MapSweep> sweeps;
  std::set<std::string> names;
  for (const auto& file : arguments.files) {
    sweeps.push_back(LoadMapSweep(file));
    if (!names.insert(file.stem().string()).second)
      throw ConfigError(
          fmt::format("map: two files are called '{}'; their results would overwrite each other",
                      file.stem().string()));
  }
  CheckFolder(arguments.out, "--out");
  std::vector<ImpactMap> maps;
  std::size_t faults = 0, gains = 0, points = 0;
  bool any = false;
  for (const MapSweep& sweep : sweeps) {
    const std::string stem = sweep.path.stem().string();
    ProgressOptions options;
    options.enabled = !arguments.quiet;
    Progress progress(
        stem, static_cast<std::int64_t>((sweep.y ? sweep.y->shown.size() : 1) * sweep.laws.size()),
        "rows", options);
    ImpactMap map = ComputeMap(sweep, arguments.threads, [&] {
      pipelines::program_cancellation.Check();
      progress.Advance();
    });
    progress.Finish();
    WriteMapCsv(arguments.out / (stem + ".csv"), map);
    for (const std::string& picture : sweep.pictures)
      for (std::size_t law = 0; law < (sweep.y ? sweep.laws.size() : 1); ++law) {
        const std::string of = sweep.y && sweep.laws.size() > 1 ? "_" + sweep.laws[law] : "";
        WriteFile(arguments.out / (stem + "_" + picture + of + ".svg"), MapSvg(map, picture, law));
      }
    faults += map.faults;
    gains += map.gains;
    for (const auto& law : map.points) {
      points += law.size();
      for (const MapPoint& point : law) any = any || point.status == SolveStatus::kOk;
    }
    if (!arguments.quiet)
      fmt::print("{:<32} {:>8} outcomes: {} fail their certificate, {} gain energy by their law\n",
                 stem, map.points.size() * map.points[0].size(), map.faults, map.gains);
    maps.push_back(std::move(map));
  }
  WriteStatements(arguments.out / "statements.csv", maps);
  WriteMapGallery(arguments.out / "index.html", maps);
  if (!arguments.quiet)
    fmt::print(
        "written to {}; of {} outcomes {} fail their certificate, {} gain energy by their law\n",
        arguments.out.string(), points, faults, gains);
  if (any) return kDone;
  fmt::print(stderr,
             "impactlab: error: map: no state of any file is an impact that could be solved: v_n- "
             "< 0 is one\n");
  return kUnusable;
}

}  // namespace impactlab
