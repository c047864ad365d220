#pragma once
// Pose of a marked body at one instant: what all cameras see of its markers, put together in one
// optimum over the pixels.
//
// The start is the absolute orientation of the triangulated markers (Kabsch, Acta Cryst. A 32,
// 1976; Umeyama, IEEE PAMI 13, 1991), the result the least squares of the reprojection, weighted
// with the covariance of every image point. Markers on one line leave the rotation about that line
// open: it is then fixed by a gauge, and said so.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"

namespace impactlab {

// Image of a sphere or of a flat disc: its centroid is not the projection of the centre. With the
// centre c and the normal n in C it is the projection of c - r^2 / c_z (e_z - n n_z), n = 0 for a
// sphere (the centre of the ellipse, from the dual conic r^2 (1 - n n') - c c').
struct BodyMarker {
  Eigen::Vector3d p_BM = Eigen::Vector3d::Zero();  // centre [m]
  // unit, out of the body: a flat disc; zero: a ball
  Eigen::Vector3d normal_B = Eigen::Vector3d::Zero();
  double radius = 0;  // [m]; 0: a point, or not known
};

struct MarkerImage {
  int camera = 0;                                     // of the rig
  int marker = 0;                                     // of the layout
  Eigen::Vector2d q = Eigen::Vector2d::Zero();        // centroid of its image [px]
  Eigen::Matrix2d cov = Eigen::Matrix2d::Identity();  // [px^2]
};

struct MarkerPoseOptions {
  double layout_sd = 0;  // of every coordinate of the layout, independent [m]
  // a rotation about one axis known less well is not observable [rad]
  double max_roll_sd = 0.3;
  // images less likely than this under the layout are not of this body; 0: never refused
  double misfit_probability = 1e-6;
};

struct MarkerPose {
  bool usable = false;
  // why not: fewer than three markers, a mirrored layout, distances that are not the layout's, ...
  std::string reason;
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  // False: the markers lie on a line through axis_B and the rotation about it is a convention: that
  // of `near` where given, else the shortest turn that brings the axis to its place. The covariance
  // is that of the rest, with variance 0 about the axis.
  bool observable = true;
  // unit; zero where observable
  Eigen::Vector3d axis_B = Eigen::Vector3d::Zero();
  // about the axis known worst, from the pixels [rad]
  double sd_roll = 0;
  // p_WB, then rotation on the body side; everything
  Eigen::Matrix<double, 6, 6> cov = Eigen::Matrix<double, 6, 6>::Zero();
  Eigen::Matrix<double, 6, 6> cov_pixels = Eigen::Matrix<double, 6, 6>::Zero();  // pixels alone
  // of the reprojection, pixels alone
  double chi_square = 0;
  // the same with errors of rig and layout counted: what the images are judged by
  double consistency = 0;
  int dof = 0;
  int markers = 0;  // that were used
  // How the pose follows the parameters of the rig; its error is common to all instants.
  Eigen::Matrix<double, 6, Eigen::Dynamic> dx_drig;
};

// `near` helps where a marker is seen by one camera only, and fixes the gauge. A refused pose keeps
// what is known of it; nothing is NaN. ConfigError for a camera the rig has not, a marker the
// layout has not, a covariance of the rig of another size, a layout or options without meaning.
MarkerPose PoseFromMarkers(const CameraRig& rig, const std::vector<BodyMarker>& layout,
                           const std::vector<MarkerImage>& images,
                           const MarkerPoseOptions& options = {},
                           const std::optional<Eigen::Isometry3d>& near = std::nullopt);

// Rigid motion that brings points p_B to p_W with least weighted squares. `reflected` [m^2] is the
// sum a reflection would leave, less than `left` for the mirror image of the layout.
struct AbsoluteOrientation {
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  double left = 0, reflected = 0;  // weighted sums of squares
  // rms extents of the points, largest first [m]
  Eigen::Vector3d spread = Eigen::Vector3d::Zero();
  Eigen::Matrix3d axes_B = Eigen::Matrix3d::Identity();  // their directions, columns
};
AbsoluteOrientation AlignPoints(const std::vector<Eigen::Vector3d>& p_B,
                                const std::vector<Eigen::Vector3d>& p_W,
                                const std::vector<double>& weights);

}  // namespace impactlab
