#pragma once
// Rays of images and where they meet, fast enough for every pairing of images. Private to
// identity.

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "calibration/camera/rig.h"
#include "reconstruction/identity/detail/pieces.h"

namespace impactlab::reconstruction {

struct Ray {
  // of the rig
  int camera = 0;
  // in W, unit
  Eigen::Vector3d origin = Eigen::Vector3d::Zero(), direction = Eigen::Vector3d::UnitZ();
  // covariance of the direction
  Eigen::Matrix3d spread = Eigen::Matrix3d::Zero();
  // angle of a pixel [rad]
  double pixel = 1e-3;
};

std::optional<Ray> RayOf(const CameraRig& rig, int camera, const ImagePoint& image,
                         double pixel_sd);

// Least distance of two rays and its standard deviation [m]; `pixel` is the size of a pixel there
// [m]. Nothing for parallel rays or when they come nearest behind a camera.
struct Miss {
  double distance = 0, sd = 0, pixel = 0;
};
std::optional<Miss> Between(const Ray& a, const Ray& b, double rig_angle);

struct SpacePoint {
  bool valid = false;
  Eigen::Vector3d p = Eigen::Vector3d::Zero();    // [m]
  Eigen::Matrix3d cov = Eigen::Matrix3d::Zero();  // pixels alone [m^2]
};
// Point of least weighted squared distance from the rays, at least two.
SpacePoint IntersectRays(const std::vector<const Ray*>& rays);

// What the rig's covariance does to the approximate figures above.
struct RigSpread {
  double angle = 0;     // standard deviation of a miss, as an angle from the first camera [rad]
  double distance = 0;  // of a distance between two points, relative
};
// `images`: for a pair of cameras images that belong together, at least two for the relative
// distance.
struct ImagePair {
  int camera_a = 0, camera_b = 0;
  Eigen::Vector2d q_a, q_b;
};
RigSpread SpreadOfRig(const CameraRig& rig, const std::vector<ImagePair>& images);

}  // namespace impactlab::reconstruction
