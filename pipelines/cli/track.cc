// The verbs that follow markers through videos and take tracks of other programs.

#include "pipelines/track/track.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <set>

#include "data/base/error.h"
#include "data/cache/stage_cache.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/track/page.h"
#include "tracking/import/import.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab {
namespace {

// Time of a frame of a file without video, counted at `rate` from the nearest frame of the camera
// that has a point; NaN, that is, as the points of the frame say, where it has points itself, and
// where no rate is known.
double TimeFromOthers(const MarkerTracks& tracks, int camera, long long frame, double rate) {
  const double unknown = std::nan("");
  const TrackPoint* nearest = nullptr;
  for (const TrackPoint& p : tracks.points)
    if (p.camera == camera &&
        (nearest == nullptr || std::abs(p.frame - frame) < std::abs(nearest->frame - frame)))
      nearest = &p;
  if (!(rate > 0) || (nearest != nullptr && nearest->frame == frame)) return unknown;
  return nearest == nullptr ? static_cast<double>(frame) / rate
                            : nearest->t + static_cast<double>(frame - nearest->frame) / rate;
}

}  // namespace

int TrackCommand(const TrackArguments& arguments) {
  const TrackConfig plan = LoadTracking(arguments.file);
  TrackRunOptions options;
  options.overlay = arguments.overlay;
  options.sheets = arguments.sheets;
  options.command = arguments.command;
  CheckFolder(arguments.out, "--out");
  StageCache stages(arguments.out / ".stages", arguments.force);
  const TrackRun run = RunTracking(plan, arguments.out, options,
                                   {.threads = arguments.threads,
                                    .quiet = arguments.quiet,
                                    .cache = &stages,
                                    .cancellation = &pipelines::program_cancellation});
  if (arguments.report)
    WriteTrackingPage(arguments.out / "tracking.html", run, arguments.out / "sheets",
                      IMPACTLAB_PLOT_LIBRARY);
  stages.Prune();
  if (!arguments.quiet) {
    fmt::print("{}", BriefReport(run));
    fmt::print("\n{:.1f} s; written to {}\n", run.seconds, (arguments.out / "tracks.csv").string());
    if (arguments.report) fmt::print("page {}\n", (arguments.out / "tracking.html").string());
  }
  return kDone;
}

int ImportCommand(const ImportArguments& arguments) {
  ImportOptions options;
  if (!arguments.format.empty()) {
    options.format = TrackFormatFromString(arguments.format);
    if (!options.format)
      throw ConfigError(
          fmt::format("--format: found {}, allowed impactlab, dltdv, tracker, deeplabcut, table",
                      Excerpt(arguments.format)));
  }
  options.cameras = arguments.cameras;
  options.rate = arguments.rate;
  options.height = arguments.height;
  options.rows_from_top = arguments.rows_from_top;
  options.sd = arguments.sd;
  const std::vector<Correction> corrections = arguments.corrections.empty()
                                                  ? std::vector<Correction>{}
                                                  : ReadCorrections(arguments.corrections);
  TracksWriter writer(arguments.out);
  std::size_t points = 0;
  std::set<std::string> names;
  for (const std::filesystem::path& file : arguments.files) {
    MarkerTracks tracks = ImportTracks(file, options);
    const std::string own = tracks.recording;
    for (int count = 2; !names.insert(tracks.recording).second; ++count)
      tracks.recording = fmt::format("{}~{}", own, count);
    const int changed = ApplyCorrections(
        corrections, arguments.corrections.string(),
        [&](int camera, long long frame, double) {
          return TimeFromOthers(tracks, camera, frame, arguments.rate);
        },
        &tracks);
    fmt::print("{}: {} points of {} markers in {} cameras{}{}\n", file.string(),
               tracks.points.size(), tracks.markers.size(), tracks.cameras.size(),
               changed > 0 ? fmt::format(", {} corrected by hand", changed) : "",
               tracks.recording == own
                   ? ""
                   : fmt::format("; named '{}', as there is a recording '{}' before it",
                                 tracks.recording, own));
    points += tracks.points.size();
    writer.Write(tracks);
  }
  if (points == 0) throw DataError("no file holds a point");
  std::set<std::string> strangers;
  for (const Correction& correction : corrections)
    if (!names.contains(correction.recording)) strangers.insert(Excerpt(correction.recording));
  writer.Commit();
  if (!strangers.empty())
    fmt::print("corrections passed over, of recordings not here: {}\n",
               JoinNames({strangers.begin(), strangers.end()}));
  fmt::print("written to {}\n", arguments.out.string());
  return kDone;
}

}  // namespace impactlab
