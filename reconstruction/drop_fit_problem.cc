#include "reconstruction/drop_fit_problem.h"

#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "reconstruction/motion_fit_arcs.h"

namespace impactlab::internal {
namespace {

using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Places in the block of the state: p, q (x, y, z, w), v and omega before, v and omega after, tau.
constexpr int kBlock = 20, kQ = 3, kV[2] = {7, 13}, kTau = 19;

void Pack(const DropState& state, double* x) {
  std::copy_n(state.p.data(), 3, x);
  std::copy_n(state.q.coeffs().data(), 4, x + kQ);
  for (int arc = 0; arc < 2; ++arc) {
    std::copy_n(state.v[arc].data(), 3, x + kV[arc]);
    std::copy_n(state.omega[arc].data(), 3, x + kV[arc] + 3);
  }
  x[kTau] = state.tau;
}

void Unpack(const double* x, DropState* state) {
  state->p = Eigen::Map<const Vector3d>(x);
  state->q.coeffs() = Eigen::Map<const Eigen::Vector4d>(x + kQ);
  for (int arc = 0; arc < 2; ++arc) {
    state->v[arc] = Eigen::Map<const Vector3d>(x + kV[arc]);
    state->omega[arc] = Eigen::Map<const Vector3d>(x + kV[arc] + 3);
  }
  state->tau = x[kTau];
}

Eigen::Quaterniond Turned(const Eigen::Quaterniond& q, const Vector3d& turn) {
  const double half = 0.5 * turn.norm();
  const double share = half > 1e-8 ? 0.5 * std::sin(half) / half : 0.5;
  return (q * Eigen::Quaterniond(std::cos(half), share * turn.x(), share * turn.y(), share * turn.z())).normalized();
}

// Derivative of the coefficients of q * exp(turn) at turn = 0. Its columns have length 1/2 and are orthogonal.
Eigen::Matrix<double, 4, 3> ByTurn(const double* x) {
  const Eigen::Quaterniond q(x[kQ + 3], x[kQ], x[kQ + 1], x[kQ + 2]);
  Eigen::Matrix<double, 4, 3> P;
  for (int i = 0; i < 3; ++i) {
    const Vector3d e = 0.5 * Vector3d::Unit(i);
    P.col(i) = (q * Eigen::Quaterniond(0, e.x(), e.y(), e.z())).coeffs();
  }
  return P;
}

// The state on its manifold: rotations move on the body side, along the columns of `turn` only.
class StateManifold : public ceres::Manifold {
 public:
  explicit StateManifold(const Eigen::Matrix<double, 3, Eigen::Dynamic>& turn) : turn_(turn), k_(static_cast<int>(turn.cols())) {}
  int AmbientSize() const override { return kBlock; }
  int TangentSize() const override { return kBlock - 4 + k_; }
  bool Plus(const double* x, const double* delta, double* y) const override {
    const Eigen::Map<const Eigen::VectorXd> turn(delta + 3, k_);
    const Eigen::Quaterniond q(x[kQ + 3], x[kQ], x[kQ + 1], x[kQ + 2]);
    for (int i = 0; i < 3; ++i) y[i] = x[i] + delta[i];
    Eigen::Map<Eigen::Vector4d>(y + kQ) = Turned(q, turn_ * turn).coeffs();
    for (int i = kV[0]; i < kBlock; ++i) y[i] = x[i] + delta[i - 4 + k_];
    return true;
  }
  bool PlusJacobian(const double* x, double* jacobian) const override {
    Eigen::Map<RowMajor> J(jacobian, kBlock, TangentSize());
    J.setZero();
    J.topLeftCorner<3, 3>().setIdentity();
    J.block(kQ, 3, 4, k_) = ByTurn(x) * turn_;
    J.bottomRightCorner<kBlock - 7, kBlock - 7>().setIdentity();
    return true;
  }
  bool Minus(const double* y, const double* x, double* delta) const override {
    const Eigen::Quaterniond to(y[kQ + 3], y[kQ], y[kQ + 1], y[kQ + 2]), from(x[kQ + 3], x[kQ], x[kQ + 1], x[kQ + 2]);
    for (int i = 0; i < 3; ++i) delta[i] = y[i] - x[i];
    Eigen::Map<Eigen::VectorXd>(delta + 3, k_) = turn_.transpose() * Log((from.conjugate() * to).toRotationMatrix());
    for (int i = kV[0]; i < kBlock; ++i) delta[i - 4 + k_] = y[i] - x[i];
    return true;
  }
  bool MinusJacobian(const double* x, double* jacobian) const override {
    Eigen::Map<RowMajor> J(jacobian, TangentSize(), kBlock);
    J.setZero();
    J.topLeftCorner<3, 3>().setIdentity();
    J.block(3, kQ, k_, 4) = 4 * turn_.transpose() * ByTurn(x).transpose();
    J.bottomRightCorner<kBlock - 7, kBlock - 7>().setIdentity();
    return true;
  }

 private:
  Eigen::Matrix<double, 3, Eigen::Dynamic> turn_;
  int k_;
};

// Residual of one point and its derivatives by the 19 of the state, the offset (that of -tau and more) and the marker's centre.
struct PointRow {
  Eigen::Vector2d r;
  Eigen::Matrix<double, 2, kDropDim> by_state;
  Eigen::Vector2d by_time;
  Eigen::Matrix<double, 2, 3> by_marker;
};

bool RowOf(const DropProblem& problem, const DropPoint& point, const BodyAt& at, const Vector3d& p_BM, bool derivatives, PointRow* row) {
  BodyMarker marker = problem.markers[point.marker];
  marker.p_BM = p_BM;
  Eigen::Vector2d q;
  ImageDerivatives d;
  if (!ImageOf(problem.views[point.view], marker, at.X_WB, &q, derivatives ? &d : nullptr)) return false;
  row->r = point.root * (q - point.q);
  if (!derivatives) return true;
  const Eigen::Matrix<double, 2, 3> by_p = point.root * d.by_p_W, by_phi = point.root * d.by_phi_B;
  row->by_marker = point.root * d.by_p_BM;
  row->by_time = by_p * at.velocity + by_phi * at.omega_B;
  row->by_state.setZero();
  row->by_state.leftCols<3>() = by_p;
  row->by_state.middleCols<3>(3) = by_phi * at.dphi_dturn;
  const int first = at.arc == 0 ? kDropMinus : kDropPlus;
  row->by_state.middleCols<3>(first) = by_p * at.s;
  row->by_state.middleCols<3>(first + 3) = by_phi * at.dphi_domega;
  row->by_state.col(kDropTime) = -row->by_time;
  return true;
}

// What Ceres moves, and where the body is for it.
struct Moving : ceres::EvaluationCallback {
  const DropProblem* problem = nullptr;
  double x[kBlock];
  std::vector<double> offset;
  std::vector<double> p_BM;  // three a marker
  std::vector<BodyAt> at;

  DropState State() const {
    DropState state;
    Unpack(x, &state);
    state.offset = offset;
    for (std::size_t m = 0; m < problem->markers.size(); ++m) state.p_BM.emplace_back(p_BM[3 * m], p_BM[3 * m + 1], p_BM[3 * m + 2]);
    return state;
  }
  void PrepareForEvaluation(bool, bool new_point) override {
    if (new_point) at = Follow(*problem, State());
  }
};

class PointCost : public ceres::CostFunction {
 public:
  PointCost(const Moving* moving, const DropPoint* point, bool by_offset, bool by_marker)
      : moving_(moving), point_(point), by_offset_(by_offset), by_marker_(by_marker) {
    set_num_residuals(2);
    mutable_parameter_block_sizes()->push_back(kBlock);
    if (by_offset) mutable_parameter_block_sizes()->push_back(1);
    if (by_marker) mutable_parameter_block_sizes()->push_back(3);
  }
  bool Evaluate(double const* const* parameters, double* residuals, double** jacobians) const override {
    PointRow row;
    const double* p = by_marker_ ? parameters[by_offset_ ? 2 : 1] : &moving_->p_BM[3 * point_->marker];
    if (!RowOf(*moving_->problem, *point_, moving_->at[point_->instant], Vector3d(p[0], p[1], p[2]), jacobians != nullptr, &row))
      return false;
    Eigen::Map<Eigen::Vector2d>{residuals} = row.r;
    if (!jacobians) return true;
    if (jacobians[0]) {
      Eigen::Map<Eigen::Matrix<double, 2, kBlock, Eigen::RowMajor>> J(jacobians[0]);
      J.leftCols<3>() = row.by_state.leftCols<3>();
      J.middleCols<4>(kQ) = 4 * row.by_state.middleCols<3>(3) * ByTurn(parameters[0]).transpose();
      J.rightCols<kBlock - 7>() = row.by_state.rightCols<kDropDim - 6>();
    }
    if (by_offset_ && jacobians[1]) Eigen::Map<Eigen::Vector2d>{jacobians[1]} = row.by_time;
    const int last = by_offset_ ? 2 : 1;
    if (by_marker_ && jacobians[last]) Eigen::Map<Eigen::Matrix<double, 2, 3, Eigen::RowMajor>>{jacobians[last]} = row.by_marker;
    return true;
  }

 private:
  const Moving* moving_;
  const DropPoint* point_;
  bool by_offset_, by_marker_;
};

// Spin about the axis, before and after.
class SpinPrior : public ceres::SizedCostFunction<2, kBlock> {
 public:
  explicit SpinPrior(const DropProblem* problem) : problem_(problem) {}
  bool Evaluate(double const* const* parameters, double* residuals, double** jacobians) const override {
    for (int arc = 0; arc < 2; ++arc) {
      const Eigen::Map<const Vector3d> omega(parameters[0] + kV[arc] + 3);
      residuals[arc] = problem_->axis_B.dot(omega) / problem_->spin_sd[arc];
    }
    if (jacobians && jacobians[0]) {
      Eigen::Map<Eigen::Matrix<double, 2, kBlock, Eigen::RowMajor>> J(jacobians[0]);
      J.setZero();
      for (int arc = 0; arc < 2; ++arc) J.block<1, 3>(arc, kV[arc] + 3) = problem_->axis_B.transpose() / problem_->spin_sd[arc];
    }
    return true;
  }

 private:
  const DropProblem* problem_;
};

// (x - x0) / sd, any size.
class PlainPrior : public ceres::CostFunction {
 public:
  PlainPrior(std::vector<double> x0, double sd) : x0_(std::move(x0)), sd_(sd) {
    set_num_residuals(static_cast<int>(x0_.size()));
    mutable_parameter_block_sizes()->push_back(static_cast<int>(x0_.size()));
  }
  bool Evaluate(double const* const* parameters, double* residuals, double** jacobians) const override {
    const std::size_t n = x0_.size();
    for (std::size_t i = 0; i < n; ++i) residuals[i] = (parameters[0][i] - x0_[i]) / sd_;
    if (jacobians && jacobians[0]) {
      std::fill(jacobians[0], jacobians[0] + n * n, 0.0);
      for (std::size_t i = 0; i < n; ++i) jacobians[0][i * n + i] = 1 / sd_;
    }
    return true;
  }

 private:
  std::vector<double> x0_;
  double sd_;
};

}  // namespace

int DropProblem::clocks() const {
  int n = 0;
  for (const DropPoint& point : points) n = std::max(n, point.clock + 1);
  return n;
}

void LinkInstants(DropProblem* problem) {
  std::map<std::pair<int, double>, int> place;
  for (const DropPoint& point : problem->points) place[{point.clock, point.t}] = 0;
  problem->instants.clear();
  for (auto& [key, i] : place) {
    i = static_cast<int>(problem->instants.size());
    problem->instants.push_back({key.first, key.second});
  }
  for (DropPoint& point : problem->points) point.instant = place.at({point.clock, point.t});
}

std::vector<BodyAt> Follow(const DropProblem& problem, const DropState& state) {
  const std::vector<Instant>& instants = problem.instants;
  const Matrix3d R = state.q.toRotationMatrix();
  std::vector<BodyAt> all(instants.size());
  const auto since = [&](std::size_t i) { return instants[i].t + state.offset[instants[i].clock] - state.tau; };
  const auto place = [&](std::size_t i, double s, int arc, const TorqueFree& turn) {
    BodyAt& at = all[i];
    at.s = s;
    at.arc = arc;
    at.X_WB.translation() = state.p + s * state.v[arc] + 0.5 * s * s * problem.gravity_W;
    at.X_WB.linear() = R * turn.Q;
    at.velocity = state.v[arc] + s * problem.gravity_W;
    at.omega_B = turn.omega_B;
    at.dphi_dturn = turn.Q.transpose();
    at.dphi_domega = turn.dphi_domega;
  };
  std::size_t first = 0;
  while (first < instants.size()) {
    std::size_t end = first, split = first;
    for (; end < instants.size() && instants[end].clock == instants[first].clock; ++end) {
      if (since(end) < 0) split = end + 1;
    }
    for (int arc = 0; arc < 2; ++arc) {
      TorqueFree turn;
      turn.omega_B = state.omega[arc];
      double s = 0;
      const std::size_t n = arc == 0 ? split - first : end - split;
      for (std::size_t k = 0; k < n; ++k) {
        const std::size_t i = arc == 0 ? split - 1 - k : split + k;
        const double to = since(i);
        turn = Turn(problem.body, turn, to - s);
        s = to;
        place(i, s, arc, turn);
      }
    }
    first = end;
  }
  return all;
}

bool SolveDrop(const DropProblem& problem, double robust, DropState* state, int* iterations) {
  Moving moving;
  moving.problem = &problem;
  Pack(*state, moving.x);
  moving.offset = state->offset;
  for (const Vector3d& p : state->p_BM) moving.p_BM.insert(moving.p_BM.end(), p.data(), p.data() + 3);
  ceres::Problem::Options options;
  options.evaluation_callback = &moving;
  ceres::Problem least_squares(options);
  least_squares.AddParameterBlock(moving.x, kBlock, new StateManifold(problem.turn));
  for (const DropPoint& point : problem.points) {
    if (!point.used) continue;
    const bool by_offset = problem.free_clocks() && point.clock > 0, by_marker = problem.free_layout();
    std::vector<double*> blocks = {moving.x};
    if (by_offset) blocks.push_back(&moving.offset[point.clock]);
    if (by_marker) blocks.push_back(&moving.p_BM[3 * point.marker]);
    least_squares.AddResidualBlock(new PointCost(&moving, &point, by_offset, by_marker),
                                   robust > 0 ? new ceres::HuberLoss(robust) : nullptr, blocks);
  }
  if (problem.has_axis) least_squares.AddResidualBlock(new SpinPrior(&problem), nullptr, moving.x);
  if (problem.free_clocks()) {
    for (std::size_t c = 1; c < moving.offset.size(); ++c)
      least_squares.AddResidualBlock(new PlainPrior({0}, problem.offset_sd), nullptr, &moving.offset[c]);
  }
  if (problem.free_layout()) {
    for (std::size_t m = 0; m < problem.markers.size(); ++m) {
      const Vector3d& p = problem.markers[m].p_BM;
      least_squares.AddResidualBlock(new PlainPrior({p.x(), p.y(), p.z()}, problem.layout_sd), nullptr, &moving.p_BM[3 * m]);
    }
  }
  ceres::Solver::Options solver;
  solver.linear_solver_type = ceres::DENSE_QR;
  solver.max_num_iterations = 50;
  solver.num_threads = 1;
  solver.logging_type = ceres::SILENT;
  // Steps are wanted to a thousandth of a standard deviation: the cost then changes by a millionth.
  solver.function_tolerance = 1e-10;
  solver.gradient_tolerance = 0;
  solver.parameter_tolerance = 1e-12;
  ceres::Solver::Summary summary;
  ceres::Solve(solver, &least_squares, &summary);
  *iterations += static_cast<int>(summary.iterations.size());
  *state = moving.State();
  return summary.termination_type == ceres::CONVERGENCE && std::isfinite(summary.final_cost);
}

DropNormal NormalEquations(const DropProblem& problem, const DropState& state, int rig_size) {
  DropNormal normal;
  const int clocks = static_cast<int>(state.offset.size()), markers = static_cast<int>(problem.markers.size());
  const int first_clock = kDropDim, first_marker = kDropDim + (problem.free_clocks() ? clocks - 1 : 0);
  const int size = first_marker + (problem.free_layout() ? 3 * markers : 0);
  normal.information = MatrixXd::Zero(size, size);
  normal.by_rig = MatrixXd::Zero(size, rig_size);
  normal.rig_information = MatrixXd::Zero(rig_size, rig_size);
  normal.rig_gradient = Eigen::VectorXd::Zero(rig_size);
  normal.parameters = size - 3 + static_cast<int>(problem.turn.cols());
  const std::vector<BodyAt> at = Follow(problem, state);
  MatrixXd J(2, size);
  Eigen::Matrix<double, 2, Eigen::Dynamic> by_rig;
  for (const DropPoint& point : problem.points) {
    if (!point.used) continue;
    PointRow row;
    const BodyAt& now = at[point.instant];
    if (!RowOf(problem, point, now, state.p_BM[point.marker], true, &row)) return normal;
    J.setZero();
    J.leftCols<kDropDim>() = row.by_state;
    if (problem.free_clocks() && point.clock > 0) J.col(first_clock + point.clock - 1) = row.by_time;
    if (problem.free_layout()) J.middleCols<3>(first_marker + 3 * point.marker) = row.by_marker;
    normal.information.noalias() += J.transpose() * J;
    normal.chi_square += row.r.squaredNorm();
    normal.arc_chi_square[now.arc] += row.r.squaredNorm();
    normal.arc_residuals[now.arc] += 2;
    normal.residuals += 2;
    if (rig_size > 0) {
      BodyMarker marker = problem.markers[point.marker];
      marker.p_BM = state.p_BM[point.marker];
      Eigen::Vector2d q;
      const View& view = problem.views[point.view];
      if (!ImageOf(view, marker, now.X_WB, &q, nullptr, &by_rig)) return normal;
      const Eigen::Index first = view.first_parameter, n = by_rig.cols();
      const Eigen::Matrix<double, 2, Eigen::Dynamic> E = point.root * by_rig;
      normal.by_rig.middleCols(first, n).noalias() += J.transpose() * E;
      normal.rig_information.block(first, first, n, n).noalias() += E.transpose() * E;
      normal.rig_gradient.segment(first, n).noalias() += E.transpose() * row.r;
    }
  }
  if (problem.has_axis) {
    for (int arc = 0; arc < 2; ++arc) {
      const int at_omega = (arc == 0 ? kDropMinus : kDropPlus) + 3;
      const Vector3d row = problem.axis_B / problem.spin_sd[arc];
      normal.information.block<3, 3>(at_omega, at_omega) += row * row.transpose();
      normal.chi_square += std::pow(row.dot(state.omega[arc]), 2);
      ++normal.residuals;
    }
  }
  if (problem.free_clocks()) {
    for (int c = 1; c < clocks; ++c) {
      normal.information(first_clock + c - 1, first_clock + c - 1) += 1 / (problem.offset_sd * problem.offset_sd);
      normal.chi_square += std::pow(state.offset[c] / problem.offset_sd, 2);
      ++normal.residuals;
    }
  }
  if (problem.free_layout()) {
    for (int m = 0; m < markers; ++m) {
      normal.information.diagonal().segment<3>(first_marker + 3 * m).array() += 1 / (problem.layout_sd * problem.layout_sd);
      normal.chi_square += (state.p_BM[m] - problem.markers[m].p_BM).squaredNorm() / (problem.layout_sd * problem.layout_sd);
      normal.residuals += 3;
    }
  }
  normal.valid = normal.information.allFinite() && std::isfinite(normal.chi_square);
  return normal;
}

bool InvertNormal(const DropProblem& problem, const MatrixXd& information, MatrixXd* inverse) {
  const Eigen::Index size = information.rows(), k = problem.turn.cols();
  MatrixXd T = MatrixXd::Zero(size, size - 3 + k);
  T.topLeftCorner<3, 3>().setIdentity();
  T.block(3, 3, 3, k) = problem.turn;
  T.bottomRightCorner(size - 6, size - 6).setIdentity();
  const MatrixXd free = T.transpose() * information * T;
  const Eigen::VectorXd scale = free.diagonal().cwiseSqrt().cwiseInverse();
  if (!scale.allFinite()) return false;
  const Eigen::LLT<MatrixXd> llt(scale.asDiagonal() * free * scale.asDiagonal());
  if (llt.info() != Eigen::Success || llt.rcond() < 1e-15) return false;
  const MatrixXd inner = scale.asDiagonal() * llt.solve(MatrixXd::Identity(free.rows(), free.cols())) * scale.asDiagonal();
  *inverse = T * inner * T.transpose();
  return inverse->allFinite();
}

}  // namespace impactlab::internal
