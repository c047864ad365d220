#pragma once
// Plots of the pages as data. One description serves both renderers: the plotting library in the
// page and our own static SVG.

#include <Eigen/Core>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace impactlab::pipelines {

enum class Mark {
  kDot,     // filled point
  kRing,    // open point
  kLine,    // line through the points; a NaN breaks it
  kDash,    // dashed line
  kBar,     // column of width `bar_width` centred at x
  kOutline  // step outline of such columns
};

struct Series {
  std::string name;  // legend; empty: not in the legend
  Mark mark = Mark::kDot;
  int colour = 0;  // index in the palette of the style sheet; kInk for reference lines
  std::vector<double> x = {}, y = {};
  // one standard deviation, drawn as an error bar; empty: none
  std::vector<double> sd_x = {}, sd_y = {};
  // EventCode of every point, so that a click finds the recording; empty: none
  std::vector<int> event = {};
  double bar_width = 0;
  double size = 6;  // of the points of a static drawing [px]
};
inline constexpr int kInk = -1;

// Recording (index of the run) and impact packed into one number.
inline constexpr int kImpactsPerRecording = 1000;
inline int EventCode(int recording, int impact) {
  return recording * kImpactsPerRecording + impact;
}

struct Plot {
  std::vector<std::string> choice;  // value for each selector of the figure
  std::string x_label, y_label;     // plain text with unit
  bool equal_axes = false;          // same range on both axes, for one quantity against itself
  bool counts = false;              // y are counts: starts at zero, whole ticks
  std::vector<Series> series;
  double x_min = std::numeric_limits<double>::quiet_NaN(), x_max = x_min;  // NaN: from the points
  double y_min = x_min, y_max = x_min;
};

struct Figure {
  std::string id;                      // unique in the page
  std::string title;                   // plain text
  std::string caption;                 // HTML
  std::vector<std::string> selectors;  // e.g. "Law", "Quantity"
  std::vector<Plot> plots;             // the first is shown first
  bool wide = false;
  bool empty() const { return plots.empty(); }
};

// Drops points that are not finite, thins series of more than `max_points` evenly, and sets ranges
// from the points. Without it neither renderer may be called. True when something was thinned.
bool PreparePlot(Plot& plot, std::size_t max_points = 3000);

std::string ToSvg(const Plot& plot, const std::string& title);
std::string ToJson(const Figure& figure);
std::string ToJson(const Plot& plot);
// The figure with these texts in place of its plots.
std::string ToJson(const Figure& figure, const std::vector<std::string>& plots);

// The figure as HTML: heading, the static drawing of its first plot (of all plots when not
// `interactive`), caption.
std::string FigureHtml(const Figure& figure, bool interactive);

// All of them side by side where there is room; empty without any.
std::string FiguresHtml(const std::vector<Figure>& figures, bool interactive);

// Columns of a histogram over [lower, upper]; values outside are counted in the end columns.
Series Histogram(const std::vector<double>& values, double lower, double upper, int bins,
                 std::string name, int colour);

// Lines where a function on a grid equals `level` (marching squares); pieces are separated by NaN.
// Rows of `f` belong to x.
Series Contour(const std::vector<double>& x, const std::vector<double>& y, const Eigen::MatrixXd& f,
               double level, std::string name, int colour);

// Base-64 of numbers quantised to 16 bits between their least and greatest value; 0xFFFF
// encodes a value that is not finite.
struct Packed {
  std::string base64;
  double lower = 0, upper = 0;
};
Packed Pack(const std::vector<double>& values);

// Rounded to `significant` digits so that it prints short; NaN stays NaN (null in JSON).
double Rounded(double value, int significant = 5);

}  // namespace impactlab::pipelines
