// The verb that follows markers through videos.

#include <fmt/core.h>

#include "data/error.h"
#include "pipelines/commands.h"
#include "pipelines/track.h"
#include "pipelines/tracking_page.h"

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

}  // namespace impactlab
