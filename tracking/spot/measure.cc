#include "tracking/spot/detail/measure.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

namespace impactlab::tracking {
namespace {

constexpr int kGap = 1, kRing = 4;  // between aperture and ring, width of the ring [px]
constexpr int kChunk = 32;          // pixels that are copied at once
constexpr double kLeastSignal = 5;  // flux over its standard deviation
constexpr double kClip = 3;         // standard deviations from the median of the ring
// of the largest spots every second, third ... row of the ring
constexpr std::size_t kRingPixels = 4096;

// Of its fading ends a streak keeps what is above the threshold; the aperture takes this share of
// their length more at either end.
constexpr double kFading = 0.6;

Axes FindAxes(const Piece& piece) {
  Axes axes;
  axes.x = piece.x / piece.count;
  axes.y = piece.y / piece.count;
  axes.xx = piece.xx / piece.count - axes.x * axes.x + 1.0 / 12;
  axes.yy = piece.yy / piece.count - axes.y * axes.y + 1.0 / 12;
  axes.xy = piece.xy / piece.count - axes.x * axes.y;
  const double half = 0.5 * (axes.xx + axes.yy), difference = 0.5 * (axes.xx - axes.yy);
  const double root = std::sqrt(difference * difference + axes.xy * axes.xy);
  axes.major = 2 * std::sqrt(half + root);
  axes.minor = 2 * std::sqrt(std::max(1.0 / 12, half - root));
  if (root > 1e-9 * half) {
    const Eigen::Vector2d u = axes.xx >= axes.yy ? Eigen::Vector2d(root + difference, axes.xy)
                                                 : Eigen::Vector2d(axes.xy, root - difference);
    axes.direction = u.normalized();
  }
  return axes;
}

constexpr Extent kEmpty{std::numeric_limits<int>::max() / 2, std::numeric_limits<int>::min() / 2};
// extents of a vector: so many more are read and written than there are rows
constexpr int kLanes = 4;

#ifdef IMPACTLAB_X86
IMPACTLAB_AVX2 void WidenRowsAvx2(const Extent* rows, const std::vector<int>& across, int n,
                                  Extent* wide) {
  for (int i = 0; i < n; i += kLanes) {
    __m256i least = _mm256_set1_epi32(std::numeric_limits<int>::max()),
            most = _mm256_set1_epi32(std::numeric_limits<int>::min());
    const Extent* row = rows + i;
    for (const int a : across) {
      // -a, a
      const __m256i both =
          _mm256_set1_epi64x(static_cast<long long>(a) << 32 | static_cast<std::uint32_t>(-a));
      const __m256i v =
          _mm256_add_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(row++)), both);
      least = _mm256_min_epi32(least, v);
      most = _mm256_max_epi32(most, v);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(wide + i),
                        _mm256_blend_epi32(least, most, 0xAA));
  }
}
#endif

// Row i from the `across.size()` rows from i on, each widened by its entry of `across`.
void WidenRows(const Extent* rows, const std::vector<int>& across, int n, Simd simd, Extent* wide) {
#ifdef IMPACTLAB_X86
  if (simd == Simd::kAvx2) return WidenRowsAvx2(rows, across, n, wide);
#endif
  (void)simd;
  for (int i = 0; i < n; ++i) {
    wide[i] = kEmpty;
    const Extent* row = rows + i;
    for (const int a : across) {
      wide[i].left = std::min(wide[i].left, row->left - a);
      wide[i].right = std::max(wide[i].right, row->right + a);
      ++row;
    }
  }
}

}  // namespace

SpotMeasure::SpotMeasure(const SpotOptions& options, Simd simd) : options_(options), simd_(simd) {
  const int rim = std::max(0, options.rim);
  for (int dy = -rim; dy <= rim; ++dy)
    across_.push_back(static_cast<int>(std::sqrt(static_cast<double>(rim * rim + rim - dy * dy))));
}

// Spot and rim: the extents dilated with a disc, then drawn along `reach` both ways, cut at the
// border of the picture.
void SpotMeasure::Widen(int width, int height, int top, int bottom, const Eigen::Vector2d& reach) {
  const int rim = std::max(0, options_.rim), steps = static_cast<int>(std::ceil(reach.norm()));
  const int rise = static_cast<int>(std::ceil(std::abs(reach.y())));
  aperture_top_ = std::max(0, top - rim - rise);
  const int last = std::min(height - 1, bottom + rim + rise);
  const int rows = last - aperture_top_ + 1;
  // Own rows with empty ones around them, which widen nothing.
  const int before = top - aperture_top_ + rim, own = static_cast<int>(extents_.size());
  padded_.resize(std::max<std::size_t>(padded_.size(), rows + 2 * rim + kLanes));
  Extent* const padded = padded_.data();
  for (int i = 0; i < before; ++i) padded[i] = kEmpty;
  for (int i = 0; i < own; ++i) padded[before + i] = extents_[i];
  for (int i = before + own; i < rows + 2 * rim + kLanes; ++i) padded[i] = kEmpty;
  aperture_.resize(rows + kLanes);
  WidenRows(padded, across_, rows, simd_, aperture_.data());
  aperture_.resize(rows);
  if (steps > 0) {
    drawn_.assign(aperture_.begin(), aperture_.end());
    for (int k = -steps; k <= steps; ++k) {
      const int dx = static_cast<int>(std::lround(k * reach.x() / steps)),
                dy = static_cast<int>(std::lround(k * reach.y() / steps));
      for (int i = std::max(0, -dy); i < std::min(rows, rows - dy); ++i) {
        if (aperture_[i].right < aperture_[i].left) continue;
        drawn_[i + dy].left = std::min(drawn_[i + dy].left, aperture_[i].left + dx);
        drawn_[i + dy].right = std::max(drawn_[i + dy].right, aperture_[i].right + dx);
      }
    }
    const auto empty = [](const Extent& row) { return row.right < row.left; };
    while (!drawn_.empty() && empty(drawn_.back())) drawn_.pop_back();
    std::size_t first = 0;
    while (first < drawn_.size() && empty(drawn_[first])) ++first;
    aperture_.assign(drawn_.begin() + static_cast<std::ptrdiff_t>(first), drawn_.end());
    aperture_top_ += static_cast<int>(first);
  }
  aperture_left_ = width;
  aperture_right_ = -1;
  for (Extent& row : aperture_) {
    row.left = std::max(row.left, 0);
    row.right = std::min(row.right, width - 1);
    aperture_left_ = std::min(aperture_left_, row.left);
    aperture_right_ = std::max(aperture_right_, row.right);
  }
}

// Mean of the pixels of a ring around the aperture that lie about their median, so that a neighbour
// in a part of it does not count.
double SpotMeasure::RingLevel(const GrayImage& image, const PixelNoise& noise, double* variance) {
  const int rows = static_cast<int>(aperture_.size()), far = kGap + kRing;
  const long long around =
      2ll * far * (rows + aperture_[rows / 2].right - aperture_[rows / 2].left + 2 * far);
  const int every = 1 + static_cast<int>(around / static_cast<long long>(kRingPixels));
  // Never more than the rows above and below, whole, and both sides of the others.
  const auto span = [](const Extent& row) {
    return static_cast<std::size_t>(std::max(0, row.right - row.left + 3));
  };
  const std::size_t most = kRing * (span(aperture_.front()) + span(aperture_.back())) +
                           2 * kRing * static_cast<std::size_t>(rows + 2 * kGap) + kChunk;
  if (ring_.size() < most) ring_.resize(most);
  std::uint8_t* out = ring_.data();
  const auto take = [&](int y, int left, int right) {
    left = std::max(left, 0);
    right = std::min(right, image.width - 1);
    const std::uint8_t* row = image.pixels.data() + static_cast<std::size_t>(y) * image.width;
    for (int x = left; x <= right; x += every) *out++ = row[x];
  };
  const int left = aperture_left_, right = aperture_right_;
  const int y0 = aperture_top_;
  if (every == 1 && left >= far && right + far < image.width && right - left + 3 <= kChunk &&
      y0 >= far && y0 + rows + far < image.height && image.width >= kChunk) {
    const std::uint8_t* pixels =
        image.pixels.data() + static_cast<std::size_t>(y0 - far) * image.width;
    const auto next = [&] { pixels += image.width; };
    const auto whole = [&](const Extent& row) {
      for (int i = 0; i < kRing; ++i, next()) {
        std::memcpy(out, pixels + row.left - 1, kChunk);
        out += row.right - row.left + 3;
      }
    };
    const auto sides = [&](const Extent& row) {
      std::memcpy(out, pixels + row.left - far, kRing);
      std::memcpy(out + kRing, pixels + row.right + kGap + 1, kRing);
      out += 2 * kRing;
      next();
    };
    whole(aperture_.front());
    for (int i = 0; i < kGap; ++i) sides(aperture_.front());
    for (const Extent& row : aperture_) sides(row);
    for (int i = 0; i < kGap; ++i) sides(aperture_.back());
    whole(aperture_.back());
  } else {
    for (int i = -far; i < rows + far; ++i) {
      const int y = aperture_top_ + i;
      if (y < 0 || y >= image.height || (every > 1 && i % every != 0)) continue;
      const Extent& row = aperture_[std::clamp(i, 0, rows - 1)];
      const std::uint8_t* pixels = image.pixels.data() + static_cast<std::size_t>(y) * image.width;
      const bool inside = every == 1 && row.left >= far && row.right + far < image.width;
      if (i < -kGap || i >= rows + kGap) {
        take(y, row.left - 1, row.right + 1);
      } else if (inside) {
        std::memcpy(out, pixels + row.left - far, kRing);
        std::memcpy(out + kRing, pixels + row.right + kGap + 1, kRing);
        out += 2 * kRing;
      } else {
        take(y, row.left - far, row.left - kGap - 1);
        take(y, row.right + kGap + 1, row.right + far);
      }
    }
  }
  const std::size_t n = static_cast<std::size_t>(out - ring_.data());
  if (n == 0) {
    *variance = 255.0 * 255 / 12;
    return std::numeric_limits<double>::quiet_NaN();
  }
  const int median = ring_guess_ = RankLevel(ring_.data(), n, n / 2 + 1, ring_guess_, simd_);
  const int reach = static_cast<int>(std::ceil(kClip * std::sqrt(noise.Variance(median)))) + 1;
  const int from = std::max(0, median - reach), to = std::min(255, median + reach);
  const RangeSums in = SumBetween(ring_.data(), n, from, to, simd_);
  const double used = static_cast<double>(in.n), mean = static_cast<double>(in.sum) / used;
  // An uneven background is known no better than it scatters.
  *variance =
      std::max(noise.Variance(from + mean), static_cast<double>(in.squares) / used - mean * mean) /
      used;
  return from + mean;
}

namespace {

// Sums of 1, x, y, x^2, x y and y^2 over the pixels of an aperture, from its left and top.
struct ApertureMoments {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
};

ApertureMoments MomentsOf(const std::vector<Extent>& aperture, int x0) {
  // Integers: twice the middle of a row, four times its second moment.
  std::int64_t count = 0, count_x = 0, count_y = 0, count_xx = 0, count_xy = 0, count_yy = 0;
  for (std::int64_t y = 0; const Extent& row : aperture) {
    const std::int64_t m = std::max(0, row.right - row.left + 1),
                       middle = row.left + row.right - 2 * x0, mx = m * middle, my = m * y;
    count += m;
    count_x += mx;
    count_y += my;
    count_xx += mx * middle + m * (m * m - 1) / 3;
    count_xy += mx * y;
    count_yy += my * y;
    ++y;
  }
  return {static_cast<double>(count),          0.5 * static_cast<double>(count_x),
          static_cast<double>(count_y),        0.25 * static_cast<double>(count_xx),
          0.5 * static_cast<double>(count_xy), static_cast<double>(count_yy)};
}

}  // namespace

bool SpotMeasure::MeasureSpot(const GrayImage& image, const std::vector<Run>& runs,
                              const Piece& piece, const PixelNoise& noise, int level,
                              double contrast, Spot* spot, SpotShape* shape) {
  extents_.assign(piece.bottom - piece.top + 1, {image.width, -1});
  for (int r = piece.first; r >= 0; r = runs[r].next) {
    Extent& row = extents_[runs[r].y - piece.top];
    row.left = std::min(row.left, runs[r].left);
    row.right = std::max(row.right, runs[r].right);
  }
  const Axes axes = FindAxes(piece);
  const double fading = axes.major > 1.15 * axes.minor ? kFading * axes.Ramp() : 0;
  Widen(image.width, image.height, piece.top, piece.bottom, fading * axes.direction);
  double var_background = 0;
  double background = RingLevel(image, noise, &var_background);
  const double sign = options_.dark ? -1 : 1;
  const double level_gray = options_.dark ? 255 - level : level;
  if (std::isnan(background)) background = options_.dark ? 255 : 0;  // the spot fills the picture
  if (contrast <= 0) contrast = std::max(1.0, sign * (level_gray + 0.5 * sign - background));
  const int base = static_cast<int>(std::lround(background));
  const int limit = static_cast<int>(std::clamp(std::lround(2 * contrast), 1L, 255L));
  const double shift = background - base;

  // Sums over the aperture about (x0, y0): of one, of d = intensity - background, and of the
  // variance of every pixel.
  const int x0 = aperture_left_, y0 = aperture_top_;
  const ApertureMoments one = MomentsOf(aperture_, x0);
  const double n = one.n, nx = one.x, ny = one.y, nxx = one.xx, nxy = one.xy, nyy = one.yy;
  const ApertureSums sums = SumAperture(image, aperture_, y0, x0, base, limit, simd_);
  const double d = static_cast<double>(sums.d), dx = static_cast<double>(sums.dx),
               dy = static_cast<double>(sums.dy), dxx = static_cast<double>(sums.dxx),
               dxy = static_cast<double>(sums.dxy), dyy = static_cast<double>(sums.dyy),
               clamped = static_cast<double>(sums.clamped);
  const double v0 = noise.Variance(base);  // variance of a pixel: v0 + gain d
  const double flux = d - shift * n, fx = dx - shift * nx, fy = dy - shift * ny;
  const double var_flux = std::max(0.0, v0 * n + noise.gain * d) + n * n * var_background;
  if (!(sign * flux > kLeastSignal * std::sqrt(var_flux)) || !(sign * flux > 0)) return false;
  const double cx = fx / flux, cy = fy / flux;
  const auto about = [&](double s, double sx, double sy, double sxx, double sxy, double syy) {
    Eigen::Matrix2d m;
    m(0, 0) = sxx - 2 * cx * sx + cx * cx * s;
    m(1, 1) = syy - 2 * cy * sy + cy * cy * s;
    m(0, 1) = m(1, 0) = sxy - cx * sy - cy * sx + cx * cy * s;
    return m;
  };
  const Eigen::Vector2d lever(nx - n * cx, ny - n * cy);  // of the background's error
  spot->q = {x0 + cx, y0 + cy};
  Eigen::Matrix2d pixels = v0 * about(n, nx, ny, nxx, nxy, nyy);
  if (noise.gain != 0) pixels += noise.gain * about(d, dx, dy, dxx, dxy, dyy);
  spot->cov = (pixels + var_background * lever * lever.transpose()) / (flux * flux);
  spot->flux = sign * flux;
  spot->peak = sign * ((options_.dark ? sums.lowest : sums.highest) - background);
  spot->background = background;
  // the rim scatters about `background`, not about `base`
  spot->area = sign * (clamped - shift * (n - piece.count)) / limit;
  spot->left = piece.left;
  spot->top = piece.top;
  spot->right = piece.right;
  spot->bottom = piece.bottom;
  spot->flags = 0;
  if (options_.dark ? sums.lowest == 0 : sums.highest == 255) spot->flags |= kSaturated;
  if (piece.left == 0 || piece.top == 0 || piece.right == image.width - 1 ||
      piece.bottom == image.height - 1)
    spot->flags |= kCut;
  const double sigma = std::sqrt(v0);
  if (spot->flux < 5 * sigma * spot->area) spot->flags |= kFaint;
  JudgeShape(piece, axes, contrast, sigma, spot, shape);
  return true;
}

// Shape against the ellipse of its own second moments.
void SpotMeasure::JudgeShape(const Piece& piece, const Axes& axes, double contrast, double sigma,
                             Spot* spot, SpotShape* shape) {
  const double mx = axes.x, my = axes.y, xx = axes.xx, xy = axes.xy, yy = axes.yy;
  spot->spread << xx, xy, xy, yy;
  shape->elongation = axes.major / axes.minor;
  // Pixels in one of spot and ellipse only. Rows are cut by the ellipse at (mx + xy / yy dy) +-
  // sqrt((4 - dy^2 / yy) (xx - xy^2 / yy)).
  const double inner = std::max(0.0, xx - xy * xy / yy);
  const double slope = xy / yy, curve = inner / yy;
  double differ = 0, extent_count = 0;
  const int reach = static_cast<int>(std::ceil(2 * std::sqrt(yy)));
  const int from = std::min(piece.top, static_cast<int>(my) - reach),
            to = std::max(piece.bottom, static_cast<int>(my) + reach);
  for (int y = from; y <= to; ++y) {
    const double dy = y - my, square = 4 * inner - curve * dy * dy, centre = mx + slope * dy;
    const double width = std::sqrt(std::max(0.0, square)), a = centre - width, b = centre + width;
    if (y < piece.top || y > piece.bottom ||
        extents_[y - piece.top].right < extents_[y - piece.top].left) {
      differ += 2 * width;
      continue;
    }
    const double left = extents_[y - piece.top].left - 0.5,
                 right = extents_[y - piece.top].right + 0.5;
    extent_count += right - left;
    const double both = std::max(0.0, std::min(b, right) - std::max(a, left));
    differ += right - left + 2 * width - 2 * both;
  }
  differ += extent_count - piece.count;  // holes and bays
  // Ends of rows are off by half a pixel at most by rounding, and by the noise over the slope of
  // the edge.
  const double rows = piece.bottom - piece.top + 1;
  const double plateau = spot->flux / (std::numbers::pi * axes.major * axes.minor);
  shape->capped = spot->peak - 3 * sigma > 1.5 * plateau;
  // pixels the noise takes below the threshold
  const double missed =
      std::min(0.15, 0.5 * std::erfc((plateau - contrast) / (std::sqrt(2.0) * sigma)));
  const double allowed = (0.7 + 1.5 * sigma / std::max(contrast, sigma)) * rows +
                         (0.08 + 2 * missed) * piece.count +
                         4 * axes.minor * axes.Ramp() * sigma / std::max(plateau, sigma);
  shape->ellipse = differ <= allowed;
  shape->lobes = false;
  if (shape->ellipse) return;
  // Convex hull of the ends of the rows (Andrew's chain; they are ordered by y).
  double hull_area = 0;
  for (const int side : {-1, 1}) {
    hull_.clear();
    for (int y = piece.top; y <= piece.bottom; ++y) {
      const Extent& row = extents_[y - piece.top];
      if (row.right < row.left) continue;
      for (const double edge : {y - 0.5, y + 0.5}) {
        const std::pair<double, double> p(edge, side < 0 ? -(row.left - 0.5) : row.right + 0.5);
        while (hull_.size() >= 2) {
          const auto& u = hull_[hull_.size() - 2];
          const auto& v = hull_.back();
          if ((v.first - u.first) * (p.second - u.second) -
                  (v.second - u.second) * (p.first - u.first) <
              0)
            break;
          hull_.pop_back();
        }
        hull_.push_back(p);
      }
    }
    for (std::size_t i = 1; i < hull_.size(); ++i) {
      hull_area +=
          0.5 * (hull_[i].first - hull_[i - 1].first) * (hull_[i].second + hull_[i - 1].second);
    }
  }
  const double solidity = piece.count / std::max(hull_area, piece.count);
  shape->lobes = shape->elongation > 1.4 && solidity < 0.95;
}

}  // namespace impactlab::tracking
