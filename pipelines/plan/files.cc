// A plan as table, JSON and text for a terminal.

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/cache/provenance.h"
#include "data/files/number_json.h"
#include "data/files/table.h"
#include "pipelines/plan/detail/evaluate_design.h"

namespace impactlab {
namespace {

using Json = nlohmann::ordered_json;

Json CasesJson(const std::array<double, 7>& cases) {
  Json json = Json::object();
  for (std::size_t digit = 0; digit < cases.size(); ++digit)
    if (cases[digit] > 0) json[std::to_string(digit)] = cases[digit];
  return json;
}

// Over the draws of the prior.
std::array<double, 7> MeanCases(const std::vector<SettingInformation>& information) {
  std::array<double, 7> cases{};
  double usable = 0;
  for (const SettingInformation& t : information) {
    usable += t.usable;
    for (std::size_t digit = 0; digit < 7; ++digit) cases[digit] += t.usable * t.cases[digit];
  }
  for (double& share : cases) share /= std::max(usable, 1e-300);
  return cases;
}

double MeanUsable(const std::vector<SettingInformation>& information) {
  double usable = 0;
  for (const SettingInformation& t : information)
    usable += t.usable / static_cast<double>(information.size());
  return usable;
}

std::string Drops(double n) { return std::isfinite(n) ? fmt::format("{:.0f}", n) : "no number of"; }

std::string Width(double x) { return std::isfinite(x) ? fmt::format("{:.4f}", x) : "open"; }

}  // namespace

void WritePlanTable(const std::filesystem::path& path, const ExperimentDesign& plan,
                    const PlanResult& result) {
  const std::string e = CoefficientName(plan.law);
  CsvWriter out(path, {"slope_rad",
                       "height_m",
                       "lean_rad",
                       "speed_m_per_s",
                       "spin_rad_per_s",
                       "drops",
                       "share",
                       "usable",
                       "refused",
                       "approach_m_per_s",
                       "slip_m_per_s",
                       "frames_minus",
                       "frames_plus",
                       "sd_t_s",
                       "sd_position_m",
                       "sd_depth_m",
                       "sd_v_minus_m_per_s",
                       "sd_v_plus_m_per_s",
                       "sd_spin_minus_rad_per_s",
                       "sd_spin_plus_rad_per_s",
                       "blur_px",
                       "marker_px",
                       "outside",
                       "half_width_mu_k_alone",
                       "half_width_" + e + "_alone",
                       "case_0",
                       "case_1",
                       "case_2",
                       "case_3",
                       "case_4",
                       "case_5",
                       "case_6"});
  for (std::size_t c = 0; c < plan.settings.size(); ++c) {
    const PlanSetting& s = plan.settings[c];
    const SettingFigures& f = result.settings[c];
    out.Number(s.slope).Number(s.height).Number(s.lean).Number(s.speed).Number(s.spin);
    out.Integer(result.counts[c])
        .Number(result.shares[c])
        .Number(MeanUsable(result.information[c]))
        .Text(f.refused);
    for (const double x :
         {f.approach, f.slip, f.frames_minus, f.frames_plus, f.sd_t, f.sd_position, f.sd_depth,
          f.sd_v_minus, f.sd_v_plus, f.sd_spin_minus, f.sd_spin_plus, f.blur, f.marker_size,
          f.outside, result.alone[c][0], result.alone[c][1]})
      out.Number(std::isfinite(x) ? x : std::nan(""));
    for (const double share : MeanCases(result.information[c])) out.Number(share);
    out.EndRow();
  }
  out.Commit();
}

std::string PlanJson(const ExperimentDesign& plan, const PlanResult& result) {
  const std::string e = CoefficientName(plan.law);
  const auto coefficient = [](const ExpectedCoefficient& c) {
    return Json{{"half_width", NumberJson(c.half_width)},
                {"error95", NumberJson(c.error95)},
                {"determined", c.determined}};
  };
  Json json;
  json["schema"] = "impactlab.plan_result/1";
  json["name"] = plan.name;
  json["law"] = LawName(plan.law);
  json["drops"] = plan.drops;
  json["allocation"] = Json::array();
  for (const std::size_t c : pipelines::Chosen(result)) {
    const PlanSetting& s = plan.settings[c];
    json["allocation"].push_back({{"slope_rad", s.slope},
                                  {"height_m", s.height},
                                  {"lean_rad", s.lean},
                                  {"speed_m_per_s", s.speed},
                                  {"spin_rad_per_s", s.spin},
                                  {"drops", result.counts[c]}});
  }
  json["cases"] = CasesJson(result.cases);
  json["curve"] = Json::array();
  for (const PlanPoint& p : result.curve)
    json["curve"].push_back({{"drops", p.drops},
                             {"simulated", p.simulated},
                             {"mu_k", coefficient(p.mu)},
                             {e, coefficient(p.e)}});
  json["sd_common"] = {{"mu_k", result.common[0]}, {e, result.common[1]}};
  json["half_width_by_scatter"] = {{"mu_k", result.by_scatter[0]}, {e, result.by_scatter[1]}};
  json["half_width_by_noise"] = {{"mu_k", result.by_noise[0]}, {e, result.by_noise[1]}};
  json["drops_needed"] = Json::object();
  if (plan.wanted[0] > 0) json["drops_needed"]["mu_k"] = NumberJson(result.needed_mu);
  if (plan.wanted[1] > 0) json["drops_needed"][e] = NumberJson(result.needed_e);
  json["laws"] = Json::array();
  for (const PlanRival& r : result.rivals)
    json["laws"].push_back({{"law", LawName(r.law)},
                            {CoefficientName(r.law), NumberJson(r.e)},
                            {"mu_k", NumberJson(r.mu)},
                            {"loglik_per_drop", NumberJson(r.mean)},
                            {"sd_loglik_per_drop", NumberJson(r.sd)},
                            {"loglik_per_drop_of_other", NumberJson(r.mean_other)},
                            {"sd_loglik_per_drop_of_other", NumberJson(r.sd_other)},
                            {"power", NumberJson(r.Power(plan.drops))},
                            {"drops_80_above", NumberJson(r.Beyond(0.8))},
                            {"drops_80", NumberJson(r.Drops(0.8))},
                            {"drops_95", NumberJson(r.Drops(0.95))}});
  json["rates"] = Json::array();
  for (const PlanRate& r : result.rates)
    json["rates"].push_back({{"rate_Hz", r.rate},
                             {"sd_v_plus_m_per_s", r.sd_v_plus},
                             {"sd_spin_plus_rad_per_s", r.sd_spin_plus},
                             {"sd_t_s", r.sd_t}});
  json["checks"] = Json::array();
  for (const PlanCheck& c : result.checks)
    json["checks"].push_back(
        {{"name", c.name}, {"found", c.found}, {"fine", c.fine}, {"advice", c.advice}});
  json["limits"] = result.limits;
  const Provenance provenance = CollectProvenance(plan.seed);
  json["version"] = provenance.version;
  json["seed"] = plan.seed;
  json["seconds"] = result.seconds;
  return json.dump(1) + "\n";
}

std::string BriefReport(const ExperimentDesign& plan, const PlanResult& result) {
  const std::string e = pipelines::CoefficientWord(plan.law);
  std::string out = fmt::format("{}: {} drops\n", plan.name, plan.drops);
  for (const std::size_t c : pipelines::Chosen(result))
    out +=
        fmt::format("  {:>3} x  {}\n", result.counts[c], pipelines::SettingWords(plan.settings[c]));
  out += "cases:";
  for (std::size_t digit = 0; digit < 7; ++digit)
    if (result.cases[digit] > 0.005)
      out += fmt::format(" {}: {:.0f} %", digit, 100 * result.cases[digit]);
  out += fmt::format("\n{:>6}  {:>10} {:>10}  (95 % half widths; * simulated)\n", "drops", "mu", e);
  for (const PlanPoint& p : result.curve)
    if (p.simulated || p.drops == 8 || p.drops == 16)
      out += fmt::format("{:>5}{} {:>11} {:>10}\n", p.drops, p.simulated ? "*" : " ",
                         Width(p.mu.half_width), Width(p.e.half_width));
  if (plan.wanted[0] > 0)
    out += fmt::format("mu within {:.3g}: {} drops\n", plan.wanted[0], Drops(result.needed_mu));
  if (plan.wanted[1] > 0)
    out += fmt::format("{} within {:.3g}: {} drops\n", e, plan.wanted[1], Drops(result.needed_e));
  for (const PlanRival& r : result.rivals) {
    const double drops = r.Drops(0.8);
    if (std::isfinite(drops))
      out += fmt::format("{} law distinguished from {}: {:.0f} drops (power 80 %), {:.0f} (95 %)\n",
                         LawName(plan.law), LawName(r.law), drops, r.Drops(0.95));
    else
      out += fmt::format("{} law distinguished from {}: more than {} drops, if any\n",
                         LawName(plan.law), LawName(r.law), Drops(r.Beyond(0.8)));
  }
  for (const std::string& limit : result.limits) out += limit + "\n";
  for (const PlanCheck& check : result.checks)
    if (!check.fine) out += fmt::format("{}: {}: {}\n", check.name, check.found, check.advice);
  return out;
}

}  // namespace impactlab
