#pragma once
// Pictures of markers by brute force, sharing nothing with the model of the fit: the shape is drawn
// on a grid many times finer than the pixels, with the part of the exposure each point was covered,
// blurred by a sampled kernel, and summed up over every pixel.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <random>
#include <vector>

#include "data/files/image.h"
#include "tracking/marker/fit.h"

namespace impactlab::test {

struct RenderedMarker {
  Eigen::Vector2d q = Eigen::Vector2d::Zero();  // on the pixels of the finished picture [px]
  double major = 5, minor = 5, angle = 0;
  MarkerShape shape = MarkerShape::kDisc;
  double blur = 0.7;
  double defocus = 0;  // radius of a uniform disc of confusion, beside the blur [px]
  Eigen::Vector2d motion = Eigen::Vector2d::Zero();
  // Factor of the brightness of the marker at a place relative to its centre [px]; uniform where
  // empty. Without motion only.
  std::function<double(const Eigen::Vector2d&)> shade = nullptr;
  // What is seen beside it, over the brightness of the marker, at a place relative to its centre
  // [px]; dark where empty. The cover is then that of the marker and what is behind it. Without
  // motion only.
  std::function<double(const Eigen::Vector2d&)> backdrop = nullptr;
};

// Cover of the pixels between 0 and 1, from one fine drawing at every shift by whole steps of 1 /
// fine pixel.
class FineMarker {
 public:
  // The picture is `size` by `size` pixels. marker.q lies within it; shifts move it by up to one
  // pixel to the right and down.
  FineMarker(const RenderedMarker& marker, int width, int height, int fine = 16)
      : width_(width),
        height_(height),
        fine_(fine),
        columns_((width + 2) * fine),
        rows_((height + 2) * fine) {
    std::vector<double> grid(static_cast<std::size_t>(columns_) * rows_);
    const double cos = std::cos(marker.angle), sin = std::sin(marker.angle);
    const auto normalise = [&](const Eigen::Vector2d& d) {
      return Eigen::Vector2d((cos * d[0] + sin * d[1]) / marker.major,
                             (-sin * d[0] + cos * d[1]) / marker.minor);
    };
    const bool moves = marker.motion.norm() > 0;
    // Without motion a cell takes the part of its row that lies inside: a line along x of one cell,
    // as if it were the motion.
    const Eigen::Vector2d line = normalise(moves ? marker.motion : Eigen::Vector2d(1. / fine, 0));
    const int sub = 4;  // rows of a cell
    for (int row = 0; row < rows_; ++row)
      for (int column = 0; column < columns_; ++column) {
        double sum = 0;
        Eigen::Vector2d d;
        for (int k = 0; k < sub; ++k) {
          d = Eigen::Vector2d((column + 0.5) / fine - 1.5, (row + (k + 0.5) / sub) / fine - 1.5) -
              marker.q;
          sum += Inside(marker.shape, normalise(d), line);
        }
        sum /= sub;
        const double left = 1 - sum;
        if (marker.shade && sum > 0) sum *= marker.shade(d);
        if (marker.backdrop && left > 0) sum += left * marker.backdrop(d);
        grid[static_cast<std::size_t>(row) * columns_ + column] = sum;
      }
    if (marker.defocus > 0) grid = Defocus(grid, marker.defocus * fine);
    Blur(&grid, marker.blur * fine);
    // Summed-area table: any pixel-sized box in four look-ups.
    sums_.assign(static_cast<std::size_t>(columns_ + 1) * (rows_ + 1), 0.);
    for (int row = 0; row < rows_; ++row)
      for (int column = 0; column < columns_; ++column)
        At(column + 1, row + 1) = grid[static_cast<std::size_t>(row) * columns_ + column] +
                                  At(column, row + 1) + At(column + 1, row) - At(column, row);
  }

  int fine() const { return fine_; }

  // Moved by (right, down) / fine pixels, each from 0 to fine.
  std::vector<double> Cover(int right = 0, int down = 0) const {
    std::vector<double> cover(static_cast<std::size_t>(width_) * height_);
    for (int y = 0; y < height_; ++y)
      for (int x = 0; x < width_; ++x) {
        const int x0 = (x + 1) * fine_ - right, y0 = (y + 1) * fine_ - down;
        cover[static_cast<std::size_t>(y) * width_ + x] =
            (Look(x0 + fine_, y0 + fine_) - Look(x0, y0 + fine_) - Look(x0 + fine_, y0) +
             Look(x0, y0)) /
            (fine_ * fine_);
      }
    return cover;
  }

 private:
  // Part of the line d - line / 2 ... d + line / 2 inside the unit circle or the square of half
  // side 1.
  static double Inside(MarkerShape shape, const Eigen::Vector2d& d, const Eigen::Vector2d& line) {
    double from = -0.5, to = 0.5;
    if (shape == MarkerShape::kDisc) {
      const double a = line.squaredNorm(), b = d.dot(line), c = d.squaredNorm() - 1,
                   discriminant = b * b - a * c;
      if (discriminant <= 0) return 0;
      from = std::max(from, (-b - std::sqrt(discriminant)) / a);
      to = std::min(to, (-b + std::sqrt(discriminant)) / a);
    } else {
      for (int axis = 0; axis < 2; ++axis) {
        if (line[axis] == 0) {
          if (std::abs(d[axis]) > 1) return 0;
          continue;
        }
        const double one = (-1 - d[axis]) / line[axis], other = (1 - d[axis]) / line[axis];
        from = std::max(from, std::min(one, other));
        to = std::min(to, std::max(one, other));
      }
    }
    return std::max(0., to - from);
  }

  std::vector<double> Defocus(const std::vector<double>& grid, double radius) const {
    std::vector<double> out(grid.size(), 0.);
    double total = 0;
    const int reach = static_cast<int>(radius) + 1;
    for (int dy = -reach; dy <= reach; ++dy) {
      if (std::abs(dy) > radius) continue;
      const int half = static_cast<int>(std::floor(std::sqrt(radius * radius - dy * dy)));
      total += 2 * half + 1;
      for (int row = std::max(0, -dy); row < std::min(rows_, rows_ - dy); ++row) {
        const double* in = grid.data() + static_cast<std::size_t>(row + dy) * columns_;
        double* to = out.data() + static_cast<std::size_t>(row) * columns_;
        double sum = 0;
        for (int x = 0; x < std::min(half, columns_); ++x) sum += in[x];
        for (int x = 0; x < columns_; ++x) {
          if (x + half < columns_) sum += in[x + half];
          if (x - half - 1 >= 0) sum -= in[x - half - 1];
          to[x] += sum;
        }
      }
    }
    for (double& value : out) value /= total;
    return out;
  }

  void Blur(std::vector<double>* grid, double sd) const {
    const int reach = static_cast<int>(std::ceil(5 * sd));
    std::vector<double> kernel(2 * reach + 1), out(grid->size());
    double total = 0;
    for (int k = -reach; k <= reach; ++k)
      total += kernel[k + reach] = std::exp(-0.5 * k * k / (sd * sd));
    for (double& k : kernel) k /= total;
    for (int row = 0; row < rows_; ++row)
      for (int column = 0; column < columns_; ++column) {
        double sum = 0;
        const double* line = grid->data() + static_cast<std::size_t>(row) * columns_;
        for (int k = std::max(-reach, -column); k <= std::min(reach, columns_ - 1 - column); ++k)
          sum += kernel[k + reach] * line[column + k];
        out[static_cast<std::size_t>(row) * columns_ + column] = sum;
      }
    std::fill(grid->begin(), grid->end(), 0.);
    for (int row = 0; row < rows_; ++row)
      for (int k = std::max(-reach, -row); k <= std::min(reach, rows_ - 1 - row); ++k) {
        const double weight = kernel[k + reach];
        const double* from = out.data() + static_cast<std::size_t>(row + k) * columns_;
        double* to = grid->data() + static_cast<std::size_t>(row) * columns_;
        for (int column = 0; column < columns_; ++column) to[column] += weight * from[column];
      }
  }

  double& At(int column, int row) {
    return sums_[static_cast<std::size_t>(row) * (columns_ + 1) + column];
  }
  double Look(int column, int row) const {
    return sums_[static_cast<std::size_t>(std::clamp(row, 0, rows_)) * (columns_ + 1) +
                 std::clamp(column, 0, columns_)];
  }

  int width_, height_, fine_, columns_, rows_;
  std::vector<double> sums_;
};

// 8 bits with noise.
inline GrayImage Expose(const std::vector<double>& intensity, int width, const PixelNoise& noise,
                        std::mt19937_64* rng) {
  GrayImage image{width, static_cast<int>(intensity.size()) / width,
                  std::vector<std::uint8_t>(intensity.size())};
  std::normal_distribution<double> normal;
  for (std::size_t i = 0; i < intensity.size(); ++i) {
    const double sd = std::sqrt(noise.read * noise.read + noise.gain * std::max(0., intensity[i]));
    image.pixels[i] = static_cast<std::uint8_t>(
        std::clamp(std::lround(intensity[i] + sd * normal(*rng)), 0L, 255L));
  }
  return image;
}

// What a detector would report: pixels of the cover above half of its peak, and a centre that is up
// to `error` px off.
inline Spot SpotOf(const std::vector<double>& cover, int width, double amplitude, double background,
                   double error, std::mt19937_64* rng) {
  const int height = static_cast<int>(cover.size()) / width;
  const double half = 0.5 * *std::max_element(cover.begin(), cover.end());
  Spot spot;
  spot.left = width, spot.top = height, spot.right = -1, spot.bottom = -1;
  Eigen::Vector2d sum = Eigen::Vector2d::Zero();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const double value = cover[static_cast<std::size_t>(y) * width + x];
      if (value > 0.05 * half) spot.flux += std::abs(amplitude) * value;
      if (value < half) continue;
      spot.left = std::min(spot.left, x), spot.right = std::max(spot.right, x);
      spot.top = std::min(spot.top, y), spot.bottom = std::max(spot.bottom, y);
      spot.area += 1;
      sum += Eigen::Vector2d(x, y);
    }
  spot.q = sum / spot.area;
  for (int y = spot.top; y <= spot.bottom; ++y)
    for (int x = spot.left; x <= spot.right; ++x)
      if (cover[static_cast<std::size_t>(y) * width + x] >= half) {
        const Eigen::Vector2d d = Eigen::Vector2d(x, y) - spot.q;
        spot.spread += d * d.transpose() / spot.area;
      }
  std::uniform_real_distribution<double> uniform(-1, 1);
  spot.q += error * Eigen::Vector2d(uniform(*rng), uniform(*rng));
  spot.cov = 0.01 * Eigen::Matrix2d::Identity();
  spot.peak = 2 * half * std::abs(amplitude);
  spot.background = background;
  return spot;
}

}  // namespace impactlab::test
