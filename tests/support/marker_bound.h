#pragma once
// What the model of the marker fit says of a marker whose parameters are known: its picture without
// noise, and the Cramer-Rao bound of its position.

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "data/math/linear_algebra.h"
#include "tracking/marker/detail/initialization.h"
#include "tracking/marker/fit.h"

namespace impactlab::test {

inline tracking::MarkerOutline OutlineOf(const MarkerFit& truth, const MarkerFitOptions& options) {
  return {options.shape, truth.q,
          tracking::FormOf(options.shape, {truth.major, truth.minor, truth.angle}),
          truth.blur > 0 ? truth.blur : options.blur, options.motion};
}

// Cramer-Rao bound of the position for unknown position, axes, angle, amplitude and background,
// known blur and motion: inverse of the Fisher information of the pixels the fit uses [px^2].
inline Eigen::Matrix2d PositionBound(const MarkerFit& truth, const MarkerFitOptions& options = {}) {
  const tracking::MarkerOutline outline = OutlineOf(truth, options);
  const Eigen::Vector2d half = outline.HalfBox();
  const Window window = tracking::Grown(truth.q[0] - half[0], truth.q[1] - half[1],
                                        truth.q[0] + half[0], truth.q[1] + half[1], options);
  tracking::MarkerCover cover;
  cover.Evaluate(outline, window);
  const int width = window.right - window.left + 1, height = window.bottom - window.top + 1;
  Eigen::Matrix<double, 7, 7> information = Eigen::Matrix<double, 7, 7>::Zero();
  for (int i = 0; i < width * height; ++i) {
    const double* c = cover.pixel(i);
    Eigen::Matrix<double, 7, 1> j;
    for (int k = 0; k < 5; ++k) j[k] = truth.amplitude * c[k];
    j[5] = c[tracking::CoverChannel::kCover];
    j[6] = 1;
    if (options.circle && options.shape == MarkerShape::kDisc) {
      j[2] += j[3];
      j[3] = j[4] = 0;
    }
    const double intensity = truth.background + truth.amplitude * c[tracking::CoverChannel::kCover];
    information += j * j.transpose() / options.noise.Variance(std::max(0., intensity));
  }
  // Pseudo-inverse: of a disc smaller than the blur size and amplitude cannot be told apart, which
  // is nothing to its position.
  const Eigen::Matrix<double, 7, 1> scale =
      information.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
  const SymmetricEigen eigen = EigenOf(ScaleBothSides(scale, information));
  Eigen::Matrix2d bound = Eigen::Matrix2d::Zero();
  for (int k = 0; k < 7; ++k) {
    if (eigen.values[k] < 1e-12) continue;
    const Eigen::Vector2d v = scale.head<2>().cwiseProduct(eigen.vectors.col(k).head<2>());
    bound += v * v.transpose() / eigen.values[k];
  }
  return bound;
}

// The picture of the model with these parameters, without noise, unrounded, row by row over
// `window`.
inline std::vector<double> ModelImage(const MarkerFit& truth, const MarkerFitOptions& options,
                                      const Window& window) {
  tracking::MarkerCover cover;
  cover.Evaluate(OutlineOf(truth, options), window);
  const int width = std::max(0, window.right - window.left + 1),
            height = std::max(0, window.bottom - window.top + 1);
  std::vector<double> image(static_cast<std::size_t>(width) * height);
  for (std::size_t i = 0; i < image.size(); ++i)
    image[i] = truth.background +
               truth.amplitude * cover.pixel(static_cast<int>(i))[tracking::CoverChannel::kCover];
  return image;
}

}  // namespace impactlab::test
