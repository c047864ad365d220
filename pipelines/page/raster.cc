#include "pipelines/page/raster.h"

#include <algorithm>
#include <cmath>
#include <random>

// Loops over pixels are compiled for AVX2 too where the compiler can choose at run time; without
// fused operations the results are the same.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define IMPACTLAB_PIXEL_LOOP __attribute__((optimize("O3"), target_clones("avx2", "default")))
#else
#define IMPACTLAB_PIXEL_LOOP
#endif

namespace impactlab::pipelines {
namespace {

constexpr int kNoiseBits = 19;                 // 2^19 samples
constexpr std::size_t kLongestRow = 1u << 14;  // [px]; longer rows are done in pieces
// Added before the fraction is cut off, which rounds what is not negative and, unlike std::lround,
// works on several pixels at once.
constexpr float kHalf = 0.5f;

const std::vector<std::int16_t>& NoiseBank() {
  static const std::vector<std::int16_t> bank = [] {
    constexpr std::size_t n = std::size_t{1} << kNoiseBits;
    std::mt19937_64 random(20240229);
    std::normal_distribution<double> normal;
    std::vector<double> values(n);
    double mean = 0, square = 0;
    for (double& v : values) {
      v = normal(random);
      mean += v / n;
      square += v * v / n;
    }
    const double sd = std::sqrt(square - mean * mean);
    std::vector<std::int16_t> out(n);
    for (std::size_t i = 0; i < n; ++i)
      out[i] = static_cast<std::int16_t>(
          std::lround(std::clamp((values[i] - mean) / sd * 4096, -32767.0, 32767.0)));
    return out;
  }();
  return bank;
}

IMPACTLAB_PIXEL_LOOP void AddScaled(float* __restrict out, const float* __restrict a,
                                    const float* __restrict b, float k, int n) {
  for (int x = 0; x < n; ++x) out[x] += k * (a[x] + b[x]);
}

IMPACTLAB_PIXEL_LOOP void Scale(float* __restrict out, const float* __restrict a, float k, int n) {
  for (int x = 0; x < n; ++x) out[x] = k * a[x];
}

IMPACTLAB_PIXEL_LOOP void FixedLoop(const float* __restrict light, int n, float read_variance,
                                    float gain, std::int16_t* __restrict out,
                                    std::int16_t* __restrict noise) {
  for (int x = 0; x < n; ++x) {
    float value = light[x] < 0 ? 0 : light[x];
    value = value > kBrightest ? kBrightest : value;
    float sd = std::sqrt(read_variance + gain * value);
    sd = sd > 24.0f ? 24.0f : sd;
    out[x] = static_cast<std::int16_t>(value * 64.0f + kHalf);
    noise[x] = static_cast<std::int16_t>(sd * 1024.0f + kHalf);
  }
}

IMPACTLAB_PIXEL_LOOP void ExposeLoop(const std::int16_t* __restrict light,
                                     const std::int16_t* __restrict noise,
                                     const std::int16_t* __restrict sample, int n,
                                     std::uint8_t* __restrict pixels) {
  for (int x = 0; x < n; ++x) {
    const std::int16_t shift =
        static_cast<std::int16_t>((static_cast<int>(sample[x]) * static_cast<int>(noise[x])) >> 16);
    std::int16_t value = static_cast<std::int16_t>(light[x] + shift + 32);
    value = static_cast<std::int16_t>(value >> 6);
    value = value < 0 ? std::int16_t{0} : value;
    value = value > 255 ? std::int16_t{255} : value;
    pixels[x] = static_cast<std::uint8_t>(value);
  }
}

}  // namespace

Box Intersection(const Box& a, const Box& b) {
  return {std::max(a.x0, b.x0), std::max(a.y0, b.y0), std::min(a.x1, b.x1), std::min(a.y1, b.y1)};
}

Box Union(const Box& a, const Box& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

Box Bounds(const Polygon& polygon) {
  if (polygon.empty()) return {};
  Eigen::Vector2d lower = polygon[0], upper = polygon[0];
  for (const Eigen::Vector2d& q : polygon) {
    lower = lower.cwiseMin(q);
    upper = upper.cwiseMax(q);
  }
  // Kept within what an int can hold, far outside of any picture.
  const auto cell = [](double v) {
    return static_cast<int>(std::floor(std::clamp(v, -1e6, 1e6) + 0.5));
  };
  return {cell(lower.x()), cell(lower.y()), cell(upper.x()) + 1, cell(upper.y()) + 1};
}

double Moments(const Polygon& polygon, Eigen::Vector2d* centroid) {
  if (polygon.empty()) return 0;
  const Eigen::Vector2d& origin = polygon[0];
  double twice = 0;
  Eigen::Vector2d sum = Eigen::Vector2d::Zero();
  for (std::size_t i = 1; i + 1 < polygon.size(); ++i) {
    const Eigen::Vector2d a = polygon[i] - origin, b = polygon[i + 1] - origin;
    const double cross = a.x() * b.y() - a.y() * b.x();
    twice += cross;
    sum += cross * (a + b);
  }
  if (centroid != nullptr)
    *centroid = twice == 0 ? origin : Eigen::Vector2d(origin + sum / (3 * twice));
  return std::abs(twice) / 2;
}

double Area(const Polygon& polygon) { return Moments(polygon, nullptr); }

void Grid::Reset(const Box& new_box, int new_sub, float value) {
  box = new_box;
  sub = new_sub;
  width = std::max(0, box.width()) * sub;
  height = std::max(0, box.height()) * sub;
  values.assign(static_cast<std::size_t>(width) * height, value);
}

void AreaSum::Reset(const Box& box, int sub) {
  box_ = box;
  sub_ = sub;
  width_ = std::max(0, box.width()) * sub;
  height_ = std::max(0, box.height()) * sub;
  change_.assign(static_cast<std::size_t>(width_ + 2) * height_, 0.0f);
}

void AreaSum::Add(const Polygon& polygon, double weight) {
  if (polygon.size() < 3 || width_ == 0 || height_ == 0) return;
  double twice = 0;
  for (std::size_t i = 1; i + 1 < polygon.size(); ++i) {
    const Eigen::Vector2d a = polygon[i] - polygon[0], b = polygon[i + 1] - polygon[0];
    twice += a.x() * b.y() - a.y() * b.x();
  }
  const double signed_weight = twice < 0 ? -weight : weight;
  const auto x = [&](const Eigen::Vector2d& q) { return (q.x() + 0.5 - box_.x0) * sub_; };
  const auto y = [&](const Eigen::Vector2d& q) { return (q.y() + 0.5 - box_.y0) * sub_; };
  for (std::size_t i = 0; i < polygon.size(); ++i) {
    const Eigen::Vector2d &a = polygon[i], &b = polygon[i + 1 < polygon.size() ? i + 1 : 0];
    Edge(x(a), y(a), x(b), y(b), signed_weight);
  }
}

// Cuts an edge to the grid: parts left of it count as running along its left side, parts right of
// it for nothing.
void AreaSum::Edge(double x0, double y0, double x1, double y1, double weight) {
  if (y0 == y1) return;
  // With y down and a polygon of positive area, the inside is to the right of edges that go up.
  double sign = -weight;
  if (y0 > y1) {
    std::swap(x0, x1);
    std::swap(y0, y1);
    sign = weight;
  }
  if (y1 <= 0 || y0 >= height_) return;
  const double slope = (x1 - x0) / (y1 - y0);
  if (y0 < 0) {
    x0 -= slope * y0;
    y0 = 0;
  }
  if (y1 > height_) {
    x1 += slope * (height_ - y1);
    y1 = height_;
  }
  // Crossings of the sides, in the order met.
  double cuts[2];
  int n = 0;
  for (const double side : {0.0, static_cast<double>(width_)})
    if ((x0 < side) != (x1 < side)) cuts[n++] = std::clamp(y0 + (side - x0) / slope, y0, y1);
  if (n == 2 && cuts[0] > cuts[1]) std::swap(cuts[0], cuts[1]);
  double from_x = x0, from_y = y0;
  for (int k = 0; k <= n; ++k) {
    const double to_y = k < n ? cuts[k] : y1, to_x = k < n ? x0 + slope * (to_y - y0) : x1;
    const double middle = 0.5 * (from_x + to_x);
    if (middle <= 0) {
      Piece(0, from_y, 0, to_y, sign);
    } else if (middle < width_) {
      Piece(std::clamp(from_x, 0.0, double(width_)), from_y, std::clamp(to_x, 0.0, double(width_)),
            to_y, sign);
    }
    from_x = to_x;
    from_y = to_y;
  }
}

void AreaSum::Piece(double x0, double y0, double x1, double y1, double weight) {
  if (!(y1 > y0)) return;
  const double slope = (x1 - x0) / (y1 - y0);
  const int first = static_cast<int>(y0),
            last = std::min(height_ - 1, static_cast<int>(std::ceil(y1)) - 1);
  double x = x0;
  for (int row = first; row <= last; ++row) {
    const double top = std::max(y0, double(row)), bottom = std::min(y1, double(row + 1));
    const double next = bottom == y1 ? x1 : x0 + slope * (bottom - y0);
    const double left = std::clamp(std::min(x, next), 0.0, double(width_)),
                 right = std::clamp(std::max(x, next), 0.0, double(width_));
    x = next;
    const double d = weight * (bottom - top);
    float* out = &change_[static_cast<std::size_t>(row) * (width_ + 2)];
    const int i0 = static_cast<int>(left), i1 = static_cast<int>(std::ceil(right));
    if (i1 <= i0 + 1) {
      // mean distance of the edge from the left side of its cell
      const double beyond = 0.5 * (left + right) - i0;
      out[i0] += static_cast<float>(d * (1 - beyond));
      out[i0 + 1] += static_cast<float>(d * beyond);
      continue;
    }
    // Areas under the edge: a triangle in its first cell, trapezoids, what a triangle leaves in the
    // last.
    const double s = 1 / (right - left), in_first = 1 - (left - i0), in_last = right - (i1 - 1);
    const double area_first = 0.5 * s * in_first * in_first,
                 area_last = 0.5 * s * in_last * in_last;
    out[i0] += static_cast<float>(d * area_first);
    if (i1 == i0 + 2) {
      out[i0 + 1] += static_cast<float>(d * (1 - area_first - area_last));
    } else {
      const double area_second = s * (in_first + 0.5);
      out[i0 + 1] += static_cast<float>(d * (area_second - area_first));
      for (int i = i0 + 2; i < i1 - 1; ++i) out[i] += static_cast<float>(d * s);
      const double area_before = area_second + (i1 - i0 - 3) * s;
      out[i1 - 1] += static_cast<float>(d * (1 - area_before - area_last));
    }
    out[i1] += static_cast<float>(d * area_last);
  }
}

void AreaSum::Finish(Grid* grid) const {
  grid->box = box_;
  grid->sub = sub_;
  grid->width = width_;
  grid->height = height_;
  grid->values.resize(static_cast<std::size_t>(width_) * height_);
  for (int y = 0; y < height_; ++y) {
    const float* change = &change_[static_cast<std::size_t>(y) * (width_ + 2)];
    float* out = grid->Row(y);
    float sum = 0;
    for (int x = 0; x < width_; ++x) out[x] = sum += change[x];
  }
}

std::vector<float> GaussianKernel(double sigma) {
  if (!(sigma > 0)) return {1};
  const int r = static_cast<int>(std::ceil(4 * sigma));
  std::vector<double> k(r + 1);
  // A narrow Gaussian loses variance to sampling; it is widened until the samples have the variance
  // asked for.
  double width = sigma * sigma;
  for (int round = 0; round < 30; ++round) {
    double sum = 0, variance = 0;
    for (int i = 0; i <= r; ++i) {
      k[i] = std::exp(-i * i / (2 * width));
      sum += (i == 0 ? 1 : 2) * k[i];
      variance += 2 * i * i * k[i];
    }
    for (double& v : k) v /= sum;
    width += sigma * sigma - variance / sum;
  }
  return {k.begin(), k.end()};
}

void Blur(const std::vector<float>& kernel, Grid* grid, std::vector<float>* scratch) {
  const int r = static_cast<int>(kernel.size()) - 1, w = grid->width, h = grid->height;
  if (r == 0 || w <= 2 * r || h <= 2 * r) return;
  scratch->resize(grid->values.size());
  const int inner = w - 2 * r;
  for (int y = 0; y < h; ++y) {
    const float* in = grid->Row(y);
    float* out = &(*scratch)[static_cast<std::size_t>(y) * w];
    std::copy(in, in + r, out);
    std::copy(in + w - r, in + w, out + w - r);
    Scale(out + r, in + r, kernel[0], inner);
    for (int k = 1; k <= r; ++k) AddScaled(out + r, in + r - k, in + r + k, kernel[k], inner);
  }
  for (int y = r; y < h - r; ++y) {
    const float* in = &(*scratch)[static_cast<std::size_t>(y) * w];
    float* out = grid->Row(y);
    Scale(out, in, kernel[0], w);
    for (int k = 1; k <= r; ++k)
      AddScaled(out, in - static_cast<std::ptrdiff_t>(k) * w,
                in + static_cast<std::ptrdiff_t>(k) * w, kernel[k], w);
  }
}

void ToFixed(const float* light, int n, float read_variance, float gain, std::int16_t* fixed_light,
             std::int16_t* fixed_noise) {
  FixedLoop(light, n, read_variance, gain, fixed_light, fixed_noise);
}

void Expose(const std::int16_t* light, const std::int16_t* noise, int n, std::uint64_t key,
            std::uint8_t* pixels) {
  const std::vector<std::int16_t>& bank = NoiseBank();
  for (int done = 0; done < n;) {
    const int piece = std::min<int>(n - done, kLongestRow);
    const std::size_t start =
        Mix(key, static_cast<std::uint64_t>(done)) % (bank.size() - kLongestRow);
    ExposeLoop(light + done, noise + done, &bank[start], piece, pixels + done);
    done += piece;
  }
}

std::uint64_t Mix(std::uint64_t a, std::uint64_t b) {
  // Finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
  std::uint64_t z = a + 0x9e3779b97f4a7c15ull * (b + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace impactlab::pipelines
