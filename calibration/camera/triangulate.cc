#include "calibration/camera/triangulate.h"

#include <fmt/format.h>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/camera/lens.h"
#include "data/base/error.h"
#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A point as seen from the first camera: unit direction d_C0 and inverse distance rho [1/m].
// Tangent coordinates turn d.
struct CameraRay {
  const RigCamera* camera = nullptr;
  int index = 0;
  Eigen::VectorXd intrinsics;
  Eigen::Vector2d q;
  Eigen::Matrix2d weight;  // inverse covariance
  Eigen::Matrix3d R_CW;
  Eigen::Matrix3d R_CC0;
  Eigen::Vector3d baseline_C;  // position of the first camera in this one
  Eigen::Vector3d ray_C;
};

Eigen::Matrix<double, 3, 2> TangentBasis(const Eigen::Vector3d& d) {
  Eigen::Matrix<double, 3, 2> basis;
  basis.col(0) = d.unitOrthogonal();
  basis.col(1) = d.cross(basis.col(0));
  return basis;
}

// h = distance^-1 times the point in the camera: finite for a point at infinity.
Eigen::Vector3d Homogeneous(const CameraRay& s, const Eigen::Vector3d& d_C0, double rho) {
  return s.R_CC0 * d_C0 + rho * s.baseline_C;
}

struct Linearized {
  bool valid = false;
  double cost = 0;  // sum of squares
  Eigen::Matrix3d information = Eigen::Matrix3d::Zero();
  Eigen::Vector3d gradient = Eigen::Vector3d::Zero();
  double leverage = 0;  // bound of the information on rho for a known direction
};

// `dq_dx` and `dq_dh`, where given, receive the derivatives of every ray.
Linearized Linearize(const std::vector<CameraRay>& rays, const Eigen::Vector3d& d, double rho,
                     std::vector<Eigen::Matrix<double, 2, 3>>* dq_dx = nullptr,
                     std::vector<Eigen::Matrix<double, 2, 3>>* dq_dh = nullptr) {
  Linearized out;
  const auto basis = TangentBasis(d);
  for (const CameraRay& s : rays) {
    Eigen::Vector2d q;
    Eigen::Matrix<double, 2, 3, Eigen::RowMajor> by_h;
    const Eigen::Vector3d h = Homogeneous(s, d, rho);
    if (!calibration::ProjectLens(s.camera->camera.model, s.intrinsics.data(), h, &q, &by_h,
                                  nullptr) ||
        !q.allFinite())
      return out;
    Eigen::Matrix<double, 2, 3> by_x;
    by_x.leftCols<2>() = by_h * s.R_CC0 * basis;
    by_x.col(2) = by_h * s.baseline_C;
    const Eigen::Vector2d residual = q - s.q;
    out.cost += residual.dot(s.weight * residual);
    out.information += by_x.transpose() * s.weight * by_x;
    out.gradient += by_x.transpose() * (s.weight * residual);
    out.leverage += s.weight.trace() * by_h.squaredNorm() * s.baseline_C.squaredNorm();
    if (dq_dx) dq_dx->push_back(by_x);
    if (dq_dh) dq_dh->push_back(by_h);
  }
  out.valid = std::isfinite(out.cost);
  return out;
}

// Information on rho once the direction is free.
double DepthInformation(const Eigen::Matrix3d& information) {
  const Eigen::Vector2d cross = information.block<2, 1>(0, 2);
  return information(2, 2) - cross.dot(information.topLeftCorner<2, 2>().llt().solve(cross));
}

// Inverse distances at which the first ray comes nearest to each other one, seen as an angle from
// the other camera.
std::vector<double> Starts(const std::vector<CameraRay>& rays) {
  std::vector<double> starts;
  double weighted = 0, weights = 0;
  const Eigen::Vector3d& d = rays.front().ray_C;
  for (std::size_t i = 1; i < rays.size(); ++i) {
    const CameraRay& s = rays[i];
    const Eigen::Vector3d at_infinity = s.ray_C.cross(s.R_CC0 * d),
                          by_rho = s.ray_C.cross(s.baseline_C);
    const double squared = by_rho.squaredNorm();
    if (squared < 1e-30) continue;
    const double rho = -at_infinity.dot(by_rho) / squared;
    starts.push_back(rho);
    weighted += squared * rho;
    weights += squared;
  }
  if (weights > 0) starts.push_back(weighted / weights);
  starts.push_back(0);
  return starts;
}

std::string Names(const std::vector<CameraRay>& rays) {
  std::string names;
  for (const CameraRay& s : rays) names += (names.empty() ? "" : ", ") + s.camera->name;
  return names;
}

// Derivatives of the predicted pixels, stacked, by the rig's parameters at a fixed direction and
// inverse distance in the first camera.
Eigen::MatrixXd PixelsByRig(const CameraRig& rig, const std::vector<CameraRay>& rays,
                            const Eigen::Vector3d& d, double rho,
                            const std::vector<Eigen::Matrix<double, 2, 3>>& dq_dh) {
  Eigen::MatrixXd by_rig =
      Eigen::MatrixXd::Zero(2 * static_cast<Eigen::Index>(rays.size()), ParameterCount(rig));
  const CameraRay& first = rays.front();
  const int first_pose =
      FirstParameter(rig, first.index) + IntrinsicCount(first.camera->camera.model);
  for (std::size_t i = 0; i < rays.size(); ++i) {
    const CameraRay& s = rays[i];
    const auto row = 2 * static_cast<Eigen::Index>(i);
    const int n = IntrinsicCount(s.camera->camera.model), at = FirstParameter(rig, s.index);
    const Eigen::Vector3d h = Homogeneous(s, d, rho);
    Eigen::Vector2d q;
    calibration::IntrinsicDerivative by_intrinsics = calibration::IntrinsicDerivative::Zero();
    calibration::ProjectLens(s.camera->camera.model, s.intrinsics.data(), h, &q, nullptr,
                             &by_intrinsics);
    by_rig.block(row, at, 2, n) = by_intrinsics.leftCols(n);
    // the direction and the distance belong to this camera: its pose changes no image of its own
    if (s.index == first.index) continue;
    by_rig.block<2, 3>(row, at + n) = dq_dh[i] * CrossMatrix(h);
    by_rig.block<2, 3>(row, at + n + 3) = -rho * dq_dh[i] * s.R_CW;
    by_rig.block<2, 3>(row, first_pose) = -dq_dh[i] * s.R_CC0 * CrossMatrix(d);
    by_rig.block<2, 3>(row, first_pose + 3) = rho * dq_dh[i] * s.R_CW;
  }
  return by_rig;
}

// Chi-square of the residuals when the rig may be wrong too: in the directions of the pixels that
// no point can reach.
double Consistency(const std::vector<CameraRay>& rays, const Eigen::Vector3d& d, double rho,
                   const std::vector<Eigen::Matrix<double, 2, 3>>& dq_dx,
                   const Eigen::MatrixXd& by_rig, const Eigen::MatrixXd& cov_rig) {
  const auto n = static_cast<Eigen::Index>(rays.size());
  Eigen::MatrixXd J(2 * n, 3), E(2 * n, by_rig.cols());
  Eigen::VectorXd residual(2 * n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const CameraRay& s = rays[i];
    const Eigen::Matrix2d root = s.weight.llt().matrixU();
    Eigen::Vector2d q;
    calibration::ProjectLens(s.camera->camera.model, s.intrinsics.data(), Homogeneous(s, d, rho),
                             &q, nullptr, nullptr);
    residual.segment<2>(2 * i) = root * (q - s.q);
    J.middleRows<2>(2 * i) = root * dq_dx[i];
    E.middleRows<2>(2 * i) = root * by_rig.middleRows<2>(2 * i);
  }
  for (int k = 0; k < 3; ++k) J.col(k) /= std::max(J.col(k).norm(), 1e-300);
  const Eigen::VectorXd z = ComplementCoordinates(J, residual);
  Eigen::MatrixXd cov = Congruence(ComplementCoordinates(J, E), cov_rig);
  cov.diagonal().array() += 1;
  const Eigen::LLT<Eigen::MatrixXd> llt(cov);
  const Eigen::VectorXd weighted = llt.solve(z);
  return z.dot(weighted);
}

void SetIntervals(TriangulatedPoint& point) {
  const auto to_depth = [](double rho) { return rho > 0 ? 1 / rho : kInfinity; };
  const double sd = point.sd_inverse_depth, rho = point.inverse_depth;
  point.depth_lower68 = std::isfinite(sd) ? to_depth(rho + sd) : 0;
  point.depth_upper68 = std::isfinite(sd) ? to_depth(rho - sd) : kInfinity;
  point.depth_lower95 = std::isfinite(sd) ? to_depth(rho + kNormal95 * sd) : 0;
  point.depth_upper95 = std::isfinite(sd) ? to_depth(rho - kNormal95 * sd) : kInfinity;
}

// The rays of the observations; the reason where one of them cannot be used.
std::string MakeRays(const CameraRig& rig, const std::vector<PixelObservation>& observations,
                     std::vector<CameraRay>* rays) {
  for (const PixelObservation& o : observations) {
    if (o.camera < 0 || o.camera >= static_cast<int>(rig.cameras.size()))
      throw ConfigError(
          fmt::format("triangulation: camera {} asked for, the rig has {} (counted from 0)",
                      o.camera, rig.cameras.size()));
    CameraRay s;
    s.camera = &rig.cameras[o.camera];
    s.index = o.camera;
    s.q = o.q;
    if (!o.q.allFinite())
      return fmt::format("the image point in {} is not a number", s.camera->name);
    const Eigen::LLT<Eigen::Matrix2d> llt(o.cov);
    if (!o.cov.allFinite() || llt.info() != Eigen::Success || !(o.cov.determinant() > 0))
      return fmt::format("the covariance of the image point in {} is not positive definite",
                         s.camera->name);
    s.weight = llt.solve(Eigen::Matrix2d::Identity());
    const auto ray = Unproject(s.camera->camera, o.q);
    if (!ray)
      return fmt::format("outside the region in which the lens of {} is known", s.camera->name);
    s.ray_C = *ray;
    s.intrinsics = Intrinsics(s.camera->camera);
    s.R_CW = s.camera->X_WC.linear().transpose();
    const RigCamera& first = rig.cameras[observations.front().camera];
    s.R_CC0 = s.R_CW * first.X_WC.linear();
    s.baseline_C = s.R_CW * (first.X_WC.translation() - s.camera->X_WC.translation());
    rays->push_back(std::move(s));
  }
  return rays->size() < 2 ? "seen by fewer than two cameras" : "";
}

// The point as direction and inverse distance in the first camera.
struct PointEstimate {
  Eigen::Vector3d d;
  double rho = 0;
  Linearized at;
};

// Levenberg-Marquardt from the best of the start values; the reason where there is no point. A loop
// of its own beside the driver of data/math: it runs for every marker of every frame, on matrices
// of three rows whose size the compiler knows.
std::string SolvePoint(const std::vector<CameraRay>& rays, PointEstimate* point) {
  auto& [d, rho, at] = *point;
  d = rays.front().ray_C;
  for (double start : Starts(rays)) {
    const Linearized candidate = Linearize(rays, d, start);
    if (candidate.valid && (!at.valid || candidate.cost < at.cost)) at = candidate, rho = start;
  }
  if (!at.valid)
    return fmt::format("the rays of {} do not meet in front of all of them", Names(rays));
  if (!(DepthInformation(at.information) > 1e-20 * at.leverage))
    return fmt::format(
        "the rays of {} are one and the same line of sight: no depth (cameras at one place, or the "
        "point on the line that joins them)",
        Names(rays));
  double damping = 1e-6;
  bool converged = false;
  for (int iteration = 0; iteration < 100 && !converged; ++iteration) {
    Eigen::Matrix3d damped = at.information;
    damped.diagonal() *= 1 + damping;
    const Eigen::Vector3d step = -damped.ldlt().solve(at.gradient);
    if (!step.allFinite()) break;
    // Length of the step in standard deviations.
    converged = step.dot(at.information * step) < 1e-18 && damping < 1e-2;
    const Eigen::Vector3d d_new = (d + TangentBasis(d) * step.head<2>()).normalized();
    const Linearized next = Linearize(rays, d_new, rho + step(2));
    // The relative rounding error of the cost is about 1e-11; the last steps change it by less and
    // are correct all the same.
    if (next.valid && next.cost <= at.cost * (1 + 1e-9) + 1e-18) {
      d = d_new, rho += step(2), at = next;
      damping = std::max(damping * 0.1, 1e-12);
    } else {
      damping = std::max(damping, 1e-9) * 10;
      // no step reduces the cost any more: at the optimum to rounding
      if (damping > 1e12) converged = true;
    }
  }
  return {};
}

// Covariance of direction and inverse distance. By blocks, with rho scaled to its own standard
// deviation: the plain inverse would lose digits at short baselines.
Eigen::Matrix3d DirectionCovariance(const Eigen::Matrix3d& information, double variance_rho) {
  const Eigen::Matrix2d cov_direction_given_rho =
      information.topLeftCorner<2, 2>().llt().solve(Eigen::Matrix2d::Identity());
  const Eigen::Vector2d follow = -cov_direction_given_rho * information.block<2, 1>(0, 2);
  Eigen::Matrix3d cov_x;
  cov_x.topLeftCorner<2, 2>() =
      cov_direction_given_rho + follow * follow.transpose() * variance_rho;
  cov_x.topRightCorner<2, 1>() = follow * variance_rho;
  cov_x.bottomLeftCorner<1, 2>() = (follow * variance_rho).transpose();
  cov_x(2, 2) = variance_rho;
  return cov_x;
}

using Rig3 = Eigen::Matrix<double, 3, Eigen::Dynamic>;

// Derivatives of the estimate by the rig, the pixels held.
Rig3 EstimateByRig(const std::vector<CameraRay>& rays, const Eigen::Matrix3d& cov_x,
                   const std::vector<Eigen::Matrix<double, 2, 3>>& dq_dx,
                   const Eigen::MatrixXd& by_rig) {
  Rig3 dx_drig = Rig3::Zero(3, by_rig.cols());
  for (std::size_t i = 0; i < rays.size(); ++i)
    dx_drig -= cov_x * dq_dx[i].transpose() * rays[i].weight *
               by_rig.middleRows<2>(2 * static_cast<Eigen::Index>(i));
  return dx_drig;
}

// Position and covariance of a point at a finite depth, and whether it is usable.
void PlacePoint(const std::vector<CameraRay>& rays, const PointEstimate& estimate,
                const Eigen::Matrix3d& cov_x, const Eigen::Matrix3d& dp_dx, const Rig3& dp_drig,
                const CameraRig& rig, const TriangulateOptions& options, TriangulatedPoint* point) {
  const double rho = estimate.rho;
  if (!(rho > 0) || !std::isfinite(1 / (rho * rho))) {
    point->reason =
        rho < -3 * point->sd_inverse_depth
            ? fmt::format("the rays of {} move apart: they would meet behind the cameras",
                          Names(rays))
            : fmt::format("the rays of {} are parallel: no depth", Names(rays));
    return;
  }
  point->depth = 1 / rho;
  point->p_W = rays.front().camera->X_WC * Eigen::Vector3d(estimate.d / rho);
  point->cov_pixels = dp_dx * cov_x * dp_dx.transpose();
  point->cov = point->cov_pixels;
  if (rig.covariance.size() > 0) point->cov += dp_drig * rig.covariance * dp_drig.transpose();
  if (options.derivatives) point->dp_drig = dp_drig;
  if (!point->cov.allFinite() || point->sd_inverse_depth > options.max_relative_sd * rho) {
    point->reason = fmt::format(
        "the depth is not determined: its relative standard deviation is {:.2g}, allowed is {:.2g}",
        point->sd_inverse_depth / rho, options.max_relative_sd);
    return;
  }
  for (const CameraRay& s : rays) {
    if (Project(s.camera->camera, s.camera->X_WC.inverse() * point->p_W)) continue;
    point->reason =
        fmt::format("the point lies behind {} or outside the region in which its lens is known",
                    s.camera->name);
    return;
  }
  point->usable = true;
}

}  // namespace

TriangulatedPoint Triangulate(const CameraRig& rig,
                              const std::vector<PixelObservation>& observations,
                              const TriangulateOptions& options) {
  TriangulatedPoint point;
  point.sd_inverse_depth = kInfinity;
  SetIntervals(point);
  if (rig.covariance.size() > 0 && (rig.covariance.rows() != ParameterCount(rig) ||
                                    rig.covariance.cols() != ParameterCount(rig)))
    throw ConfigError(
        fmt::format("triangulation: the covariance of the rig is {} x {}, its parameters are {}",
                    rig.covariance.rows(), rig.covariance.cols(), ParameterCount(rig)));
  std::vector<CameraRay> rays;
  PointEstimate estimate;
  point.reason = MakeRays(rig, observations, &rays);
  if (point.reason.empty()) point.reason = SolvePoint(rays, &estimate);
  if (!point.reason.empty()) return point;
  const Eigen::Vector3d& d = estimate.d;
  const double rho = estimate.rho;
  point.chi_square = estimate.at.cost;
  point.dof = 2 * static_cast<int>(rays.size()) - 3;
  const double depth_information = DepthInformation(estimate.at.information);
  if (!(depth_information > 1e-20 * estimate.at.leverage)) {
    point.reason =
        fmt::format("the rays of {} are one and the same line of sight: no depth", Names(rays));
    return point;
  }

  std::vector<Eigen::Matrix<double, 2, 3>> dq_dx, dq_dh;
  Linearize(rays, d, rho, &dq_dx, &dq_dh);
  const double variance_rho = 1 / depth_information;
  const Eigen::Matrix3d cov_x = DirectionCovariance(estimate.at.information, variance_rho);
  const Eigen::Matrix3d& R_WC0 = rays.front().camera->X_WC.linear();
  Eigen::Matrix3d dp_dx = Eigen::Matrix3d::Zero();
  if (rho != 0) {
    dp_dx.leftCols<2>() = R_WC0 * TangentBasis(d) / rho;
    dp_dx.col(2) = -R_WC0 * d / (rho * rho);
  }
  double variance = variance_rho;
  Rig3 dp_drig;
  point.consistency = point.chi_square;
  const bool with_rig = rig.covariance.size() > 0;
  if (with_rig || options.derivatives) {
    const Eigen::MatrixXd by_rig = PixelsByRig(rig, rays, d, rho, dq_dh);
    const Rig3 dx_drig = EstimateByRig(rays, cov_x, dq_dx, by_rig);
    if (rho != 0) {
      const int pose = FirstParameter(rig, rays.front().index) +
                       IntrinsicCount(rays.front().camera->camera.model);
      dp_drig = dp_dx * dx_drig;
      dp_drig.middleCols<3>(pose) -= R_WC0 * CrossMatrix(d) / rho;
      dp_drig.middleCols<3>(pose + 3) += Eigen::Matrix3d::Identity();
    }
    if (with_rig) {
      variance += (dx_drig.row(2) * rig.covariance * dx_drig.row(2).transpose())(0);
      point.consistency = Consistency(rays, d, rho, dq_dx, by_rig, rig.covariance);
    }
  }
  point.inverse_depth = rho;
  point.sd_inverse_depth = std::sqrt(variance);
  SetIntervals(point);
  PlacePoint(rays, estimate, cov_x, dp_dx, dp_drig, rig, options, &point);
  return point;
}

}  // namespace impactlab
