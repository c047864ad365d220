#pragma once
// Pictures of discs of known position, integrated over every pixel, for tests and benchmarks of
// marker detection.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "data/files/image.h"

namespace impactlab::test {

struct Disc {
  Eigen::Vector2d q = Eigen::Vector2d::Zero();       // centre [px]
  double radius = 5;                                 // [px]
  double amplitude = 150;                            // [grey levels]
  double blur = 0.7;                                 // standard deviation [px]
  Eigen::Vector2d motion = Eigen::Vector2d::Zero();  // during the exposure, centred on q [px]
};

// Adds the disc to a picture that is not yet rounded: coverage of sub-pixels of a quarter pixel,
// blurred by a Gaussian through the error function of its edge, which is exact to 1 % of the
// amplitude at radius 2 and better above; symmetric about q in any case, so that the centroid of
// the sampled light is q to better than 1e-3 px.
inline void AddDisc(const Disc& disc, int width, int height, std::vector<double>* picture) {
  constexpr int kSub = 4;
  const int steps = 1 + static_cast<int>(std::ceil(2 * disc.motion.norm()));
  const double reach = disc.radius + 4 * disc.blur + 1;
  const double across = 1 / (std::sqrt(2.0) * std::max(disc.blur, 1e-3));
  for (int k = 0; k < steps; ++k) {
    const Eigen::Vector2d c = disc.q + ((k + 0.5) / steps - 0.5) * disc.motion;
    const int left = std::max(0, static_cast<int>(std::floor(c.x() - reach))),
              right = std::min(width - 1, static_cast<int>(std::ceil(c.x() + reach)));
    const int top = std::max(0, static_cast<int>(std::floor(c.y() - reach))),
              bottom = std::min(height - 1, static_cast<int>(std::ceil(c.y() + reach)));
    for (int y = top; y <= bottom; ++y) {
      for (int x = left; x <= right; ++x) {
        double light = 0;
        const double r0 = std::hypot(x - c.x(), y - c.y());
        if (r0 < disc.radius - 4 * disc.blur - 0.8) {
          light = 1;
        } else {
          for (int j = 0; j < kSub; ++j) {
            for (int i = 0; i < kSub; ++i) {
              const double r = std::hypot(x + (i + 0.5) / kSub - 0.5 - c.x(),
                                          y + (j + 0.5) / kSub - 0.5 - c.y());
              light += 0.5 * std::erfc((r - disc.radius) * across) / (kSub * kSub);
            }
          }
        }
        (*picture)[static_cast<std::size_t>(y) * width + x] += disc.amplitude * light / steps;
      }
    }
  }
}

// White noise, rounded and clipped to grey levels.
inline GrayImage Expose(const std::vector<double>& picture, int width, int height, double noise,
                        std::mt19937_64& rng) {
  GrayImage image{width, height, std::vector<std::uint8_t>(picture.size())};
  std::normal_distribution<double> normal(0, 1);
  for (std::size_t i = 0; i < picture.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>(
        std::clamp(std::lround(picture[i] + noise * normal(rng)), 0l, 255l));
  }
  return image;
}

}  // namespace impactlab::test
