// The verb that follows a scenario through its motion.

#include "pipelines/simulate/simulate.h"

#include <fmt/core.h>

#include <cmath>

#include "data/base/progress.h"
#include "data/files/atomic_file.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/page/page.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab::pipelines {

namespace {

struct SimulateArguments {
  std::filesystem::path file;
  std::filesystem::path out = "out";
  std::filesystem::path video;  // empty: none
  double speed = 1;             // seconds of motion a second of video
  bool page = true;
  bool quiet = false;
  SharedOptions shared;
};

int RunSimulate(const SimulateArguments& arguments) {
  const Scenario scenario = LoadScenario(arguments.file);
  std::vector<std::string> names = NameWithin(arguments.out, arguments.video);
  names.insert(names.end(), {"trajectory.csv", "events.csv", "summary.json"});
  if (arguments.page) names.emplace_back("page.html");
  const auto folder = OpenOutput(arguments.out, names, arguments.shared);
  if (!folder) return kDone;
  ProgressOptions options;
  options.enabled = !arguments.quiet;
  Progress progress(scenario.name,
                    std::llround(scenario.options.duration / scenario.options.sample_step),
                    "samples", options);
  const SimulatedMotion motion = RunScenario(scenario, [&](int samples) {
    program_cancellation.Check();
    progress.Advance(samples);
  });
  progress.Finish();
  WriteTrajectory(arguments.out / "trajectory.csv", scenario, motion);
  WriteMotionEvents(arguments.out / "events.csv", scenario, motion);
  WriteFile(arguments.out / "summary.json", MotionSummary(scenario, motion));
  if (arguments.page)
    WriteMotionPage(arguments.out / "page.html", scenario, motion,
                    ReadPlotLibrary(IMPACTLAB_PLOT_LIBRARY));
  if (!arguments.video.empty())
    WriteMotionVideo(arguments.video, scenario, motion, arguments.speed,
                     {.cancellation = &program_cancellation});
  folder->Finish();
  if (!arguments.quiet) {
    fmt::print("{}\nwritten to {}\n", MotionLine(scenario, motion), arguments.out.string());
    if (arguments.page) fmt::print("page        {}\n", (arguments.out / "page.html").string());
  }
  return motion.result.end == SimulationEnd::kGivenUp ? kUnusable : kDone;
}

}  // namespace

Action AddSimulate(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<SimulateArguments>();
  verb.add_option("file", arguments->file, "scenario file (YAML)")->required();
  AddOutFolder(verb, arguments->out);
  verb.add_option("--video", arguments->video, "video to write as well (mp4, mkv, mov, avi)");
  verb.add_option("--speed", arguments->speed, "seconds of motion a second of video")
      ->capture_default_str();
  verb.add_flag("!--no-page", arguments->page, "leave page.html out");
  verb.add_flag("--quiet", arguments->quiet, "no summary");
  return [arguments, &call] {
    arguments->shared = call.shared;
    return RunSimulate(*arguments);
  };
}

}  // namespace impactlab::pipelines
