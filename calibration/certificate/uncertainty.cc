// Projection uncertainty with the implied motion, and the comparison of two halves by the same
// rule.

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "calibration/camera/lens.h"
#include "calibration/certificate/detail/findings.h"
#include "data/math/least_squares.h"
#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace calibration {

std::vector<MeasuredPoint> MeasuredPoints(const CalibrationResult& result, int camera) {
  std::vector<MeasuredPoint> points;
  const RigCamera& rig_camera = result.rig.cameras[camera];
  for (const ShotResult& shot : result.shots) {
    if (!shot.used || camera >= static_cast<int>(shot.views.size()) ||
        !shot.views[camera].rejected.empty())
      continue;
    const Eigen::Isometry3d X_CG = rig_camera.X_WC.inverse() * shot.X_WG;
    const Eigen::Vector3d normal = X_CG.linear().col(2);
    for (const PointResidual& point : shot.views[camera].points) {
      if (point.outlier || !point.residual.allFinite()) continue;
      const auto ray = Unproject(rig_camera.camera, point.q + point.residual);
      if (!ray) continue;
      const double along = normal.dot(X_CG.translation()) / normal.dot(*ray);
      if (!(along > 0) || !std::isfinite(along)) continue;
      points.push_back({along * *ray, point.q, 1 / (point.sd * point.sd)});
    }
  }
  return points;
}

bool PixelDerivatives(const Camera& camera, const Eigen::Vector3d& p_C,
                      Eigen::Matrix<double, 2, Eigen::Dynamic>* by_intrinsics,
                      Eigen::Matrix<double, 2, 6>* by_motion) {
  Eigen::Matrix<double, 2, 3> by_p;
  if (!Project(camera, p_C, &by_p, by_intrinsics)) return false;
  by_motion->leftCols<3>() = -by_p * CrossMatrix(p_C);
  by_motion->rightCols<3>() = by_p;
  return true;
}

Eigen::Matrix<double, 6, Eigen::Dynamic> ImpliedMotion(const Camera& camera,
                                                       const std::vector<MeasuredPoint>& points) {
  const int n = IntrinsicCount(camera.model);
  Eigen::Matrix<double, 6, 6> information = Eigen::Matrix<double, 6, 6>::Zero();
  Eigen::Matrix<double, 6, Eigen::Dynamic> mixed =
      Eigen::Matrix<double, 6, Eigen::Dynamic>::Zero(6, n);
  Eigen::Matrix<double, 2, Eigen::Dynamic> by_intrinsics;
  Eigen::Matrix<double, 2, 6> by_motion;
  for (const MeasuredPoint& point : points) {
    if (!PixelDerivatives(camera, point.p_C, &by_intrinsics, &by_motion)) continue;
    information += point.weight * by_motion.transpose() * by_motion;
    mixed += point.weight * by_motion.transpose() * by_intrinsics;
  }
  // Scaled to unit diagonal: radians and metres. Directions the points do not see are left at rest.
  const Eigen::Matrix<double, 6, 1> scale =
      information.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd inverse =
      ScaleBothSides(scale, PseudoInverse(ScaleBothSides(scale, information), 1e-12));
  return -(inverse * mixed);
}

std::vector<Eigen::Vector2d> ConvexHull(std::vector<Eigen::Vector2d> points) {
  const auto less = [](const Eigen::Vector2d& a, const Eigen::Vector2d& b) {
    return a.x() != b.x() ? a.x() < b.x() : a.y() < b.y();
  };
  std::sort(points.begin(), points.end(), less);
  points.erase(std::unique(points.begin(), points.end()), points.end());
  if (points.size() < 3) return points;
  std::vector<Eigen::Vector2d> hull;
  // Andrew's chain: once from the left, once from the right.
  for (int pass = 0; pass < 2; ++pass) {
    const std::size_t base = hull.size();
    for (const Eigen::Vector2d& q : points) {
      const auto turns_right = [&] {
        const Eigen::Vector2d a = hull.back() - hull[hull.size() - 2], b = q - hull.back();
        return a.x() * b.y() - a.y() * b.x() <= 0;
      };
      while (hull.size() >= base + 2 && turns_right()) hull.pop_back();
      hull.push_back(q);
    }
    hull.pop_back();
    std::reverse(points.begin(), points.end());
  }
  return hull;
}

bool InHull(const std::vector<Eigen::Vector2d>& hull, const Eigen::Vector2d& q) {
  if (hull.size() < 3) return false;
  for (std::size_t i = 0; i < hull.size(); ++i) {
    const Eigen::Vector2d a = hull[(i + 1) % hull.size()] - hull[i], b = q - hull[i];
    if (a.x() * b.y() - a.y() * b.x() < 0) return false;
  }
  return true;
}

UncertaintyMap MapUncertainty(const Camera& camera, const std::vector<MeasuredPoint>& points,
                              const Eigen::MatrixXd& cov_intrinsics, double distance, int columns,
                              int rows,
                              std::vector<Eigen::Matrix<double, 2, Eigen::Dynamic>>* derivatives) {
  UncertaintyMap map;
  map.columns = columns;
  map.rows = rows;
  map.distance = distance;
  std::vector<Eigen::Vector2d> pixels;
  pixels.reserve(points.size());
  for (const MeasuredPoint& point : points) pixels.push_back(point.q);
  const std::vector<Eigen::Vector2d> hull = ConvexHull(std::move(pixels));
  const auto implied = ImpliedMotion(camera, points);
  const bool infinite = !std::isfinite(distance);
  for (int j = 0; j < rows; ++j) {
    for (int i = 0; i < columns; ++i) {
      const Eigen::Vector2d q(
          columns > 1 ? (camera.width - 1.0) * i / (columns - 1) : (camera.width - 1) / 2.0,
          rows > 1 ? (camera.height - 1.0) * j / (rows - 1) : (camera.height - 1) / 2.0);
      Eigen::Matrix<double, 3, 2> dray_dq;
      const auto ray = Unproject(camera, q, &dray_dq);
      Eigen::Matrix<double, 2, Eigen::Dynamic> by_intrinsics;
      Eigen::Matrix<double, 2, 6> by_motion;
      const bool valid =
          ray && PixelDerivatives(camera, infinite ? *ray : Eigen::Vector3d(distance * *ray),
                                  &by_intrinsics, &by_motion);
      map.q.push_back(q);
      map.valid.push_back(valid);
      map.covered.push_back(valid && InHull(hull, q));
      Eigen::Matrix2d cov = Eigen::Matrix2d::Zero();
      double across = 0;
      if (valid) {
        if (infinite) by_motion.rightCols<3>().setZero();
        by_intrinsics += by_motion * implied;
        cov = Congruence(by_intrinsics, cov_intrinsics);
        const Eigen::Matrix3d cov_ray = dray_dq * cov * dray_dq.transpose();
        across = std::sqrt(std::max(
            0.0, Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(cov_ray, Eigen::EigenvaluesOnly)
                     .eigenvalues()(2)));
      } else {
        by_intrinsics.resize(2, 0);
      }
      const double worst =
          Eigen::SelfAdjointEigenSolver<Eigen::Matrix2d>(cov, Eigen::EigenvaluesOnly)
              .eigenvalues()(1);
      map.cov.push_back(cov);
      map.sd_pixel.push_back(std::sqrt(std::max(0.0, worst)));
      map.sd_across.push_back(infinite ? across : distance * across);
      if (derivatives) derivatives->push_back(by_intrinsics);
    }
  }
  return map;
}

Eigen::MatrixXd IntrinsicCovariance(const CalibrationResult& result, int camera) {
  const int n = IntrinsicCount(result.rig.cameras[camera].camera.model),
            at = FirstParameter(result.rig, camera);
  if (result.rig.covariance.rows() < at + n) return Eigen::MatrixXd::Zero(n, n);
  return result.rig.covariance.block(at, at, n, n);
}

double TypicalDistance(const std::vector<MeasuredPoint>& points) {
  if (points.empty()) return 0;
  std::vector<double> distances;
  distances.reserve(points.size());
  for (const MeasuredPoint& point : points) distances.push_back(point.p_C.norm());
  return Median(std::move(distances));
}

}  // namespace calibration

namespace {

using calibration::MeasuredPoint;

// Motion M of the second camera that makes its picture of the measured points most like the first
// one's.
Eigen::Isometry3d FitMotion(const Camera& first, const Camera& second,
                            const std::vector<MeasuredPoint>& points) {
  Eigen::Isometry3d M = Eigen::Isometry3d::Identity();
  const auto evaluate = [&](const Eigen::VectorXd&, bool) {
    SquaresAt at{true, 0, Eigen::MatrixXd::Zero(6, 6), Eigen::VectorXd::Zero(6)};
    for (const MeasuredPoint& point : points) {
      const auto q1 = Project(first, point.p_C);
      const Eigen::Vector3d moved = M * point.p_C;
      Eigen::Matrix<double, 2, Eigen::Dynamic> unused;
      Eigen::Matrix<double, 2, 6> by_motion;
      const auto q2 = Project(second, moved);
      if (!q1 || !q2 || !calibration::PixelDerivatives(second, moved, &unused, &by_motion))
        continue;
      at.information += point.weight * by_motion.transpose() * by_motion;
      at.gradient += point.weight * by_motion.transpose() * (*q2 - *q1);
    }
    return at;
  };
  const auto accept = [&](const Eigen::VectorXd& step) {
    Eigen::Isometry3d D = Eigen::Isometry3d::Identity();
    D.linear() = ExpSO3(step.head<3>());
    D.translation() = step.tail<3>();
    M = D * M;
  };
  MinimizeSquares({evaluate, accept}, 6, {.max_steps = 20, .damped = false, .small_step = 1e-9});
  return M;
}

// Chance that sum of weight_i chi_square_1 exceeds x: the saddlepoint approximation of Kuonen
// (Biometrika 86, 1999).
double WeightedChiSquareTail(const Eigen::VectorXd& weights, double x) {
  const double largest = weights.maxCoeff();
  if (!(largest > 0)) return x > 0 ? 0 : 1;
  if (x < 1e-6 * weights.sum()) return 1;
  // K'(t) = x has one root below 1 / (2 largest); K' rises from 0 to infinity.
  const auto slope = [&](double t) {
    return (weights.array() / (1 - 2 * t * weights.array())).sum();
  };
  double lower = -0.5 * static_cast<double>(weights.size()) / std::max(x, 1e-300),
         upper = 0.5 / largest;
  for (int k = 0; k < 200; ++k) {
    const double middle = 0.5 * (lower + upper);
    (slope(middle) < x ? lower : upper) = middle;
  }
  const double t = 0.5 * (lower + upper);
  const Eigen::ArrayXd factor = 1 - 2 * t * weights.array();
  const double curvature = 2 * (weights.array() / factor).square().sum();
  const double w = std::copysign(std::sqrt(std::max(0.0, 2 * (t * x + 0.5 * factor.log().sum()))),
                                 t),
               v = t * std::sqrt(curvature);
  if (std::abs(w) < 1e-4)
    return 1 - ChiSquareCdf(x * weights.sum() / weights.squaredNorm(),
                            weights.sum() * weights.sum() / weights.squaredNorm());
  return 1 - NormalCdf(w + std::log(v / w) / w);
}

}  // namespace

UncertaintyMap ProjectionUncertainty(const CalibrationResult& result, int camera, double distance,
                                     int columns, int rows) {
  return calibration::MapUncertainty(
      result.rig.cameras[camera].camera, calibration::MeasuredPoints(result, camera),
      calibration::IntrinsicCovariance(result, camera), distance, columns, rows, nullptr);
}

CrossValidation CompareHalves(const CalibrationResult& whole, const CalibrationResult& first,
                              const CalibrationResult& second, double distance) {
  CrossValidation out;
  const std::size_t n_cameras = whole.rig.cameras.size();
  for (const CalibrationResult* half : {&first, &second}) {
    if (half->usable() && half->rig.cameras.size() == n_cameras) continue;
    out.reason = "half of the shots does not determine the cameras" +
                 (half->reason.empty() ? "" : ": " + half->reason);
    return out;
  }
  for (std::size_t c = 0; c < n_cameras; ++c) {
    const int camera = static_cast<int>(c);
    const Camera &center = whole.rig.cameras[c].camera, &one = first.rig.cameras[c].camera,
                 &two = second.rig.cameras[c].camera;
    if (one.model != center.model || two.model != center.model)
      return out.reason = "the halves use other lens models", out;
    const auto points = calibration::MeasuredPoints(whole, camera);
    const double r = distance > 0 ? distance : calibration::TypicalDistance(points);
    const Eigen::MatrixXd cov = calibration::IntrinsicCovariance(first, camera) +
                                calibration::IntrinsicCovariance(second, camera);
    CrossValidation::PerCamera result;
    std::vector<Eigen::Matrix<double, 2, Eigen::Dynamic>> derivatives;
    result.map = calibration::MapUncertainty(center, points, cov, r, 25, 19, &derivatives);
    const Eigen::Isometry3d M = FitMotion(one, two, points);
    const int n = IntrinsicCount(center.model);
    Eigen::MatrixXd field = Eigen::MatrixXd::Zero(n, n);
    double squared = 0, predicted = 0;
    int count = 0;
    for (std::size_t k = 0; k < result.map.q.size(); ++k) {
      result.difference.push_back(Eigen::Vector2d::Zero());
      if (!result.map.valid[k]) continue;
      const Eigen::Vector3d ray = *Unproject(center, result.map.q[k]);
      const bool infinite = !std::isfinite(r);
      const auto q1 = Project(one, infinite ? ray : Eigen::Vector3d(r * ray));
      const auto q2 =
          Project(two, infinite ? Eigen::Vector3d(M.linear() * ray) : M * Eigen::Vector3d(r * ray));
      if (!q1 || !q2) {
        result.map.valid[k] = result.map.covered[k] = false;
        continue;
      }
      result.difference.back() = *q2 - *q1;
      if (!result.map.covered[k]) continue;
      ++count;
      squared += result.difference.back().squaredNorm();
      predicted += result.map.cov[k].trace();
      field += derivatives[k].transpose() * derivatives[k];
    }
    if (count > 0) {
      result.rms_difference = std::sqrt(squared / count);
      result.rms_predicted = std::sqrt(predicted / count);
      result.model_error = std::sqrt(std::max(0.0, squared - predicted) / (2 * count));
    }
    if (predicted > 0) {
      result.ratio = std::sqrt(squared / predicted);
      // The sum of squares is a sum of chi-squares weighted by the eigenvalues of root' field root,
      // cov = root root'.
      const SymmetricEigen eigen = EigenOf(cov);
      const Eigen::MatrixXd root =
          eigen.vectors * eigen.values.cwiseMax(0).cwiseSqrt().asDiagonal();
      const Eigen::MatrixXd along = root.transpose() * field * root;
      const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> weights(along, Eigen::EigenvaluesOnly);
      result.p = WeightedChiSquareTail(weights.eigenvalues(), squared);
    }
    out.cameras.push_back(std::move(result));
  }
  out.usable = true;
  return out;
}

}  // namespace impactlab
