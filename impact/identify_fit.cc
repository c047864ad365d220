#include "impact/identify_fit.h"

#include <ceres/ceres.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace impactlab::internal {
namespace {

double ScatterVariance(double log_s) {
  const double s = std::max(std::exp(std::clamp(log_s, -50.0, 50.0)), kScatterFloor);
  return s * s;
}

// Shape as a loss of Ceres, which minimises half of rho.
class ShapeLoss : public ceres::LossFunction {
 public:
  ShapeLoss(const Shape& shape, double multiplicity) : shape_(shape), multiplicity_(multiplicity) {}
  void Evaluate(double q, double rho[3]) const override {
    const std::array<double, 3> value = shape_(q);
    for (int i = 0; i < 3; ++i) rho[i] = multiplicity_ * value[i];
  }

 private:
  Shape shape_;
  double multiplicity_;
};

// Whitened impulse residual of one event as a function of mu and e, the noise linearised where the round began.
class EventCost : public ceres::CostFunction {
 public:
  EventCost(const FitTask& task, const PreparedEvent& event, const EventAt& at, const Mat& S)
      : task_(task), event_(event), shift_(at.shift), L_(S.llt().matrixL()) {
    set_num_residuals(event.dim);
    mutable_parameter_block_sizes()->assign(2, 1);
  }
  bool Evaluate(double const* const* parameters, double* residuals, double** jacobians) const override {
    const EventAt at = EvaluateEvent(event_, ModelAt(task_, parameters[0][0], parameters[1][0]),
                                     jacobians != nullptr ? Need::kDerivative : Need::kResidual);
    if (!at.ok) return false;
    const Vec r = L_.triangularView<Eigen::Lower>().solve(at.r - shift_);
    std::copy(r.data(), r.data() + r.size(), residuals);
    for (int k = 0; jacobians != nullptr && k < 2; ++k) {
      if (jacobians[k] == nullptr) continue;
      const Vec g = L_.triangularView<Eigen::Lower>().solve(at.G.col(k));
      std::copy(g.data(), g.data() + g.size(), jacobians[k]);
    }
    return true;
  }

 private:
  const FitTask& task_;
  const PreparedEvent& event_;
  Vec shift_;
  Mat L_;
};

class VarianceFunction : public ceres::FirstOrderFunction {
 public:
  VarianceFunction(const VarianceData& data, const Shape& shape) : data_(data), shape_(shape) {}
  int NumParameters() const override { return data_.n_groups; }
  bool Evaluate(const double* log_s, double* cost, double* gradient) const override {
    *cost = VarianceCost(data_, shape_, log_s, gradient);
    return std::isfinite(*cost);
  }

 private:
  const VarianceData& data_;
  const Shape& shape_;
};

std::vector<int> ImpulseGroups(const FitTask& task, int dim) {
  std::vector<int> group(dim, 0);
  group.back() = task.one_scatter ? 0 : 1;
  return group;
}

VarianceData ImpulseData(const FitTask& task, const FitPoint& point) {
  VarianceData data;
  for (const EventAt& at : point.at) {
    data.r.push_back(at.r);
    data.N.push_back(at.N);
  }
  data.multiplicity = task.multiplicity;
  data.group = ImpulseGroups(task, task.shape.dim());
  data.n_groups = task.one_scatter ? 1 : 2;
  return data;
}

// One trust-region descent in (mu, e) with the noise and the scatter held.
bool DescendCoefficients(const FitTask& task, const FitPoint& point, bool free_mu, bool free_e, double& mu, double& e) {
  ceres::Problem::Options problem_options;
  problem_options.disable_all_safety_checks = true;
  ceres::Problem problem(problem_options);
  problem.AddParameterBlock(&mu, 1);
  problem.AddParameterBlock(&e, 1);
  for (std::size_t i = 0; i < task.events->size(); ++i) {
    if (task.multiplicity[i] == 0) continue;
    problem.AddResidualBlock(new EventCost(task, (*task.events)[i], point.at[i], TotalCovariance(task, point, static_cast<int>(i))),
                             new ShapeLoss(task.shape, task.multiplicity[i]), &mu, &e);
  }
  problem.SetParameterLowerBound(&mu, 0, 0);
  problem.SetParameterUpperBound(&mu, 0, kMuMax);
  problem.SetParameterLowerBound(&e, 0, 0);
  problem.SetParameterUpperBound(&e, 0, 1);
  if (!free_mu) problem.SetParameterBlockConstant(&mu);
  if (!free_e) problem.SetParameterBlockConstant(&e);
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.logging_type = ceres::SILENT;
  options.max_num_iterations = 30;
  options.function_tolerance = 1e-12;
  options.parameter_tolerance = 1e-10;
  options.gradient_tolerance = 1e-10;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return summary.IsSolutionUsable() && std::isfinite(mu) && std::isfinite(e);
}

}  // namespace

Shape::Shape(const IdentifyOptions& options, int dim)
    : kind_(options.likelihood), dim_(dim), dof_(options.student_dof), share_(options.contamination), scale_(options.contamination_scale) {
  constant_ = dim * std::log(2 * std::numbers::pi);
  if (kind_ == Likelihood::kStudentT) {
    constant_ = dim * std::log(dof_ * std::numbers::pi) - 2 * (std::lgamma(0.5 * (dof_ + dim)) - std::lgamma(0.5 * dof_));
  }
}

std::array<double, 3> Shape::operator()(double q) const {
  switch (kind_) {
    case Likelihood::kGaussian:
      return {q + constant_, 1, 0};
    case Likelihood::kStudentT: {
      const double weight = (dof_ + dim_) / (dof_ + q);
      return {(dof_ + dim_) * std::log1p(q / dof_) + constant_, weight, -weight / (dof_ + q)};
    }
    case Likelihood::kContamination: {
      // Mixture of precisions 1 and 1/scale^2: the weight is the posterior mean of the precision, its slope minus half its variance.
      const double precision = 1 / (scale_ * scale_);
      const double log_a = std::log1p(-share_) - 0.5 * q;
      const double log_b = std::log(share_) + 0.5 * dim_ * std::log(precision) - 0.5 * q * precision;
      const double top = std::max(log_a, log_b);
      const double a = std::exp(log_a - top), b = std::exp(log_b - top);
      const double share = b / (a + b);
      const double gap = 1 - precision;
      return {-2 * (top + std::log(a + b)) + constant_, 1 - share * gap, -0.5 * share * (1 - share) * gap * gap};
    }
  }
  return {q, 1, 0};
}

double VarianceCost(const VarianceData& data, const Shape& shape, const double* log_s, double* gradient) {
  std::array<double, 2> variance{}, slope{};
  for (int g = 0; g < data.n_groups; ++g) {
    variance[g] = ScatterVariance(log_s[g]);
    slope[g] = variance[g] > kScatterFloor * kScatterFloor ? 2 * variance[g] : 0;
  }
  double cost = 0;
  if (gradient != nullptr) std::fill(gradient, gradient + data.n_groups, 0.0);
  for (std::size_t i = 0; i < data.r.size(); ++i) {
    if (data.multiplicity[i] == 0) continue;
    Mat S = data.N[i];
    for (int k = 0; k < S.rows(); ++k) S(k, k) += variance[data.group[k]];
    const Eigen::LLT<Mat> llt(S);
    if (llt.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
    const Vec solved = llt.solve(data.r[i]);
    const std::array<double, 3> rho = shape(data.r[i].dot(solved));
    const double log_det = 2 * Mat(llt.matrixL()).diagonal().array().log().sum();
    cost += 0.5 * data.multiplicity[i] * (log_det + rho[0]);
    if (gradient == nullptr) continue;
    const Mat inverse = llt.solve(Mat::Identity(S.rows(), S.rows()));
    for (int k = 0; k < S.rows(); ++k) {
      gradient[data.group[k]] += 0.5 * data.multiplicity[i] * slope[data.group[k]] * (inverse(k, k) - rho[1] * solved[k] * solved[k]);
    }
  }
  return cost;
}

void FitVariance(const VarianceData& data, const Shape& shape, std::vector<double>& log_s) {
  ceres::GradientProblem problem(new VarianceFunction(data, shape));
  ceres::GradientProblemSolver::Options options;
  options.logging_type = ceres::SILENT;
  options.line_search_direction_type = ceres::BFGS;
  options.max_num_iterations = 40;
  options.function_tolerance = 1e-10;
  options.gradient_tolerance = 1e-7;
  ceres::GradientProblemSolver::Summary summary;
  std::vector<double> trial = log_s;
  ceres::Solve(options, problem, trial.data(), &summary);
  if (summary.IsSolutionUsable() && std::all_of(trial.begin(), trial.end(), [](double x) { return std::isfinite(x); })) log_s = trial;
  for (double& x : log_s) x = std::clamp(x, std::log(kScatterFloor), 7.0);
}

ImpactModel ModelAt(const FitTask& task, double mu, double e) { return {task.law, e, mu, std::max(mu, task.mu_s_floor)}; }

Mat TotalCovariance(const FitTask& task, const FitPoint& point, int i) {
  Mat S = point.at[i].N;
  const std::vector<int> group = ImpulseGroups(task, static_cast<int>(S.rows()));
  for (int k = 0; k < S.rows(); ++k) S(k, k) += ScatterVariance(point.log_s[task.one_scatter ? 0 : group[k]]);
  return S;
}

FitPoint EvaluateAt(const FitTask& task, double mu, double e, std::vector<double> log_s) {
  FitPoint point;
  point.mu = mu;
  point.e = e;
  point.ok = true;
  const ImpactModel model = ModelAt(task, mu, e);
  for (const PreparedEvent& event : *task.events) {
    point.at.push_back(EvaluateEvent(event, model, Need::kNoise));
    point.ok = point.ok && point.at.back().ok;
  }
  if (!point.ok) {
    point.cost = std::numeric_limits<double>::infinity();
    point.log_s = std::move(log_s);
    return point;
  }
  const VarianceData data = ImpulseData(task, point);
  if (!task.fit_discrepancy) {
    log_s.assign(2, std::log(kScatterFloor));
  } else {
    if (log_s.empty()) {  // moments, as a start
      std::array<double, 2> sum{1e-12, 1e-12}, count{1e-6, 1e-6};
      for (std::size_t i = 0; i < data.r.size(); ++i) {
        for (int k = 0; k < data.r[i].size(); ++k) {
          // Bounded, so that a wild event does not put the start far off.
          sum[data.group[k]] += data.multiplicity[i] * std::min(data.r[i][k] * data.r[i][k], 0.25);
          count[data.group[k]] += data.multiplicity[i];
        }
      }
      for (int g = 0; g < 2; ++g) log_s.push_back(0.5 * std::log(sum[g] / count[g]));
    }
    std::vector<double> fitted(log_s.begin(), log_s.begin() + data.n_groups);
    FitVariance(data, task.shape, fitted);
    log_s.assign(2, fitted[0]);
    if (data.n_groups == 2) log_s[1] = fitted[1];
  }
  point.log_s = std::move(log_s);
  point.cost = VarianceCost(data, task.shape, point.log_s.data(), nullptr);
  point.ok = std::isfinite(point.cost);
  return point;
}

FitPoint FitFrom(const FitTask& task, const FitPoint& start, bool free_mu, bool free_e) {
  FitPoint best = EvaluateAt(task, start.mu, start.e, start.log_s);
  if (!free_mu && !free_e) return best;
  // Coefficients and scatter are nearly orthogonal, so a few alternations do; each is a descent of the same cost but for the noise, which
  // follows the coefficients.
  constexpr int kRounds = 12;
  for (int round = 0; round < kRounds && best.ok; ++round) {
    double mu = best.mu, e = best.e;
    if (!DescendCoefficients(task, best, free_mu, free_e, mu, e)) break;
    FitPoint next = EvaluateAt(task, mu, e, best.log_s);
    if (!next.ok || !(next.cost < best.cost)) break;
    const double gain = best.cost - next.cost;
    best = std::move(next);
    if (gain < 1e-7) break;
  }
  return best;
}

double CostAt(const FitTask& task, const FitPoint& at, double mu, double e, Eigen::Vector2d* gradient) {
  double cost = 0;
  if (gradient != nullptr) gradient->setZero();
  for (std::size_t i = 0; i < task.events->size(); ++i) {
    const EventAt now = EvaluateEvent((*task.events)[i], ModelAt(task, mu, e), Need::kDerivative);
    const Vec r = now.r - at.at[i].shift;
    const Mat S = TotalCovariance(task, at, static_cast<int>(i));
    const Eigen::LLT<Mat> llt(S);
    const Vec solved = llt.solve(r);
    const std::array<double, 3> rho = task.shape(r.dot(solved));
    cost += 0.5 * task.multiplicity[i] * (rho[0] + 2 * Mat(llt.matrixL()).diagonal().array().log().sum());
    if (gradient != nullptr) *gradient += task.multiplicity[i] * rho[1] * (now.G.transpose() * solved);
  }
  return cost;
}

}  // namespace impactlab::internal
