// Predictions against measurements: tables of errors and verdicts, predicted against measured,
// standardised differences.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <tuple>

#include "data/files/sentence.h"
#include "impact/law/impulse_law.h"
#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

const char* SampleName(bool in_sample) { return in_sample ? "in sample" : "unseen recordings"; }

std::string PredictionWithUnit(const std::string& text, const std::string& unit) {
  return unit.empty() || unit == "1" ? text : text + " [" + unit + "]";
}

// Those that were fitted, then those that were only predicted by.
std::vector<std::string> Laws(const ReportContext& context) {
  std::vector<std::string> laws;
  for (const LawFit* fit : FitsInOrder(context)) laws.push_back(fit->law);
  for (const ErrorSummary& s : context.best.validation.error_summary)
    if (std::find(laws.begin(), laws.end(), s.law) == laws.end()) laws.push_back(s.law);
  return laws;
}

bool HasPlanarLaws(const ReportContext& context) {
  return Laws(context).size() > FitsInOrder(context).size();
}

// Two laws that predict the same motion, as Brach's and Whittaker's do without tangential
// restitution.
bool SameErrors(const ErrorSummary& a, const ErrorSummary& b) {
  const auto near = [](double x, double y) { return std::abs(x - y) <= 1e-9 * std::abs(x); };
  return a.group == b.group && a.in_sample == b.in_sample && a.n == b.n &&
         near(a.median_by_plus, b.median_by_plus) && near(a.mean_by_plus, b.mean_by_plus) &&
         near(a.median_by_minus, b.median_by_minus) && near(a.mean_by_minus, b.mean_by_minus) &&
         near(a.median_by_change, b.median_by_change) && near(a.mean_by_change, b.mean_by_change);
}

void ErrorRows(HtmlTable& table, const ReportContext& context, const ValidationTable& validation,
               const std::string& frames, bool all) {
  std::vector<const ErrorSummary*> ordered;
  for (const std::string& law : Laws(context))
    for (const bool in_sample : {false, true})
      for (const ErrorSummary& s : validation.error_summary)
        if (s.law == law && (s.group == "all") == all && s.in_sample == in_sample)
          ordered.push_back(&s);
  for (auto at = ordered.begin(); at != ordered.end(); ++at) {
    const ErrorSummary& s = **at;
    std::string laws = LawTitle(s.law);
    for (auto later = at + 1; later != ordered.end();) {
      const bool same = SameErrors(s, **later);
      if (same) laws += ", " + LawTitle((*later)->law);
      later = same ? ordered.erase(later) : later + 1;
    }
    std::vector<std::string> cells = {laws, SampleName(s.in_sample)};
    if (!all) cells.insert(cells.begin() + 1, Escape(s.group));
    if (!frames.empty()) cells.push_back(frames);
    for (std::string& cell : std::vector<std::string>{
             fmt::format("{}", s.n), Percent(s.median_by_plus), Percent(s.mean_by_plus),
             Percent(s.median_by_minus), Percent(s.mean_by_minus), Percent(s.median_by_change),
             Percent(s.mean_by_change)})
      cells.push_back(std::move(cell));
    table.Row(cells,
              context.fit && s.law == context.fit->law && !s.in_sample && frames != "as recorded"
                  ? "first"
                  : "");
  }
}

std::vector<std::string> ErrorHeaders(std::vector<std::string> lead) {
  for (const char* header : {"#n", "#Median, by v<sup>+</sup>", "#mean",
                             "#Median, by v<sup>−</sup>", "#mean", "#Median, by Δv", "#mean"})
    lead.emplace_back(header);
  return lead;
}

std::string ErrorTables(const ReportContext& context) {
  const bool both = context.run.has_corrected;
  HtmlTable table("Error of the predicted motion after the impact, kinetic-energy norm",
                  ErrorHeaders(both ? std::vector<std::string>{"Law", "Sample", "Frames"}
                                    : std::vector<std::string>{"Law", "Sample"}));
  ErrorRows(table, context, context.best.validation, both ? "corrected" : "", true);
  if (both) ErrorRows(table, context, context.run.recorded.validation, "as recorded", true);
  HtmlTable cases("The same by predicted case", ErrorHeaders({"Law", "Case", "Sample"}));
  ErrorRows(cases, context, context.best.validation, "", false);
  std::string html = table.Html();
  if (cases.rows() > 0)
    html += "<details><summary>Errors by case</summary>" + cases.Html(true) + "</details>\n";
  return html;
}

std::string VerdictBar(const QuantitySummary& s) {
  const double n = std::max(1, s.adequate + s.discrepant + s.unresolved);
  return fmt::format(
      "<span class=\"verdicts\" role=\"img\" aria-label=\"{0} adequate, {1} unresolved, {2} "
      "discrepant\"><i class=\"good\" style=\"width:{3:.1f}%\"></i><i class=\"open\" "
      "style=\"width:{4:.1f}%\"></i><i class=\"bad\" style=\"width:{5:.1f}%\"></i></span>",
      s.adequate, s.unresolved, s.discrepant, 100 * s.adequate / n, 100 * s.unresolved / n,
      100 * s.discrepant / n);
}

std::string PredictionTable(const ReportContext& context, const std::string& law) {
  std::map<std::string, std::string> unit;
  for (const ValidationRow& row : context.best.validation.rows)
    unit.emplace(row.quantity, row.unit);
  HtmlTable table("Verdict on every quantity predicted by " + LawPhrase(law),
                  {"Quantity", "Sample", "#n", "Verdicts", "#adequate", "#unresolved",
                   "#discrepant", "#rms difference", "#bias", "#rms z"});
  std::vector<const QuantitySummary*> ordered;
  for (const bool in_sample : {false, true})
    for (const QuantitySummary& s : context.best.validation.quantity_summary)
      if (s.law == law && s.group == "all" && s.in_sample == in_sample) ordered.push_back(&s);
  for (const QuantitySummary* one : ordered) {
    const QuantitySummary& s = *one;
    table.Row({Escape(PredictionWithUnit(QuantityTitle(s.quantity), unit[s.quantity])),
               SampleName(s.in_sample), fmt::format("{}", s.n), VerdictBar(s),
               fmt::format("{}", s.adequate), fmt::format("{}", s.unresolved),
               fmt::format("{}", s.discrepant), Num(s.rms, 2), Num(s.bias, 2), Fixed(s.rms_z, 2)});
  }
  return table.rows() > 0 ? table.Html() : std::string();
}

struct Group {
  std::string law, quantity, unit;
  bool in_sample = false;
  std::vector<const ValidationRow*> rows;
};

// Rows by law, quantity and sample; laws in order, unseen recordings before in sample.
std::vector<Group> Groups(const ReportContext& context) {
  const std::vector<ValidationRow>& rows = context.best.validation.rows;
  std::vector<std::string> quantities;
  for (const ValidationRow& row : rows)
    if (std::find(quantities.begin(), quantities.end(), row.quantity) == quantities.end())
      quantities.push_back(row.quantity);
  std::map<std::tuple<std::string, std::string, bool>, std::vector<const ValidationRow*>> sorted;
  for (const ValidationRow& row : rows)
    sorted[{row.law, row.quantity, row.in_sample}].push_back(&row);
  std::vector<Group> groups;
  for (const std::string& law : Laws(context))
    for (const std::string& quantity : quantities)
      for (const bool in_sample : {false, true}) {
        const auto it = sorted.find({law, quantity, in_sample});
        if (it != sorted.end())
          groups.push_back({law, quantity, it->second[0]->unit, in_sample, it->second});
      }
  return groups;
}

Figure AgainstMeasured(const ReportContext& context, const std::vector<Group>& groups) {
  Figure figure{.id = "fig-predicted",
                .title = "Predicted against measured",
                .caption = {},
                .selectors = {"Law", "Quantity", "Sample"},
                .plots = {}};
  bool thinned = false;
  for (const Group& group : groups) {
    std::map<std::string, Series> by_case;
    for (const ValidationRow* row : group.rows) {
      Series& s = by_case[row->path_case];
      s.x.push_back(row->measured);
      s.y.push_back(row->predicted);
      s.sd_x.push_back(row->sd_measured);
      s.sd_y.push_back(row->sd_predicted);
      s.event.push_back(context.Code(row->recording, row->impact));
    }
    Plot plot{
        .choice = {LawTitle(group.law), QuantityTitle(group.quantity), SampleName(group.in_sample)},
        .x_label = PredictionWithUnit("measured", group.unit),
        .y_label = PredictionWithUnit("predicted", group.unit),
        .equal_axes = true,
        .series = {}};
    for (auto& [path_case, s] : by_case) {
      const bool path = !path_case.empty() && path_case[0] >= '0' && path_case[0] <= '9';
      s.name = path_case.empty() ? "no case" : (path ? "case " : "bound by ") + path_case;
      s.mark = group.in_sample ? Mark::kRing : Mark::kDot;
      s.colour = CaseColour(path_case);
      plot.series.push_back(std::move(s));
    }
    thinned = PreparePlot(plot) || thinned;
    Series diagonal{.name = "equality", .mark = Mark::kDash, .colour = kInk};
    diagonal.x = {plot.x_min, plot.x_max}, diagonal.y = {plot.x_min, plot.x_max};
    plot.series.push_back(std::move(diagonal));
    figure.plots.push_back(std::move(plot));
  }
  figure.caption =
      "Every point is one impact, with one standard deviation of both sides. Unseen recordings: "
      "the coefficients were fitted without the recording that is predicted.";
  if (context.interactive) figure.caption += " Select a point to see its recording.";
  if (thinned)
    figure.caption +=
        " Points were thinned evenly to 3000 a series; validation.csv holds them all.";
  return figure;
}

Figure Standardised(const ReportContext& context, const std::vector<Group>& groups) {
  Figure figure{.id = "fig-residuals",
                .title = "Differences in units of their uncertainty",
                .caption = {},
                .selectors = {"Law", "Quantity"},
                .plots = {}};
  constexpr double kLimit = 5;
  constexpr int kBins = 40;
  const auto add = [&](const std::string& law, const std::string& quantity,
                       const std::vector<double>& unseen, const std::vector<double>& seen) {
    Plot plot{.choice = {LawTitle(law), quantity},
              .x_label = "difference / standard deviation",
              .y_label = "predictions",
              .counts = true,
              .series = {}};
    const std::vector<double>& main = unseen.empty() ? seen : unseen;
    if (main.empty()) return;
    if (!unseen.empty())
      plot.series.push_back(Histogram(unseen, -kLimit, kLimit, kBins, SampleName(false), 0));
    if (!seen.empty()) {
      plot.series.push_back(Histogram(seen, -kLimit, kLimit, kBins, SampleName(true), 1));
      if (!unseen.empty()) plot.series.back().mark = Mark::kOutline;
    }
    plot.x_min = -kLimit, plot.x_max = kLimit;
    Series normal{.name = "normal distribution", .mark = Mark::kDash, .colour = kInk};
    const double scale =
        static_cast<double>(main.size()) * 2 * kLimit / kBins / std::sqrt(2 * std::numbers::pi);
    for (int k = 0; k <= 100; ++k) {
      normal.x.push_back(-kLimit + 2 * kLimit * k / 100);
      normal.y.push_back(scale * std::exp(-0.5 * normal.x.back() * normal.x.back()));
    }
    PreparePlot(plot);
    plot.y_max = std::max(plot.y_max, 1.1 * scale);
    plot.series.push_back(std::move(normal));
    figure.plots.push_back(std::move(plot));
  };
  for (const std::string& law : Laws(context)) {
    std::vector<std::string> names = {"all quantities"};
    std::map<std::string, std::array<std::vector<double>, 2>> z;
    for (const Group& group : groups) {
      if (group.law != law) continue;
      const std::string name = QuantityTitle(group.quantity);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
      for (const ValidationRow* row : group.rows)
        if (std::isfinite(row->z))
          for (const std::string& key : {names[0], name})
            z[key][group.in_sample ? 1 : 0].push_back(row->z);
    }
    for (const std::string& name : names) add(law, name, z[name][0], z[name][1]);
  }
  figure.caption =
      "If the stated uncertainties are right, the histogram follows the dashed curve (drawn for "
      "the filled columns); heavier shoulders mean that they are too small. Values beyond ±5 are "
      "counted in the end columns.";
  return figure;
}

}  // namespace

std::vector<Figure> PredictionFigures(const ReportContext& context) {
  const std::vector<Group> groups = Groups(context);
  std::vector<Figure> figures;
  for (Figure figure : {AgainstMeasured(context, groups), Standardised(context, groups)})
    if (!figure.empty()) figures.push_back(std::move(figure));
  return figures;
}

Section PredictionSection(const ReportContext& context) {
  Section section{
      .id = "prediction", .title = "Prediction", .html = {}, .figures = PredictionFigures(context)};
  const ValidationTable& validation = context.best.validation;
  if (validation.errors.empty() && validation.rows.empty()) {
    section.html = context.best.fit.verdict.withheld
                       ? "<p>Nothing is predicted: coefficients are withheld.</p>\n"
                       : "<p>Nothing could be predicted: there is no fit or no accepted "
                         "impact.</p>\n";
    return section;
  }
  const ValidationOptions& options = context.run.experiment.validation;
  section.html = fmt::format(
      "<p>Every law predicts the motion after each impact from the motion before it. \u201CUnseen "
      "recordings\u201D uses {}-fold cross-validation over recordings: the coefficients come from "
      "the other folds only.</p>\n",
      options.folds);
  if (HasPlanarLaws(context)) {
    std::vector<std::string> owners;
    for (const ImpulseLawInfo& law : kImpulseLaws)
      if (law.listed) owners.push_back(TypographicApostrophes(law.owner));
    section.html += fmt::format(
        "<p>{} laws were not fitted: they read the coefficients of {} law, with their uncertainty "
        "and scatter, and give the impulse of the whole impact without integrating the slip.</p>\n",
        ListInWords(owners), LawOwner(kImpulseRestitution));
  }
  section.html += ErrorTables(context);
  section.html +=
      "<p class=\"foot\">The error is √(dᵀM d / vᵀM v), with d the predicted minus the measured "
      "rigid-body velocity, M the mass matrix and v the velocity after (v<sup>+</sup>), before "
      "(v<sup>−</sup>) or its change (Δv).</p>\n" +
      FiguresHtml(section.figures, context.interactive);
  std::string first, others;
  for (const std::string& law : Laws(context))
    (context.fit && law == context.fit->law ? first : others) += PredictionTable(context, law);
  if (!first.empty())
    section.html +=
        "<h3>Verdicts</h3>\n" + first +
        fmt::format(
            "<p class=\"foot\">Adequate: |difference| + {0} u is within the tolerance ({1} m/s, "
            "{2} rad/s). Discrepant: |difference| exceeds {0} u. Otherwise unresolved: the "
            "measurement is not precise enough. u is the standard uncertainty of the difference "
            "from measurement and coefficients, without the scatter between impacts: the law "
            "itself is tested.</p>\n",
            Num(options.coverage, 2), Num(options.tolerance_velocity, 2),
            Num(options.tolerance_spin, 2));
  if (!others.empty())
    section.html +=
        "<details><summary>Verdicts on the other laws</summary>" + others + "</details>\n";
  return section;
}

}  // namespace impactlab::pipelines
