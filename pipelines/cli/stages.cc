// The verbs that fit and validate what a run has measured.

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/cli/detail/stage.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/run/run.h"
#include "pipelines/tables/tables.h"

namespace impactlab::pipelines {
namespace {

int RunIdentify(const StageArguments& arguments) {
  const Stage stage = LoadStage(arguments);
  const auto folder = OpenOutput(
      arguments.out,
      {"fit.json", "states_audit.json", "corrected/events.csv", "corrected/events_cov.csv"},
      arguments.shared);
  if (!folder) return kDone;
  const JudgedStates judged =
      JudgeStates(stage.experiment, stage.states, arguments.force_coefficients);
  const DataVerdict& verdict = judged.verdict;
  const FitResult fit =
      FitStates(stage.experiment, judged, {.cancellation = &program_cancellation});
  WriteFile(arguments.out / "fit.json", ToJson(fit));
  WriteFile(arguments.out / "states_audit.json", ToJson(judged));
  // What the coefficients are of, for the verbs that follow.
  if (judged.corrected) WriteEvents(arguments.out / "corrected", judged.events);
  folder->Finish();
  fmt::print("{}{}written to {}\n", BriefReport(judged), fit.BriefReport(),
             (arguments.out / "fit.json").string());
  if (fit.n_events == 0) {
    std::string why;
    for (const StateCause& cause : judged.causes)
      why += fmt::format("; {}: {}", cause.text, cause.cure);
    throw DataError(fmt::format("{}: no accepted event{}", arguments.events.string(), why));
  }
  if (verdict.withheld) throw DataError(WithheldText(verdict));
  return kDone;
}

// What the validated impacts are to the fit: its own, or unseen ones.
std::string SampleText(const FittedSample& sample) {
  if (!sample.stated)
    return "the fit does not state its recordings: all are taken for its own, with k-fold "
           "validation\n";
  std::string text;
  if (sample.unseen > 0) {
    text = fmt::format("{} impacts of recordings that the fit has not seen", sample.unseen);
    text += sample.known > 0 ? fmt::format(", {} of its own\n", sample.known) : "\n";
  }
  if (sample.other_numbers > 0) {
    text += fmt::format(
        "{} impacts bear the fit's names with other numbers and count as its own; rename the "
        "recordings if they are others\n",
        sample.other_numbers);
  }
  return text;
}

const char* SampleWord(bool in_sample, bool new_data) {
  return in_sample ? "in sample" : new_data ? "unseen" : "k-fold";
}

// Median and mean error in the norm of kinetic energy, of all impacts of a law.
void PrintErrors(const ValidationTable& table, bool new_data) {
  for (const ErrorSummary& s : table.error_summary) {
    if (s.group != "all") continue;
    fmt::print(
        "{:<10} {:<9} error in the norm of kinetic energy, of v+: median {:.1f} %, mean "
        "{:.1f} %; of v-: median {:.1f} % (n {})\n",
        s.law, SampleWord(s.in_sample, new_data), 100 * s.median_by_plus, 100 * s.mean_by_plus,
        100 * s.median_by_minus, s.n);
  }
}

int RunValidate(const StageArguments& arguments) {
  const Stage stage = LoadStage(arguments);
  const FitResult fit = LoadFit(arguments.fit);
  std::vector<std::string> names = DiagnosticsNames();
  names.insert(names.end(), {"validation.csv", "validation_summary.csv"});
  if (arguments.tables)
    for (const std::string& name : ValidationFormNames()) names.push_back(name);
  const auto folder = OpenOutput(arguments.out, names, arguments.shared);
  if (!folder) return kDone;
  const ValidationTable table = Validate(stage.events, stage.experiment.body, fit,
                                         stage.experiment.identify, stage.experiment.validation);
  const auto path = arguments.out / "validation.csv";
  WriteValidation(path, table);
  WriteValidationSummary(arguments.out / "validation_summary.csv", table);
  if (arguments.tables) WriteValidationForms(arguments.out, table);
  const FittedSample sample = CompareWithFitted(stage.events, fit);
  const bool new_data = sample.stated && sample.unseen > 0;
  fmt::print("{}", SampleText(sample));
  PrintErrors(table, new_data);
  for (const QuantitySummary& q : table.quantity_summary) {
    if (q.group != "all") continue;
    fmt::print(
        "{:<10} {:<9} {:<14} n {:>4}  adequate {:>4}  discrepant {:>4}  unresolved {:>4}  rms "
        "{:>8.4f}  bias {:>8.4f}  rms z {:>5.2f}\n",
        q.law, SampleWord(q.in_sample, new_data), q.quantity, q.n, q.adequate, q.discrepant,
        q.unresolved, q.rms, q.bias, q.rms_z);
  }
  const Diagnostics scrutiny =
      DiagnoseCampaign(stage.events, stage.experiment.body, fit, table, stage.experiment.seed);
  WriteDiagnostics(arguments.out, scrutiny);
  folder->Finish();
  fmt::print("{}written to {}\n", BriefReport(scrutiny), path.string());
  return kDone;
}

void AddStageOptions(CLI::App& verb, StageArguments& arguments) {
  verb.add_option("experiment", arguments.experiment, "experiment file (YAML)")->required();
  verb.add_option("--events", arguments.events, "events.csv, or any table of pre and post states")
      ->required();
}

}  // namespace

Stage LoadStage(const StageArguments& arguments) {
  Stage stage{LoadExperiment(arguments.experiment), {}, {}};
  stage.states = LoadStates(stage.experiment, arguments.events);
  if (!stage.states.note.empty()) fmt::print(stderr, "impactlab: note: {}\n", stage.states.note);
  stage.events = stage.states.table.events;
  return stage;
}

FitResult LoadFit(const std::filesystem::path& path) {
  FitResult fit = FitResultFromJson(ReadFile(path), path.string());
  const auto refuse = [&](const std::string& what) {
    throw DataError(fmt::format("{}: {}", path.string(), what));
  };
  if (fit.verdict.withheld) refuse(WithheldText(fit.verdict));
  if (fit.fits.empty()) refuse("fits: found none, allowed at least one");
  std::set<std::string> laws;
  for (const LawFit& law : fit.fits) {
    if (!laws.insert(law.law).second) refuse(fmt::format("fits: law {} stands twice", law.law));
    for (const ParameterEstimate& p : ListParameters(law)) {
      const bool friction = p.name == "mu_k";
      if (std::isfinite(p.value) && (p.value < 0 || (!friction && p.value > 1))) {
        refuse(fmt::format("fits: {}: {}: value: found {}, allowed {}", law.law, p.name, p.value,
                           friction ? "a number >= 0" : "a number in [0, 1]"));
      }
    }
    for (int i = 0; i < law.covariance.rows(); ++i) {
      if (law.covariance(i, i) < 0)
        refuse(fmt::format("fits: {}: covariance: found a variance of {}, allowed a number >= 0",
                           law.law, law.covariance(i, i)));
    }
  }
  return fit;
}

Action AddIdentify(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<StageArguments>();
  AddStageOptions(verb, *arguments);
  AddOutFolder(verb, arguments->out);
  AddForceCoefficients(verb, arguments->force_coefficients);
  return [arguments, &call] {
    arguments->shared = call.shared;
    return RunIdentify(*arguments);
  };
}

Action AddValidate(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<StageArguments>();
  AddStageOptions(verb, *arguments);
  verb.add_option("--fit", arguments->fit, "fit.json")->required();
  AddOutFolder(verb, arguments->out);
  verb.add_flag("--tables", arguments->tables, "the table as Markdown, LaTeX and HTML as well");
  return [arguments, &call] {
    arguments->shared = call.shared;
    return RunValidate(*arguments);
  };
}

}  // namespace impactlab::pipelines
