#pragma once
// The interval of a coefficient by four methods that assume different things, side by side.
//
//   linear       Student's interval on the curvature at the optimum and its jackknife over
//                recordings (groups, where groups differ)
//   profile      where the likelihood, maximised over everything else, falls below what Student's
//                interval allows
//   bootstrap    quantiles of refits to resampled recordings (groups, where groups differ), widened
//                for few of them
//   monte_carlo  quantiles of refits to events drawn anew from the fit, noise and scatter as found
//                (JCGM 101)
//
// Linear and profile differ where the likelihood is no parabola: near a bound, or where events
// change their path of sliding and sticking inside the interval. Bootstrap and Monte Carlo differ
// where the scatter is not as modelled: few recordings that disagree, groups that are not told
// apart. Sources: Venzon and Moolgavkar, Appl. Stat. 37 (1988) 87; Hesterberg, Am. Stat. 69 (2015)
// 371 (widened quantiles); JCGM 101:2008.

#include <span>
#include <string>
#include <vector>

#include "impact/identify/coefficient_model.h"

namespace impactlab {

struct MethodInterval {
  std::string parameter;  // "mu_k", the coefficient of restitution, "exponent", "e_t"
  std::string method;     // "linear", "profile", "bootstrap", "monte_carlo"
  double value = 0, sd = 0, lower95 = 0, upper95 = 0;
  int refits = 0;  // that ended, of bootstrap and Monte Carlo
};

struct IntervalComparison {
  std::vector<MethodInterval> rows;
  // One sentence for each parameter: they agree, or which differs, by how much and why.
  std::vector<std::pair<std::string, std::string>> notes;
};

struct IntervalMethods {
  int bootstrap = 2000, monte_carlo = 2000;  // refits; 0 leaves the method out
  bool profile = true;
  int threads = 0;  // 0: all cores
};

// `fit` is not needed: the model is fitted again. Empty where it cannot be fitted. The same seed
// gives the same numbers on any number of threads.
IntervalComparison CompareIntervals(std::span<const EventGroup> groups, RestitutionLaw law,
                                    const CoefficientModel& model, const IntervalMethods& methods,
                                    const IdentifyOptions& options = {});

}  // namespace impactlab
