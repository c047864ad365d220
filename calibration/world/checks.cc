// Checks a rig can be put to: known lengths and rigid moves.

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>

#include "calibration/camera/rotation.h"
#include "calibration/world/detail/constraints.h"
#include "calibration/world/world.h"
#include "data/base/error.h"

namespace impactlab {
namespace {

using calibration::RigPoint;
using calibration::Skew;

void SetInterval(double ratio, double sd, double* lower, double* upper) {
  *lower = ratio - 1.959963984540054 * sd;
  *upper = ratio + 1.959963984540054 * sd;
}

}  // namespace

ScaleCheck CheckScale(const CameraRig& rig, const std::vector<KnownLength>& lengths) {
  ScaleCheck out;
  const Eigen::MatrixXd C = calibration::RigCovariance(rig);
  // An end that several lengths share is measured once.
  std::vector<const std::vector<PixelObservation>*> seen;
  std::vector<RigPoint> ends;
  const auto end = [&](const std::vector<PixelObservation>& observations) {
    const auto same = [&](const std::vector<PixelObservation>* other) {
      if (other->size() != observations.size()) return false;
      for (std::size_t k = 0; k < observations.size(); ++k)
        if ((*other)[k].camera != observations[k].camera || (*other)[k].q != observations[k].q)
          return false;
      return true;
    };
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (same(seen[i])) return static_cast<int>(i);
    seen.push_back(&observations);
    ends.push_back(calibration::MeasurePoint(rig, observations));
    return static_cast<int>(ends.size()) - 1;
  };
  struct Row {
    int from, to, result;
    Eigen::RowVector3d along;  // of d length by the far end
  };
  std::vector<Row> rows;
  for (const KnownLength& known : lengths) {
    LengthResult result;
    result.name = known.name;
    const int from = end(known.from), to = end(known.to);
    if (!(known.length > 0) || !(known.sd >= 0)) {
      result.problem = "the known length is not above 0";
    } else if (!ends[from].problem.empty()) {
      result.problem = "first end: " + ends[from].problem;
    } else if (!ends[to].problem.empty()) {
      result.problem = "second end: " + ends[to].problem;
    } else if (from == to) {
      result.problem = "both ends are the same image points";
    } else {
      const Eigen::Vector3d arm = ends[to].p_W - ends[from].p_W;
      const Eigen::RowVector3d along = arm.normalized().transpose();
      const Eigen::Matrix3d cov = ends[to].cov_pixels + ends[from].cov_pixels;
      // A distance between noisy points is too long by the noise across it: E|d| = L +
      // trace(across) / (2 L).
      result.measured = arm.norm() - (cov.trace() - along.dot(along * cov)) / (2 * arm.norm());
      rows.push_back({from, to, static_cast<int>(out.lengths.size()), along});
    }
    out.lengths.push_back(result);
  }
  const int n = static_cast<int>(rows.size());
  if (n == 0) {
    out.verdict = "no known length could be measured";
    return out;
  }
  Eigen::MatrixXd cov(n, n);
  std::vector<Eigen::RowVectorXd> by_rig;
  for (const Row& row : rows)
    by_rig.push_back(row.along * (ends[row.to].dp_drig - ends[row.from].dp_drig));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      double shared = by_rig[i] * C * by_rig[j].transpose();
      for (const auto& [point_i, sign_i] :
           {std::pair{rows[i].from, -1.0}, std::pair{rows[i].to, 1.0}})
        for (const auto& [point_j, sign_j] :
             {std::pair{rows[j].from, -1.0}, std::pair{rows[j].to, 1.0}})
          if (point_i == point_j)
            shared += sign_i * sign_j * rows[i].along.dot(rows[j].along * ends[point_i].cov_pixels);
      cov(i, j) = shared / (lengths[rows[i].result].length * lengths[rows[j].result].length);
    }
    LengthResult& result = out.lengths[rows[i].result];
    const KnownLength& known = lengths[rows[i].result];
    result.sd_measured = std::sqrt(cov(i, i)) * known.length;
    result.ratio = result.measured / known.length;
    cov(i, i) += std::pow(result.ratio * known.sd / known.length, 2);
    result.sd = std::sqrt(cov(i, i));
    SetInterval(result.ratio, result.sd, &result.lower95, &result.upper95);
    result.consistent = result.lower95 <= 1 && 1 <= result.upper95;
  }
  Eigen::VectorXd minus(n);
  for (int i = 0; i < n; ++i) minus(i) = -out.lengths[rows[i].result].ratio;
  // lengths that follow from each other (a closed triangle of a line) stay solvable
  cov.diagonal() *= 1 + 1e-9;
  const calibration::LinearFit fit =
      calibration::SolveLinear(minus, Eigen::MatrixXd::Ones(n, 1), cov);
  if (!fit.determined) {
    out.verdict = "the lengths have no common ratio: their covariance is singular";
    return out;
  }
  out.usable = true;
  out.ratio = fit.step(0);
  out.sd = std::sqrt(fit.cov(0, 0));
  SetInterval(out.ratio, out.sd, &out.lower95, &out.upper95);
  out.chi_square = fit.chi_square;
  out.dof = n - 1;
  out.p = calibration::TailProbability(out.chi_square, out.dof);
  out.consistent = out.lower95 <= 1 && 1 <= out.upper95;
  const std::string figures = fmt::format(
      "measured over known is {:.5f} +- {:.5f} (one standard deviation)", out.ratio, out.sd);
  if (out.p < 1e-3) {
    out.verdict = fmt::format(
        "the lengths do not agree on one scale ({}): an end was mistaken, a length is wrong, or "
        "the lens model is",
        figures);
  } else if (out.consistent) {
    out.verdict = "lengths come out right: " + figures;
  } else {
    out.verdict = fmt::format(
        "lengths come out {:.2f} % too {}: {}. Most often the side of the square given for the "
        "calibration is that much too {}",
        100 * std::abs(out.ratio - 1), out.ratio > 1 ? "long" : "short", figures,
        out.ratio > 1 ? "large" : "small");
  }
  return out;
}

RigidityCheck CheckRigidity(const CameraRig& rig,
                            const std::vector<std::vector<PixelObservation>>& before,
                            const std::vector<std::vector<PixelObservation>>& after,
                            const RigidityOptions& options) {
  RigidityCheck out;
  const auto refuse = [&](std::string reason) {
    out.reason = std::move(reason);
    out.verdict = "rigidity was not checked: " + out.reason;
    return out;
  };
  if (before.size() != after.size())
    throw ConfigError(
        fmt::format("rigidity: {} points before, {} after; they must be the same points",
                    before.size(), after.size()));
  const bool planar = options.plane_z.has_value();
  const int dims = planar ? 2 : 3, motions = planar ? 3 : 6;
  std::vector<RigPoint> one, two;
  std::vector<int> used;
  std::vector<Eigen::Vector3d> from, to;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].empty() || after[i].empty()) continue;
    RigPoint a = planar ? calibration::MeasureOnPlane(rig, before[i].front(), *options.plane_z)
                        : calibration::MeasurePoint(rig, before[i]);
    RigPoint b = planar ? calibration::MeasureOnPlane(rig, after[i].front(), *options.plane_z)
                        : calibration::MeasurePoint(rig, after[i]);
    if (!a.problem.empty() || !b.problem.empty()) continue;
    used.push_back(static_cast<int>(i));
    from.push_back(a.p_W);
    to.push_back(b.p_W);
    one.push_back(std::move(a));
    two.push_back(std::move(b));
  }
  const int n = static_cast<int>(used.size());
  if (dims * n <= motions)
    return refuse(fmt::format("{} of {} points were measured before and after", n, before.size()));
  if (!(calibration::Width(from) > 0)) return refuse("the points lie on one line");

  const Eigen::MatrixXd C = calibration::RigCovariance(rig);
  Eigen::Isometry3d X = calibration::Align(from, to);
  if (planar) {
    // Both sets lie in the plane: the rotation is one about z already.
    X.linear() = calibration::RotationFromVector(
        Eigen::Vector3d(0, 0, calibration::VectorFromRotation(X.linear()).z()));
    X.translation().z() = 0;
  }
  std::vector<Eigen::Matrix3d> own;
  std::vector<Eigen::MatrixXd> by_rig;
  for (int k = 0; k < n; ++k) {
    own.push_back(two[k].cov_pixels + X.linear() * one[k].cov_pixels * X.linear().transpose());
    by_rig.push_back(two[k].dp_drig - X.linear() * one[k].dp_drig);
  }
  Eigen::MatrixXd D;
  const Eigen::MatrixXd S = calibration::StackedCovariance(own, by_rig, C, dims, &D);
  Eigen::VectorXd e(dims * n);
  Eigen::MatrixXd J(dims * n, motions);
  calibration::LinearFit fit;
  for (int iteration = 0; iteration <= 20; ++iteration) {
    for (int k = 0; k < n; ++k) {
      e.segment(dims * k, dims) = (to[k] - X * from[k]).head(dims);
      const Eigen::Matrix3d turn = X.linear() * Skew(from[k]);
      J.block(dims * k, 0, dims, dims) = -Eigen::MatrixXd::Identity(dims, dims);
      if (planar) {
        J.block<2, 1>(2 * k, 2) = turn.block<2, 1>(0, 2);
      } else {
        J.block<3, 3>(3 * k, 3) = turn;
      }
    }
    fit = calibration::SolveLinear(e, J, S);
    if (!fit.determined) return refuse("the points do not determine the motion");
    if (iteration == 20 || fit.step.norm() < 1e-12) break;
    const Eigen::Vector3d turn =
        planar ? Eigen::Vector3d(0, 0, fit.step(2)) : Eigen::Vector3d(fit.step.tail<3>());
    X.linear() = X.linear() * calibration::RotationFromVector(turn);
    X.translation().head(dims) += fit.step.head(dims);
  }
  out.motion = X;
  out.residual.assign(before.size(), Eigen::Vector3d::Zero());
  for (int k = 0; k < n; ++k) out.residual[used[k]].head(dims) = e.segment(dims * k, dims);
  out.rms = std::sqrt(e.squaredNorm() / n);
  out.expected_rms = std::sqrt(std::max(0.0, (S - J * fit.cov * J.transpose()).trace()) / n);
  out.chi_square = fit.chi_square;
  out.dof = dims * n - motions;
  out.p = calibration::TailProbability(out.chi_square, out.dof);

  // Linear and quadratic fields over the two widest directions of the points, beside the motion.
  Eigen::Vector3d mean = Eigen::Vector3d::Zero();
  for (const auto& p : from) mean += p / n;
  Eigen::Matrix3d moment = Eigen::Matrix3d::Zero();
  for (const auto& p : from) moment += (p - mean) * (p - mean).transpose() / n;
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> axes(moment);
  std::vector<Eigen::VectorXd> columns;
  for (int d = 0; d < dims; ++d) {
    for (int term = 0; term < 5; ++term) {
      Eigen::VectorXd column = Eigen::VectorXd::Zero(dims * n);
      for (int k = 0; k < n; ++k) {
        const double u =
            axes.eigenvectors().col(2).dot(from[k] - mean) / std::sqrt(axes.eigenvalues()(2));
        const double v = axes.eigenvectors().col(1).dot(from[k] - mean) /
                         std::sqrt(std::max(1e-300, axes.eigenvalues()(1)));
        column(dims * k + d) = term == 0   ? u
                               : term == 1 ? v
                               : term == 2 ? u * u - 1
                               : term == 3 ? u * v
                                           : v * v - 1;
      }
      columns.push_back(column);
    }
  }
  if (n >= 10) {
    // A field the motion makes already (a turn is linear) is dropped; the rest is what noise must
    // explain.
    Eigen::MatrixXd basis = J;
    for (const Eigen::VectorXd& column : columns) {
      const Eigen::VectorXd rest = column - basis * basis.colPivHouseholderQr().solve(column);
      if (rest.norm() < 1e-3 * column.norm()) continue;
      basis.conservativeResize(Eigen::NoChange, basis.cols() + 1);
      basis.rightCols<1>() = column;
    }
    const calibration::LinearFit smooth = calibration::SolveLinear(e, basis, S);
    if (smooth.determined) {
      out.smooth_dof = static_cast<int>(basis.cols() - motions);
      out.smooth_chi_square = std::max(0.0, fit.chi_square - smooth.chi_square);
      out.smooth_p = calibration::TailProbability(out.smooth_chi_square, out.smooth_dof);
      const Eigen::VectorXd field =
          basis.rightCols(out.smooth_dof) * smooth.step.tail(out.smooth_dof);
      out.smooth_rms = std::sqrt(field.squaredNorm() / n);
    }
  }
  out.usable = true;
  out.rigid = std::min(out.p, out.smooth_p) >= options.significance;
  if (out.rigid) {
    out.verdict =
        fmt::format("a rigid move comes out rigid: {:.3g} mm rms are left, {:.3g} mm are expected",
                    1e3 * out.rms, 1e3 * out.expected_rms);
  } else {
    out.model_error =
        std::max(std::sqrt(std::max(0.0, out.rms * out.rms - out.expected_rms * out.expected_rms)),
                 out.smooth_p < options.significance ? out.smooth_rms : 0.0);
    out.verdict = fmt::format(
        "a rigid move comes out bent: {:.3g} mm rms are left, {:.3g} mm are expected. The lens "
        "model is wrong (or the body is not "
        "rigid, or points were mistaken): about {:.3g} mm",
        1e3 * out.rms, 1e3 * out.expected_rms, 1e3 * out.model_error);
  }
  return out;
}

}  // namespace impactlab
