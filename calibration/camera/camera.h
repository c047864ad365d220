#pragma once
// One camera: the map between pixels and rays, and the region in which it is defined.
//
// Frame C: x right, y down, z forward. A point p_CM is projected as
//   pinhole, Brown-Conrady and rational:  (a, b) = (x / z, y / z), r^2 = a^2 + b^2,
//     s = (1 + k1 r^2 + k2 r^4 + k3 r^6) / (1 + k4 r^2 + k5 r^4 + k6 r^6),
//     a' = s a + 2 p1 a b + p2 (r^2 + 2 a^2),   b' = s b + p1 (r^2 + 2 b^2) + 2 p2 a b,
//     k4..k6 = 0 for Brown-Conrady
//   fisheye (Kannala-Brandt 2006):  theta = angle from the z axis,
//     s = theta (1 + k1 theta^2 + k2 theta^4 + k3 theta^6 + k4 theta^8) / sqrt(x^2 + y^2),
//     (a', b') = s (x, y)
//   q = (fx a' + cx, fy b' + cy) [px], (0, 0) = centre of the top-left pixel.
// Conventions and orders of the coefficients are those of OpenCV.
//
// A polynomial distortion is no longer monotone beyond some angle; a pixel there has two rays. The
// angle up to which the model is one to one is a property of the camera, and so is the angle up to
// which it was measured.

#include <Eigen/Core>
#include <array>
#include <optional>
#include <string>
#include <vector>

namespace impactlab {

enum class LensModel { kBrown, kRational, kFisheye };

// "brown", "rational", "fisheye".
const char* ToString(LensModel model);
std::optional<LensModel> LensModelFromString(const std::string& name);

// Coefficients a model has: brown 5 (k1 k2 p1 p2 k3), rational 8 (k1 k2 p1 p2 k3 k4 k5 k6), fisheye
// 4 (k1 k2 k3 k4).
int DistortionCount(LensModel model);
// Intrinsic parameters: fx fy cx cy and the coefficients.
inline int IntrinsicCount(LensModel model) { return 4 + DistortionCount(model); }
constexpr int kMaxIntrinsics = 12;
// "fx_px", "fy_px", "cx_px", "cy_px", "k1", ... in the order of Camera.
std::vector<std::string> IntrinsicNames(LensModel model);

struct Camera {
  LensModel model = LensModel::kBrown;
  int width = 0, height = 0;              // of the images [px]
  double fx = 0, fy = 0, cx = 0, cy = 0;  // [px]
  std::array<double, 8> distortion{};     // in the order above; those a model lacks are 0
  // from the optical axis, up to which the model is one to one [rad]; see InvertibleAngle
  double invertible_angle = 0;
  double calibrated_angle = 0;  // up to which it was measured [rad]; 0 where not known
};

Eigen::VectorXd Intrinsics(const Camera& camera);
// Sets them and the invertible angle.
void SetIntrinsics(Camera& camera, const Eigen::VectorXd& intrinsics);

// Largest angle from the optical axis [rad] below which the image point moves outwards in every
// direction and nowhere folds (Jacobian determinant above 0), at most a little under pi / 2 for
// brown and rational, pi for fisheye.
double InvertibleAngle(const Camera& camera);

// Empty when the camera can be used; else what is wrong with it ("the distortion folds inside the
// image: ...", "fx is 0", ...). Refused are models that do not cover most of their own image and
// coefficients that no lens has.
std::string Fault(const Camera& camera);

// Image of a point [px]; nothing when it lies behind the camera or outside the invertible angle.
// `dq_dp` [px/m].
std::optional<Eigen::Vector2d> Project(
    const Camera& camera, const Eigen::Vector3d& p_CM, Eigen::Matrix<double, 2, 3>* dq_dp = nullptr,
    Eigen::Matrix<double, 2, Eigen::Dynamic>* dq_dintrinsics = nullptr);

// Unit ray of an image point; nothing when no ray inside the invertible angle projects onto it.
// What it returns projects back onto q within 1e-9 px. `dray_dq` [1/px], `dray_dintrinsics`:
// derivatives of the unit ray.
std::optional<Eigen::Vector3d> Unproject(
    const Camera& camera, const Eigen::Vector2d& q, Eigen::Matrix<double, 3, 2>* dray_dq = nullptr,
    Eigen::Matrix<double, 3, Eigen::Dynamic>* dray_dintrinsics = nullptr);

}  // namespace impactlab
