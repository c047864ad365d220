#pragma once
// Pictures of square tags of known place, drawn finely enough to measure sub-pixel corners against.

#include <Eigen/Core>
#include <Eigen/LU>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "data/files/image.h"

namespace impactlab::test {

// Rows of cells without the border, as the makers of the dictionaries publish them: 1 is white.
struct Pattern {
  std::string dictionary;
  int id;
  std::vector<std::string> rows;
};
inline const Pattern kAruco0{"4X4_50", 0, {"1011", "0101", "0011", "0010"}};
inline const Pattern kAruco1{"4X4_50", 1, {"0000", "1111", "1001", "1010"}};
inline const Pattern kApril36h11{
    "APRILTAG_36h11", 0, {"110101", "011101", "011000", "101000", "010110", "000100"}};
inline const Pattern kApril16h5{"APRILTAG_16h5", 0, {"0010", "0011", "0001", "1011"}};
inline const Pattern kApril25h9{"APRILTAG_25h9", 0, {"10101", "01011", "10010", "11111", "10001"}};

// Maps the square [0, n]^2 of the tag with its border, n cells wide, into the picture.
using Map = Eigen::Matrix3d;
inline Eigen::Vector2d Apply(const Map& map, double x, double y) {
  const Eigen::Vector3d p = map * Eigen::Vector3d(x, y, 1);
  return p.head<2>() / p.z();
}
inline std::array<Eigen::Vector2d, 4> TrueCorners(const Pattern& pattern, const Map& map) {
  const double n = static_cast<double>(pattern.rows.size()) + 2;
  return {Apply(map, 0, 0), Apply(map, n, 0), Apply(map, n, n), Apply(map, 0, n)};
}

// Blurred by a box of a pixel and a Gaussian, shaded, with noise; `canvas` keeps what was drawn
// before.
class Canvas {
 public:
  Canvas(int width, int height)
      : width_(width), height_(height), light_(static_cast<std::size_t>(width) * height, 200.0) {}
  void Draw(const Pattern& pattern, const Map& map) {
    const Map back = map.inverse();
    const int n = static_cast<int>(pattern.rows.size()) + 2;
    Eigen::Vector2d low(1e9, 1e9), high(-1e9, -1e9);
    for (const auto& c : TrueCorners(pattern, map)) low = low.cwiseMin(c), high = high.cwiseMax(c);
    for (int y = std::max(0, static_cast<int>(low.y()) - 1);
         y <= std::min(height_ - 1, static_cast<int>(high.y()) + 1); ++y)
      for (int x = std::max(0, static_cast<int>(low.x()) - 1);
           x <= std::min(width_ - 1, static_cast<int>(high.x()) + 1); ++x) {
        // Much finer where an edge runs through the pixel.
        const auto dark = [&](double px, double py) {
          const Eigen::Vector2d p = Apply(back, px, py);
          if (p.x() < 0 || p.y() < 0 || p.x() >= n || p.y() >= n) return false;
          const int column = static_cast<int>(p.x()) - 1, row = static_cast<int>(p.y()) - 1;
          return column < 0 || row < 0 || column >= n - 2 || row >= n - 2 ||
                 pattern.rows[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] !=
                     '1';
        };
        const int corners = dark(x - 0.5, y - 0.5) + dark(x + 0.5, y - 0.5) +
                            dark(x - 0.5, y + 0.5) + dark(x + 0.5, y + 0.5);
        const int fine = corners % 4 == 0 ? 1 : 20;
        double black = 0;
        for (int i = 0; i < fine; ++i)
          for (int j = 0; j < fine; ++j)
            black += dark(x - 0.5 + (i + 0.5) / fine, y - 0.5 + (j + 0.5) / fine);
        light_[static_cast<std::size_t>(y) * width_ + x] = 200 - 160 * black / (fine * fine);
      }
  }
  GrayImage Expose(double blur, double noise, double shading, std::mt19937_64& rng) const {
    std::vector<double> across = light_, both = light_;
    const int reach = static_cast<int>(std::ceil(4 * blur));
    std::vector<double> weight;
    double sum = 0;
    for (int k = -reach; k <= reach; ++k) weight.push_back(std::exp(-0.5 * k * k / (blur * blur)));
    for (const double w : weight) sum += w;
    const auto pass = [&](const std::vector<double>& from, std::vector<double>& to, int dx,
                          int dy) {
      for (int y = 0; y < height_; ++y)
        for (int x = 0; x < width_; ++x) {
          double value = 0;
          for (int k = -reach; k <= reach; ++k)
            value +=
                weight[static_cast<std::size_t>(k + reach)] *
                from[static_cast<std::size_t>(std::clamp(y + k * dy, 0, height_ - 1)) * width_ +
                     std::clamp(x + k * dx, 0, width_ - 1)];
          to[static_cast<std::size_t>(y) * width_ + x] = value / sum;
        }
    };
    pass(light_, across, 1, 0);
    pass(across, both, 0, 1);
    GrayImage image{width_, height_, std::vector<std::uint8_t>(light_.size())};
    std::normal_distribution<double> normal;
    for (int y = 0; y < height_; ++y)
      for (int x = 0; x < width_; ++x)
        image.At(x, y) = static_cast<std::uint8_t>(
            std::clamp(std::lround(both[static_cast<std::size_t>(y) * width_ + x] *
                                       (1 + shading * (x - y) / width_) +
                                   noise * normal(rng)),
                       0L, 255L));
    return image;
  }

 private:
  int width_, height_;
  std::vector<double> light_;
};

// Centre, size of a cell, turn, and a slant that makes parallels meet.
inline Map Place(const Pattern& pattern, double cx, double cy, double cell, double turn,
                 double slant) {
  const double n = static_cast<double>(pattern.rows.size()) + 2;
  Map centre, rotate, project, shift;
  centre << 1, 0, -n / 2, 0, 1, -n / 2, 0, 0, 1;
  rotate << cell * std::cos(turn), -cell * std::sin(turn), 0, cell * std::sin(turn),
      cell * std::cos(turn), 0, 0, 0, 1;
  project << 1, 0, 0, 0, 1 - 3 * std::abs(slant), 0, slant / (n * cell), 0.5 * slant / (n * cell),
      1;
  shift << 1, 0, cx, 0, 1, cy, 0, 0, 1;
  return shift * project * rotate * centre;
}

}  // namespace impactlab::test
