// What the cameras saw: how well the bundle fits explain the images, and where the uncertainty
// comes from.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "data/statistics/statistics.h"
#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

// Residuals of all used images, by camera: across x and y in the picture, against the time from the
// impact.
std::vector<Figure> PixelFigures(const ReportContext& context) {
  const MarkerRecordings& markers = *context.run.markers();
  constexpr std::size_t kMost = 4000;  // points a camera; more add size but nothing visible
  struct Cloud {
    std::vector<double> t, x, y;
  };
  std::map<std::string, Cloud> clouds;
  for (std::size_t i = 0; i < context.best.drops.size(); ++i)
    for (const ImpactBundle& drop : context.best.drops[i])
      for (const DropResidual& r : drop.residuals) {
        if (!r.used) continue;
        const TrackPoint& point =
            markers.recordings[i].tracks.points[static_cast<std::size_t>(r.point)];
        Cloud& cloud =
            clouds[markers.recordings[i].tracks.cameras[static_cast<std::size_t>(point.camera)]];
        cloud.t.push_back(1e3 * (point.t - drop.event.t));
        cloud.x.push_back(r.r.x());
        cloud.y.push_back(r.r.y());
      }
  Figure figure{.id = "fig-pixels",
                .title = "Image residuals of the fits",
                .caption =
                    "Image by the fit less image found, of every marker in every frame, against "
                    "the time from the impact. A trend on either side, or a step at zero, is "
                    "motion that no free flight makes.",
                .selectors = {"Along"},
                .plots = {}};
  for (const bool along_y : {false, true}) {
    Plot plot{.choice = {along_y ? "y of the picture" : "x of the picture"},
              .x_label = "time from the impact [ms]",
              .y_label = "residual [px]",
              .series = {}};
    int colour = 0;
    for (const auto& [camera, cloud] : clouds) {
      Series s{.name = camera, .colour = colour++};
      const std::size_t step = (cloud.t.size() + kMost - 1) / kMost;
      for (std::size_t k = 0; k < cloud.t.size(); k += std::max<std::size_t>(1, step)) {
        s.x.push_back(cloud.t[k]);
        s.y.push_back(along_y ? cloud.y[k] : cloud.x[k]);
      }
      plot.series.push_back(std::move(s));
    }
    PreparePlot(plot);
    figure.plots.push_back(std::move(plot));
  }
  if (clouds.empty()) return {};
  return {figure};
}

std::string StateTitle(const std::string& quantity) {
  if (quantity == "position") return "position at the impact";
  return (quantity.starts_with("v_") ? std::string("velocity ") : std::string("spin ")) +
         (quantity.ends_with("minus") ? "before" : "after");
}

std::string BudgetHtml(const ErrorBudget& budget) {
  if (budget.empty()) return "";
  std::vector<std::string> headers = {"quantity"};
  for (const BudgetSource& source : budget.sources) headers.push_back("#" + source.name);
  headers.emplace_back("#total");
  HtmlTable table(
      "Standard deviation by source. Sources that all impacts share do not average out.", headers);
  for (const BudgetRow& row : budget.rows) {
    const bool metric = row.unit == "m" || row.unit == "m_per_s";
    const double scale = metric ? 1e3 : 1;
    const std::string unit = row.unit == "m"           ? ", mm"
                             : row.unit == "m_per_s"   ? ", mm/s"
                             : row.unit == "rad_per_s" ? ", rad/s"
                                                       : "";
    std::vector<std::string> cells = {row.law.empty() ? Escape(StateTitle(row.quantity) + unit)
                                                      : SymbolHtml(row.quantity) + " (" +
                                                            Escape(LawTitle(row.law)) + ")"};
    for (const double sd : row.sd) cells.push_back(Num(scale * sd, 2));
    cells.push_back(Num(scale * row.total, 2));
    table.Row(cells);
  }
  std::string out = "<h3>Error budget</h3>\n" + table.Html() + "<ul>";
  for (const BudgetSource& source : budget.sources)
    out += fmt::format("<li><b>{}</b>{}: {}</li>", Escape(source.name),
                       source.common ? " (shared by all impacts)" : "", Escape(source.how));
  for (const std::string& note : budget.notes) out += "<li>" + Escape(note) + "</li>";
  return out +
         "</ul>\n<p>States are root mean squares over the accepted impacts, of one "
         "component.</p>\n";
}

}  // namespace

Section PixelSection(const ReportContext& context) {
  Section section{
      .id = "pixels", .title = "From the pixels", .html = {}, .figures = PixelFigures(context)};
  const MarkerRecordings& markers = *context.run.markers();
  struct Sum {
    long long points = 0, outliers = 0;
    double squares = 0;
    std::vector<double> offset, sd_offset;
  };
  std::map<std::string, Sum> sums;
  std::vector<double> scales;
  int fits = 0, unseen = 0;
  for (std::size_t i = 0; i < context.best.drops.size(); ++i)
    for (const ImpactBundle& drop : context.best.drops[i]) {
      if (!drop.usable) continue;
      ++fits;
      unseen += !drop.observable;
      scales.push_back(drop.noise_scale);
      for (std::size_t c = 0; c < drop.offset.size(); ++c) {
        Sum& sum = sums[markers.recordings[i].tracks.cameras[c]];
        sum.offset.push_back(drop.offset[c]);
        sum.sd_offset.push_back(drop.sd_offset[c]);
      }
      for (const DropResidual& r : drop.residuals) {
        const TrackPoint& point =
            markers.recordings[i].tracks.points[static_cast<std::size_t>(r.point)];
        Sum& sum =
            sums[markers.recordings[i].tracks.cameras[static_cast<std::size_t>(point.camera)]];
        sum.points += r.used;
        sum.outliers += !r.used;
        if (r.used) sum.squares += r.r.squaredNorm();
      }
    }
  section.html = fmt::format(
      "<p>Every impact is one fit to the images themselves: two free flights that meet in one pose "
      "at one instant, {} in all.{}</p>\n",
      Count(fits, "fit"),
      unseen == 0 ? ""
                  : " The markers lie on a line: the spin about it is not seen by any camera; it "
                    "is given by a prior.");
  if (!scales.empty())
    section.html += fmt::format(
        "<p>Residuals are {} times the noise of the pixels (median over the fits).</p>\n",
        Num(Median(scales), 2));
  HtmlTable table("Images by camera", {"camera", "#images", "#left out", "#rms [px]",
                                       "#clock late by [ms]", "#± [ms]"});
  for (auto& [camera, sum] : sums) {
    const bool fitted =
        std::any_of(sum.sd_offset.begin(), sum.sd_offset.end(), [](double sd) { return sd > 0; });
    table.Row({Escape(camera), std::to_string(sum.points), std::to_string(sum.outliers),
               sum.points > 0
                   ? Num(std::sqrt(sum.squares / (2.0 * static_cast<double>(sum.points))), 2)
                   : "–",
               fitted ? Fixed(1e3 * Median(sum.offset), 3) : "–",
               fitted ? Fixed(1e3 * Median(sum.sd_offset), 3) : "–"});
  }
  section.html += table.Html();
  std::string links;
  if (markers.calibrated)
    links += " <a href=\"calibration/calibration.html\">Certificate of the cameras</a>.";
  if (!markers.frames.empty())
    links += " <a href=\"tracking/tracking.html\">How the markers were followed</a>.";
  if (!links.empty()) section.html += "<p>" + links + "</p>\n";
  section.html +=
      FiguresHtml(section.figures, context.interactive) + BudgetHtml(context.best.budget);
  return section;
}

}  // namespace impactlab::pipelines
