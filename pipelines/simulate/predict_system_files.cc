// JSON and CSV of an impact at several contacts.

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/files/number_json.h"
#include "data/files/table.h"
#include "pipelines/simulate/predict_system.h"
#include "pipelines/tables/certificate_json.h"
#include "pipelines/tables/solve_io.h"

namespace impactlab {
namespace {

using Json = nlohmann::ordered_json;
using Eigen::VectorXd;

// Longer paths (a wedged system may take 20,000 phases) would make a file nobody opens; their
// number is written instead.
constexpr std::size_t kMostPhases = 1000;

Json List(const VectorXd& v) {
  Json list = Json::array();
  for (const double x : v) list.push_back(NumberJson(x));
  return list;
}

// A list of each contact's components.
Json Stacked(const VectorXd& v, int width) {
  Json list = Json::array();
  for (Eigen::Index i = 0; i < v.size(); i += width) list.push_back(List(v.segment(i, width)));
  return list;
}

Json RangeJson(const Eigen::MatrixX2d& range) {
  Json list = Json::array();
  for (Eigen::Index i = 0; i < range.rows(); ++i) list.push_back({range(i, 0), range(i, 1)});
  return list;
}

const char* ModeName(PointMode mode) {
  return mode == PointMode::kOpen ? "open" : mode == PointMode::kSlip ? "slip" : "stick";
}

Json PhasesJson(const MultiOutcome& outcome, const ImpactSystem& system) {
  Json list = Json::array();
  if (outcome.phases.size() > kMostPhases) return list;
  for (const MultiPhase& phase : outcome.phases) {
    Json modes = Json::array();
    for (const PointMode mode : phase.mode) modes.push_back(ModeName(mode));
    Json one = {{"event", phase.event},
                {"mode", modes},
                {"v_begin_F_m_per_s", Stacked(phase.v_begin, system.width)},
                {"v_end_F_m_per_s", Stacked(phase.v_end, system.width)},
                {"J_F_N_s", Stacked(phase.dJ, system.width)},
                {"work_n_J", List(phase.work_n)},
                {"work_t_J", List(phase.work_t)}};
    if (outcome.law == MultiLaw::kSprings) one["duration_s"] = phase.duration;
    if (phase.struck >= 0) {
      // A sequence strikes one contact at a time; which mode it was in is its case.
      one.erase("mode");
      one["struck"] = system.contacts[static_cast<std::size_t>(phase.struck)].name;
      one["case"] = phase.single.path_case.Name();
    }
    list.push_back(std::move(one));
  }
  return list;
}

Json LawJson(const SystemLaw& law, const ImpactSystem& system) {
  const MultiOutcome& o = law.outcome;
  Json one = {{"law", law.name},
              {"definition_of_e", law.definition},
              {"status", StatusName(o.status)},
              {"reason", o.reason}};
  if (o.status == SolveStatus::kInvalid) return one;
  one["u_plus"] = List(o.u_plus);
  one["v_plus_F_m_per_s"] = Stacked(o.v_plus, system.width);
  one["J_F_N_s"] = Stacked(o.J, system.width);
  one["work_n_J"] = List(o.work_n);
  one["work_t_J"] = List(o.work_t);
  one["energy_change_J"] = o.energy_change;
  one["events"] = o.events;
  if (!o.work_c.empty()) one["work_compression_J"] = o.work_c;
  if (o.usable()) one["certificate"] = ToJson(law.certificate);
  one["n_phases"] = o.phases.size();
  one["phases"] = PhasesJson(o, system);
  return one;
}

Json SetJson(const SystemOutcomes& set, int width) {
  Json one = {{"over", set.over},
              {"reason", set.reason},
              {"tried", set.tried},
              {"complete", set.complete},
              {"different", set.v_plus.size()}};
  if (set.v_plus.empty()) return one;
  one["u_plus_range"] = RangeJson(set.u_range);
  Json ranges = Json::array();
  for (Eigen::Index i = 0; i < set.v_range.rows(); i += width)
    ranges.push_back(RangeJson(set.v_range.middleRows(i, width)));
  one["v_plus_F_range_m_per_s"] = ranges;
  Json outcomes = Json::array();
  for (std::size_t k = 0; k < set.v_plus.size(); ++k)
    outcomes.push_back(
        {{"u_plus", List(set.u_plus[k])}, {"v_plus_F_m_per_s", Stacked(set.v_plus[k], width)}});
  one["outcomes"] = std::move(outcomes);
  return one;
}

}  // namespace

std::string SystemJson(const SystemToPredict& problem, const SystemPrediction& prediction) {
  const ImpactSystem& system = problem.system;
  Json out = {{"schema", "impactlab.system_prediction/1"},
              {"name", problem.name},
              {"source", problem.source},
              {"rows_per_contact", system.width},
              {"freedoms", prediction.freedoms},
              {"normal_rank", prediction.normal_rank},
              {"can_separate", prediction.can_separate},
              {"energy_minus_J", prediction.energy_minus}};
  Json velocities = Json::array();
  for (std::size_t k = 0; k < problem.velocities.size(); ++k) {
    const SystemVelocity& v = problem.velocities[k];
    velocities.push_back({{"body", v.body},
                          {"component", v.component},
                          {"unit", v.unit},
                          {"before", system.u_minus[static_cast<Eigen::Index>(k)]}});
  }
  out["velocities"] = std::move(velocities);
  Json contacts = Json::array();
  for (std::size_t i = 0; i < system.contacts.size(); ++i) {
    const ContactProperties& c = system.contacts[i];
    const auto at = static_cast<Eigen::Index>(i) * system.width;
    bool approaches = false;
    for (const int k : prediction.approaching) approaches = approaches || k == static_cast<int>(i);
    contacts.push_back({{"name", c.name},
                        {"mu_k", c.mu_k},
                        {"mu_s", c.mu_s},
                        {"e", c.e},
                        {"stiffness_N_per_m", c.stiffness},
                        {"gap_m", c.gap},
                        {"v_minus_F_m_per_s", List(prediction.v_minus.segment(at, system.width))},
                        {"approaches", approaches}});
  }
  out["contacts"] = std::move(contacts);
  out["global"] = {{"e_star", problem.global.e_star},
                   {"mode", problem.global.mode == GlobalMode::kThesis ? "thesis" : "physical"}};
  Json laws = Json::array(), sets = Json::array();
  for (const SystemLaw& law : prediction.laws) laws.push_back(LawJson(law, system));
  for (const SystemOutcomes& set : prediction.sets) sets.push_back(SetJson(set, system.width));
  out["laws"] = std::move(laws);
  out["outcomes"] = std::move(sets);
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void WriteSystemCsv(const std::filesystem::path& path, const SystemToPredict& problem,
                    const SystemPrediction& prediction) {
  const ImpactSystem& system = problem.system;
  CsvWriter out(path, {"law", "status", "failed_checks", "kind", "name", "component", "unit",
                       "before", "after", "impulse_N_s", "work_J"});
  const double none = std::nan("");
  for (const SystemLaw& law : prediction.laws) {
    const MultiOutcome& o = law.outcome;
    const auto row = [&](const char* kind, const std::string& name, const std::string& component,
                         const std::string& unit, double before, double after, double impulse,
                         double work) {
      out.Text(law.name)
          .Text(StatusName(o.status))
          .Text(law.certificate.Failed())
          .Text(kind)
          .Text(name)
          .Text(component)
          .Text(unit);
      out.Number(before).Number(after).Number(impulse).Number(work);
      out.EndRow();
    };
    const bool has = o.usable();
    for (std::size_t k = 0; k < problem.velocities.size(); ++k) {
      const SystemVelocity& v = problem.velocities[k];
      const auto at = static_cast<Eigen::Index>(k);
      row("velocity", v.body, v.component, v.unit, system.u_minus[at], has ? o.u_plus[at] : none,
          none, none);
    }
    for (std::size_t i = 0; i < system.contacts.size(); ++i)
      for (int t = 0; t < system.width; ++t) {
        const auto at = static_cast<Eigen::Index>(i) * system.width + t,
                   contact = static_cast<Eigen::Index>(i);
        const bool normal = t + 1 == system.width;
        // The work of friction belongs to both tangents together and stands at the first.
        const double work = !has     ? none
                            : normal ? o.work_n[contact]
                            : t == 0 ? o.work_t[contact]
                                     : none;
        row("contact", system.contacts[i].name,
            normal   ? "n"
            : t == 0 ? "x"
                     : "y",
            "m/s", prediction.v_minus[at], has ? o.v_plus[at] : none, has ? o.J[at] : none, work);
      }
  }
  out.Commit();
}

}  // namespace impactlab
