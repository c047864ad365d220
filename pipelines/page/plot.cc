#include "pipelines/page/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "data/files/base64.h"
#include "data/files/text.h"
#include "pipelines/page/html.h"

namespace impactlab::pipelines {
namespace {

using Json = nlohmann::json;

bool IsLine(Mark mark) { return mark == Mark::kLine || mark == Mark::kDash; }

void Keep(std::vector<double>& v, const std::vector<std::size_t>& index) {
  if (v.empty()) return;
  std::vector<double> kept;
  kept.reserve(index.size());
  for (const std::size_t i : index) kept.push_back(v[i]);
  v = std::move(kept);
}

// Keeps finite points, at most `max_points` of them.
bool Clean(Series& s, std::size_t max_points) {
  if (IsLine(s.mark)) return false;  // NaN separates the pieces of a line
  std::vector<std::size_t> index;
  for (std::size_t i = 0; i < std::min(s.x.size(), s.y.size()); ++i)
    if (std::isfinite(s.x[i]) && std::isfinite(s.y[i])) index.push_back(i);
  const bool thinned = index.size() > max_points;
  if (thinned) {
    std::vector<std::size_t> fewer;
    for (std::size_t k = 0; k < max_points; ++k)
      fewer.push_back(index[k * index.size() / max_points]);
    index = std::move(fewer);
  }
  if (index.size() != s.x.size()) {
    for (std::vector<double>* v : {&s.x, &s.y, &s.sd_x, &s.sd_y}) Keep(*v, index);
    if (!s.event.empty()) {
      std::vector<int> kept;
      kept.reserve(index.size());
      for (const std::size_t i : index) kept.push_back(s.event[i]);
      s.event = std::move(kept);
    }
  }
  return thinned;
}

struct Extent {
  double lower = std::numeric_limits<double>::infinity(),
         upper = -std::numeric_limits<double>::infinity();
  void Add(double v) {
    if (std::isfinite(v)) lower = std::min(lower, v), upper = std::max(upper, v);
  }
  bool empty() const { return !(upper >= lower); }
  // With a margin, so that no point sits on the frame.
  void Pad() {
    if (empty()) lower = 0, upper = 1;
    const double margin =
        upper > lower ? 0.06 * (upper - lower) : std::max(0.1 * std::abs(upper), 1e-3);
    lower -= margin, upper += margin;
  }
};

Json Numbers(const std::vector<double>& values, int significant = 5) {
  Json out = Json::array();
  for (const double v : values) out.push_back(Rounded(v, significant));
  return out;
}

const char* MarkName(Mark mark) {
  switch (mark) {
    case Mark::kDot:
      return "dot";
    case Mark::kRing:
      return "ring";
    case Mark::kLine:
      return "line";
    case Mark::kDash:
      return "dash";
    case Mark::kBar:
      return "bar";
    case Mark::kOutline:
      return "outline";
  }
  return "dot";
}

}  // namespace

double Rounded(double value, int significant) {
  if (!std::isfinite(value) || value == 0) return value;
  // By way of text: multiplying by powers of ten leaves digits such as 0.30000000000000004.
  char text[40];
  std::snprintf(text, sizeof text, "%.*e", significant - 1, value);
  return std::strtod(text, nullptr);
}

bool PreparePlot(Plot& plot, std::size_t max_points) {
  bool thinned = false;
  Extent x, y;
  for (Series& s : plot.series) {
    thinned = Clean(s, max_points) || thinned;
    if (s.colour == kInk) continue;  // reference lines follow the points
    for (std::size_t i = 0; i < s.x.size(); ++i) {
      x.Add(s.x[i] - s.bar_width / 2), x.Add(s.x[i] + s.bar_width / 2);
      y.Add(s.y[i]);
    }
  }
  if (plot.counts) y.Add(0);
  x.Pad(), y.Pad();
  if (plot.equal_axes)
    x.lower = y.lower = std::min(x.lower, y.lower), x.upper = y.upper = std::max(x.upper, y.upper);
  if (!std::isfinite(plot.x_min)) plot.x_min = x.lower;
  if (!std::isfinite(plot.x_max)) plot.x_max = x.upper;
  if (!std::isfinite(plot.y_min)) plot.y_min = plot.counts ? 0 : y.lower;
  if (!std::isfinite(plot.y_max)) plot.y_max = y.upper;
  if (!(plot.x_max > plot.x_min)) plot.x_max = plot.x_min + 1;
  if (!(plot.y_max > plot.y_min)) plot.y_max = plot.y_min + 1;
  return thinned;
}

std::string ToJson(const Plot& plot) {
  Json series = Json::array();
  for (const Series& s : plot.series) {
    Json one = {{"name", s.name},
                {"mark", MarkName(s.mark)},
                {"colour", s.colour},
                {"x", Numbers(s.x)},
                {"y", Numbers(s.y)}};
    if (!s.sd_x.empty()) one["sx"] = Numbers(s.sd_x, 3);
    if (!s.sd_y.empty()) one["sy"] = Numbers(s.sd_y, 3);
    if (!s.event.empty()) one["event"] = s.event;
    if (s.bar_width > 0) one["width"] = Rounded(s.bar_width);
    series.push_back(std::move(one));
  }
  const Json json = {{"choice", plot.choice},
                     {"x", plot.x_label},
                     {"y", plot.y_label},
                     {"equal", plot.equal_axes},
                     {"xr", Numbers({plot.x_min, plot.x_max})},
                     {"yr", Numbers({plot.y_min, plot.y_max})},
                     {"series", std::move(series)}};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::string ToJson(const Figure& figure, const std::vector<std::string>& plots) {
  const Json json = {{"id", figure.id}, {"title", figure.title}, {"selectors", figure.selectors}};
  std::string out = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  out.back() = ',';
  return out + "\"plots\":[" + JoinNames(plots, ",") + "]}";
}

std::string ToJson(const Figure& figure) {
  std::vector<std::string> plots;
  for (const Plot& plot : figure.plots) plots.push_back(ToJson(plot));
  return ToJson(figure, plots);
}

Series Histogram(const std::vector<double>& values, double lower, double upper, int bins,
                 std::string name, int colour) {
  Series s{.name = std::move(name),
           .mark = Mark::kBar,
           .colour = colour,
           .bar_width = (upper - lower) / bins};
  s.x.resize(static_cast<std::size_t>(bins));
  s.y.assign(static_cast<std::size_t>(bins), 0);
  for (int k = 0; k < bins; ++k) s.x[static_cast<std::size_t>(k)] = lower + (k + 0.5) * s.bar_width;
  for (const double v : values)
    if (std::isfinite(v)) {
      const double k = std::clamp(std::floor((v - lower) / s.bar_width), 0.0, bins - 1.0);
      ++s.y[static_cast<std::size_t>(k)];
    }
  return s;
}

Series Contour(const std::vector<double>& x, const std::vector<double>& y, const Eigen::MatrixXd& f,
               double level, std::string name, int colour) {
  Series s{.name = std::move(name), .mark = Mark::kLine, .colour = colour};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (f.rows() != static_cast<Eigen::Index>(x.size()) ||
      f.cols() != static_cast<Eigen::Index>(y.size()))
    return s;
  for (Eigen::Index i = 0; i + 1 < f.rows(); ++i) {
    for (Eigen::Index j = 0; j + 1 < f.cols(); ++j) {
      // Corners of the cell in order round it, and where its four sides cross the level.
      const std::array<Eigen::Index, 4> ci = {i, i + 1, i + 1, i}, cj = {j, j, j + 1, j + 1};
      std::array<std::array<double, 2>, 4> cross{};
      std::array<int, 4> side{};
      int n = 0;
      bool finite = true;
      double centre = 0;
      for (int k = 0; k < 4; ++k) {
        const double a = f(ci[k], cj[k]), b = f(ci[(k + 1) % 4], cj[(k + 1) % 4]);
        finite = finite && std::isfinite(a);
        centre += a / 4;
        if ((a < level) == (b < level)) continue;
        const double share = (level - a) / (b - a);
        const double xa = x[static_cast<std::size_t>(ci[k])],
                     xb = x[static_cast<std::size_t>(ci[(k + 1) % 4])];
        const double ya = y[static_cast<std::size_t>(cj[k])],
                     yb = y[static_cast<std::size_t>(cj[(k + 1) % 4])];
        cross[n] = {xa + share * (xb - xa), ya + share * (yb - ya)};
        side[n++] = k;
      }
      if (!finite) continue;
      // At a saddle (four crossings) the mean of the corners decides which sides belong together.
      const bool shift = n == 4 && (centre < level) != (f(i, j) < level);
      for (int k = 0; k + 1 < n; k += 2) {
        const auto& p = cross[shift ? (k + 1) % 4 : k];
        const auto& q = cross[shift ? (k + 2) % 4 : k + 1];
        s.x.insert(s.x.end(), {p[0], q[0], nan});
        s.y.insert(s.y.end(), {p[1], q[1], nan});
      }
    }
  }
  return s;
}

Packed Pack(const std::vector<double>& values) {
  Extent extent;
  for (const double v : values) extent.Add(v);
  Packed packed;
  if (!extent.empty()) packed.lower = extent.lower, packed.upper = extent.upper;
  const double span = packed.upper - packed.lower;
  std::string bytes;
  bytes.reserve(2 * values.size());
  for (const double v : values) {
    std::uint16_t code = 0xFFFF;
    if (std::isfinite(v))
      code = span > 0 ? static_cast<std::uint16_t>(std::lround(65534 * ((v - packed.lower) / span)))
                      : std::uint16_t{0};
    bytes += static_cast<char>(code & 0xFF);
    bytes += static_cast<char>(code >> 8);
  }
  packed.base64 = Base64(bytes);
  return packed;
}

}  // namespace impactlab::pipelines
