#pragma once
// From board points to a rig: one joint least-squares problem over intrinsics, rig poses, board
// poses and board warp.
//
// Model of an observation: q = project(camera c, X_CW X_WG(shot) (p_G + warp)), noise normal with
// standard deviation sd_point * sigma_c, sigma_c one number a camera, estimated. W is the frame of
// the first camera here; see calibration/world/world.h for others. Warp: z = w_x (1 - u^2) + w_y (1
// - v^2) with u, v in [-1, 1] over the board (mrcal's form) [m].
//
// Outliers: a robust fit (Cauchy loss) detects them; points beyond `outlier_sigma` are listed and
// left out, and the rest is solved by plain least squares, so that the covariance is that of least
// squares. The result is deterministic.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "calibration/board/board.h"
#include "calibration/camera/rig.h"
#include "calibration/detect/detect.h"

namespace impactlab {

// Prior knowledge of a camera.
struct CameraSetup {
  std::string name;
  int width = 0, height = 0;  // [px]
  LensModel model = LensModel::kBrown;
  // start of the solve; values of fixed parameters; without it a closed form
  std::optional<Camera> start;
  // names as in IntrinsicNames: held at `start`, or 0 (coefficients) and the image centre
  std::vector<std::string> fixed;
  struct Prior {
    std::string parameter;
    double mean = 0, sd = 1;
  };
  std::vector<Prior> priors;  // normal, of intrinsics
  // an earlier camera of the same size and model whose intrinsics are also this one's
  int shares_intrinsics_with = -1;
};

// One instant: what each camera saw, in the order of the cameras (a view without points where it
// saw nothing).
struct BoardShot {
  std::string name;
  std::vector<BoardView> views;
};

struct CalibrationProblem {
  Board board;
  std::vector<CameraSetup> cameras;
  std::vector<BoardShot> shots;
};

struct CalibrationOptions {
  bool warp = true;            // estimate the warp of the board
  bool robust = true;          // false: plain least squares on all points, nothing is removed
  double outlier_sigma = 4.5;  // [sigma], length of the two-dimensional residual
  // turn views whose point order disagrees with the rest (see Symmetries)
  bool fix_order = true;
  int max_iterations = 200;
  // further solves from disturbed starts; a different optimum is a note, a better one is taken
  int random_starts = 0;
  std::uint64_t seed = 1;  // of the disturbances
};

enum class CalibrationStatus { kSolved, kNotConverged, kUndetermined, kInconsistent, kNoData };

struct PointResidual {
  int id = 0;
  Eigen::Vector2d q = Eigen::Vector2d::Zero();         // observed [px]
  Eigen::Vector2d residual = Eigen::Vector2d::Zero();  // predicted - observed [px]
  double sd = 1;                                       // relative, as observed
  bool outlier = false;
};

struct ViewResult {
  std::vector<PointResidual> points;
  // of the inliers, per coordinate pair as OpenCV counts it: sqrt(sum |r|^2 / n) [px]
  double rms = 0;
  std::string rejected;  // the whole view left the solve: why
  std::string note;      // e.g. "points turned by 180 degrees"
};

struct ShotResult {
  Eigen::Isometry3d X_WG = Eigen::Isometry3d::Identity();  // pose of the board
  bool used = false;
  std::vector<ViewResult> views;  // by camera
  // Error of the pose (rotation about its own axes R exp(r) [rad], position in W [m]) given the
  // common parameters (rig parameters, then the two of the warp), and how it follows them: cov =
  // cov_given_common + D C D', cross covariance with the common ones D C.
  Eigen::Matrix<double, 6, 6> cov_given_common = Eigen::Matrix<double, 6, 6>::Zero();
  Eigen::Matrix<double, 6, Eigen::Dynamic> dpose_dcommon;
};

struct CalibrationResult {
  CalibrationStatus status = CalibrationStatus::kNoData;
  std::string reason;  // in words of a user; empty when solved
  std::string advice;  // what to do or to film next, where the reason does not say it itself
  bool usable() const { return status == CalibrationStatus::kSolved; }

  // W is the first camera; covariance of its parameters
  CameraRig rig;
  Eigen::Vector2d warp = Eigen::Vector2d::Zero();  // [m]
  Eigen::MatrixXd cov_common;                      // rig parameters and warp
  std::vector<double> sigma;                       // noise of each camera for sd = 1 [px]
  std::vector<ShotResult> shots;
  double cost = 0;  // half the sum of squared residuals of the points in the solve [px^2]
  int n_points = 0, n_outliers = 0, dof = 0;
  int iterations = 0;
  // solves tried, and those that ended at this optimum (cost within 1e-6 of it)
  int starts = 1, starts_agreeing = 1;
  double seconds = 0;
  // relabelled views, cameras fixed by lack of data, swapped cameras, ...
  std::vector<std::string> notes;
};

// ConfigError for an inconsistent setup (names, sizes); whatever the data do not allow is in the
// status.
CalibrationResult Calibrate(const CalibrationProblem& problem,
                            const CalibrationOptions& options = {});

struct LensChoice {
  std::vector<LensModel> chosen;  // by camera
  struct Score {
    LensModel model;
    // of the k-fold prediction [px]; paired standard error of its difference from the best
    double held_out_rms = 0, paired_se = 0;
    std::string note;
  };
  std::vector<std::vector<Score>> scores;
};
// k-fold cross-validation over shots, each camera by itself. The simplest model within one paired
// standard error of the best.
LensChoice ChooseLens(const CalibrationProblem& problem, const std::vector<LensModel>& candidates,
                      int folds = 5, const CalibrationOptions& options = {});

}  // namespace impactlab
