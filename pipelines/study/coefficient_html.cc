#include "pipelines/study/coefficient_html.h"

#include <fmt/format.h>

#include "pipelines/page/html.h"

namespace impactlab::pipelines {
namespace {

// "constant", "e falls with speed, groups pooled partially" ...
std::string ModelWords(const CoefficientModel& model) {
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() ? "" : "; ") + part; };
  if (model.fit_exponent) add("e = 1 − α v^m");
  if (!model.fit_exponent && model.exponent != 0)
    add(fmt::format("e = 1 − α v^{}", Num(model.exponent, 3)));
  if (model.fit_order) add("μ and e change with the order of the recordings");
  if (model.fit_mu_s) add("static friction above kinetic");
  if (model.fit_e_t) add("contacts that stick spring back by e_t");
  const auto pooled = [](Pooling pooling) {
    return pooling == Pooling::kPartial ? "drawn from a population" : "of each group alone";
  };
  if (model.friction == model.restitution && model.friction != Pooling::kComplete) {
    add(std::string("μ and e ") + pooled(model.friction));
  } else {
    if (model.friction != Pooling::kComplete) add(std::string("μ ") + pooled(model.friction));
    if (model.restitution != Pooling::kComplete) add(std::string("e ") + pooled(model.restitution));
  }
  return words.empty() ? "constant" : words;
}

std::string MethodWords(const std::string& method) {
  if (method == "profile") return "profile likelihood";
  if (method == "bootstrap") return "bootstrap over recordings";
  return method == "monte_carlo" ? "Monte Carlo (JCGM 101)" : "linear";
}

std::string EstimateHtml(const ParameterEstimate& p) {
  if (!p.identifiable) return Escape(p.reason.empty() ? "not determined" : p.reason);
  return fmt::format("{} ({})", ValueSd(p.value, p.sd), BoundsText(p.lower95, p.upper95, p.sd));
}

// What a model fits beside friction and restitution, a line each.
std::string FurtherHtml(const CoefficientFit& fit) {
  const auto words = [](const std::string& name) -> std::string {
    if (name == "exponent") return "exponent m";
    if (name == "change_mu_k") return "μ, first to last recording";
    if (name.starts_with("change_")) return "e, first to last recording";
    if (name == "e_t") return "tangential restitution";
    return name == "mu_s" ? "static friction" : "";
  };
  std::string out;
  for (const ParameterEstimate& p : fit.parameters)
    if (const std::string said = words(p.name); !said.empty())
      out += fmt::format("{}{}: {}", out.empty() ? "" : "<br>", said, EstimateHtml(p));
  return out.empty() ? "–" : out;
}

std::string ModelsHtml(const CoefficientStudy& study) {
  HtmlTable table(
      "Models of the coefficients, by how well they predict recordings left out of their fit",
      {"model", "#parameters", "#behind the best", "#ΔAIC", "#ΔBIC", "μ",
       "e at the reference speed", "also fitted", "verdict"});
  for (const ModelScore& score : study.models) {
    const CoefficientFit& fit = score.fit;
    table.Row({fmt::format("{}<br><small>{}</small>", Escape(ModelName(fit.model)),
                           Escape(ModelWords(fit.model))),
               Fixed(fit.parameters_used, 0),
               score.sd_behind > 0
                   ? fmt::format("{} ± {}", Fixed(score.behind, 1), Fixed(score.sd_behind, 1))
                   : Fixed(score.behind, 1),
               Fixed(score.delta_aic, 1), Fixed(score.delta_bic, 1),
               EstimateHtml(fit.parameters[0]), EstimateHtml(fit.parameters[1]), FurtherHtml(fit),
               (score.chosen ? "<b>chosen</b>: " : "") + Escape(WithSign(score.verdict))});
  }
  return table.Html();
}

std::string CoefficientGroupsHtml(const CoefficientFit& fit) {
  if (fit.groups.size() < 2) return {};
  std::string out;
  for (const bool friction : {true, false}) {
    std::vector<IntervalRow> rows;
    for (const GroupEstimate& group : fit.groups) {
      const ParameterEstimate& p = friction ? group.mu_k : group.e;
      rows.push_back({group.name, p.value, p.lower95, p.upper95, !p.identifiable});
    }
    const ParameterEstimate& all = fit.parameters[friction ? 0 : 1];
    out += IntervalChart(
        friction ? "Friction μ by group" : "Restitution by group, at the reference speed", "", rows,
        all.value, "all");
  }
  HtmlTable table("Coefficients of the groups",
                  {"group", "#impacts", "#recordings", "μ", "e", "what limits it"});
  for (const GroupEstimate& group : fit.groups) {
    std::string reason = group.mu_k.reason.empty() ? "" : "μ: " + group.mu_k.reason;
    if (!group.e.reason.empty()) reason += (reason.empty() ? "e: " : "; e: ") + group.e.reason;
    table.Row({Escape(group.name), std::to_string(group.n_events),
               std::to_string(group.n_recordings), EstimateHtml(group.mu_k), EstimateHtml(group.e),
               Escape(reason)});
  }
  return out + table.Html();
}

std::string IntervalComparisonHtml(const IntervalComparison& intervals) {
  if (intervals.rows.empty()) return {};
  std::string out = "<h3>The same interval by four methods</h3>\n<ul>";
  for (const auto& [parameter, note] : intervals.notes)
    out += fmt::format("<li>{}: {}</li>", SymbolHtml(parameter), Escape(note));
  out += "</ul>\n";
  HtmlTable table("95 % intervals by methods that assume different things",
                  {"coefficient", "method", "#sd", "#lower", "#upper", "#refits"});
  for (const MethodInterval& row : intervals.rows) {
    const int decimals = DecimalsFor(row.sd) + 1;
    table.Row({SymbolHtml(row.parameter), MethodWords(row.method), Num(row.sd, 2),
               Fixed(row.lower95, decimals), Fixed(row.upper95, decimals),
               row.refits > 0 ? std::to_string(row.refits) : "–"});
  }
  return out + table.Html();
}

}  // namespace

std::string WithSign(std::string text) {
  for (std::size_t at = text.find("+-"); at != std::string::npos; at = text.find("+-"))
    text.replace(at, 2, "±");
  return text;
}

std::string CoefficientHtml(const CoefficientStudy& study) {
  const ModelScore* best = study.chosen();
  if (best == nullptr) return "<p>No model could be fitted.</p>\n";
  return ModelsHtml(study) + CoefficientGroupsHtml(best->fit) +
         IntervalComparisonHtml(study.intervals);
}

}  // namespace impactlab::pipelines
