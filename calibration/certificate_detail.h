#pragma once
// What the parts of the certificate share. Private to the room.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <vector>

#include "calibration/calibrate.h"
#include "calibration/certificate.h"

namespace impactlab::internal {

// An inlier of one camera: where the board point is in the camera's frame, and how sure its pixel was.
struct MeasuredPoint {
  Eigen::Vector3d p_C;
  Eigen::Vector2d q;  // [px]
  double weight = 1;  // 1 / sd^2, relative
};
// The predicted pixel's ray, cut with the plane of the board.
std::vector<MeasuredPoint> MeasuredPoints(const CalibrationResult& result, int camera);

// Derivatives of a pixel by the intrinsics (2 x n) and by a small motion p -> exp(r) p + t (2 x 6) at p_C; false where it has no image.
bool PixelDerivatives(const Camera& camera, const Eigen::Vector3d& p_C, Eigen::Matrix<double, 2, Eigen::Dynamic>* by_intrinsics,
                      Eigen::Matrix<double, 2, 6>* by_motion);

// The rigid motion that best undoes a change d of the intrinsics at the measured points is M d; this is M (6 x n).
Eigen::Matrix<double, 6, Eigen::Dynamic> ImpliedMotion(const Camera& camera, const std::vector<MeasuredPoint>& points);

// The map, and for each valid pixel the derivative by the intrinsics with the implied motion in it (2 x n; empty where not valid).
UncertaintyMap MapUncertainty(const Camera& camera, const std::vector<MeasuredPoint>& points, const Eigen::MatrixXd& cov_intrinsics,
                              double distance, int columns, int rows, std::vector<Eigen::Matrix<double, 2, Eigen::Dynamic>>* derivatives);

Eigen::MatrixXd IntrinsicCovariance(const CalibrationResult& result, int camera);

// Median distance of the measured points from the camera; 0 without any [m].
double TypicalDistance(const std::vector<MeasuredPoint>& points);

// Convex hull, counter-clockwise, and whether a point lies in it.
std::vector<Eigen::Vector2d> ConvexHull(std::vector<Eigen::Vector2d> points);
bool InHull(const std::vector<Eigen::Vector2d>& hull, const Eigen::Vector2d& q);

}  // namespace impactlab::internal
