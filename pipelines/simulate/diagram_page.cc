// Pictures of diagrams and the page that holds them.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "pipelines/page/html.h"
#include "pipelines/page/map_drawing.h"
#include "pipelines/page/markup.h"
#include "pipelines/page/page.h"
#include "pipelines/simulate/diagram.h"

namespace impactlab {
namespace {

using pipelines::Drawing;
using pipelines::Escape;
using pipelines::kHeight;
using pipelines::kPlotHeight;
using pipelines::kTop;
using pipelines::LegendEntry;
using pipelines::Rgb8;

void DrawLines(const Diagram& diagram, Drawing& drawing) {
  for (const auto& [at, label] : diagram.lines) {
    drawing.Add(
        fmt::format("<path d=\"M{:.1f} {}v{}\" stroke=\"#1b2127\" stroke-width=\"1.2\" "
                    "stroke-dasharray=\"5 4\"/>",
                    drawing.X(at), kTop, kPlotHeight));
    drawing.Label(drawing.X(at), kTop + 10, label);
  }
}

// Half a step beyond both ends, so that outer cells are whole.
std::pair<double, double> Ends(const DiagramAxis& axis) {
  const double half = 0.5 * (axis.values.back() - axis.values.front()) /
                      static_cast<double>(axis.values.size() - 1);
  return {axis.values.front() - half, axis.values.back() + half};
}

std::string DrawPoints(const Diagram& diagram, const std::vector<DiagramCell>& cells) {
  // Okabe and Ito.
  static const Rgb8 inks[6] = {{0, 0, 0},     {213, 94, 0},    {0, 114, 178},
                               {0, 158, 115}, {204, 121, 167}, {122, 92, 0}};
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const DiagramCell& cell : cells)
    for (const auto& point : cell.points)
      low = std::min(low, point[0]), high = std::max(high, point[0]);
  if (!(high >= low)) low = 0, high = 1;
  const double pad = high > low ? 0.04 * (high - low) : std::max(0.1, 0.1 * std::abs(high));
  const auto [x0, x1] = Ends(diagram.x);
  Drawing drawing(diagram.name, x0, x1, low - pad, high + pad);
  drawing.Axes(diagram.x.label, diagram.record_label, true, true);
  std::vector<LegendEntry> legend;
  for (std::size_t s = 0; s < diagram.starts.size(); ++s) {
    const Rgb8& ink = inks[s % 6];
    std::string d;
    // Points that fall on the same quarter of a pixel are drawn once.
    for (std::size_t ix = 0; ix < diagram.nx(); ++ix) {
      std::set<long> heights;
      for (const auto& point : cells[diagram.Index(s, ix, 0)].points)
        heights.insert(std::lround(4 * drawing.Y(point[0])));
      for (const long y : heights)
        d += fmt::format("M{:.2f} {:.2f}h0", drawing.X(diagram.x.values[ix]),
                         0.25 * static_cast<double>(y));
    }
    drawing.Add(
        fmt::format("<path d=\"{}\" stroke=\"{}\" stroke-width=\"1.1\" stroke-linecap=\"round\" "
                    "fill=\"none\"/>",
                    d, pipelines::Hex(ink)));
    if (diagram.starts.size() > 1) legend.push_back({ink, "", diagram.starts[s].name});
  }
  DrawLines(diagram, drawing);
  drawing.Legend(legend);
  return drawing.Svg();
}

// Colour and legend of a cell of a map of periods.
LegendEntry Kind(const Diagram& diagram, const DiagramCell& cell) {
  if (cell.rests) return {{255, 255, 255}, "", "rests"};
  if (cell.end != "complete")
    return {{0, 0, 0}, "", cell.end == "given_up" ? "given up" : "too few points"};
  if (cell.period == 0)
    return {{200, 200, 200}, "", fmt::format("none up to {}", diagram.longest_period)};
  const double t =
      diagram.longest_period > 1 ? (cell.period - 1.0) / (diagram.longest_period - 1.0) : 0;
  return {pipelines::Viridis(t), std::to_string(cell.period),
          cell.period == 1 ? "period" : "periods"};
}

std::string DrawPeriods(const Diagram& diagram, const std::vector<DiagramCell>& cells,
                        std::size_t start) {
  const auto [x0, x1] = Ends(diagram.x);
  const auto [y0, y1] = Ends(*diagram.y);
  const std::string of = diagram.starts.size() > 1 ? ", " + diagram.starts[start].name : "";
  Drawing drawing(diagram.name + of, x0, x1, y0, y1);
  const std::size_t n = diagram.nx() * diagram.ny(), first = start * n;
  drawing.Add(pipelines::PixelImage(diagram.nx(), diagram.ny(), [&](std::size_t i) {
    return Kind(diagram, cells[first + i]).colour;
  }));
  DrawLines(diagram, drawing);
  drawing.Axes(diagram.x.label, diagram.y->label);
  std::set<std::pair<int, std::string>> seen;
  std::vector<LegendEntry> legend;
  std::vector<const DiagramCell*> order;
  for (std::size_t i = 0; i < n; ++i) order.push_back(&cells[first + i]);
  std::stable_sort(order.begin(), order.end(), [](const DiagramCell* a, const DiagramCell* b) {
    const auto rank = [](const DiagramCell* c) {
      return c->rests || c->period == 0 ? std::numeric_limits<int>::max() : c->period;
    };
    return rank(a) < rank(b);
  });
  for (const DiagramCell* cell : order) {
    const LegendEntry entry = Kind(diagram, *cell);
    // As many as the height of the picture holds.
    if (legend.size() < 14 &&
        seen.emplace(entry.name.empty() ? 0 : cell->period, entry.words).second)
      legend.push_back(entry);
  }
  drawing.Legend(legend);
  return drawing.Svg();
}

}  // namespace

std::string DiagramSvg(const Diagram& diagram, const std::vector<DiagramCell>& cells,
                       std::size_t start) {
  return diagram.y ? DrawPeriods(diagram, cells, start) : DrawPoints(diagram, cells);
}

void WriteDiagramPage(const std::filesystem::path& path, const Diagram& diagram,
                      const std::vector<DiagramCell>& cells) {
  pipelines::Page page;
  page.title = diagram.name;
  long long rests = 0, none = 0, unfinished = 0;
  for (const DiagramCell& cell : cells) {
    if (cell.rests)
      ++rests;
    else if (cell.end != "complete")
      ++unfinished;
    else if (cell.period == 0)
      ++none;
  }
  page.head = pipelines::PageHeadHtml(
      {.eyebrow = "ImpactLab",
       .title = diagram.name,
       .lead = fmt::format("{}, each followed past {} of its section.",
                           pipelines::Count(static_cast<long long>(cells.size()), "motion"),
                           pipelines::Count(diagram.transient, "point"))});
  pipelines::Section section;
  section.id = "diagram";
  section.title = diagram.figure.empty() ? "Diagram" : diagram.figure;
  section.html = "<div class=\"pair\">";
  for (std::size_t s = 0; s < (diagram.y ? diagram.starts.size() : 1); ++s)
    section.html += pipelines::FigureOf(DiagramSvg(diagram, cells, s));
  section.html += "</div>";
  if (!diagram.assumptions.empty())
    section.html +=
        "<p class=\"foot\">Our choice where the source is silent: " + Escape(diagram.assumptions) +
        "</p>";
  section.html += fmt::format(
      "<p>Of {} motions {} rest on a contact, {} have no period up to {} points of the section "
      "(chaos, a longer period, or a transient "
      "that "
      "lasts), {} ended before all points were there.</p>",
      cells.size(), rests, none, diagram.longest_period, unfinished);
  page.sections.push_back(std::move(section));
  pipelines::WritePage(path, page, {});
}

}  // namespace impactlab
