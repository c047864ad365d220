// Static drawing of a Plot. Points of a series are one path of zero-length strokes with round caps:
// short text, any number of points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipelines/page/html.h"
#include "pipelines/page/plot.h"

namespace impactlab::pipelines {
namespace {

constexpr double kWidth = 640, kHeight = 420, kLeft = 68, kRight = 16, kTop = 14, kBottom = 54;

struct Frame {
  const Plot& plot;
  double X(double x) const {
    return kLeft + (kWidth - kLeft - kRight) * (x - plot.x_min) / (plot.x_max - plot.x_min);
  }
  double Y(double y) const {
    return kHeight - kBottom -
           (kHeight - kTop - kBottom) * (y - plot.y_min) / (plot.y_max - plot.y_min);
  }
};

// Coordinates far outside the frame would lose digits and help nobody: error bars may be huge.
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
  const Frame frame{plot};
  std::string svg = fmt::format(
      "<svg class=\"plot\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}: {} against {}\">",
      kWidth, kHeight, Escape(title), Escape(plot.y_label), Escape(plot.x_label));
  std::string grid, labels;
  const std::vector<double> xs = Ticks(plot.x_min, plot.x_max, 7),
                            ys = Ticks(plot.y_min, plot.y_max, 6);
  for (const double x : xs) {
    grid += fmt::format("M{:.1f} {}V{}", frame.X(x), kTop, kHeight - kBottom);
    labels += fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\">{}</text>", frame.X(x),
                          kHeight - kBottom + 18, TickLabel(x, xs.size() > 1 ? xs[1] - xs[0] : 0));
  }
  for (const double y : ys) {
    grid += fmt::format("M{} {:.1f}H{}", kLeft, frame.Y(y), kWidth - kRight);
    labels += fmt::format("<text class=\"tick end\" x=\"{}\" y=\"{:.1f}\">{}</text>", kLeft - 8,
                          frame.Y(y) + 4, TickLabel(y, ys.size() > 1 ? ys[1] - ys[0] : 0));
  }
  svg += fmt::format("<path class=\"grid\" d=\"{}\"/>", grid);
  // A nested viewport clips what runs out of the frame without identifiers that would have to be
  // unique in the page.
  svg += fmt::format(
      "<svg x=\"{0}\" y=\"{1}\" width=\"{2}\" height=\"{3}\" viewBox=\"{0} {1} {2} {3}\" "
      "overflow=\"hidden\">",
      kLeft, kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom);
  for (const Series& s : plot.series)
    svg += s.mark == Mark::kLine || s.mark == Mark::kDash     ? Lines(frame, s)
           : s.mark == Mark::kBar || s.mark == Mark::kOutline ? Bars(frame, s)
                                                              : Points(frame, s);
  svg += "</svg>" + labels;
  svg += fmt::format("<text class=\"axis\" x=\"{}\" y=\"{}\">{}</text>",
                     (kLeft + kWidth - kRight) / 2, kHeight - 10, Escape(plot.x_label));
  svg +=
      fmt::format("<text class=\"axis\" transform=\"translate(17 {}) rotate(-90)\">{}</text></svg>",
                  (kTop + kHeight - kBottom) / 2, Escape(plot.y_label));
  return "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"" + Escape(title) +
         "\">" + svg + "</div>" + Legend(plot);
}

std::string FigureHtml(const Figure& figure, bool interactive) {
  if (figure.empty()) return {};
  bool left_out = false;
  std::string out = fmt::format("<figure class=\"figure{}\" id=\"{}\"><h3>{}</h3>",
                                figure.wide ? " wide" : "", figure.id, Escape(figure.title));
  if (interactive || figure.plots.size() == 1) {
    // The drawing stands in for the plot until the script has run, and for good where scripts are
    // switched off.
    out += "<div class=\"controls\"></div><div class=\"drawing\">" +
           ToSvg(figure.plots[0], figure.title) + "</div>";
  } else {
    for (std::size_t i = 0; i < figure.plots.size(); ++i) {
      // A drawing for every law would make the page long: the law spoken of first stands for them.
      if (figure.selectors[0] == "Law" && figure.plots[i].choice[0] != figure.plots[0].choice[0]) {
        left_out = true;
        continue;
      }
      std::string name;
      for (const std::string& choice : figure.plots[i].choice)
        name += (name.empty() ? "" : ", ") + choice;
      out += fmt::format("<details{}><summary>{}</summary>{}</details>", i == 0 ? " open" : "",
                         Escape(name), ToSvg(figure.plots[i], figure.title));
    }
  }
  if (left_out)
    out += "<p class=\"foot\">Only the plots of the first law (" +
           Escape(figure.plots[0].choice[0]) + ") are drawn.</p>";
  return out + "<figcaption>" + figure.caption + "</figcaption></figure>\n";
}

}  // namespace impactlab::pipelines
