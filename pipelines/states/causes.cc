#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <optional>

#include "data/statistics/statistics.h"
#include "impact/body/outline_radius.h"
#include "pipelines/states/states.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;

// Lever beyond the outline of the body, as a multiple of it, from which on its unit is in doubt.
constexpr double kFarLever = 5;

// A unit or sense that was taken for SI, as the factors that undo it.
struct UnitError {
  double spin = 1, speed = 1, lever = 1;
  const char* text;
  const char* cure;
};

constexpr double kDegree = M_PI / 180;
constexpr const char* kInDegrees =
    "name the unit: omega_minus_y_deg_per_s, or states: {columns: {omega_minus_y: NAME deg_per_s}}";
constexpr const char* kInMillimetres =
    "name the unit: v_minus_x_mm_per_s, or states: {columns: {v_minus_x: NAME mm_per_s}}";
constexpr const char* kOtherSense =
    "give spins that count counter-clockwise as theta_dot_minus and theta_dot_plus, or turn the "
    "sign of the column that runs the other way";

const UnitError kUnitErrors[] = {
    {kDegree, 1, 1, "spins are in degrees, not radians", kInDegrees},
    {-1, 1, 1, "spins count the other way round, or x does", kOtherSense},
    {-kDegree, 1, 1, "spins are in degrees and count the other way round", kOtherSense},
    {1 / kDegree, 1, 1, "spins are in radians, not degrees", "name their columns ..._rad_per_s"},
    {2 * M_PI, 1, 1, "spins are in turns a second", "multiply them by 2 pi"},
    {2 * M_PI / 60, 1, 1, "spins are in turns a minute", "multiply them by 2 pi / 60"},
    {1, 1e-3, 1, "velocities are in millimetres a second, not metres", kInMillimetres},
    {1, 1e-2, 1, "velocities are in centimetres a second, not metres",
     "name their unit: v_minus_x_cm_per_s"},
    {1, 1e3, 1, "velocities are in metres a second, not millimetres",
     "name their columns ..._m_per_s"},
    {kDegree, 1e-3, 1, "spins are in degrees and velocities in millimetres", kInMillimetres},
    {1, 1, 1e-3, "levers are in millimetres, not metres", "name their columns r_x_mm, ..."},
    {1, 1e-3, 1e-3, "velocities and levers are in millimetres, not metres", kInMillimetres}};

std::vector<ImpactEvent> Without(const UnitError& error, const std::vector<ImpactEvent>& events) {
  std::vector<ImpactEvent> out = events;
  for (ImpactEvent& e : out) {
    for (Vector3d* omega : {&e.omega_minus, &e.omega_plus}) *omega *= error.spin;
    for (Vector3d* v : {&e.v_minus, &e.v_plus}) *v *= error.speed;
    e.p_WP = e.X_WB.translation() + error.lever * (e.p_WP - e.X_WB.translation());
    for (int i = 0; i < kEventDim; ++i) {
      const double factor = i >= kLever ? error.lever : (i / 3) % 2 == 0 ? error.speed : error.spin;
      e.cov.row(i) *= factor;
      e.cov.col(i) *= factor;
    }
  }
  return out;
}

bool Closes(const std::vector<ImpactEvent>& events, const Body& body) {
  return JudgeClosure(events, body).closure == Closure::kCloses;
}

// A lever that reaches far beyond the body is no length of it.
bool ReachesFar(const std::vector<ImpactEvent>& events, const Body& body) {
  std::vector<double> levers;
  for (const ImpactEvent& e : events)
    if (e.accepted) levers.push_back((e.p_WP - e.X_WB.translation()).norm());
  return !levers.empty() && Median(levers) > kFarLever * OutlineRadius(body);
}

// The angles of a planar table in the other unit; none where there are no angles.
std::optional<StateCause> AngleCause(const Experiment& e, const TableStates& states) {
  if (states.table.theta_column.empty() || states.table.of_run) return std::nullopt;
  for (const char* unit : {"deg", "rad"}) {
    Experiment other = e;
    other.state_columns["theta"] = states.table.theta_column + " " + unit;
    if (Closes(LoadStates(other, states.path).table.events, e.body))
      return StateCause{
          fmt::format("angles are in {}", unit == std::string("deg") ? "degrees" : "radians"),
          fmt::format("states: {{columns: {{theta: {}}}}}", other.state_columns.at("theta"))};
  }
  return std::nullopt;
}

// States that all leave the floor before they strike it.
std::optional<StateCause> DirectionCause(const std::vector<ImpactEvent>& events) {
  const auto away = std::count_if(events.begin(), events.end(), [](const ImpactEvent& e) {
    return !e.accepted && e.reason == RejectReason::kNoApproach;
  });
  if (events.empty() || 3 * away < 2 * static_cast<std::ptrdiff_t>(events.size()))
    return std::nullopt;
  return StateCause{
      fmt::format("the contact point moves away from the floor before {} of {} impacts: z points "
                  "down, or the states before and after are exchanged",
                  away, events.size()),
      "turn the sign of the columns along z (and of x, or of the spins, to keep the frame "
      "right-handed), or exchange the columns"};
}

}  // namespace

std::vector<StateCause> FindStateCauses(const Experiment& experiment, const TableStates& states) {
  const std::vector<ImpactEvent>& events = states.table.events;
  if (const auto direction = DirectionCause(events)) return {*direction};
  const Closure closure = JudgeClosure(events, experiment.body).closure;
  if (experiment.second || closure == Closure::kCloses) return {};
  std::vector<StateCause> out;
  // Levers of wrong attitudes have no direction left that momentum could contradict: the other unit
  // of angles is tried all the same.
  if (closure == Closure::kNotTested) {
    if (const auto angle = AngleCause(experiment, states)) out.push_back(*angle);
    return out;
  }
  const bool far = ReachesFar(events, experiment.body);
  for (const UnitError& error : kUnitErrors) {
    if ((error.lever != 1) == far && Closes(Without(error, events), experiment.body))
      out.push_back({error.text, error.cure});
  }
  if (const auto angle = AngleCause(experiment, states)) out.push_back(*angle);
  return out;
}

}  // namespace impactlab
