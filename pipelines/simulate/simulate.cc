#include "pipelines/simulate/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "data/files/table.h"
#include "impact/motion/sliding.h"

namespace impactlab {
namespace {

using Json = nlohmann::ordered_json;
using Eigen::Index;
using Eigen::Isometry3d;
using Eigen::VectorXd;

// A contact's name as part of a column.
std::string Column(std::string name) {
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::vector<std::string> Axes(const Scenario& scenario) {
  return scenario.planar() ? std::vector<std::string>{"x", "n"}
                           : std::vector<std::string>{"x", "y", "n"};
}

MotionSample SampleMotion(const Scenario& scenario, const MechanismState& state,
                          const std::vector<PointMode>& mode, const VectorXd& lambda) {
  const double kinetic = KineticEnergy(scenario.mechanism, state);
  return {state, mode, lambda, kinetic,
          scenario.mechanism.potential ? scenario.mechanism.potential(state) : 0};
}

double EnergyOf(const MotionSample& sample) { return sample.kinetic + sample.potential; }

Json Named(const std::vector<std::string>& names, const VectorXd& values) {
  Json map = Json::object();
  for (std::size_t i = 0; i < names.size(); ++i) map[names[i]] = values[static_cast<Index>(i)];
  return map;
}

// Of every impact without collision of a planar mechanism: what Painleve's paradox says of the
// contact just before.
Json JamsJson(const Scenario& scenario, const SimulatedMotion& motion) {
  Json jams = Json::array();
  for (const SimulationEvent& event : motion.events) {
    if (event.kind != SimulationEventKind::kImpactWithoutCollision) continue;
    for (std::size_t slot = 0; slot < event.contacts.size() && slot < event.cases.size(); ++slot) {
      if (event.cases[slot].empty()) continue;  // not the one that jammed
      const int contact = event.contacts[slot];
      const auto sliding = ClassifySliding(scenario.mechanism, event.before, contact);
      if (!sliding) continue;
      jams.push_back(
          {{"t_s", event.t},
           {"contact", scenario.mechanism.contacts[static_cast<std::size_t>(contact)].name},
           {"regime", RegimeName(sliding->regime)},
           {"mu_k", sliding->mu_k},
           {"mu_press", sliding->mu_press},
           {"slip_m_per_s", sliding->v_t},
           {"free_acceleration_n_m_per_s2", sliding->free_acceleration}});
    }
  }
  return jams;
}

}  // namespace

namespace pipelines {

std::string EndPhrase(const SimulationResult& r) {
  switch (r.end) {
    case SimulationEnd::kRest:
      return fmt::format("at rest after {:.6g} s", r.state.t);
    case SimulationEnd::kSteady:
      return fmt::format("in steady motion after {:.6g} s", r.state.t);
    case SimulationEnd::kGivenUp:
      return fmt::format("given up: {}", r.reason);
    case SimulationEnd::kDuration:
    case SimulationEnd::kStopped:
      break;
  }
  return fmt::format("followed for {:.6g} s", r.state.t);
}

const char* PointModeName(PointMode mode) {
  return mode == PointMode::kOpen ? "open" : mode == PointMode::kSlip ? "slip" : "stick";
}

std::vector<Isometry3d> PosesAt(const Scenario& scenario, const SimulatedMotion& motion, double t) {
  const auto& samples = motion.samples;
  const auto after =
      std::lower_bound(samples.begin(), samples.end(), t,
                       [](const MotionSample& s, double at) { return s.state.t < at; });
  if (after == samples.begin()) return scenario.poses(samples.front().state);
  if (after == samples.end()) return scenario.poses(samples.back().state);
  const MechanismState &a = (after - 1)->state, &b = after->state;
  const double share = b.t > a.t ? (t - a.t) / (b.t - a.t) : 1;
  std::vector<Isometry3d> poses = scenario.poses(a);
  const std::vector<Isometry3d> next = scenario.poses(b);
  for (std::size_t k = 0; k < poses.size(); ++k) {
    const Eigen::Quaterniond from(poses[k].linear()), to(next[k].linear());
    poses[k].linear() = from.slerp(share, to).toRotationMatrix();
    poses[k].translation() += share * (next[k].translation() - poses[k].translation());
  }
  return poses;
}

}  // namespace pipelines

SimulatedMotion RunScenario(const Scenario& scenario, const std::function<void(int)>& advance) {
  SimulatedMotion motion;
  const auto n = scenario.mechanism.contacts.size();
  const VectorXd no_force = VectorXd::Zero(static_cast<Index>(n) * scenario.mechanism.width);
  motion.samples.push_back(SampleMotion(scenario, scenario.start,
                                        std::vector<PointMode>(n, PointMode::kOpen), no_force));
  SimulationObserver observer;
  observer.sample = [&](const MechanismState& state, const std::vector<PointMode>& mode,
                        const VectorXd& lambda) {
    if (advance) advance(1);
    MotionSample sample = SampleMotion(scenario, state, mode, lambda);
    // What the simulator says of the start itself replaces the guess that all is open.
    if (state.t <= motion.samples.back().state.t) motion.samples.pop_back();
    motion.samples.push_back(std::move(sample));
  };
  observer.event = [&](const SimulationEvent& event) { motion.events.push_back(event); };
  // The simulator asks for the frequency once a step.
  Mechanism mechanism = scenario.mechanism;
  mechanism.frequency = [&](const MechanismState& state) {
    if (advance) advance(0);
    return scenario.mechanism.frequency(state);
  };
  motion.result = Simulate(mechanism, scenario.start, scenario.options, observer);
  const SimulationResult& result = motion.result;
  if (result.state.t > motion.samples.back().state.t)
    motion.samples.push_back(SampleMotion(scenario, result.state, result.mode,
                                          VectorXd::Constant(no_force.size(), NAN)));
  return motion;
}

void WriteTrajectory(const std::filesystem::path& path, const Scenario& scenario,
                     const SimulatedMotion& motion) {
  const Mechanism& m = scenario.mechanism;
  std::vector<std::string> columns = {"t_s"};
  for (const auto* names : {&m.q_names, &m.u_names})
    for (const std::string& name : *names) columns.push_back(Column(name));
  if (scenario.poses_in_columns) {
    for (const pipelines::DrawnPart& part : scenario.parts)
      for (const char* end : {"x_m", "z_m"})
        columns.push_back(fmt::format("{}_{}", Column(part.name), end));
  }
  columns.insert(columns.end(), {"kinetic_J", "potential_J", "energy_J"});
  for (const ContactProperties& contact : m.contacts) {
    const std::string name = Column(contact.name);
    columns.push_back("gap_" + name + "_m");
    columns.push_back("mode_" + name);
    for (const std::string& axis : Axes(scenario))
      columns.push_back(fmt::format("force_{}_{}_N", axis, name));
  }
  CsvWriter out(path, columns);
  ContactTerms terms;
  for (const MotionSample& sample : motion.samples) {
    out.Number(sample.state.t);
    for (const VectorXd* values : {&sample.state.q, &sample.state.u})
      for (const double value : *values) out.Number(value);
    if (scenario.poses_in_columns) {
      const auto poses = scenario.poses(sample.state);
      for (std::size_t k = 0; k < poses.size(); ++k) {
        const Eigen::Vector3d end = poses[k] * scenario.parts[k].points_B.front();
        out.Number(end.x()).Number(end.z());
      }
    }
    out.Number(sample.kinetic).Number(sample.potential).Number(EnergyOf(sample));
    for (std::size_t i = 0; i < m.contacts.size(); ++i) {
      m.contact(sample.state, static_cast<int>(i), terms);
      out.Number(terms.gap).Text(pipelines::PointModeName(sample.mode[i]));
      for (int k = 0; k < m.width; ++k)
        out.Number(sample.lambda[static_cast<Index>(i) * m.width + k]);
    }
    out.EndRow();
  }
  out.Commit();
}

void WriteMotionEvents(const std::filesystem::path& path, const Scenario& scenario,
                       const SimulatedMotion& motion) {
  const Mechanism& m = scenario.mechanism;
  const int w = m.width;
  std::vector<std::string> columns = {"event", "t_s", "kind", "contact", "case"};
  for (const auto& [quantity, unit] :
       {std::pair{"v_minus", "m_per_s"}, {"v_plus", "m_per_s"}, {"J", "N_s"}})
    for (const std::string& axis : Axes(scenario))
      columns.push_back(fmt::format("{}_F_{}_{}", quantity, axis, unit));
  columns.insert(columns.end(), {"energy_change_J", "accumulation_s"});
  CsvWriter out(path, columns);
  const auto write = [&](std::size_t number, const SimulationEvent& event, int slot) {
    out.Integer(static_cast<long long>(number))
        .Number(event.t)
        .Text(SimulationEventName(event.kind));
    out.Text(
        slot < 0
            ? ""
            : m.contacts[static_cast<std::size_t>(event.contacts[static_cast<std::size_t>(slot)])]
                  .name);
    out.Text(slot >= 0 && slot < static_cast<int>(event.cases.size())
                 ? event.cases[static_cast<std::size_t>(slot)]
                 : "");
    for (const VectorXd* values : {&event.v_minus, &event.v_plus, &event.J})
      for (int k = 0; k < w; ++k)
        out.Number(slot >= 0 && values->size() >= (slot + 1) * w
                       ? (*values)[static_cast<Index>(slot) * w + k]
                       : NAN);
    const bool impact = event.v_minus.size() > 0;
    out.Number(impact ? event.energy_change : NAN)
        .Number(event.accumulation > 0 ? event.accumulation : NAN);
    out.EndRow();
  };
  for (std::size_t i = 0; i < motion.events.size(); ++i) {
    const SimulationEvent& event = motion.events[i];
    if (event.contacts.empty()) write(i, event, -1);
    for (int slot = 0; slot < static_cast<int>(event.contacts.size()); ++slot)
      write(i, event, slot);
  }
  out.Commit();
}

std::string MotionSummary(const Scenario& scenario, const SimulatedMotion& motion) {
  const SimulationResult& r = motion.result;
  const Mechanism& m = scenario.mechanism;
  Json json = {{"schema", "impactlab.simulation/1"},
               {"name", scenario.name},
               {"source", scenario.source},
               {"mechanism", m.name}};
  json["law"] = LawName(scenario.options.law);
  json["several_contacts"] = MultiLawName(scenario.options.several);
  json["end"] = SimulationEndName(r.end);
  json["reason"] = r.reason;
  json["t_s"] = r.state.t;
  json["impacts"] = r.impacts;
  json["events"] = r.events;
  json["steps"] = r.steps;
  Json accumulations = Json::array();
  for (const SimulationEvent& event : motion.events)
    if (event.accumulation > 0)
      accumulations.push_back(
          {{"contact", m.contacts[static_cast<std::size_t>(event.contacts[0])].name},
           {"t_s", event.accumulation}});
  json["accumulations"] = accumulations;
  if (const Json jams = JamsJson(scenario, motion); !jams.empty()) json["painleve"] = jams;
  const MotionSample &first = motion.samples.front(), &last = motion.samples.back();
  double struck = 0;
  for (const SimulationEvent& event : motion.events)
    if (event.v_minus.size() > 0) struck += event.energy_change;
  json["energy"] = {
      {"start_J", EnergyOf(first)}, {"end_J", EnergyOf(last)}, {"change_in_impacts_J", struck}};
  json["audit"] = {{"least_gap_m", r.deepest},
                   {"energy_gain_J", m.passive ? Json(r.energy_gain) : Json(nullptr)},
                   {"closed_speed_m_per_s", r.closed_speed}};
  json["final"] = {{"q", Named(m.q_names, r.state.q)}, {"u", Named(m.u_names, r.state.u)}};
  Json modes = Json::object();
  for (std::size_t i = 0; i < m.contacts.size(); ++i)
    modes[m.contacts[i].name] = pipelines::PointModeName(r.mode[i]);
  json["final"]["contacts"] = modes;
  return json.dump(2) + "\n";
}

std::string MotionLine(const Scenario& scenario, const SimulatedMotion& motion) {
  const SimulationResult& r = motion.result;
  return fmt::format("{}: {}, {} impacts, {} events, deepest {:.2g} m", scenario.name,
                     pipelines::EndPhrase(r), r.impacts, r.events, std::max(0.0, -r.deepest));
}

}  // namespace impactlab
