// The verb that plans an experiment.

#include "pipelines/plan/plan.h"

#include <fmt/core.h>

#include "data/base/progress.h"
#include "data/files/atomic_file.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/page/page.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab {

int PlanCommand(const PlanArguments& arguments) {
  const ExperimentDesign plan = LoadPlan(arguments.file);
  CheckFolder(arguments.out, "--out");
  ProgressOptions options;
  options.enabled = !arguments.quiet;
  // Settings, information, campaigns, every law, cameras.
  Progress progress(plan.name, 4 + static_cast<std::int64_t>(plan.rivals.size()), "steps", options);
  const PlanResult result =
      MakePlan(plan, arguments.threads, [&](const std::string&) { progress.Advance(); });
  progress.Finish();
  WritePlanTable(arguments.out / "plan.csv", plan, result);
  WriteFile(arguments.out / "plan.json", PlanJson(plan, result));
  if (arguments.page)
    WritePlanPage(arguments.out / "plan.html", plan, result,
                  pipelines::ReadPlotLibrary(IMPACTLAB_PLOT_LIBRARY));
  if (!arguments.quiet)
    fmt::print("{}written to {}\n", BriefReport(plan, result), arguments.out.string());
  return kDone;
}

}  // namespace impactlab
