// The verb that follows markers through videos.

#include "pipelines/track/track.h"

#include <fmt/format.h>

#include "data/cache/stage_cache.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/track/page.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab::pipelines {
namespace {

struct TrackArguments {
  std::filesystem::path file;
  std::filesystem::path out = "tracks";
  // videos named after it, one for each recording and camera; empty: none
  std::filesystem::path overlay;
  int threads = 0;
  bool sheets = true;
  bool report = true;
  bool quiet = false;
  std::string command;  // command line, for run.yaml
  bool force = false;
  SharedOptions shared;
};

// The pictures are named after the recordings and cameras.
std::vector<std::string> OutputsOf(const TrackArguments& arguments, const TrackConfig& plan) {
  std::vector<std::string> names = TrackingNames("");
  if (!arguments.overlay.empty())
    for (const TrackedRecording& recording : plan.recordings)
      for (const TrackedCamera& camera : plan.cameras)
        for (const std::string& name : NameWithin(
                 arguments.out,
                 arguments.overlay.parent_path() /
                     fmt::format("{}_{}_{}{}", arguments.overlay.stem().string(), recording.name,
                                 camera.name, arguments.overlay.extension().string())))
          names.push_back(name);
  return names;
}

int RunTrack(const TrackArguments& arguments) {
  const TrackConfig plan = LoadTracking(arguments.file);
  TrackRunOptions options;
  options.overlay = arguments.overlay;
  options.sheets = arguments.sheets;
  options.command = arguments.command;
  const auto folder = OpenOutput(arguments.out, OutputsOf(arguments, plan), arguments.shared);
  if (!folder) return kDone;
  StageCache stages(arguments.out / ".stages", arguments.force);
  const TrackRun run = RunTracking(plan, arguments.out, options,
                                   {.threads = arguments.threads,
                                    .quiet = arguments.quiet,
                                    .cache = &stages,
                                    .cancellation = &program_cancellation});
  if (arguments.report)
    WriteTrackingPage(arguments.out / "tracking.html", run, arguments.out / "sheets",
                      IMPACTLAB_PLOT_LIBRARY);
  stages.Prune();
  folder->Finish();
  if (!arguments.quiet) {
    fmt::print("{}", BriefReport(run));
    fmt::print("\n{:.1f} s; written to {}\n", run.seconds, (arguments.out / "tracks.csv").string());
    if (arguments.report) fmt::print("page {}\n", (arguments.out / "tracking.html").string());
  }
  return kDone;
}

}  // namespace

Action AddTrack(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<TrackArguments>();
  verb.add_option("file", arguments->file, "tracking file (YAML)")->required();
  AddOutFolder(verb, arguments->out);
  verb.add_option("--overlay", arguments->overlay,
                  "videos with the tracks drawn in, NAME_RECORDING_CAMERA.mp4 for NAME.mp4");
  AddThreads(verb, arguments->threads);
  verb.add_flag("!--no-sheets", arguments->sheets,
                "leave the pictures of the frames about the impacts out");
  verb.add_flag("!--no-report", arguments->report, "leave tracking.html out");
  AddQuiet(verb, arguments->quiet);
  AddForce(verb, arguments->force);
  return [arguments, &call] {
    arguments->command = call.command;
    arguments->shared = call.shared;
    return RunTrack(*arguments);
  };
}

}  // namespace impactlab::pipelines
