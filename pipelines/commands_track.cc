// The verbs that follow markers through videos and take tracks of other programs.

#include <fmt/format.h>

#include <cmath>

#include "data/error.h"
#include "data/text.h"
#include "pipelines/commands.h"
#include "pipelines/track.h"
#include "pipelines/tracking_page.h"
#include "tracking/import.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab {

int TrackCommand(const TrackArguments& arguments) {
  constexpr int kDone = 0;
  const TrackPlan plan = LoadTracking(arguments.file);
  TrackRunOptions options;
  options.threads = arguments.threads;
  options.quiet = arguments.quiet;
  options.overlay = arguments.overlay;
  options.sheets = arguments.sheets;
  options.command = arguments.command;
  const TrackRun run = RunTracking(plan, arguments.out, options);
  if (arguments.report) WriteTrackingPage(arguments.out / "tracking.html", run, arguments.out / "sheets", IMPACTLAB_PLOT_LIBRARY);
  if (!arguments.quiet) {
    fmt::print("{}", BriefReport(run));
    fmt::print("\n{:.1f} s; written to {}\n", run.seconds, (arguments.out / "tracks.csv").string());
    if (arguments.report) fmt::print("page {}\n", (arguments.out / "tracking.html").string());
  }
  return kDone;
}

int ImportCommand(const ImportArguments& arguments) {
  constexpr int kDone = 0;
  ImportOptions options;
  if (!arguments.format.empty()) {
    options.format = TrackFormatFromString(arguments.format);
    if (!options.format)
      throw ConfigError(fmt::format("--format: found {}, allowed impactlab, dltdv, tracker, deeplabcut, table", Excerpt(arguments.format)));
  }
  options.cameras = arguments.cameras;
  options.rate = arguments.rate;
  options.height = arguments.height;
  options.rows_from_top = arguments.rows_from_top;
  options.sd = arguments.sd;
  const std::vector<Correction> corrections =
      arguments.corrections.empty() ? std::vector<Correction>{} : ReadCorrections(arguments.corrections);
  TracksWriter writer(arguments.out);
  std::size_t points = 0;
  for (const std::filesystem::path& file : arguments.files) {
    MarkerTracks tracks = ImportTracks(file, options);
    // Frames of a file without video have the times of its other points.
    const auto time = [&](int camera, long long frame, double) {
      for (const TrackPoint& point : tracks.points)
        if (point.camera == camera && point.frame == frame) return point.t;
      return arguments.rate > 0 ? static_cast<double>(frame) / arguments.rate : std::nan("");
    };
    const int changed = ApplyCorrections(corrections, arguments.corrections.string(), time, &tracks);
    fmt::print("{}: {} points of {} markers in {} cameras{}\n", file.string(), tracks.points.size(), tracks.markers.size(),
               tracks.cameras.size(), changed > 0 ? fmt::format(", {} corrected by hand", changed) : "");
    points += tracks.points.size();
    writer.Write(tracks);
  }
  if (points == 0) throw DataError("no file holds a point");
  writer.Commit();
  fmt::print("written to {}\n", arguments.out.string());
  return kDone;
}

}  // namespace impactlab
