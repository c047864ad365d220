#pragma once
// Declarations that the sources of the certificate share. Private to the room.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "calibration/certificate/certificate.h"
#include "calibration/solve/advice.h"
#include "calibration/solve/calibrate.h"

namespace impactlab::calibration {

struct Findings {
  std::vector<RigFinding>* list;
  void Add(RigVerdict level, int camera, const char* code, std::string text,
           std::string advice = "") const {
    list->push_back({level, camera, code, std::move(text), std::move(advice)});
  }
  // `value` against a good and a greatest limit.
  void Grade(double value, double good, double largest, int camera, const char* code,
             const std::string& text, const std::string& advice) const {
    if (!(value > good)) return;
    Add(value > largest ? RigVerdict::kRefused : RigVerdict::kUsable, camera, code, text, advice);
  }
};

// Findings from the detection and the shots, and from the solve, in the order of their importance.
void AddInputFindings(const CalibrationProblem& problem, const CalibrationResult& result,
                      Findings findings);
void AddSolveFindings(const CalibrationProblem& problem, const CalibrationResult& result,
                      const RigCertificateOptions& options, Findings findings);

// Shots whose pictures of one camera are turned by 180 degrees against those of the rest.
struct TurnedPictures {
  std::vector<int> shots;  // the fewer; empty: none
  // noise of the camera by itself, with the pictures as they are and turned back [px]
  double sigma_as_is = 0, sigma_turned = 0;
};
TurnedPictures FindTurnedPictures(const CalibrationProblem& problem,
                                  const CalibrationResult& result, int camera);

// An inlier of one camera: position of the board point in the camera's frame, and weight of its
// pixel.
struct MeasuredPoint {
  Eigen::Vector3d p_C;
  Eigen::Vector2d q;  // [px]
  double weight = 1;  // 1 / sd^2, relative
};
// The predicted pixel's ray, cut with the plane of the board.
std::vector<MeasuredPoint> MeasuredPoints(const CalibrationResult& result, int camera);

// Derivatives of a pixel by the intrinsics (2 x n) and by a small motion p -> exp(r) p + t (2 x 6)
// at p_C; false where it has no image.
bool PixelDerivatives(const Camera& camera, const Eigen::Vector3d& p_C,
                      Eigen::Matrix<double, 2, Eigen::Dynamic>* by_intrinsics,
                      Eigen::Matrix<double, 2, 6>* by_motion);

// The rigid motion that best undoes a change d of the intrinsics at the measured points is M d;
// this is M (6 x n).
Eigen::Matrix<double, 6, Eigen::Dynamic> ImpliedMotion(const Camera& camera,
                                                       const std::vector<MeasuredPoint>& points);

// The map, and for each valid pixel the derivative by the intrinsics with the implied motion in it
// (2 x n; empty where not valid).
UncertaintyMap MapUncertainty(const Camera& camera, const std::vector<MeasuredPoint>& points,
                              const Eigen::MatrixXd& cov_intrinsics, double distance, int columns,
                              int rows,
                              std::vector<Eigen::Matrix<double, 2, Eigen::Dynamic>>* derivatives);

Eigen::MatrixXd IntrinsicCovariance(const CalibrationResult& result, int camera);

// Median distance of the measured points from the camera; 0 without any [m].
double TypicalDistance(const std::vector<MeasuredPoint>& points);

// Convex hull, counter-clockwise, and whether a point lies in it.
std::vector<Eigen::Vector2d> ConvexHull(std::vector<Eigen::Vector2d> points);
bool InHull(const std::vector<Eigen::Vector2d>& hull, const Eigen::Vector2d& q);

}  // namespace impactlab::calibration
