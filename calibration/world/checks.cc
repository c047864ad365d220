// Checks a rig can be put to: known lengths and rigid moves.

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "calibration/world/detail/constraints.h"
#include "calibration/world/world.h"
#include "data/base/error.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"

namespace impactlab {
namespace {

using calibration::RigPoint;

void SetInterval(double ratio, double sd, double* lower, double* upper) {
  *lower = ratio - kNormal95 * sd;
  *upper = ratio + kNormal95 * sd;
}

// The ends of known lengths; an end that several lengths share is measured once.
class LengthEnds {
 public:
  explicit LengthEnds(const CameraRig& rig) : rig_(rig) {}

  int Measure(const std::vector<PixelObservation>& observations) {
    for (std::size_t i = 0; i < seen_.size(); ++i)
      if (SameImages(*seen_[i], observations)) return static_cast<int>(i);
    seen_.push_back(&observations);
    points_.push_back(calibration::MeasurePoint(rig_, observations));
    return static_cast<int>(points_.size()) - 1;
  }
  const RigPoint& operator[](int end) const { return points_[end]; }

 private:
  static bool SameImages(const std::vector<PixelObservation>& a,
                         const std::vector<PixelObservation>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t k = 0; k < b.size(); ++k)
      if (a[k].camera != b[k].camera || a[k].q != b[k].q) return false;
    return true;
  }

  const CameraRig& rig_;
  std::vector<const std::vector<PixelObservation>*> seen_;
  std::vector<RigPoint> points_;
};

struct MeasuredLength {
  int from, to, result;
  Eigen::RowVector3d along;  // derivative of the length by its far end
};

// Fills `result`; nothing where the length cannot be measured.
std::optional<MeasuredLength> MeasureLength(const KnownLength& known, LengthEnds* ends,
                                            LengthResult* result) {
  result->name = known.name;
  const int from = ends->Measure(known.from), to = ends->Measure(known.to);
  const RigPoint &a = (*ends)[from], &b = (*ends)[to];
  if (!(known.length > 0) || !(known.sd >= 0))
    result->problem = "the known length is not above 0";
  else if (!a.problem.empty())
    result->problem = "first end: " + a.problem;
  else if (!b.problem.empty())
    result->problem = "second end: " + b.problem;
  else if (from == to)
    result->problem = "both ends are the same image points";
  if (!result->problem.empty()) return std::nullopt;
  const Eigen::Vector3d arm = b.p_W - a.p_W;
  const Eigen::RowVector3d along = arm.normalized().transpose();
  const Eigen::Matrix3d cov = b.cov_pixels + a.cov_pixels;
  // The distance between noisy points is biased by the noise across it: E|d| = L + trace(across) /
  // (2 L).
  result->measured = arm.norm() - (cov.trace() - along.dot(along * cov)) / (2 * arm.norm());
  return MeasuredLength{from, to, 0, along};
}

// Covariance of the ratios measured / known; fills ratios and intervals.
Eigen::MatrixXd RatioCovariance(const std::vector<KnownLength>& lengths,
                                const std::vector<MeasuredLength>& rows, const LengthEnds& ends,
                                const Eigen::MatrixXd& C, std::vector<LengthResult>* results) {
  const int n = static_cast<int>(rows.size());
  Eigen::MatrixXd cov(n, n);
  std::vector<Eigen::RowVectorXd> by_rig;
  by_rig.reserve(rows.size());
  for (const MeasuredLength& row : rows)
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
    LengthResult& result = (*results)[rows[i].result];
    const KnownLength& known = lengths[rows[i].result];
    result.sd_measured = std::sqrt(cov(i, i)) * known.length;
    result.ratio = result.measured / known.length;
    cov(i, i) += std::pow(result.ratio * known.sd / known.length, 2);
    result.sd = std::sqrt(cov(i, i));
    SetInterval(result.ratio, result.sd, &result.lower95, &result.upper95);
    result.consistent = result.lower95 <= 1 && 1 <= result.upper95;
  }
  return cov;
}

std::string ScaleVerdict(const ScaleCheck& check) {
  const std::string figures = fmt::format(
      "measured over known is {:.5f} +- {:.5f} (one standard deviation)", check.ratio, check.sd);
  if (check.p < 1e-3)
    return fmt::format(
        "the lengths do not agree on one scale ({}): an end was mistaken, a length is wrong, or "
        "the lens model is",
        figures);
  if (check.consistent) return "lengths come out right: " + figures;
  return fmt::format(
      "lengths come out {:.2f} % too {}: {}. Most often the side of the square given for the "
      "calibration is that much too {}",
      100 * std::abs(check.ratio - 1), check.ratio > 1 ? "long" : "short", figures,
      check.ratio > 1 ? "large" : "small");
}

}  // namespace

ScaleCheck CheckScale(const CameraRig& rig, const std::vector<KnownLength>& lengths) {
  ScaleCheck out;
  LengthEnds ends(rig);
  std::vector<MeasuredLength> rows;
  for (const KnownLength& known : lengths) {
    LengthResult result;
    if (auto row = MeasureLength(known, &ends, &result)) {
      row->result = static_cast<int>(out.lengths.size());
      rows.push_back(*row);
    }
    out.lengths.push_back(result);
  }
  const int n = static_cast<int>(rows.size());
  if (n == 0) {
    out.verdict = "no known length could be measured";
    return out;
  }
  Eigen::MatrixXd cov =
      RatioCovariance(lengths, rows, ends, calibration::RigCovariance(rig), &out.lengths);
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
  out.verdict = ScaleVerdict(out);
  return out;
}

namespace {

// The points that were measured before and after a move.
struct MovedPoints {
  std::vector<RigPoint> one, two;
  std::vector<int> used;  // places in the lists given
  std::vector<Eigen::Vector3d> from, to;
  int n() const { return static_cast<int>(used.size()); }
};

MovedPoints MeasureMoved(const CameraRig& rig,
                         const std::vector<std::vector<PixelObservation>>& before,
                         const std::vector<std::vector<PixelObservation>>& after,
                         const std::optional<double>& plane_z) {
  MovedPoints out;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].empty() || after[i].empty()) continue;
    RigPoint a = plane_z ? calibration::MeasureOnPlane(rig, before[i].front(), *plane_z)
                         : calibration::MeasurePoint(rig, before[i]);
    RigPoint b = plane_z ? calibration::MeasureOnPlane(rig, after[i].front(), *plane_z)
                         : calibration::MeasurePoint(rig, after[i]);
    if (!a.problem.empty() || !b.problem.empty()) continue;
    out.used.push_back(static_cast<int>(i));
    out.from.push_back(a.p_W);
    out.to.push_back(b.p_W);
    out.one.push_back(std::move(a));
    out.two.push_back(std::move(b));
  }
  return out;
}

// The rigid motion of the points by generalised least squares.
struct RigidFit {
  Eigen::Isometry3d X;
  Eigen::MatrixXd S, J;  // covariance of the residuals, their derivatives by the motion
  Eigen::VectorXd e;
  calibration::LinearFit fit;
};

RigidFit FitRigidMotion(const MovedPoints& points, const Eigen::MatrixXd& C, bool planar) {
  const int dims = planar ? 2 : 3, motions = planar ? 3 : 6, n = points.n();
  RigidFit out;
  Eigen::Isometry3d& X = out.X;
  X = calibration::Align(points.from, points.to);
  if (planar) {
    // Both sets lie in the plane: the rotation is one about z already.
    X.linear() = ExpSO3(Eigen::Vector3d(0, 0, LogSO3(X.linear()).z()));
    X.translation().z() = 0;
  }
  std::vector<Eigen::Matrix3d> own;
  std::vector<Eigen::MatrixXd> by_rig;
  for (int k = 0; k < n; ++k) {
    own.push_back(points.two[k].cov_pixels +
                  X.linear() * points.one[k].cov_pixels * X.linear().transpose());
    by_rig.push_back(points.two[k].dp_drig - X.linear() * points.one[k].dp_drig);
  }
  Eigen::MatrixXd D;
  out.S = calibration::StackedCovariance(own, by_rig, C, dims, &D);
  const auto linearise = [&](Eigen::VectorXd* e, Eigen::MatrixXd* J) {
    e->resize(dims * n);
    J->resize(dims * n, motions);
    for (int k = 0; k < n; ++k) {
      e->segment(dims * k, dims) = (points.to[k] - X * points.from[k]).head(dims);
      const Eigen::Matrix3d turn = X.linear() * CrossMatrix(points.from[k]);
      J->block(dims * k, 0, dims, dims) = -Eigen::MatrixXd::Identity(dims, dims);
      if (planar) {
        J->block<2, 1>(2 * k, 2) = turn.block<2, 1>(0, 2);
      } else {
        J->block<3, 3>(3 * k, 3) = turn;
      }
    }
    out.e = *e, out.J = *J;
  };
  out.fit = calibration::FitByLinearSteps(linearise, out.S, [&](const Eigen::VectorXd& step) {
    const Eigen::Vector3d turn =
        planar ? Eigen::Vector3d(0, 0, step(2)) : Eigen::Vector3d(step.tail<3>());
    X.linear() = X.linear() * ExpSO3(turn);
    X.translation().head(dims) += step.head(dims);
  });
  return out;
}

// Linear and quadratic fields over the two widest directions of the points, in each coordinate.
std::vector<Eigen::VectorXd> SmoothFields(const std::vector<Eigen::Vector3d>& from, int dims) {
  const int n = static_cast<int>(from.size());
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
  return columns;
}

// Tests the smooth part of the residuals. A field that the motion contains already (a rotation is
// linear) is dropped.
void TestSmoothFields(const RigidFit& rigid, const std::vector<Eigen::VectorXd>& columns, int n,
                      RigidityCheck* out) {
  Eigen::MatrixXd basis = rigid.J;
  for (const Eigen::VectorXd& column : columns) {
    const Eigen::VectorXd rest = column - basis * basis.colPivHouseholderQr().solve(column);
    if (rest.norm() < 1e-3 * column.norm()) continue;
    basis.conservativeResize(Eigen::NoChange, basis.cols() + 1);
    basis.rightCols<1>() = column;
  }
  const calibration::LinearFit smooth = calibration::SolveLinear(rigid.e, basis, rigid.S);
  if (!smooth.determined) return;
  out->smooth_dof = static_cast<int>(basis.cols() - rigid.J.cols());
  out->smooth_chi_square = std::max(0.0, rigid.fit.chi_square - smooth.chi_square);
  out->smooth_p = calibration::TailProbability(out->smooth_chi_square, out->smooth_dof);
  const Eigen::VectorXd field =
      basis.rightCols(out->smooth_dof) * smooth.step.tail(out->smooth_dof);
  out->smooth_rms = std::sqrt(field.squaredNorm() / n);
}

}  // namespace

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
  const MovedPoints points = MeasureMoved(rig, before, after, options.plane_z);
  const int n = points.n();
  if (dims * n <= motions)
    return refuse(fmt::format("{} of {} points were measured before and after", n, before.size()));
  if (!(calibration::Width(points.from) > 0)) return refuse("the points lie on one line");
  const RigidFit rigid = FitRigidMotion(points, calibration::RigCovariance(rig), planar);
  if (!rigid.fit.determined) return refuse("the points do not determine the motion");
  const Eigen::VectorXd& e = rigid.e;
  out.motion = rigid.X;
  out.residual.assign(before.size(), Eigen::Vector3d::Zero());
  for (int k = 0; k < n; ++k) out.residual[points.used[k]].head(dims) = e.segment(dims * k, dims);
  out.rms = std::sqrt(e.squaredNorm() / n);
  out.expected_rms = std::sqrt(
      std::max(0.0, (rigid.S - rigid.J * rigid.fit.cov * rigid.J.transpose()).trace()) / n);
  out.chi_square = rigid.fit.chi_square;
  out.dof = dims * n - motions;
  out.p = calibration::TailProbability(out.chi_square, out.dof);
  if (n >= 10) TestSmoothFields(rigid, SmoothFields(points.from, dims), n, &out);
  out.usable = true;
  out.rigid = std::min(out.p, out.smooth_p) >= options.significance;
  if (out.rigid) {
    out.verdict = fmt::format(
        "a rigid move is measured as rigid: {:.3g} mm rms remain, {:.3g} mm are expected",
        1e3 * out.rms, 1e3 * out.expected_rms);
  } else {
    out.model_error =
        std::max(std::sqrt(std::max(0.0, out.rms * out.rms - out.expected_rms * out.expected_rms)),
                 out.smooth_p < options.significance ? out.smooth_rms : 0.0);
    out.verdict = fmt::format(
        "a rigid move is measured as a deformation: {:.3g} mm rms remain, {:.3g} mm are expected. "
        "The lens model is wrong (or the body is not rigid, or points were mistaken): about {:.3g} "
        "mm",
        1e3 * out.rms, 1e3 * out.expected_rms, 1e3 * out.model_error);
  }
  return out;
}

}  // namespace impactlab
