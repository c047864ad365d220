// Drawings over the area of a picture: residuals, coverage, uncertainty, and the picture itself.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/files/base64.h"
#include "data/statistics/order_statistic.h"
#include "pipelines/calibrate/detail/page_parts.h"
#include "pipelines/page/svg_axes.h"
#include "tracking/video/video.h"

namespace impactlab::pipelines {
namespace {

// The picture with axes in pixels; y runs down.
class ImageMap {
 public:
  ImageMap(int width, int height, const std::string& title)
      : scale_((kWidth - kLeft - kRight) / width) {
    const double bottom = kTop + scale_ * height;
    svg_ = fmt::format(
        "<svg class=\"map\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">", kWidth,
        bottom + kBottom, Escape(title));
    axes_ =
        TickTextsX(AxisTicks({0, double(width), X(0), X(width)}, 6), bottom + 18, "") +
        TickTextsY(AxisTicks({0, double(height), Y(0), Y(height)}, 5), kLeft - 7, "class=\"end\"");
    axes_ += fmt::format("<path class=\"frame\" d=\"M{:.1f} {:.1f}H{:.1f}V{:.1f}H{:.1f}Z\"/>",
                         X(-0.5), Y(-0.5), X(width - 0.5), Y(height - 0.5), X(-0.5));
    // Lines are clipped at the picture, as in the static plots.
    inner_ = fmt::format(
        "<svg x=\"{0:.1f}\" y=\"{1:.1f}\" width=\"{2:.1f}\" height=\"{3:.1f}\" viewBox=\"{0:.1f} "
        "{1:.1f} {2:.1f} {3:.1f}\" overflow=\"hidden\">",
        X(-0.5), Y(-0.5), scale_ * width, scale_ * height);
  }
  double X(double x) const { return kLeft + scale_ * (x + 0.5); }
  double Y(double y) const { return kTop + scale_ * (y + 0.5); }
  double scale() const { return scale_; }
  void Add(const std::string& svg) { inner_ += svg; }
  std::string Html() const { return svg_ + inner_ + "</svg>" + axes_ + "</svg>"; }

 private:
  static constexpr double kWidth = 640, kLeft = 48, kRight = 8, kTop = 8, kBottom = 26;
  double scale_;
  std::string svg_, inner_, axes_;
};

double RoundDown(double value) {
  if (!(value > 0) || !std::isfinite(value)) return 1;
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  return power * (value / power >= 5 ? 5 : value / power >= 2 ? 2 : 1);
}

std::string Arrow(double x, double y, double dx, double dy) {
  const double length = std::hypot(dx, dy), head = std::min(5.0, 0.4 * length);
  std::string d = fmt::format("M{:.1f} {:.1f}l{:.1f} {:.1f}", x, y, dx, dy);
  if (length < 2) return d;
  const double ux = dx / length, uy = dy / length;
  for (const double side : {-0.5, 0.5})
    d += fmt::format("M{:.1f} {:.1f}l{:.1f} {:.1f}", x + dx, y + dy, head * (-ux + side * uy),
                     head * (-uy - side * ux));
  return d;
}

std::string Figured(const std::string& title, const std::string& drawing,
                    const std::string& caption) {
  return fmt::format("<figure class=\"figure\"><h3>{}</h3>{}<figcaption>{}</figcaption></figure>\n",
                     Escape(title), drawing, caption);
}

}  // namespace

std::string ResidualFieldSvg(const RigContext& context, std::size_t camera) {
  const CameraSetup& setup = context.run.problem.cameras[camera];
  const ResidualStatistics& statistics = context.run.certificate.cameras[camera].residuals;
  ImageMap map(setup.width, setup.height, "Residuals over the picture of camera " + setup.name);
  // Thin lines: a typical one is seen without covering its neighbours. Arrows: the mean of a cell
  // with its standard error.
  const double thin = RoundDown(7 / std::max(1e-6, statistics.rms * map.scale()));
  double largest = 0;
  for (const ResidualCell& cell : statistics.cells)
    if (cell.n >= 3) largest = std::max(largest, cell.mean.norm());
  const double bold = RoundDown(26 / std::max(1e-6, largest * map.scale()));
  std::string lines, arrows, real, rings;
  for (std::size_t k = 0; k < context.run.problem.shots.size(); ++k) {
    if (!context.used(k, camera)) continue;
    for (const PointResidual& p : context.view(k, camera)->points)
      if (!p.outlier)
        lines +=
            fmt::format("M{:.1f} {:.1f}l{:.1f} {:.1f}", map.X(p.q.x()), map.Y(p.q.y()),
                        thin * map.scale() * p.residual.x(), thin * map.scale() * p.residual.y());
  }
  int n_real = 0;
  for (const ResidualCell& cell : statistics.cells) {
    if (cell.n < 3) continue;
    const double x = map.X(cell.centre.x()), y = map.Y(cell.centre.y()), s = bold * map.scale();
    // Outside three standard errors of one coordinate a mean of two is seldom chance (1 %).
    const bool beyond = cell.mean.norm() > 3.03 * cell.se;
    n_real += beyond;
    (beyond ? real : arrows) += Arrow(x, y, s * cell.mean.x(), s * cell.mean.y());
    rings += fmt::format("<circle class=\"ring\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>", x, y,
                         3.03 * s * cell.se);
  }
  map.Add(
      fmt::format("<path class=\"thin\" d=\"{}\"/>{}<path class=\"arrow\" d=\"{}\"/><path "
                  "class=\"arrow real\" d=\"{}\"/>",
                  lines, rings, arrows, real));
  return Figured(
      setup.name, map.Html(),
      fmt::format("From where a point was seen to where the calibration puts it. Thin lines: "
                  "single points, drawn {:g} times too long. Arrows: mean of a cell, {:g} times; "
                  "inside its circle it may be chance. {}",
                  thin, bold,
                  n_real == 0
                      ? "No cell is beyond chance."
                      : fmt::format("{} (orange); one in a hundred is expected without any error.",
                                    Count(n_real, "cell") +
                                        (n_real == 1 ? " is beyond it" : " are beyond it"))));
}

std::string CoverageSvg(const RigContext& context, std::size_t camera) {
  const CameraSetup& setup = context.run.problem.cameras[camera];
  const CameraGeometry& geometry = context.run.certificate.geometry.cameras[camera];
  if (setup.width <= 0 || setup.height <= 0)
    return Figured(setup.name, "", "No picture of this camera could be used.");
  ImageMap map(setup.width, setup.height, "Where camera " + setup.name + " saw the board");
  const int most = geometry.cell_points.empty() ? 0
                                                : *std::max_element(geometry.cell_points.begin(),
                                                                    geometry.cell_points.end());
  const double w = static_cast<double>(setup.width) / std::max(1, geometry.coverage_columns),
               h = static_cast<double>(setup.height) / std::max(1, geometry.coverage_rows);
  std::string numbers;
  for (std::size_t k = 0; k < geometry.cell_points.size(); ++k) {
    const int column = static_cast<int>(k) % geometry.coverage_columns,
              row = static_cast<int>(k) / geometry.coverage_columns;
    const double x = column * w - 0.5, y = row * h - 0.5;
    const int n = geometry.cell_points[k];
    if (n > 0) {
      map.Add(
          fmt::format("<path class=\"cell more\" fill-opacity=\"{:.2f}\" d=\"M{:.1f} "
                      "{:.1f}h{:.1f}v{:.1f}h{:.1f}Z\"/>",
                      0.12 + 0.5 * std::sqrt(static_cast<double>(n) / most), map.X(x), map.Y(y),
                      map.scale() * w, map.scale() * h, -map.scale() * w));
    }
    numbers += fmt::format("<text class=\"count\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>",
                           map.X(x + w / 2), map.Y(y + h / 2) + 5, n);
  }
  std::string points;
  for (std::size_t k = 0; k < context.run.problem.shots.size(); ++k)
    for (const BoardPoint& p : context.run.problem.shots[k].views[camera].points)
      points += fmt::format("M{:.1f} {:.1f}h0", map.X(p.q.x()), map.Y(p.q.y()));
  map.Add("<path class=\"point\" d=\"" + points + "\"/>" + numbers);
  std::string caption =
      fmt::format("Points found in {}, counted by cell. {} of the cells hold one.",
                  Count(geometry.shots, "picture"), Percent(geometry.coverage));
  if (geometry.depth_far > 0)
    caption +=
        fmt::format(" Boards from {} to {} away, tilted against each other by up to {}\u00A0°.",
                    LengthWords(geometry.depth_near), LengthWords(geometry.depth_far),
                    Num(geometry.tilt_spread * 180 / 3.14159265358979, 2));
  return Figured(setup.name, map.Html(), caption);
}

// 1, 2 and 5 times powers of ten between the extremes; six at most, for more cannot be
// distinguished.
std::vector<double> ContourLevels(double least, double most) {
  std::vector<double> levels;
  double power = std::pow(10.0, std::floor(std::log10(least)));
  while (power <= most) {
    for (const double step : {1.0, 2.0, 5.0})
      if (step * power > least && step * power < most) levels.push_back(step * power);
    power *= 10;
  }
  while (levels.size() > 6)
    for (std::size_t k = 1; k < levels.size(); ++k)
      levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(k));
  return levels;
}

std::string UncertaintySvg(const RigContext& context, std::size_t camera) {
  const CameraSetup& setup = context.run.problem.cameras[camera];
  const CameraCertificate& certificate = context.run.certificate.cameras[camera];
  const UncertaintyMap& u = certificate.at_distance;
  if (u.columns < 2 || u.rows < 2) return {};
  ImageMap map(setup.width, setup.height, "Uncertainty over the picture of camera " + setup.name);
  std::vector<double> x, y;
  for (int i = 0; i < u.columns; ++i) x.push_back(u.q[i].x());
  for (int j = 0; j < u.rows; ++j) y.push_back(u.q[j * u.columns].y());
  Eigen::MatrixXd sd(u.columns, u.rows), inside(u.columns, u.rows);
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (int j = 0; j < u.rows; ++j) {
    for (int i = 0; i < u.columns; ++i) {
      const int k = j * u.columns + i;
      sd(i, j) = u.valid[k] ? u.sd_pixel[k] : std::nan("");
      inside(i, j) = u.covered[k] ? 1 : 0;
      if (u.valid[k]) least = std::min(least, u.sd_pixel[k]), most = std::max(most, u.sd_pixel[k]);
    }
  }
  if (!(most > 0)) return {};
  const double span = std::max(0.2, std::log(most / least));
  const double w = x[1] - x[0], h = y[1] - y[0];
  for (int j = 0; j < u.rows; ++j)
    for (int i = 0; i < u.columns; ++i)
      if (std::isfinite(sd(i, j)))
        map.Add(
            fmt::format("<path class=\"cell doubt\" fill-opacity=\"{:.2f}\" d=\"M{:.1f} "
                        "{:.1f}h{:.1f}v{:.1f}h{:.1f}Z\"/>",
                        0.04 + 0.6 * std::log(sd(i, j) / least) / span,
                        map.X(x[static_cast<std::size_t>(i)] - w / 2),
                        map.Y(y[static_cast<std::size_t>(j)] - h / 2), map.scale() * w,
                        map.scale() * h, -map.scale() * w));
  const auto path = [&](const Series& s) {
    std::string d;
    bool pen = false;
    for (std::size_t k = 0; k < s.x.size(); ++k) {
      const bool there = std::isfinite(s.x[k]) && std::isfinite(s.y[k]);
      if (there) d += fmt::format("{}{:.1f} {:.1f}", pen ? "L" : "M", map.X(s.x[k]), map.Y(s.y[k]));
      pen = there;
    }
    return d;
  };
  const std::vector<double> levels = ContourLevels(least, most);
  std::string labels;
  for (const double level : levels) {
    const Series s = Contour(x, y, sd, level, "", kInk);
    if (s.x.empty()) continue;
    map.Add("<path class=\"contour\" d=\"" + path(s) + "\"/>");
    // Where the line is farthest down on the right half, labels of nested lines do not meet.
    std::size_t best = s.x.size();
    for (std::size_t k = 0; k < s.x.size(); ++k)
      if (std::isfinite(s.x[k]) && s.y[k] < y.back() - 0.02 * setup.height &&
          s.y[k] > y.front() + 0.04 * setup.height && s.x[k] > x.front() + 0.06 * setup.width &&
          s.x[k] < x.back() - 0.06 * setup.width &&
          (best == s.x.size() ||
           std::abs(s.x[k] - 0.62 * setup.width) < std::abs(s.x[best] - 0.62 * setup.width)))
        best = k;
    if (best < s.x.size())
      labels += fmt::format("<text class=\"level\" x=\"{:.1f}\" y=\"{:.1f}\">{:g} px</text>",
                            map.X(s.x[best]), map.Y(s.y[best]) + 4, level);
  }
  map.Add("<path class=\"edge\" d=\"" + path(Contour(x, y, inside, 0.5, "", kInk)) + "\"/>" +
          labels);
  return Figured(
      setup.name, map.Html(),
      fmt::format("Standard deviation of where a point {} away appears, along its worst direction. "
                  "Inside the dashed line, where the lens was measured, half of the values are "
                  "below {}\u00A0px ({}), nine tenths below {}\u00A0px ({}).",
                  LengthWords(u.distance), Num(certificate.sd_pixel_median, 2),
                  LengthWords(certificate.sd_across_median), Num(certificate.sd_pixel_90, 2),
                  LengthWords(certificate.sd_across_90)));
}

namespace {

// Mean over blocks of `by` x `by` pixels.
GrayImage Shrink(const GrayImage& image, int by) {
  GrayImage out{image.width / by, image.height / by, {}};
  out.pixels.resize(static_cast<std::size_t>(out.width) * out.height);
  for (int y = 0; y < out.height; ++y) {
    for (int x = 0; x < out.width; ++x) {
      int sum = 0;
      for (int j = 0; j < by; ++j)
        for (int i = 0; i < by; ++i) sum += image.At(x * by + i, y * by + j);
      out.At(x, y) = static_cast<std::uint8_t>((sum + by * by / 2) / (by * by));
    }
  }
  return out;
}

}  // namespace

std::string PhotoSvg(const RigContext& context, const ShownView& shown) {
  const BoardView& view = context.run.problem.shots[shown.shot].views[shown.camera];
  const ViewResult* fit = context.view(shown.shot, shown.camera);
  const int width = view.width, height = view.height;
  if (width <= 0 || height <= 0) return {};
  // One unit of the drawing is a pixel of the screen at full width.
  const double s = 700.0 / width;
  const auto X = [&](double x) { return s * (x + 0.5); };
  std::string svg = fmt::format(
      "<svg class=\"photo\" viewBox=\"0 0 700 {:.0f}\" role=\"img\" aria-label=\"Picture of {}\">",
      s * height, Escape(ShotTitle(context, shown.shot, shown.camera)));
  if (!shown.image.pixels.empty()) {
    // Quantised a little: the noise of the last bits is most of the size of a PNG.
    GrayImage small = Shrink(shown.image, std::max(1, (shown.image.width + 699) / 700));
    for (std::uint8_t& v : small.pixels) v = static_cast<std::uint8_t>(v & 0xF8);
    const std::string png = EncodePng(small);
    svg += fmt::format(
        "<image width=\"700\" height=\"{:.1f}\" preserveAspectRatio=\"none\" "
        "href=\"data:image/png;base64,{}\"/>",
        s * height, Base64(png));
  }
  const int columns = context.run.problem.board.columns;
  std::string order, seen, said, off, out;
  int previous = -2;
  for (const BoardPoint& p : view.points) {
    const bool next = p.id == previous + 1 && p.id % columns != 0;
    order += fmt::format("{}{:.1f} {:.1f}", next ? "L" : "M", X(p.q.x()), X(p.q.y()));
    previous = p.id;
    seen += fmt::format("M{:.1f} {:.1f}m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0", X(p.q.x()), X(p.q.y()));
  }
  double factor = 1;
  if (fit != nullptr && !fit->points.empty()) {
    std::vector<double> lengths;
    for (const PointResidual& p : fit->points) lengths.push_back(p.residual.norm());
    const double large = OrderStatistic(lengths, 9 * (lengths.size() - 1) / 10);
    factor = std::max(1.0, RoundDown(22 / std::max(1e-6, s * large)));
    for (const PointResidual& p : fit->points) {
      const Eigen::Vector2d at(X(p.q.x()), X(p.q.y())), to = at + s * factor * p.residual;
      off += fmt::format("M{:.1f} {:.1f}L{:.1f} {:.1f}", at.x(), at.y(), to.x(), to.y());
      said += fmt::format("M{:.1f} {:.1f}m-3 -3l6 6m0 -6l-6 6", at.x() + s * p.residual.x(),
                          at.y() + s * p.residual.y());
      if (p.outlier)
        out += fmt::format("M{:.1f} {:.1f}m-8 0a8 8 0 1 0 16 0a8 8 0 1 0 -16 0", at.x(), at.y());
    }
  }
  svg += fmt::format(
      "<path class=\"order\" d=\"{}\"/><path class=\"off\" d=\"{}\"/><path class=\"seen\" "
      "d=\"{}\"/><path class=\"said\" d=\"{}\"/><path class=\"out\" d=\"{}\"/>",
      order, off, seen, said, out);
  if (!view.points.empty())
    svg += fmt::format("<circle class=\"first\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"/>",
                       X(view.points[0].q.x()), X(view.points[0].q.y()));
  svg += "</svg>";
  std::string caption =
      fmt::format("<b>{}</b> ({})", Escape(ShotTitle(context, shown.shot, shown.camera)),
                  Escape(std::filesystem::path(view.image).filename().string()));
  if (fit != nullptr && context.used(shown.shot, shown.camera)) {
    caption += fmt::format(": {}\u00A0px rms", Fixed(fit->rms, 3));
    const auto n_out = std::count_if(fit->points.begin(), fit->points.end(),
                                     [](const PointResidual& p) { return p.outlier; });
    if (n_out > 0) caption += fmt::format(", {} left out", Count(n_out, "point"));
  }
  if (fit != nullptr && !fit->rejected.empty()) caption += ": left out. " + Escape(fit->rejected);
  if (fit != nullptr && !fit->note.empty()) caption += "; " + Escape(fit->note);
  if (fit != nullptr && !fit->points.empty())
    caption += fmt::format(". Lines: residuals, {:g} times too long.", factor);
  if (shown.image.pixels.empty()) caption += " The picture could not be read again.";
  return "<figure class=\"figure\">" + svg + "<figcaption>" + caption + "</figcaption></figure>\n";
}

}  // namespace impactlab::pipelines
