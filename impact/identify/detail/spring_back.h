#pragma once
// What measured impulses say against Coulomb's cone of friction, and the fit of contacts that
// spring back along the surface; private to the impact room.
//
// A contact that sticks and springs back takes the impulse (1 + e_t) times that which stops it: its
// ratio |J_t| / J_n follows the slip before, and its slip is reversed after. A fit without e_t can
// only take such impulses for sliding at some low friction with much scatter.

#include <vector>

#include "impact/identify/detail/law_fit.h"

namespace impactlab::impact {

// Whether two impacts or more lie beyond the cone of `mu`, or are measured to reverse their slip,
// by more than the noise of measurement, or many reverse it together though each within noise: a
// reason to try tangential restitution, no proof of it, for friction that scatters from impact to
// impact does the former, and contacts off the centre of mass the latter.
bool MaySpringBack(const std::vector<PreparedEvent>& events, double mu);

// Best optimum in (mu, e, e_t) of descents from `from` and, with `scan`, from the two likeliest of
// several pairs of higher friction and of e_t. The task has free_e_t.
Optimum FitSpringBack(const FitTask& task, const FitPoint& from, bool scan);

// Whether the gain in deviance over the best fit without e_t is beyond chance (one in two thousand,
// by Student's quantile and the jackknife), and e_t large enough to matter.
bool SpringsBack(const FitTask& task, const FitPoint& with, double gain);

// The cone held against every measured impulse: |J_t| - mu J_n over its standard deviation, noise
// and the scatter of the fit together.
struct ConeTest {
  int n = 0;                 // impacts that say anything of friction
  int beyond = 0;            // by more than three standard deviations
  double highest = 0;        // |J_t| / J_n of those beyond
  bool contradicts = false;  // more of them than the likelihood's tails allow
};
ConeTest HoldConeAgainst(const FitTask& task, const FitPoint& point, double mu);

// Whether impulses act along the slip before, in the mean over the impacts and beyond chance (one
// in ten thousand): no friction does, so that a fit ends at mu = 0 with scatter for the rest.
bool PushesAlongSlip(const std::vector<PreparedEvent>& events);

// At least so much friction is shown by impacts of which not one tells whether it slides: the lower
// end of the interval of its mean, where it may differ from impact to impact
// (LowerBoundOfCensoredMean of |J_t| / J_n).
double FrictionAtLeast(const std::vector<PreparedEvent>& events);

}  // namespace impactlab::impact
