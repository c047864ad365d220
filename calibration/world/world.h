#pragma once
// From the frame of the first camera to the frame of the experiment: the struck surface, the
// direction of gravity, and checks of measured lengths.
//
// A calibrated rig lives in a frame A, that of its first camera. W is found from data that are
// noisy themselves and that were seen by the same rig, so the error of X_WA is correlated with the
// rig's own. A FrameEstimate carries both, and MoveRig gives the rig in W the covariance of cameras
// whose frame is W: what was certain in A (the first camera's pose) is not certain in W, and what
// all cameras share in W is not counted again between them.
//
// Rotation errors: R exp(r). All tests of fit are chi-square with the full covariance (pixels,
// known coordinates, rig).

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "calibration/camera/triangulate.h"
#include "calibration/solve/calibrate.h"

namespace impactlab {

struct FrameEstimate {
  bool usable = false;
  std::string reason;  // why not
  Eigen::Isometry3d X_WA = Eigen::Isometry3d::Identity();
  // of (r, p): R_WA exp(r), p_WA [rad, m]
  Eigen::Matrix<double, 6, 6> cov = Eigen::Matrix<double, 6, 6>::Zero();
  // covariance of (r, p) with the rig's parameters; empty: none
  Eigen::Matrix<double, 6, Eigen::Dynamic> cross;
  // of the fit; 0 where nothing was fitted
  double chi_square = 0;
  int dof = 0;
  double p = 1;
};

// The rig in W, its covariance with it. The world of the result is named `source`; gravity and
// slope of the old one are carried over.
CameraRig MoveRig(const CameraRig& rig, const FrameEstimate& frame, const std::string& source);

// Down, in the frame of the rig it was measured with (or in W).
struct GravityEstimate {
  bool usable = false;
  std::string reason;
  // given in W itself: the error of the frame is not added
  bool in_world = false;
  Eigen::Vector3d gravity = Eigen::Vector3d::UnitZ();  // unit vector, downwards
  Eigen::Matrix3d cov = Eigen::Matrix3d::Zero();       // total
  // how it follows the rig's parameters; empty: not at all
  Eigen::Matrix<double, 3, Eigen::Dynamic> dg_drig;
  double sd = 0;          // worst direction [rad]
  double chi_square = 0;  // of the line
  int dof = 0;
  double p = 1;
};

// (a) W from a board lying on the struck surface in one shot of the calibration: origin on the
// surface under point 0, x along the rows, z out of the surface (-z_G), y = -y_G. `thickness`: from
// the printed plane down to the surface.
struct BoardWorldOptions {
  double thickness = 0, sd_thickness = 0;  // [m]
};
FrameEstimate FrameFromBoard(const CalibrationResult& result, int shot,
                             const BoardWorldOptions& options = {});

// (b) W from points whose coordinates in W are known, such as the marks on a reference body (Sun
// 2017, sec. 4.2.2: a cylinder on the ground whose top centre is the origin). Three or more, not on
// a line, each seen by two cameras or more. Generalised least squares.
struct KnownPoint {
  std::string name;
  Eigen::Vector3d p_W = Eigen::Vector3d::Zero();  // [m]
  double sd = 0;                                  // of each coordinate as measured [m]
  std::vector<PixelObservation> observations;
};
struct PointResult {
  std::string name;
  std::string problem;                                   // not used: why
  Eigen::Vector3d residual_W = Eigen::Vector3d::Zero();  // measured - known, after the fit [m]
  // standard deviation of the measured point [m]
  Eigen::Vector3d sd_W = Eigen::Vector3d::Zero();
  // of this residual with its own covariance, about 3 expected
  double chi_square = 0;
};
struct PointsWorld {
  FrameEstimate frame;
  std::vector<PointResult> points;
  // lengths measured by the rig over known ones, fitted beside the pose
  double scale = 1, sd_scale = 0;
  bool scale_consistent = true;  // 1 lies in the 95 % interval
};
PointsWorld FrameFromPoints(const CameraRig& rig, const std::vector<KnownPoint>& points);

// W given in numbers; sd of each rotation and of each coordinate.
FrameEstimate FrameGiven(const Eigen::Isometry3d& X_WA, double sd_rotation = 0,
                         double sd_position = 0);

// (c) Down from a plumb line: image points on the hanging string, from the top down in every
// camera. Points of different cameras need not be the same points of the string. Two cameras and
// two points in each at least, the planes of sight not (nearly) one and the same.
GravityEstimate GravityFromPlumbLine(const CameraRig& rig,
                                     const std::vector<PixelObservation>& line);
// A direction known in the frame of a camera (an accelerometer, a levelled camera), or in that of
// the rig (`camera` < 0).
GravityEstimate GravityGiven(const CameraRig& rig, int camera, const Eigen::Vector3d& direction,
                             double sd = 0);
// Known in W: (0, 0, -1) for a levelled surface. `sd`: of each component of tilt [rad].
GravityEstimate GravityInWorld(const Eigen::Vector3d& direction, double sd = 0);

// W with its gravity. `gravity` is in frame A like `frame`.
struct World {
  CameraRig rig;  // in W; rig.world filled
  // Angle between the surface z = 0 and the horizontal, and the downhill direction on it as an
  // angle from W's x towards y. On a level surface the slope cannot go below 0: its sd is then that
  // of a tilt component, and the downhill direction is not determined (sd infinite).
  double slope = 0, sd_slope = 0;        // [rad]
  double downhill = 0, sd_downhill = 0;  // [rad]
  std::vector<std::string> notes;
};
World MakeWorld(const CameraRig& rig, const FrameEstimate& frame,
                const std::optional<GravityEstimate>& gravity, const std::string& source);

// (d) Known lengths, measured by the rig.
struct KnownLength {
  std::string name;
  double length = 0, sd = 0;  // [m]
  std::vector<PixelObservation> from, to;
};
struct LengthResult {
  std::string name;
  std::string problem;
  double measured = 0, sd_measured = 0;                // [m]
  double ratio = 1, sd = 0, lower95 = 1, upper95 = 1;  // measured / known
  bool consistent = true;                              // 1 lies in the interval
};
struct ScaleCheck {
  bool usable = false;
  std::vector<LengthResult> lengths;
  // all together, with what they share through the rig
  double ratio = 1, sd = 0, lower95 = 1, upper95 = 1;
  double chi_square = 0;  // of the lengths about the common ratio
  int dof = 0;
  double p = 1;
  bool consistent = true;
  std::string verdict;  // plain words: "lengths come out 2.3 % too long: ..."
};
ScaleCheck CheckScale(const CameraRig& rig, const std::vector<KnownLength>& lengths);

// (e) Rigidity of a body that was moved. The same points before and after a move, each time seen by
// two cameras or more, or by one camera on the plane z = `plane_z` of W. The residuals of the best
// rigid motion are tested against their full covariance: a field that noise and the rig's
// covariance do not explain is an error of the lens model.
struct RigidityOptions {
  std::optional<double> plane_z;  // points lie on this plane of W, before and after [m]
  double significance = 1e-3;
};
struct RigidityCheck {
  bool usable = false;
  std::string reason;
  Eigen::Isometry3d motion = Eigen::Isometry3d::Identity();  // in W
  // after - motion * before; zero for points not measured [m]
  std::vector<Eigen::Vector3d> residual;
  // of the residuals, and from the covariance [m]
  double rms = 0, expected_rms = 0;
  double chi_square = 0, p = 1;  // of all residuals
  int dof = 0;
  // Of the part that is linear and quadratic in the place of the point: the field a wrong lens
  // leaves.
  double smooth_chi_square = 0, smooth_p = 1;
  int smooth_dof = 0;
  double smooth_rms = 0;   // of the fitted smooth field [m]
  bool rigid = true;       // both p above the significance
  double model_error = 0;  // where not rigid: rms beyond noise [m]
  std::string verdict;     // plain words
};
RigidityCheck CheckRigidity(const CameraRig& rig,
                            const std::vector<std::vector<PixelObservation>>& before,
                            const std::vector<std::vector<PixelObservation>>& after,
                            const RigidityOptions& options = {});

}  // namespace impactlab
