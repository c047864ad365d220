#pragma once
// Triangulation of a point from its images, with a covariance that includes pixels and rig.

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"

namespace impactlab {

struct PixelObservation {
  int camera = 0;
  Eigen::Vector2d q = Eigen::Vector2d::Zero();        // [px]
  Eigen::Matrix2d cov = Eigen::Matrix2d::Identity();  // [px^2]
};

struct TriangulatedPoint {
  bool usable = false;
  // why not: parallel rays, behind a camera, depth undetermined, ...
  std::string reason;
  Eigen::Vector3d p_W = Eigen::Vector3d::Zero();         // [m]
  Eigen::Matrix3d cov = Eigen::Matrix3d::Zero();         // pixels and rig
  Eigen::Matrix3d cov_pixels = Eigen::Matrix3d::Zero();  // pixels alone
  // Distance from the first camera along its ray. Its inverse is nearly normal, the distance itself
  // is not: the interval is that of the inverse, transformed, so that the far side is longer; the
  // upper end is infinite where the interval of the inverse includes 0.
  double depth = 0, inverse_depth = 0, sd_inverse_depth = 0;
  double depth_lower68 = 0, depth_upper68 = 0, depth_lower95 = 0, depth_upper95 = 0;
  double chi_square = 0;  // of the reprojection, dof = 2 n - 3
  int dof = 0;
  // the same with the rig's covariance counted too: tests whether the images are of one point
  double consistency = 0;
  // How the point follows the rig parameters, on request: the rig's error is common to all points,
  // and the cross covariance of two points is dp_drig_1 C dp_drig_2' with C the rig's covariance.
  Eigen::Matrix<double, 3, Eigen::Dynamic> dp_drig;
};

struct TriangulateOptions {
  double max_relative_sd = 0.3;  // of the depth; above it the point is refused
  bool derivatives = false;      // fill dp_drig
};

// Maximum likelihood over the pixels, in the direction from the first camera and the inverse
// distance (Civera, Davison and Montiel 2008), in which a point at infinity is regular. 68 %
// intervals are those of one standard deviation. A refused point keeps the inverse depth and its
// interval where they are known; no member is NaN. ConfigError for a camera that the rig does not
// have, or a covariance of another size. With fewer than two observations: not usable.
TriangulatedPoint Triangulate(const CameraRig& rig,
                              const std::vector<PixelObservation>& observations,
                              const TriangulateOptions& options = {});

}  // namespace impactlab
