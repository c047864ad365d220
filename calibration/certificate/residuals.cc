// Residuals by position in the image: histogram, field, radial profile, and a test for a pattern
// beyond noise.

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/camera/lens.h"
#include "calibration/certificate/detail/findings.h"
#include "calibration/solve/bundle.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

constexpr int kCellColumns = 8, kCellRows = 6, kRadialBins = 10, kHistogramBins = 40;
constexpr int kLeastPerCell = 6;

struct Point {
  int cell = 0;
  Eigen::Vector2d q, residual;
  double weight = 1;  // 1 / sd^2, relative
};

// Sum of weighted residuals of each cell, its derivative by the fitted parameters, and the
// covariance that the fit has removed.
struct FieldAccumulator {
  Eigen::VectorXd sum;         // 2 a cell
  Eigen::VectorXd weight;      // sum of weights, by cell
  Eigen::MatrixXd by_common;   // 2 cells x common parameters
  Eigen::MatrixXd cov_of_fit;  // from the poses' own freedom
  std::vector<int> count;
};

// Derivative of the residuals of one shot, summed by cell, by the pose of the board.
void AddShot(const CalibrationProblem& problem, const CalibrationResult& result, int camera,
             int shot, const std::vector<Point>& points,
             const std::vector<const PointResidual*>& residuals, FieldAccumulator* field) {
  const RigCamera& rig_camera = result.rig.cameras[camera];
  const ShotResult& solved = result.shots[shot];
  const int n = IntrinsicCount(rig_camera.camera.model), at = FirstParameter(result.rig, camera);
  const int rig_parameters = ParameterCount(result.rig);
  const bool with_common = field->by_common.cols() >= rig_parameters;
  const bool with_warp = field->by_common.cols() >= rig_parameters + 2;
  const Eigen::Vector2d half = (0.5 * Extent(problem.board)).cwiseMax(1e-300);
  const Eigen::VectorXd intrinsics = Intrinsics(rig_camera.camera);
  const Eigen::Matrix3d R_CW = rig_camera.X_WC.linear().transpose(), R_WG = solved.X_WG.linear();
  Eigen::MatrixXd by_pose = Eigen::MatrixXd::Zero(field->sum.size(), 6);
  for (std::size_t k = 0; k < points.size(); ++k) {
    Eigen::Vector3d p_G = PointOnBoard(problem.board, residuals[k]->id);
    const Eigen::Array2d u = p_G.head<2>().array() / half.array() - 1;
    const Eigen::Vector2d bend = 1 - u * u;
    p_G.z() += bend.dot(result.warp);
    const Eigen::Vector3d p_C = rig_camera.X_WC.inverse() * (solved.X_WG * p_G);
    Eigen::Vector2d q;
    Eigen::Matrix<double, 2, 3, Eigen::RowMajor> by_C;
    calibration::IntrinsicDerivative by_intrinsics = calibration::IntrinsicDerivative::Zero();
    if (!calibration::ProjectLens(rig_camera.camera.model, intrinsics.data(), p_C, &q, &by_C,
                                  &by_intrinsics))
      continue;
    const double w = points[k].weight;
    const int row = 2 * points[k].cell;
    const Eigen::Matrix<double, 2, 3> by_W = by_C * R_CW;
    by_pose.block<2, 3>(row, 0) -= w * by_W * R_WG * CrossMatrix(p_G);
    by_pose.block<2, 3>(row, 3) += w * by_W;
    if (!with_common) continue;
    field->by_common.block(row, at, 2, n) += w * by_intrinsics.leftCols(n);
    field->by_common.block<2, 3>(row, at + n) += w * by_C * CrossMatrix(p_C);
    field->by_common.block<2, 3>(row, at + n + 3) -= w * by_W;
    if (with_warp)
      field->by_common.block<2, 2>(row, rig_parameters) +=
          w * (by_W * R_WG).col(2) * bend.transpose();
  }
  field->cov_of_fit += by_pose * solved.cov_given_common * by_pose.transpose();
  if (with_common && solved.dpose_dcommon.cols() == field->by_common.cols())
    field->by_common += by_pose * solved.dpose_dcommon;
}

void TestStructure(const FieldAccumulator& field, const Eigen::MatrixXd& cov_common, double sigma,
                   double dispersion, ResidualStatistics* out) {
  std::vector<int> rows;
  for (int cell = 0; cell < static_cast<int>(field.count.size()); ++cell)
    if (field.count[cell] >= kLeastPerCell) rows.insert(rows.end(), {2 * cell, 2 * cell + 1});
  const int n = static_cast<int>(rows.size());
  if (n == 0 || !(sigma > 0)) return;
  Eigen::MatrixXd removed = field.cov_of_fit;
  if (cov_common.rows() == field.by_common.cols())
    removed += field.by_common * cov_common * field.by_common.transpose();
  // In units of the noise of each sum: identity minus the part removed by the fit.
  Eigen::VectorXd z(n);
  Eigen::MatrixXd cov(n, n);
  for (int i = 0; i < n; ++i) {
    const double scale_i = sigma * std::sqrt(field.weight(rows[i] / 2));
    z(i) = field.sum(rows[i]) / scale_i;
    for (int j = 0; j < n; ++j)
      cov(i, j) = (i == j) - removed(rows[i], rows[j]) /
                                 (scale_i * sigma * std::sqrt(field.weight(rows[j] / 2)));
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(cov);
  for (int i = 0; i < n; ++i) {
    // a pattern that the fit removes almost completely carries no information
    if (eigen.eigenvalues()(i) < 0.1) continue;
    const double along = eigen.eigenvectors().col(i).dot(z);
    out->structure_chi_square += along * along / (eigen.eigenvalues()(i) * dispersion);
    ++out->structure_dof;
  }
  if (out->structure_dof > 0)
    out->structure_p = 1 - ChiSquareCdf(out->structure_chi_square, out->structure_dof);
  double excess = 0, weights = 0;
  for (int i = 0; i < n; ++i) {
    excess += sigma * sigma * (z(i) * z(i) - dispersion * cov(i, i));
    if (i % 2 == 0) weights += field.weight(rows[i] / 2);
  }
  out->structure = std::sqrt(std::max(0.0, excess / weights));
}

// Points of one shot in one cell may err together (blur, a dent in the board): variance of the
// shots' means about the cell's mean over that of independent points, 1 at least.
double Dispersion(const std::vector<std::vector<Point>>& shots, const FieldAccumulator& field,
                  double sigma) {
  double chi_square = 0;
  int dof = 0;
  std::vector<int> shots_in_cell(field.count.size(), 0);
  for (const auto& points : shots) {
    Eigen::VectorXd sum = Eigen::VectorXd::Zero(field.sum.size()),
                    weight = Eigen::VectorXd::Zero(field.weight.size());
    for (const Point& p : points)
      sum.segment<2>(2 * p.cell) += p.weight * p.residual, weight(p.cell) += p.weight;
    for (int cell = 0; cell < weight.size(); ++cell) {
      if (weight(cell) == 0) continue;
      const Eigen::Vector2d mean = sum.segment<2>(2 * cell) / weight(cell),
                            all = field.sum.segment<2>(2 * cell) / field.weight(cell);
      chi_square += weight(cell) * (mean - all).squaredNorm() / (sigma * sigma);
      ++shots_in_cell[cell];
    }
  }
  for (int n : shots_in_cell) dof += 2 * std::max(0, n - 1);
  return dof > 0 ? std::max(1.0, chi_square / dof) : 1;
}

void FillRadial(const std::vector<std::vector<Point>>& shots, const Camera& camera, double sigma,
                double dispersion, ResidualStatistics* out) {
  const Eigen::Vector2d centre(camera.cx, camera.cy);
  double largest = 0;
  for (const auto& points : shots)
    for (const Point& p : points) largest = std::max(largest, (p.q - centre).norm());
  if (!(largest > 0)) return;
  std::vector<double> weights(kRadialBins, 0);
  out->radial.resize(kRadialBins);
  for (int b = 0; b < kRadialBins; ++b) {
    out->radial[b].radius_lower = largest * b / kRadialBins;
    out->radial[b].radius_upper = largest * (b + 1) / kRadialBins;
  }
  for (const auto& points : shots) {
    for (const Point& p : points) {
      const Eigen::Vector2d arm = p.q - centre;
      const double radius = arm.norm();
      if (!(radius > 0)) continue;
      const int b = std::min(kRadialBins - 1, static_cast<int>(kRadialBins * radius / largest));
      out->radial[b].mean += p.weight * arm.dot(p.residual) / radius;
      out->radial[b].mean_across +=
          p.weight * (arm.x() * p.residual.y() - arm.y() * p.residual.x()) / radius;
      weights[b] += p.weight;
      ++out->radial[b].n;
    }
  }
  for (int b = 0; b < kRadialBins; ++b) {
    if (weights[b] == 0) continue;
    out->radial[b].mean /= weights[b];
    out->radial[b].mean_across /= weights[b];
    out->radial[b].se = sigma * std::sqrt(dispersion / weights[b]);
  }
}

}  // namespace

ResidualStatistics SummariseResiduals(const CalibrationProblem& problem,
                                      const CalibrationResult& result, int camera) {
  ResidualStatistics out;
  out.cell_columns = kCellColumns;
  out.cell_rows = kCellRows;
  out.histogram.assign(kHistogramBins, 0);
  out.sigma = camera < static_cast<int>(result.sigma.size()) ? result.sigma[camera] : 0;
  const Camera& lens = result.rig.cameras[camera].camera;

  FieldAccumulator field;
  field.sum = Eigen::VectorXd::Zero(2 * kCellColumns * kCellRows);
  field.weight = Eigen::VectorXd::Zero(kCellColumns * kCellRows);
  field.count.assign(kCellColumns * kCellRows, 0);
  field.by_common = Eigen::MatrixXd::Zero(field.sum.size(), result.cov_common.rows());
  field.cov_of_fit = Eigen::MatrixXd::Zero(field.sum.size(), field.sum.size());
  std::vector<std::vector<Point>> shots;
  double squared = 0;
  for (std::size_t s = 0; s < result.shots.size(); ++s) {
    const ShotResult& shot = result.shots[s];
    out.shot_rms.push_back(std::numeric_limits<double>::quiet_NaN());
    if (!shot.used || camera >= static_cast<int>(shot.views.size())) continue;
    const ViewResult& view = shot.views[camera];
    if (view.points.empty() || !view.rejected.empty()) continue;
    out.shot_rms.back() = view.rms;
    std::vector<Point> points;
    std::vector<const PointResidual*> residuals;
    for (const PointResidual& r : view.points) {
      if (r.outlier || !r.residual.allFinite()) {
        ++out.n_outliers;
        continue;
      }
      Point p;
      p.q = r.q;
      p.residual = r.residual;
      p.weight = 1 / (r.sd * r.sd);
      const int i = std::clamp(static_cast<int>((r.q.x() + 0.5) / lens.width * kCellColumns), 0,
                               kCellColumns - 1);
      const int j =
          std::clamp(static_cast<int>((r.q.y() + 0.5) / lens.height * kCellRows), 0, kCellRows - 1);
      p.cell = j * kCellColumns + i;
      field.sum.segment<2>(2 * p.cell) += p.weight * p.residual;
      field.weight(p.cell) += p.weight;
      ++field.count[p.cell];
      ++out.n;
      squared += r.residual.squaredNorm();
      if (out.sigma > 0) {
        for (int k = 0; k < 2; ++k) {
          const double z = r.residual(k) / (r.sd * out.sigma);
          const double bin = (z - out.histogram_lower) /
                             (out.histogram_upper - out.histogram_lower) * kHistogramBins;
          ++out.histogram[static_cast<int>(std::clamp(bin, 0.0, kHistogramBins - 1.0))];
        }
      }
      points.push_back(p);
      residuals.push_back(&r);
    }
    AddShot(problem, result, camera, static_cast<int>(s), points, residuals, &field);
    shots.push_back(std::move(points));
  }
  if (out.n == 0) return out;
  out.rms = std::sqrt(squared / out.n);
  const double dispersion = out.sigma > 0 ? Dispersion(shots, field, out.sigma) : 1;
  for (int cell = 0; cell < kCellColumns * kCellRows; ++cell) {
    ResidualCell c;
    const int column = cell % kCellColumns, row = cell / kCellColumns;
    c.centre << (column + 0.5) * lens.width / kCellColumns - 0.5,
        (row + 0.5) * lens.height / kCellRows - 0.5;
    c.n = field.count[cell];
    if (c.n > 0) {
      c.mean = field.sum.segment<2>(2 * cell) / field.weight(cell);
      c.se = out.sigma * std::sqrt(dispersion / field.weight(cell));
    }
    out.cells.push_back(c);
  }
  TestStructure(field, result.cov_common, out.sigma, dispersion, &out);
  FillRadial(shots, lens, out.sigma, dispersion, &out);
  return out;
}

}  // namespace impactlab
