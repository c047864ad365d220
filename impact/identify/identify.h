#pragma once
// Identification of friction and restitution from events with covariances.
//
// An event's datum is its measured minus its predicted impulse. Minus state, plus state and lever
// are all noisy (errors in variables, by the linearised marginal likelihood), and the impulse
// scatters from event to event by far more than the pixels: independently along the tangent and the
// normal, with friction, and with restitution, each variance fitted by maximum likelihood. The
// measured couple about the contact point, which no coefficient explains, is used only for the
// noise it shares with the impulse: momentum that does not close is not penalised.
//
// Intervals are profile-likelihood intervals at Student's quantile, scaled by a
// leave-one-recording-out jackknife (cut short to the model's own information where few recordings
// inform a coefficient), so that they hold where the scatter is not as modelled; bounds clip them.
// An interval that is open on one side keeps its two-sided level: the side that is closed holds
// with 97.5 %.
//
// Sources: errors in variables, Fuller, Measurement Error Models (1987); profile intervals, Venzon
// and Moolgavkar, Appl. Stat. 37 (1988) 87; Student-t likelihood, Lange, Little and Taylor, JASA 84
// (1989) 881; jackknife of clusters, MacKinnon and White, J. Econometrics 29 (1985) 305.

#include <cstdint>
#include <functional>
#include <span>

#include "data/files/fit_result.h"
#include "impact/body/event.h"
#include "impact/law/solve.h"

namespace impactlab {

// kAdaptive: the likelier of kGaussian and kStudentT. Surfaces produce outlying impacts, which
// heavy tails take; the noise of measurement has none, and where it explains the impacts heavy
// tails would pass for scatter that is not there.
enum class Likelihood { kGaussian, kStudentT, kContamination, kAdaptive };

// Whether tangential restitution e_t of contacts that stick (ImpactModel) is fitted beside mu and
// e. kWhereNeeded: where impulses lie beyond the cone of the friction fitted without it, or slip is
// reversed, and the likelihood gains by more than chance; not without `intervals`.
enum class TangentialFit { kNever, kWhereNeeded, kAlways };

struct IdentifyOptions {
  Likelihood likelihood = Likelihood::kAdaptive;
  double student_dof = 4;           // degrees of freedom of the Student-t
  double contamination = 0.05;      // share of outlying events of the contamination likelihood
  double contamination_scale = 10;  // their sd relative to the ordinary events
  bool fit_discrepancy = true;      // false: pixel noise alone explains the scatter
  bool fit_mu_s = false;            // false: mu_s = mu_k
  TangentialFit tangential = TangentialFit::kWhereNeeded;
  int bootstrap = 0;  // resamples over recordings; 0 leaves sd_bootstrap empty
  // false: values, covariance and discrepancy only (refits of a cross-validation)
  bool intervals = true;
  bool influence = true;
  int grid = 0;  // points a side of the confidence region; 0 leaves it out
  std::uint64_t seed = 1;
  std::function<void(double)> progress = {};  // share done, for long runs
};

// Fits (mu_k, e) of `start.law`; `start` gives the first guess, a scan across the mode boundaries
// further ones. Only accepted events are used; those with a value that is not finite, or that do
// not approach the surface, are left out. Never throws because of what the data are: a coefficient
// they do not determine has `identifiable` false and a reason, and value NaN where no value is
// better than another (ModelOf still gives a usable model). So is friction whose cone the measured
// impulses contradict (more of them beyond it than noise and scatter allow), with e_t or without.
// `fit_mu_s` appends "mu_s", known only to lie between critical ratios of the events. Without
// `intervals` only `start` is descended from, and `sd` ignores kinks beside the optimum.
// `discrepancy` is the sd of ordinary events, wild ones bounded. `loglik` is the density of the
// wrench in units of each event's own momentum: comparable between laws and likelihoods for the
// same events. `likelihood` of the fit is the one that was used.
LawFit Identify(std::span<const ImpactEvent> events, const Body& body, ImpactModel start,
                const IdentifyOptions& options = {});

// `options` with the likelihood that `fit` came to, and with e_t where it has one: for fits that
// are compared with it.
IdentifyOptions WithLikelihoodOf(const LawFit& fit, IdentifyOptions options);

// Prediction of one event: rigid-body plus state with the covariance that its inputs (minus state,
// lever, mu, e, e_t) and the discrepancy give.
struct Prediction {
  ImpactOutcome outcome;
  // v (3), omega (3) in W
  Eigen::Matrix<double, 6, 1> plus = Eigen::Matrix<double, 6, 1>::Zero();
  // of `plus`: inputs, coefficients and discrepancy
  Eigen::Matrix<double, 6, 6> cov = Eigen::Matrix<double, 6, 6>::Zero();
  // of predicted - measured, cross terms included
  Eigen::Matrix<double, 6, 6> cov_difference = Eigen::Matrix<double, 6, 6>::Zero();
};
// `fit` supplies the covariance of (mu, e, e_t) and the discrepancy.
Prediction Predict(const ImpactEvent& event, const Body& body, const ImpactModel& model,
                   const LawFit& fit);
ImpactModel ModelOf(const LawFit& fit);

}  // namespace impactlab
