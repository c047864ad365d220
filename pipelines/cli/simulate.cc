// The verb that follows a scenario through its motion.

#include "pipelines/simulate/simulate.h"

#include <fmt/core.h>

#include <cmath>

#include "data/base/progress.h"
#include "data/files/atomic_file.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/page/page.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab {

int SimulateCommand(const SimulateArguments& arguments) {
  const Scenario scenario = LoadScenario(arguments.file);
  ProgressOptions options;
  options.enabled = !arguments.quiet;
  Progress progress(scenario.name,
                    std::llround(scenario.options.duration / scenario.options.sample_step),
                    "samples", options);
  const SimulatedMotion motion = RunScenario(scenario, [&](int samples) {
    pipelines::program_cancellation.Check();
    progress.Advance(samples);
  });
  progress.Finish();
  WriteTrajectory(arguments.out / "trajectory.csv", scenario, motion);
  WriteMotionEvents(arguments.out / "events.csv", scenario, motion);
  WriteFile(arguments.out / "summary.json", MotionSummary(scenario, motion));
  if (arguments.page)
    WriteMotionPage(arguments.out / "page.html", scenario, motion,
                    pipelines::ReadPlotLibrary(IMPACTLAB_PLOT_LIBRARY));
  if (!arguments.video.empty())
    WriteMotionVideo(arguments.video, scenario, motion, arguments.speed,
                     {.cancellation = &pipelines::program_cancellation});
  if (!arguments.quiet) {
    fmt::print("{}\nwritten to {}\n", MotionLine(scenario, motion), arguments.out.string());
    if (arguments.page) fmt::print("page        {}\n", (arguments.out / "page.html").string());
  }
  return motion.result.end == SimulationEnd::kGivenUp ? kUnusable : kDone;
}

}  // namespace impactlab
