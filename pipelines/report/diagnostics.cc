// Diagnostics: distributions of the errors, limits of validity of a law, comparison of laws, mixed
// specimens; and the three coefficients of restitution.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "data/files/sentence.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"
#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

std::string PValueText(double p) {
  return std::isnan(p) ? "\u2013" : p < 0.001 ? "&lt; 0.001" : fmt::format("{:.2g}", p);
}

std::string DiagnosticWithUnit(const std::string& text, const std::string& unit) {
  return unit.empty() || unit == "1" ? text : text + " [" + unit + "]";
}

std::string ConditionTitle(const std::string& condition) {
  if (condition == "approach_speed") return "approach speed";
  if (condition == "slip_speed") return "slip speed before";
  if (condition == "spin") return "spin before";
  if (condition == "order") return "order of the recordings";
  return condition;
}

std::string ErrorName(const std::string& quantity) {
  if (quantity == "v_n_plus") return "normal velocity after";
  if (quantity == "v_t_plus") return "tangential velocity after, along the slip";
  return "size of the error, chi-square / freedoms";
}

// Rows of the law reported first before the others.
template <typename Row>
std::vector<const Row*> ReportedFirst(const std::vector<Row>& rows, const std::string& law) {
  std::vector<const Row*> out;
  for (const bool first : {true, false})
    for (const Row& row : rows)
      if ((row.law == law) == first) out.push_back(&row);
  return out;
}

// Empirical distribution function of the places in the predictive distributions, beside the uniform
// and the band of a true prediction.
Figure PlacesFigure(const ReportContext& context) {
  const ValidationTable& table = context.best.validation;
  Figure figure{.id = "fig-places",
                .title = "Places of the measurements in their predictive distributions",
                .caption =
                    "The share of measurements at or below each place of their predicted "
                    "distribution. A true prediction follows the diagonal; the area between is the "
                    "area metric. Steep in the middle: the uncertainty is overstated; steep at the "
                    "ends: understated; off to one side: a bias. Dashed: where a true prediction "
                    "of so many recordings leaves a point 1 time in 20.",
                .selectors = {"Law", "Quantity"},
                .plots = {}};
  for (const AreaRow* of : ReportedFirst(context.best.scrutiny.areas, context.best.scrutiny.law)) {
    const AreaRow& row = *of;
    std::vector<double> u;
    for (const ValidationRow& one : table.rows)
      if (one.law == row.law && one.quantity == row.quantity && one.in_sample == row.in_sample &&
          one.sd_difference > 0)
        u.push_back(NormalCdf(-one.z));
    if (u.size() < 2) continue;
    std::sort(u.begin(), u.end());
    Plot plot{.choice = {LawTitle(row.law), QuantityTitle(row.quantity)},
              .x_label = "place in the predicted distribution [1]",
              .y_label = "share of measurements [1]",
              .series = {}};
    Series steps{.name = "measurements", .mark = Mark::kLine};
    const double n = static_cast<double>(u.size());
    for (std::size_t i = 0; i < u.size(); ++i)
      for (const double share : {static_cast<double>(i) / n, static_cast<double>(i + 1) / n})
        steps.x.push_back(u[i]), steps.y.push_back(share);
    Series diagonal{.name = "a true prediction", .mark = Mark::kLine, .colour = kInk};
    diagonal.x = diagonal.y = {0, 1};
    Series lower{.name = "95 % of true predictions", .mark = Mark::kDash, .colour = 7},
        upper{.name = "", .mark = Mark::kDash, .colour = 7};
    for (int k = 1; k < 50; ++k) {
      const double x = k / 50.0;
      const CountBand band = BinomialBand(row.recordings, x, 0.05);
      lower.x.push_back(x), lower.y.push_back(static_cast<double>(band.lower) / row.recordings);
      upper.x.push_back(x), upper.y.push_back(static_cast<double>(band.upper) / row.recordings);
    }
    plot.series = {steps, diagonal, lower, upper};
    PreparePlot(plot);
    plot.x_min = plot.y_min = 0, plot.x_max = plot.y_max = 1;
    figure.plots.push_back(std::move(plot));
  }
  return figure;
}

// Errors of the law against the conditions of its impacts, with the best split.
Figure EdgeFigure(const ReportContext& context) {
  const Diagnostics& s = context.best.scrutiny;
  Figure figure{
      .id = "fig-edges",
      .title = "Errors against the conditions of the impact",
      .caption =
          "Predicted less measured normal velocity after every impact, with one standard deviation "
          "of the difference. Full lines: means on either side of the split that parts the errors "
          "best, drawn where an edge was found.",
      .selectors = {"Law", "Against"},
      .plots = {}};
  std::vector<const EdgeRow*> edges = ReportedFirst(s.edges, s.law);
  const auto spoken = std::find_if(edges.begin(), edges.end(),
                                   [&](const EdgeRow* row) { return row->law != s.law; });
  std::stable_sort(edges.begin(), spoken,
                   [](const EdgeRow* a, const EdgeRow* b) { return a->p_family < b->p_family; });
  for (const EdgeRow* of : edges) {
    const EdgeRow& edge = *of;
    if (edge.quantity != "v_n_plus" || edge.condition == "case") continue;
    Plot plot{
        .choice = {LawTitle(edge.law), ConditionTitle(edge.condition)},
        .x_label = edge.condition == "lean"
                       ? "lean [°]"
                       : ConditionTitle(edge.condition) +
                             (edge.condition == "order" ? "" : " [" + edge.condition_unit + "]"),
        .y_label = "predicted − measured vₙ⁺ [m/s]",
        .series = {}};
    std::map<EventKey, const ValidationRow*> rows;
    for (const ValidationRow& row : context.best.validation.rows)
      if (row.law == edge.law && row.quantity == edge.quantity && row.in_sample == edge.in_sample)
        rows[{row.recording, row.impact}] = &row;
    Series dots{.name = "impacts"};
    std::map<std::string, int> order;
    for (const ImpactEvent& event : context.best.events) {
      const int place =
          order.try_emplace(event.recording, static_cast<int>(order.size()) + 1).first->second;
      const auto at = rows.find({event.recording, event.impact});
      if (!event.accepted || at == rows.end()) continue;
      const MeasuredImpact m = MeasureImpact(event);
      dots.x.push_back(edge.condition == "approach_speed" ? m.speed
                       : edge.condition == "slip_speed"   ? event.contact.v_minus_F.head<2>().norm()
                       : edge.condition == "lean" ? std::abs(m.lean) * 180 / std::numbers::pi
                       : edge.condition == "spin" ? event.omega_minus.norm()
                                                  : place);
      dots.y.push_back(at->second->difference);
      dots.sd_y.push_back(at->second->sd_difference);
      dots.event.push_back(context.Code(event.recording, event.impact));
    }
    if (dots.x.empty()) continue;
    plot.series = {dots};
    PreparePlot(plot);
    if (edge.found && std::isfinite(edge.edge)) {
      const double at = edge.edge * (edge.condition == "lean" ? 180 / std::numbers::pi : 1);
      const double below = edge.above ? edge.error_within : edge.error_beyond,
                   above = edge.above ? edge.error_beyond : edge.error_within;
      Series line{.name = fmt::format("means beside the edge (p = {:.2g})", edge.p_family),
                  .mark = Mark::kLine,
                  .colour = 3};
      line.x = {plot.x_min, at, std::nan(""), at, plot.x_max};
      line.y = {below, below, std::nan(""), above, above};
      plot.series.push_back(std::move(line));
    }
    Series zero{.name = "no error", .mark = Mark::kDash, .colour = kInk};
    zero.x = {plot.x_min, plot.x_max}, zero.y = {0, 0};
    plot.series.push_back(std::move(zero));
    figure.plots.push_back(std::move(plot));
  }
  return figure;
}

std::string AreaTable(const Diagnostics& s, const std::string& law) {
  HtmlTable table(
      "Area between predicted and measured distributions, by " + LawPhrase(law),
      {"Quantity", "#n", "#recordings", "#Area of the places", "#true, median", "#true, 95 %",
       "#p, all quantities", "#Area, in its unit", "#true, 95 %", "Verdict"});
  for (const AreaRow& row : s.areas) {
    if (row.law != law) continue;
    const std::string verdict =
        row.verdict == "agrees" ? "<span class=\"ok\">agrees</span>"
        : row.verdict == "few"  ? "too few recordings"
                               : "<span class=\"notok\">" + Escape(DepartureWords(row)) + "</span>";
    table.Row({Escape(DiagnosticWithUnit(QuantityTitle(row.quantity), row.unit)),
               fmt::format("{}", row.n), fmt::format("{}", row.recordings), Fixed(row.u_area, 3),
               Fixed(row.u_median, 3), Fixed(row.u_upper95, 3), PValueText(row.p_family),
               Num(row.area, 2), Num(row.area_upper95, 2), verdict});
  }
  return table.rows() > 0 ? table.Html() : std::string();
}

std::string EdgeTable(const Diagnostics& s) {
  HtmlTable table("Best split of the errors by every condition",
                  {"Law", "Error", "Condition", "#Edge", "#n beyond", "#Error within", "#beyond",
                   "#detectable", "#p, all splits"});
  for (const EdgeRow& row : s.edges) {
    const double degrees = row.condition == "lean" ? 180 / std::numbers::pi : 1;
    const std::string unit = row.condition == "lean"    ? "°"
                             : row.condition == "order" ? ""
                                                        : " " + row.condition_unit;
    const std::string edge =
        row.condition == "case"
            ? Escape(row.case_beyond.empty() ? "one case" : "case " + row.case_beyond)
        : std::isfinite(row.edge)
            ? (row.above ? "above " : "below ") + Num(row.edge * degrees, 3) + unit
            : std::string("\u2013");
    table.Row(
        {LawTitle(row.law), Escape(DiagnosticWithUnit(ErrorName(row.quantity), row.unit)),
         Escape(ConditionTitle(row.condition)), edge, fmt::format("{} of {}", row.n_beyond, row.n),
         ValueSd(row.error_within, row.sd_within), ValueSd(row.error_beyond, row.sd_beyond),
         Num(row.detectable, 2), PValueText(row.p_family)},
        row.found ? "first" : "");
  }
  return table.rows() > 0 ? "<details><summary>All conditions, all laws</summary>" +
                                table.Html(true) + "</details>\n"
                          : std::string();
}

std::string LawComparisonTable(const LawComparison& laws) {
  HtmlTable table("Laws in pairs on the same recordings",
                  {"Law", "Other", "#n", "#recordings", "#Difference of log density",
                   "#p, all pairs", "#Difference of error", "#p, all pairs", "Verdict"});
  for (const LawPair& pair : laws.pairs) {
    const std::string verdict =
        pair.verdict == "same" ? "the same predictions"
        : pair.verdict == "undecided"
            ? "no significant difference"
            : LawTitle(pair.verdict == "better" ? pair.law : pair.other) + " predicts better";
    table.Row({LawTitle(pair.law), LawTitle(pair.other), fmt::format("{}", pair.n),
               fmt::format("{}", pair.recordings), ValueSd(pair.log_density, pair.sd_log_density),
               PValueText(pair.family_log_density), ValueSd(pair.error, pair.sd_error),
               PValueText(pair.family_error), verdict});
  }
  return table.rows() > 0 ? table.Html() : std::string();
}

// Verdicts of the law by case and by set of recordings.
std::string GroupTable(const ValidationTable& validation, const std::string& law) {
  HtmlTable table("Verdicts by case and set of recordings, by " + LawPhrase(law),
                  {"Impacts", "Quantity", "#n", "#adequate", "#unresolved", "#discrepant",
                   "#rms difference", "#bias", "#rms z"});
  for (const QuantitySummary& q : validation.quantity_summary) {
    if (q.law != law || q.group == "all" || q.in_sample == HasUnseen(validation, law)) continue;
    table.Row({Escape(q.group), Escape(QuantityTitle(q.quantity)), fmt::format("{}", q.n),
               fmt::format("{}", q.adequate), fmt::format("{}", q.unresolved),
               fmt::format("{}", q.discrepant), Num(q.rms, 2), Num(q.bias, 2), Fixed(q.rms_z, 2)});
  }
  return table.rows() > 0 ? "<details><summary>Verdicts by case and set of recordings</summary>" +
                                table.Html(true) + "</details>\n"
                          : std::string();
}

// A sentence of plain text; symbols (e_n) keep their letter.
std::string Sentence(std::string text) {
  if (text.size() > 1 && text[1] != '_') text = Capitalized(std::move(text));
  std::string out = Escape(text);
  for (const auto& [from, to] : {std::pair<std::string, std::string>{"&#39;", "\u2019"},
                                 {"'", "\u2019"},
                                 {" - e*", " \u2212 e*"}})
    for (std::size_t at = out.find(from); at != std::string::npos;
         at = out.find(from, at + to.size()))
      out.replace(at, from.size(), to);
  return out + ".";
}

}  // namespace

std::vector<Figure> DiagnosticsFigures(const ReportContext& context) {
  std::vector<Figure> figures;
  for (Figure figure : {PlacesFigure(context), EdgeFigure(context)})
    if (!figure.empty()) figures.push_back(std::move(figure));
  return figures;
}

Section DiagnosticsSection(const ReportContext& context) {
  const Diagnostics& s = context.best.scrutiny;
  Section section{
      .id = "scrutiny", .title = "Diagnostics", .html = {}, .figures = DiagnosticsFigures(context)};
  std::string& html = section.html;
  html = "<ul class=\"findings\">";
  for (const CampaignFinding& finding : s.findings)
    html += "<li>" + Sentence(finding.text) + "</li>\n";
  const bool edge = std::any_of(s.findings.begin(), s.findings.end(), [](const CampaignFinding& f) {
    return f.cause == "law_form" || f.cause == "drift";
  });
  if (!edge && !s.edges.empty()) html += "<li>" + Sentence(NoEdgeWords(s.edges, s.law)) + "</li>\n";
  const bool departs = std::any_of(s.areas.begin(), s.areas.end(), [&](const AreaRow& row) {
    return row.law == s.law && row.verdict == "departs";
  });
  if (!departs && !s.areas.empty())
    html += "<li>" +
            Sentence("measurements lie in the distributions that " + LawInWords(s.law) +
                     " predicts, as those of a true prediction would, in every quantity") +
            "</li>\n";
  if (!s.specimens.mixed && s.specimens.parted_by.empty() && !s.specimens.text.empty())
    html += "<li>" + Sentence(s.specimens.text) + "</li>\n";
  if (!s.laws.empty()) html += "<li>" + Sentence(ToWords(s.laws)) + "</li>\n";
  html += "</ul>\n" + FiguresHtml(section.figures, context.interactive) + AreaTable(s, s.law);
  std::string others;
  for (const AreaRow& row : s.areas)
    if (row.law != s.law && others.find("by " + LawPhrase(row.law)) == std::string::npos)
      others += AreaTable(s, row.law);
  if (!others.empty())
    html += "<details><summary>Areas of the other laws</summary>" + others + "</details>\n";
  html += LawComparisonTable(s.laws) + EdgeTable(s) + GroupTable(context.best.validation, s.law);
  html +=
      "<p class=\"foot\">Areas after Ferson, Oberkampf and Ginzburg (2008): place of each "
      "measurement in the normal distribution that was predicted for it, coefficients and scatter "
      "counted; p by drawing from a true prediction, corrected for the quantities of a law (Holm). "
      "Edges: every split of every condition, p by permutation of the recordings, for all errors "
      "and conditions of a law together. Laws: log of the predictive density and error relative to "
      "v<sup>+</sup>, paired by recording, Student’s distribution, Holm over the pairs.</p>\n";
  return section;
}

std::vector<std::string> LawOwners() {
  std::vector<std::string> owners;
  owners.reserve(std::size(kRestitutionLaws));
  for (const RestitutionLawInfo& law : kRestitutionLaws) owners.push_back(LawOwner(law.law));
  return owners;
}

std::string RestitutionTitle() {
  return Capitalized(NumberInWords(kRestitutionLaws.size())) + " coefficients of restitution";
}

std::vector<Figure> RestitutionFigures(const ReportContext& context) {
  const RestitutionComparison& c = context.best.scrutiny.restitution;
  std::vector<std::string> others = LawOwners();
  others.pop_back();
  const RestitutionLawInfo& reference = InfoOf(kReferenceLaw);
  Figure figure{.id = "fig-three",
                .title = RestitutionTitle(),
                .caption = fmt::format(
                    "Each point is one impact: what its normal impulse implies of {} coefficient, "
                    "less {} one, at the fitted friction. Slip that ends early in the impulse, or "
                    "turns round, parts them; slip that goes on to the end (right) does not.",
                    ListInWords(others), reference.owner),
                .selectors = {"Difference"},
                .plots = {}};
  for (std::size_t k = 0; k < kComparedLaws; ++k) {
    std::map<std::string, Series> by_case;
    for (const ImpliedCoefficients& one : c.impacts) {
      Series& s = by_case[one.path_case];
      s.x.push_back(one.stop_share);
      s.y.push_back(one.Less(k));
      s.event.push_back(context.Code(one.recording, one.impact));
    }
    Plot plot{.choice = {others[k] + " less " + reference.word},
              .x_label = "share of the normal impulse at which slip first stops (1: never)",
              .y_label = fmt::format("{} − {} of one impact", kRestitutionLaws[k].symbol_plot,
                                     reference.symbol_plot),
              .series = {}};
    for (auto& [path_case, s] : by_case) {
      s.name = "case " + path_case;
      s.colour = CaseColour(path_case);
      plot.series.push_back(std::move(s));
    }
    PreparePlot(plot);
    Series zero{.name = "one number", .mark = Mark::kDash, .colour = kInk};
    zero.x = {plot.x_min, plot.x_max}, zero.y = {0, 0};
    plot.series.push_back(std::move(zero));
    figure.plots.push_back(std::move(plot));
  }
  if (c.impacts.empty()) return {};
  return {figure};
}

Section RestitutionSection(const ReportContext& context) {
  const RestitutionComparison& c = context.best.scrutiny.restitution;
  Section section{.id = "restitution",
                  .title = RestitutionTitle(),
                  .html = {},
                  .figures = RestitutionFigures(context)};
  section.html =
      "<p>" + Sentence(c.text) + "</p>\n" + FiguresHtml(section.figures, context.interactive);
  std::vector<std::string> heads = {"Impacts", "#n", "#recordings"};
  const auto symbol = [](const RestitutionLawInfo& law) {
    return fmt::format("e<sub>{}</sub>", law.subscript);
  };
  for (const RestitutionLawInfo& law : kRestitutionLaws) heads.push_back("#" + symbol(law));
  for (std::size_t k = 0; k < kComparedLaws; ++k) {
    heads.push_back(
        fmt::format("#{} − {}", symbol(kRestitutionLaws[k]), symbol(InfoOf(kReferenceLaw))));
    heads.emplace_back("#p");
  }
  HtmlTable table(ListInWords(LawOwners()) + " coefficient from the same impacts", heads);
  for (const RestitutionRow& row : c.rows) {
    std::vector<std::string> cells = {row.group == "fit"   ? "fitted to all"
                                      : row.group == "all" ? "impact by impact, mean"
                                                           : Escape(row.group),
                                      fmt::format("{}", row.n), fmt::format("{}", row.recordings)};
    for (const double e : row.e) cells.push_back(Fixed(e, 4));
    for (const RestitutionDifference& d : row.less_reference) {
      cells.push_back(ValueSd(d.value, d.sd));
      cells.push_back(PValueText(d.p));
    }
    table.Row(cells, row.group == "fit" ? "first" : "");
  }
  const bool assumed = context.fit && !std::isfinite(context.fit->mu_k.value);
  section.html +=
      table.Html() + fmt::format(
                         "<p class=\"foot\">Impact by impact: the coefficient with which each law "
                         "gives the measured normal impulse at {}μ = {}. Standard deviations of "
                         "differences: over recordings, with the error of μ; of the fits by the "
                         "jackknife over recordings of the pair.</p>\n",
                         assumed ? "an assumed friction, which the fit does not determine, " : "",
                         ValueSd(c.mu, c.sd_mu));
  return section;
}

}  // namespace impactlab::pipelines
