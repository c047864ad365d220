#pragma once
// Nonlinear least squares by damped normal equations (Levenberg, Q. Appl. Math. 2 (1944) 164;
// Marquardt, J. SIAM 11 (1963) 431), and by Gauss-Newton steps where the start is good enough.
//
// The problem keeps its own point, so that rotations and other manifolds need no coordinates: the
// driver asks for the cost at the point moved by a step and says which step is taken. Robust losses
// enter by weights in the normal equations, priors by further rows.

#include <Eigen/Core>
#include <functional>

namespace impactlab {

/// Cost and normal equations at one point.
struct SquaresAt {
  bool valid = false;           ///< false: the model has no value here (behind a camera, say)
  double cost = 0;              ///< sum of weighted squares, with priors and losses
  Eigen::MatrixXd information;  ///< J' W J; empty where only the cost was asked for
  Eigen::VectorXd gradient;     ///< J' W r: half the derivative of the cost by the step
};

struct SquaresProblem {
  /// At the current point moved by `step`; the normal equations may be left out unless
  /// `derivatives`.
  std::function<SquaresAt(const Eigen::VectorXd& step, bool derivatives)> evaluate;
  /// Makes the point moved by `step` the current one; the last call of `evaluate` was with it,
  /// unless the steps are not damped.
  std::function<void(const Eigen::VectorXd& step)> accept;
};

struct LeastSquaresOptions {
  int max_steps = 100;  ///< steps tried, taken or not
  /// false: Gauss-Newton; every step is taken, and only `small_step` ends the search.
  bool damped = true;
  /// Share of the diagonal that is added to it: at the start, and its bounds. Above the upper one
  /// no step lowers the cost.
  double damping = 1e-6, least_damping = 1e-9, most_damping = 1e12;
  /// After a step that is not taken the damping, or `raise_from` if that is more, times `raise`.
  double raise = 10, raise_from = 1e-9;
  double lower = 0.1;  ///< factor of the damping after a step that is taken
  /// The last step is at most this long, in standard deviations (step' J' W J step is its square).
  /// A step that does not lower the cost may be a hundred times as long: the cost is then known no
  /// better.
  double small_step = 0;
  /// Or it lowers the cost, or would lower that of the linear model, by no more than
  /// small_gain + small_gain_relative * cost.
  double small_gain = 0, small_gain_relative = 0;
  /// Relative rounding of the cost: a step that raises it by no more is taken.
  double cost_rounding = 0;
};

enum class LeastSquaresStatus {
  kConverged,
  kStepLimit,  ///< max_steps without a small step
  kNoDescent,  ///< no step lowers the cost, however damped
  kSingular,   ///< the normal equations have no finite solution
  kInvalid     ///< the model has no value at the start
};

struct LeastSquaresResult {
  LeastSquaresStatus status = LeastSquaresStatus::kInvalid;
  /// At the current point, its normal equations empty where the last evaluation left them out.
  /// Without damping at the point before the last step.
  SquaresAt at;
  double predicted_fall = 0;  ///< of the cost by the last step, in the linear model
  int steps = 0;              ///< tried
  bool converged() const { return status == LeastSquaresStatus::kConverged; }
};

/// Lowers the cost from the current point, where `start` holds its normal equations.
LeastSquaresResult MinimizeSquares(const SquaresProblem& problem, SquaresAt start,
                                   const LeastSquaresOptions& options = {});

/// The same, with the start evaluated first; `parameters` is the size of a step.
LeastSquaresResult MinimizeSquares(const SquaresProblem& problem, int parameters,
                                   const LeastSquaresOptions& options = {});

}  // namespace impactlab
