// The verb that puts one state, or a table of them, through every law of single contacts, and a
// system through every law of several.

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "pipelines/cli/commands.h"
#include "pipelines/cli/detail/exit_code.h"
#include "pipelines/simulate/predict_states.h"
#include "pipelines/simulate/predict_system.h"

namespace impactlab {
namespace {

StateToPredict FromFlags(const PredictStatesArguments& a, const LawCoefficients& coefficients) {
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

}  // namespace

int PredictSystemCommand(const PredictSystemArguments& arguments) {
  const SystemToPredict problem = LoadSystem(arguments.file);
  const SystemPrediction prediction = PredictSystem(problem);
  if (!arguments.out.empty()) WriteFile(arguments.out, SystemJson(problem, prediction));
  if (!arguments.csv.empty()) WriteSystemCsv(arguments.csv, problem, prediction);
  if (arguments.json) {
    fmt::print("{}", SystemJson(problem, prediction));
  } else {
    fmt::print("{}", SystemText(problem, prediction, TerminalWidth()));
    for (const auto& file : {arguments.out, arguments.csv})
      if (!file.empty()) fmt::print("written to {}\n", file.string());
  }
  return prediction.usable() ? kDone : kUnusable;
}

int PredictStatesCommand(const PredictStatesArguments& arguments) {
  LawCoefficients coefficients{
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

}  // namespace impactlab
