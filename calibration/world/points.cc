// World frame from known points.

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <utility>

#include "calibration/world/detail/constraints.h"
#include "calibration/world/world.h"
#include "data/base/error.h"
#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"

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
  out.dp_drig.middleCols<3>(at + n) = -along * slide * R * CrossMatrix(*ray);
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
  Eigen::MatrixXd S = Congruence(*stacked_by_rig, C);
  for (Eigen::Index i = 0; i < n; ++i)
    S.block(dims * i, dims * i, dims, dims) += own[i].topLeftCorner(dims, dims);
  return S;
}

}  // namespace calibration

using calibration::RigPoint;

namespace {

// Known points that were measured, and their residuals under a pose and a scale: seen = scale X_AW
// known.
class PointsProblem {
 public:
  PointsProblem(const CameraRig& rig, const std::vector<KnownPoint>& points,
                std::vector<PointResult>* results)
      : C(calibration::RigCovariance(rig)) {
    for (std::size_t i = 0; i < points.size(); ++i) {
      PointResult result;
      result.name = points[i].name;
      const RigPoint point = calibration::MeasurePoint(rig, points[i].observations);
      result.problem = points[i].p_W.allFinite() && points[i].sd >= 0
                           ? point.problem
                           : "its known coordinates are not numbers";
      results->push_back(result);
      if (!result.problem.empty()) continue;
      const double sd = points[i].sd;
      used.push_back(static_cast<int>(i));
      known.push_back(points[i].p_W);
      seen.push_back(point.p_W);
      own.push_back(point.cov_pixels + sd * sd * Eigen::Matrix3d::Identity());
      by_rig.push_back(point.dp_drig);
    }
    for (const auto& p : known) reach = std::max(reach, (p - known[0]).norm());
  }

  int n() const { return static_cast<int>(used.size()); }

  void StackCovariances() {
    S = calibration::StackedCovariance(own, by_rig, C, 3, &D);
    // Weights are those of the points' own noise. With the rig's covariance among them the frame
    // would be corrected for errors of the rig that the rig itself keeps, and points measured near
    // the marks would be less accurate; the covariance includes both.
    S_own = Eigen::MatrixXd::Zero(3 * n(), 3 * n());
    for (int k = 0; k < n(); ++k) S_own.block<3, 3>(3 * k, 3 * k) = own[k];
    e.resize(3 * n());
    J.resize(3 * n(), 6);
  }

  void Linearise(const Eigen::Isometry3d& X, double scale) {
    for (int k = 0; k < n(); ++k) {
      const Eigen::Vector3d turned = X.linear() * known[k];
      e.segment<3>(3 * k) = seen[k] - scale * turned - X.translation();
      J.block<3, 3>(3 * k, 0) = scale * X.linear() * CrossMatrix(known[k]);
      J.block<3, 3>(3 * k, 3) = -Eigen::Matrix3d::Identity();
    }
  }

  std::vector<int> used;  // places in the list given
  std::vector<Eigen::Vector3d> known, seen;
  std::vector<Eigen::Matrix3d> own;
  std::vector<Eigen::MatrixXd> by_rig;
  double reach = 0;          // largest distance of known points from the first [m]
  Eigen::MatrixXd C, D;      // covariance of the rig, derivatives of the points by it
  Eigen::MatrixXd S, S_own;  // covariance of the residuals, and the part of the points alone
  Eigen::VectorXd e;
  Eigen::MatrixXd J;
};

void MovePose(const Eigen::VectorXd& step, Eigen::Isometry3d* X) {
  X->linear() = X->linear() * ExpSO3(step.head<3>());
  X->translation() += step.segment<3>(3);
}

// Residuals of the points in W with their tests; the place of the worst.
int FillPointResults(const PointsProblem& problem, const calibration::LinearFit& fit,
                     const Eigen::Matrix3d& R_WA, std::vector<PointResult>* results) {
  const int n = problem.n();
  const Eigen::MatrixXd keep = Eigen::MatrixXd::Identity(3 * n, 3 * n) - problem.J * fit.gain;
  const Eigen::MatrixXd cov_left = Congruence(keep, problem.S);
  int worst = 0;
  for (int k = 0; k < n; ++k) {
    PointResult& result = (*results)[problem.used[k]];
    result.residual_W = R_WA * problem.e.segment<3>(3 * k);
    const Eigen::Matrix3d total = R_WA * (problem.S.block<3, 3>(3 * k, 3 * k)) * R_WA.transpose();
    result.sd_W = total.diagonal().cwiseMax(0).cwiseSqrt();
    const Eigen::Matrix3d cov_own = cov_left.block<3, 3>(3 * k, 3 * k);
    const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(cov_own);
    for (int i = 0; i < 3; ++i) {
      const double along = eigen.eigenvectors().col(i).dot(problem.e.segment<3>(3 * k));
      if (eigen.eigenvalues()(i) > 1e-6 * eigen.eigenvalues()(2))
        result.chi_square += along * along / eigen.eigenvalues()(i);
    }
    if (result.chi_square > (*results)[problem.used[worst]].chi_square) worst = k;
  }
  return problem.used[worst];
}

// Scale of the measured points, fitted beside the pose from X on.
void FitScale(Eigen::Isometry3d X, PointsProblem* problem, PointsWorld* out) {
  const int n = problem->n();
  const calibration::LinearFit scaled = calibration::FitByLinearSteps(
      [&](Eigen::VectorXd* e, Eigen::MatrixXd* J) {
        problem->Linearise(X, out->scale);
        *e = problem->e;
        J->resize(3 * n, 7);
        J->leftCols<6>() = problem->J;
        for (int k = 0; k < n; ++k) J->block<3, 1>(3 * k, 6) = -X.linear() * problem->known[k];
      },
      problem->S,
      [&](const Eigen::VectorXd& step) {
        MovePose(step, &X);
        out->scale += step(6);
      });
  if (scaled.determined) out->sd_scale = std::sqrt(scaled.cov(6, 6));
  out->scale_consistent = std::abs(out->scale - 1) <= kNormal95 * out->sd_scale;
}

}  // namespace

PointsWorld FrameFromPoints(const CameraRig& rig, const std::vector<KnownPoint>& points) {
  PointsWorld out;
  const auto refuse = [&](std::string reason) {
    out.frame.usable = false;
    out.frame.reason = std::move(reason);
    return out;
  };
  PointsProblem problem(rig, points, &out.points);
  const int n = problem.n();
  if (n < 3)
    return refuse(fmt::format(
        "{} of {} points can be measured, three are the least{}", n, points.size(),
        static_cast<int>(points.size()) > n ? ": see the reason given with each point" : ""));
  if (!(calibration::Width(problem.known) > 1e-3 * problem.reach))
    return refuse("the known points lie on one line: the rotation about it is not determined");
  problem.StackCovariances();

  Eigen::Isometry3d X_AW = calibration::Align(problem.known, problem.seen);
  const calibration::LinearFit fit = calibration::FitByLinearSteps(
      [&](Eigen::VectorXd* e, Eigen::MatrixXd* J) {
        problem.Linearise(X_AW, 1);
        *e = problem.e, *J = problem.J;
      },
      problem.S_own, [&](const Eigen::VectorXd& step) { MovePose(step, &X_AW); });
  if (!fit.determined) return refuse("the points do not determine the world frame");
  FrameEstimate& frame = out.frame;
  frame.X_WA = X_AW.inverse();
  const Eigen::Matrix<double, 6, 6> map = calibration::InverseErrorMap(X_AW);
  const Eigen::MatrixXd cov_X = Congruence(fit.gain, problem.S);
  frame.cov = Congruence(map, cov_X);
  frame.cross = -map * fit.gain * problem.D * problem.C;
  frame.chi_square = calibration::SolveLinear(problem.e, problem.J, problem.S).chi_square;
  frame.dof = 3 * n - 6;
  frame.p = calibration::TailProbability(frame.chi_square, frame.dof);
  const PointResult& worst =
      out.points[FillPointResults(problem, fit, frame.X_WA.linear(), &out.points)];
  FitScale(X_AW, &problem, &out);

  if (cov_X.topLeftCorner<3, 3>().trace() > 0.03)
    return refuse("the orientation of the world frame is not determined: spread the points");
  if (frame.p < 1e-6) {
    const double share = std::abs(out.scale - 1) / std::max(out.sd_scale, 1e-300);
    return refuse(fmt::format(
        "the points do not fit their known coordinates: '{}' is off by {:.2g} mm{}. Check the "
        "coordinates, their order, and the standard deviation stated for them",
        worst.name, 1e3 * worst.residual_W.norm(),
        share > 5
            ? fmt::format("; the rig measures lengths {:.3f} times as long as they are said to be",
                          out.scale)
            : ""));
  }
  frame.usable = true;
  return out;
}

}  // namespace impactlab
