#pragma once
// Identification of friction and restitution from events with covariances.

#include <cstdint>
#include <functional>
#include <span>

#include "data/fit_result.h"
#include "impact/event.h"
#include "impact/solve.h"

namespace impactlab {

enum class Likelihood { kGaussian, kStudentT, kContamination };

struct IdentifyOptions {
  Likelihood likelihood = Likelihood::kStudentT;  // surfaces produce a few wild impacts; Student-t keeps a proper likelihood for the intervals
  double student_dof = 4;          // degrees of freedom of the Student-t
  double contamination = 0.05;     // share of wild events of the contamination likelihood
  double contamination_scale = 10; // their sd relative to the ordinary events
  bool fit_discrepancy = true;     // false: pixel noise alone explains the scatter
  bool fit_mu_s = false;           // false: mu_s = mu_k
  int bootstrap = 0;               // resamples over recordings; 0 leaves sd_bootstrap empty
  bool intervals = true;           // false: values, covariance and discrepancy only (refits of a cross-validation)
  bool influence = true;
  int grid = 0;                    // points a side of the confidence region; 0 leaves it out
  std::uint64_t seed = 1;
  std::function<void(double)> progress = {};  // share done, for long runs
};

// Fits (mu_k, e) of `start.law`; `start` gives the first guess. Only accepted events are used.
LawFit Identify(std::span<const ImpactEvent> events, const Body& body, ImpactModel start, const IdentifyOptions& options = {});

// Prediction of one event: rigid-body plus state with the covariance that its inputs (minus state, lever, mu, e) and the discrepancy give.
struct Prediction {
  ImpactOutcome outcome;
  Eigen::Matrix<double, 6, 1> plus = Eigen::Matrix<double, 6, 1>::Zero();         // v (3), omega (3) in W
  Eigen::Matrix<double, 6, 6> cov = Eigen::Matrix<double, 6, 6>::Zero();          // of `plus`: inputs, coefficients and discrepancy
  Eigen::Matrix<double, 6, 6> cov_difference = Eigen::Matrix<double, 6, 6>::Zero();  // of predicted - measured, cross terms included
};
// `fit` supplies the covariance of (mu, e) and the discrepancy.
Prediction Predict(const ImpactEvent& event, const Body& body, const ImpactModel& model, const LawFit& fit);
ImpactModel ModelOf(const LawFit& fit);

}  // namespace impactlab
