// Static drawing of a Plot. Points of a series are one path of zero-length strokes with round caps:
// short text, any number of points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipelines/page/assets.h"
#include "pipelines/page/html.h"
#include "pipelines/page/markup.h"
#include "pipelines/page/plot.h"
#include "pipelines/page/svg_axes.h"

namespace impactlab::pipelines {
namespace {

constexpr double kSvgWidth = 640, kSvgHeight = 420, kSvgLeft = 68, kSvgRight = 16, kSvgTop = 14,
                 kSvgBottom = 54;

struct Frame {
  explicit Frame(const Plot& drawn)
      : plot(drawn),
        X{plot.x_min, plot.x_max, kSvgLeft, kSvgWidth - kSvgRight},
        Y{plot.y_min, plot.y_max, kSvgHeight - kSvgBottom, kSvgTop} {}
  const Plot& plot;
  AxisScale X, Y;
};

// Error bars may reach far outside the frame, where coordinates would be long and useless.
double Tame(double v) { return std::clamp(v, -2000.0, 3000.0); }

std::string Colour(int index) { return index == kInk ? "ink" : fmt::format("c{}", index % 8); }

std::string Lines(const Frame& frame, const Series& s) {
  std::string d;
  bool pen = false;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    if (!std::isfinite(s.x[i]) || !std::isfinite(s.y[i])) {
      pen = false;
      continue;
    }
    d += fmt::format("{}{:.1f} {:.1f}", pen ? "L" : "M", Tame(frame.X(s.x[i])),
                     Tame(frame.Y(s.y[i])));
    pen = true;
  }
  return fmt::format("<path class=\"{} line{}\" d=\"{}\"/>", Colour(s.colour),
                     s.mark == Mark::kDash ? " dash" : "", d);
}

std::string Bars(const Frame& frame, const Series& s) {
  std::string d;
  const double base = frame.Y(std::max(0.0, frame.plot.y_min));
  if (s.mark == Mark::kOutline) {
    for (std::size_t i = 0; i < s.x.size(); ++i)
      d += fmt::format("{}{:.1f} {:.1f}V{:.1f}H{:.1f}", i ? "L" : "M",
                       frame.X(s.x[i] - s.bar_width / 2), i ? frame.Y(s.y[i - 1]) : base,
                       frame.Y(s.y[i]), frame.X(s.x[i] + s.bar_width / 2));
    if (!s.x.empty()) d += fmt::format("V{:.1f}", base);
    return fmt::format("<path class=\"{} line\" d=\"{}\"/>", Colour(s.colour), d);
  }
  for (std::size_t i = 0; i < s.x.size(); ++i)
    if (s.y[i] > 0)
      d += fmt::format("M{:.1f} {:.1f}V{:.1f}H{:.1f}V{:.1f}", frame.X(s.x[i] - 0.46 * s.bar_width),
                       base, frame.Y(s.y[i]), frame.X(s.x[i] + 0.46 * s.bar_width), base);
  return fmt::format("<path class=\"{} bar\" d=\"{}\"/>", Colour(s.colour), d);
}

std::string Points(const Frame& frame, const Series& s) {
  std::string bars, dots;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    const double x = frame.X(s.x[i]), y = frame.Y(s.y[i]);
    if (!s.sd_x.empty() && std::isfinite(s.sd_x[i]) && s.sd_x[i] > 0)
      bars += fmt::format("M{:.1f} {:.1f}H{:.1f}", Tame(frame.X(s.x[i] - s.sd_x[i])), y,
                          Tame(frame.X(s.x[i] + s.sd_x[i])));
    if (!s.sd_y.empty() && std::isfinite(s.sd_y[i]) && s.sd_y[i] > 0)
      bars += fmt::format("M{:.1f} {:.1f}V{:.1f}", x, Tame(frame.Y(s.y[i] - s.sd_y[i])),
                          Tame(frame.Y(s.y[i] + s.sd_y[i])));
    dots += fmt::format("M{:.1f} {:.1f}h0", Tame(x), Tame(y));
  }
  std::string out;
  const std::string colour = Colour(s.colour);
  if (!bars.empty()) out += fmt::format("<path class=\"{} err\" d=\"{}\"/>", colour, bars);
  out += fmt::format("<path class=\"{} dot\" stroke-width=\"{}\" d=\"{}\"/>", colour, s.size, dots);
  if (s.mark == Mark::kRing) out += fmt::format("<path class=\"hole\" d=\"{}\"/>", dots);
  return out;
}

std::string Legend(const Plot& plot) {
  std::string out;
  for (const Series& s : plot.series) {
    if (s.name.empty()) continue;
    const char* shape = s.mark == Mark::kLine || s.mark == Mark::kOutline ? "key-line"
                        : s.mark == Mark::kDash                           ? "key-line key-dash"
                        : s.mark == Mark::kBar                            ? "key-bar"
                        : s.mark == Mark::kRing                           ? "key-ring"
                                                                          : "key-dot";
    out += fmt::format("<li><span class=\"key {} {}\"></span>{}</li>", shape, Colour(s.colour),
                       Escape(s.name));
  }
  return out.empty() ? out : "<ul class=\"legend\">" + out + "</ul>";
}

}  // namespace

std::string ToSvg(const Plot& plot, const std::string& title) {
  const Frame frame(plot);
  std::string svg = fmt::format(
      "<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}: {} against {}\">",
      kSvgWidth, kSvgHeight, Escape(title), Escape(plot.y_label), Escape(plot.x_label));
  const std::vector<AxisTick> xs = AxisTicks(frame.X, 7), ys = AxisTicks(frame.Y, 6);
  svg += "<path class=\"grid\" d=\"" + TickLinesX(xs, kSvgTop, kSvgHeight - kSvgBottom) +
         TickLinesY(ys, kSvgLeft, kSvgWidth - kSvgRight) + "\"/>";
  // A nested viewport clips what runs out of the frame without identifiers that would have to be
  // unique in the page.
  svg += fmt::format(
      "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\" "
      "overflow=\"hidden\">",
      kSvgLeft, kSvgTop, kSvgWidth - kSvgLeft - kSvgRight, kSvgHeight - kSvgTop - kSvgBottom);
  for (const Series& s : plot.series)
    svg += s.mark == Mark::kLine || s.mark == Mark::kDash     ? Lines(frame, s)
           : s.mark == Mark::kBar || s.mark == Mark::kOutline ? Bars(frame, s)
                                                              : Points(frame, s);
  svg += "</svg>" + TickTextsX(xs, kSvgHeight - kSvgBottom + 18, "class=\"tick\"") +
         TickTextsY(ys, kSvgLeft - 8, "class=\"tick end\"");
  svg += fmt::format("<text class=\"axis\" x=\"{}\" y=\"{}\">{}</text>",
                     (kSvgLeft + kSvgWidth - kSvgRight) / 2, kSvgHeight - 10, Escape(plot.x_label));
  svg +=
      fmt::format("<text class=\"axis\" transform=\"translate(17 {}) rotate(-90)\">{}</text></svg>",
                  (kSvgTop + kSvgHeight - kSvgBottom) / 2, Escape(plot.y_label));
  return "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + Escape(title) +
         "\">" + svg + "</div>" + Legend(plot);
}

std::string FigureHtml(const Figure& figure, bool interactive) {
  if (figure.empty()) return {};
  MarkupValues values{
      .texts = {{"id", figure.id}, {"title", figure.title}, {"caption", figure.caption}},
      .flags = {{"wide", figure.wide}}};
  if (interactive || figure.plots.size() == 1) {
    values.texts["drawing"] = ToSvg(figure.plots[0], figure.title);
    return FillTemplate(kFigureTemplate, values);
  }
  for (std::size_t i = 0; i < figure.plots.size(); ++i) {
    // A drawing for every law would make the page long: only the first law is drawn.
    if (figure.selectors[0] == "Law" && figure.plots[i].choice[0] != figure.plots[0].choice[0]) {
      values.texts["first_law"] = figure.plots[0].choice[0];
      continue;
    }
    std::string name;
    for (const std::string& choice : figure.plots[i].choice)
      name += (name.empty() ? "" : ", ") + choice;
    values.lists["drawings"].push_back(
        {.texts = {{"name", name}, {"svg", ToSvg(figure.plots[i], figure.title)}},
         .flags = {{"open", i == 0}}});
  }
  return FillTemplate(kFigureTemplate, values);
}

std::string FiguresHtml(const std::vector<Figure>& figures, bool interactive) {
  if (figures.empty()) return {};
  std::string out = "<div class=\"figures\">";
  for (const Figure& figure : figures) out += FigureHtml(figure, interactive);
  return out + "</div>\n";
}

}  // namespace impactlab::pipelines
