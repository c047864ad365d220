#pragma once
// Axes of the drawings: linear scales, where round ticks lie, and their lines and labels as SVG.
// What they look like is said by the style sheet of a page, or by attributes in a picture that
// stands alone.

#include <string>
#include <vector>

namespace impactlab::pipelines {

// Positions of at most about `target` round tick marks inside [lower, upper].
std::vector<double> Ticks(double lower, double upper, int target);
// With as many decimals as a step between ticks needs; two where `step` is 0.
std::string TickLabel(double value, double step);

// A linear scale: `lower` of the quantity is drawn at `start`, `upper` at `end` [px].
struct AxisScale {
  double lower = 0, upper = 1;
  double start = 0, end = 1;
  double operator()(double value) const {
    return start + (end - start) * (value - lower) / (upper - lower);
  }
};

struct AxisTick {
  double px = 0;
  std::string label;
};
// About `target` of them.
std::vector<AxisTick> AxisTicks(const AxisScale& scale, int target);

// Path data of one line for every tick: of an x axis from one y to another, and of a y axis from
// one x to another [px].
std::string TickLinesX(const std::vector<AxisTick>& ticks, double y_from, double y_to);
std::string TickLinesY(const std::vector<AxisTick>& ticks, double x_from, double x_to);

// Text elements: of an x axis with base lines at y, of a y axis (4 px below the tick) at x [px].
std::string TickTextsX(const std::vector<AxisTick>& ticks, double y, const std::string& attributes);
std::string TickTextsY(const std::vector<AxisTick>& ticks, double x, const std::string& attributes);

}  // namespace impactlab::pipelines
