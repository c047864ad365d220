// What was measured, free of any law: ratio of normal velocities and of impulses against approach
// speed and lean.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

constexpr double kMeasuredDegrees = 180 / std::numbers::pi;

// Line of the fitted coefficient with its 95 % interval across the whole plot.
void AddFitLines(Plot& plot, const std::string& name, const ParameterEstimate& p) {
  const auto line = [&](double y, const std::string& legend, Mark mark) {
    if (!std::isfinite(y)) return;
    Series s{.name = legend, .mark = mark, .colour = kInk};
    s.x = {plot.x_min, plot.x_max}, s.y = {y, y};
    plot.series.push_back(std::move(s));
  };
  line(p.value, name, Mark::kLine);
  line(p.lower95, "its 95 % interval", Mark::kDash);
  line(p.upper95, "", Mark::kDash);
}

// Range of most of the points: ratios of small numbers can be arbitrarily large.
void LimitRange(Plot& plot, double lower_limit, double upper_limit) {
  std::vector<double> y;
  for (const Series& s : plot.series) y.insert(y.end(), s.y.begin(), s.y.end());
  std::erase_if(y, [](double v) { return !std::isfinite(v); });
  if (y.empty()) return;
  std::sort(y.begin(), y.end());
  plot.y_min = y.front() >= 0 ? 0 : std::max(lower_limit, y.front() - 0.03);
  plot.y_max = std::min(upper_limit, 1.08 * std::max(y.back(), 0.1));
}

}  // namespace

std::vector<Figure> MeasuredFigures(const ReportContext& context) {
  struct Point {
    MeasuredImpact m;
    int code;
    std::string path_case;
  };
  std::vector<Point> points;
  for (const ImpactEvent& event : context.best.events) {
    if (!event.accepted) continue;
    const auto it = context.path_case.find({event.recording, event.impact});
    points.push_back({MeasureImpact(event), context.Code(event.recording, event.impact),
                      it == context.path_case.end() ? "" : it->second});
  }
  std::vector<Figure> figures;
  if (points.empty()) return figures;
  const bool planar = context.run.experiment.body.planar;
  const auto make = [&](const std::string& id, const std::string& title, bool restitution,
                        const std::string& caption) {
    Figure figure{
        .id = id, .title = title, .caption = caption, .selectors = {"Against"}, .plots = {}};
    for (const bool lean : {false, true}) {
      std::map<std::string, Series> by_case;
      for (const Point& p : points) {
        Series& s = by_case[p.path_case];
        s.x.push_back(lean ? p.m.lean * kMeasuredDegrees : p.m.speed);
        s.y.push_back(restitution ? p.m.e : p.m.ratio);
        s.sd_y.push_back(restitution ? p.m.sd_e : p.m.sd_ratio);
        s.event.push_back(p.code);
      }
      Plot plot{.choice = {lean ? "lean" : "approach speed"},
                .x_label = lean ? (planar ? "lean of the centre of mass over the contact [°]"
                                          : "angle between lever and normal [°]")
                                : "approach speed of the contact point [m/s]",
                .y_label = restitution ? "measured −vₙ⁺ / vₙ⁻" : "measured |Jₜ| / Jₙ",
                .series = {}};
      for (auto& [path_case, s] : by_case) {
        s.name = path_case.empty() ? "impacts" : "case " + path_case;
        s.colour = path_case.empty() ? 0 : CaseColour(path_case);
        plot.series.push_back(std::move(s));
      }
      LimitRange(plot, -0.5, restitution ? 1.6 : 2);
      PreparePlot(plot);
      if (context.fit) {
        const ParameterEstimate* mu = Friction(*context.fit);
        if (!restitution && mu) AddFitLines(plot, "fitted μ", *mu);
        // Newton's coefficient is this very ratio; the other laws' coefficients are not.
        for (const LawFit& fit : context.best.fit.fits)
          if (restitution && fit.law == LawName(RestitutionLaw::kNewton) && Restitution(fit))
            AddFitLines(plot, "fitted e (Newton)", *Restitution(fit));
      }
      figure.plots.push_back(std::move(plot));
    }
    figures.push_back(std::move(figure));
  };
  make("fig-e", "Normal velocity ratio", true,
       "Velocity of the contact point along the normal, after over before, with one standard "
       "deviation.");
  make("fig-ratio", "Impulse ratio", false,
       "Impulses that slide throughout lie on the line at μ; those that stick or reverse lie below "
       "it. The mass cancels from the ratio.");
  return figures;
}

Section MeasuredSection(const ReportContext& context) {
  Section section{.id = "measured",
                  .title = "Measured ratios",
                  .html = {},
                  .figures = MeasuredFigures(context)};
  if (section.figures.empty()) {
    section.html = "<p>There are no accepted impacts to show.</p>\n";
    return section;
  }
  section.html =
      std::string("<p>Both ratios come from the measured motion alone.") +
      (context.fit ? " Colours show the case that the fitted law assigns to each impact." : "") +
      "</p>\n" + FiguresHtml(section.figures, context.interactive);
  return section;
}

}  // namespace impactlab::pipelines
