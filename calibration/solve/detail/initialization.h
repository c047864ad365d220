#pragma once
// Where the solve starts: intrinsics and board poses of one camera from its views alone. Private to
// the room.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <string>
#include <vector>

#include "calibration/solve/bundle.h"

namespace impactlab::calibration {

// How well the points of a view lie on the projective image of their grid.
struct GridFit {
  bool ok = false;  // enough points, not on one line
  // distance from the fitted grid that 80 % of the points keep, in units of their local spacing; a
  // lens bends by 0.1
  double misfit = 0;
  bool mirrored = false;  // the grid is seen from behind
};
GridFit FitGrid(const Board& board, const BoardView& view);

// Poses X_CG of the board in a view under given intrinsics, the better first; two where a flat
// board seen from far leaves two. Each is a local minimum of the Cauchy loss of the reprojection.
// Empty when there is none in front of the camera.
struct BoardPose {
  Vector6d X_CG = Vector6d::Zero();
  double cost = 0;  // robust, [px^2]
  double rms = 0;   // median length of the residuals / 1.18 [px]
};
std::vector<BoardPose> SolvePoses(LensModel model, const Eigen::VectorXd& intrinsics, int width,
                                  int height, const BundleView& view);

// A camera by itself: start values, then a robust solve. `views` are all that share its intrinsics.
struct MonoStart {
  bool ok = false;
  Eigen::VectorXd intrinsics;
  std::vector<std::optional<BoardPose>> poses;  // by view
  std::vector<std::vector<char>> inliers;       // by view and point: within 6 sigma of this fit
  double cost = 0;                              // robust cost of all views [px^2]
  double sigma = 0;                             // robust [px]
};
MonoStart StartCamera(const CameraSetup& setup, const std::vector<const BundleView*>& views,
                      const std::optional<Eigen::VectorXd>& guess);

// Robust standard deviation of one coordinate from lengths of two-dimensional residuals.
double RobustSigma(std::vector<double> lengths);

}  // namespace impactlab::calibration
