// The verbs that go from recordings to results.

#include "pipelines/run/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>

#include "data/base/error.h"
#include "data/cache/stage_cache.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "pipelines/bounces/forward_prediction.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/answer.h"
#include "pipelines/cli/detail/command_line.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/shared_options.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/report/report.h"
#include "pipelines/run/recording_files.h"
#include "pipelines/tables/tables.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab {
namespace {

constexpr const char* kStages = ".stages";   // folder of what is kept for a run that goes on
constexpr const char* kRefused = "refused";  // folder of the reasons, where nothing could be used
constexpr const char* kRefusedNames[] = {"events.csv", "events_cov.csv", "drops.csv",
                                         "points.csv", "flights.csv",    "flights.json"};

// Figures a requirement may name.
std::map<std::string, double> Figures(const RunResult& run) {
  std::map<std::string, double> figures;
  const Analysis& best = run.best();
  int accepted = 0, accepted_first = 0;
  for (const ImpactEvent& event : best.events) {
    accepted += event.accepted;
    accepted_first += event.accepted && event.impact == 0;
  }
  figures["accepted"] = accepted;
  figures["accepted_first"] = accepted_first;
  figures["closes"] = run.verdict.verdict.starts_with("closes");
  figures["gravity"] = run.audit.gravity.value;
  figures["momentum_relative"] =
      (run.has_corrected ? run.audit.momentum_corrected : run.audit.momentum).relative();
  if (run.second()) figures["closure_probability"] = ClosureOf(best.events).probability;
  if (best.fit.verdict.withheld) return figures;
  for (const LawFit& law : best.fit.fits) {
    for (const ParameterEstimate& p : ListParameters(law)) {
      // mu_k and e_t belong to every law: plain mu_k is that of the reference, law.mu_k any
      // other's.
      for (const std::string& name : {law.law + "." + p.name, p.name}) {
        if ((name == "mu_k" || name == "e_t") && law.law != LawName(kReferenceLaw)) continue;
        figures[name] = p.value;
        figures[name + ".half_width"] = 0.5 * (p.upper95 - p.lower95);
        figures[name + ".identifiable"] = p.identifiable;
      }
    }
  }
  return figures;
}

// Their names, known before anything is computed.
std::vector<std::string> FigureNames(const Experiment& experiment, bool with_fits) {
  std::vector<std::string> names = {"accepted", "accepted_first", "closes", "gravity",
                                    "momentum_relative"};
  if (experiment.second) names.emplace_back("closure_probability");
  if (!with_fits) return names;
  for (const RestitutionLaw law : experiment.laws) {
    const std::string own = LawName(law);
    // Whether contacts spring back is found by the run; without it e_t could not be determined.
    std::vector<std::string> parameters = {"mu_k", CoefficientName(law), "e_t"};
    if (experiment.identify.fit_mu_s) parameters.emplace_back("mu_s");
    for (const std::string& parameter : parameters)
      for (const char* figure : {"", ".half_width", ".identifiable"}) {
        names.push_back(fmt::format("{}.{}{}", own, parameter, figure));
        if ((parameter != "mu_k" && parameter != "e_t") || law == kReferenceLaw)
          names.push_back(parameter + figure);
      }
  }
  return names;
}

struct Requirement {
  std::string text, name, relation;
  double limit = 0;
};

Requirement ParseRequirement(const std::string& text) {
  for (const char* relation : {">=", "<=", ">", "<"}) {
    const auto at = text.find(relation);
    if (at == std::string::npos) continue;
    Requirement out{text, text.substr(0, at), relation, 0};
    const std::string number = text.substr(at + out.relation.size());
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), out.limit);
    if (error == std::errc() && end == number.data() + number.size() && !out.name.empty() &&
        !number.empty())
      return out;
    break;
  }
  throw ConfigError(fmt::format(
      "--require: '{}' is not NAME>=NUMBER, NAME<=NUMBER, NAME>NUMBER or NAME<NUMBER", text));
}

int CheckRequirements(const std::vector<Requirement>& requirements, const RunResult& run) {
  const auto figures = Figures(run);
  int code = kDone;
  for (const Requirement& want : requirements) {
    const auto found = figures.find(want.name);
    if (found == figures.end()) {
      fmt::print(stderr, "impactlab: requirement {} is not met: {} could not be determined\n",
                 want.text, want.name);
      code = kNotMet;
      continue;
    }
    const double value = found->second;
    const bool met = want.relation == ">="   ? value >= want.limit
                     : want.relation == "<=" ? value <= want.limit
                     : want.relation == ">"  ? value > want.limit
                                             : value < want.limit;
    if (met) continue;
    fmt::print(stderr, "impactlab: requirement {} is not met: {} = {:.6g}\n", want.text, want.name,
               value);
    code = kNotMet;
  }
  return code;
}

Recordings LoadFiles(const RunArguments& arguments, Experiment* experiment) {
  const pipelines::RecordingFiles found =
      pipelines::RecordingsOf(*experiment, arguments.recordings, arguments.out);
  if (!found.note.empty()) fmt::print(stderr, "impactlab: left out: {}\n", found.note);
  // run.yaml must find the same recordings again, from wherever it lies.
  if (!arguments.recordings.empty())
    experiment->recordings = std::filesystem::absolute(arguments.recordings).string();
  return LoadRecordings(*experiment, found.files);
}

Recordings LoadImages(const RunArguments& arguments, bool whole, const RunContext& context,
                      Experiment* experiment) {
  if (!arguments.recordings.empty())
    throw ConfigError(fmt::format("--recordings: {} names its recordings in the tracking file, {}",
                                  arguments.experiment.string(),
                                  experiment->markers->plan.path.string()));
  const MarkerStageOptions stage = {.pages = arguments.report && whole,
                                    .command = arguments.command,
                                    .plotting = IMPACTLAB_PLOT_LIBRARY};
  return LoadMarkers(*experiment, arguments.out, stage, context);
}

// Names that a run, or `reconstruct`, may write or take away.
std::vector<std::string> RunNames(const Experiment& e, bool whole) {
  std::vector<std::string> names = {"run.yaml",
                                    "events.csv",
                                    "events_cov.csv",
                                    "motion.csv",
                                    "audit.json",
                                    "as_recorded/events.csv",
                                    "as_recorded/events_cov.csv"};
  const auto add = [&](const std::vector<std::string>& more) {
    names.insert(names.end(), more.begin(), more.end());
  };
  if (whole) {
    add({"fit.json", "budget.csv", "classical.csv", "classical_fit.csv", "repeatability.csv",
         "models.csv", "model_coefficients.csv", "intervals.csv", "validation.csv",
         "validation_summary.csv", "bounces.csv", "report.html", "report_parts/*.js",
         "as_recorded/fit.json", "as_recorded/validation.csv"});
    add(pipelines::DiagnosticsNames());
    add(pipelines::ValidationFormNames());
  }
  for (const char* name : kRefusedNames) names.push_back(fmt::format("{}/{}", kRefused, name));
  if (e.points) add({"points.csv", "poses/*.csv"});
  if (e.second) add({"points_second.csv", "poses_second/*.csv"});
  if (!e.markers) return names;
  add({"drops.csv", "layout.csv", "flights.csv", "flights.json", "poses/*.csv"});
  if (!e.markers->calibration.empty()) add(pipelines::CalibrationNames("calibration/"));
  if (e.markers->tracks.empty()) add(pipelines::TrackingNames("tracking/"));
  if (e.second) add(pipelines::TrackingNames("tracking_second/"));
  return names;
}

std::vector<Requirement> ReadRequirements(const RunArguments& arguments,
                                          const Experiment& experiment, bool whole) {
  std::vector<Requirement> requirements;
  for (const std::string& text : arguments.require) requirements.push_back(ParseRequirement(text));
  const std::vector<std::string> figures = FigureNames(experiment, whole);
  for (const Requirement& want : requirements) {
    if (std::find(figures.begin(), figures.end(), want.name) != figures.end()) continue;
    const std::string nearest = NearestName(want.name, figures);
    throw ConfigError(fmt::format("--require: found {}{}, allowed {}", Excerpt(want.name),
                                  nearest.empty() ? "" : ", nearest is " + nearest,
                                  JoinNames(figures)));
  }
  return requirements;
}

// Recordings that hold no usable impact are a result; none that can be read is not, and leaves the
// last good output alone.
void RefuseUnread(const RunArguments& arguments, const RunResult& run) {
  const std::vector<ImpactEvent>& events = run.recorded.events;
  const std::vector<const PoseRecording*> poses = run.poses();
  const bool unread =
      std::all_of(poses.begin(), poses.end(), [](const PoseRecording* r) { return r->t.empty(); });
  const bool bad =
      !events.empty() && std::all_of(events.begin(), events.end(), [](const ImpactEvent& e) {
        return e.reason == RejectReason::kBadRecording;
      });
  if (!unread && !bad) return;
  WriteRefusal(arguments.out / kRefused, run);
  throw DataError(fmt::format(
      "none of {} recordings can be used; {}first: {}; reasons of all in {}", run.n_recordings(),
      run.flights.failed > 0 ? "free flight: " + run.flights.verdict + "; " : std::string(),
      events.front().detail, (arguments.out / kRefused).string()));
}

// The files of the folder; what earlier runs left and this one does not make is removed. Returns
// the motions past the first impact, where they were asked for.
std::optional<BounceStudy> WriteResults(const RunArguments& arguments, bool whole,
                                        const RunResult& run, const RunContext& context) {
  const bool coefficients = whole && !run.verdict.withheld;
  WriteRun(arguments.out, run, arguments.command);
  if (coefficients && arguments.tables) WriteValidationForms(arguments.out, run.best().validation);
  if (whole && !coefficients) RemoveOutputs(arguments.out, pipelines::DiagnosticsNames());
  std::optional<BounceStudy> bounces;
  if (coefficients && !run.diagnosis && arguments.bounces >= 0) {
    bounces = StudyBounces(run, {.draws = arguments.bounces, .seed = run.experiment.seed}, context);
    WriteBounces(arguments.out / "bounces.csv", *bounces);
  }
  if (whole && !bounces) RemoveOutput(arguments.out / "bounces.csv");
  // what an earlier run had to say no longer holds
  RemoveOutputs(arguments.out / kRefused, {std::begin(kRefusedNames), std::end(kRefusedNames)});
  if (whole && arguments.report)
    WriteReport(arguments.out / "report.html", run, IMPACTLAB_PLOT_LIBRARY);
  return bounces;
}

void SayResults(const RunArguments& arguments, bool whole, const RunResult& run,
                const std::optional<BounceStudy>& bounces, const StageCache& stages) {
  if (arguments.json) {
    fmt::print("{}", pipelines::AnswerJson(whole ? "run" : "reconstruct", run, arguments.out,
                                           stages.Counts(), whole && arguments.report));
  } else if (!arguments.quiet) {
    fmt::print("{}{}", BriefReport(run), bounces ? BriefReport(*bounces) : "");
    fmt::print("\n{:.2f} s {}without the report; written to {}\n", run.seconds,
               run.markers() ? "from the pictures or tracks to the tables, " : "",
               arguments.out.string());
    if (whole && arguments.report)
      fmt::print("report      {}\n", (arguments.out / "report.html").string());
  }
}

int RunChain(const RunArguments& arguments, bool whole, const Cancellation& cancellation) {
  Experiment experiment = LoadExperiment(arguments.experiment);
  const std::vector<Requirement> requirements = ReadRequirements(arguments, experiment, whole);
  CheckFolder(arguments.out, "--out");
  // Recordings that the run would write over are said to be recordings.
  if (!experiment.markers) pipelines::RecordingsOf(experiment, arguments.recordings, arguments.out);
  const std::vector<std::string> names = RunNames(experiment, whole);
  if (arguments.dry_run) {
    if (!arguments.move_aside) CheckOutputFolder(arguments.out, names);
    return pipelines::DryRun(arguments);
  }
  const auto folder =
      pipelines::OpenOutput(arguments.out, names, {.move_aside = arguments.move_aside});
  const auto start = std::chrono::steady_clock::now();
  if (arguments.bootstrap >= 0) experiment.identify.bootstrap = arguments.bootstrap;
  StageCache stages(arguments.out / kStages, arguments.force);
  const RunOptions options = {
      .identify = whole, .validate = whole, .force_coefficients = arguments.force_coefficients};
  const RunContext context = {.threads = arguments.threads,
                              .quiet = arguments.quiet,
                              .cache = &stages,
                              .cancellation = &cancellation};
  Recordings recordings = experiment.markers ? LoadImages(arguments, whole, context, &experiment)
                                             : LoadFiles(arguments, &experiment);
  RunResult run = RunExperiment(experiment, std::move(recordings), options, context);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  RefuseUnread(arguments, run);
  const std::optional<BounceStudy> bounces = WriteResults(arguments, whole, run, context);
  if (whole) stages.Prune();
  folder->Finish();
  SayResults(arguments, whole, run, bounces, stages);
  const int code = CheckRequirements(requirements, run);
  const std::vector<ImpactEvent>& events = run.best().events;
  const bool nothing = std::none_of(events.begin(), events.end(),
                                    [](const ImpactEvent& event) { return event.accepted; });
  const bool withheld = whole && run.verdict.withheld;
  // Nothing accepted of two bodies has no diagnosis, and is a result.
  if (!withheld && !(nothing && run.diagnosis)) return code;
  if (arguments.json) return kUnusable;
  if (!run.diagnosis) throw DataError(WithheldText(run.verdict));
  throw DataError((nothing ? "no impact was accepted: " : "coefficients are withheld: ") +
                  SetDiagnosisText(*run.diagnosis));
}

}  // namespace

int RunCommand(const RunArguments& arguments, const Cancellation& cancellation) {
  return RunChain(arguments, true, cancellation);
}

int ReconstructCommand(const RunArguments& arguments, const Cancellation& cancellation) {
  return RunChain(arguments, false, cancellation);
}

void CheckRunFolder(const RunArguments& arguments) {
  CheckOutputFolder(arguments.out, RunNames(LoadExperiment(arguments.experiment), true));
}

namespace pipelines {
namespace {

void AddRunOptions(CLI::App& verb, RunArguments& arguments) {
  verb.add_option("experiment", arguments.experiment, "experiment file (YAML)")->required();
  verb.add_option("--recordings", arguments.recordings,
                  "glob of recordings, instead of the experiment's");
  verb.add_option("--out", arguments.out, "run folder to write")->capture_default_str();
  AddThreads(verb, arguments.threads);
  AddQuiet(verb, arguments.quiet);
  AddForce(verb, arguments.force);
  verb.add_flag("--json", arguments.json, "one JSON object on standard output instead of text");
  verb.add_flag("--dry-run", arguments.dry_run,
                "check every file and say what would be done; nothing is written");
  verb.add_option(
      "--require", arguments.require,
      "requirement such as accepted>=40 or mu_k.half_width<=0.03; exit code 1 when not met");
}

}  // namespace

Action AddRun(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<RunArguments>();
  AddRunOptions(verb, *arguments);
  AddForceCoefficients(verb, arguments->force_coefficients);
  verb.add_flag("!--no-report", arguments->report, "leave report.html out");
  verb.add_flag("--tables", arguments->tables,
                "the validation table as CSV, Markdown, LaTeX and HTML as well");
  verb.add_option("--bootstrap", arguments->bootstrap,
                  "resamples over recordings, instead of the experiment's")
      ->check(WholeNumber(0, 100000));
  verb.add_option(
          "--bounces", arguments->bounces,
          "follow recordings past their first impact, with so many draws each; 32 is enough")
      ->check(WholeNumber(0, 100000));
  return [arguments, &call] {
    arguments->command = call.command;
    arguments->move_aside = call.shared.move_aside;
    return RunCommand(*arguments, program_cancellation);
  };
}

Action AddReconstruct(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<RunArguments>();
  AddRunOptions(verb, *arguments);
  return [arguments, &call] {
    arguments->command = call.command;
    arguments->move_aside = call.shared.move_aside;
    return ReconstructCommand(*arguments, program_cancellation);
  };
}

}  // namespace pipelines

}  // namespace impactlab
