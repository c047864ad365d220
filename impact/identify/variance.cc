#include "impact/identify/detail/variance.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace impactlab::impact {
namespace {

// Fixed sizes: most of a fit's time would otherwise go into the bookkeeping of matrices of two
// rows.
template <int M>
double CostOf(const VarianceData& data, const Shape& shape, const double* log_s,
              Eigen::Vector4d* gradient, Eigen::Matrix4d* hessian) {
  using MatM = Eigen::Matrix<double, M, M>;
  using VecM = Eigen::Matrix<double, M, 1>;
  const int n_groups = data.n_groups;
  // d s^2 / d log s = 2 s^2, and twice that again
  std::array<double, kMaxGroups> variance{}, slope{};
  for (int g = 0; g < n_groups; ++g) {
    variance[g] = ScatterVariance(log_s[g]);
    slope[g] = variance[g] > kScatterFloor * kScatterFloor ? 2 * variance[g] : 0;
  }
  double cost = 0;
  if (gradient != nullptr) gradient->setZero();
  if (hessian != nullptr) hessian->setZero();
  for (std::size_t i = 0; i < data.r.size(); ++i) {
    const double multiplicity = data.multiplicity[i];
    if (multiplicity == 0) continue;
    MatM S = data.N[i];
    for (int g = 0; g < n_groups; ++g) S += variance[g] * data.E[i][g];
    const Eigen::LLT<MatM> llt(S);
    if (llt.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
    const VecM r = data.r[i];
    const VecM x = llt.solve(r);
    const std::array<double, 3> rho = shape(r.dot(x));
    double det = 1;
    for (int k = 0; k < M; ++k) det *= llt.matrixLLT()(k, k);
    cost += 0.5 * multiplicity * (2 * std::log(det) + rho[0]);
    if (gradient == nullptr) continue;
    const MatM inverse = llt.solve(MatM::Identity());
    std::array<MatM, kMaxGroups> SE;
    std::array<VecM, kMaxGroups> Ex;
    std::array<double, kMaxGroups> x_Ex;
    for (int g = 0; g < n_groups; ++g) {
      const MatM E = data.E[i][g];
      SE[g] = inverse * E;
      Ex[g] = E * x;
      x_Ex[g] = x.dot(Ex[g]);
      (*gradient)[g] += 0.5 * multiplicity * slope[g] * (SE[g].trace() - rho[1] * x_Ex[g]);
    }
    if (hessian == nullptr) continue;
    for (int g = 0; g < n_groups; ++g) {
      for (int h = 0; h <= g; ++h) {
        double second = slope[g] * slope[h] *
                        (-(SE[g] * SE[h]).trace() + rho[2] * x_Ex[g] * x_Ex[h] +
                         2 * rho[1] * Ex[g].dot(inverse * Ex[h]));
        if (g == h) second += 2 * slope[g] * (SE[g].trace() - rho[1] * x_Ex[g]);
        (*hessian)(g, h) += 0.5 * multiplicity * second;
      }
    }
  }
  if (hessian != nullptr) *hessian = Eigen::Matrix4d(hessian->selfadjointView<Eigen::Lower>());
  return cost;
}

// Newton's method with Levenberg's damping, within bounds. Not by the driver of data/math: the cost
// is a likelihood and no sum of squares, its second derivative is exact and may be negative, and
// its matrices are of fixed size (most of a fit's time). Returns the cost reached.
double Descend(const VarianceData& data, const Shape& shape, std::vector<double>& log_s) {
  constexpr int kIterations = 60;
  constexpr double kLongestStep = 2;  // of log s
  // above the floor there is a slope left to see
  const double lowest = std::log(kScatterFloor) + 0.01;
  Eigen::Vector4d gradient;
  Eigen::Matrix4d hessian;
  std::array<double, kMaxGroups> highest{};
  for (std::size_t g = 0; g < log_s.size(); ++g)
    highest[g] = std::max(lowest, std::log(data.most[g]));
  const auto clamped = [&](double x, std::size_t g) { return std::clamp(x, lowest, highest[g]); };
  for (std::size_t g = 0; g < log_s.size(); ++g) log_s[g] = clamped(log_s[g], g);
  double cost = VarianceCost(data, shape, log_s.data(), &gradient, &hessian);
  double damping = 1e-3;
  for (int iteration = 0; iteration < kIterations && std::isfinite(cost); ++iteration) {
    // What its bound holds takes no part in the step.
    for (std::size_t g = 0; g < log_s.size(); ++g) {
      if (log_s[g] < highest[g] || gradient[static_cast<Eigen::Index>(g)] > 0) continue;
      const auto k = static_cast<Eigen::Index>(g);
      gradient[k] = 0;
      hessian.row(k).setZero();
      hessian.col(k).setZero();
    }
    if (gradient.cwiseAbs().maxCoeff() < 1e-7 * data.r.size()) break;  // zero beyond n_groups
    Eigen::Matrix4d damped = hessian;
    const double scale = std::max(1e-3, hessian.diagonal().cwiseAbs().maxCoeff());
    for (int g = 0; g < kMaxGroups; ++g) damped(g, g) += g < data.n_groups ? damping * scale : 1;
    const Eigen::LLT<Eigen::Matrix4d> llt(damped);
    if (llt.info() != Eigen::Success) {
      damping = std::max(10 * damping, 1e-2);
      if (damping > 1e8) break;
      continue;
    }
    const Eigen::Vector4d step = llt.solve(-gradient);
    std::vector<double> trial = log_s;
    for (std::size_t g = 0; g < log_s.size(); ++g)
      trial[g] = clamped(
          log_s[g] + std::clamp(step[static_cast<Eigen::Index>(g)], -kLongestStep, kLongestStep),
          g);
    const double trial_cost = VarianceCost(data, shape, trial.data(), nullptr, nullptr);
    if (trial_cost < cost) {
      const double gain = cost - trial_cost;
      log_s = trial;
      cost = VarianceCost(data, shape, log_s.data(), &gradient, &hessian);
      damping = std::max(0.1 * damping, 1e-9);
      if (gain < 1e-9 * (1 + std::abs(cost))) break;
    } else {
      damping = std::max(10 * damping, 1e-3);
      if (damping > 1e8) break;
    }
  }
  return cost;
}

double MeanWeight(const VarianceData& data, const Shape& shape, const std::vector<double>& log_s) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < data.r.size(); ++i) {
    Mat S = data.N[i];
    for (int g = 0; g < data.n_groups; ++g) S += ScatterVariance(log_s[g]) * data.E[i][g];
    sum += data.multiplicity[i] * shape(data.r[i].dot(S.llt().solve(data.r[i])))[1];
    count += data.multiplicity[i];
  }
  return count > 0 ? sum / count : 1;
}

}  // namespace

Shape::Shape(const IdentifyOptions& options, int dim)
    : kind_(options.likelihood == Likelihood::kAdaptive ? Likelihood::kStudentT
                                                        : options.likelihood),
      dim_(dim),
      dof_(options.student_dof),
      share_(options.contamination),
      scale_(options.contamination_scale) {
  constant_ = dim * std::log(2 * std::numbers::pi);
  if (kind_ == Likelihood::kStudentT) {
    constant_ = dim * std::log(dof_ * std::numbers::pi) -
                2 * (std::lgamma(0.5 * (dof_ + dim)) - std::lgamma(0.5 * dof_));
  }
}

std::array<double, 3> Shape::operator()(double q) const {
  switch (kind_) {
    case Likelihood::kGaussian:
      return {q + constant_, 1, 0};
    case Likelihood::kAdaptive:
    case Likelihood::kStudentT: {
      const double weight = (dof_ + dim_) / (dof_ + q);
      return {(dof_ + dim_) * std::log1p(q / dof_) + constant_, weight, -weight / (dof_ + q)};
    }
    case Likelihood::kContamination: {
      // Mixture of precisions 1 and 1/scale^2: the weight is the posterior mean of the precision,
      // its slope minus half its variance.
      const double precision = 1 / (scale_ * scale_);
      const double log_a = std::log1p(-share_) - 0.5 * q;
      const double log_b =
          std::log(share_) + 0.5 * dim_ * std::log(precision) - 0.5 * q * precision;
      const double top = std::max(log_a, log_b);
      const double a = std::exp(log_a - top), b = std::exp(log_b - top);
      const double share = b / (a + b), gap = 1 - precision;
      return {-2 * (top + std::log(a + b)) + constant_, 1 - share * gap,
              -0.5 * share * (1 - share) * gap * gap};
    }
  }
  return {q, 1, 0};
}

double Shape::Draw(std::mt19937_64& random) const {
  switch (kind_) {
    case Likelihood::kGaussian:
      return 1;
    case Likelihood::kAdaptive:
    case Likelihood::kStudentT:
      return std::sqrt(dof_ / std::chi_squared_distribution<double>(dof_)(random));
    case Likelihood::kContamination:
      return std::uniform_real_distribution<double>()(random) < share_ ? scale_ : 1;
  }
  return 1;
}

double ScatterVariance(double log_s) {
  const double s = std::max(std::exp(std::clamp(log_s, -50.0, 50.0)), kScatterFloor);
  return s * s;
}

double VarianceCost(const VarianceData& data, const Shape& shape, const double* log_s,
                    Eigen::Vector4d* gradient, Eigen::Matrix4d* hessian) {
  switch (shape.dim()) {
    case 1:
      return CostOf<1>(data, shape, log_s, gradient, hessian);
    case 2:
      return CostOf<2>(data, shape, log_s, gradient, hessian);
    default:
      return CostOf<3>(data, shape, log_s, gradient, hessian);
  }
}

void FitVariance(const VarianceData& data, const Shape& shape, std::vector<double>& log_s) {
  double cost = Descend(data, shape, log_s);
  // In log s a variance of zero is flat, so a descent that passed through zero stays there. In s^2
  // it is not: where the slope calls for more, a second descent begins from a share of the largest
  // variance.
  for (int repeat = 0; repeat < data.n_groups && data.n_groups > 1; ++repeat) {
    Eigen::Vector4d gradient;
    VarianceCost(data, shape, log_s.data(), &gradient, nullptr);
    const double largest = ScatterVariance(*std::max_element(log_s.begin(), log_s.end()));
    constexpr double kShare = 0.1;
    int steepest = -1;
    double best_gain = -0.02;  // of cost: less is not worth the trouble
    for (int g = 0; g < data.n_groups; ++g) {
      const double variance = ScatterVariance(log_s[g]);
      if (variance > 0.1 * kShare * largest) continue;
      const double gain = gradient[g] / (2 * variance) * kShare * largest;
      if (gain < best_gain) {
        best_gain = gain;
        steepest = g;
      }
    }
    if (steepest < 0) break;
    std::vector<double> trial = log_s;
    trial[steepest] = 0.5 * std::log(kShare * largest);
    const double trial_cost = Descend(data, shape, trial);
    if (!(trial_cost < cost - 1e-6)) break;
    cost = trial_cost;
    log_s = trial;
  }
  // A mixture has a second valley, in which every event is an outlier and the ordinary scatter is
  // nobody's.
  constexpr double kMostlyWild = 0.5;
  if (shape.wild_scale() > 1 && MeanWeight(data, shape, log_s) < kMostlyWild) {
    std::vector<double> trial = log_s;
    for (double& x : trial) x += std::log(shape.wild_scale());
    const double trial_cost = Descend(data, shape, trial);
    if (trial_cost < cost) log_s = trial;
  }
}

}  // namespace impactlab::impact
