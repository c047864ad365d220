#pragma once
// A set of cameras in one world frame, with the joint covariance of everything in it.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibration/camera/camera.h"

namespace impactlab {

struct RigCamera {
  std::string name;
  Camera camera;
  Eigen::Isometry3d X_WC = Eigen::Isometry3d::Identity();  // p_W = X_WC * p_C
};

// Origin of the world frame, and the direction of gravity in it.
struct WorldFrame {
  // "camera" (W is the frame of the first camera), "board", "points", "given"
  std::string source = "camera";
  // unit vector; nothing where it is not known
  std::optional<Eigen::Vector3d> gravity_W;
  Eigen::Matrix3d cov_gravity = Eigen::Matrix3d::Zero();  // of the unit vector
  // angle between the struck surface (z = 0 of W) and the horizontal [rad]
  std::optional<double> slope;
  double sd_slope = 0;
};

// Parameters in order: for each camera its intrinsics (IntrinsicNames), then rotation about its own
// x, y, z (R_WC = R exp(r), [rad]) and position p_WC [m]: names "left.fx_px", ..., "left.rx_rad",
// "left.ry_rad", "left.rz_rad", "left.x_m", "left.y_m", "left.z_m".
struct CameraRig {
  std::vector<RigCamera> cameras;
  Eigen::MatrixXd covariance;  // of the parameters; empty where not known
  WorldFrame world;
};

std::vector<std::string> ParameterNames(const CameraRig& rig);
int ParameterCount(const CameraRig& rig);
// Place of the first parameter (fx) of a camera.
int FirstParameter(const CameraRig& rig, int camera);

// rig.yaml, the project's own format (keys in data/README). Numbers are written so that reading
// gives the same bits. Reading throws ConfigError; a covariance that is not symmetric and positive
// semi-definite, a rotation that is none, a camera with a Fault are refused.
std::string ToYaml(const CameraRig& rig);
CameraRig RigFromYaml(const std::filesystem::path& path);
CameraRig ParseRig(const std::string& text, const std::string& name);

}  // namespace impactlab
