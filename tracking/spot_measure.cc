#include "tracking/spot_measure.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

namespace impactlab::internal {
namespace {

constexpr int kGap = 1, kRing = 4;         // between aperture and ring, width of the ring [px]
constexpr double kLeastSignal = 5;         // flux over its standard deviation
constexpr double kClip = 3;                // standard deviations from the median of the ring
constexpr std::size_t kRingPixels = 4096;  // of the largest spots every second, third ... row of the ring

// Of its fading ends a streak keeps what is above the threshold; the aperture takes this share of their length more at either end.
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
    const Eigen::Vector2d u =
        axes.xx >= axes.yy ? Eigen::Vector2d(root + difference, axes.xy) : Eigen::Vector2d(axes.xy, root - difference);
    axes.direction = u.normalized();
  }
  return axes;
}

}  // namespace

SpotMeasure::SpotMeasure(const SpotOptions& options, Simd simd) : options_(options), simd_(simd) {
  const int rim = std::max(0, options.rim);
  for (int dy = -rim; dy <= rim; ++dy) across_.push_back(static_cast<int>(std::sqrt(static_cast<double>(rim * rim + rim - dy * dy))));
}

// Spot and rim: the extents dilated with a disc, then drawn along `reach` both ways, cut at the border of the picture.
void SpotMeasure::Widen(int width, int height, int top, int bottom, const Eigen::Vector2d& reach) {
  const int rim = std::max(0, options_.rim), steps = static_cast<int>(std::ceil(reach.norm()));
  const int rise = static_cast<int>(std::ceil(std::abs(reach.y())));
  aperture_top_ = std::max(0, top - rim - rise);
  const int last = std::min(height - 1, bottom + rim + rise);
  aperture_.assign(last - aperture_top_ + 1, {width, -1});
  for (int dy = -rim; dy <= rim; ++dy) {
    const int across = across_[dy + rim];
    const int from = std::max(top, aperture_top_ - dy), to = std::min(bottom, last - dy);
    for (int y = from; y <= to; ++y) {
      Extent& wide = aperture_[y + dy - aperture_top_];
      const Extent& own = extents_[y - top];
      wide.left = std::min(wide.left, own.left - across);
      wide.right = std::max(wide.right, own.right + across);
    }
  }
  if (steps > 0) {
    drawn_.assign(aperture_.begin(), aperture_.end());
    const int rows = static_cast<int>(aperture_.size());
    for (int k = -steps; k <= steps; ++k) {
      const int dx = static_cast<int>(std::lround(k * reach.x() / steps)), dy = static_cast<int>(std::lround(k * reach.y() / steps));
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
  for (Extent& row : aperture_) {
    row.left = std::max(row.left, 0);
    row.right = std::min(row.right, width - 1);
  }
}

// Mean of the pixels of a ring around the aperture that lie about their median, so that a neighbour in a part of it does not count.
double SpotMeasure::RingLevel(const GrayImage& image, const PixelNoise& noise, double* variance) {
  const int rows = static_cast<int>(aperture_.size()), far = kGap + kRing;
  const long long around = 2ll * far * (rows + aperture_[rows / 2].right - aperture_[rows / 2].left + 2 * far);
  const int every = 1 + static_cast<int>(around / static_cast<long long>(kRingPixels));
  // Never more than the rows above and below, whole, and both sides of the others.
  const auto span = [](const Extent& row) { return static_cast<std::size_t>(std::max(0, row.right - row.left + 3)); };
  const std::size_t most =
      kRing * (span(aperture_.front()) + span(aperture_.back())) + 2 * kRing * static_cast<std::size_t>(rows + 2 * kGap);
  if (ring_.size() < most) ring_.resize(most);
  std::uint8_t* out = ring_.data();
  const auto take = [&](int y, int left, int right) {
    left = std::max(left, 0);
    right = std::min(right, image.width - 1);
    const std::uint8_t* row = image.pixels.data() + static_cast<std::size_t>(y) * image.width;
    for (int x = left; x <= right; x += every) *out++ = row[x];
  };
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
  *variance = std::max(noise.Variance(from + mean), static_cast<double>(in.squares) / used - mean * mean) / used;
  return from + mean;
}

bool SpotMeasure::Measure(const GrayImage& image, const std::vector<Run>& runs, const Piece& piece, const PixelNoise& noise, int level,
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
  if (std::isnan(background)) background = options_.dark ? 255 : 0;  // it fills the picture
  if (contrast <= 0) contrast = std::max(1.0, sign * (level_gray + 0.5 * sign - background));
  const int base = static_cast<int>(std::lround(background));
  const int limit = std::clamp(static_cast<int>(std::lround(2 * contrast)), 1, 255);
  const double shift = background - base;

  // Sums over the aperture about (x0, y0): of one, of d = intensity - background, and of the variance of every pixel.
  int x0 = image.width;
  for (const Extent& row : aperture_) x0 = std::min(x0, row.left);
  const int y0 = aperture_top_;
  double n = 0, nx = 0, ny = 0, nxx = 0, nxy = 0, nyy = 0;
  for (std::size_t i = 0; i < aperture_.size(); ++i) {
    const Extent& row = aperture_[i];
    const double count = std::max(0, row.right - row.left + 1), middle = 0.5 * (row.left + row.right) - x0, y = static_cast<double>(i);
    n += count;
    nx += count * middle;
    ny += count * y;
    nxx += count * middle * middle + count * (count * count - 1) / 12;
    nxy += count * middle * y;
    nyy += count * y * y;
  }
  const ApertureSums sums = SumAperture(image, aperture_, y0, x0, base, limit, simd_);
  const double d = static_cast<double>(sums.d), dx = static_cast<double>(sums.dx), dy = static_cast<double>(sums.dy),
               dxx = static_cast<double>(sums.dxx), dxy = static_cast<double>(sums.dxy), dyy = static_cast<double>(sums.dyy),
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
  spot->area = sign * (clamped - shift * (n - piece.count)) / limit;  // pixels of the rim lie about `background`, not about `base`
  spot->left = piece.left;
  spot->top = piece.top;
  spot->right = piece.right;
  spot->bottom = piece.bottom;
  spot->flags = 0;
  if (options_.dark ? sums.lowest == 0 : sums.highest == 255) spot->flags |= kSaturated;
  if (piece.left == 0 || piece.top == 0 || piece.right == image.width - 1 || piece.bottom == image.height - 1) spot->flags |= kCut;
  const double sigma = std::sqrt(v0);
  if (spot->flux < 5 * sigma * spot->area) spot->flags |= kFaint;
  Judge(piece, axes, contrast, sigma, spot, shape);
  return true;
}

// Shape against the ellipse of its own second moments.
void SpotMeasure::Judge(const Piece& piece, const Axes& axes, double contrast, double sigma, Spot* spot, SpotShape* shape) {
  const double mx = axes.x, my = axes.y, xx = axes.xx, xy = axes.xy, yy = axes.yy;
  spot->spread << xx, xy, xy, yy;
  shape->elongation = axes.major / axes.minor;
  // Pixels in one of spot and ellipse only. Rows are cut by the ellipse at (mx + xy / yy dy) +- sqrt((4 - dy^2 / yy) (xx - xy^2 / yy)).
  const double inner = std::max(0.0, xx - xy * xy / yy);
  double differ = 0, extent_count = 0;
  const int reach = static_cast<int>(std::ceil(2 * std::sqrt(yy)));
  const int from = std::min(piece.top, static_cast<int>(my) - reach), to = std::max(piece.bottom, static_cast<int>(my) + reach);
  for (int y = from; y <= to; ++y) {
    const double dy = y - my, square = (4 - dy * dy / yy) * inner, centre = mx + xy / yy * dy;
    const double width = square > 0 ? std::sqrt(square) : 0, a = centre - width, b = centre + width;
    if (y < piece.top || y > piece.bottom || extents_[y - piece.top].right < extents_[y - piece.top].left) {
      differ += 2 * width;
      continue;
    }
    const double left = extents_[y - piece.top].left - 0.5, right = extents_[y - piece.top].right + 0.5;
    extent_count += right - left;
    const double both = std::max(0.0, std::min(b, right) - std::max(a, left));
    differ += right - left + 2 * width - 2 * both;
  }
  differ += extent_count - piece.count;  // holes and bays
  // Ends of rows are off by half a pixel at most by rounding, and by the noise over the slope of the edge.
  const double rows = piece.bottom - piece.top + 1;
  const double plateau = spot->flux / (std::numbers::pi * axes.major * axes.minor);
  shape->capped = spot->peak - 3 * sigma > 1.5 * plateau;
  const double missed =
      std::min(0.15, 0.5 * std::erfc((plateau - contrast) / (std::sqrt(2.0) * sigma)));  // pixels the noise takes below the threshold
  const double allowed = (0.7 + 1.5 * sigma / std::max(contrast, sigma)) * rows + (0.08 + 2 * missed) * piece.count +
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
          if ((v.first - u.first) * (p.second - u.second) - (v.second - u.second) * (p.first - u.first) < 0) break;
          hull_.pop_back();
        }
        hull_.push_back(p);
      }
    }
    for (std::size_t i = 1; i < hull_.size(); ++i) {
      hull_area += 0.5 * (hull_[i].first - hull_[i - 1].first) * (hull_[i].second + hull_[i - 1].second);
    }
  }
  const double solidity = piece.count / std::max(hull_area, piece.count);
  shape->lobes = shape->elongation > 1.4 && solidity < 0.95;
}

}  // namespace impactlab::internal
