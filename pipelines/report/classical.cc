// Results of the classical estimators for the same impacts.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/statistics/statistics.h"
#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

// larger differences are drawn at this one, so that the scale suits the other estimators
constexpr double kMostZ = 12;
constexpr std::array<const char*, 4> kTitles = {"velocity before", "spin before", "velocity after",
                                                "spin after"};

// Of the impacts that the estimator could do.
template <typename Value>
std::vector<double> Collect(const ComparedEstimator& estimator, const Value& value) {
  std::vector<double> out;
  for (const ComparedImpact& impact : estimator.impacts)
    if (impact.usable) out.push_back(value(impact));
  std::erase_if(out, [](double x) { return !std::isfinite(x); });
  return out;
}

double Rms(const std::vector<double>& values) {
  double squares = 0;
  for (const double x : values) squares += x * x;
  return values.empty() ? std::nan("") : std::sqrt(squares / static_cast<double>(values.size()));
}

double MedianOf(const std::vector<double>& values) {
  return values.empty() ? std::nan("") : Median(values);
}

std::vector<Figure> Figures(const ReportContext& context) {
  const std::vector<ComparedEstimator>& all = context.best.comparison.estimators;
  Figure figure{.id = "fig-classical",
                .title = "Difference from the bundle fit",
                .caption = fmt::format("In units of both standard deviations, root mean square "
                                       "over the components, impact by impact; above 3 the "
                                       "estimator is off by more than it states. Differences "
                                       "beyond {:.0f} are drawn at {:.0f}.",
                                       kMostZ, kMostZ),
                .selectors = {"Of"},
                .plots = {}};
  for (std::size_t k = 0; k < 4; ++k) {
    Plot plot{.choice = {kTitles[k]},
              .x_label = "accepted impact",
              .y_label = "difference / standard deviation [1]",
              .series = {}};
    for (std::size_t m = 1; m < all.size(); ++m) {
      Series s{.name = all[m].method.title, .colour = static_cast<int>(m) - 1};
      for (std::size_t i = 0; i < all[m].impacts.size(); ++i) {
        const ComparedImpact& impact = all[m].impacts[i];
        if (!impact.usable || !std::isfinite(impact.z[k])) continue;
        s.x.push_back(static_cast<double>(i + 1));
        s.y.push_back(std::min(kMostZ, impact.z[k]));
        s.event.push_back(context.Code(impact.recording, impact.impact));
      }
      if (!s.x.empty()) plot.series.push_back(std::move(s));
    }
    plot.y_min = 0;
    PreparePlot(plot);
    if (!plot.series.empty()) figure.plots.push_back(std::move(plot));
  }
  if (figure.empty()) return {};
  return {figure};
}

std::string StatesTable(const Comparison& comparison) {
  std::vector<std::string> headers = {"estimator", "#impacts"};
  for (std::size_t k = 0; k < 4; ++k)
    headers.push_back(fmt::format("#{} [{}]", kTitles[k], k % 2 == 0 ? "mm/s" : "rad/s"));
  headers.emplace_back("#in sd");
  headers.emplace_back("#sd ratio");
  headers.emplace_back("#cost [ms]");
  HtmlTable table(
      "Difference from the bundle fit (of the bundle fit: its standard deviation), root mean "
      "square of one component over the impacts",
      headers);
  const ComparedEstimator& bundle = comparison.estimators.front();
  for (const ComparedEstimator& estimator : comparison.estimators) {
    const bool reference = &estimator == &bundle;
    const auto usable = std::count_if(estimator.impacts.begin(), estimator.impacts.end(),
                                      [](const ComparedImpact& i) { return i.usable; });
    std::vector<std::string> cells = {Escape(estimator.method.title),
                                      fmt::format("{} of {}", usable, estimator.impacts.size())};
    std::vector<double> z, ratios;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::vector<double> size = Collect(estimator, [&](const ComparedImpact& i) {
        return reference ? i.sd[k] : i.difference[k];
      });
      cells.push_back(Num((k % 2 == 0 ? 1e3 : 1) * Rms(size), 2));
      const std::vector<double> of_state =
          Collect(estimator, [&](const ComparedImpact& i) { return i.z[k]; });
      z.insert(z.end(), of_state.begin(), of_state.end());
      for (std::size_t i = 0; i < estimator.impacts.size(); ++i)
        if (estimator.impacts[i].usable && bundle.impacts[i].sd[k] > 0)
          ratios.push_back(estimator.impacts[i].sd[k] / bundle.impacts[i].sd[k]);
    }
    cells.push_back(reference ? "–" : Num(Rms(z), 2));
    cells.push_back(reference ? "1" : Num(MedianOf(ratios), 2));
    cells.push_back(Num(
        1e3 * MedianOf(Collect(estimator, [](const ComparedImpact& i) { return i.seconds; })), 2));
    table.Row(cells);
  }
  return table.Html();
}

std::string CoefficientsHtml(const Comparison& comparison) {
  std::vector<IntervalRow> mu, e;
  HtmlTable table("Coefficients from the states of each estimator",
                  {"estimator", "#impacts", "friction", "restitution"});
  std::string law;
  for (const ComparedEstimator& estimator : comparison.estimators) {
    const ParameterEstimate* const both[] = {Friction(estimator.fit), Restitution(estimator.fit)};
    std::vector<std::string> cells = {Escape(estimator.method.title),
                                      std::to_string(estimator.events)};
    for (const bool restitution : {false, true}) {
      const ParameterEstimate* p = both[restitution ? 1 : 0];
      if (p == nullptr) {
        cells.emplace_back("–");
        continue;
      }
      std::string label = estimator.method.title;
      // room for the name is short
      if (const std::size_t at = label.find("/RTS"); at != label.npos) label.erase(at, 4);
      (restitution ? e : mu).push_back({label, p->value, p->lower95, p->upper95, !p->identifiable});
      cells.push_back(p->identifiable ? ValueSd(p->value, p->sd) + " (95 %: " +
                                            BoundsText(p->lower95, p->upper95, p->sd) + ")"
                                      : Escape(p->reason));
      law = estimator.fit.law;
    }
    table.Row(cells);
  }
  if (mu.empty()) return {};
  const auto reference = [](const std::vector<IntervalRow>& rows) {
    return rows.front().muted ? std::nan("") : rows.front().value;
  };
  return "<h3>Coefficients by each estimator</h3>\n<p>Friction and restitution by " +
         LawPhrase(law) +
         ", identified in the same way from each estimator’s states and stated covariances: what "
         "an evaluation by that estimator alone would have published. Pose, contact and time of "
         "the impact are the bundle fit’s in all of them. Errors that all impacts share (inertia, "
         "gravity) are left out of all intervals here, so that the bundle fit’s may be narrower "
         "than in the result above.</p>\n<div class=\"minis\">" +
         IntervalChart("Friction coefficient μ by estimator, 95 % interval", "", mu, reference(mu),
                       "bundle fit") +
         IntervalChart("Coefficient of restitution e by estimator, 95 % interval", "", e,
                       reference(e), "bundle fit") +
         "</div>\n" + table.Html();
}

}  // namespace

Section ClassicalSection(const ReportContext& context) {
  const Comparison& comparison = context.best.comparison;
  Section section{
      .id = "classical", .title = "Classical estimators", .html = {}, .figures = Figures(context)};
  section.html =
      "<p>Such experiments are usually evaluated by differentiating poses frame by frame. Here "
      "every accepted impact is evaluated so, too, from the same images, with clocks and the time "
      "of the impact given by the bundle fit. Their stated uncertainty is that of pixels and "
      "cameras alone; it does not include the bias of these estimators where the motion is no "
      "polynomial.</p>\n" +
      StatesTable(comparison) +
      "<p>“In sd”: the same differences in units of both standard deviations. Both start from the "
      "same pixels, so that agreement means about 1 or less. “Sd ratio”: median of the estimator’s "
      "stated standard deviation over the bundle fit’s. Cost: of one core for one impact, the "
      "poses included.</p>\n";
  std::map<std::string, int> reasons;
  for (const ComparedEstimator& estimator : comparison.estimators)
    for (const ComparedImpact& impact : estimator.impacts)
      if (!impact.usable) ++reasons[estimator.method.title + ": " + impact.reason];
  if (!reasons.empty()) {
    section.html += "<details><summary>Why an estimator gave nothing</summary><ul>";
    for (const auto& [reason, count] : reasons)
      section.html += "<li>" + Escape(reason) + " (" + Count(count, "impact") + ")</li>";
    section.html += "</ul></details>\n";
  }
  section.html += FiguresHtml(section.figures, context.interactive) + CoefficientsHtml(comparison);
  return section;
}

}  // namespace impactlab::pipelines
