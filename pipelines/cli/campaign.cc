// The verb that sets several experiments beside each other.

#include "pipelines/campaign/campaign.h"

#include <fmt/core.h>

#include "data/base/error.h"
#include "data/base/progress.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/signals.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab {

int CampaignCommand(const CampaignArguments& arguments) {
  Campaign campaign = LoadCampaign(arguments.file, arguments.out);
  for (CampaignMember& member : campaign.members) {
    if (member.experiment.empty()) continue;
    pipelines::program_cancellation.Check();
    if (!arguments.quiet) fmt::print("{}: {}\n", member.name, member.experiment.string());
    RunArguments run;
    run.experiment = member.experiment;
    run.recordings = member.recordings;
    run.out = member.run;
    run.threads = arguments.threads;
    run.quiet = true;
    run.command = arguments.command;
    run.force = arguments.force;
    try {
      RunCommand(run, pipelines::program_cancellation);
    } catch (const DataError& error) {
      // A member without a usable recording is a row with its reason.
      member.fault = error.what();
      if (!arguments.quiet) fmt::print("{}: not used: {}\n", member.name, error.what());
    }
  }
  ProgressOptions shown;
  shown.enabled = !arguments.quiet;
  Progress progress("comparing members", 1000, "", shown);
  std::int64_t done = 0;
  const CampaignResult result = AnalyseCampaign(campaign, arguments.threads, [&](double share) {
    pipelines::program_cancellation.Check();
    const auto now = static_cast<std::int64_t>(1000 * share);
    if (now > done) progress.Advance(now - done);
    done = std::max(done, now);
  });
  progress.Finish();
  WriteCampaign(arguments.out, campaign, result, IMPACTLAB_PLOT_LIBRARY);
  if (!arguments.quiet) {
    fmt::print("{}\nwritten to {}\n", BriefReport(campaign, result), arguments.out.string());
    fmt::print("report      {}\n", (arguments.out / "campaign.html").string());
  }
  return kDone;
}

}  // namespace impactlab
