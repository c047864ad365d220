#pragma once
// The picture a camera takes of a board: what detection is tested with and synthetic recordings are
// made of.
//
// A pixel is the mean of the light over its square, after a Gaussian blur: value(q) = (scene *
// Gauss(blur) * unit square)(q), then light, noise, rounding and clipping. The scene is the board's
// exact geometry seen through the exact inverse of the lens; the inverse map is interpolated
// between nodes 4 px apart (biquadratic, error below 1e-3 px for lenses and tilts of practice).

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cstdint>
#include <optional>

#include "calibration/board/board.h"
#include "calibration/camera/camera.h"
#include "data/files/image.h"

namespace impactlab {

struct RenderOptions {
  // of ink, paper and what is behind the board [grey levels]
  double black = 30, white = 220, background = 110;
  double paper_margin = 1;  // white rim around the printed pattern [pitch]
  // standard deviation [px]; 0.7 is about a well focused lens
  double blur = 0.7;
  // normal, independent from pixel to pixel [grey levels]
  double noise_sd = 0;
  // change of the illumination from the centre to the right and the lower rim, relative
  Eigen::Vector2d light = Eigen::Vector2d::Zero();
  // of the noise; the same seed gives the same picture
  std::uint64_t seed = 1;
};

// Board at X_CG (p_C = X_CG * p_G), bent by `warp`: z_G = w_x (1 - u^2) + w_y (1 - v^2), u and v in
// [-1, 1] over the points [m]. From behind it is blank paper. ConfigError for a board or camera
// with a Fault.
GrayImage RenderBoard(const Camera& camera, const Eigen::Isometry3d& X_CG, const Board& board,
                      const Eigen::Vector2d& warp = Eigen::Vector2d::Zero(),
                      const RenderOptions& options = {});

// Image of a point of the bent board [px]; nothing where the camera does not see it.
std::optional<Eigen::Vector2d> ProjectBoardPoint(const Camera& camera,
                                                 const Eigen::Isometry3d& X_CG, const Board& board,
                                                 const Eigen::Vector2d& warp, int id);

}  // namespace impactlab
