#pragma once
// The joint least-squares problem of calibration/solve/calibrate.h as the solver sees it.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <vector>

#include "calibration/solve/calibrate.h"

namespace impactlab::calibration {

using Vector6d = Eigen::Matrix<double, 6, 1>;
using Matrix6d = Eigen::Matrix<double, 6, 6>;

// Rotation vector [rad], then position [m].
Eigen::Isometry3d ToIsometry(const Vector6d& pose);
Vector6d FromIsometry(const Eigen::Isometry3d& X);

// One camera's points in one shot.
struct BundleView {
  std::vector<int> id;
  std::vector<Eigen::Vector3d> p_G;
  std::vector<Eigen::Vector2d> bend;  // 1 - u^2, 1 - v^2: height over the plane per warp
  std::vector<Eigen::Vector2d> q;     // [px]
  std::vector<double> sd;             // relative
  std::vector<char> active;           // 0: an outlier
  bool used = false;                  // false: the view takes no part
  bool empty() const { return q.empty(); }
};

struct Bundle {
  std::vector<LensModel> model;
  // camera whose intrinsics this one uses (itself, or an earlier one)
  std::vector<int> leader;
  std::vector<std::vector<char>> free;  // by camera and intrinsic
  std::vector<std::vector<CameraSetup::Prior>> priors;
  bool free_warp = true;

  // Unknowns. Intrinsics of a follower are those of its leader.
  std::vector<Eigen::VectorXd> intrinsics;
  std::vector<Vector6d> X_CW;  // by camera; of camera 0 the identity, held
  std::vector<Vector6d> X_WG;  // by shot
  Eigen::Vector2d warp = Eigen::Vector2d::Zero();

  std::vector<double> sigma;                   // by camera [px]
  std::vector<std::vector<BundleView>> views;  // [shot][camera]

  int cameras() const { return static_cast<int>(model.size()); }
  int shots() const { return static_cast<int>(views.size()); }
  bool ShotUsed(int shot) const;
};

BundleView MakeView(const Board& board, const BoardView& view);

// Predicted minus observed [px] of all points of a view, active or not; NaN where the point cannot
// be projected.
std::vector<Eigen::Vector2d> Residuals(const Bundle& bundle, int shot, int camera);

struct BundleSummary {
  bool converged = false;
  int iterations = 0;
  double cost = 0;  // half the sum of squares of the weighted residuals
};
// Minimises over the unknowns. `loss_scale` > 0: Cauchy loss, in units of sigma * sd; 0: least
// squares. `tolerance`: relative change of the cost at which it ends.
BundleSummary Minimize(Bundle& bundle, double loss_scale, int max_iterations,
                       double tolerance = 1e-13);

// Covariance from the least-squares information of the active points.
struct BundleCovariance {
  bool determined = false;
  // Scaled to unit diagonal, the smallest eigenvalue of the information of the common parameters,
  // and the parameters with a large component along its eigenvector.
  double weakest = 0;
  std::vector<std::string> weak_parameters;
  Eigen::MatrixXd common;  // rig parameters as in CameraRig (W = camera 0), then warp
  std::vector<Matrix6d> given_common;
  std::vector<Eigen::Matrix<double, 6, Eigen::Dynamic>> dpose_dcommon;
  std::vector<double>
      leverage;  // by camera: degrees of freedom used up by its points (trace of the hat matrix)
};
BundleCovariance Covariance(const Bundle& bundle, const CameraRig& rig);

// The unknowns as a rig whose W is the first camera.
CameraRig ToRig(const Bundle& bundle, const CalibrationProblem& problem);

}  // namespace impactlab::calibration
