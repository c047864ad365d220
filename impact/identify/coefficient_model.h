#pragma once
// Models of the coefficients: what friction and restitution depend on, fitted to events and chosen
// by how well they predict.
//
// A surface is one pair of numbers (mu, e) only to first order. Restitution falls with speed, e = 1
// - alpha |v_n-|^m (Sun 2017, eq. 1.21; m = 1 is Hunt and Crossley's), which is fitted as the
// value at a reference speed v_0 and the exponent:
//   e(v) = 1 - (1 - e_0) (v / v_0)^m,  alpha = (1 - e_0) v_0^-m,
// so that m = 0 is the constant and the two numbers are nearly uncorrelated. Groups (material
// pairs, surfaces, specimens) may share a coefficient (complete pooling), have their own that know
// nothing of each other (none), or be drawn from a population whose spread is fitted (partial): a
// group of few events then leans on the others as far as the spread allows. Friction and
// restitution may change in a straight line with the order of the recordings of a group (wear,
// warming, another day), by the amounts from the first to the last. Static friction may exceed
// kinetic, and contacts that stick may spring back along the surface (e_t of ImpactModel).
//
// Models are chosen by the log predictive density of recordings left out, never by chi-square
// alone; information criteria stand beside it. Sources: hierarchical models, Gelman and Hill
// (2007); restricted maximum likelihood, Patterson and Thompson, Biometrika 58 (1971) 545;
// cross-validation and its error, Vehtari, Gelman and Gabry, Stat. Comput. 27 (2017) 1413.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "impact/identify/identify.h"

namespace impactlab {

// Events of one material pair, surface or specimen.
struct EventGroup {
  std::string name;
  Body body;
  std::vector<ImpactEvent> events;
};

enum class Pooling { kComplete, kPartial, kNone };

struct CoefficientModel {
  Pooling friction = Pooling::kComplete, restitution = Pooling::kComplete;
  bool fit_exponent = false;  // m is fitted
  double exponent = 0;        // m where it is not: 0 constant, 1 linear in speed
  bool fit_order = false;     // mu and e change with the order of the recordings
  bool fit_mu_s = false;      // static friction above the kinetic one
  bool fit_e_t = false;       // tangential restitution of contacts that stick
};
// Name used in files: "constant", "speed" (m fitted), "speed1" (m = 1), "order", "static",
// "tangential",
// "groups" (partial pooling), "separate" (none), "mugroups", "eseparate" ..., joined by "_" in this
// order: "speed_groups".
std::string ModelName(const CoefficientModel& model);
// The model of such a name. ConfigError that lists them.
CoefficientModel ParseModel(const std::string& name);

// Coefficients of one group at the reference speed, the population's knowledge included.
struct GroupEstimate {
  std::string name;
  int n_events = 0, n_recordings = 0;  // used
  ParameterEstimate mu_k, e;
};

struct CoefficientFit {
  CoefficientModel model;
  std::string law;
  bool ok = false;
  std::string reason;               // why not ok
  double reference_speed = 1;       // v_0, the geometric mean of |v_n-| [m/s]
  double slowest = 0, fastest = 0;  // |v_n-| of the events used [m/s]
  // "mu_k", the coefficient of restitution at v_0, then "exponent", "alpha", "change_mu_k",
  // "change_e_star" (of the law's coefficient), "mu_s" and "e_t" where fitted, "sd_mu_k", "sd_e" of
  // the population where pooled partially. Of groups that are not pooled, the first two are the
  // mean over the groups.
  std::vector<ParameterEstimate> parameters;
  Eigen::Matrix3d covariance = Eigen::Matrix3d::Zero();  // of mu_k, e at v_0 and m
  std::vector<GroupEstimate> groups;
  double loglik = 0;  // marginal, of the impulses given the couples
  // coefficients, spreads and scatters, each group's own where they are not pooled
  double parameters_used = 0;
  int n_events = 0, n_recordings = 0;
  double aic = 0, bic = 0;  // by `parameters_used`; BIC counts recordings
  const ParameterEstimate* Find(const std::string& name) const;
};

// Fits one model. Only accepted, finite, approaching events are used. Never throws for what data
// say: `ok` is false and `reason` says why. Intervals are Student's on the curvature and its
// jackknife over recordings, over groups where groups differ. Groups whose bodies are some planar
// and some not throw ConfigError.
CoefficientFit FitCoefficients(std::span<const EventGroup> groups, RestitutionLaw law,
                               const CoefficientModel& model, const IdentifyOptions& options = {});

// A model beside the others.
struct ModelScore {
  CoefficientFit fit;
  int folds = 0;
  // log predictive density of the recordings left out, and its standard error
  double elpd = 0, sd_elpd = 0;
  double behind = 0, sd_behind = 0;  // of the best model less this one, recording by recording
  double delta_aic = 0, delta_bic = 0;
  bool chosen = false;
  std::string verdict;  // one sentence
};

// Fits and cross-validates the models over `folds` of whole recordings (dealt in each group by
// `seed`). Chosen is the one of fewest parameters that is not behind the best by more than its
// standard error; of those with e_t alone where the options always fit it, of those without alone
// where they never do. A fold that leaves a group without events predicts it from the population.
std::vector<ModelScore> CompareModels(std::span<const EventGroup> groups, RestitutionLaw law,
                                      std::span<const CoefficientModel> models, int folds,
                                      const IdentifyOptions& options = {});

}  // namespace impactlab
