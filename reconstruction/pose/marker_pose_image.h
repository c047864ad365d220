#pragma once
// Where a marker's image is, for a pose of the body, with all derivatives. Shared by the pose of an
// instant and the fit of a drop.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <vector>

#include "reconstruction/pose/marker_pose.h"

namespace impactlab::reconstruction {

struct ImageDerivatives {
  Eigen::Matrix<double, 2, 3> by_p_W;    // position of the body [px/m]
  Eigen::Matrix<double, 2, 3> by_phi_B;  // rotation on the body side [px/rad]
  Eigen::Matrix<double, 2, 3> by_p_BM;   // centre of the marker in the body [px/m]
};

// Camera of a rig made ready.
struct View {
  const RigCamera* camera = nullptr;
  Eigen::Matrix3d R_CW = Eigen::Matrix3d::Identity();
  Eigen::Vector3d p_WC = Eigen::Vector3d::Zero();
  int first_parameter = 0;  // of the rig
  int intrinsics = 0;
};
std::vector<View> RigViews(const CameraRig& rig);

// False where the marker is behind the camera or outside its lens. The perspective bias is that of
// a pinhole; a fisheye gets none. `by_rig`: the 2 x n block of this camera's own parameters
// (intrinsics, rotation, position).
bool ImageOf(const View& view, const BodyMarker& marker, const Eigen::Isometry3d& X_WB,
             Eigen::Vector2d* q, ImageDerivatives* derivatives = nullptr,
             Eigen::Matrix<double, 2, Eigen::Dynamic>* by_rig = nullptr);

// Root W of the weight of an image point, W' W = cov^-1. False for a covariance that is not
// positive definite.
bool WeightRoot(const Eigen::Matrix2d& cov, Eigen::Matrix2d* root);

// ConfigError: markers that are not finite, normals that are not unit.
void CheckLayout(const std::vector<BodyMarker>& layout);
void CheckRig(const CameraRig& rig, const char* what);

}  // namespace impactlab::reconstruction
