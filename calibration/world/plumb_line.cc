#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "calibration/world/detail/constraints.h"
#include "calibration/world/world.h"
#include "data/base/error.h"
#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"

namespace impactlab {
namespace {

using calibration::kMaxAngleSd;
using calibration::WorstSd;

Eigen::Matrix<double, 3, 2> TangentBasis(const Eigen::Vector3d& g) {
  Eigen::Matrix<double, 3, 2> basis;
  basis.col(0) = g.unitOrthogonal();
  basis.col(1) = g.cross(basis.col(0));
  return basis;
}

// An image point of the string as a ray.
struct StringRay {
  int camera = 0;
  Eigen::Vector3d origin, ray;          // in the rig's frame
  Eigen::Matrix<double, 3, 2> dray_dq;  //
  Eigen::MatrixXd dray_drig;            // 3 x n
  Eigen::Matrix2d cov;
};

// Parameter of the point of the line p + t g nearest to a ray.
double AlongLine(const StringRay& s, const Eigen::Vector3d& p, const Eigen::Vector3d& g) {
  const Eigen::Vector3d arm = s.origin - p;
  const double mixed = s.ray.dot(g), squared = std::max(1e-12, 1 - mixed * mixed);
  return (arm.dot(g) - arm.dot(s.ray) * mixed) / squared;
}

// The line of a string through its rays, a point p and a direction g.
class StringLine {
 public:
  explicit StringLine(const CameraRig& rig) : rig_(rig), of_camera_(rig.cameras.size()) {}

  // Each of these three says why it fails, or nothing.
  std::string TakePoints(const std::vector<PixelObservation>& line);
  std::string Start();
  std::string Fit(GravityEstimate* out);
  // Turns g downwards by the order of the points; false where the cameras contradict each other.
  bool Orient(GravityEstimate* out);

  int points() const { return static_cast<int>(rays_.size()); }

 private:
  struct Linear {
    Eigen::VectorXd e, variance;
    Eigen::MatrixXd J, by_rig;
  };
  // Distances of the rays from the line; false where it runs through a camera.
  bool Linearise(Linear* out) const;

  const CameraRig& rig_;
  std::vector<StringRay> rays_;
  std::vector<std::vector<int>> of_camera_;
  Eigen::Vector3d p_ = Eigen::Vector3d::Zero(), g_ = Eigen::Vector3d::Zero();
};

constexpr const char* kOnePlane =
    "the cameras see the plumb line in one and the same plane: move it, or use cameras side by "
    "side";

std::string StringLine::TakePoints(const std::vector<PixelObservation>& line) {
  const int n_rig = ParameterCount(rig_), n_cameras = static_cast<int>(rig_.cameras.size());
  for (const PixelObservation& o : line) {
    if (o.camera < 0 || o.camera >= n_cameras)
      throw ConfigError(fmt::format(
          "plumb line: camera {} asked for, the rig has {} (counted from 0)", o.camera, n_cameras));
    const RigCamera& camera = rig_.cameras[o.camera];
    StringRay s;
    Eigen::Matrix<double, 3, Eigen::Dynamic> dray_dintrinsics;
    const auto ray = o.q.allFinite() ? Unproject(camera.camera, o.q, &s.dray_dq, &dray_dintrinsics)
                                     : std::nullopt;
    if (!ray)
      return fmt::format(
          "a point of the plumb line lies outside the region in which the lens of {} is known",
          camera.name);
    if (Eigen::LLT<Eigen::Matrix2d>(o.cov).info() != Eigen::Success)
      return "the covariance of a point of the plumb line is not positive definite";
    const Eigen::Matrix3d R = camera.X_WC.linear();
    const int n = IntrinsicCount(camera.camera.model), at = FirstParameter(rig_, o.camera);
    s.camera = o.camera;
    s.origin = camera.X_WC.translation();
    s.ray = R * *ray;
    s.dray_dq = R * s.dray_dq;
    s.dray_drig = Eigen::MatrixXd::Zero(3, n_rig);
    s.dray_drig.middleCols(at, n) = R * dray_dintrinsics;
    s.dray_drig.middleCols<3>(at + n) = -R * CrossMatrix(*ray);
    s.cov = o.cov;
    of_camera_[o.camera].push_back(points());
    rays_.push_back(std::move(s));
  }
  return {};
}

// From the planes of sight of the cameras, the two that cross most steeply.
std::string StringLine::Start() {
  std::vector<Eigen::Vector3d> normals, origins;
  for (const auto& members : of_camera_) {
    if (members.size() < 2) continue;
    const StringRay &top = rays_[members.front()], &bottom = rays_[members.back()];
    const Eigen::Vector3d normal = top.ray.cross(bottom.ray);
    if (!(normal.norm() > 1e-6)) continue;
    normals.push_back(normal.normalized());
    origins.push_back(top.origin);
  }
  if (normals.size() < 2)
    return "a plumb line needs two points apart in each of two cameras at least";
  double steepest = 0;
  for (std::size_t i = 0; i < normals.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Eigen::Vector3d cross = normals[i].cross(normals[j]);
      if (!(cross.norm() > steepest)) continue;
      steepest = cross.norm();
      g_ = cross.normalized();
      Eigen::Matrix3d rows;
      rows << normals[i].transpose(), normals[j].transpose(), g_.transpose();
      const Eigen::Vector3d middle = 0.5 * (origins[i] + origins[j]);
      p_ = rows.inverse() *
           Eigen::Vector3d(normals[i].dot(origins[i]), normals[j].dot(origins[j]), g_.dot(middle));
    }
  }
  return steepest > 1e-4 ? "" : kOnePlane;
}

bool StringLine::Linearise(Linear* out) const {
  const int m = points();
  const Eigen::Matrix<double, 3, 2> basis = TangentBasis(g_);
  out->e.resize(m);
  out->J.resize(m, 4);
  out->by_rig = Eigen::MatrixXd::Zero(m, ParameterCount(rig_));
  out->variance.resize(m);
  for (int k = 0; k < m; ++k) {
    const StringRay& s = rays_[k];
    const Eigen::Vector3d arm = p_ - s.origin, normal = arm.cross(g_);
    const double length = normal.norm();
    if (!(length > 1e-9)) return false;
    const Eigen::Vector3d unit = normal / length;
    out->e(k) = s.ray.dot(unit);
    const Eigen::RowVector3d by_normal = (s.ray - out->e(k) * unit).transpose() / length;
    out->J.block<1, 2>(k, 0) = by_normal * CrossMatrix(arm) * basis;
    out->J.block<1, 2>(k, 2) = -by_normal * CrossMatrix(g_) * basis;
    out->by_rig.row(k) = unit.transpose() * s.dray_drig;
    const int at =
        FirstParameter(rig_, s.camera) + IntrinsicCount(rig_.cameras[s.camera].camera.model) + 3;
    out->by_rig.block<1, 3>(k, at) += by_normal * CrossMatrix(g_);
    const Eigen::RowVector2d by_q = unit.transpose() * s.dray_dq;
    out->variance(k) = by_q * s.cov * by_q.transpose();
  }
  return true;
}

std::string StringLine::Fit(GravityEstimate* out) {
  const Eigen::MatrixXd C = calibration::RigCovariance(rig_);
  calibration::LinearFit fit;
  Linear at;
  Eigen::MatrixXd cov_line;
  // Not FitByLinearSteps: the weights move with the line, and turns are bounded.
  for (int iteration = 0; iteration < 30; ++iteration) {
    if (!Linearise(&at)) return "the plumb line runs through a camera";
    const Eigen::Matrix<double, 3, 2> basis = TangentBasis(g_);
    // Weights of the pixels alone, as for known points (FrameFromPoints); the covariance includes
    // the rig.
    Eigen::MatrixXd S = at.variance.asDiagonal();
    fit = calibration::SolveLinear(at.e, at.J, S);
    if (!fit.determined) return kOnePlane;
    const Eigen::VectorXd step = fit.step;
    const double small = step.dot(SolveSpd(fit.cov, step).col(0));
    S += Congruence(at.by_rig, C);
    out->chi_square = calibration::SolveLinear(at.e, at.J, S).chi_square;
    cov_line = Congruence(fit.gain, S);
    Eigen::Vector2d turn = step.head<2>();
    if (turn.norm() > 0.3) turn *= 0.3 / turn.norm();
    p_ += basis * step.tail<2>();
    g_ = (g_ + basis * turn).normalized();
    if (small < 1e-16) break;
  }
  const Eigen::Matrix<double, 3, 2> basis = TangentBasis(g_);
  out->cov = basis * cov_line.topLeftCorner<2, 2>() * basis.transpose();
  out->dg_drig = -basis * (fit.gain.topRows<2>() * at.by_rig);
  return {};
}

bool StringLine::Orient(GravityEstimate* out) {
  int down = 0, up = 0;
  for (const auto& members : of_camera_) {
    if (members.size() < 2) continue;
    (AlongLine(rays_[members.back()], p_, g_) > AlongLine(rays_[members.front()], p_, g_) ? down
                                                                                          : up) +=
        1;
  }
  if (up > 0) g_ = -g_, out->dg_drig = -out->dg_drig;
  out->gravity = g_;
  return down == 0 || up == 0;
}

}  // namespace

GravityEstimate GravityFromPlumbLine(const CameraRig& rig,
                                     const std::vector<PixelObservation>& line) {
  GravityEstimate out;
  const auto refuse = [&](std::string reason) {
    GravityEstimate refused;
    refused.chi_square = out.chi_square;
    refused.reason = std::move(reason);
    return refused;
  };
  StringLine string(rig);
  std::string fault = string.TakePoints(line);
  if (fault.empty()) fault = string.Start();
  if (fault.empty()) fault = string.Fit(&out);
  if (!fault.empty()) return refuse(fault);
  if (!string.Orient(&out))
    return refuse(
        "the points of the plumb line run up in one camera and down in another: give them from the "
        "top down in each");
  out.sd = WorstSd(out.cov);
  out.dof = string.points() - 4;
  out.p = calibration::TailProbability(out.chi_square, out.dof);
  if (!(out.sd < kMaxAngleSd)) {
    out.reason = fmt::format(
        "the direction of the plumb line is uncertain by {:.2g} rad: film more of it, larger",
        out.sd);
  } else if (out.p < 1e-6) {
    out.reason =
        "the points do not lie on one straight line: the string swings, or points of something "
        "else are among them";
  } else {
    out.usable = true;
  }
  return out;
}

}  // namespace impactlab
