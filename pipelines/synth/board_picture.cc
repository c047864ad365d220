#include "pipelines/synth/board_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "calibration/board/pattern.h"
#include "data/base/error.h"

namespace impactlab {
namespace {

constexpr int kNode = 4;  // spacing of the nodes of the inverse map [px]
const double kNaN = std::numeric_limits<double>::quiet_NaN();

double WarpHeight(const Board& board, const Eigen::Vector2d& warp, double x, double y) {
  const Eigen::Vector2d half = Extent(board) / 2;
  const double u = x / half.x() - 1, v = y / half.y() - 1;
  return warp.x() * (1 - u * u) + warp.y() * (1 - v * v);
}

// What a pixel's ray meets: place on the board in G.
struct InverseMap {
  const Camera& camera;
  const Board& board;
  Eigen::Vector2d warp;
  Eigen::Isometry3d X_GC;

  // NaN where the ray misses the plane; `front` false when it comes from behind.
  Eigen::Vector2d At(double x, double y) const {
    const auto ray = Unproject(camera, {x, y});
    if (!ray) return {kNaN, kNaN};
    const Eigen::Vector3d o = X_GC.translation(), d = X_GC.linear() * *ray;
    if (!(std::abs(d.z()) > 1e-9)) return {kNaN, kNaN};
    double t = -o.z() / d.z();
    // Newton's method for the bent board; the bend is small, so it converges in a few steps
    // wherever the board is.
    for (int k = 0; k < 6 && !warp.isZero(0); ++k) {
      const double bx = o.x() + t * d.x(), by = o.y() + t * d.y();
      const Eigen::Vector2d half = Extent(board) / 2;
      const double slope = -2 * warp.x() * (bx / half.x() - 1) / half.x() * d.x() -
                           2 * warp.y() * (by / half.y() - 1) / half.y() * d.y();
      const double step = (WarpHeight(board, warp, bx, by) - o.z() - t * d.z()) / (d.z() - slope);
      t += step;
      if (std::abs(step) < 1e-12) break;
    }
    if (!(t > 0)) return {kNaN, kNaN};
    return {o.x() + t * d.x(), o.y() + t * d.y()};
  }
};

// Points of a rank-1 (Fibonacci) lattice in the unit square about 0: along every axis they are
// evenly spread, so that an edge along a row of pixels is averaged as finely as an oblique one.
std::vector<Eigen::Vector2d> Lattice(int n, int generator) {
  std::vector<Eigen::Vector2d> points(n);
  for (int k = 0; k < n; ++k) {
    points[k] = Eigen::Vector2d((k + 0.5) / n - 0.5,
                                (static_cast<long>(k) * generator % n + 0.5) / n - 0.5);
  }
  return points;
}

struct Region {
  int x0, y0, x1, y1;  // half open [px]
  bool empty() const { return x1 <= x0 || y1 <= y0; }
};

// Pixels that may show paper.
Region PaperRegion(const Camera& camera, const Eigen::Isometry3d& X_CG, const Board& board,
                   const Eigen::Vector2d& warp, const Eigen::Vector2d& lower,
                   const Eigen::Vector2d& upper, int rim) {
  const Region all{-rim, -rim, camera.width + rim, camera.height + rim};
  double left = INFINITY, right = -INFINITY, top = INFINITY, bottom = -INFINITY;
  constexpr int n = 24;
  for (int i = 0; i <= n; ++i) {
    for (int j = 0; j <= n; ++j) {
      if (i != 0 && i != n && j != 0 && j != n) continue;
      const double x = lower.x() + (upper.x() - lower.x()) * i / n,
                   y = lower.y() + (upper.y() - lower.y()) * j / n;
      const auto q = Project(camera, X_CG * Eigen::Vector3d(x, y, WarpHeight(board, warp, x, y)));
      if (!q) return all;
      left = std::min(left, q->x());
      right = std::max(right, q->x());
      top = std::min(top, q->y());
      bottom = std::max(bottom, q->y());
    }
  }
  // A bent outline may bulge between the samples.
  const double slack = rim + 4 + 0.02 * std::max(right - left, bottom - top);
  const auto clamp = [](double v, int lo, int hi) {
    return static_cast<int>(std::clamp(v, double(lo), double(hi)));
  };
  return {clamp(std::floor(left - slack), all.x0, all.x1),
          clamp(std::floor(top - slack), all.y0, all.y1),
          clamp(std::ceil(right + slack) + 1, all.x0, all.x1),
          clamp(std::ceil(bottom + slack) + 1, all.y0, all.y1)};
}

// Biquadratic polynomial through 3 x 3 nodes, s and t in [-1, 1]: c[i][j] s^i t^j.
struct Patch {
  Eigen::Vector2d c[3][3];
  explicit Patch(const std::array<std::array<Eigen::Vector2d, 3>, 3>& node) {  // node[y][x]
    Eigen::Vector2d along[3][3];
    for (int y = 0; y < 3; ++y) {
      along[0][y] = node[y][1];
      along[1][y] = (node[y][2] - node[y][0]) / 2;
      along[2][y] = (node[y][2] + node[y][0]) / 2 - node[y][1];
    }
    for (int i = 0; i < 3; ++i) {
      c[i][0] = along[i][1];
      c[i][1] = (along[i][2] - along[i][0]) / 2;
      c[i][2] = (along[i][2] + along[i][0]) / 2 - along[i][1];
    }
  }
};

void BlurRows(std::vector<float>& image, int width, int height, const std::vector<float>& kernel) {
  const int r = static_cast<int>(kernel.size()) - 1;
  std::vector<float> line(width + 2 * r);
  for (int y = 0; y < height; ++y) {
    float* row = &image[static_cast<std::size_t>(y) * width];
    for (int x = 0; x < width + 2 * r; ++x) line[x] = row[std::clamp(x - r, 0, width - 1)];
    for (int x = 0; x < width; ++x) row[x] = kernel[0] * line[x + r];
    for (int k = 1; k <= r; ++k)
      for (int x = 0; x < width; ++x) row[x] += kernel[k] * (line[x + r - k] + line[x + r + k]);
  }
}

void BlurColumns(std::vector<float>& image, int width, int height,
                 const std::vector<float>& kernel) {
  const int r = static_cast<int>(kernel.size()) - 1;
  const std::vector<float> source = image;
  const auto row = [&](int y) {
    return &source[static_cast<std::size_t>(std::clamp(y, 0, height - 1)) * width];
  };
  for (int y = 0; y < height; ++y) {
    float* out = &image[static_cast<std::size_t>(y) * width];
    const float* centre = row(y);
    for (int x = 0; x < width; ++x) out[x] = kernel[0] * centre[x];
    for (int k = 1; k <= r; ++k) {
      const float *above = row(y - k), *below = row(y + k);
      for (int x = 0; x < width; ++x) out[x] += kernel[k] * (above[x] + below[x]);
    }
  }
}

// One side of a Gaussian with this standard deviation in sub-pixels, from its centre; 1 without
// blur.
std::vector<float> BoardBlurKernel(double sigma) {
  if (!(sigma > 0)) return {1};
  const int r = static_cast<int>(std::ceil(4 * sigma));
  std::vector<float> kernel(r + 1);
  double sum = 0;
  for (int k = 0; k <= r; ++k) {
    kernel[k] = static_cast<float>(std::exp(-k * k / (2 * sigma * sigma)));
    sum += (k == 0 ? 1 : 2) * kernel[k];
  }
  for (float& k : kernel) k = static_cast<float>(k / sum);
  return kernel;
}

// The printed sheet as one camera sees it.
struct Paper {
  Paper(const Camera& camera, const Eigen::Isometry3d& X_CG, const Board& board,
        const Eigen::Vector2d& warp, const RenderOptions& render, int sub_pixels)
      : pattern(board),
        map{camera, board, warp, X_CG.inverse()},
        options(render),
        front(map.X_GC.translation().z() < 0),
        sub(sub_pixels),
        lattice(sub == 1   ? Lattice(233, 144)
                : sub == 2 ? Lattice(89, 55)
                           : Lattice(34, 21)) {
    const Eigen::Vector2d rim = Eigen::Vector2d::Constant(options.paper_margin * board.pitch);
    lower = pattern.lower - rim;
    upper = pattern.upper + rim;
  }

  // Grey level of a point of G.
  double Grey(double x, double y) const {
    if (!(x >= lower.x() && x <= upper.x() && y >= lower.y() && y <= upper.y()))
      return options.background;
    return front && pattern.Black(x, y) ? options.black : options.white;
  }

  // Mean grey level of a sub-pixel about `p` with the sides `along` and `down`; nothing where all
  // of it is off the sheet.
  std::optional<float> MeanGrey(const Eigen::Vector2d& p, const Eigen::Vector2d& along,
                                const Eigen::Vector2d& down) const {
    const Eigen::Vector2d half = (along.cwiseAbs() + down.cwiseAbs()) / 2;
    const Eigen::Vector2d p0 = p - half, p1 = p + half;
    if (p1.x() < lower.x() || p1.y() < lower.y() || p0.x() > upper.x() || p0.y() > upper.y())
      return std::nullopt;
    const bool inside =
        p0.x() > lower.x() && p0.y() > lower.y() && p1.x() < upper.x() && p1.y() < upper.y();
    if (inside) {
      const int uniform = front ? pattern.Uniform(p0.x(), p0.y(), p1.x(), p1.y()) : 0;
      if (uniform >= 0) return static_cast<float>(uniform == 1 ? options.black : options.white);
    }
    double sum = 0;
    for (const Eigen::Vector2d& l : lattice)
      sum += Grey(p.x() + l.x() * along.x() + l.y() * down.x(),
                  p.y() + l.x() * along.y() + l.y() * down.y());
    return static_cast<float>(sum / static_cast<double>(lattice.size()));
  }

  calibration::BoardPattern pattern;
  InverseMap map;
  const RenderOptions& options;
  bool front;  // z of G goes into the paper
  int sub;     // sub-pixels along a side of a pixel
  std::vector<Eigen::Vector2d> lattice;
  Eigen::Vector2d lower, upper;  // of the sheet in G [m]
};

// Grey levels on sub-pixels.
struct FineGrid {
  int sub = 1;  // along a side of a pixel
  int width = 0, height = 0;
  std::vector<float> values;
};

constexpr int kCell = 2 * kNode;  // side of a patch of the inverse map [px]

// Fills the sub-pixels of cell (cx, cy). `corner` are the nodes of its patch, `missing` of which
// the lens or the plane does not cover; (x0, y0) is the first node of the region.
void DrawCell(const Paper& paper, const std::array<std::array<Eigen::Vector2d, 3>, 3>& corner,
              int missing, int cx, int cy, double x0, double y0, FineGrid* fine) {
  const Patch patch(corner);
  const int n = kCell * paper.sub;
  const double ds = 2.0 / n;
  for (int b = 0; b < n; ++b) {
    float* out = &fine->values[(static_cast<std::size_t>(cy) * n + b) * fine->width +
                               static_cast<std::size_t>(cx) * n];
    const double t = (b + 0.5) * ds - 1;
    const Eigen::Vector2d k0 = patch.c[0][0] + t * (patch.c[0][1] + t * patch.c[0][2]);
    const Eigen::Vector2d k1 = patch.c[1][0] + t * (patch.c[1][1] + t * patch.c[1][2]);
    const Eigen::Vector2d k2 = patch.c[2][0] + t * (patch.c[2][1] + t * patch.c[2][2]);
    const Eigen::Vector2d t0 = patch.c[0][1] + 2 * t * patch.c[0][2],
                          t1 = patch.c[1][1] + 2 * t * patch.c[1][2],
                          t2 = patch.c[2][1] + 2 * t * patch.c[2][2];
    for (int a = 0; a < n; ++a) {
      const double s = (a + 0.5) * ds - 1;
      Eigen::Vector2d p = k0 + s * (k1 + s * k2);
      // per sub-pixel
      Eigen::Vector2d along = (k1 + 2 * s * k2) * ds, down = (t0 + s * (t1 + s * t2)) * ds;
      if (missing > 0) {  // at the rim of what the lens or the plane covers
        const double x = x0 + (cx * n + a + 0.5) / paper.sub,
                     y = y0 + (cy * n + b + 0.5) / paper.sub, h = 0.5 / paper.sub;
        const InverseMap& map = paper.map;
        p = map.At(x, y);
        along = map.At(x + h, y) - map.At(x - h, y);
        down = map.At(x, y + h) - map.At(x, y - h);
        if (std::isnan(p.x() + along.x() + down.x())) continue;
      }
      if (const std::optional<float> grey = paper.MeanGrey(p, along, down)) out[a] = *grey;
    }
  }
}

// The sheet and its background on the sub-pixels of `region`.
FineGrid DrawPaper(const Paper& paper, const Region& region) {
  const int cells_x = (region.x1 - region.x0 + kCell - 1) / kCell,
            cells_y = (region.y1 - region.y0 + kCell - 1) / kCell;
  const int nodes_x = 2 * cells_x + 1, nodes_y = 2 * cells_y + 1;
  const double node0_x = region.x0 - 0.5, node0_y = region.y0 - 0.5;
  std::vector<Eigen::Vector2d> node(static_cast<std::size_t>(nodes_x) * nodes_y);
  for (int j = 0; j < nodes_y; ++j)
    for (int i = 0; i < nodes_x; ++i)
      node[static_cast<std::size_t>(j) * nodes_x + i] =
          paper.map.At(node0_x + i * kNode, node0_y + j * kNode);

  FineGrid fine{paper.sub, cells_x * kCell * paper.sub, cells_y * kCell * paper.sub, {}};
  fine.values.assign(static_cast<std::size_t>(fine.width) * fine.height,
                     static_cast<float>(paper.options.background));
  for (int cy = 0; cy < cells_y; ++cy) {
    for (int cx = 0; cx < cells_x; ++cx) {
      std::array<std::array<Eigen::Vector2d, 3>, 3> corner;
      int missing = 0;
      for (int j = 0; j < 3; ++j) {
        for (int i = 0; i < 3; ++i) {
          corner[j][i] = node[static_cast<std::size_t>(2 * cy + j) * nodes_x + 2 * cx + i];
          missing += std::isnan(corner[j][i].x());
        }
      }
      if (missing < 9) DrawCell(paper, corner, missing, cx, cy, node0_x, node0_y, &fine);
    }
  }
  return fine;
}

// Mean of the sub-pixels of every pixel of `region`, into a picture of width x height.
void AverageSubPixels(const FineGrid& fine, const Region& region, int width, int height,
                      std::vector<float>* light) {
  const int sub = fine.sub;
  const float share = 1.0f / static_cast<float>(sub * sub);
  for (int y = std::max(0, region.y0); y < std::min(height, region.y1); ++y) {
    for (int x = std::max(0, region.x0); x < std::min(width, region.x1); ++x) {
      float sum = 0;
      for (int b = 0; b < sub; ++b)
        for (int a = 0; a < sub; ++a)
          sum += fine.values[(static_cast<std::size_t>(y - region.y0) * sub + b) * fine.width +
                             static_cast<std::size_t>(x - region.x0) * sub + a];
      (*light)[static_cast<std::size_t>(y) * width + x] = sum * share;
    }
  }
}

// Illumination, noise, rounding and clipping.
GrayImage ExposeBoard(const std::vector<float>& light, int width, int height,
                      const RenderOptions& options) {
  GrayImage image{width, height, {}};
  std::mt19937_64 rng(options.seed);
  std::normal_distribution<float> normal;
  image.pixels.resize(light.size());
  for (int y = 0; y < height; ++y) {
    const double down = options.light.y() * (2.0 * y / height - 1);
    for (int x = 0; x < width; ++x) {
      const std::size_t k = static_cast<std::size_t>(y) * width + x;
      double value = light[k] * (1 + options.light.x() * (2.0 * x / width - 1) + down);
      if (options.noise_sd > 0) value += options.noise_sd * normal(rng);
      image.pixels[k] = static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
    }
  }
  return image;
}

}  // namespace

std::optional<Eigen::Vector2d> ProjectBoardPoint(const Camera& camera,
                                                 const Eigen::Isometry3d& X_CG, const Board& board,
                                                 const Eigen::Vector2d& warp, int id) {
  Eigen::Vector3d p_G = PointOnBoard(board, id);
  p_G.z() += WarpHeight(board, warp, p_G.x(), p_G.y());
  return Project(camera, X_CG * p_G);
}

GrayImage RenderBoard(const Camera& camera, const Eigen::Isometry3d& X_CG, const Board& board,
                      const Eigen::Vector2d& warp, const RenderOptions& options) {
  if (const std::string fault = Fault(board); !fault.empty())
    throw ConfigError(fmt::format("board: {}", fault));
  if (const std::string fault = Fault(camera); !fault.empty())
    throw ConfigError(fmt::format("camera: {}", fault));

  // The blur is done on a picture with at least one sub-pixel to its standard deviation, so that it
  // removes what sampling would fold back.
  const int sub =
      options.blur > 0 ? std::clamp(static_cast<int>(std::ceil(1 / options.blur)), 1, 4) : 1;
  const std::vector<float> kernel = BoardBlurKernel(options.blur * sub);
  const Paper paper(camera, X_CG, board, warp, options, sub);
  const int reach = (static_cast<int>(kernel.size()) + sub - 1) / sub;
  const Region region = PaperRegion(camera, X_CG, board, warp, paper.lower, paper.upper, reach);
  std::vector<float> light(static_cast<std::size_t>(camera.width) * camera.height,
                           static_cast<float>(options.background));
  if (!region.empty()) {
    FineGrid fine = DrawPaper(paper, region);
    if (kernel.size() > 1) {
      BlurRows(fine.values, fine.width, fine.height, kernel);
      BlurColumns(fine.values, fine.width, fine.height, kernel);
    }
    AverageSubPixels(fine, region, camera.width, camera.height, &light);
  }
  return ExposeBoard(light, camera.width, camera.height, options);
}

}  // namespace impactlab
