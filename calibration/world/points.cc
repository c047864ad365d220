// World frame from known points.

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>

#include "calibration/camera/rotation.h"
#include "calibration/world/detail/constraints.h"
#include "calibration/world/world.h"
#include "data/base/error.h"

namespace impactlab {
namespace calibration {

RigPoint MeasurePoint(const CameraRig& rig, const std::vector<PixelObservation>& observations) {
  TriangulateOptions options;
  options.derivatives = true;
  TriangulatedPoint point = Triangulate(rig, observations, options);
  RigPoint out;
  if (!point.usable) {
    out.problem = point.reason;
    return out;
  }
  // Images that contradict each other beyond any noise belong to different points.
  if (TailProbability(point.consistency, point.dof) < 1e-9) {
    out.problem = fmt::format(
        "its images do not belong together (chi-square {:.0f} for {} degrees of freedom)",
        point.consistency, point.dof);
    return out;
  }
  out.p_W = point.p_W;
  out.cov_pixels = point.cov_pixels;
  out.dp_drig = std::move(point.dp_drig);
  return out;
}

RigPoint MeasureOnPlane(const CameraRig& rig, const PixelObservation& o, double plane_z) {
  if (o.camera < 0 || o.camera >= static_cast<int>(rig.cameras.size()))
    throw ConfigError(
        fmt::format("point on a plane: camera {} asked for, the rig has {} (counted from 0)",
                    o.camera, rig.cameras.size()));
  RigPoint out;
  const RigCamera& camera = rig.cameras[o.camera];
  Eigen::Matrix<double, 3, 2> dray_dq;
  Eigen::Matrix<double, 3, Eigen::Dynamic> dray_dintrinsics;
  const auto ray =
      o.q.allFinite() ? Unproject(camera.camera, o.q, &dray_dq, &dray_dintrinsics) : std::nullopt;
  if (!ray)
    return out.problem =
               fmt::format("outside the region in which the lens of {} is known", camera.name),
           out;
  const Eigen::Matrix3d R = camera.X_WC.linear();
  const Eigen::Vector3d d = R * *ray, origin = camera.X_WC.translation();
  const double along = (plane_z - origin.z()) / d.z();
  if (!(along > 0) || !std::isfinite(along) || std::abs(d.z()) < 0.02)
    return out.problem = "its ray does not meet the plane", out;
  out.p_W = origin + along * d;
  // Moves of the ray slide along the plane.
  Eigen::Matrix3d slide = Eigen::Matrix3d::Identity();
  slide.col(2) -= d / d.z();
  const Eigen::Matrix<double, 3, 2> dp_dq = along * slide * R * dray_dq;
  out.cov_pixels = dp_dq * o.cov * dp_dq.transpose();
  out.dp_drig.setZero(3, ParameterCount(rig));
  const int at = FirstParameter(rig, o.camera), n = IntrinsicCount(camera.camera.model);
  out.dp_drig.middleCols(at, n) = along * slide * R * dray_dintrinsics;
  out.dp_drig.middleCols<3>(at + n) = -along * slide * R * Skew(*ray);
  out.dp_drig.middleCols<3>(at + n + 3) = slide;
  return out;
}

Eigen::Isometry3d Align(const std::vector<Eigen::Vector3d>& from,
                        const std::vector<Eigen::Vector3d>& to) {
  Eigen::Vector3d mean_from = Eigen::Vector3d::Zero(), mean_to = Eigen::Vector3d::Zero();
  for (std::size_t i = 0; i < from.size(); ++i) mean_from += from[i], mean_to += to[i];
  mean_from /= static_cast<double>(from.size());
  mean_to /= static_cast<double>(from.size());
  Eigen::Matrix3d moment = Eigen::Matrix3d::Zero();
  for (std::size_t i = 0; i < from.size(); ++i)
    moment += (to[i] - mean_to) * (from[i] - mean_from).transpose();
  const Eigen::JacobiSVD<Eigen::Matrix3d> svd(moment, Eigen::ComputeFullU | Eigen::ComputeFullV);
  Eigen::Vector3d sign(1, 1,
                       (svd.matrixU() * svd.matrixV().transpose()).determinant() < 0 ? -1 : 1);
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() = svd.matrixU() * sign.asDiagonal() * svd.matrixV().transpose();
  X.translation() = mean_to - X.linear() * mean_from;
  return X;
}

double Width(const std::vector<Eigen::Vector3d>& points) {
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  for (const auto& p : points) mean += p / static_cast<double>(points.size());
  Eigen::Matrix3d moment = Eigen::Matrix3d::Zero();
  for (const auto& p : points) moment += (p - mean) * (p - mean).transpose();
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(moment, Eigen::EigenvaluesOnly);
  return std::sqrt(std::max(0.0, eigen.eigenvalues()(1)));
}

Eigen::MatrixXd StackedCovariance(const std::vector<Eigen::Matrix3d>& own,
                                  const std::vector<Eigen::MatrixXd>& by_rig,
                                  const Eigen::MatrixXd& C, int dims,
                                  Eigen::MatrixXd* stacked_by_rig) {
  const auto n = static_cast<Eigen::Index>(own.size());
  stacked_by_rig->resize(dims * n, C.rows());
  for (Eigen::Index i = 0; i < n; ++i)
    stacked_by_rig->middleRows(dims * i, dims) = by_rig[i].topRows(dims);
  Eigen::MatrixXd S = *stacked_by_rig * C * stacked_by_rig->transpose();
  for (Eigen::Index i = 0; i < n; ++i)
    S.block(dims * i, dims * i, dims, dims) += own[i].topLeftCorner(dims, dims);
  return S;
}

}  // namespace calibration

using calibration::RigPoint;
using calibration::Skew;

PointsWorld FrameFromPoints(const CameraRig& rig, const std::vector<KnownPoint>& points) {
  PointsWorld out;
  std::vector<RigPoint> measured;
  std::vector<int> used;
  std::vector<Eigen::Vector3d> known, seen;
  for (std::size_t i = 0; i < points.size(); ++i) {
    PointResult result;
    result.name = points[i].name;
    RigPoint point = calibration::MeasurePoint(rig, points[i].observations);
    result.problem = points[i].p_W.allFinite() && points[i].sd >= 0
                         ? point.problem
                         : "its known coordinates are not numbers";
    out.points.push_back(result);
    if (!result.problem.empty()) continue;
    used.push_back(static_cast<int>(i));
    known.push_back(points[i].p_W);
    seen.push_back(point.p_W);
    measured.push_back(std::move(point));
  }
  const auto refuse = [&](std::string reason) {
    out.frame.usable = false;
    out.frame.reason = std::move(reason);
    return out;
  };
  if (used.size() < 3)
    return refuse(fmt::format("{} of {} points can be measured, three are the least{}", used.size(),
                              points.size(),
                              points.size() > used.size() ? ": see the reason at each" : ""));
  double reach = 0;
  for (const auto& p : known) reach = std::max(reach, (p - known[0]).norm());
  if (!(calibration::Width(known) > 1e-3 * reach))
    return refuse("the known points lie on one line: the turn about it cannot be told");

  const int n = static_cast<int>(used.size());
  const Eigen::MatrixXd C = calibration::RigCovariance(rig);
  std::vector<Eigen::Matrix3d> own;
  std::vector<Eigen::MatrixXd> by_rig;
  for (int k = 0; k < n; ++k) {
    const double sd = points[used[k]].sd;
    own.push_back(measured[k].cov_pixels + sd * sd * Eigen::Matrix3d::Identity());
    by_rig.push_back(measured[k].dp_drig);
  }
  Eigen::MatrixXd D;
  const Eigen::MatrixXd S = calibration::StackedCovariance(own, by_rig, C, 3, &D);
  // Weights are those of the points' own noise. With the rig's covariance among them the frame
  // would be corrected for errors of the rig that the rig itself keeps, and points measured near
  // the marks would come out worse; the covariance counts everything.
  Eigen::MatrixXd S_own = Eigen::MatrixXd::Zero(3 * n, 3 * n);
  for (int k = 0; k < n; ++k) S_own.block<3, 3>(3 * k, 3 * k) = own[k];

  // seen = X_AW known, then with a scale beside it.
  Eigen::Isometry3d X_AW = calibration::Align(known, seen);
  calibration::LinearFit fit;
  Eigen::VectorXd e(3 * n);
  Eigen::MatrixXd J(3 * n, 6);
  const auto linearise = [&](const Eigen::Isometry3d& X, double scale) {
    for (int k = 0; k < n; ++k) {
      const Eigen::Vector3d turned = X.linear() * known[k];
      e.segment<3>(3 * k) = seen[k] - scale * turned - X.translation();
      J.block<3, 3>(3 * k, 0) = scale * X.linear() * Skew(known[k]);
      J.block<3, 3>(3 * k, 3) = -Eigen::Matrix3d::Identity();
    }
  };
  const auto apply = [](Eigen::Isometry3d& X, const Eigen::VectorXd& step) {
    X.linear() = X.linear() * calibration::RotationFromVector(step.head<3>());
    X.translation() += step.segment<3>(3);
  };
  for (int iteration = 0; iteration < 20; ++iteration) {
    linearise(X_AW, 1);
    fit = calibration::SolveLinear(e, J, S_own);
    if (!fit.determined) return refuse("the points do not determine the world frame");
    apply(X_AW, fit.step);
    if (fit.step.norm() < 1e-13 * (1 + reach)) break;
  }
  linearise(X_AW, 1);
  FrameEstimate& frame = out.frame;
  frame.X_WA = X_AW.inverse();
  const Eigen::Matrix<double, 6, 6> map = calibration::InverseErrorMap(X_AW);
  const Eigen::MatrixXd cov_X = fit.gain * S * fit.gain.transpose();
  frame.cov = map * cov_X * map.transpose();
  frame.cross = -map * fit.gain * D * C;
  frame.chi_square = calibration::SolveLinear(e, J, S).chi_square;
  frame.dof = 3 * n - 6;
  frame.p = calibration::TailProbability(frame.chi_square, frame.dof);

  const Eigen::Matrix3d R_WA = frame.X_WA.linear();
  const Eigen::MatrixXd keep = Eigen::MatrixXd::Identity(3 * n, 3 * n) - J * fit.gain;
  const Eigen::MatrixXd cov_left = keep * S * keep.transpose();
  int worst = 0;
  for (int k = 0; k < n; ++k) {
    PointResult& result = out.points[used[k]];
    result.residual_W = R_WA * e.segment<3>(3 * k);
    const Eigen::Matrix3d total = R_WA * (S.block<3, 3>(3 * k, 3 * k)) * R_WA.transpose();
    result.sd_W = total.diagonal().cwiseMax(0).cwiseSqrt();
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(cov_left.block<3, 3>(3 * k, 3 * k));
    for (int i = 0; i < 3; ++i) {
      const double along = eigen.eigenvectors().col(i).dot(e.segment<3>(3 * k));
      if (eigen.eigenvalues()(i) > 1e-6 * eigen.eigenvalues()(2))
        result.chi_square += along * along / eigen.eigenvalues()(i);
    }
    if (result.chi_square > out.points[used[worst]].chi_square) worst = k;
  }

  Eigen::Isometry3d X = X_AW;
  for (int iteration = 0; iteration < 20; ++iteration) {
    linearise(X, out.scale);
    Eigen::MatrixXd with_scale(3 * n, 7);
    with_scale.leftCols<6>() = J;
    for (int k = 0; k < n; ++k) with_scale.block<3, 1>(3 * k, 6) = -X.linear() * known[k];
    const calibration::LinearFit scaled = calibration::SolveLinear(e, with_scale, S);
    if (!scaled.determined) break;
    apply(X, scaled.step);
    out.scale += scaled.step(6);
    out.sd_scale = std::sqrt(scaled.cov(6, 6));
    if (scaled.step.norm() < 1e-13 * (1 + reach)) break;
  }
  out.scale_consistent = std::abs(out.scale - 1) <= 1.959963984540054 * out.sd_scale;

  if (cov_X.topLeftCorner<3, 3>().trace() > 0.03)
    return refuse("the orientation of the world frame is not determined: spread the points");
  if (frame.p < 1e-6) {
    const double share = std::abs(out.scale - 1) / std::max(out.sd_scale, 1e-300);
    return refuse(fmt::format(
        "the points do not fit their known coordinates: '{}' is off by {:.2g} mm{}. Check the "
        "coordinates, their order, and "
        "the standard deviation stated for them",
        out.points[used[worst]].name, 1e3 * out.points[used[worst]].residual_W.norm(),
        share > 5
            ? fmt::format("; the rig measures lengths {:.3f} times as long as they are said to be",
                          out.scale)
            : ""));
  }
  frame.usable = true;
  return out;
}

}  // namespace impactlab
