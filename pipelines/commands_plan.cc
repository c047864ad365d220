// The verb that plans an experiment.

#include <fmt/core.h>

#include "data/atomic_file.h"
#include "data/progress.h"
#include "pipelines/commands.h"
#include "pipelines/plan.h"
#include "pipelines/report_page.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab {

int PlanCommand(const PlanArguments& arguments) {
  const ExperimentPlan plan = LoadPlan(arguments.file);
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
                  internal::ReadPlotLibrary(IMPACTLAB_PLOT_LIBRARY));
  if (!arguments.quiet)
    fmt::print("{}written to {}\n", BriefReport(plan, result), arguments.out.string());
  return 0;
}

}  // namespace impactlab
