#include "impact/identify_fit.h"

#include <ceres/ceres.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace impactlab::internal {
namespace {

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

// Second moment of the impulse's response to friction at mu +- h, per unit of friction variance. A derivative would jump where an event
// begins to stick; the finite step lets its share of the scatter fade out instead.
Mat FrictionResponse(const FitTask& task, const PreparedEvent& event, const EventAt& at, double mu, double e, double h) {
  const Vec here = at.r + at.shift;
  const EventAt above = EvaluateEvent(event, ModelAt(task, mu + h, e), Need::kResidual);
  if (!above.ok) return Mat::Zero(event.dim, event.dim);
  const Vec up = (above.r - here) / h;
  Vec down = up;
  const double h_down = std::min(h, mu);
  if (h_down > 0.1 * h) {
    const EventAt below = EvaluateEvent(event, ModelAt(task, mu - h_down, e), Need::kResidual);
    if (below.ok) down = (here - below.r) / h_down;
  }
  return 0.5 * (Mat(up.lazyProduct(up.transpose())) + Mat(down.lazyProduct(down.transpose())));
}

VarianceData ImpulseData(const FitTask& task, const FitPoint& point, int n_groups) {
  VarianceData data;
  const int dim = task.shape.dim(), last = dim - 1;
  Mat tangential = Mat::Identity(dim, dim), normal = Mat::Zero(dim, dim);
  if (n_groups > 1) {
    tangential(last, last) = 0;
    normal(last, last) = 1;
  }
  for (std::size_t i = 0; i < point.at.size(); ++i) {
    data.r.push_back(point.at[i].r);
    data.N.push_back(point.at[i].N);
    data.E.push_back({tangential, normal, Mat::Zero(dim, dim), Mat::Zero(dim, dim)});
    if (n_groups > 2) {
      const double h = std::clamp(std::exp(point.log_s[2]), 2e-3, 0.3 * std::max(point.mu, 0.05));
      data.E.back()[2] = FrictionResponse(task, (*task.events)[i], point.at[i], point.mu, point.e, h);
    }
    if (n_groups > 3) data.E.back()[3] = point.at[i].G.col(1).lazyProduct(point.at[i].G.col(1).transpose());
  }
  data.multiplicity = task.multiplicity;
  data.n_groups = n_groups;
  return data;
}

// One trust-region descent in (mu, e) with the noise and the scatter held.
bool DescendCoefficients(const FitTask& task, const FitPoint& point, bool free_mu, bool free_e, double tolerance, double& mu, double& e) {
  ceres::Problem::Options problem_options;
  problem_options.disable_all_safety_checks = true;
  ceres::Problem problem(problem_options);
  problem.AddParameterBlock(&mu, 1);
  problem.AddParameterBlock(&e, 1);
  for (std::size_t i = 0; i < task.events->size(); ++i) {
    if (task.multiplicity[i] == 0) continue;
    problem.AddResidualBlock(new EventCost(task, (*task.events)[i], point.at[i], point.S[i]),
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
  options.function_tolerance = 0.1 * tolerance / std::max(1.0, std::abs(point.cost));
  options.parameter_tolerance = 1e-10;
  options.gradient_tolerance = 1e-10;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return summary.IsSolutionUsable() && std::isfinite(mu) && std::isfinite(e);
}

}  // namespace

ImpactModel ModelAt(const FitTask& task, double mu, double e) { return {task.law, e, mu, std::max(mu, task.mu_s_floor)}; }

FitPoint EvaluateAt(const FitTask& task, double mu, double e, std::vector<double> log_s, bool with_noise) {
  FitPoint point;
  point.mu = mu;
  point.e = e;
  point.ok = true;
  const ImpactModel model = ModelAt(task, mu, e);
  for (const PreparedEvent& event : *task.events) {
    point.at.push_back(EvaluateEvent(event, model, with_noise ? Need::kNoise : Need::kResidual));
    if (!with_noise) point.at.back().N = Mat::Zero(event.dim, event.dim);
    point.ok = point.ok && point.at.back().ok;
  }
  const int n_groups = with_noise ? task.n_groups : std::min(task.n_groups, 2);
  for (int g = static_cast<int>(log_s.size()); g < n_groups; ++g) {
    if (g >= 2) {
      log_s.push_back(std::log(g == 2 ? 0.1 * std::max(mu, 0.05) : 0.02));
      continue;
    }
    // Moments, bounded so that a wild event does not put the start far off.
    double sum = 1e-12, count = 1e-6;
    for (std::size_t i = 0; i < point.at.size() && point.ok; ++i) {
      for (int k = 0; k < task.shape.dim(); ++k) {
        if (n_groups > 1 && (k + 1 == task.shape.dim()) != (g == 1)) continue;
        sum += task.multiplicity[i] * std::min(point.at[i].r[k] * point.at[i].r[k], 0.25);
        count += task.multiplicity[i];
      }
    }
    log_s.push_back(0.5 * std::log(sum / count));
  }
  log_s.resize(n_groups);
  point.log_s = std::move(log_s);
  point.cost = std::numeric_limits<double>::infinity();
  if (!point.ok) return point;
  const VarianceData data = ImpulseData(task, point, n_groups);
  if (task.fit_discrepancy || !with_noise) {
    FitVariance(data, task.shape, point.log_s);
  } else {
    point.log_s.assign(n_groups, std::log(kScatterFloor));
  }
  point.cost = VarianceCost(data, task.shape, point.log_s.data(), nullptr, nullptr);
  point.ok = std::isfinite(point.cost);
  for (std::size_t i = 0; i < data.N.size(); ++i) {
    point.S.push_back(data.N[i]);
    for (int g = 0; g < n_groups; ++g) point.S.back() += ScatterVariance(point.log_s[g]) * data.E[i][g];
  }
  return point;
}

FitPoint FitFrom(const FitTask& task, const FitPoint& start, bool free_mu, bool free_e, double tolerance) {
  FitPoint best = EvaluateAt(task, start.mu, start.e, start.log_s);
  if (!free_mu && !free_e) return best;
  // Coefficients and scatter are nearly orthogonal, so a few alternations do; each is a descent of the same cost but for the noise, which
  // follows the coefficients.
  constexpr int kRounds = 12;
  for (int round = 0; round < kRounds && best.ok; ++round) {
    double mu = best.mu, e = best.e;
    if (!DescendCoefficients(task, best, free_mu, free_e, tolerance, mu, e)) break;
    FitPoint next = EvaluateAt(task, mu, e, best.log_s);
    if (!next.ok || !(next.cost < best.cost)) break;
    const double gain = best.cost - next.cost;
    best = std::move(next);
    if (gain < tolerance) break;
  }
  return best;
}

std::vector<StaticLevel> FitStaticFriction(FitTask& task, FitPoint& best) {
  std::vector<double> ratios;
  for (const PreparedEvent& event : *task.events) {
    const Eigen::Matrix3d& A = event.event->contact.A_F;
    const Eigen::Vector2d needed = A.topLeftCorner<2, 2>().inverse() * A.topRightCorner<2, 1>();
    if (needed.norm() > best.mu) ratios.push_back(needed.norm());
  }
  std::sort(ratios.begin(), ratios.end());
  constexpr std::size_t kMaxLevels = 16;
  if (ratios.size() > kMaxLevels) {
    std::vector<double> some;
    for (std::size_t i = 0; i < kMaxLevels; ++i) some.push_back(ratios[i * (ratios.size() - 1) / (kMaxLevels - 1)]);
    ratios = some;
  }
  ratios.erase(std::unique(ratios.begin(), ratios.end()), ratios.end());
  std::vector<StaticLevel> levels;
  const FitPoint start = best;
  double best_floor = 0;
  for (std::size_t i = 0; i <= ratios.size(); ++i) {
    StaticLevel level{i == 0 ? start.mu : ratios[i - 1], i < ratios.size() ? ratios[i] : std::numeric_limits<double>::infinity(), 0};
    task.mu_s_floor = i == 0 ? 0 : std::isfinite(level.upper) ? 0.5 * (level.lower + level.upper) : 1.1 * level.lower;
    const FitPoint point = FitFrom(task, start, true, true, 1e-6);
    if (!point.ok) continue;
    level.cost = point.cost;
    // Ranges that no event tells apart are one.
    if (!levels.empty() && std::abs(levels.back().cost - level.cost) < 1e-9 * (1 + std::abs(level.cost))) {
      levels.back().upper = level.upper;
    } else {
      levels.push_back(level);
    }
    if (point.cost < best.cost - 1e-6) {
      best = point;
      best_floor = task.mu_s_floor;
    }
  }
  task.mu_s_floor = best_floor;
  return levels;
}

double CostAt(const FitTask& task, const FitPoint& at, double mu, double e, Eigen::Vector2d* gradient) {
  double cost = 0;
  if (gradient != nullptr) gradient->setZero();
  for (std::size_t i = 0; i < task.events->size(); ++i) {
    const EventAt now = EvaluateEvent((*task.events)[i], ModelAt(task, mu, e), Need::kDerivative);
    const Vec r = now.r - at.at[i].shift;
    const Eigen::LLT<Mat> llt(at.S[i]);
    const Vec solved = llt.solve(r);
    const std::array<double, 3> rho = task.shape(r.dot(solved));
    cost += 0.5 * task.multiplicity[i] * (rho[0] + 2 * Mat(llt.matrixL()).diagonal().array().log().sum());
    if (gradient != nullptr) *gradient += task.multiplicity[i] * rho[1] * (now.G.transpose() * solved);
  }
  return cost;
}

}  // namespace impactlab::internal
