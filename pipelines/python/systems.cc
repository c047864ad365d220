// Several contacts and motion, from their files.

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include "pipelines/python/arrays.h"
#include "pipelines/simulate/predict_system.h"
#include "pipelines/simulate/simulate.h"

namespace impactlab::python {
namespace {

py::object Predicted(const SystemToPredict& problem) {
  std::string json;
  {
    const Unlocked unlocked;
    json = SystemJson(problem, PredictSystem(problem));
  }
  return FromJson(json);
}

// A column of numbers over the samples of a motion.
template <typename Value>
Doubles Over(const SimulatedMotion& motion, const Value& value) {
  std::vector<double> out;
  for (const MotionSample& sample : motion.samples) out.push_back(value(sample));
  return ToArray(out);
}

py::dict ContactColumns(const Scenario& scenario, const SimulatedMotion& motion) {
  const Mechanism& m = scenario.mechanism;
  const auto n = static_cast<py::ssize_t>(motion.samples.size());
  py::dict out;
  for (std::size_t k = 0; k < m.contacts.size(); ++k) {
    Doubles gap = Zeros({n}), force = Zeros({n, m.width});
    std::vector<std::string> mode;
    ContactTerms terms;
    for (py::ssize_t i = 0; i < n; ++i) {
      const MotionSample& sample = motion.samples[static_cast<std::size_t>(i)];
      m.contact(sample.state, static_cast<int>(k), terms);
      gap.mutable_at(i) = terms.gap;
      SetRow(force, i, sample.lambda.segment(static_cast<Eigen::Index>(k) * m.width, m.width));
      mode.emplace_back(pipelines::PointModeName(sample.mode[k]));
    }
    py::dict one;
    one["gap_m"] = gap;
    one["force_F_N"] = force;
    one["mode"] = TextArray(mode);
    out[m.contacts[k].name.c_str()] = one;
  }
  return out;
}

py::dict Poses(const Scenario& scenario, const SimulatedMotion& motion) {
  const auto n = static_cast<py::ssize_t>(motion.samples.size());
  std::vector<Doubles> arrays;
  for (std::size_t k = 0; k < scenario.parts.size(); ++k) arrays.push_back(Zeros({n, 4, 4}));
  for (py::ssize_t i = 0; i < n; ++i) {
    const auto poses = scenario.poses(motion.samples[static_cast<std::size_t>(i)].state);
    for (std::size_t k = 0; k < arrays.size(); ++k)
      Eigen::Map<Eigen::Matrix<double, 4, 4, Eigen::RowMajor>>(arrays[k].mutable_data() + 16 * i) =
          poses[k].matrix();
  }
  py::dict out;
  for (std::size_t k = 0; k < arrays.size(); ++k) out[scenario.parts[k].name.c_str()] = arrays[k];
  return out;
}

py::list EventList(const Scenario& scenario, const SimulatedMotion& motion) {
  py::list out;
  for (const SimulationEvent& event : motion.events) {
    py::dict one;
    std::vector<std::string> contacts;
    for (const int c : event.contacts)
      contacts.push_back(scenario.mechanism.contacts[static_cast<std::size_t>(c)].name);
    one["kind"] = SimulationEventName(event.kind);
    one["t_s"] = event.t;
    one["contacts"] = contacts;
    if (event.v_minus.size() > 0) {
      const int w = scenario.mechanism.width;
      const auto rows = [&](const Eigen::VectorXd& stacked) {
        return ToArray(stacked.reshaped(w, stacked.size() / w).transpose());
      };
      one["v_minus_F_m_per_s"] = rows(event.v_minus);
      one["v_plus_F_m_per_s"] = rows(event.v_plus);
      one["J_F_N_s"] = rows(event.J);
      one["cases"] = event.cases;
      one["energy_change_J"] = event.energy_change;
    }
    if (event.accumulation > 0) one["accumulation_s"] = event.accumulation;
    out.append(one);
  }
  return out;
}

py::dict Simulated(const Scenario& scenario) {
  SimulatedMotion motion;
  {
    const Unlocked unlocked;
    motion = RunScenario(scenario, [&](int) { unlocked.cancellation().Check(); });
  }
  const Mechanism& m = scenario.mechanism;
  py::dict out, q, u;
  for (std::size_t k = 0; k < m.q_names.size(); ++k)
    q[m.q_names[k].c_str()] = Over(
        motion, [&](const MotionSample& s) { return s.state.q[static_cast<Eigen::Index>(k)]; });
  for (std::size_t k = 0; k < m.u_names.size(); ++k)
    u[m.u_names[k].c_str()] = Over(
        motion, [&](const MotionSample& s) { return s.state.u[static_cast<Eigen::Index>(k)]; });
  out["t_s"] = Over(motion, [](const MotionSample& s) { return s.state.t; });
  out["q"] = q;
  out["u"] = u;
  out["kinetic_J"] = Over(motion, [](const MotionSample& s) { return s.kinetic; });
  out["potential_J"] = Over(motion, [](const MotionSample& s) { return s.potential; });
  out["contacts"] = ContactColumns(scenario, motion);
  out["poses"] = Poses(scenario, motion);
  out["events"] = EventList(scenario, motion);
  out["summary"] = FromJson(MotionSummary(scenario, motion));
  return out;
}

}  // namespace

void AddSystems(py::module_& module) {
  module.def(
      "predict_system",
      [](const std::filesystem::path& path) { return Predicted(LoadSystem(path)); },
      py::arg("path"),
      R"(An impact at several contacts by every law that applies, each outcome certified, and the set of outcomes that rigid bodies leave open.

path: a system file (schema impactlab.system/1). Returns what `impactlab predict FILE --json` prints (schema
impactlab.system_prediction/1; data/README.md). Raises ConfigError.)");
  module.def(
      "predict_system_yaml",
      [](const std::string& text) { return Predicted(ParseSystem(text, "system")); },
      py::arg("text"), "The same of the text of a system file.");
  module.def(
      "simulate", [](const std::filesystem::path& path) { return Simulated(LoadScenario(path)); },
      py::arg("path"),
      R"(A mechanism followed through flight, contact and impacts.

path: a scenario file (schema impactlab.scenario/1). Returns t_s (n,); q and u, dicts of coordinates and generalised velocities by name with
unit, (n,) each; kinetic_J and potential_J; contacts, by name: gap_m, force_F_N (n, 2 or 3: tangents first; NaN where the motion ended
between samples) and mode ("open", "slip", "stick"); poses, by part: X_WB (n, 4, 4) [m]; events, a list of dicts (kind, t_s, contacts, and of
impacts v_minus_F_m_per_s, v_plus_F_m_per_s, J_F_N_s, one row a contact, cases, energy_change_J); summary (schema impactlab.simulation/1).
Raises ConfigError; KeyboardInterrupt ends it.)");
  module.def(
      "simulate_yaml",
      [](const std::string& text) { return Simulated(ParseScenario(text, "scenario")); },
      py::arg("text"), "The same of the text of a scenario file.");
}

}  // namespace impactlab::python
