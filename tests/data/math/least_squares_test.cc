// The driver of damped least squares: known minima, its stops, and what it says where it fails.
#include "data/math/least_squares.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <functional>
#include <limits>

namespace impactlab {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// Residuals and Jacobian over plain coordinates; counts what the driver asks for.
struct PlainProblem {
  std::function<void(const VectorXd& x, VectorXd* r, MatrixXd* J)> model;
  VectorXd x;
  int evaluations = 0, accepted = 0;

  SquaresProblem Squares() {
    return {[this](const VectorXd& step, bool derivatives) {
              ++evaluations;
              VectorXd r;
              MatrixXd J;
              model(x + step, &r, &J);
              SquaresAt at{r.allFinite(), r.squaredNorm(), {}, {}};
              if (derivatives) at.information = J.transpose() * J, at.gradient = J.transpose() * r;
              return at;
            },
            [this](const VectorXd& step) {
              ++accepted;
              x += step;
            }};
  }
};

PlainProblem Rosenbrock() {
  return {[](const VectorXd& x, VectorXd* r, MatrixXd* J) {
            *r = Eigen::Vector2d(1 - x(0), 10 * (x(1) - x(0) * x(0)));
            *J = Eigen::Matrix2d{{-1, 0}, {-20 * x(0), 10}};
          },
          Eigen::Vector2d(-1.2, 1)};
}

TEST(LeastSquares, FindsTheEndOfACurvedValley) {
  PlainProblem problem = Rosenbrock();
  const LeastSquaresResult result = MinimizeSquares(problem.Squares(), 2, {.small_step = 1e-9});
  EXPECT_TRUE(result.converged());
  EXPECT_NEAR((problem.x - Eigen::Vector2d(1, 1)).norm(), 0, 1e-8);
  EXPECT_NEAR(result.at.cost, 0, 1e-16);
  EXPECT_GT(result.steps, problem.accepted);  // some steps overshoot, and are not taken
}

TEST(LeastSquares, GaussNewtonSolvesALinearProblemInOneStep) {
  const MatrixXd A{{1, 2}, {3, -1}, {0.5, 0.5}};
  const VectorXd y = Eigen::Vector3d(1, 2, 3);
  PlainProblem problem{[&](const VectorXd& x, VectorXd* r, MatrixXd* J) { *r = A * x - y, *J = A; },
                       VectorXd::Zero(2)};
  const LeastSquaresResult result =
      MinimizeSquares(problem.Squares(), 2, {.damped = false, .small_step = 1e-9});
  EXPECT_TRUE(result.converged());
  EXPECT_EQ(result.steps, 2);  // the second one is nothing
  const VectorXd expected = A.colPivHouseholderQr().solve(y);
  EXPECT_NEAR((problem.x - expected).norm(), 0, 1e-13);
  EXPECT_NEAR(result.at.cost, (A * expected - y).squaredNorm(), 1e-13);
  EXPECT_NEAR((result.at.information - A.transpose() * A).norm(), 0, 0);
}

// Parameters of very different units: the steps do not depend on them.
TEST(LeastSquares, StepsDoNotDependOnUnits) {
  PlainProblem plain = Rosenbrock(), scaled = Rosenbrock();
  static constexpr double kUnit = 1e7;
  scaled.model = [](const VectorXd& x, VectorXd* r, MatrixXd* J) {
    Rosenbrock().model(Eigen::Vector2d(x(0), x(1) / kUnit), r, J);
    J->col(1) /= kUnit;
  };
  scaled.x(1) *= kUnit;
  const LeastSquaresOptions options{.max_steps = 12};
  const LeastSquaresResult a = MinimizeSquares(plain.Squares(), 2, options),
                           b = MinimizeSquares(scaled.Squares(), 2, options);
  EXPECT_EQ(a.status, LeastSquaresStatus::kStepLimit);
  EXPECT_EQ(a.steps, 12);
  EXPECT_NEAR(b.at.cost, a.at.cost, 1e-9 * (1 + a.at.cost));
  EXPECT_NEAR(scaled.x(1) / kUnit, plain.x(1), 1e-9);
}

TEST(LeastSquares, AStepToWhereTheModelHasNoValueIsNotTaken) {
  // sqrt(x) - 0.1 from the far side: the first steps would lead below zero.
  PlainProblem problem{[](const VectorXd& x, VectorXd* r, MatrixXd* J) {
                         *r = VectorXd::Constant(1, std::sqrt(x(0)) - 0.1);
                         *J = MatrixXd::Constant(1, 1, 0.5 / std::sqrt(x(0)));
                       },
                       VectorXd::Constant(1, 1.0)};
  const LeastSquaresResult result = MinimizeSquares(problem.Squares(), 1, {.small_step = 1e-9});
  EXPECT_TRUE(result.converged());
  EXPECT_NEAR(problem.x(0), 0.01, 1e-9);
  EXPECT_GT(result.steps, problem.accepted);
}

TEST(LeastSquares, EndsWhereAStepGainsLittle) {
  PlainProblem problem = Rosenbrock();
  const LeastSquaresResult result = MinimizeSquares(problem.Squares(), 2, {.small_gain = 1e-2});
  EXPECT_TRUE(result.converged());
  EXPECT_LT(result.at.cost, 24.2);  // of the start
  PlainProblem longer = Rosenbrock();
  EXPECT_LT(result.steps, MinimizeSquares(longer.Squares(), 2, {.small_gain = 1e-12}).steps);
}

TEST(LeastSquares, SaysWhyItEnds) {
  PlainProblem nowhere = Rosenbrock();
  nowhere.x.setConstant(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(MinimizeSquares(nowhere.Squares(), 2).status, LeastSquaresStatus::kInvalid);
  EXPECT_EQ(nowhere.accepted, 0);

  // A derivative of the wrong sign: no step lowers the cost.
  PlainProblem wrong{[](const VectorXd& x, VectorXd* r, MatrixXd* J) {
                       *r = x, *J = MatrixXd::Constant(1, 1, -1.0);
                     },
                     VectorXd::Ones(1)};
  EXPECT_EQ(MinimizeSquares(wrong.Squares(), 1).status, LeastSquaresStatus::kNoDescent);
  EXPECT_EQ(wrong.x(0), 1);

  PlainProblem infinite{[](const VectorXd& x, VectorXd* r, MatrixXd* J) {
                          *r = x;
                          *J = MatrixXd::Constant(1, 1, std::numeric_limits<double>::infinity());
                        },
                        VectorXd::Ones(1)};
  EXPECT_EQ(MinimizeSquares(infinite.Squares(), 1).status, LeastSquaresStatus::kSingular);
  for (const bool damped : {false, true}) {
    PlainProblem valley = Rosenbrock();
    EXPECT_EQ(MinimizeSquares(valley.Squares(), 2, {.max_steps = 1, .damped = damped}).status,
              LeastSquaresStatus::kStepLimit);
  }
}

}  // namespace
}  // namespace impactlab
