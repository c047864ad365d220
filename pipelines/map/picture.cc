// Pictures of maps and scans: SVG that stands alone. Colours can be told apart by colour-blind
// readers (Okabe and Ito for cases, viridis and a blue to brown scale for quantities), and every
// region carries the name of its case besides.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "pipelines/map/impact_map.h"
#include "pipelines/page/html.h"
#include "pipelines/page/map_drawing.h"

namespace impactlab {
namespace {

using pipelines::Drawing;
using pipelines::Hex;
using pipelines::kHeight;
using pipelines::kLeft;
using pipelines::kPlotHeight;
using pipelines::kPlotWidth;
using pipelines::kRight;
using pipelines::kTop;
using pipelines::kWidth;
using pipelines::LegendEntry;
using pipelines::Mix;
using pipelines::PixelImage;
using pipelines::Rgb8;
using pipelines::TickLabel;
using pipelines::Ticks;
using pipelines::Viridis;

// Okabe and Ito; a letter makes the colour of its digit lighter.
Rgb8 CaseColour(const std::string& course) {
  static const std::map<std::string, Rgb8> colours = {
      {"0", {86, 180, 233}},     {"1", {213, 94, 0}},       {"2", {0, 158, 115}},
      {"3", {230, 159, 0}},      {"4", {240, 228, 66}},     {"5", {204, 121, 167}},
      {"6", {0, 114, 178}},      {"-", {221, 221, 221}},    {"mu", {86, 180, 233}},
      {"stick", {213, 94, 0}},   {"energy", {0, 158, 115}}, {"smith", {240, 228, 66}},
      {"loses", {86, 180, 233}}, {"gains", {213, 94, 0}},   {"pulls", {204, 121, 167}}};
  auto at = colours.find(course);
  if (at != colours.end()) return at->second;
  at = colours.find(course.substr(0, 1));
  if (at == colours.end() || course.empty()) return {0, 0, 0};
  const double lighter = course.back() == 'a' ? 0.25 : course.back() == 'b' ? 0.45 : 0.65;
  return Mix(at->second, {255, 255, 255}, lighter);
}

std::string CaseWords(const std::string& course) {
  static const std::map<std::string, std::string> words = {
      {"0", "slides throughout"},        {"1", "sticks, in compression"},
      {"2", "reverses, in compression"}, {"3", "sticks, in restitution"},
      {"4", "reverses, in restitution"}, {"5", "from rest, sticks"},
      {"6", "from rest, slides"},        {"-", "no impact"},
      {"mu", "full friction"},           {"stick", "slip stopped"},
      {"energy", "bounded by energy"},   {"smith", "partial reversal"},
      {"loses", "energy is lost"},       {"gains", "energy is gained"},
      {"pulls", "J_n below zero"}};
  const auto at = words.find(course);
  if (at != words.end()) return at->second;
  const auto digit = words.find(course.substr(0, 1));
  if (digit == words.end()) return "no outcome";
  const char letter = course.back();
  return digit->second + (letter == 'a' ? " (y)" : letter == 'b' ? " (x)" : " (x, y)");
}

// Blue below zero, brown above, nearly white at zero.
Rgb8 Diverging(double t) {
  static const Rgb8 stops[5] = {
      {33, 102, 172}, {146, 197, 222}, {247, 247, 247}, {253, 184, 99}, {179, 88, 6}};
  const int i = std::clamp(static_cast<int>(4 * t), 0, 3);
  return Mix(stops[i], stops[i + 1], std::clamp(4 * t - i, 0.0, 1.0));
}

struct Scale {
  double low = 0, high = 1;
  bool diverging = false;
  Rgb8 operator()(double value) const {
    if (!std::isfinite(value)) return {221, 221, 221};
    // Zero is white, and equal sizes of either sign are equally strong.
    if (diverging) return Diverging(std::clamp(0.5 + 0.5 * value / std::max(high, -low), 0.0, 1.0));
    return Viridis(std::clamp((value - low) / (high - low), 0.0, 1.0));
  }
};

Scale ScaleOf(const std::vector<MapPoint>& points, std::size_t quantity, bool is_signed) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const MapPoint& point : points)
    if (std::isfinite(point.values[quantity]))
      low = std::min(low, point.values[quantity]), high = std::max(high, point.values[quantity]);
  if (!(high >= low)) low = 0, high = 1;
  Scale scale{low, high, low < -1e-9 && high > 1e-9 && (is_signed || low < -1e-6)};
  if (!(scale.high > scale.low)) scale.low -= 0.5, scale.high += 0.5;
  return scale;
}

std::vector<LegendEntry> CaseLegend(const std::vector<std::string>& courses) {
  std::vector<LegendEntry> entries;
  entries.reserve(courses.size());
  for (const std::string& course : courses)
    entries.push_back({CaseColour(course), course.empty() ? "?" : course, CaseWords(course)});
  return entries;
}

std::vector<std::string> Courses(const std::vector<MapPoint>& points) {
  std::vector<std::string> names;
  for (const MapPoint& point : points)
    if (std::find(names.begin(), names.end(), point.course) == names.end())
      names.push_back(point.course);
  std::sort(names.begin(), names.end());
  return names;
}

// A label with a capital, unless it begins with a symbol such as v_x.
std::string Heading(const MapQuantity& quantity) {
  std::string text = quantity.label;
  if (text.size() > 1 && text[1] != '_' && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string Title(const ImpactMap& map, const std::string& what, std::size_t law) {
  // The name of the sweep stands over all its pictures; here what is drawn and by which law.
  return what + (map.sweep.laws[law] == LawName(kReferenceLaw) && map.sweep.laws.size() == 1
                     ? ""
                     : ", " + map.sweep.laws[law]);
}

class Map2d {
 public:
  Map2d(const ImpactMap& map, std::size_t law)
      : map_(map), points_(map.points[law]), nx_(map.nx()), ny_(map.ny()) {
    const auto& x = map.sweep.x.shown;
    const auto& y = map.sweep.y->shown;
    // A cell reaches half a step to each side of its point.
    hx_ = 0.5 * (x.back() - x.front()) / static_cast<double>(nx_ - 1);
    hy_ = 0.5 * (y.back() - y.front()) / static_cast<double>(ny_ - 1);
    x0_ = x.front() - hx_, x1_ = x.back() + hx_, y0_ = y.front() - hy_, y1_ = y.back() + hy_;
  }

  template <class Colour>
  std::string Pixels(const Colour& colour) const {
    return PixelImage(nx_, ny_, [&](std::size_t i) { return colour(points_[i]); });
  }

  // Lines between cells of different cases.
  std::string Borders(const Drawing& drawing) const {
    std::string d;
    const auto x = [&](std::size_t i) { return drawing.X(x0_ + 2 * hx_ * static_cast<double>(i)); };
    const auto y = [&](std::size_t i) { return drawing.Y(y0_ + 2 * hy_ * static_cast<double>(i)); };
    for (std::size_t iy = 0; iy < ny_; ++iy)
      for (std::size_t ix = 0; ix < nx_; ++ix) {
        const std::string& here = points_[iy * nx_ + ix].course;
        if (ix + 1 < nx_ && points_[iy * nx_ + ix + 1].course != here)
          d += fmt::format("M{:.1f} {:.1f}V{:.1f}", x(ix + 1), y(iy), y(iy + 1));
        if (iy + 1 < ny_ && points_[(iy + 1) * nx_ + ix].course != here)
          d += fmt::format("M{:.1f} {:.1f}H{:.1f}", x(ix), y(iy + 1), x(ix + 1));
      }
    return fmt::format(
        "<path d=\"{}\" stroke=\"#000000\" stroke-opacity=\"0.6\" stroke-width=\"1\" "
        "fill=\"none\"/>",
        d);
  }

  // The name of the case at the inmost point of every connected region that has room for it.
  void Names(Drawing& drawing) const {
    std::vector<int> depth(points_.size(), 0);
    std::vector<std::size_t> front;
    const auto neighbours = [&](std::size_t i, auto&& visit) {
      const std::size_t ix = i % nx_, iy = i / nx_;
      if (ix > 0) visit(i - 1);
      if (ix + 1 < nx_) visit(i + 1);
      if (iy > 0) visit(i - nx_);
      if (iy + 1 < ny_) visit(i + nx_);
    };
    for (std::size_t i = 0; i < points_.size(); ++i) {
      bool edge = i % nx_ == 0 || i % nx_ == nx_ - 1 || i / nx_ == 0 || i / nx_ == ny_ - 1;
      neighbours(i, [&](std::size_t k) { edge = edge || points_[k].course != points_[i].course; });
      if (edge) depth[i] = 1, front.push_back(i);
    }
    while (!front.empty()) {
      std::vector<std::size_t> next;
      for (const std::size_t i : front)
        neighbours(i, [&](std::size_t k) {
          if (depth[k] == 0) depth[k] = depth[i] + 1, next.push_back(k);
        });
      front = std::move(next);
    }
    std::vector<char> seen(points_.size(), 0);
    const double cell =
        std::min(kPlotWidth / static_cast<double>(nx_), kPlotHeight / static_cast<double>(ny_));
    for (std::size_t start = 0; start < points_.size(); ++start) {
      if (seen[start]) continue;
      std::vector<std::size_t> region = {start};
      seen[start] = 1;
      std::size_t best = start;
      for (std::size_t n = 0; n < region.size(); ++n) {
        const std::size_t i = region[n];
        if (depth[i] > depth[best]) best = i;
        neighbours(i, [&](std::size_t k) {
          if (!seen[k] && points_[k].course == points_[start].course)
            seen[k] = 1, region.push_back(k);
        });
      }
      if (depth[best] * cell < 7) continue;
      // The middle of all inmost points that lie near the first.
      double sx = 0, sy = 0, n = 0;
      for (const std::size_t i : region)
        if (depth[i] == depth[best]) {
          const std::size_t column = i % nx_, row = i / nx_;
          sx += static_cast<double>(column), sy += static_cast<double>(row), ++n;
        }
      const auto mx = static_cast<std::size_t>(sx / n), my = static_cast<std::size_t>(sy / n);
      if (points_[my * nx_ + mx].course == points_[start].course &&
          depth[my * nx_ + mx] >= depth[best] - 1)
        best = my * nx_ + mx;
      const std::size_t column = best % nx_, row = best / nx_;
      drawing.Label(drawing.X(x0_ + hx_ * (2 * static_cast<double>(column) + 1)),
                    drawing.Y(y0_ + hy_ * (2 * static_cast<double>(row) + 1)),
                    points_[start].course.empty() ? "?" : points_[start].course);
    }
  }

  std::string Draw(const std::string& picture, std::size_t law) const {
    const MapSweep& sweep = map_.sweep;
    const int quantity = QuantityIndex(picture);
    if (quantity < 0) {
      Drawing drawing(Title(map_, "Case of the impact", law), x0_, x1_, y0_, y1_);
      drawing.Add(Pixels([](const MapPoint& point) { return CaseColour(point.course); }) +
                  Borders(drawing));
      drawing.Axes(sweep.x.label, sweep.y->label);
      Names(drawing);
      drawing.Legend(CaseLegend(Courses(points_)));
      return drawing.Svg();
    }
    const auto q = static_cast<std::size_t>(quantity);
    const MapQuantity& kind = MapQuantities()[q];
    const Scale scale = ScaleOf(points_, q, kind.is_signed);
    Drawing drawing(Title(map_, Heading(kind), law), x0_, x1_, y0_, y1_);
    drawing.Add(Pixels([&](const MapPoint& point) { return scale(point.values[q]); }) +
                Borders(drawing));
    drawing.Axes(sweep.x.label, sweep.y->label);
    // The scale as a column of 64 steps.
    const double x = kWidth - kRight + 22, step = kPlotHeight / 64;
    for (int i = 0; i < 64; ++i)
      drawing.Add(
          fmt::format("<rect x=\"{}\" y=\"{:.2f}\" width=\"20\" height=\"{:.2f}\" fill=\"{}\"/>", x,
                      kTop + (63 - i) * step, step + 0.4,
                      Hex(scale(scale.low + (i + 0.5) / 64 * (scale.high - scale.low)))));
    drawing.Add(fmt::format(
        "<rect x=\"{}\" y=\"{}\" width=\"20\" height=\"{}\" fill=\"none\" stroke=\"#1b2127\"/>", x,
        kTop, kPlotHeight));
    const auto ticks = Ticks(scale.low, scale.high, 6);
    for (const double tick : ticks)
      drawing.Text(x + 28,
                   kTop + kPlotHeight * (scale.high - tick) / (scale.high - scale.low) + 4.5,
                   TickLabel(tick, ticks.size() > 1 ? ticks[1] - ticks[0] : 0));
    drawing.Text(x, kHeight - 16, "lines: borders of cases", "font-size=\"12\" fill=\"#59646e\"");
    return drawing.Svg();
  }

 private:
  const ImpactMap& map_;
  const std::vector<MapPoint>& points_;
  std::size_t nx_, ny_;
  double hx_ = 0, hy_ = 0, x0_ = 0, x1_ = 1, y0_ = 0, y1_ = 1;
};

// Cases of one law as a band between two heights, with their names where there is room.
void Band(Drawing& drawing, const ImpactMap& map, std::size_t law, double top, double bottom,
          double opacity) {
  const auto& x = map.sweep.x.shown;
  for (std::size_t first = 0; first < x.size();) {
    std::size_t last = first;
    while (last + 1 < x.size() && map.At(law, last + 1, 0).course == map.At(law, first, 0).course)
      ++last;
    const double left = drawing.X(first == 0 ? x.front() : 0.5 * (x[first - 1] + x[first])),
                 right = drawing.X(last + 1 == x.size() ? x.back() : 0.5 * (x[last] + x[last + 1]));
    const std::string& course = map.At(law, first, 0).course;
    drawing.Add(fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\" "
        "fill-opacity=\"{}\"/>",
        left, top, std::max(right - left, 0.8), bottom - top, Hex(CaseColour(course)), opacity));
    if (right - left > 9.0 * static_cast<double>(course.size()) + 4)
      drawing.Label(0.5 * (left + right), std::min(top + 14, 0.5 * (top + bottom)),
                    course.empty() ? "?" : course);
    first = last + 1;
  }
}

std::string DrawScan(const ImpactMap& map, const std::string& picture) {
  static const char* const kInks[6] = {"#000000", "#d55e00", "#0072b2",
                                       "#009e73", "#cc79a7", "#7a5c00"};
  static const char* const kDashes[6] = {"none", "7 4", "2 3", "10 3 2 3", "5 2", "1 2"};
  const MapSweep& sweep = map.sweep;
  const double x0 = sweep.x.shown.front(), x1 = sweep.x.shown.back();
  const int quantity = QuantityIndex(picture);
  std::vector<std::string> courses;
  for (std::size_t law = 0; law < sweep.laws.size(); ++law)
    for (const std::string& course : Courses(map.points[law]))
      if ((quantity < 0 || law == 0) &&
          std::find(courses.begin(), courses.end(), course) == courses.end())
        courses.push_back(course);
  std::sort(courses.begin(), courses.end());
  if (quantity < 0) {
    Drawing drawing("Case of the impact", x0, x1, 0, 1);
    const double height = kPlotHeight / static_cast<double>(sweep.laws.size());
    for (std::size_t law = 0; law < sweep.laws.size(); ++law) {
      const double top = kTop + height * static_cast<double>(law);
      Band(drawing, map, law, top, top + height, 1);
      if (law > 0)
        drawing.Add(
            fmt::format("<path d=\"M{} {:.1f}h{}\" stroke=\"#1b2127\"/>", kLeft, top, kPlotWidth));
      drawing.Text(
          0, 0, sweep.laws[law],
          fmt::format("text-anchor=\"middle\" transform=\"translate({} {:.1f}) rotate(-90)\"",
                      kLeft - 12, top + height / 2));
    }
    drawing.Axes(sweep.x.label, "law", false);
    drawing.Legend(CaseLegend(courses));
    return drawing.Svg();
  }
  const auto q = static_cast<std::size_t>(quantity);
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const auto& points : map.points)
    for (const MapPoint& point : points)
      if (std::isfinite(point.values[q]))
        low = std::min(low, point.values[q]), high = std::max(high, point.values[q]);
  if (!(high >= low)) low = 0, high = 1;
  const double pad = high > low ? 0.07 * (high - low) : std::max(0.1, 0.1 * std::abs(high));
  Drawing drawing(Heading(MapQuantities()[q]), x0, x1, low - pad, high + 2.2 * pad);
  Band(drawing, map, 0, kTop, kTop + kPlotHeight, 0.28);
  drawing.Axes(sweep.x.label, MapQuantities()[q].label, true, true);
  for (std::size_t law = 0; law < sweep.laws.size(); ++law) {
    std::string d;
    bool pen = false;
    for (std::size_t i = 0; i < sweep.x.shown.size(); ++i) {
      const double value = map.At(law, i, 0).values[q];
      // A jump between neighbouring cases is drawn as the step it is.
      if (std::isfinite(value))
        d += fmt::format("{}{:.1f} {:.1f}", pen ? "L" : "M", drawing.X(sweep.x.shown[i]),
                         drawing.Y(value));
      pen = std::isfinite(value);
    }
    drawing.Add(fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2.2\" stroke-dasharray=\"{}\"/>",
        d, kInks[law % 6], kDashes[law % 6]));
  }
  drawing.Legend(CaseLegend(courses));
  double y = kTop + 8 + 25 * static_cast<double>(courses.size()) + 14;
  for (std::size_t law = 0; law < sweep.laws.size(); ++law, y += 23) {
    const double x = kWidth - kRight + 18;
    drawing.Add(fmt::format(
        "<path d=\"M{} {}h34\" stroke=\"{}\" stroke-width=\"2.2\" stroke-dasharray=\"{}\"/>", x, y,
        kInks[law % 6], kDashes[law % 6]));
    drawing.Text(x + 44, y + 4.5, sweep.laws[law]);
  }
  drawing.Text(kWidth - kRight + 18, y + 4, "background: cases, " + sweep.laws[0],
               "font-size=\"12\" fill=\"#59646e\"");
  return drawing.Svg();
}

}  // namespace

std::string MapSvg(const ImpactMap& map, const std::string& picture, std::size_t law) {
  return map.sweep.y ? Map2d(map, law).Draw(picture, law) : DrawScan(map, picture);
}

}  // namespace impactlab
