#pragma once
// Declarations that the sources of the world frame share. Private to the room.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <functional>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "calibration/camera/triangulate.h"

namespace impactlab::calibration {

// A point as the rig measures it: noise of its own, and how it follows the rig.
struct RigPoint {
  std::string problem;  // empty when measured
  Eigen::Vector3d p_W = Eigen::Vector3d::Zero();
  Eigen::Matrix3d cov_pixels = Eigen::Matrix3d::Zero();
  Eigen::Matrix<double, 3, Eigen::Dynamic> dp_drig;
};
RigPoint MeasurePoint(const CameraRig& rig, const std::vector<PixelObservation>& observations);
// The ray of one camera cut with the plane z = `plane_z` of W.
RigPoint MeasureOnPlane(const CameraRig& rig, const PixelObservation& observation, double plane_z);

// The rig's covariance, zeros where it is not known.
Eigen::MatrixXd RigCovariance(const CameraRig& rig);

// Error (r, p) of an inverse pose from that of the pose, both in the sense R exp(r), p: linear.
Eigen::Matrix<double, 6, 6> InverseErrorMap(const Eigen::Isometry3d& X);

// Generalised least squares of residuals e = e0 + J dx with covariance S.
struct LinearFit {
  bool determined = false;
  Eigen::VectorXd step;   // -gain * e0
  Eigen::MatrixXd cov;    // of x
  Eigen::MatrixXd gain;   // (J' S^-1 J)^-1 J' S^-1
  double chi_square = 0;  // of what is left
};
LinearFit SolveLinear(const Eigen::VectorXd& e0, const Eigen::MatrixXd& J,
                      const Eigen::MatrixXd& S);
// The same of residuals that are not linear: Gauss-Newton steps to the minimum, and the fit there.
// `linearise` gives residuals and derivatives at the current point, `move` moves it by a step. Not
// determined where the residuals have no such fit at the start or on the way.
LinearFit FitByLinearSteps(
    const std::function<void(Eigen::VectorXd* e, Eigen::MatrixXd* J)>& linearise,
    const Eigen::MatrixXd& S, const std::function<void(const Eigen::VectorXd& step)>& move);

// Least-squares rotation and position X with to ~ X from (Umeyama 1991, without scale).
Eigen::Isometry3d Align(const std::vector<Eigen::Vector3d>& from,
                        const std::vector<Eigen::Vector3d>& to);
// How far points reach across their best line [m].
double Width(const std::vector<Eigen::Vector3d>& points);
// Covariance of stacked residuals, `dims` rows each: own noise, and what they share through the rig
// (C its covariance).
Eigen::MatrixXd StackedCovariance(const std::vector<Eigen::Matrix3d>& own,
                                  const std::vector<Eigen::MatrixXd>& by_rig,
                                  const Eigen::MatrixXd& C, int dims,
                                  Eigen::MatrixXd* stacked_by_rig);

// 1 - ChiSquareCdf, 1 without degrees of freedom.
double TailProbability(double chi_square, int dof);

// Standard deviation beyond which a frame or a direction is not usable [rad].
constexpr double kMaxAngleSd = 0.1;

// Largest standard deviation of a vector in any direction.
double WorstSd(const Eigen::Matrix3d& cov);

}  // namespace impactlab::calibration
