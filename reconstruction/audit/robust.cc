#include "reconstruction/audit/detail/robust.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "data/statistics/statistics.h"

namespace impactlab::reconstruction {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

// tails heavy enough for outlying impacts, 90 % efficient at least on normal data
constexpr double kStudentDof = 4;
constexpr double kRidge = 1e-9;  // in natural units: far below what any source knows
constexpr int kMaxIterations = 60;

double SquaredLength(const RobustProblem& problem, const VectorXd& r, double scatter2, int group) {
  double d2 = 0;
  for (int k = group * problem.rows; k < (group + 1) * problem.rows; ++k)
    d2 += r(k) * r(k) / (problem.sd(k) * problem.sd(k) + scatter2);
  return d2;
}

double MedianSquaredLength(const RobustProblem& problem, const VectorXd& r, double scatter2) {
  std::vector<double> d2(problem.groups);
  for (int i = 0; i < problem.groups; ++i) d2[i] = SquaredLength(problem, r, scatter2, i);
  auto middle = d2.begin() + d2.size() / 2;
  std::nth_element(d2.begin(), middle, d2.end());
  if (d2.size() % 2 == 1) return *middle;
  return 0.5 * (*middle + *std::max_element(d2.begin(), middle));
}

// Extra variance at which the median squared length is that of a normal group, allowing for the
// freedoms used up by the fit.
double ExtraVariance(const RobustProblem& problem, const VectorXd& r, int dof) {
  const double n = problem.groups * problem.rows;
  const double target = ChiSquareQuantile(0.5, problem.rows) * std::max(dof, 1) / n;
  if (MedianSquaredLength(problem, r, 0) <= target) return 0;
  double low = 0, high = r.squaredNorm() / target + 1e-300;
  while (MedianSquaredLength(problem, r, high) > target) high *= 4;
  for (int i = 0; i < 60 && high - low > 1e-6 * high; ++i) {
    const double middle = low > 0 ? std::sqrt(low * high) : 1e-6 * high;
    (MedianSquaredLength(problem, r, middle) > target ? low : high) = middle;
    if (low == 0 && high < 1e-6 * problem.sd.minCoeff() * problem.sd.minCoeff()) break;
  }
  return high;
}

double Cost(const RobustProblem& problem, const VectorXd& r, double scatter2) {
  double cost = 0;
  for (int i = 0; i < problem.groups; ++i) {
    cost += (kStudentDof + problem.rows) *
            std::log1p(SquaredLength(problem, r, scatter2, i) / kStudentDof);
  }
  return cost;
}

double Prior(const RobustProblem& problem, int parameter) {
  if (problem.prior_sd.size() == 0 || !(problem.prior_sd(parameter) > 0)) return 0;
  return 1 / (problem.prior_sd(parameter) * problem.prior_sd(parameter));
}

double PriorCost(const RobustProblem& problem, const VectorXd& p) {
  double cost = 0;
  for (const int i : problem.active) cost += Prior(problem, i) * p(i) * p(i);
  return cost;
}

// Columns: active parameters, per natural unit.
MatrixXd Derivative(const RobustProblem& problem, const VectorXd& p) {
  const int n = problem.groups * problem.rows;
  MatrixXd dr(n, problem.active.size());
  VectorXd up(n), down(n);
  for (std::size_t j = 0; j < problem.active.size(); ++j) {
    const int i = problem.active[j];
    const double step = 1e-4 * problem.unit(i);
    VectorXd q = p;
    q(i) += step;
    problem.residual(q, up);
    q(i) = p(i) - step;
    problem.residual(q, down);
    dr.col(j) = (up - down) / 2e-4;
  }
  return dr;
}

int Rank(const MatrixXd& X) {
  Eigen::JacobiSVD<MatrixXd> svd(X);
  svd.setThreshold(1e-7);
  return svd.rank();
}

// Variance of shifts common to the rows of a cluster (Paule and Mandel 1982), from the clusters'
// mean residuals.
double ClusterVariance(const RobustProblem& problem, const MatrixXd& X, const VectorXd& y,
                       const VectorXd& u) {
  const int clusters = 1 + *std::max_element(problem.cluster.begin(), problem.cluster.end());
  std::vector<int> columns;
  for (std::size_t j = 0; j < problem.active.size(); ++j) {
    const auto& within = problem.within_clusters;
    if (std::find(within.begin(), within.end(), problem.active[j]) == within.end())
      columns.push_back(j);
  }
  VectorXd weight = VectorXd::Zero(clusters), mean = VectorXd::Zero(clusters);
  MatrixXd design = MatrixXd::Zero(clusters, columns.size());
  for (int k = 0; k < y.size(); ++k) {
    const int c = problem.cluster[k];
    weight(c) += u(k) * u(k);
    mean(c) += u(k) * y(k);
    for (std::size_t j = 0; j < columns.size(); ++j) design(c, j) += u(k) * X(k, columns[j]);
  }
  std::vector<int> used;
  for (int c = 0; c < clusters; ++c) {
    if (weight(c) > 0) used.push_back(c);
  }
  MatrixXd D(used.size(), columns.size());
  VectorXd m(used.size()), v(used.size());
  for (std::size_t i = 0; i < used.size(); ++i) {
    D.row(i) = design.row(used[i]) / weight(used[i]);
    m(i) = mean(used[i]) / weight(used[i]);
    v(i) = 1 / weight(used[i]);
  }
  const auto statistic = [&](double tau2, int& dof) {
    const VectorXd w = (v.array() + tau2).sqrt().inverse();
    const MatrixXd A = w.asDiagonal() * D;
    Eigen::JacobiSVD<MatrixXd> svd(A, Eigen::ComputeThinU | Eigen::ComputeThinV);
    svd.setThreshold(1e-6);
    dof = static_cast<int>(used.size()) - static_cast<int>(svd.rank());
    const VectorXd b = w.cwiseProduct(m);
    return (b - A * svd.solve(b)).squaredNorm();
  };
  int dof = 0;
  if (statistic(0, dof) <= dof || dof <= 0) return 0;
  double low = 0, high = m.squaredNorm() + v.maxCoeff();
  for (int i = 0; i < 40; ++i) {
    const double middle = 0.5 * (low + high);
    (statistic(middle, dof) > dof ? low : high) = middle;
  }
  return high;
}

// Weights of the rows: Student's, by the length of their group, over noise and scatter.
VectorXd RowWeights(const RobustProblem& problem, const VectorXd& r, double scatter2) {
  VectorXd w(problem.groups * problem.rows);
  for (int i = 0; i < problem.groups; ++i) {
    const double weight =
        (kStudentDof + problem.rows) / (kStudentDof + SquaredLength(problem, r, scatter2, i));
    for (int k = i * problem.rows; k < (i + 1) * problem.rows; ++k)
      w(k) = weight / (problem.sd(k) * problem.sd(k) + scatter2);
  }
  return w;
}

// Normal equations of the active parameters in their units, held ones left where they are.
void WeightedEquations(const RobustProblem& problem, const MatrixXd& X, const VectorXd& w,
                       const VectorXd& r, const VectorXd& value, MatrixXd* N, VectorXd* b) {
  *N = X.transpose() * w.asDiagonal() * X;
  *b = -X.transpose() * w.cwiseProduct(r);
  for (std::size_t k = 0; k < problem.active.size(); ++k) {
    const int j = static_cast<int>(k), parameter = problem.active[k];
    const double unit = problem.unit(parameter), prior = Prior(problem, parameter);
    (*N)(j, j) += kRidge + prior * unit * unit;
    (*b)(j) -= prior * unit * value(parameter);
    if (std::find(problem.held.begin(), problem.held.end(), parameter) != problem.held.end()) {
      N->row(j).setZero();
      N->col(j).setZero();
      (*N)(j, j) = 1;
      (*b)(j) = 0;
    }
  }
}

// Damped steps, with weights and scatter estimated anew before every one of them: the cost that a
// step lowers is not that of the next, so the driver of data/math does not serve here. Returns the
// scatter's variance.
double Reweight(const RobustProblem& problem, RobustFit* fit, VectorXd* r) {
  VectorXd trial(r->size());
  double damping = 1e-3, scatter2 = ExtraVariance(problem, *r, fit->dof);
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    MatrixXd N;
    VectorXd b;
    WeightedEquations(problem, Derivative(problem, fit->value), RowWeights(problem, *r, scatter2),
                      *r, fit->value, &N, &b);
    const double cost = Cost(problem, *r, scatter2) + PriorCost(problem, fit->value);
    double moved = 0;
    for (int attempt = 0; attempt < 12; ++attempt) {
      MatrixXd damped = N;
      damped.diagonal() *= 1 + damping;
      const VectorXd step = damped.ldlt().solve(b);
      VectorXd q = fit->value;
      for (int j = 0; j < step.size(); ++j)
        q(problem.active[j]) += step(j) * problem.unit(problem.active[j]);
      problem.residual(q, trial);
      if (trial.allFinite() && Cost(problem, trial, scatter2) + PriorCost(problem, q) <= cost) {
        moved = std::sqrt(std::max(0.0, step.dot(N * step)));
        fit->value = q;
        *r = trial;
        damping = std::max(1e-9, 0.1 * damping);
        break;
      }
      damping *= 10;
    }
    const double before = scatter2;
    scatter2 = ExtraVariance(problem, *r, fit->dof);
    if (moved < 1e-3 && std::abs(scatter2 - before) <= 1e-3 * before) break;
  }
  return scatter2;
}

// Covariance of an M-estimator: E[psi^2] / E[psi']^2 (X' X)^-1 with X' X taken from the weighted
// rows, so that an outlying group of great leverage brings no information (Huber 1981, ch. 7).
// Returns the factor of the information, and the weights of the groups in the fit.
double InformationFactor(const RobustProblem& problem, const VectorXd& r, double scatter2,
                         RobustFit* fit) {
  double psi2 = 0, slope = 0, mean_weight = 0;
  fit->weight.resize(problem.groups);
  for (int i = 0; i < problem.groups; ++i) {
    const double d2 = SquaredLength(problem, r, scatter2, i), t = kStudentDof + d2,
                 c = kStudentDof + problem.rows;
    fit->weight(i) = c / t;
    mean_weight += c / t;
    psi2 += c * c / (t * t) * d2 / problem.rows;
    slope += c / t - 2.0 / problem.rows * c * d2 / (t * t);
  }
  const double scale =
      slope > 0 ? slope * slope / (mean_weight * std::max(psi2, 1e-12 * problem.groups)) : 1e-3;
  // Few rows know their own scatter badly: intervals widen as those of a Student-t.
  const double few = kNormal95 / StudentQuantile(0.975, fit->dof);
  return scale * few * few * fit->dof / (problem.groups * problem.rows);
}

// Takes the shifts that the rows of a cluster share out of the normal equations N, b (Xw and yw:
// rows and residuals times `root`). Nothing where clusters do not scatter.
void EliminateClusters(const RobustProblem& problem, const MatrixXd& Xw, const VectorXd& yw,
                       const VectorXd& root, double tau2, MatrixXd* N, VectorXd* b) {
  if (!(tau2 > 0)) return;
  const int clusters = 1 + *std::max_element(problem.cluster.begin(), problem.cluster.end());
  MatrixXd Xu = MatrixXd::Zero(Xw.cols(), clusters);
  VectorXd uu = VectorXd::Zero(clusters), uy = VectorXd::Zero(clusters);
  for (int k = 0; k < root.size(); ++k) {
    const int c = problem.cluster[k];
    Xu.col(c) += root(k) * Xw.row(k).transpose();
    uu(c) += root(k) * root(k);
    uy(c) += root(k) * yw(k);
  }
  for (int c = 0; c < clusters; ++c) {
    const double inverse = 1 / (1 / tau2 + uu(c));
    *N -= inverse * Xu.col(c) * Xu.col(c).transpose();
    *b += inverse * uy(c) * Xu.col(c);
  }
}

// One more step: to the minimum with the shifts of clusters, or along what was held.
void TakeLastStep(const RobustProblem& problem, const MatrixXd& N, VectorXd b, RobustFit* fit) {
  MatrixXd limited = N;
  for (int j = 0; j < b.size(); ++j) {
    const double unit = problem.unit(problem.active[j]), prior = Prior(problem, problem.active[j]);
    limited(j, j) += 1 / (kUndetermined * kUndetermined) + prior * unit * unit;
    b(j) -= prior * unit * fit->value(problem.active[j]);
  }
  const VectorXd step = limited.ldlt().solve(b);
  for (int j = 0; j < b.size(); ++j)
    fit->value(problem.active[j]) += step(j) * problem.unit(problem.active[j]);
}

}  // namespace

MatrixXd Covariance(const MatrixXd& information, const VectorXd& unit,
                    const std::vector<int>& free) {
  const int n = free.size();
  MatrixXd N(n, n);
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j)
      N(i, j) = information(free[i], free[j]) * unit(free[i]) * unit(free[j]);
    N(i, i) += 1 / (kUndetermined * kUndetermined);
  }
  MatrixXd C = N.ldlt().solve(MatrixXd::Identity(n, n));
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) C(i, j) *= unit(free[i]) * unit(free[j]);
  }
  return C;
}

RobustFit FitRobust(const RobustProblem& problem) {
  RobustFit fit;
  fit.value = problem.start;
  const int size = problem.start.size(), n = problem.groups * problem.rows,
            p = problem.active.size();
  fit.information = MatrixXd::Zero(size, size);
  if (n == 0) {
    fit.reason = "no data";
    return fit;
  }
  VectorXd r(n);
  problem.residual(fit.value, r);
  if (!r.allFinite() || !problem.sd.allFinite()) {
    fit.reason = "values that are not finite";
    return fit;
  }
  const int unknowns = Rank(Derivative(problem, fit.value));
  fit.dof = n - unknowns;
  if (fit.dof < 3) {
    fit.reason =
        fmt::format("{} values for {} unknowns: at least {} are needed", n, unknowns, unknowns + 3);
    return fit;
  }
  const double scatter2 = Reweight(problem, &fit, &r);
  const double factor = InformationFactor(problem, r, scatter2, &fit);
  const VectorXd root = (factor * RowWeights(problem, r, scatter2)).cwiseSqrt();
  const MatrixXd Xw = root.asDiagonal() * Derivative(problem, fit.value);
  const VectorXd yw = root.cwiseProduct(r);
  MatrixXd N = Xw.transpose() * Xw;
  VectorXd b = -Xw.transpose() * yw;
  if (!problem.cluster.empty()) {
    // Shifts are trusted no better than a part of the scatter from one repeat to the next.
    const double tau2 = std::max(ClusterVariance(problem, Xw, yw, root), 0.25 * scatter2);
    fit.cluster_scatter = std::sqrt(tau2);
    EliminateClusters(problem, Xw, yw, root, tau2, &N, &b);
  }
  if (!problem.cluster.empty() || !problem.held.empty()) {
    TakeLastStep(problem, N, b, &fit);
    problem.residual(fit.value, r);
  }
  for (int i = 0; i < p; ++i) {
    const int a = problem.active[i];
    for (int j = 0; j < p; ++j) {
      const int c = problem.active[j];
      fit.information(a, c) = 0.5 * (N(i, j) + N(j, i)) / (problem.unit(a) * problem.unit(c));
    }
    fit.information(a, a) += Prior(problem, a);
  }
  fit.residual = r;
  fit.scatter = std::sqrt(scatter2);
  const double middle =
      MedianSquaredLength(problem, r, scatter2) / ChiSquareQuantile(0.5, problem.rows);
  fit.typical = std::sqrt(std::max(0.0, middle) * (problem.sd.squaredNorm() / n + scatter2));
  fit.usable = fit.value.allFinite() && fit.information.allFinite();
  if (!fit.usable) fit.reason = "the fit did not converge";
  return fit;
}

}  // namespace impactlab::reconstruction
