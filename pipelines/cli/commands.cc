#include "pipelines/cli/commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "data/base/error.h"
#include "data/cache/stage_cache.h"
#include "data/files/atomic_file.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "pipelines/bounces/forward_prediction.h"
#include "pipelines/cli/detail/answer.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/signals.h"
#include "pipelines/report/report.h"
#include "pipelines/run/recording_files.h"
#include "pipelines/run/run.h"
#include "pipelines/synth/rig.h"
#include "pipelines/synth/synth.h"
#include "pipelines/synth/video.h"
#include "pipelines/tables/solve_io.h"
#include "pipelines/tables/tables.h"

#ifndef IMPACTLAB_PLOT_LIBRARY
#define IMPACTLAB_PLOT_LIBRARY ""
#endif

namespace impactlab {
namespace {

constexpr const char* kStages = ".stages";   // folder of what is kept for a run that goes on
constexpr const char* kRefused = "refused";  // folder of the reasons, where nothing could be used

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
  figures["gravity"] = run.audit.gravity.value;
  figures["momentum_relative"] =
      (run.has_corrected ? run.audit.momentum_corrected : run.audit.momentum).relative();
  if (run.second) figures["closure_probability"] = ClosureOf(best.events).probability;
  for (const LawFit& law : best.fit.fits) {
    for (const ParameterEstimate& p : ListParameters(law)) {
      // mu_k belongs to every law: plain mu_k is the energetic law's, law.mu_k any other's.
      for (const std::string& name : {law.law + "." + p.name, p.name}) {
        if (name == "mu_k" && law.law != "energetic") continue;
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
  std::vector<std::string> names = {"accepted", "accepted_first", "gravity", "momentum_relative"};
  if (experiment.second) names.emplace_back("closure_probability");
  if (!with_fits) return names;
  for (const RestitutionLaw law : experiment.laws) {
    const std::string own = LawName(law);
    std::vector<std::string> parameters = {"mu_k", law == RestitutionLaw::kNewton    ? "e_n"
                                                   : law == RestitutionLaw::kPoisson ? "e_p"
                                                                                     : "e_star"};
    if (experiment.identify.fit_mu_s) parameters.emplace_back("mu_s");
    for (const std::string& parameter : parameters)
      for (const char* figure : {"", ".half_width", ".identifiable"}) {
        names.push_back(own + "." + parameter + figure);
        if (parameter != "mu_k" || law == RestitutionLaw::kEnergetic)
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

int RunChain(const RunArguments& arguments, bool whole, const Cancellation& cancellation) {
  std::vector<Requirement> requirements;
  for (const std::string& text : arguments.require) requirements.push_back(ParseRequirement(text));
  Experiment experiment = LoadExperiment(arguments.experiment);
  const std::vector<std::string> figures = FigureNames(experiment, whole);
  for (const Requirement& want : requirements) {
    if (std::find(figures.begin(), figures.end(), want.name) != figures.end()) continue;
    const std::string nearest = NearestName(want.name, figures);
    throw ConfigError(fmt::format("--require: found {}{}, allowed {}", Excerpt(want.name),
                                  nearest.empty() ? "" : ", nearest is " + nearest,
                                  JoinNames(figures)));
  }
  CheckFolder(arguments.out, "--out");
  if (arguments.dry_run) return pipelines::DryRun(arguments);
  const auto start = std::chrono::steady_clock::now();
  if (arguments.bootstrap >= 0) experiment.identify.bootstrap = arguments.bootstrap;
  StageCache stages(arguments.out / kStages, arguments.force);
  const RunOptions options = {.identify = whole, .validate = whole};
  const RunContext context = {.threads = arguments.threads,
                              .quiet = arguments.quiet,
                              .cache = &stages,
                              .cancellation = &cancellation};
  Recordings recordings = experiment.markers ? LoadImages(arguments, whole, context, &experiment)
                                             : LoadFiles(arguments, &experiment);
  RunResult run = RunExperiment(experiment, std::move(recordings), options, context);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  // Recordings that hold no usable impact are a result; none that can be read is not, and leaves
  // the last good output alone.
  const std::vector<ImpactEvent>& events = run.recorded.events;
  const bool unread = std::all_of(run.recordings.begin(), run.recordings.end(),
                                  [](const PoseRecording& r) { return r.t.empty(); });
  const bool bad =
      !events.empty() && std::all_of(events.begin(), events.end(), [](const ImpactEvent& e) {
        return e.reason == RejectReason::kBadRecording;
      });
  if (unread || bad) {
    WriteRefusal(arguments.out / kRefused, run);
    throw DataError(fmt::format(
        "none of {} recordings can be used; {}first: {}; reasons of all in {}",
        run.recordings.size(),
        run.flights.failed > 0 ? "free flight: " + run.flights.verdict + "; " : std::string(),
        events.front().detail, (arguments.out / kRefused).string()));
  }
  WriteRun(arguments.out, run, arguments.command);
  if (whole && arguments.tables) WriteValidationForms(arguments.out, run.best().validation);
  std::optional<BounceStudy> bounces;
  if (whole && arguments.bounces >= 0) {
    bounces = StudyBounces(run, {.draws = arguments.bounces, .seed = run.experiment.seed}, context);
    WriteBounces(arguments.out / "bounces.csv", *bounces);
  }
  std::error_code absent;
  if (whole && !bounces) std::filesystem::remove(arguments.out / "bounces.csv", absent);
  for (const char* name : {"events.csv", "events_cov.csv", "drops.csv", "points.csv", "flights.csv",
                           "flights.json", ""})
    // what an earlier run had to say no longer holds
    std::filesystem::remove(arguments.out / kRefused / name, absent);
  if (whole && arguments.report)
    WriteReport(arguments.out / "report.html", run, IMPACTLAB_PLOT_LIBRARY);
  if (whole) stages.Prune();
  if (arguments.json) {
    fmt::print("{}", pipelines::AnswerJson(whole ? "run" : "reconstruct", run, arguments.out,
                                           stages.Counts(), whole && arguments.report));
  } else if (!arguments.quiet) {
    fmt::print("{}{}", BriefReport(run), bounces ? BriefReport(*bounces) : "");
    fmt::print("\n{:.2f} s {}without the report; written to {}\n", run.seconds,
               run.markers ? "from the pictures or tracks to the tables, " : "",
               arguments.out.string());
    if (whole && arguments.report)
      fmt::print("report      {}\n", (arguments.out / "report.html").string());
  }
  return CheckRequirements(requirements, run);
}

struct Stage {
  Experiment experiment;
  std::vector<ImpactEvent> events;
};

Stage LoadStage(const StageArguments& arguments) {
  Stage stage{LoadExperiment(arguments.experiment), {}};
  stage.events = ReadEvents(arguments.events, stage.experiment.body, stage.experiment.floor,
                            stage.experiment.motion.flight.gravity_W);
  return stage;
}

// A fit that predictions can be made from; one edited into nonsense is refused before it silently
// predicts nothing.
FitResult LoadFit(const std::filesystem::path& path) {
  FitResult fit = FitResultFromJson(ReadFile(path), path.string());
  const auto refuse = [&](const std::string& what) {
    throw DataError(fmt::format("{}: {}", path.string(), what));
  };
  if (fit.fits.empty()) refuse("fits: found none, allowed at least one");
  std::set<std::string> laws;
  for (const LawFit& law : fit.fits) {
    if (!laws.insert(law.law).second) refuse(fmt::format("fits: law {} stands twice", law.law));
    for (const ParameterEstimate& p : ListParameters(law)) {
      const bool friction = p.name == "mu_k" || p.name == "mu_s";
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

}  // namespace

int RunCommand(const RunArguments& arguments, const Cancellation& cancellation) {
  return RunChain(arguments, true, cancellation);
}

int ReconstructCommand(const RunArguments& arguments, const Cancellation& cancellation) {
  return RunChain(arguments, false, cancellation);
}

int IdentifyCommand(const StageArguments& arguments) {
  const Stage stage = LoadStage(arguments);
  const FitResult fit =
      FitAll(stage.experiment, stage.events, {.cancellation = &pipelines::program_cancellation});
  WriteFile(arguments.out / "fit.json", ToJson(fit));
  fmt::print("{}written to {}\n", fit.BriefReport(), (arguments.out / "fit.json").string());
  if (fit.n_events == 0)
    throw DataError(fmt::format("{}: no accepted event", arguments.events.string()));
  return kDone;
}

int PredictCommand(const StageArguments& arguments) {
  const Stage stage = LoadStage(arguments);
  const FitResult fit = LoadFit(arguments.fit);
  ValidationOptions in_sample = stage.experiment.validation;
  in_sample.folds = 0;
  const auto path = arguments.out / "predictions.csv";
  WriteValidation(path, Validate(stage.events, stage.experiment.body, fit,
                                 stage.experiment.identify, in_sample));
  fmt::print("written to {}\n", path.string());
  return kDone;
}

int ValidateCommand(const StageArguments& arguments) {
  const Stage stage = LoadStage(arguments);
  const FitResult fit = LoadFit(arguments.fit);
  const ValidationTable table = Validate(stage.events, stage.experiment.body, fit,
                                         stage.experiment.identify, stage.experiment.validation);
  const auto path = arguments.out / "validation.csv";
  WriteValidation(path, table);
  WriteValidationSummary(arguments.out / "validation_summary.csv", table);
  if (arguments.tables) WriteValidationForms(arguments.out, table);
  for (const QuantitySummary& q : table.quantity_summary) {
    if (q.group != "all") continue;
    fmt::print(
        "{:<10} {:<9} {:<14} n {:>4}  adequate {:>4}  discrepant {:>4}  unresolved {:>4}  rms "
        "{:>8.4f}  bias {:>8.4f}  rms z {:>5.2f}\n",
        q.law, q.in_sample ? "in sample" : "k-fold", q.quantity, q.n, q.adequate, q.discrepant,
        q.unresolved, q.rms, q.bias, q.rms_z);
  }
  const Diagnostics scrutiny =
      DiagnoseCampaign(stage.events, stage.experiment.body, fit, table, stage.experiment.seed);
  WriteDiagnostics(arguments.out, scrutiny);
  fmt::print("{}written to {}\n", BriefReport(scrutiny), path.string());
  return kDone;
}

int SolveCommand(const std::filesystem::path& cases, const std::filesystem::path& out) {
  std::error_code absent;
  if (std::filesystem::equivalent(cases, out, absent))
    throw ConfigError(fmt::format("--out: '{}' is the file of cases itself", out.string()));
  const std::string outcomes = SolveCasesJson(ReadFile(cases), cases.string());
  WriteFile(out, outcomes);
  std::size_t all = 0, invalid = 0;
  for (const nlohmann::json& one : nlohmann::json::parse(outcomes))
    ++all, invalid += one.value("status", "") == "invalid";
  fmt::print("{} of {} cases solved; written to {}\n", all - invalid, all, out.string());
  if (invalid > 0)
    fmt::print(
        stderr,
        "impactlab: solve: {} of {} cases are no impact problem; their reason is in their place\n",
        invalid, all);
  return all > 0 && invalid == all ? kUnusable : kDone;
}

int SynthCommand(const std::filesystem::path& scene, const std::filesystem::path& out) {
  if (IsRigScene(scene)) {
    const int pictures = SynthesiseRig(out, LoadRigScene(scene));
    fmt::print("{} pictures of a board written to {}; next: impactlab calibrate {}\n", pictures,
               out.string(), (out / "calibration.yaml").string());
    return kDone;
  }
  if (IsVideoScene(scene)) {
    const VideoScene video = LoadVideoScene(scene);
    const long long frames =
        SynthesiseVideo(out, video, {.cancellation = &pipelines::program_cancellation});
    fmt::print("{} frames of {} drops written to {}; next: impactlab track {}\n", frames,
               video.motion.drops, out.string(), (out / "tracking.yaml").string());
    return kDone;
  }
  const SynthOptions options = LoadScene(scene);
  const SynthSet set = Synthesise(options);
  WriteSynth(out, options, set);
  const auto clean = std::count_if(set.truth.events.begin(), set.truth.events.end(),
                                   [](const ImpactEvent& e) { return e.accepted; });
  fmt::print("{} recordings with {} impacts, {} of them clean single contacts{}, written to {}\n",
             set.recordings.size(), set.truth.events.size(), clean,
             options.to_rest ? fmt::format(", {} followed to rest", set.truth.rests.size()) : "",
             out.string());
  return kDone;
}

}  // namespace impactlab
