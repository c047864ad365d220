#pragma once
// The frame that pictures of maps and diagrams share: SVG that stands alone, with axes, legend and
// colours that colour-blind readers can distinguish.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "pipelines/page/svg_axes.h"

namespace impactlab::pipelines {

// Of the picture and of the plot in it [px].
inline constexpr double kWidth = 760, kHeight = 470, kLeft = 78, kRight = 236, kTop = 46,
                        kBottom = 60;
inline constexpr double kPlotWidth = kWidth - kLeft - kRight,
                        kPlotHeight = kHeight - kTop - kBottom;

struct Rgb8 {
  double r, g, b;  // 0 to 255
};
Rgb8 Mix(const Rgb8& a, const Rgb8& b, double t);
std::string Hex(const Rgb8& c);
// The scale of that name, t in [0, 1].
Rgb8 Viridis(double t);

struct LegendEntry {
  Rgb8 colour;
  std::string name, words;  // bold, then plain
};

// x0 to x1 and y0 to y1 fill the plot.
class Drawing {
 public:
  Drawing(const std::string& title, double x0, double x1, double y0, double y1);
  double X(double x) const { return x_(x); }
  double Y(double y) const { return y_(y); }
  void Add(const std::string& svg) { svg_ += svg; }
  void Text(double x, double y, const std::string& text, const std::string& attributes = {});
  // Bold, with a white rim, so that it is legible on any colour.
  void Label(double x, double y, const std::string& text);
  void Axes(const std::string& x_label, const std::string& y_label, bool y_ticks = true,
            bool grid = false);
  void Legend(const std::vector<LegendEntry>& entries);
  std::string Svg() const { return svg_ + "</svg>\n"; }

 private:
  std::string svg_;
  AxisScale x_, y_;
};

// The plot filled with nx x ny cells, the first row at the bottom; colour(iy * nx + ix).
std::string PixelImage(std::size_t nx, std::size_t ny,
                       const std::function<Rgb8(std::size_t)>& colour);

// In a page a picture is as wide as its column.
std::string FigureOf(std::string svg);

}  // namespace impactlab::pipelines
