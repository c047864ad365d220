#include "data/math/least_squares.h"

#include <Eigen/Dense>
#include <algorithm>
#include <limits>
#include <utility>

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Solution of the normal equations with `damping` times their diagonal added. They are scaled to a
// unit diagonal first, so that parameters of any unit keep their digits. Not finite where the
// equations are not, of which LDLT would leave directions at zero.
VectorXd DampedStep(const SquaresAt& at, double damping) {
  if (!at.information.allFinite())
    return VectorXd::Constant(at.gradient.size(), std::numeric_limits<double>::quiet_NaN());
  const VectorXd scale = at.information.diagonal().cwiseMax(1e-300).cwiseSqrt().cwiseInverse();
  MatrixXd scaled = scale.asDiagonal() * at.information * scale.asDiagonal();
  scaled.diagonal().array() += damping;
  return -scale.cwiseProduct(scaled.ldlt().solve(scale.cwiseProduct(at.gradient)));
}

LeastSquaresResult TakeGaussNewtonSteps(const SquaresProblem& problem, SquaresAt start,
                                        const LeastSquaresOptions& options) {
  LeastSquaresResult result;
  result.at = std::move(start);
  const double small = options.small_step * options.small_step;
  while (result.at.valid) {
    const VectorXd step = DampedStep(result.at, 0);
    if (!step.allFinite()) {
      result.status = LeastSquaresStatus::kSingular;
      return result;
    }
    problem.accept(step);
    ++result.steps;
    result.predicted_fall = -step.dot(result.at.gradient);
    if (result.predicted_fall <= small) {
      result.status = LeastSquaresStatus::kConverged;
      return result;
    }
    if (result.steps >= options.max_steps) {
      result.status = LeastSquaresStatus::kStepLimit;
      return result;
    }
    result.at = problem.evaluate(VectorXd::Zero(step.size()), true);
  }
  return result;
}

}  // namespace

LeastSquaresResult MinimizeSquares(const SquaresProblem& problem, SquaresAt start,
                                   const LeastSquaresOptions& options) {
  if (!options.damped) return TakeGaussNewtonSteps(problem, std::move(start), options);
  LeastSquaresResult result;
  result.at = std::move(start);
  if (!result.at.valid) return result;
  const double small = options.small_step * options.small_step;
  double damping = options.damping;
  result.status = LeastSquaresStatus::kStepLimit;
  while (result.steps < options.max_steps) {
    const VectorXd step = DampedStep(result.at, damping);
    if (!step.allFinite()) {
      result.status = LeastSquaresStatus::kSingular;
      return result;
    }
    ++result.steps;
    const double length = step.dot(result.at.information * step), cost = result.at.cost,
                 enough = options.small_gain + options.small_gain_relative * cost;
    result.predicted_fall = -step.dot(result.at.gradient);
    SquaresAt next = problem.evaluate(step, false);
    const bool taken = next.valid && next.cost <= cost + options.cost_rounding * (cost + 1e-6);
    if (!taken) {
      if (length < 1e4 * small || result.predicted_fall < enough) {
        result.status = LeastSquaresStatus::kConverged;
        return result;
      }
      damping = std::max(damping, options.raise_from) * options.raise;
      if (damping > options.most_damping) {
        result.status = LeastSquaresStatus::kNoDescent;
        return result;
      }
      continue;
    }
    problem.accept(step);
    result.at = std::move(next);
    if (length < small || cost - result.at.cost < enough) {
      result.status = LeastSquaresStatus::kConverged;
      return result;
    }
    damping = std::max(damping * options.lower, options.least_damping);
    if (result.at.information.size() == 0)
      result.at = problem.evaluate(VectorXd::Zero(step.size()), true);
    if (!result.at.valid) {
      result.status = LeastSquaresStatus::kInvalid;
      return result;
    }
  }
  return result;
}

LeastSquaresResult MinimizeSquares(const SquaresProblem& problem, int parameters,
                                   const LeastSquaresOptions& options) {
  return MinimizeSquares(problem, problem.evaluate(VectorXd::Zero(parameters), true), options);
}

}  // namespace impactlab
