#include "reconstruction/identity/detail/rays.h"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <utility>

#include "data/math/rotation.h"
#include "data/statistics/order_statistic.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;

Matrix3d Across(const Vector3d& d) { return Matrix3d::Identity() - d * d.transpose(); }

// The rig one standard deviation off along a direction of its parameters.
CameraRig Shifted(const CameraRig& rig, const Eigen::VectorXd& by) {
  CameraRig out = rig;
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    const int at = FirstParameter(rig, static_cast<int>(c)),
              n = IntrinsicCount(rig.cameras[c].camera.model);
    SetIntrinsics(out.cameras[c].camera, Intrinsics(rig.cameras[c].camera) + by.segment(at, n));
    const Vector3d r = by.segment<3>(at + n);
    out.cameras[c].X_WC.linear() = rig.cameras[c].X_WC.linear() * ExpSO3(r);
    out.cameras[c].X_WC.translation() += by.segment<3>(at + n + 3);
  }
  return out;
}

struct Figure {
  bool valid = false;
  double angle = 0;  // signed
  Vector3d p = Vector3d::Zero();
};

Figure FigureOf(const CameraRig& rig, const ImagePair& pair) {
  Figure out;
  const auto a = RayOf(rig, pair.camera_a, {pair.q_a, Eigen::Matrix2d::Zero()}, 0.1);
  const auto b = RayOf(rig, pair.camera_b, {pair.q_b, Eigen::Matrix2d::Zero()}, 0.1);
  if (!a || !b) return out;
  const Vector3d n = a->direction.cross(b->direction);
  const SpacePoint point = IntersectRays({&*a, &*b});
  if (n.norm() < 1e-6 || !point.valid) return out;
  out.p = point.p;
  out.angle = (b->origin - a->origin).dot(n.normalized()) / (point.p - a->origin).norm();
  out.valid = std::isfinite(out.angle);
  return out;
}

}  // namespace

std::optional<Ray> RayOf(const CameraRig& rig, int camera, const ImagePoint& image,
                         double pixel_sd) {
  const RigCamera& seer = rig.cameras[camera];
  Eigen::Matrix<double, 3, 2> by_q;
  const auto ray_C = Unproject(seer.camera, image.q, &by_q);
  if (!ray_C) return std::nullopt;
  Ray ray;
  ray.camera = camera;
  ray.origin = seer.X_WC.translation();
  ray.direction = seer.X_WC.linear() * *ray_C;
  by_q = seer.X_WC.linear() * by_q;
  ray.spread =
      by_q * (image.cov + pixel_sd * pixel_sd * Eigen::Matrix2d::Identity()) * by_q.transpose();
  ray.pixel = by_q.norm() / std::sqrt(2.0);
  return ray;
}

std::optional<Miss> Between(const Ray& a, const Ray& b, double rig_angle) {
  const Vector3d cross = a.direction.cross(b.direction), baseline = b.origin - a.origin;
  const double squared = cross.squaredNorm();
  if (squared < 1e-6) return std::nullopt;
  const double z_a = baseline.cross(b.direction).dot(cross) / squared,
               z_b = baseline.cross(a.direction).dot(cross) / squared;
  if (z_a <= 0 || z_b <= 0) return std::nullopt;
  const Vector3d n = cross / std::sqrt(squared);
  Miss miss;
  miss.distance = std::abs(baseline.dot(n));
  miss.sd = std::sqrt(z_a * z_a * (n.dot(a.spread * n) + rig_angle * rig_angle) +
                      z_b * z_b * n.dot(b.spread * n));
  miss.pixel = z_a * a.pixel;
  return miss;
}

SpacePoint IntersectRays(const std::vector<const Ray*>& rays) {
  SpacePoint point;
  Matrix3d A = Matrix3d::Zero();
  Vector3d b = Vector3d::Zero();
  for (const Ray* ray : rays) {
    A += Across(ray->direction);
    b += Across(ray->direction) * ray->origin;
  }
  if (std::abs(A.determinant()) < 1e-9) return point;
  // Once more with the weights that follow from the distance.
  point.p = A.inverse() * b;
  A.setZero();
  b.setZero();
  for (const Ray* ray : rays) {
    const double z = (point.p - ray->origin).dot(ray->direction);
    if (z <= 0) return point;
    const double variance = z * z * 0.5 * ray->spread.trace();
    A += Across(ray->direction) / variance;
    b += Across(ray->direction) * ray->origin / variance;
  }
  point.cov = A.inverse();
  point.p = point.cov * b;
  point.valid = point.p.allFinite() && point.cov.allFinite();
  return point;
}

RigSpread SpreadOfRig(const CameraRig& rig, const std::vector<ImagePair>& images) {
  RigSpread spread;
  if (rig.covariance.size() == 0 || images.empty()) return spread;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(rig.covariance);
  std::vector<Figure> at;
  at.reserve(images.size());
  for (const ImagePair& pair : images) at.push_back(FigureOf(rig, pair));
  std::vector<double> angle(images.size()), distance(images.size());
  for (Eigen::Index k = 0; k < eigen.eigenvalues().size(); ++k) {
    if (!(eigen.eigenvalues()[k] > 0)) continue;
    const CameraRig other =
        Shifted(rig, std::sqrt(eigen.eigenvalues()[k]) * eigen.eigenvectors().col(k));
    std::vector<Figure> moved;
    moved.reserve(images.size());
    for (const ImagePair& pair : images) moved.push_back(FigureOf(other, pair));
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (!at[i].valid || !moved[i].valid) continue;
      angle[i] += std::pow(moved[i].angle - at[i].angle, 2);
      const std::size_t j = (i + 1) % images.size();
      const double d = (at[i].p - at[j].p).norm();
      if (at[j].valid && moved[j].valid && d > 1e-4)
        distance[i] += std::pow((moved[i].p - moved[j].p).norm() / d - 1, 2);
    }
  }
  // Medians: some of the images may not belong together after all.
  spread.angle = std::sqrt(UpperMedian(std::move(angle)));
  spread.distance = std::sqrt(UpperMedian(std::move(distance)));
  return spread;
}

}  // namespace impactlab::reconstruction
