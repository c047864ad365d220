// The verb that sets several experiments beside each other.

#include "pipelines/campaign/campaign.h"

#include <fmt/core.h>

#include "data/base/error.h"
#include "data/base/progress.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/cli/detail/verb.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab::pipelines {

namespace {

struct CampaignArguments {
  std::filesystem::path file;
  std::filesystem::path out = "campaign";
  int threads = 0;
  bool quiet = false;
  bool force = false;  // stages that an earlier run finished are done again
  SharedOptions shared;
  std::string command;  // command line, for the runs
};

constexpr const char* kCampaignNames[] = {
    "campaign.csv",           "members.csv",   "differences.csv", "models.csv",
    "model_coefficients.csv", "intervals.csv", "campaign.html"};

RunArguments RunOf(const CampaignMember& member, const CampaignArguments& arguments) {
  RunArguments run;
  run.experiment = member.experiment;
  run.recordings = member.recordings;
  run.out = member.run;
  run.threads = arguments.threads;
  run.quiet = true;
  run.command = arguments.command;
  run.force = arguments.force;
  run.move_aside = arguments.shared.move_aside;
  return run;
}

int RunCampaign(const CampaignArguments& arguments) {
  Campaign campaign = LoadCampaign(arguments.file, arguments.out);
  const auto folder = OpenOutput(
      arguments.out, {std::begin(kCampaignNames), std::end(kCampaignNames)}, arguments.shared);
  // A file in the way of the last run should not cost the work on the first.
  for (const CampaignMember& member : campaign.members) {
    if (member.experiment.empty() || arguments.shared.move_aside) continue;
    try {
      CheckRunFolder(RunOf(member, arguments));
    } catch (const DataError&) {  // said when its turn comes
    }
  }
  if (!folder) return kDone;
  for (CampaignMember& member : campaign.members) {
    if (member.experiment.empty()) continue;
    program_cancellation.Check();
    if (!arguments.quiet) fmt::print("{}: {}\n", member.name, member.experiment.string());
    try {
      RunCommand(RunOf(member, arguments), program_cancellation);
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
    program_cancellation.Check();
    const auto now = static_cast<std::int64_t>(1000 * share);
    if (now > done) progress.Advance(now - done);
    done = std::max(done, now);
  });
  progress.Finish();
  WriteCampaign(arguments.out, campaign, result, IMPACTLAB_PLOT_LIBRARY);
  folder->Finish();
  if (!arguments.quiet) {
    fmt::print("{}\nwritten to {}\n", BriefReport(campaign, result), arguments.out.string());
    fmt::print("report      {}\n", (arguments.out / "campaign.html").string());
  }
  return kDone;
}

}  // namespace

Action AddCampaign(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<CampaignArguments>();
  verb.add_option("file", arguments->file, "campaign file (YAML)")->required();
  verb.add_option("--out", arguments->out, "folder to write; the run of every member lies in it")
      ->capture_default_str();
  AddThreads(verb, arguments->threads);
  AddQuiet(verb, arguments->quiet);
  AddForce(verb, arguments->force);
  return [arguments, &call] {
    arguments->shared = call.shared;
    arguments->command = call.command;
    return RunCampaign(*arguments);
  };
}

}  // namespace impactlab::pipelines
