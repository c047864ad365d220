#pragma once
// The likelihood of (mu_k, e) and of the discrepancy, and its maximum; private to the impact room.
//
// -2 log L = sum_i m_i [ log det S_i + rho(q_i) ], q_i = r_i' S_i^-1 r_i, S_i = N_i + diag(s_t^2, (s_t^2,) s_n^2): the marginal likelihood
// of an event whose minus state, plus state and lever are all noisy (linearised errors in variables) and whose impulse scatters from event
// to event. rho is -2 log of the density's shape, up to constants that make different likelihoods comparable.

#include <Eigen/Core>
#include <array>
#include <vector>

#include "impact/identify.h"
#include "impact/identify_event.h"

namespace impactlab::internal {

// Shape of an elliptical density of dimension m as a function of the squared Mahalanobis distance q.
class Shape {
 public:
  Shape(const IdentifyOptions& options, int dim);
  // rho, rho' and rho''. rho' is the event's weight: 1 for Gaussian, falls with q for the others.
  std::array<double, 3> operator()(double q) const;
  int dim() const { return dim_; }

 private:
  Likelihood kind_;
  int dim_;
  double dof_, share_, scale_, constant_;
};

// Scatter standard deviations of one factor of the likelihood: component k of an event has variance s[group[k]]^2.
struct VarianceData {
  std::vector<Vec> r;
  std::vector<Mat> N;
  std::vector<double> multiplicity;
  std::vector<int> group;  // of each component
  int n_groups = 1;
};
// Half of -2 log L as a function of log s, and its gradient.
double VarianceCost(const VarianceData& data, const Shape& shape, const double* log_s, double* gradient);
// Minimum of VarianceCost over log s, from `log_s`.
void FitVariance(const VarianceData& data, const Shape& shape, std::vector<double>& log_s);

inline constexpr double kScatterFloor = 1e-9;  // relative scatter below which an impulse counts as exact
inline constexpr double kMuMax = 20;           // friction above which nothing is tried

struct FitTask {
  const std::vector<PreparedEvent>* events = nullptr;
  std::vector<double> multiplicity;  // of each event; resampled by the bootstrap
  RestitutionLaw law = RestitutionLaw::kEnergetic;
  double mu_s_floor = 0;  // static friction is max(mu_k, this)
  bool fit_discrepancy = true;
  bool one_scatter = false;  // too few events for two variances
  Shape shape;
};

struct FitPoint {
  double mu = 0, e = 0.5;
  std::vector<double> log_s;  // of s_t, s_n
  double cost = 0;            // half of -2 log L of the impulses given the couples
  std::vector<EventAt> at;
  bool ok = false;
};

ImpactModel ModelAt(const FitTask& task, double mu, double e);
// Residuals, noise and best scatter at a fixed (mu, e).
FitPoint EvaluateAt(const FitTask& task, double mu, double e, std::vector<double> log_s);
// Minimum from `start` over the free parameters and the scatter.
FitPoint FitFrom(const FitTask& task, const FitPoint& start, bool free_mu, bool free_e);

// Same as the cost at (mu, e) and fixed scatter, with the noise linearised at `at`; fills the gradient by (mu, e). For tests and the
// sandwich.
double CostAt(const FitTask& task, const FitPoint& at, double mu, double e, Eigen::Vector2d* gradient);

// S_i at a point.
Mat TotalCovariance(const FitTask& task, const FitPoint& point, int i);

}  // namespace impactlab::internal
