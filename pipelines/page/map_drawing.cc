#include "pipelines/page/map_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "data/files/base64.h"
#include "pipelines/page/html.h"
#include "pipelines/page/plot.h"
#include "tracking/video/writer.h"

namespace impactlab::pipelines {

Rgb8 Mix(const Rgb8& a, const Rgb8& b, double t) {
  return {a.r + t * (b.r - a.r), a.g + t * (b.g - a.g), a.b + t * (b.b - a.b)};
}

std::string Hex(const Rgb8& c) {
  return fmt::format("#{:02x}{:02x}{:02x}", static_cast<int>(std::lround(c.r)),
                     static_cast<int>(std::lround(c.g)), static_cast<int>(std::lround(c.b)));
}

// By the polynomial of degree six that follows its table within a level or two.
Rgb8 Viridis(double t) {
  static constexpr double kC[7][3] = {{0.27772732722, 0.00540734454, 0.33409980534},
                                      {0.10509304311, 1.40461352990, 1.38459016259},
                                      {-0.33086182873, 0.21484755947, 0.09509516303},
                                      {-4.63423049898, -5.79910097335, -19.33244095628},
                                      {6.22826993635, 14.17993336681, 56.69055260068},
                                      {4.77638499767, -13.74514537775, -65.35303263337},
                                      {-5.43545585593, 4.64585261218, 26.31243524958}};
  double c[3];
  for (int k = 0; k < 3; ++k) {
    c[k] = 0;
    for (int i = 6; i >= 0; --i) c[k] = c[k] * t + kC[i][k];
    c[k] = 255 * std::clamp(c[k], 0.0, 1.0);
  }
  return {c[0], c[1], c[2]};
}

Drawing::Drawing(const std::string& title, double x0, double x1, double y0, double y1)
    : x_{x0, x1, kLeft, kWidth - kRight}, y_{y0, y1, kHeight - kBottom, kTop} {
  svg_ = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" aria-label=\"{2}\" font-family=\"system-ui, 'Noto Sans', "
      "'DejaVu Sans', sans-serif\" font-size=\"13\" fill=\"#1b2127\"><rect width=\"{0}\" "
      "height=\"{1}\" fill=\"#ffffff\"/><text x=\"{3}\" y=\"26\" font-size=\"15\" "
      "font-weight=\"600\">{2}</text>",
      kWidth, kHeight, Escape(title), kLeft);
}

void Drawing::Text(double x, double y, const std::string& text, const std::string& attributes) {
  svg_ +=
      fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>", x, y, attributes, Escape(text));
}

void Drawing::Label(double x, double y, const std::string& text) {
  Text(x, y + 5, text,
       "text-anchor=\"middle\" font-weight=\"700\" font-size=\"15\" stroke=\"#ffffff\" "
       "stroke-width=\"3.5\" paint-order=\"stroke\" stroke-linejoin=\"round\"");
}

void Drawing::Axes(const std::string& x_label, const std::string& y_label, bool y_ticks,
                   bool grid) {
  const double bottom = kHeight - kBottom, right = kWidth - kRight;
  const auto xs = AxisTicks(x_, 7), ys = y_ticks ? AxisTicks(y_, 6) : std::vector<AxisTick>{};
  svg_ += TickTextsX(xs, bottom + 20, "text-anchor=\"middle\"") +
          TickTextsY(ys, kLeft - 9, "text-anchor=\"end\"");
  if (grid)
    svg_ +=
        fmt::format("<path d=\"{}{}\" stroke=\"#1b2127\" stroke-opacity=\"0.13\" fill=\"none\"/>",
                    TickLinesX(xs, kTop, bottom), TickLinesY(ys, kLeft, right));
  svg_ += fmt::format(
      "<path d=\"{}{}\" stroke=\"#1b2127\" fill=\"none\"/><rect x=\"{}\" y=\"{}\" width=\"{}\" "
      "height=\"{}\" fill=\"none\" stroke=\"#1b2127\"/>",
      TickLinesX(xs, bottom, bottom + 5), TickLinesY(ys, kLeft, kLeft - 5), kLeft, kTop, kPlotWidth,
      kPlotHeight);
  Text(kLeft + kPlotWidth / 2, kHeight - 16, x_label, "text-anchor=\"middle\"");
  Text(0, 0, y_label,
       fmt::format("text-anchor=\"middle\" transform=\"translate(20 {}) rotate(-90)\"",
                   kTop + kPlotHeight / 2));
}

void Drawing::Legend(const std::vector<LegendEntry>& entries) {
  double y = kTop + 8;
  for (const LegendEntry& entry : entries) {
    const double x = kWidth - kRight + 18;
    svg_ += fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"16\" height=\"16\" fill=\"{}\" stroke=\"#1b2127\" "
        "stroke-width=\"0.7\"/>",
        x, y - 8, Hex(entry.colour));
    Text(x + 24, y + 5, entry.name, "font-weight=\"700\"");
    Text(x + 34 + 9.5 * static_cast<double>(entry.name.size()), y + 5, entry.words,
         "font-size=\"12\"");
    y += 25;
  }
}

std::string PixelImage(std::size_t nx, std::size_t ny,
                       const std::function<Rgb8(std::size_t)>& colour) {
  ColorImage image{static_cast<int>(nx), static_cast<int>(ny),
                   std::vector<std::uint8_t>(3 * nx * ny)};
  for (std::size_t iy = 0; iy < ny; ++iy)
    for (std::size_t ix = 0; ix < nx; ++ix) {
      const Rgb8 c = colour(iy * nx + ix);
      std::uint8_t* pixel = &image.rgb[3 * ((ny - 1 - iy) * nx + ix)];
      pixel[0] = static_cast<std::uint8_t>(std::lround(c.r)),
      pixel[1] = static_cast<std::uint8_t>(std::lround(c.g)),
      pixel[2] = static_cast<std::uint8_t>(std::lround(c.b));
    }
  return fmt::format(
      "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" "
      "style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>",
      kLeft, kTop, kPlotWidth, kPlotHeight, Base64(EncodePng(image)));
}

std::string FigureOf(std::string svg) {
  const std::string fixed = fmt::format("width=\"{}\" height=\"{}\" role", kWidth, kHeight);
  if (const auto at = svg.find(fixed); at != std::string::npos)
    svg.replace(at, fixed.size(), "style=\"width:100%;height:auto;border-radius:6px\" role");
  return "<figure class=\"figure\">" + svg + "</figure>";
}

}  // namespace impactlab::pipelines
