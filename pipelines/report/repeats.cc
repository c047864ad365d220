// Repeated drops: do they scatter more than the measurement explains?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

std::string RepeatQuantityName(const std::string& quantity) {
  if (quantity == "v_minus") return "velocity before";
  if (quantity == "omega_minus") return "spin before";
  if (quantity == "lever") return "lever of the contact";
  if (quantity == "residual_v") return "velocity after, less the law’s";
  if (quantity == "residual_omega") return "spin after, less the law’s";
  return quantity == "mu_k" ? "friction, impact by impact" : "restitution, impact by impact";
}

// Lengths and velocities in mm.
std::string Scaled(const RepeatRow& row, double value) {
  return Num((row.unit == "m" || row.unit == "m_per_s" ? 1e3 : 1) * value, 2);
}
std::string RepeatUnitOf(const RepeatRow& row) {
  return row.unit == "m"           ? " [mm]"
         : row.unit == "m_per_s"   ? " [mm/s]"
         : row.unit == "rad_per_s" ? " [rad/s]"
                                   : "";
}

std::string RepeatVerdictHtml(const RepeatRow& row) {
  switch (row.verdict) {
    case RepeatVerdict::kWithin:
      return "<span class=\"ok\">no scatter beyond the measurement</span>";
    case RepeatVerdict::kBeyond:
      return fmt::format(
          "<span class=\"notok\">scatters {} times what the measurement explains</span>",
          Num(row.ratio, 2));
    case RepeatVerdict::kBelow:
      return fmt::format(
          "<span class=\"notok\">scatters {} times what is stated: the uncertainty is too "
          "large</span>",
          Num(row.ratio, 2));
    case RepeatVerdict::kUndetermined:
      break;
  }
  return row.n < 3 ? "cannot be determined from " + Count(row.n, "repeat")
                   : "cannot be determined: no uncertainty is stated";
}

// The scatter in units of what is stated, against the number of repeats.
Figure RatioFigure(const std::vector<RepeatRow>& rows) {
  Figure figure{.id = "fig-repeats",
                .title = "Scatter by number of repeats",
                .caption =
                    "Scatter of the first 5, 10, 20 ... repeats in units of what the measurement "
                    "explains. Between the dashed lines: 99 % of what noise alone would do.",
                .selectors = {"Quantity"},
                .plots = {}};
  std::vector<std::pair<std::string, std::string>> seen;
  for (const RepeatRow& first : rows) {
    const std::pair key(first.group, first.quantity);
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
    seen.push_back(key);
    Plot plot{.choice = {RepeatQuantityName(first.quantity) + " (" + first.group + ")"},
              .x_label = "repeats",
              .y_label = "scatter / stated [1]",
              .series = {}};
    Series line{.name = "between repeats", .mark = Mark::kLine},
        dots{.name = "", .mark = Mark::kDot};
    Series lower{.name = "noise alone, 99 %", .mark = Mark::kDash, .colour = 7},
        upper{.name = "", .mark = Mark::kDash, .colour = 7};
    for (const RepeatRow& row : rows) {
      if (row.group != first.group || row.quantity != first.quantity ||
          row.verdict == RepeatVerdict::kUndetermined)
        continue;
      for (Series* s : {&line, &dots, &lower, &upper}) s->x.push_back(row.n);
      line.y.push_back(row.ratio);
      dots.y.push_back(row.ratio);
      lower.y.push_back(std::sqrt(row.lower99));
      upper.y.push_back(std::sqrt(row.upper99));
    }
    if (dots.x.empty()) continue;
    plot.y_min = 0;
    plot.series = {line, dots, lower, upper};
    PreparePlot(plot);
    figure.plots.push_back(std::move(plot));
  }
  return figure;
}

// Coefficients impact by impact, with the standard deviation of the measurement.
Figure CoefficientFigure(const ReportContext& context) {
  const Repeatability& repeats = context.best.repeats;
  Figure figure{.id = "fig-single",
                .title = "Coefficients impact by impact",
                .caption = "Each from one impact alone by " + LawPhrase(repeats.law) +
                           ", with one standard deviation of the measurement: restitution with the "
                           "fitted friction, friction where the contact slid all through.",
                .selectors = {"Coefficient"},
                .plots = {}};
  for (const bool friction : {false, true}) {
    const std::vector<SingleCoefficient>& all = friction ? repeats.mu : repeats.e;
    if (all.empty()) continue;
    Plot plot{.choice = {friction ? "friction" : "restitution"},
              .x_label = "impact",
              .y_label = friction ? "μ of one impact" : "e of one impact",
              .series = {}};
    Series dots{.name = "one impact"};
    for (std::size_t i = 0; i < all.size(); ++i) {
      dots.x.push_back(static_cast<double>(i + 1));
      dots.y.push_back(all[i].value);
      dots.sd_y.push_back(all[i].sd);
      dots.event.push_back(context.Code(all[i].recording, all[i].impact));
    }
    plot.series = {dots};
    PreparePlot(plot);
    for (const LawFit& fit : context.best.fit.fits) {
      const ParameterEstimate* p = friction ? Friction(fit) : Restitution(fit);
      if (fit.law != repeats.law || p == nullptr || !std::isfinite(p->value)) continue;
      Series line{.name = "fitted to all", .mark = Mark::kLine, .colour = kInk};
      line.x = {plot.x_min, plot.x_max}, line.y = {p->value, p->value};
      plot.series.push_back(std::move(line));
    }
    figure.plots.push_back(std::move(plot));
  }
  return figure;
}

std::string RepeatGroupsHtml(const ReportContext& context) {
  const Repeatability& repeats = context.best.repeats;
  const RepeatOptions& o = context.run.experiment.repeats;
  std::string out;
  if (repeats.found)
    out = fmt::format(
        "<p>Repeats of one condition are first impacts whose states before the impact agree: every "
        "component of the velocity within {} m/s and of the spin within {} rad/s of one drop’s, "
        "the lever of the contact turned by no more than {} rad. Groups can be named in the "
        "experiment file (<code>repeats</code>).</p>\n",
        Num(o.velocity, 2), Num(o.spin, 2), Num(o.angle, 2));
  const bool enough = std::any_of(repeats.groups.begin(), repeats.groups.end(),
                                  [](const auto& g) { return g.recordings.size() >= 3; });
  if (!enough)
    out +=
        "<p>No condition was repeated three times: whether the release repeats cannot be "
        "determined. What the law leaves and the coefficients of single impacts do not need one "
        "condition.</p>\n";
  if (repeats.groups.empty() && repeats.notes.empty()) return out;
  out += "<ul>";
  constexpr std::size_t kMost = 12;
  for (const Repeatability::Group& group : repeats.groups) {
    std::string names;
    for (std::size_t i = 0; i < std::min(kMost, group.recordings.size()); ++i)
      names += (i == 0 ? "" : ", ") + group.recordings[i];
    if (group.recordings.size() > kMost)
      names += fmt::format(" and {} more", group.recordings.size() - kMost);
    out += fmt::format("<li><b>{}</b>: {}{}</li>", Escape(group.name),
                       Count(static_cast<long long>(group.recordings.size()), "drop"),
                       names.empty() ? "" : " (" + Escape(names) + ")");
  }
  for (const std::string& note : repeats.notes) out += "<li>" + Escape(note) + "</li>";
  return out + "</ul>\n";
}

}  // namespace

Section RepeatSection(const ReportContext& context) {
  const Repeatability& repeats = context.best.repeats;
  Section section{.id = "repeats", .title = "Repeated drops", .html = {}, .figures = {}};
  for (Figure& figure : std::vector<Figure>{RatioFigure(repeats.rows), CoefficientFigure(context)})
    if (!figure.empty()) section.figures.push_back(std::move(figure));
  section.html =
      "<p>If drops are repeated, do they differ by more than the stated uncertainty of one drop "
      "explains? Before the impact that is how well the release repeats; after it, less what the "
      "law predicts from each drop’s own state before, it is the surface.</p>\n" +
      RepeatGroupsHtml(context);
  HtmlTable table(
      "Scatter between repeats and the standard deviation stated for one drop, of one component",
      {"group", "quantity", "#repeats", "#between repeats (95 %)", "#stated", "#ratio",
       "#noise alone, 99 %", "verdict"});
  for (std::size_t i = 0; i < repeats.rows.size(); ++i) {
    const RepeatRow& row = repeats.rows[i];
    // The whole group; its first 5, 10, 20 are in the figure and in repeatability.csv.
    const bool last = i + 1 == repeats.rows.size() || repeats.rows[i + 1].group != row.group ||
                      repeats.rows[i + 1].quantity != row.quantity;
    if (!last) continue;
    const bool judged = row.verdict != RepeatVerdict::kUndetermined;
    table.Row(
        {Escape(row.group), Escape(RepeatQuantityName(row.quantity)) + RepeatUnitOf(row),
         std::to_string(row.n),
         std::isfinite(row.sd_between)
             ? Scaled(row, row.sd_between) + " (" + Scaled(row, row.between_lower95) + " to " +
                   Scaled(row, row.between_upper95) + ")"
             : "–",
         Scaled(row, row.sd_within), judged ? Num(row.ratio, 2) : "–",
         judged ? Num(std::sqrt(row.lower99), 2) + " to " + Num(std::sqrt(row.upper99), 2) : "–",
         RepeatVerdictHtml(row)},
        judged ? "" : "muted");
  }
  section.html += table.Html(table.rows() > 20);
  section.html +=
      "<p>Stated is what differs from drop to drop: pixels and clocks, not the cameras and the "
      "layout, which all drops share. Ratios weight every drop with its own covariance, so that "
      "they are not the quotient of the two columns before.</p>\n" +
      FiguresHtml(section.figures, context.interactive);
  return section;
}

}  // namespace impactlab::pipelines
