#include "pipelines/page/svg_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipelines/page/html.h"

namespace impactlab::pipelines {
namespace {

// To a tenth of a pixel, without idle zeros.
double Tenths(double px) { return std::round(10 * px) / 10; }

}  // namespace

std::vector<double> Ticks(double lower, double upper, int target) {
  if (!(upper > lower) || !std::isfinite(upper - lower) || target < 1) return {};
  const double raw = (upper - lower) / target;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double step = power * (raw / power <= 1   ? 1
                               : raw / power <= 2 ? 2
                               : raw / power <= 5 ? 5
                                                  : 10);
  std::vector<double> ticks;
  for (double k = std::ceil(lower / step - 1e-9);
       k * step <= upper + 1e-9 * step && ticks.size() < 100; ++k)
    ticks.push_back(k * step);
  return ticks;
}

std::string TickLabel(double value, double step) {
  if (std::abs(value) >= 1e6 || (step < 1e-5 && step > 0))
    return TypographicMinus(fmt::format("{:.3g}", value));
  return Fixed(value,
               step > 0 ? std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9))) : 2);
}

std::vector<AxisTick> AxisTicks(const AxisScale& scale, int target) {
  const std::vector<double> values = Ticks(scale.lower, scale.upper, target);
  const double step = values.size() > 1 ? values[1] - values[0] : 0;
  std::vector<AxisTick> ticks;
  ticks.reserve(values.size());
  for (const double value : values) ticks.push_back({scale(value), TickLabel(value, step)});
  return ticks;
}

std::string TickLinesX(const std::vector<AxisTick>& ticks, double y_from, double y_to) {
  std::string d;
  for (const AxisTick& tick : ticks)
    d += fmt::format("M{:.1f} {}V{}", tick.px, Tenths(y_from), Tenths(y_to));
  return d;
}

std::string TickLinesY(const std::vector<AxisTick>& ticks, double x_from, double x_to) {
  std::string d;
  for (const AxisTick& tick : ticks)
    d += fmt::format("M{} {:.1f}H{}", Tenths(x_from), tick.px, Tenths(x_to));
  return d;
}

std::string TickTextsX(const std::vector<AxisTick>& ticks, double y,
                       const std::string& attributes) {
  std::string texts;
  for (const AxisTick& tick : ticks)
    texts += fmt::format("<text {} x=\"{:.1f}\" y=\"{}\">{}</text>", attributes, tick.px, Tenths(y),
                         tick.label);
  return texts;
}

std::string TickTextsY(const std::vector<AxisTick>& ticks, double x,
                       const std::string& attributes) {
  std::string texts;
  for (const AxisTick& tick : ticks)
    texts += fmt::format("<text {} x=\"{}\" y=\"{:.1f}\">{}</text>", attributes, Tenths(x),
                         tick.px + 4, tick.label);
  return texts;
}

}  // namespace impactlab::pipelines
