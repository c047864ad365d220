// The verb that plans an experiment.

#include "pipelines/plan/plan.h"

#include <fmt/core.h>

#include "data/base/progress.h"
#include "data/files/atomic_file.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/page/page.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab::pipelines {

namespace {

struct PlanArguments {
  std::filesystem::path file;
  std::filesystem::path out = "plan";
  int threads = 0;
  bool page = true;
  bool quiet = false;
  SharedOptions shared;
};

int RunPlan(const PlanArguments& arguments) {
  const ExperimentDesign plan = LoadPlan(arguments.file);
  std::vector<std::string> names = {"plan.csv", "plan.json"};
  if (arguments.page) names.emplace_back("plan.html");
  const auto folder = OpenOutput(arguments.out, names, arguments.shared);
  if (!folder) return kDone;
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
                  ReadPlotLibrary(IMPACTLAB_PLOT_LIBRARY));
  folder->Finish();
  if (!arguments.quiet)
    fmt::print("{}written to {}\n", BriefReport(plan, result), arguments.out.string());
  return kDone;
}

}  // namespace

Action AddPlan(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<PlanArguments>();
  verb.add_option("file", arguments->file, "plan file (YAML)")->required();
  AddOutFolder(verb, arguments->out);
  AddThreads(verb, arguments->threads);
  verb.add_flag("!--no-page", arguments->page, "leave plan.html out");
  AddQuiet(verb, arguments->quiet);
  return [arguments, &call] {
    arguments->shared = call.shared;
    return RunPlan(*arguments);
  };
}

}  // namespace impactlab::pipelines
