#pragma once
// The likelihood of residuals whose covariance is partly unknown, and its maximum over the unknown
// variances; private to the impact room.
//
// -2 log L = sum_i m_i [ log det S_i + rho(q_i) ], q_i = r_i' S_i^-1 r_i, S_i = N_i + sum_g s_g^2
// E_gi. rho is -2 log of the density's shape, with the constants that make different likelihoods
// comparable.

#include <Eigen/Core>
#include <array>
#include <random>
#include <vector>

#include "impact/identify/detail/event_residual.h"
#include "impact/identify/identify.h"

namespace impactlab::impact {

// Shape of an elliptical density of dimension m as a function of the squared Mahalanobis distance
// q.
class Shape {
 public:
  // kAdaptive is between two shapes: taken for the heavier one.
  Shape(const IdentifyOptions& options, int dim);
  // rho, rho' and rho''. rho' is the event's weight: 1 for Gaussian, falls with q for the others.
  std::array<double, 3> operator()(double q) const;
  int dim() const { return dim_; }
  // Factor on a normal vector that makes it a draw of this density.
  double Draw(std::mt19937_64& random) const;
  // Scale of outlying events of a mixture; 1 where there is none.
  double wild_scale() const { return kind_ == Likelihood::kContamination ? scale_ : 1; }

 private:
  Likelihood kind_;
  int dim_;
  double dof_, share_, scale_, constant_;
};

inline constexpr int kMaxGroups = 4;
// relative scatter below which an impulse counts as exact
inline constexpr double kScatterFloor = 1e-9;
// Friction and restitution are bounded below by zero: from impact to impact friction varies by a
// share of itself, restitution by half of one. Without an end the scatter of friction grows, where
// every impact sticks, until it explains what a few of them happen to differ by, and a plateau of
// the profile slopes.
inline constexpr double kMostFrictionScatter = 0.5, kMostRestitutionScatter = 0.5;

struct VarianceData {
  std::vector<Vec> r;
  std::vector<Mat> N;
  std::vector<std::array<Mat, kMaxGroups>> E;  // of each event and group
  std::vector<double> multiplicity;
  int n_groups = 1;
  std::array<double, kMaxGroups> most{1e3, 1e3, 1e3, 1e3};  // no s_g is tried above it
};

// s_g^2, not below the floor.
double ScatterVariance(double log_s);
// Half of -2 log L as a function of log s (n_groups of them), its gradient and Hessian where asked
// for. Infinite where S_i is not positive definite.
double VarianceCost(const VarianceData& data, const Shape& shape, const double* log_s,
                    Eigen::Vector4d* gradient, Eigen::Matrix4d* hessian);
// Minimum of VarianceCost over log s, from `log_s`, by Newton's method with Levenberg's damping: a
// variance of zero is a flat end.
void FitVariance(const VarianceData& data, const Shape& shape, std::vector<double>& log_s);

}  // namespace impactlab::impact
