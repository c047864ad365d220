#pragma once
// Marked bodies that fall, strike and fly on in front of a rig, for the tests of pose and drop fit. Nothing here calls the code under test:
// spin by fine Runge-Kutta steps, the impact by an impulse at the lowest vertex, images of discs and balls by their outline.

#include <Eigen/Dense>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "calibration/rig.h"
#include "impact/body.h"
#include "reconstruction/marker_pose.h"
#include "tracking/tracks.h"

namespace impactlab::test {

using Eigen::Isometry3d;
using Eigen::Matrix3d;
using Eigen::Vector2d;
using Eigen::Vector3d;

inline Matrix3d Turned(const Vector3d& r) {
  const double angle = r.norm();
  return angle > 0 ? Eigen::AngleAxisd(angle, r / angle).toRotationMatrix() : Matrix3d::Identity();
}

inline Vector3d Normal3(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const double x = normal(random), y = normal(random), z = normal(random);
  return {x, y, z};
}

inline Matrix3d AnyRotation(std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  const double w = normal(random), x = normal(random), y = normal(random), z = normal(random);
  return Eigen::Quaterniond(w, x, y, z).normalized().toRotationMatrix();
}

// Cameras side by side at 0.9 m, 0.34 m apart, 1280 x 720, that look along W_y at the origin; z of W is up.
inline CameraRig DropRig(int cameras = 2) {
  CameraRig rig;
  for (int c = 0; c < cameras; ++c) {
    RigCamera camera;
    camera.name = "camera" + std::to_string(c);
    camera.camera.model = LensModel::kBrown;
    camera.camera.width = 1280;
    camera.camera.height = 720;
    Eigen::VectorXd x(9);
    x << 1060 + 3 * c, 1062 + 3 * c, 642, 357, -0.12, 0.05, 4e-4, -3e-4, 0;
    SetIntrinsics(camera.camera, x);
    const Vector3d p(0.34 * (c - 0.5 * (cameras - 1)), -0.9, 0.12 + 0.1 * (c % 3 == 2)), forward = (Vector3d(0, 0, 0.02) - p).normalized();
    const Vector3d right = forward.cross(Vector3d::UnitZ()).normalized();
    camera.X_WC.linear() << right, forward.cross(right), forward;
    camera.X_WC.translation() = p;
    rig.cameras.push_back(camera);
  }
  return rig;
}

// Covariance of a calibration: focal length and centre, and the pose of all cameras but the first, independent.
inline void GiveCovariance(CameraRig* rig, double sd_focal, double sd_angle, double sd_position) {
  Eigen::VectorXd sd = Eigen::VectorXd::Zero(ParameterCount(*rig));
  for (std::size_t c = 0; c < rig->cameras.size(); ++c) {
    const int at = FirstParameter(*rig, static_cast<int>(c)), pose = at + IntrinsicCount(rig->cameras[c].camera.model);
    sd.segment<4>(at).setConstant(sd_focal);
    sd.segment<3>(pose).setConstant(c == 0 ? 0 : sd_angle);
    sd.segment<3>(pose + 3).setConstant(c == 0 ? 0 : sd_position);
  }
  rig->covariance = sd.cwiseAbs2().asDiagonal();
}

// The rig as a calibration with an error drawn from the covariance would have it.
inline CameraRig Miscalibrated(const CameraRig& truth, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  CameraRig rig = truth;
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    const int at = FirstParameter(rig, static_cast<int>(c)), n = IntrinsicCount(rig.cameras[c].camera.model);
    Eigen::VectorXd error(n + 6);
    for (int i = 0; i < n + 6; ++i) error[i] = std::sqrt(truth.covariance(at + i, at + i)) * normal(random);
    SetIntrinsics(rig.cameras[c].camera, Intrinsics(rig.cameras[c].camera) + error.head(n));
    rig.cameras[c].X_WC.linear() *= Turned(error.segment<3>(n));
    rig.cameras[c].X_WC.translation() += error.tail<3>();
  }
  return rig;
}

// Centroid of the area that a disc's or ball's image covers, from its outline; the projection of the centre where the radius is 0.
inline Vector2d CentroidOf(const RigCamera& camera, const BodyMarker& marker, const Isometry3d& X_WB) {
  const Isometry3d X_CB = camera.X_WC.inverse() * X_WB;
  const Vector3d c = X_CB * marker.p_BM;
  if (marker.radius == 0) return *Project(camera.camera, c);
  Vector3d n = X_CB.linear() * marker.normal_B, middle = c;
  double radius = marker.radius;
  if (marker.normal_B.norm() == 0) {
    // The circle along which the rays touch the ball.
    const double d2 = c.squaredNorm(), r2 = radius * radius;
    n = c.normalized();
    middle = c * (1 - r2 / d2);
    radius *= std::sqrt(1 - r2 / d2);
  }
  const Vector3d a = n.unitOrthogonal(), b = n.cross(a);
  double area = 0;
  Vector2d moment = Vector2d::Zero();
  const int steps = 720;
  Vector2d last = *Project(camera.camera, middle + radius * a);
  const Vector2d origin = last;
  for (int i = 1; i <= steps; ++i) {
    const double angle = 2 * M_PI * i / steps;
    const Vector2d next = *Project(camera.camera, middle + radius * (std::cos(angle) * a + std::sin(angle) * b));
    const Vector2d p = last - origin, q = next - origin;
    const double cross = p.x() * q.y() - p.y() * q.x();
    area += 0.5 * cross;
    moment += cross * (p + q) / 6;
    last = next;
  }
  return origin + moment / area;
}

// State of a free body.
struct Flying {
  Vector3d p = Vector3d::Zero(), v = Vector3d::Zero(), omega = Vector3d::Zero();  // in W
  Matrix3d R = Matrix3d::Identity();
};

// Torque-free flight by Runge-Kutta steps of at most 0.2 ms: R' = R [omega_B], I omega_B' = (I omega_B) x omega_B.
inline Flying Fly(const Flying& from, const Matrix3d& inertia_B, const Vector3d& gravity, double dt) {
  Flying to = from;
  to.p = from.p + from.v * dt + 0.5 * dt * dt * gravity;
  to.v = from.v + dt * gravity;
  const int steps = std::max(1, static_cast<int>(std::ceil(std::abs(dt) / 2e-4)));
  const double h = dt / steps;
  const Matrix3d inverse = inertia_B.inverse();
  Eigen::Quaterniond q(from.R);
  Vector3d w = from.R.transpose() * from.omega;
  const auto spin = [&](const Vector3d& x) -> Vector3d { return inverse * (inertia_B * x).cross(x); };
  const auto turn = [](const Eigen::Vector4d& c, const Vector3d& x) -> Eigen::Vector4d {  // c = (x, y, z, w)
    const Eigen::Quaterniond product = Eigen::Quaterniond(c) * Eigen::Quaterniond(0, x.x(), x.y(), x.z());
    return 0.5 * product.coeffs();
  };
  for (int i = 0; i < steps; ++i) {
    const Eigen::Vector4d c = q.coeffs();
    const Vector3d k1 = spin(w), k2 = spin(w + 0.5 * h * k1), k3 = spin(w + 0.5 * h * k2), k4 = spin(w + h * k3);
    const Eigen::Vector4d l1 = turn(c, w), l2 = turn(c + 0.5 * h * l1, w + 0.5 * h * k1), l3 = turn(c + 0.5 * h * l2, w + 0.5 * h * k2),
                          l4 = turn(c + h * l3, w + h * k3);
    w += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    q.coeffs() = c + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4);
    q.normalize();
  }
  to.R = q.toRotationMatrix();
  to.omega = to.R * w;
  return to;
}

}  // namespace impactlab::test
