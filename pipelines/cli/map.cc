// The verb that computes maps.

#include <fmt/core.h>

#include <set>

#include "data/base/error.h"
#include "data/base/progress.h"
#include "data/files/atomic_file.h"
#include "data/files/table.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/map/impact_map.h"

namespace impactlab::pipelines {
namespace {

struct MapArguments {
  std::vector<std::filesystem::path> files;
  std::filesystem::path out = "maps";
  int threads = 0;
  bool quiet = false;
  SharedOptions shared;
};

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

// Of a quantity, and of a map of two parameters of a law.
std::string PictureName(const MapSweep& sweep, const std::string& picture, std::size_t law) {
  const std::string of = sweep.y && sweep.laws.size() > 1 ? "_" + sweep.laws[law] : "";
  return sweep.path.stem().string() + "_" + picture + of + ".svg";
}

std::vector<std::string> PicturesOf(const MapSweep& sweep) {
  std::vector<std::string> out;
  for (const std::string& picture : sweep.pictures)
    for (std::size_t law = 0; law < (sweep.y ? sweep.laws.size() : 1); ++law)
      out.push_back(PictureName(sweep, picture, law));
  return out;
}

int RunMap(const MapArguments& arguments) {
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
  std::vector<std::string> outputs = {"statements.csv", "index.html"};
  for (const MapSweep& sweep : sweeps) {
    outputs.push_back(LiteralPattern(sweep.path.stem().string()) + ".csv");
    for (const std::string& picture : PicturesOf(sweep)) outputs.push_back(LiteralPattern(picture));
  }
  const auto folder = OpenOutput(arguments.out, outputs, arguments.shared);
  if (!folder) return kDone;
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
      program_cancellation.Check();
      progress.Advance();
    });
    progress.Finish();
    WriteMapCsv(arguments.out / (stem + ".csv"), map);
    for (const std::string& picture : sweep.pictures)
      for (std::size_t law = 0; law < (sweep.y ? sweep.laws.size() : 1); ++law)
        WriteFile(arguments.out / PictureName(sweep, picture, law), MapSvg(map, picture, law));
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
  folder->Finish();
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

}  // namespace

Action AddMap(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<MapArguments>();
  verb.add_option("files", arguments->files, "sweep files (YAML)")->required();
  AddOutFolder(verb, arguments->out);
  AddThreads(verb, arguments->threads);
  AddQuiet(verb, arguments->quiet);
  return [arguments, &call] {
    arguments->shared = call.shared;
    return RunMap(*arguments);
  };
}

}  // namespace impactlab::pipelines
