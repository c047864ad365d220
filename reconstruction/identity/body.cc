#include "reconstruction/identity/detail/body.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "data/math/rotation.h"
#include "reconstruction/identity/detail/rays.h"

namespace impactlab::reconstruction {

using Eigen::Matrix2d;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Vector6 = Eigen::Matrix<double, 6, 1>;

Matrix6 Loose(double turn, double shift) {
  Matrix6 cov = Matrix6::Zero();
  cov.diagonal() << Vector3d::Constant(turn * turn), Vector3d::Constant(shift * shift);
  return cov;
}

std::optional<Vector2d> PredictImage(const CameraRig& rig, const Layout& layout,
                                     const BodyPose& pose, int seer, int label,
                                     Eigen::Matrix<double, 2, 6>* by_pose) {
  const RigCamera& camera = rig.cameras[seer];
  const Vector3d arm = pose.X_WB.linear() * layout.p[label];
  Eigen::Matrix<double, 2, 3> by_p;
  auto q = Project(camera.camera, camera.X_WC.inverse() * (arm + pose.X_WB.translation()), &by_p);
  if (!q) return std::nullopt;
  by_p = by_p * camera.X_WC.linear().transpose();
  by_pose->leftCols<3>() = -by_p * CrossMatrix(arm);
  by_pose->rightCols<3>() = by_p;
  return q;
}

std::optional<BodyPose> FitBody(const CameraRig& rig, const Layout& layout, const BodyPose& start,
                                const std::vector<BodyImage>& images) {
  constexpr int kSteps = 12;
  constexpr double kRobust = 3;                       // standard deviations
  constexpr double kStillTurn = 1e-5, kStill = 1e-6;  // [rad, m], far below what an image tells
  const Matrix6 prior = start.cov.inverse();
  std::vector<Matrix2d> weights(images.size());
  for (std::size_t i = 0; i < images.size(); ++i) weights[i] = images[i].cov.inverse();
  BodyPose pose = start;
  Vector6 from = Vector6::Zero();  // of the pose from the start, small turns added up
  for (int step = 0; step < kSteps; ++step) {
    Matrix6 A = prior;
    Vector6 b = -prior * from;
    double sum = 0, n = 0;
    for (std::size_t i = 0; i < images.size(); ++i) {
      Eigen::Matrix<double, 2, 6> J;
      const auto q = PredictImage(rig, layout, pose, images[i].seer, images[i].label, &J);
      if (!q) return std::nullopt;
      const Vector2d r = images[i].q - *q;
      const double squared = r.dot(weights[i] * r),
                   weight = 1 / (1 + squared / (kRobust * kRobust));
      A += weight * J.transpose() * weights[i] * J;
      b += weight * J.transpose() * weights[i] * r;
      sum += std::min(squared, 100.0);
      n += 2;
    }
    const Vector6 d = A.ldlt().solve(b);
    if (!d.allFinite()) return std::nullopt;
    const Vector3d turn = d.head<3>();
    pose.X_WB.linear() = (ExpSO3(turn) * pose.X_WB.linear()).eval();
    pose.X_WB.translation() += d.tail<3>();
    from += d;
    pose.cov = A.inverse();
    pose.fit = n > 0 ? std::sqrt(sum / n) : 0;
    if (turn.norm() < kStillTurn && d.tail<3>().norm() < kStill) break;
  }
  return pose.cov.allFinite() ? std::optional(pose) : std::nullopt;
}

std::optional<BodyPose> StartBody(const CameraRig& rig, const Layout& layout,
                                  const std::vector<BodyImage>& images) {
  std::vector<std::vector<Ray>> rays(layout.p.size());
  for (const BodyImage& image : images) {
    if (const auto ray = RayOf(rig, image.seer, {image.q, image.cov}, 0))
      rays[image.label].push_back(*ray);
  }
  std::vector<SpacePoint> points(rays.size());
  for (std::size_t l = 0; l < rays.size(); ++l) {
    if (rays[l].size() < 2) continue;
    std::vector<const Ray*> all;
    for (const Ray& ray : rays[l]) all.push_back(&ray);
    points[l] = IntersectRays(all);
  }
  const Placement at = PlaceLayout(layout.p, points);
  if (!(at.rank == 3 && at.n >= 3) && !(layout.collinear && at.n >= 2)) return std::nullopt;
  BodyPose pose;
  pose.X_WB.linear() = at.R;
  pose.X_WB.translation() = at.t;
  return FitBody(rig, layout, pose, images);
}

Eigen::Isometry3d Between(const Eigen::Isometry3d& a, const Eigen::Isometry3d& b, double x) {
  Eigen::Isometry3d out = Eigen::Isometry3d::Identity();
  out.linear() =
      Eigen::Quaterniond(a.linear()).slerp(x, Eigen::Quaterniond(b.linear())).toRotationMatrix();
  out.translation() = (1 - x) * a.translation() + x * b.translation();
  return out;
}

}  // namespace impactlab::reconstruction
