// The fits: table of coefficients, confidence region, influence of single events.
#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

// quantiles of chi-square with 2 degrees of freedom
constexpr double kDeviance50 = 1.3863, kDeviance95 = 5.9915;

std::string ParameterTable(const ReportContext& context) {
  HtmlTable table("Coefficients of every law",
                  {"Law", "Coefficient", "#Value", "#sd, total", "#sd, noise only",
                   "#95 % interval", "#sd, bootstrap", "Remark"});
  for (const LawFit* one : FitsInOrder(context)) {
    const LawFit& fit = *one;
    const auto parameters = ListParameters(fit);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const ParameterEstimate& p = parameters[i];
      const int decimals = DecimalsFor(p.sd);
      const double bootstrap = i < fit.sd_bootstrap.size()
                                   ? fit.sd_bootstrap[i]
                                   : std::numeric_limits<double>::quiet_NaN();
      table.Row({LawTitle(fit.law), SymbolHtml(p.name), Fixed(p.value, decimals),
                 Fixed(p.sd, decimals), Num(p.sd_noise_only, 2),
                 BoundsText(p.lower95, p.upper95, p.sd, 0), Fixed(bootstrap, decimals),
                 p.identifiable ? Escape(p.reason)
                                : "not identifiable" +
                                      (p.reason.empty() ? std::string() : ": " + Escape(p.reason))},
                &fit == context.fit ? "first" : "");
    }
  }
  return table.Html();
}

// Scatter of the couple, apart about the normal where it is told.
std::string Couple(const Discrepancy& scatter) {
  std::string text = Percent(scatter.sd_couple);
  if (!scatter.sd_couple_normal) return text;
  return fmt::format("{} (normal {})", text, Percent(*scatter.sd_couple_normal));
}

std::string FittedLawTable(const ReportContext& context) {
  double best = -std::numeric_limits<double>::infinity();
  for (const LawFit& fit : context.best.fit.fits)
    if (std::isfinite(fit.loglik)) best = std::max(best, fit.loglik);
  HtmlTable table("Scatter that measurement noise does not explain, and likelihood",
                  {"Law", "#sd tangential", "#sd normal", "#sd couple", "Likelihood", "#log L",
                   "#below best", "#Degrees of freedom", "#Starts agreeing"});
  for (const LawFit* one : FitsInOrder(context)) {
    const LawFit& fit = *one;
    table.Row({LawTitle(fit.law), Percent(fit.discrepancy.sd_tangential),
               Percent(fit.discrepancy.sd_normal), Couple(fit.discrepancy),
               Escape(fit.likelihood == "student_t"  ? "Student\u2011t"
                      : fit.likelihood == "gaussian" ? "normal"
                                                     : fit.likelihood),
               Fixed(fit.loglik, 1), Fixed(best - fit.loglik, 1), fmt::format("{}", fit.dof),
               fmt::format("{} of {}", fit.n_starts_agreeing, fit.n_starts)},
              one == context.fit ? "first" : "");
  }
  return table.Html();
}

// Ellipse of the normal approximation, where no profile was computed.
Series Ellipse(const LawFit& fit, double deviance, std::string name, int colour) {
  Series s{.name = std::move(name), .mark = Mark::kLine, .colour = colour};
  if (fit.covariance.rows() < 2) return s;
  const Eigen::Matrix2d cov = fit.covariance.topLeftCorner<2, 2>();
  if (!cov.allFinite()) return s;
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> eigen(cov);
  for (int k = 0; k <= 96; ++k) {
    const double a = 2 * std::numbers::pi * k / 96;
    const Eigen::Vector2d axes = (deviance * eigen.eigenvalues().cwiseMax(0)).cwiseSqrt();
    const Eigen::Vector2d d =
        eigen.eigenvectors() * axes.cwiseProduct(Eigen::Vector2d(std::cos(a), std::sin(a)));
    s.x.push_back(fit.mu_k.value + d.x());
    s.y.push_back(fit.e.value + d.y());
  }
  return s;
}

Figure RegionFigure(const ReportContext& context) {
  Figure figure{.id = "fig-region",
                .title = "Confidence region of the coefficients",
                .caption = {},
                .selectors = {"Law"},
                .plots = {}};
  bool profile = false, ellipse = false;
  for (const LawFit* one : FitsInOrder(context)) {
    const LawFit& fit = *one;
    const ParameterEstimate *mu = Friction(fit), *e = Restitution(fit);
    if (!mu || !e) continue;
    Plot plot{.choice = {LawTitle(fit.law)},
              .x_label = "friction coefficient μ",
              .y_label = "coefficient of restitution e",
              .series = {}};
    const bool has_grid = fit.grid_deviance.size() > 0;
    (has_grid ? profile : ellipse) = true;
    plot.series.push_back(
        has_grid ? Contour(fit.grid_mu, fit.grid_e, fit.grid_deviance, kDeviance95, "95 %", 0)
                 : Ellipse(fit, kDeviance95, "95 %", 0));
    plot.series.push_back(
        has_grid ? Contour(fit.grid_mu, fit.grid_e, fit.grid_deviance, kDeviance50, "50 %", 5)
                 : Ellipse(fit, kDeviance50, "50 %", 5));
    const bool boot = fit.sd_bootstrap.size() >= 2;
    Series estimate{
        .name = boot ? "estimate, bootstrap sd" : "estimate, sd", .mark = Mark::kDot, .colour = 1};
    estimate.x = {mu->value}, estimate.y = {e->value};
    estimate.sd_x = {boot ? fit.sd_bootstrap[0] : mu->sd},
    estimate.sd_y = {boot ? fit.sd_bootstrap[1] : e->sd};
    plot.series.push_back(std::move(estimate));
    const bool anything = std::isfinite(mu->value) || !plot.series[0].x.empty();
    if (!anything) continue;
    PreparePlot(plot);
    plot.x_min = std::max(plot.x_min, mu->value >= 0 ? 0.0 : plot.x_min);
    figure.plots.push_back(std::move(plot));
  }
  figure.caption =
      profile ? "Joint region from the profile of the likelihood, with the scatter parameters "
                "fitted anew at every point."
              : "Joint region of the normal approximation (no likelihood profile was asked for).";
  if (profile && ellipse)
    figure.caption += " Laws without a profile show the ellipse of the normal approximation.";
  figure.caption += " The cross is one standard deviation of each coefficient.";
  return figure;
}

Figure InfluenceFigure(const ReportContext& context) {
  Figure figure{.id = "fig-influence",
                .title = "Influence of single impacts",
                .caption = {},
                .selectors = {"Law"},
                .plots = {}};
  for (const LawFit* one : FitsInOrder(context)) {
    const LawFit& fit = *one;
    Plot plot{.choice = {LawTitle(fit.law)},
              .x_label = "shift of μ without the impact [sd]",
              .y_label = "shift of e without the impact [sd]",
              .series = {}};
    Series normal{.name = "full weight", .mark = Mark::kDot, .colour = 0},
        wild{.name = "weight below one half", .mark = Mark::kRing, .colour = 1};
    for (const EventInfluence& influence : fit.influence) {
      if (influence.shift.size() < 2) continue;
      Series& s = influence.weight < 0.5 ? wild : normal;
      s.x.push_back(influence.shift[0]);
      s.y.push_back(influence.shift[1]);
      s.event.push_back(context.Code(influence.recording, influence.impact));
    }
    if (normal.x.empty() && wild.x.empty()) continue;
    for (Series* s : {&normal, &wild})
      if (!s->x.empty()) plot.series.push_back(std::move(*s));
    PreparePlot(plot);
    figure.plots.push_back(std::move(plot));
  }
  figure.caption =
      "Change of each coefficient when one impact is left out, in its own standard deviation. An "
      "impact beyond ±1 dominates the result.";
  return figure;
}

std::string InfluenceTable(const ReportContext& context) {
  if (!context.fit || context.fit->influence.empty() || !context.fit->fitted()) return {};
  std::vector<const EventInfluence*> sorted;
  for (const EventInfluence& influence : context.fit->influence)
    if (influence.shift.size() >= 2) sorted.push_back(&influence);
  const auto size = [](const EventInfluence* i) {
    const double a = std::hypot(i->shift[0], i->shift[1]);
    return std::isfinite(a) ? a : 0;
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto* a, const auto* b) { return size(a) > size(b); });
  HtmlTable table(
      "Impacts with the greatest influence on the fit of " + LawPhrase(context.fit->law),
      {"Recording", "#Impact", "#Shift of " + SymbolHtml(context.fit->mu_k.name) + " [sd]",
       "#Shift of " + SymbolHtml(context.fit->e.name) + " [sd]", "#Weight"});
  for (std::size_t i = 0; i < std::min<std::size_t>(8, sorted.size()); ++i)
    table.Row({Escape(sorted[i]->recording), fmt::format("{}", sorted[i]->impact),
               Fixed(sorted[i]->shift[0], 2), Fixed(sorted[i]->shift[1], 2),
               Fixed(sorted[i]->weight, 2)});
  return "<details><summary>Most influential impacts</summary>" + table.Html() + "</details>\n";
}

}  // namespace

std::vector<Figure> FitFigures(const ReportContext& context) {
  std::vector<Figure> figures;
  for (Figure figure : {RegionFigure(context), InfluenceFigure(context)})
    if (!figure.empty()) figures.push_back(std::move(figure));
  return figures;
}

Section FitSection(const ReportContext& context) {
  Section section{.id = "fit", .title = "Coefficients", .html = {}, .figures = FitFigures(context)};
  if (context.best.fit.fits.empty() || context.n_accepted == 0) {
    section.html = "<p>No law was fitted: there are no accepted impacts to fit it to.</p>\n";
    return section;
  }
  if (context.best.fit.verdict.withheld) {
    section.html =
        "<p>No coefficient is given, since these data <a href=\"#audit\">contradict what was "
        "declared</a>.</p>\n";
    return section;
  }
  section.html = fmt::format(
      "<p>Friction and restitution were identified together from {}, each weighted by its measured "
      "covariance. The total standard deviation includes the scatter between impacts; \u201Cnoise "
      "only\u201D is what measurement noise alone would give. Bold: the law reported first.</p>\n",
      Count(context.best.fit.n_events > 0 ? context.best.fit.n_events : context.n_accepted,
            "accepted impact"));
  section.html += ParameterTable(context) + FittedLawTable(context);
  section.html +=
      "<p class=\"foot\">Scatter is relative to the effective normal momentum of an impact; the "
      "couple also to the radius of gyration. Starts agreeing: runs of the optimiser from "
      "different first guesses that ended in the same optimum.</p>\n" +
      FiguresHtml(section.figures, context.interactive) + InfluenceTable(context);
  return section;
}

}  // namespace impactlab::pipelines
