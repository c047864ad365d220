#pragma once
// Pose of a rigid body at an instant from images whose names are decided, and where its markers
// must be seen from it. Private to identity.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <vector>

#include "reconstruction/identity/detail/window.h"

namespace impactlab::reconstruction {

// of the images from a pose that is relied on, root mean square [standard deviations]
constexpr double kMostMiss = 3;

// An image of a marker at a moment, its own or between two of its own.
struct BodyImage {
  int camera = 0, label = 0;  // camera of the tracks
  int seer = 0;               // the same camera in the rig
  Eigen::Vector2d q;          // [px]
  Eigen::Matrix2d cov;        // [px^2]
};

struct BodyPose {
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  // of a turn and a shift in W, about the body's origin
  Eigen::Matrix<double, 6, 6> cov = Eigen::Matrix<double, 6, 6>::Identity();
  // root mean square of the residuals [standard deviations]
  double fit = 0;
};

// A pose whose turn and shift are known this well [rad, m].
Eigen::Matrix<double, 6, 6> Loose(double turn, double shift);

// Where a marker's image would be in a camera of the rig [px], and how it follows the pose. Nothing
// outside its lens.
std::optional<Eigen::Vector2d> PredictImage(const CameraRig& rig, const Layout& layout,
                                            const BodyPose& pose, int seer, int label,
                                            Eigen::Matrix<double, 2, 6>* by_pose);

// Least squares from a start whose covariance counts as knowledge; far residuals lose their weight.
std::optional<BodyPose> FitBody(const CameraRig& rig, const Layout& layout, const BodyPose& start,
                                const std::vector<BodyImage>& images);

// From the markers of which two cameras have images, without any other knowledge.
std::optional<BodyPose> StartBody(const CameraRig& rig, const Layout& layout,
                                  const std::vector<BodyImage>& images);

// Pose at `x` of the way from one to the other, turning evenly.
Eigen::Isometry3d Between(const Eigen::Isometry3d& a, const Eigen::Isometry3d& b, double x);

}  // namespace impactlab::reconstruction
