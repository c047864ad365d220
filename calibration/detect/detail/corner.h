#pragma once
// One corner of a chessboard to a few hundredths of a pixel. Private to the room.
//
// Model of the picture about a corner: two blurred straight edges that cross,
//   I(q) = m + g . (q - q0) + c E(n1 . (q - q0) / s) E(n2 . (q - q0) / s),
//   E(t) = erf(t / sqrt 2),
// fitted by least squares (Levenberg-Marquardt) in position q0, two directions, width s, level m,
// its slope g and contrast c. A corner with blur is point symmetric whatever the shape of the
// blur's symmetric kernel, so that a wrong profile causes no bias of the position; unlike the
// gradient method (cv::cornerSubPix) every pixel is used with the weight least squares gives it.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <vector>

#include "data/files/image.h"

namespace impactlab::calibration {

struct CornerGuess {
  Eigen::Vector2d q;       // [px]
  Eigen::Vector2d du, dv;  // image of one square along the board's x and y [px]
  // ChArUco: white fields hold a marker whose side is this far from the edges, in squares; above
  // 0.5 for none.
  double clear = 1;
};

struct CornerFit {
  Eigen::Vector2d q;
  // half the difference white - black; positive when the field between -x and -y of the board is
  // white [grey levels]
  double contrast = 0;
  double width = 0;  // standard deviation of the edges' blur, pixel included [px]
  double rms = 0;    // of the picture about the model [grey levels]
  // standard deviation of a coordinate for noise of 1 grey level: sqrt(trace / 2) [px]
  double unit_sd = 0;
};

// Nothing when there is no such corner near the guess.
std::optional<CornerFit> FitCorner(const GrayImage& image, const CornerGuess& guess);

// Relative standard deviations (BoardPoint::sd) from fits of one picture: noise is taken from the
// whole picture, and added to a floor for the errors of print and lens.
std::vector<double> RelativeSd(const std::vector<double>& unit_sd, const std::vector<double>& rms);
constexpr double kFloorSd = 0.02;  // [px]; sd = 1 means about this

// Projective map of the plane by least squares in the image; needs four points or more. Nothing
// when they do not determine one.
std::optional<Eigen::Matrix3d> FitHomography(const std::vector<Eigen::Vector2d>& from,
                                             const std::vector<Eigen::Vector2d>& to,
                                             const std::vector<double>* weights = nullptr);
inline Eigen::Vector2d ApplyHomography(const Eigen::Matrix3d& H, const Eigen::Vector2d& p) {
  return (H * p.homogeneous()).hnormalized();
}

}  // namespace impactlab::calibration
