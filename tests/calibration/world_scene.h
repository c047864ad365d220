#pragma once
// Small rigs with a known truth, and draws of what a calibration would have made of them.

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "calibration/camera/triangulate.h"

namespace impactlab::scene {

inline Eigen::Isometry3d Pose(const Eigen::Vector3d& rotation, const Eigen::Vector3d& position) {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  const double angle = rotation.norm();
  if (angle > 0) X.linear() = Eigen::AngleAxisd(angle, rotation / angle).toRotationMatrix();
  X.translation() = position;
  return X;
}

inline Camera SmallCamera(LensModel model = LensModel::kBrown, double f = 1000) {
  Camera camera;
  camera.model = model;
  camera.width = 1280;
  camera.height = 720;
  Eigen::VectorXd v = Eigen::VectorXd::Zero(IntrinsicCount(model));
  v.head<4>() << f, f * 1.002, 645.3, 352.7;
  if (model == LensModel::kFisheye) {
    v.tail<4>() << 0.02, -0.01, 0.003, -0.0005;
  } else {
    v.segment<5>(4) << -0.12, 0.05, 0.0006, -0.0004, 0.01;
  }
  SetIntrinsics(camera, v);
  return camera;
}

// Cameras side by side along x, turned to look at the point (0, 0, distance) of the first one's
// frame.
inline CameraRig SideBySide(double baseline, double distance, int n = 2,
                            LensModel model = LensModel::kBrown) {
  CameraRig rig;
  for (int c = 0; c < n; ++c) {
    const double x = n > 1 ? baseline * c / (n - 1) : 0;
    const double y = c == 2 ? 0.1 * baseline : 0;
    rig.cameras.push_back(
        {"camera" + std::to_string(c), SmallCamera(model, 1000 + 15 * c),
         Pose(Eigen::Vector3d(0, -std::atan2(x, distance), 0), Eigen::Vector3d(x, y, 0))});
  }
  return rig;
}

// The rig with its parameters moved by `d`, in the order and sense of CameraRig.
inline CameraRig Moved(CameraRig rig, const Eigen::VectorXd& d) {
  for (int c = 0; c < static_cast<int>(rig.cameras.size()); ++c) {
    RigCamera& camera = rig.cameras[c];
    const int n = IntrinsicCount(camera.camera.model), at = FirstParameter(rig, c);
    SetIntrinsics(camera.camera, Intrinsics(camera.camera) + d.segment(at, n));
    const Eigen::Vector3d r = d.segment<3>(at + n);
    camera.X_WC.linear() = camera.X_WC.linear() * Pose(r, Eigen::Vector3d::Zero()).linear();
    camera.X_WC.translation() += d.segment<3>(at + n + 3);
  }
  return rig;
}

inline Eigen::VectorXd Normals(int n, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Eigen::VectorXd v(n);
  for (int i = 0; i < n; ++i) v(i) = normal(random);
  return v;
}

// A square root of a covariance that may have zero rows.
inline Eigen::MatrixXd Root(const Eigen::MatrixXd& covariance) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(covariance);
  return eigen.eigenvectors() * eigen.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal();
}

// A covariance of the size a calibration gives, with correlations; the first camera's pose is exact
// (it is W). `scale` multiplies the sd.
inline Eigen::MatrixXd TypicalCovariance(const CameraRig& rig, double scale = 1,
                                         unsigned seed = 5) {
  std::mt19937_64 random(seed);
  const int n = ParameterCount(rig);
  Eigen::VectorXd sd = Eigen::VectorXd::Zero(n);
  for (int c = 0; c < static_cast<int>(rig.cameras.size()); ++c) {
    const int k = IntrinsicCount(rig.cameras[c].camera.model), at = FirstParameter(rig, c);
    sd.segment<4>(at) << 0.6, 0.6, 0.8, 0.8;
    for (int i = 4; i < k; ++i) sd(at + i) = 2e-4;
    if (c > 0) {
      sd.segment<3>(at + k).setConstant(2e-4);
      sd.segment<3>(at + k + 3).setConstant(2e-4);
    }
  }
  Eigen::MatrixXd mix = Eigen::MatrixXd::Identity(n, n);
  for (int i = 0; i < n; ++i) mix.row(i) += 0.2 * Normals(n, random).transpose();
  for (int i = 0; i < n; ++i) mix.row(i) /= mix.row(i).norm();
  const Eigen::MatrixXd root = scale * sd.asDiagonal() * mix;
  return root * root.transpose();
}

// Observations of a point by all cameras, noise of `sigma` px; a camera that does not see it is
// left out.
inline std::vector<PixelObservation> Observe(const CameraRig& rig, const Eigen::Vector3d& p_W,
                                             double sigma, std::mt19937_64& random) {
  std::vector<PixelObservation> observations;
  std::normal_distribution<double> normal;
  for (int c = 0; c < static_cast<int>(rig.cameras.size()); ++c) {
    const auto q = Project(rig.cameras[c].camera, rig.cameras[c].X_WC.inverse() * p_W);
    if (!q) continue;
    const double sd = sigma > 0 ? sigma : 0.1;
    observations.push_back({c, *q + sigma * Eigen::Vector2d(normal(random), normal(random)),
                            sd * sd * Eigen::Matrix2d::Identity()});
  }
  return observations;
}

// Squared length of an error in standard deviations; directions without variance are left out and
// must have no error.
inline double Mahalanobis(const Eigen::VectorXd& error, const Eigen::MatrixXd& covariance) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(covariance);
  double sum = 0;
  for (int i = 0; i < error.size(); ++i) {
    const double variance = eigen.eigenvalues()(i), along = eigen.eigenvectors().col(i).dot(error);
    if (variance > 1e-12 * eigen.eigenvalues().maxCoeff()) {
      sum += along * along / variance;
    } else if (std::abs(along) > 1e-3 * std::sqrt(eigen.eigenvalues().maxCoeff())) {
      sum += 1e6;
    }
  }
  return sum;
}

}  // namespace impactlab::scene
