#include "tracking/marker/detail/model.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "tracking/marker/detail/simd.h"

namespace impactlab::tracking {

namespace {

using std::numbers::pi;

constexpr double kReach = 4.5;      // of the kernel beyond the pixel [blur]
constexpr double kSpacing = 1.35;   // of the nodes of an ellipse [blur]
constexpr double kSharpest = 0.05;  // a sharper image is drawn with this blur [px]
// of the nodes where the motion smooths what they do not resolve [blur]
constexpr double kSpacingMoving = 1.6;
constexpr int kLargestRule = 16;    // nodes of one Gauss-Legendre panel
constexpr int kKernelEdges = 512;   // pixel edges a kernel reaches at most
constexpr double kWidestBlur = 50;  // [px]
// of a node within its pixel, for which kernels are tabulated: series from there err below 1e-8
constexpr int kPhases = 64;
constexpr double kSharpestTable = 0.3;  // [px]
constexpr double kWidestTable = 3;      // [px]
constexpr double kTableEnd = 6;         // of the normal distribution [standard deviations]
constexpr double kTableStep = 1. / 64;  // [standard deviations]

// Density and distribution of the standard normal by a Taylor series about the nearest entry of a
// table: errors below 1e-9, and several times faster than erfc and exp.
class NormalTable {
 public:
  NormalTable() {
    for (int i = 0; i < kSize; ++i) {
      const double z = i * kTableStep - kTableEnd;
      entries_[i] = {std::exp(-z * z / 2) / std::sqrt(2 * pi),
                     std::erfc(-z / std::numbers::sqrt2) / 2};
    }
  }
  void At(double z, double* density, double* distribution) const {
    if (!(z > -kTableEnd) || !(z < kTableEnd)) {
      *density = 0;
      *distribution = z < 0 ? 0 : 1;
      return;
    }
    const int i = static_cast<int>((z + kTableEnd + 0.5 * kTableStep) / kTableStep);
    const double z0 = i * kTableStep - kTableEnd, h = z - z0, second = z0 * z0 - 1;
    const Entry& entry = entries_[i];
    *density = entry.density * (1 + h * (-z0 + h * (second / 2 - h * z0 * (z0 * z0 - 3) / 6)));
    *distribution = entry.distribution + entry.density * h * (1 + h * (-z0 / 2 + h * second / 6));
  }

 private:
  struct Entry {
    double density, distribution;
  };
  static constexpr int kSize = static_cast<int>(2 * kTableEnd / kTableStep) + 1;
  std::array<Entry, kSize> entries_;
};

const NormalTable& Normal() {
  static const NormalTable table;
  return table;
}

struct LineNode {
  double s, weight;  // on a line from -1/2 to 1/2, of length 1
};

// Gauss-Legendre rule with n nodes, by Newton's method on the Legendre polynomial.
std::vector<LineNode> GaussLegendre(int n) {
  std::vector<LineNode> rule(n);
  for (int i = 0; i < n; ++i) {
    double x = std::cos(pi * (i + 0.75) / (n + 0.5)), derivative = 1;
    for (int pass = 0; pass < 50; ++pass) {
      double before = 1, value = x;
      for (int k = 2; k <= n; ++k) {
        const double next = ((2 * k - 1) * x * value - (k - 1) * before) / k;
        before = value;
        value = next;
      }
      derivative = n * (x * value - before) / (x * x - 1);
      const double step = value / derivative;
      x -= step;
      if (std::abs(step) < 1e-15) break;
    }
    rule[i] = {x / 2, 1 / ((1 - x * x) * derivative * derivative)};
  }
  return rule;
}

// Calls take(s, weight) for at least n nodes on the line from -1/2 to 1/2.
template <typename Take>
void OnLine(int n, const Take& take) {
  static const auto rules = [] {
    std::array<std::vector<LineNode>, kLargestRule + 1> all;
    all[1] = {{0, 1}};
    for (int k = 2; k <= kLargestRule; ++k) all[k] = GaussLegendre(k);
    return all;
  }();
  const int panels = (n + kLargestRule - 1) / kLargestRule, each = (n + panels - 1) / panels;
  for (int panel = 0; panel < panels; ++panel)
    for (const LineNode& node : rules[each])
      take((panel + 0.5 + node.s) / panels - 0.5, node.weight / panels);
}

// Nodes of a Gauss-Legendre rule that are enough for a line of this length under the kernel.
int LineNodes(double base, double slope, double length, double blur) {
  return std::clamp(static_cast<int>(std::ceil(base + slope * length / blur)), 1, 2000);
}

// Adds what one node does to rows of pixels: kernel * by to their channels, the rise to the cover.
// The hot loop.
#ifdef IMPACTLAB_FMA
IMPACTLAB_FMA void StampRowsFma(double* line, std::ptrdiff_t stride, int rows, int columns,
                                const double* kernel_y, const double* kernel_x, const double* rise,
                                const double* by, double nx) {
  static_assert(kByX == 0 && kByForm + 2 == 4 && kCover == 5 && kCoverChannels == 8);
  const data::Four by_first = data::FourAt(by), by_last = {by[4], 0, 0, 0}, lift = {0, -nx, 0, 0};
  for (int row = 0; row < rows; ++row, line += stride) {
    const data::Four first = kernel_y[row] * by_first, last = kernel_y[row] * by_last,
                     up = kernel_y[row] * lift;
    double* p = line;
    for (int column = 0; column < columns; ++column, p += kCoverChannels) {
      data::FourAt(p) += kernel_x[column] * first;
      data::FourAt(p + 4) += kernel_x[column] * last + rise[column] * up;
    }
  }
}
#endif
void StampRows(double* line, std::ptrdiff_t stride, int rows, int columns, const double* kernel_y,
               const double* kernel_x, const double* rise, const double* by, double nx) {
#ifdef IMPACTLAB_FMA
  if (data::HasFma())
    return StampRowsFma(line, stride, rows, columns, kernel_y, kernel_x, rise, by, nx);
#endif
  for (int row = 0; row < rows; ++row, line += stride) {
    double* p = line;
    for (int column = 0; column < columns; ++column, p += kCoverChannels) {
      const double k = kernel_y[row] * kernel_x[column];
      for (int a = 0; a < 5; ++a) p[a] += k * by[a];
      p[kCover] -= rise[column] * kernel_y[row] * nx;
    }
  }
}

// Taylor series in `h`: four coefficients of `n` values, one after another.
__attribute__((target_clones("arch=haswell", "default"), optimize("O3"))) void Series(
    const double* __restrict c, int n, double h, double* __restrict out) {
  for (int i = 0; i < n; ++i)
    out[i] = c[i] + h * (c[n + i] + h * (c[2 * n + i] + h * c[3 * n + i]));
}

}  // namespace

double MarkerOutline::Area() const {
  if (shape == MarkerShape::kStripe) return 4 * form[0] * form[1];
  return pi * std::abs(form[0] * form[1] - form[2] * form[2]);
}

Eigen::Vector2d MarkerOutline::HalfBox() const {
  Eigen::Vector2d half;
  if (shape == MarkerShape::kStripe) {
    const double cos = std::abs(std::cos(form[2])), sin = std::abs(std::sin(form[2]));
    half = {form[0] * cos + form[1] * sin, form[0] * sin + form[1] * cos};
  } else {
    half = {std::hypot(form[0], form[2]), std::hypot(form[1], form[2])};
  }
  return half + motion.cwiseAbs() / 2;
}

FormAxes AxesOf(const MarkerOutline& outline) {
  FormAxes axes;
  if (outline.shape == MarkerShape::kStripe) {
    axes = {outline.form[0], outline.form[1], outline.form[2]};
    if (axes.minor > axes.major) {
      std::swap(axes.major, axes.minor);
      axes.angle += pi / 2;
    }
  } else {
    Eigen::Matrix2d s;
    s << outline.form[0], outline.form[2], outline.form[2], outline.form[1];
    Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d> eigen;
    eigen.computeDirect(s);
    axes = {eigen.eigenvalues()[1], eigen.eigenvalues()[0],
            std::atan2(eigen.eigenvectors()(1, 1), eigen.eigenvectors()(0, 1))};
  }
  axes.angle -= pi * std::round(axes.angle / pi);
  if (axes.angle <= -pi / 2) axes.angle += pi;
  return axes;
}

Eigen::Vector3d FormOf(MarkerShape shape, const FormAxes& axes) {
  if (shape == MarkerShape::kStripe) return {axes.major, axes.minor, axes.angle};
  const double cos = std::cos(axes.angle), sin = std::sin(axes.angle);
  return {axes.major * cos * cos + axes.minor * sin * sin,
          axes.major * sin * sin + axes.minor * cos * cos, (axes.major - axes.minor) * cos * sin};
}

void MarkerCover::PlaceNodes(const MarkerOutline& outline) {
  nodes_.clear();
  const Eigen::Vector3d& form = outline.form;
  if (outline.shape == MarkerShape::kDisc) {
    const double spacing = outline.motion.norm() > 3 * blur_ ? kSpacingMoving : kSpacing;
    const double longest =
        0.5 * (form[0] + form[1]) + std::hypot(0.5 * (form[0] - form[1]), form[2]);
    const int n =
        std::clamp(static_cast<int>(std::ceil(2 * pi * longest / (spacing * blur_))) + 4, 8, 20000);
    // Consecutive angles by rotation: exact enough over a turn, and no trigonometry a node.
    const double step = 2 * pi / n, cos_step = std::cos(step), sin_step = std::sin(step);
    double cos = std::cos(0.5 * step), sin = std::sin(0.5 * step);
    for (int k = 0; k < n; ++k) {
      const double nx = (-form[2] * sin + form[1] * cos) * step,
                   ny = (form[0] * sin - form[2] * cos) * step;
      nodes_.push_back({outline.c[0] + form[0] * cos + form[2] * sin,
                        outline.c[1] + form[2] * cos + form[1] * sin,
                        nx,
                        ny,
                        {cos * nx, sin * ny, sin * nx + cos * ny}});
      const double next = cos * cos_step - sin * sin_step;
      sin = sin * cos_step + cos * sin_step;
      cos = next;
    }
    return;
  }
  const Eigen::Vector2d along(std::cos(form[2]), std::sin(form[2])), across(-along[1], along[0]);
  const auto side = [&](const Eigen::Vector2d& normal, double distance,
                        const Eigen::Vector2d& tangent, double half, bool end) {
    OnLine(LineNodes(3, 0.9, 2 * half, blur_), [&](double s, double weight) {
      const Eigen::Vector2d arm = normal * distance + tangent * (2 * half * s),
                            n = normal * (weight * 2 * half);
      const double length = weight * 2 * half;
      nodes_.push_back({outline.c[0] + arm[0],
                        outline.c[1] + arm[1],
                        n[0],
                        n[1],
                        {end ? length : 0, end ? 0 : length, -arm[1] * n[0] + arm[0] * n[1]}});
    });
  };
  side(along, form[0], across, form[1], true);
  side(-along, form[0], across, form[1], true);
  side(across, form[1], along, form[0], false);
  side(-across, form[1], along, form[0], false);
}

void MarkerCover::TabulateKernel() {
  table_blur_ = blur_;
  table_reach_ = static_cast<int>(kReach * blur_ + 1);
  const int n = table_width_ = (2 * table_reach_ + 1 + 3) / 4 * 4;
  table_.assign(static_cast<std::size_t>(kPhases) * 8 * static_cast<std::size_t>(n), 0.);
  for (int phase = 0; phase < kPhases; ++phase) {
    double* kernel = table_.data() + static_cast<std::ptrdiff_t>(phase) * 8 * n;
    double* rise = kernel + 4 * static_cast<std::ptrdiff_t>(n);
    struct Edge {
      // of the kernel at an edge, and the slopes of the density
      double density, distribution, integral, first, second;
    };
    const auto edge = [&](int i) {  // right one of pixel i
      const double z = (i - table_reach_ + 0.5 - ((phase + 0.5) / kPhases - 0.5)) / blur_;
      Edge e;
      e.density = std::exp(-z * z / 2) / std::sqrt(2 * pi);
      e.distribution = std::erfc(-z / std::numbers::sqrt2) / 2;
      e.integral = blur_ * (z * e.distribution + e.density);
      e.first = -z * e.density;
      e.second = (z * z - 1) * e.density;
      return e;
    };
    Edge e0 = edge(-2), e1 = edge(-1);
    for (int i = 0; i < 2 * table_reach_ + 1; ++i) {
      const Edge e2 = edge(i);
      // Derivatives by the place of the node: against those by the place of the pixel.
      kernel[i] = e2.distribution - e1.distribution;
      kernel[n + i] = -(e2.density - e1.density) / blur_;
      kernel[2 * n + i] = (e2.first - e1.first) / (2 * blur_ * blur_);
      kernel[3 * n + i] = -(e2.second - e1.second) / (6 * blur_ * blur_ * blur_);
      rise[i] = e2.integral - 2 * e1.integral + e0.integral;
      rise[n + i] = -(e2.distribution - 2 * e1.distribution + e0.distribution);
      rise[2 * n + i] = (e2.density - 2 * e1.density + e0.density) / (2 * blur_);
      rise[3 * n + i] = -(e2.first - 2 * e1.first + e0.first) / (6 * blur_ * blur_);
      e0 = e1;
      e1 = e2;
    }
  }
}

// Blurred kernel of one node: along x, its integral from the left, along y, and the derivatives of
// the first and the last with respect to the blur. The pointers skip values outside the window.
struct MarkerCover::Kernels {
  double store_x[kKernelEdges], store_rise[kKernelEdges], store_y[kKernelEdges];
  double slope_x[kKernelEdges], slope_y[kKernelEdges];
  double *x, *rise, *y;
};

template <bool kWithBlur>
void MarkerCover::KernelsAt(double x, double y, const Window& reach, Kernels* k) const {
  const int left = reach.left, right = reach.right, first_row = reach.top, last_row = reach.bottom;
  k->x = k->store_x, k->rise = k->store_rise, k->y = k->store_y;
  if (!kWithBlur && table_blur_ == blur_) {
    const auto series = [&](double place, bool rises, double* out) {  // pixel of the first value
      const double middle = std::floor(place + 0.5), phase = (place - middle + 0.5) * kPhases;
      const int step = std::min(static_cast<int>(phase), kPhases - 1);
      Series(
          table_.data() + (static_cast<std::ptrdiff_t>(step) * 8 + (rises ? 4 : 0)) * table_width_,
          table_width_, (phase - step - 0.5) / kPhases, out);
      return static_cast<int>(middle) - table_reach_;
    };
    const int from = series(x, false, k->store_x);
    series(x, true, k->store_rise);
    k->x += left - from, k->rise += left - from;
    k->y += first_row - series(y, false, k->store_y);
    double total = 0;
    for (int i = 0; i <= right - left; ++i) total += k->rise[i];
    k->rise[right - left + 1] = 1 - total;
    return;
  }
  const NormalTable& normal = Normal();
  double density, distribution, density_before, distribution_before, total = 0, integral_before = 0;
  double z = (left - 0.5 - x) / blur_;
  normal.At(z, &density_before, &distribution_before);
  double g_before = blur_ * (z * distribution_before + density_before);
  for (int i = 0; i <= right - left; ++i) {
    z = (left + i + 0.5 - x) / blur_;
    normal.At(z, &density, &distribution);
    const double g = blur_ * (z * distribution + density);
    k->x[i] = distribution - distribution_before;
    k->slope_x[i] = (density - density_before) / blur_;
    const double integral = g - g_before;  // of K up to the middle of the pixel
    k->rise[i] = integral - integral_before;
    total += k->rise[i];
    density_before = density;
    distribution_before = distribution;
    g_before = g;
    integral_before = integral;
  }
  k->rise[right - left + 1] = 1 - total;
  z = (first_row - 0.5 - y) / blur_;
  normal.At(z, &density_before, &distribution_before);
  for (int i = 0; i <= last_row - first_row; ++i) {
    z = (first_row + i + 0.5 - y) / blur_;
    normal.At(z, &density, &distribution);
    k->y[i] = distribution - distribution_before;
    k->slope_y[i] = (density - density_before) / blur_;
    density_before = density;
    distribution_before = distribution;
  }
}

template <bool kWithBlur>
void MarkerCover::Stamp(const Node& node, double x, double y, double weight) {
  const double reach = kReach * blur_ + 0.5;
  const int left = static_cast<int>(std::ceil(x - reach)),
            right = static_cast<int>(std::floor(x + reach));
  const int top = static_cast<int>(std::ceil(y - reach)),
            bottom = static_cast<int>(std::floor(y + reach));
  const int first_row = std::max(top, window_.top), last_row = std::min(bottom, window_.bottom);
  if (first_row > last_row || left > window_.right) return;

  Kernels k;
  KernelsAt<kWithBlur>(x, y, {left, first_row, right, last_row}, &k);

  const double nx = node.nx * weight, ny = node.ny * weight;
  const double by[5] = {nx, ny, node.by_form[0] * weight, node.by_form[1] * weight,
                        node.by_form[2] * weight};
  const int first_column = std::max(left, window_.left),
            last_column = std::min(right, window_.right);
  // What rises before the window is already in its first column.
  double before = 0;
  for (int column = left; column < first_column && column <= right + 1; ++column)
    before += k.rise[column - left];
  const bool last_rise = right + 1 >= first_column && right + 1 <= window_.right;
  const std::ptrdiff_t stride = static_cast<std::ptrdiff_t>(width_) * kCoverChannels;
  double* first = values_.data() + (first_row - window_.top) * stride;
  const int columns = last_column - first_column + 1, inside = first_column - left;
  if (columns > 0)
    StampRows(first + (first_column - window_.left) * kCoverChannels, stride,
              last_row - first_row + 1, columns, k.y, k.x + inside, k.rise + inside, by, nx);
  for (int row = first_row; row <= last_row; ++row) {
    const double ky = k.y[row - first_row], value = -ky * nx;
    double* line = first + (row - first_row) * stride;
    line[(first_column - window_.left) * kCoverChannels + kCover] += before * value;
    if (last_rise)
      line[(right + 1 - window_.left) * kCoverChannels + kCover] +=
          k.rise[right - left + 1] * value;
    if constexpr (kWithBlur) {
      double* p = line + (first_column - window_.left) * kCoverChannels;
      for (int column = first_column; column <= last_column; ++column, p += kCoverChannels)
        p[kByBlur] -= blur_ * (k.slope_x[column - left] * ky * nx +
                               k.x[column - left] * k.slope_y[row - first_row] * ny);
    }
  }
}

void MarkerCover::Evaluate(const MarkerOutline& outline, const Window& window, bool by_blur) {
  window_ = window;
  width_ = std::max(0, window.right - window.left + 1);
  height_ = std::max(0, window.bottom - window.top + 1);
  blur_ = std::clamp(outline.blur, kSharpest, kWidestBlur);
  values_.assign(static_cast<std::size_t>(width_) * height_ * kCoverChannels, 0.);
  if (values_.empty()) return;
  if (!by_blur && blur_ != table_blur_ && blur_ >= kSharpestTable && blur_ <= kWidestTable)
    TabulateKernel();
  PlaceNodes(outline);
  const double length = outline.motion.norm();
  OnLine(length > 0 ? LineNodes(0.7, 0.7, length, blur_) : 1, [&](double s, double weight) {
    const Eigen::Vector2d shift = s * outline.motion;
    for (const Node& node : nodes_) {
      if (by_blur)
        Stamp<true>(node, node.x + shift[0], node.y + shift[1], weight);
      else
        Stamp<false>(node, node.x + shift[0], node.y + shift[1], weight);
    }
  });
  for (int row = 0; row < height_; ++row) {
    double* p = values_.data() + static_cast<std::size_t>(row) * width_ * kCoverChannels + kCover;
    for (int column = 1; column < width_; ++column)
      p[column * kCoverChannels] += p[(column - 1) * kCoverChannels];
  }
}

}  // namespace impactlab::tracking
