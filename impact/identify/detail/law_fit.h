#pragma once
// The likelihood of (mu_k, e) and of the scatter, and its maximum; private to the impact room.
//
// The residual of an event is noisy through its minus state, plus state and lever (linearised
// errors in variables: N_i), and its impulse scatters from event to event: S_i = N_i + diag(s_t^2,
// (s_t^2,) s_n^2) + s_mu^2 C_i. C_i is the second moment of the impulse's response to a friction
// that varies by one unit from event to event: events that slide scatter with their friction,
// events that stick do not, and a scatter common to both would be too small for the ones that tell
// mu and too large for the others.

#include <Eigen/Core>
#include <array>
#include <vector>

#include "impact/identify/detail/event_residual.h"
#include "impact/identify/detail/variance.h"

namespace impactlab::impact {

inline constexpr double kMuMax = 20;            // friction above which nothing is tried
inline constexpr double kSmallFriction = 0.05;  // friction below it scatters as if it were as large
// Fewer events tell no scatter of each component, and no tails: one event met exactly makes heavy
// tails likelier whatever the others do, and so do components that scatter differently.
inline constexpr int kLeastForComponents = 8, kLeastForTails = kLeastForComponents;
// Levels of the first scan and of the search for further valleys. Mode boundaries lie close
// together at small friction.
inline const std::vector<double> kMuLevels{0,   0.03, 0.07, 0.12, 0.19, 0.28,
                                           0.4, 0.55, 0.75, 1,    1.5,  3};
inline const std::vector<double> kELevels{0.1, 0.35, 0.6, 0.85};

struct FitTask {
  const std::vector<PreparedEvent>* events = nullptr;
  std::vector<double> multiplicity;  // of each event; resampled by the bootstrap
  RestitutionLaw law = RestitutionLaw::kEnergetic;
  double mu_s_floor = 0;  // static friction is max(mu_k, this)
  bool free_e_t = false;  // tangential restitution is fitted as well
  bool fit_discrepancy = true;
  // that the scatter of each group may be, besides MostScatter
  std::array<double, kMaxGroups> most{1e3, 1e3, 1e3, 1e3};
  // 1: one scatter for all components; 2: s_t, s_n; 3: and s_mu; 4: and s_e
  int n_groups = 4;
  Shape shape;
};

struct FitPoint {
  double mu = 0, e = 0.5;
  double e_t = 0;             // tangential restitution
  std::vector<double> log_s;  // of each group
  double cost = 0;            // half of -2 log L of the impulses given the couples
  std::vector<EventAt> at;
  std::vector<Mat> S;  // total covariance of each event
  bool ok = false;
};

ImpactModel ModelAt(const FitTask& task, double mu, double e, double e_t = 0);
// Fits the scatter s_c of the couples, which no coefficient explains, in space apart about the
// tangents and about the normal, and sets what the impulses need of it. Returns half of -2 log L.
double FitCouple(std::vector<PreparedEvent>& events, const IdentifyOptions& options);
// Scatter of ordinary events at an optimum; wild ones are bounded.
Discrepancy ScatterOf(const std::vector<PreparedEvent>& events, const FitPoint& best);
// How much of the scatter's shape so many events can tell apart. A scatter of its own for each
// component of few events ends at zero where the coefficients meet that component all but exactly.
int ScatterGroups(int n);
// The same of the couple, which has `dim_c` components.
int CoupleGroups(int dim_c, int n);
// Shapes C_i of the scatter of one event, of each group.
std::array<Mat, kMaxGroups> ScatterShapes(const FitTask& task, const PreparedEvent& event,
                                          const EventAt& at, double mu, double e, int n_groups,
                                          double e_t = 0);
// The most that each group's scatter may be where friction is `mu`.
std::array<double, kMaxGroups> MostScatter(double mu);
// Residuals, noise and best scatter at a fixed (mu, e). `with_noise` false leaves out the noise,
// which a coarse scan can do without.
FitPoint EvaluateAt(const FitTask& task, double mu, double e, std::vector<double> log_s,
                    bool with_noise = true, double e_t = 0);
// Minimum from `start` over the free parameters and the scatter, to `tolerance` in cost.
// Tangential restitution is free where the task says so, else that of `start`.
FitPoint FitFrom(const FitTask& task, const FitPoint& start, bool free_mu, bool free_e,
                 double tolerance);

// `best`, an end of FitFrom with all coefficients free, moved to the minimum of the whole cost
// where the descents, which hold the noise, stopped beside it.
FitPoint Refined(const FitTask& task, FitPoint best);

// Best optimum of several descents: the user's guess and, with `scan`, the valleys of a coarse scan
// across the mode boundaries.
struct Optimum {
  FitPoint best;  // not ok where nothing could be evaluated
  int starts = 0, agreeing = 0;
};
Optimum FitBest(const FitTask& task, const ImpactModel& start, bool scan);

// Whether one event alone tells a coefficient that others tell as directly. The likelihood has no
// maximum where the scatter of one component may vanish and a scatter of the coefficients stand for
// it in all events but one, which is then met exactly.
bool RestsOnOneEvent(const FitTask& task, const FitPoint& point);

// A range of static friction within which no event changes its path, and the best cost there.
struct StaticLevel {
  double lower = 0, upper = 0, cost = 0;  // upper may be infinite
};
// Fits static friction: only its order among the critical ratios |A_tn| / A_tt of the events
// matters, so every range between them is tried. Leaves the best range in `task` and its optimum in
// `best`; a single level means that nothing depends on it.
std::vector<StaticLevel> FitStaticFriction(FitTask& task, FitPoint& best);

}  // namespace impactlab::impact
