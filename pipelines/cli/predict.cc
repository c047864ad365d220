// The verb that puts one state, or a table of them, through every law of single contacts, and a
// system through every law of several.

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "impact/law/law_table.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/cli/detail/output.h"
#include "pipelines/cli/detail/stage.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/run/run.h"
#include "pipelines/simulate/predict_states.h"
#include "pipelines/simulate/predict_system.h"
#include "pipelines/simulate/system_config.h"
#include "pipelines/tables/tables.h"

namespace impactlab::pipelines {
namespace {

// One state before an impact, or a table of them, for every law of single contacts.
struct PredictStatesArguments {
  std::filesystem::path states;  // CSV; empty: one state from the flags
  // of the contact point (with inverse_mass) or of the centre (with lever): v_t v_n, or v_x v_y v_n
  // [m/s]
  std::vector<double> velocity;
  std::vector<double> inverse_mass;  // A_F: tt tn nn, or xx xy xn yy yn nn [1/kg]
  // planar: r_t r_n from the centre of mass to the contact [m]
  std::vector<double> lever;
  double mass = 1, inertia = 0, spin = 0;  // with lever [kg], [kg m^2], theta_dot [rad/s]
  // mu_s: NaN is mu_k
  double e = 0.5, mu_k = 0.2, mu_s = std::numeric_limits<double>::quiet_NaN(), e_t = 0;
  // JSON on the terminal
  bool json = false;
  // JSON file to write; empty: none
  std::filesystem::path out;
  std::filesystem::path routh;  // CSV of Routh's construction for the first state; empty: none
};

// All ways to predict: from a fit for an experiment, or from given coefficients for a system or for
// given states.
struct PredictArguments {
  StageArguments stage;  // `experiment` may be a system file
  PredictStatesArguments states;
  std::filesystem::path csv;  // of a system: table to write; empty: none
};

StateToPredict FromFlags(const PredictStatesArguments& a, const Coefficients& coefficients) {
  StateToPredict state;
  state.name = "state";
  state.coefficients = coefficients;
  const auto& v = a.velocity;
  const bool planar = v.size() == 2;
  if (!planar && v.size() != 3)
    throw ConfigError("predict: --v-minus-m-per-s: allowed v_t v_n, or v_x v_y v_n in space");
  if (!a.inverse_mass.empty()) {
    const auto& A = a.inverse_mass;
    if (A.size() != (planar ? 3u : 6u))
      throw ConfigError(fmt::format("predict: --a-per-kg: found {} numbers, allowed {}", A.size(),
                                    planar
                                        ? "A_tt A_tn A_nn with two velocities"
                                        : "A_xx A_xy A_xn A_yy A_yn A_nn with three velocities"));
    if (planar) {
      state.contact = InSpace({A[0], A[1], A[2], v[0], v[1]});
    } else {
      state.contact.A_F << A[0], A[1], A[2], A[1], A[3], A[4], A[2], A[4], A[5];
      state.contact.v_minus_F << v[0], v[1], v[2];
    }
    return state;
  }
  if (a.lever.empty())
    throw ConfigError(
        "predict: found neither --a-per-kg nor --lever-m with --inertia-kg-m2, allowed one of "
        "them");
  if (!planar || a.lever.size() != 2)
    throw ConfigError(
        "predict: --lever-m: allowed two numbers r_t r_n with two velocities; in space give "
        "--a-per-kg");
  if (!(a.mass > 0 && a.inertia > 0 && std::isfinite(a.mass) && std::isfinite(a.inertia)))
    throw ConfigError(
        fmt::format("predict: found --mass-kg {} and --inertia-kg-m2 {}, allowed numbers above 0",
                    a.mass, a.inertia));
  state.contact =
      InSpace(PlanarBodyContact(a.mass, a.inertia, a.lever[0], a.lever[1], v[0], v[1], a.spin));
  return state;
}

// Characters a line of the terminal holds; 100 where the output goes to a file.
int TerminalWidth() {
  winsize size{};
  return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 100;
}

int RunPredictSystem(const PredictArguments& all) {
  const PredictStatesArguments& arguments = all.states;
  const SystemToPredict problem = LoadSystem(all.stage.experiment);
  const SystemPrediction prediction = PredictSystem(problem);
  if (!arguments.out.empty()) WriteFile(arguments.out, SystemJson(problem, prediction));
  if (!all.csv.empty()) WriteSystemCsv(all.csv, problem, prediction);
  if (arguments.json) {
    fmt::print("{}", SystemJson(problem, prediction));
  } else {
    fmt::print("{}", SystemText(problem, prediction, TerminalWidth()));
    for (const auto& file : {arguments.out, all.csv})
      if (!file.empty()) fmt::print("written to {}\n", file.string());
  }
  return prediction.usable() ? kDone : kUnusable;
}

int RunPredictStates(const PredictStatesArguments& arguments) {
  Coefficients coefficients{
      .e = arguments.e, .mu_k = arguments.mu_k, .mu_s = arguments.mu_k, .e_t = arguments.e_t};
  if (std::isfinite(arguments.mu_s)) coefficients.mu_s = arguments.mu_s;
  if (arguments.states.empty() == arguments.velocity.empty())
    throw ConfigError(
        "predict: allowed an experiment with --events and --fit, or --states FILE, or one state by "
        "--v-minus-m-per-s");
  const StateTable table = arguments.states.empty()
                               ? StateTable{{FromFlags(arguments, coefficients)}, {}}
                               : ReadStates(arguments.states, coefficients);
  const std::vector<StateToPredict>& states = table.states;
  if (!table.unread.empty())
    fmt::print(stderr, "impactlab: note: {}: columns not read: {}\n", arguments.states.string(),
               JoinNames(table.unread));
  std::vector<PredictedState> predicted;
  bool any = false;
  for (const StateToPredict& state : states) {
    predicted.push_back(PredictState(state));
    for (const LawOutcome& outcome : predicted.back().outcomes) any = any || outcome.usable();
  }
  if (!arguments.out.empty()) WriteFile(arguments.out, PredictionsJson(predicted));
  if (!arguments.routh.empty()) WriteRouth(arguments.routh, states.front());
  if (arguments.json) {
    fmt::print("{}", PredictionsJson(predicted));
  } else {
    for (const PredictedState& state : predicted) fmt::print("{}\n", PredictionsText(state));
    for (const auto& file : {arguments.out, arguments.routh})
      if (!file.empty()) fmt::print("written to {}\n", file.string());
  }
  if (any) return kDone;
  const bool one = predicted.size() == 1 && !predicted[0].outcomes.empty();
  fmt::print(stderr, "impactlab: predict: no law has an outcome for {}\n",
             one ? fmt::format("this state: {}", predicted[0].outcomes[0].reason)
                 : fmt::format("any of {} states", predicted.size()));
  return kUnusable;
}

int RunPredictEvents(const StageArguments& arguments) {
  const Stage stage = LoadStage(arguments);
  const FitResult fit = LoadFit(arguments.fit);
  const auto folder = OpenOutput(arguments.out, {"predictions.csv"}, arguments.shared);
  if (!folder) return kDone;
  ValidationOptions in_sample = stage.experiment.validation;
  in_sample.folds = 0;
  const auto path = arguments.out / "predictions.csv";
  WriteValidation(path, Validate(stage.events, stage.experiment.body, fit,
                                 stage.experiment.identify, in_sample));
  folder->Finish();
  fmt::print("written to {}\n", path.string());
  return kDone;
}

// What one way to predict reads is refused beside another, where it would silently not count.
int RunPredict(const CLI::App& verb, const PredictArguments& arguments) {
  StageArguments stage = arguments.stage;
  const PredictStatesArguments& states = arguments.states;
  const bool is_file = !stage.experiment.empty();
  const bool is_system =
      is_file && stage.events.empty() && stage.fit.empty() && IsSystemFile(stage.experiment);
  if (!is_system && !arguments.csv.empty())
    throw ConfigError("predict: found --csv without a system file, allowed with one");
  if (verb.count("--mu-s") > 0 && std::isnan(states.mu_s))
    throw ConfigError("--mu-s: found nan, allowed a number of at least mu_k");
  if (verb.count("--a-per-kg") > 0 && verb.count("--lever-m") > 0)
    throw ConfigError(
        "predict: found --lever-m beside --a-per-kg, allowed one of them: both say how the contact "
        "yields");
  if (!is_file) return RunPredictStates(states);
  for (const char* option :
       {"--states", "--v-minus-m-per-s", "--a-per-kg", "--lever-m", "--mass-kg", "--inertia-kg-m2",
        "--theta-dot-rad-per-s", "--e", "--mu-k", "--mu-s", "--e-t", "--routh"}) {
    if (verb.count(option) > 0)
      throw ConfigError(
          fmt::format("predict: found {} beside {}, allowed for states alone: the file says it",
                      option, is_system ? "a system file" : "an experiment"));
  }
  if (is_system) return RunPredictSystem(arguments);
  if (stage.events.empty() || stage.fit.empty())
    throw ConfigError(
        "predict: found an experiment without --events or --fit, allowed both; a system or states "
        "of their own need no experiment");
  if (!states.out.empty()) stage.out = states.out;
  return RunPredictEvents(stage);
}

}  // namespace

Action AddPredict(CLI::App& verb, const Invocation& call) {
  const auto arguments = std::make_shared<PredictArguments>();
  StageArguments& stage = arguments->stage;
  PredictStatesArguments& states = arguments->states;
  verb.add_option("file", stage.experiment,
                  "system file (YAML), or experiment file with --events and --fit; without it a "
                  "state or a table of states");
  verb.add_option("--events", stage.events, "events.csv, or any table of pre and post states");
  verb.add_option("--fit", stage.fit, "fit.json");
  verb.add_option(
      "--states", states.states,
      "CSV of states: A_F_*, v_minus_F_* as in events.csv, optional e, mu_k, mu_s, e_t");
  verb.add_option("--v-minus-m-per-s", states.velocity,
                  "one state: v_t v_n, or v_x v_y v_n in space; of the contact point, or of the "
                  "centre with --lever-m")
      ->expected(2, 3);
  verb.add_option("--a-per-kg", states.inverse_mass,
                  "inverse mass at the contact: A_tt A_tn A_nn, or A_xx A_xy A_xn A_yy A_yn A_nn")
      ->expected(3, 6);
  verb.add_option("--lever-m", states.lever,
                  "planar body: lever r_t r_n from the centre of mass to the contact")
      ->expected(2);
  verb.add_option("--mass-kg", states.mass, "of that body")->capture_default_str();
  verb.add_option("--inertia-kg-m2", states.inertia, "of that body, about its centre of mass");
  verb.add_option("--theta-dot-rad-per-s", states.spin,
                  "of that body, counter-clockwise with t right and n up");
  verb.add_option("--e", states.e, "restitution: " + RestitutionInWords())->capture_default_str();
  verb.add_option("--mu-k", states.mu_k, "kinetic friction")->capture_default_str();
  verb.add_option("--mu-s", states.mu_s, "static friction; mu_k where it is not given");
  verb.add_option("--e-t", states.e_t,
                  "tangential restitution of what sticks, in [0, 1]; below 0, down to -1, only "
                  "Whittaker's law takes it")
      ->capture_default_str();
  verb.add_flag("--json", states.json, "JSON instead of text");
  verb.add_option("--routh", states.routh,
                  "CSV of Routh's construction for the first state, for a plot");
  verb.add_option("--csv", arguments->csv, "of a system: table to write");
  verb.add_option(
      "--out", states.out,
      "of an experiment: folder to write (out); of a system or states: JSON file to write");
  return [arguments, &verb, &call] {
    arguments->stage.shared = call.shared;
    return RunPredict(verb, *arguments);
  };
}

}  // namespace impactlab::pipelines
