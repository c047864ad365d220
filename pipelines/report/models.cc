// Dependence of the coefficients on speed and groups, and intervals by several methods.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "pipelines/report/parts.h"
#include "pipelines/study/coefficient_html.h"

namespace impactlab::pipelines {
namespace {

// Single impacts in the order of their recordings, and the lines of the models.
Figure OrderFigure(const ReportContext& context) {
  const CoefficientStudy& study = context.best.coefficients;
  Figure figure{.id = "fig-order",
                .title = "Restitution in the order of the recordings",
                .caption =
                    "Dots: restitution of one impact alone with the fitted friction, by the number "
                    "of its recording. Lines: the models that do not change with speed, the chosen "
                    "one solid.",
                .selectors = {},
                .plots = {}};
  const Repeatability& repeats = context.best.repeats;
  const auto order = std::find_if(study.models.begin(), study.models.end(),
                                  [](const auto& score) { return score.fit.model.fit_order; });
  if (repeats.e.empty() || repeats.law != study.law || order == study.models.end() ||
      order->fit.groups.size() > 1)
    return figure;
  Plot plot{.choice = {}, .x_label = "recording", .y_label = "restitution [1]", .series = {}};
  std::map<std::string, int> number;
  for (const ImpactEvent& event : context.best.events)
    if (event.accepted) number.try_emplace(event.recording, static_cast<int>(number.size()) + 1);
  Series dots{.name = "one impact"};
  for (const SingleCoefficient& one : repeats.e) {
    const auto at = number.find(one.recording);
    if (at == number.end()) continue;
    dots.x.push_back(at->second);
    dots.y.push_back(one.value);
    dots.event.push_back(context.Code(one.recording, one.impact));
  }
  plot.series = {dots};
  int colour = 1;
  for (const ModelScore& score : study.models) {
    const CoefficientModel& model = score.fit.model;
    const ParameterEstimate& e = score.fit.parameters[1];
    if (model.fit_exponent || model.exponent != 0 || model.friction != Pooling::kComplete ||
        model.restitution != Pooling::kComplete || !e.identifiable)
      continue;
    const ParameterEstimate* change = score.fit.Find("change_" + e.name);
    const double half = change != nullptr && change->identifiable ? 0.5 * change->value : 0;
    plot.series.push_back({.name = ModelName(model),
                           .mark = score.chosen ? Mark::kLine : Mark::kDash,
                           .colour = colour++,
                           .x = {1.0, static_cast<double>(number.size())},
                           .y = {e.value - half, e.value + half}});
  }
  PreparePlot(plot);
  figure.plots.push_back(std::move(plot));
  return figure;
}

// Single impacts against the normal speed, and the curves of the models.
Figure SpeedFigure(const ReportContext& context) {
  const CoefficientStudy& study = context.best.coefficients;
  Figure figure{.id = "fig-speed",
                .title = "Restitution against speed",
                .caption =
                    "Dots: restitution of one impact alone with the fitted friction, against the "
                    "normal speed of approach. Lines: the models of one group, chosen one solid.",
                .selectors = {},
                .plots = {}};
  const Repeatability& repeats = context.best.repeats;
  if (repeats.e.empty() || repeats.law != study.law) return figure;
  Plot plot{.choice = {},
            .x_label = "approach speed |v_n−| [m/s]",
            .y_label = "restitution [1]",
            .series = {}};
  Series dots{.name = "one impact"};
  for (const SingleCoefficient& one : repeats.e) {
    for (const ImpactEvent& event : context.best.events) {
      if (event.recording != one.recording || event.impact != one.impact) continue;
      dots.x.push_back(-event.contact.v_minus_F.z());
      dots.y.push_back(one.value);
      dots.event.push_back(context.Code(one.recording, one.impact));
    }
  }
  plot.series = {dots};
  int colour = 1;
  for (const ModelScore& score : study.models) {
    const CoefficientFit& fit = score.fit;
    const CoefficientModel& model = fit.model;
    if (model.friction != Pooling::kComplete || model.restitution != Pooling::kComplete ||
        model.fit_order || !fit.parameters[1].identifiable)
      continue;
    const double m = model.fit_exponent ? fit.Find("exponent")->value : model.exponent,
                 e_0 = fit.parameters[1].value;
    if (!std::isfinite(m)) continue;
    Series line{.name = ModelName(model),
                .mark = score.chosen ? Mark::kLine : Mark::kDash,
                .colour = colour++};
    constexpr int kPoints = 60;
    for (int i = 0; i <= kPoints; ++i) {
      const double v = fit.slowest + (fit.fastest - fit.slowest) * i / kPoints;
      line.x.push_back(v);
      line.y.push_back(std::clamp(1 - (1 - e_0) * std::pow(v / fit.reference_speed, m), 0.0, 1.0));
    }
    plot.series.push_back(std::move(line));
  }
  PreparePlot(plot);
  figure.plots.push_back(std::move(plot));
  return figure;
}

}  // namespace

Section ModelSection(const ReportContext& context) {
  const CoefficientStudy& study = context.best.coefficients;
  Section section{
      .id = "models", .title = "What the coefficients depend on", .html = {}, .figures = {}};
  const ModelScore* best = study.chosen();
  if (best == nullptr) return section;
  const CoefficientFit& fit = best->fit;
  section.html = fmt::format(
      "<p>Models of friction and restitution under {}, fitted to {} of {}. Chosen is the simplest "
      "that predicts recordings left out ({} folds) no worse than the best within its standard "
      "error: <b>{}</b>, {}. Speeds of approach run from {} to {} m/s; restitution is stated at "
      "their geometric mean, {} m/s.</p>\n",
      LawPhrase(study.law), Count(fit.n_events, "impact"), Count(fit.n_recordings, "recording"),
      best->folds, Escape(ModelName(fit.model)), Escape(WithSign(best->verdict)),
      Num(fit.slowest, 2), Num(fit.fastest, 2), Num(fit.reference_speed, 3));
  Figure figure = SpeedFigure(context);
  if (!figure.empty()) section.figures.push_back(std::move(figure));
  Figure order = OrderFigure(context);
  if (!order.empty()) section.figures.push_back(std::move(order));
  section.html += FiguresHtml(section.figures, context.interactive);
  section.html += CoefficientHtml(study);
  return section;
}

}  // namespace impactlab::pipelines
