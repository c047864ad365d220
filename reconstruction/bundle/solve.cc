#include <ceres/ceres.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/math/rotation.h"
#include "reconstruction/bundle/detail/problem.h"
#include "reconstruction/motion/arcs.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::Vector3d;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Places in the block of the state: p, q (x, y, z, w), v and omega before, v and omega after, tau.
constexpr double kStalled = 1e-6;  // of the cost in ten steps
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
  return (q *
          Eigen::Quaterniond(std::cos(half), share * turn.x(), share * turn.y(), share * turn.z()))
      .normalized();
}

// Derivative of the coefficients of q * exp(turn) at turn = 0. Its columns have length 1/2 and are
// orthogonal.
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
  explicit StateManifold(const Eigen::Matrix<double, 3, Eigen::Dynamic>& turn)
      : turn_(turn), k_(static_cast<int>(turn.cols())) {}
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
    const Eigen::Quaterniond to(y[kQ + 3], y[kQ], y[kQ + 1], y[kQ + 2]),
        from(x[kQ + 3], x[kQ], x[kQ + 1], x[kQ + 2]);
    for (int i = 0; i < 3; ++i) delta[i] = y[i] - x[i];
    Eigen::Map<Eigen::VectorXd>(delta + 3, k_) =
        turn_.transpose() * LogSO3((from.conjugate() * to).toRotationMatrix());
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

// A marker that may sit beside its line: it moves along the two columns of `turn`.
class BesideLine : public ceres::Manifold {
 public:
  explicit BesideLine(const Eigen::Matrix<double, 3, 2>& turn) : turn_(turn) {}
  int AmbientSize() const override { return 3; }
  int TangentSize() const override { return 2; }
  bool Plus(const double* x, const double* delta, double* y) const override {
    Eigen::Map<Vector3d>{y} =
        Eigen::Map<const Vector3d>(x) + turn_ * Eigen::Map<const Eigen::Vector2d>(delta);
    return true;
  }
  bool PlusJacobian(const double*, double* jacobian) const override {
    Eigen::Map<Eigen::Matrix<double, 3, 2, Eigen::RowMajor>>{jacobian} = turn_;
    return true;
  }
  bool Minus(const double* y, const double* x, double* delta) const override {
    Eigen::Map<Eigen::Vector2d>{delta} =
        turn_.transpose() * (Eigen::Map<const Vector3d>(y) - Eigen::Map<const Vector3d>(x));
    return true;
  }
  bool MinusJacobian(const double*, double* jacobian) const override {
    Eigen::Map<Eigen::Matrix<double, 2, 3, Eigen::RowMajor>>{jacobian} = turn_.transpose();
    return true;
  }

 private:
  Eigen::Matrix<double, 3, 2> turn_;
};

constexpr double kMostSpin = 1e4;  // [rad/s]

// What Ceres moves, and where the body is for it.
struct Moving : ceres::EvaluationCallback {
  const DropProblem* problem = nullptr;
  double x[kBlock];
  std::vector<double> clock;  // three a clock: offset, row time, rate
  std::vector<double> p_BM;   // three a marker
  std::vector<BodyAt> at;
  bool tumbles = false;

  DropState State() const {
    DropState state;
    Unpack(x, &state);
    for (std::size_t c = 0; c < clock.size(); c += 3)
      state.clock.push_back({clock[c], clock[c + 1], clock[c + 2]});
    for (std::size_t m = 0; m < problem->markers.size(); ++m)
      state.p_BM.emplace_back(p_BM[3 * m], p_BM[3 * m + 1], p_BM[3 * m + 2]);
    return state;
  }
  void PrepareForEvaluation(bool, bool new_point) override {
    if (!new_point) return;
    const DropState state = State();
    // A trial step may go far astray where the images belong to no flight; a body that spins so
    // fast is not followed, and the step is refused.
    tumbles = !(std::max(state.omega[0].norm(), state.omega[1].norm()) < kMostSpin);
    if (!tumbles) at = FollowStates(*problem, state);
  }
};

// Residual of one image by the state and, where they are free, the clock and the marker.
class PointCost : public ceres::CostFunction {
 public:
  PointCost(const Moving* moving, const DropPoint* point, bool by_clock, bool by_marker)
      : moving_(moving), point_(point), by_clock_(by_clock), by_marker_(by_marker) {
    set_num_residuals(2);
    mutable_parameter_block_sizes()->push_back(kBlock);
    if (by_clock) mutable_parameter_block_sizes()->push_back(3);
    if (by_marker) mutable_parameter_block_sizes()->push_back(3);
  }
  bool Evaluate(double const* const* parameters, double* residuals,
                double** jacobians) const override {
    if (moving_->tumbles) return false;
    PointRow row;
    const int last = by_clock_ ? 2 : 1;
    const double* p = by_marker_ ? parameters[last] : &moving_->p_BM[3 * point_->marker];
    const DropProblem& problem = *moving_->problem;
    if (!RowOf(problem, *point_, moving_->at[point_->instant], Vector3d(p[0], p[1], p[2]),
               jacobians != nullptr, &row))
      return false;
    Eigen::Map<Eigen::Vector2d>{residuals} = row.r;
    if (!jacobians) return true;
    if (jacobians[0]) {
      Eigen::Map<Eigen::Matrix<double, 2, kBlock, Eigen::RowMajor>> J(jacobians[0]);
      J.leftCols<3>() = row.by_state.leftCols<3>();
      J.middleCols<4>(kQ) = 4 * row.by_state.middleCols<3>(3) * ByTurn(parameters[0]).transpose();
      J.rightCols<kBlock - 7>() = row.by_state.rightCols<kDropDim - 6>();
    }
    if (by_clock_ && jacobians[1]) {
      Eigen::Map<Eigen::Matrix<double, 2, 3, Eigen::RowMajor>>{jacobians[1]} =
          row.by_time * Eigen::RowVector3d(1, point_->q.y(), point_->t - problem.t_reference);
    }
    if (by_marker_ && jacobians[last])
      Eigen::Map<Eigen::Matrix<double, 2, 3, Eigen::RowMajor>>{jacobians[last]} = row.by_marker;
    return true;
  }

 private:
  const Moving* moving_;
  const DropPoint* point_;
  bool by_clock_, by_marker_;
};

// Spin about the axis, before and after.
class SpinPrior : public ceres::SizedCostFunction<2, kBlock> {
 public:
  explicit SpinPrior(const DropProblem* problem) : problem_(problem) {}
  bool Evaluate(double const* const* parameters, double* residuals,
                double** jacobians) const override {
    for (int arc = 0; arc < 2; ++arc) {
      const Eigen::Map<const Vector3d> omega(parameters[0] + kV[arc] + 3);
      residuals[arc] = problem_->axis_B.dot(omega) / problem_->spin_sd[arc];
    }
    if (jacobians && jacobians[0]) {
      Eigen::Map<Eigen::Matrix<double, 2, kBlock, Eigen::RowMajor>> J(jacobians[0]);
      J.setZero();
      for (int arc = 0; arc < 2; ++arc)
        J.block<1, 3>(arc, kV[arc] + 3) = problem_->axis_B.transpose() / problem_->spin_sd[arc];
    }
    return true;
  }

 private:
  const DropProblem* problem_;
};

// Change of the spin about the axis against the moment of the impulse.
class SpinMoment : public ceres::SizedCostFunction<1, kBlock> {
 public:
  explicit SpinMoment(const DropProblem* problem) : problem_(problem) {}
  bool Evaluate(double const* const* parameters, double* residuals,
                double** jacobians) const override {
    const double w = 1 / problem_->moment_sd;
    residuals[0] = 0;
    if (jacobians && jacobians[0]) std::fill_n(jacobians[0], kBlock, 0.0);
    for (int arc = 0; arc < 2; ++arc) {
      const double side = arc == 0 ? -w : w;
      const Eigen::Map<const Vector3d> v(parameters[0] + kV[arc]),
          omega(parameters[0] + kV[arc] + 3);
      residuals[0] += side * (problem_->principal_B.dot(omega) - problem_->by_push_W.dot(v));
      if (!jacobians || !jacobians[0]) continue;
      Eigen::Map<Vector3d>{jacobians[0] + kV[arc]} = -side * problem_->by_push_W;
      Eigen::Map<Vector3d>{jacobians[0] + kV[arc] + 3} = side * problem_->principal_B;
    }
    return true;
  }

 private:
  const DropProblem* problem_;
};

// (x - x0) / sd for three numbers; those of sd 0 have none.
class PlainPrior : public ceres::SizedCostFunction<3, 3> {
 public:
  PlainPrior(const Vector3d& x0, const Vector3d& sd) : x0_(x0) {
    for (int i = 0; i < 3; ++i) weight_[i] = sd[i] > 0 ? 1 / sd[i] : 0;
  }
  bool Evaluate(double const* const* parameters, double* residuals,
                double** jacobians) const override {
    for (int i = 0; i < 3; ++i) residuals[i] = weight_[i] * (parameters[0][i] - x0_[i]);
    if (jacobians && jacobians[0])
      Eigen::Map<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>{jacobians[0]} = weight_.asDiagonal();
    return true;
  }

 private:
  Vector3d x0_, weight_;
};

class DistancePrior : public ceres::SizedCostFunction<1, 3, 3> {
 public:
  explicit DistancePrior(const KnownDistance& known) : known_(known) {}
  bool Evaluate(double const* const* parameters, double* residuals,
                double** jacobians) const override {
    const Vector3d between =
        Eigen::Map<const Vector3d>(parameters[0]) - Eigen::Map<const Vector3d>(parameters[1]);
    const double length = between.norm();
    if (!(length > 0)) return false;
    residuals[0] = (length - known_.distance) / known_.sd;
    for (int i = 0; jacobians && i < 2; ++i) {
      if (jacobians[i])
        Eigen::Map<Vector3d>{jacobians[i]} = (i == 0 ? 1 : -1) / (length * known_.sd) * between;
    }
    return true;
  }

 private:
  KnownDistance known_;
};

}  // namespace

bool SolveDrop(const DropProblem& problem, double robust, DropState* state, int* iterations) {
  Moving moving;
  moving.problem = &problem;
  Pack(*state, moving.x);
  for (const ClockState& c : state->clock)
    moving.clock.insert(moving.clock.end(), {c.offset, c.row_time, c.rate});
  for (const Vector3d& p : state->p_BM)
    moving.p_BM.insert(moving.p_BM.end(), p.data(), p.data() + 3);
  ceres::Problem::Options options;
  options.evaluation_callback = &moving;
  ceres::Problem least_squares(options);
  least_squares.AddParameterBlock(moving.x, kBlock, new StateManifold(problem.turn));
  const auto clock_sd = [&](std::size_t c) {
    return Vector3d(c > 0 ? problem.offset_sd : 0, problem.row_time_sd, problem.rate_sd);
  };
  for (const DropPoint& point : problem.points) {
    if (!point.used) continue;
    const bool by_clock = !clock_sd(point.clock).isZero(),
               by_marker = problem.free_layout() || problem.beside();
    std::vector<double*> blocks = {moving.x};
    if (by_clock) blocks.push_back(&moving.clock[3 * point.clock]);
    if (by_marker) blocks.push_back(&moving.p_BM[3 * point.marker]);
    least_squares.AddResidualBlock(new PointCost(&moving, &point, by_clock, by_marker),
                                   robust > 0 ? new ceres::HuberLoss(robust) : nullptr, blocks);
  }
  if (problem.has_axis) least_squares.AddResidualBlock(new SpinPrior(&problem), nullptr, moving.x);
  if (problem.moment_sd > 0)
    least_squares.AddResidualBlock(new SpinMoment(&problem), nullptr, moving.x);
  for (std::size_t c = 0; c < state->clock.size(); ++c) {
    const Vector3d sd = clock_sd(c);
    if (sd.isZero()) continue;
    double* const block = &moving.clock[3 * c];
    least_squares.AddResidualBlock(new PlainPrior(Vector3d::Zero(), sd), nullptr, block);
    std::vector<int> fixed;
    for (int i = 0; i < 3; ++i) {
      if (!(sd[i] > 0)) fixed.push_back(i);
    }
    if (!fixed.empty()) least_squares.SetManifold(block, new ceres::SubsetManifold(3, fixed));
  }
  for (std::size_t m = 0; (problem.free_layout() || problem.beside()) && m < problem.markers.size();
       ++m) {
    const double sd = problem.free_layout() ? problem.layout_sd : problem.beside_sd;
    least_squares.AddResidualBlock(new PlainPrior(problem.markers[m].p_BM, Vector3d::Constant(sd)),
                                   nullptr, &moving.p_BM[3 * m]);
    if (problem.beside())
      least_squares.SetManifold(&moving.p_BM[3 * m], new BesideLine(problem.turn));
  }
  if (problem.free_layout()) {
    for (const KnownDistance& known : problem.distances) {
      least_squares.AddResidualBlock(new DistancePrior(known), nullptr,
                                     &moving.p_BM[3 * known.marker1],
                                     &moving.p_BM[3 * known.marker2]);
    }
  }
  ceres::Solver::Options solver;
  solver.linear_solver_type = ceres::DENSE_QR;
  solver.max_num_iterations = 200;
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
  if (summary.termination_type == ceres::CONVERGENCE) return std::isfinite(summary.final_cost);
  // Where the impact falls on a picture the cost has a crease, along which steps shrink slowly.
  const auto& steps = summary.iterations;
  if (summary.termination_type != ceres::NO_CONVERGENCE || steps.size() < 10) return false;
  return steps[steps.size() - 10].cost - steps.back().cost < kStalled * steps.back().cost;
}

}  // namespace impactlab::reconstruction
