#include "calibration/world/detail/constraints.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>

#include "data/math/least_squares.h"
#include "data/math/linear_algebra.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"

namespace impactlab::calibration {

Eigen::MatrixXd RigCovariance(const CameraRig& rig) {
  const int n = ParameterCount(rig);
  return rig.covariance.size() > 0 ? rig.covariance : Eigen::MatrixXd::Zero(n, n);
}

Eigen::Matrix<double, 6, 6> InverseErrorMap(const Eigen::Isometry3d& X) {
  // (R exp(r))' = R' exp(-R r), and -(R exp(r))' (p + dp) = -R' p - R' dp + r x R' p.
  const Eigen::Matrix3d R = X.linear();
  Eigen::Matrix<double, 6, 6> map = Eigen::Matrix<double, 6, 6>::Zero();
  map.topLeftCorner<3, 3>() = -R;
  map.bottomLeftCorner<3, 3>() = -CrossMatrix(R.transpose() * X.translation());
  map.bottomRightCorner<3, 3>() = -R.transpose();
  return map;
}

LinearFit SolveLinear(const Eigen::VectorXd& e0, const Eigen::MatrixXd& J,
                      const Eigen::MatrixXd& S) {
  LinearFit fit;
  const Eigen::LLT<Eigen::MatrixXd> noise(S);
  if (noise.info() != Eigen::Success) return fit;
  const Eigen::MatrixXd whitened = noise.matrixL().solve(J);
  const Eigen::VectorXd residual = noise.matrixL().solve(e0);
  const Eigen::VectorXd scale = whitened.colwise().norm();
  if (!(scale.minCoeff() > 0)) return fit;
  // Unit columns: radians, metres and scale factors side by side.
  const Eigen::MatrixXd unit = whitened * scale.cwiseInverse().asDiagonal();
  const Eigen::MatrixXd normal = unit.transpose() * unit;
  const Eigen::LDLT<Eigen::MatrixXd> information(normal);
  if (information.info() != Eigen::Success || !(information.vectorD().minCoeff() > 1e-13))
    return fit;
  const Eigen::MatrixXd inverse = information.solve(Eigen::MatrixXd::Identity(J.cols(), J.cols()));
  fit.cov = ScaleBothSides(scale.cwiseInverse(), inverse);
  const Eigen::MatrixXd weighted = noise.matrixU().solve(whitened);  // S^-1 J
  fit.gain = fit.cov * weighted.transpose();
  fit.step = -fit.gain * e0;
  fit.chi_square = (residual + whitened * fit.step).squaredNorm();
  fit.determined = fit.step.allFinite() && fit.cov.allFinite();
  return fit;
}

LinearFit FitByLinearSteps(
    const std::function<void(Eigen::VectorXd* e, Eigen::MatrixXd* J)>& linearise,
    const Eigen::MatrixXd& S, const std::function<void(const Eigen::VectorXd& step)>& move) {
  Eigen::VectorXd e;
  Eigen::MatrixXd J;
  linearise(&e, &J);
  if (LinearFit start = SolveLinear(e, J, S); !start.determined) return start;
  const auto evaluate = [&](const Eigen::VectorXd&, bool) {
    linearise(&e, &J);
    const Eigen::MatrixXd weighted = SolveSpd(S, J);
    return SquaresAt{true, 0, J.transpose() * weighted, weighted.transpose() * e};
  };
  const LeastSquaresResult result =
      MinimizeSquares({evaluate, move}, static_cast<int>(J.cols()),
                      {.max_steps = 20, .damped = false, .small_step = 1e-9});
  if (result.status == LeastSquaresStatus::kSingular) return {};
  linearise(&e, &J);
  return SolveLinear(e, J, S);
}

double TailProbability(double chi_square, int dof) {
  return dof > 0 ? 1 - ChiSquareCdf(chi_square, dof) : 1;
}

double WorstSd(const Eigen::Matrix3d& cov) {
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> eigen(cov, Eigen::EigenvaluesOnly);
  return std::sqrt(std::max(0.0, eigen.eigenvalues()(2)));
}

}  // namespace impactlab::calibration
