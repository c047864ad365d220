#include "impact/identify/identify.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "data/base/infinity.h"
#include "data/statistics/statistics.h"
#include "impact/identify/detail/law_fit.h"
#include "impact/identify/detail/profile_interval.h"
#include "impact/identify/detail/spring_back.h"

namespace impactlab {
namespace {

using impact::FitPoint;
using impact::FitTask;
using impact::Information;
using impact::PreparedEvent;
using impact::Profile;
using impact::StaticLevel;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

const char* LikelihoodName(Likelihood likelihood) {
  switch (likelihood) {
    case Likelihood::kGaussian:
      return "gaussian";
    case Likelihood::kStudentT:
      return "student_t";
    case Likelihood::kContamination:
      return "contamination";
    case Likelihood::kAdaptive:
      return "adaptive";
  }
  return "";
}

void NotIdentifiable(ParameterEstimate& p, const std::string& reason, double upper) {
  p.value = p.sd = kNaN;
  p.lower95 = 0;
  p.upper95 = upper;
  p.identifiable = false;
  p.reason = reason;
}

std::ptrdiff_t OpenSpins(const std::vector<PreparedEvent>& events) {
  return std::count_if(events.begin(), events.end(),
                       [](const PreparedEvent& event) { return event.spin_open; });
}

// Why friction has no upper bound where spins before impacts were not measured; empty where they
// were.
std::string WhySpinLeavesOpen(const std::vector<PreparedEvent>& events, double lower) {
  const std::ptrdiff_t open = OpenSpins(events);
  if (open == 0) return "";
  const std::string which =
      fmt::format("the spin before {} of {} impacts was not measured nor declared closely: ", open,
                  events.size());
  const char* cure = "; declare the spin of the release, or film marks on the ball";
  return lower > 0
             ? fmt::format("{}mu_k is bounded below only, at least {:.3g}{}", which, lower, cure)
             : fmt::format("{}every mu_k agrees with the data{}", which, cure);
}

// Verdict on friction from its profile.
void JudgeFriction(Profile& profile, const impact::ProfileInterval& interval, const FitPoint& best,
                   double threshold, const std::vector<PreparedEvent>& events,
                   ParameterEstimate& mu) {
  mu.lower95 = interval.lower_open ? 0 : interval.lower;
  mu.upper95 = interval.upper;
  // A verdict of "identifiable" asks for clearly more than the interval does: where every event
  // truly sticks, the lowest of many kinks in the profile falls below its plateau by more than a
  // chi-square of one degree of freedom would.
  constexpr double kClearly = 2.2;
  // Where one or two impacts alone slide at the optimum, they may do so only to explain what they
  // happen to differ by: the scatter of all others shrinks with them, so that the plateau lies
  // higher than their own misfit. True sliding lifts it beyond this.
  constexpr double kAlone = 10;
  constexpr int kFew = 3;
  const auto sliding = std::count_if(best.at.begin(), best.at.end(),
                                     [](const impact::EventAt& at) { return !impact::Sticks(at); });
  const double at_infinity = profile(impact::kMuMax);
  const bool open =
      interval.upper_open || at_infinity < (sliding < kFew ? kAlone : kClearly) * threshold;
  if (open) mu.upper95 = kInfinity;
  mu.identifiable = !open;
  // Where nobody saw which impacts slide no scatter of friction was told, and the profile ends near
  // the highest ratio of all impacts.
  if (open && 2 * OpenSpins(events) > std::ssize(events))
    mu.lower95 = std::min(mu.lower95, impact::FrictionAtLeast(events));
  const std::string spin = WhySpinLeavesOpen(events, mu.lower95);
  if (open && !spin.empty()) {
    mu.reason = spin;
    mu.value = mu.sd = kNaN;
  } else if (open && interval.lower_open) {
    NotIdentifiable(mu,
                    "no tangential demand: no event slides and none needs friction to stick, so "
                    "that every mu_k agrees with the data",
                    kInfinity);
  } else if (open) {
    mu.reason = (sliding == 0     ? "every event sticks"
                 : sliding < kFew ? fmt::format("{} of {} impacts slide{}, too few to tell how "
                                                "friction scatters",
                                                sliding, events.size(), sliding == 1 ? "s" : "")
                                  : "almost every event sticks") +
                ": mu_k is bounded below only";
    mu.value = mu.sd = kNaN;
  } else if (interval.lower_open) {
    mu.reason = "slides freely: mu_k agrees with zero and is bounded above only";
  }
}

// Restitution from its profile.
void JudgeRestitution(const impact::ProfileInterval& interval, ParameterEstimate& e) {
  e.lower95 = interval.lower;
  e.upper95 = interval.upper;
  e.identifiable = !(interval.lower_open && interval.upper_open);
  e.reason = !e.identifiable       ? "every coefficient agrees with the data"
             : interval.lower_open ? "agrees with zero: bounded above only"
             : interval.upper_open ? "agrees with one: bounded below only"
                                   : "";
}

// Values, intervals and verdicts. `best` moves where the profiles meet a deeper valley than the
// starts did; then they begin again from there.
void SetIntervals(const FitTask& task, FitPoint& best, LawFit& fit) {
  ParameterEstimate &mu = fit.mu_k, &e = fit.e;
  std::vector<double> levels = impact::kMuLevels;
  levels.push_back(impact::kMuMax);
  constexpr int kAttempts = 4;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Information info = InformationAt(task, best);
    const double mu_threshold = impact::IntervalThreshold(info, 0),
                 e_threshold = impact::IntervalThreshold(info, 1);
    Profile mu_profile(task, best, 0), e_profile(task, best, 1);
    const auto step = [&](int k) {
      return info.informed[k] ? std::clamp(2 * std::sqrt(info.covariance(k, k)), 1e-9, 0.2) : 0.05;
    };
    const impact::ProfileInterval mu_interval =
        impact::FindInterval([&](double mu) { return mu_profile.Calibrated(mu, info); }, best.mu, 0,
                             impact::kMuMax, step(0), mu_threshold, levels);
    const impact::ProfileInterval e_interval =
        impact::FindInterval([&](double e) { return e_profile.Calibrated(e, info); }, best.e, 0, 1,
                             step(1), e_threshold, {});
    FitPoint better = best;
    const bool moved = attempt + 1 < kAttempts &&
                       (mu_profile.FoundBetter(better) || e_profile.FoundBetter(better));
    if (moved) {
      best = Refined(task, FitFrom(task, better, true, true, 1e-7));
      continue;
    }
    mu.value = best.mu;
    e.value = best.e;
    JudgeFriction(mu_profile, mu_interval, best, mu_threshold, *task.events, mu);
    JudgeRestitution(e_interval, e);
    if (!task.free_e_t) return;
    Profile e_t_profile(task, best, 2);
    JudgeRestitution(
        impact::FindInterval([&](double e_t) { return e_t_profile.Calibrated(e_t, info); },
                             best.e_t, 0, 1, step(2), impact::IntervalThreshold(info, 2), {}),
        *fit.e_t);
    return;
  }
}

void FillGrid(const FitTask& task, const FitPoint& best, int points, LawFit& fit) {
  const auto span = [](const ParameterEstimate& p, double low_bound, double high_bound) {
    const double low = p.lower95,
                 high = std::isfinite(p.upper95) ? p.upper95 : std::max(1.0, 2 * p.lower95);
    const double margin = 0.5 * (high - low);
    return Interval{std::max(low_bound, low - margin), std::min(high_bound, high + margin)};
  };
  const Interval mu_span = span(fit.mu_k, 0, impact::kMuMax), e_span = span(fit.e, 0, 1);
  fit.grid_deviance.resize(points, points);
  for (int i = 0; i < points; ++i) {
    const double share = i / (points - 1.0);
    fit.grid_mu.push_back(mu_span.lower + share * (mu_span.upper - mu_span.lower));
    fit.grid_e.push_back(e_span.lower + share * (e_span.upper - e_span.lower));
  }
  for (int i = 0; i < points; ++i) {
    for (int j = 0; j < points; ++j) {
      const FitPoint point =
          EvaluateAt(task, fit.grid_mu[i], fit.grid_e[j], best.log_s, true, best.e_t);
      fit.grid_deviance(i, j) = std::max(0.0, 2 * (point.cost - best.cost));
    }
  }
}

// Static friction as the last parameter: all that impacts can tell is between which two critical
// ratios it lies.
void AddStaticFriction(const std::vector<StaticLevel>& levels, double mu_k, LawFit& fit) {
  ParameterEstimate mu_s;
  mu_s.name = "mu_s";
  mu_s.lower95 = mu_k;
  if (levels.size() < 2) {
    mu_s.reason =
        "no event tells sticking from slipping again: any mu_s above mu_k agrees with the data";
  } else {
    const auto best = std::min_element(
        levels.begin(), levels.end(), [](const auto& a, const auto& b) { return a.cost < b.cost; });
    const double limit = best->cost + 0.5 * ChiSquareQuantile(0.95, 1);
    mu_s.lower95 = kInfinity;
    mu_s.upper95 = 0;
    for (const StaticLevel& level : levels) {
      if (level.cost > limit) continue;
      mu_s.lower95 = std::min(mu_s.lower95, level.lower);
      mu_s.upper95 = std::max(mu_s.upper95, level.upper);
    }
    mu_s.identifiable = std::isfinite(mu_s.upper95);
    if (mu_s.identifiable) {
      mu_s.value = std::isfinite(best->upper) ? 0.5 * (best->lower + best->upper) : best->lower;
      mu_s.reason =
          "known to lie between critical ratios of the events; any value between fits alike";
    } else {
      mu_s.reason = "every event that stops sticks: mu_s is bounded below only";
    }
  }
  fit.mu_s = mu_s;
  for (Eigen::MatrixXd* covariance : {&fit.covariance, &fit.covariance_noise_only}) {
    const Eigen::MatrixXd others = *covariance;
    const Eigen::Index n = others.rows();
    covariance->setConstant(n + 1, n + 1, kNaN);
    covariance->topLeftCorner(n, n) = others;
  }
  for (EventInfluence& influence : fit.influence) influence.shift.push_back(0);
  if (!fit.sd_bootstrap.empty()) fit.sd_bootstrap.push_back(kNaN);
}

// Everything prepared and fitted under one likelihood. The task points to the events: where they
// are they stay.
struct LikelihoodFit {
  std::vector<PreparedEvent> prepared;
  double couple_cost = 0;
  std::optional<FitTask> task;
  impact::Optimum optimum;
  double cost() const { return optimum.best.ok ? optimum.best.cost + couple_cost : kInfinity; }
};

// Couples fitted, the task made; nothing else yet.
std::unique_ptr<LikelihoodFit> PrepareFit(std::vector<PreparedEvent> prepared, RestitutionLaw law,
                                          const IdentifyOptions& options) {
  auto attempt = std::make_unique<LikelihoodFit>();
  attempt->prepared = std::move(prepared);
  const int n = static_cast<int>(attempt->prepared.size());
  attempt->couple_cost = FitCouple(attempt->prepared, options);
  attempt->task.emplace(
      FitTask{.events = &attempt->prepared,
              .multiplicity = std::vector<double>(static_cast<std::size_t>(n), 1.0),
              .law = law,
              .fit_discrepancy = options.fit_discrepancy && n > 1,
              .n_groups = impact::ScatterGroups(n),
              .shape = impact::Shape(options, attempt->prepared.front().dim)});
  return attempt;
}

std::unique_ptr<LikelihoodFit> FitUnderLikelihood(std::vector<PreparedEvent> prepared,
                                                  const ImpactModel& start,
                                                  const IdentifyOptions& options, bool scan) {
  auto attempt = PrepareFit(std::move(prepared), start.law, options);
  FitTask& task = *attempt->task;
  attempt->optimum = FitBest(task, start, scan);
  FitPoint& best = attempt->optimum.best;
  if (best.ok && task.n_groups > 1 && impact::RestsOnOneEvent(task, best)) {
    task.n_groups = 1;
    attempt->optimum = FitBest(task, start, scan);
  }
  return attempt;
}

// The fit under the likelihood that was asked for, or under the likelier one; `options` then names
// it.
std::unique_ptr<LikelihoodFit> FitLikeliest(const std::vector<PreparedEvent>& prepared,
                                            const ImpactModel& start, IdentifyOptions* options) {
  if (options->likelihood != Likelihood::kAdaptive)
    return FitUnderLikelihood(prepared, start, *options, options->intervals);
  if (prepared.size() < impact::kLeastForTails) {
    options->likelihood = Likelihood::kGaussian;
    return FitUnderLikelihood(prepared, start, *options, options->intervals);
  }
  options->likelihood = Likelihood::kStudentT;
  std::unique_ptr<LikelihoodFit> heavy =
      FitUnderLikelihood(prepared, start, *options, options->intervals);
  if (!heavy->optimum.best.ok) return heavy;
  IdentifyOptions normal = *options;
  normal.likelihood = Likelihood::kGaussian;
  const FitPoint& found = heavy->optimum.best;
  std::unique_ptr<LikelihoodFit> light =
      FitUnderLikelihood(prepared, ModelAt(*heavy->task, found.mu, found.e), normal, false);
  if (!(light->cost() < heavy->cost())) return heavy;
  light->optimum.starts = heavy->optimum.starts;
  light->optimum.agreeing = heavy->optimum.agreeing;
  *options = normal;
  return light;
}

// The fit with tangential restitution beside `without`, where it is asked for or needed; nothing
// where it is not. It chooses among the likelihoods that were asked for by itself, since what
// springs back gives a fit without e_t heavy tails. `options` then names its own.
std::unique_ptr<LikelihoodFit> FitTangential(const std::vector<PreparedEvent>& prepared,
                                             const ImpactModel& start, const LikelihoodFit& without,
                                             const IdentifyOptions& as_asked,
                                             IdentifyOptions* options) {
  const bool always = as_asked.tangential == TangentialFit::kAlways;
  const bool tried = as_asked.tangential == TangentialFit::kWhereNeeded && as_asked.intervals &&
                     prepared.size() >= 3 &&
                     impact::MaySpringBack(prepared, without.optimum.best.mu);
  if (!always && !tried) return nullptr;
  std::vector<Likelihood> likelihoods{options->likelihood};
  if (as_asked.likelihood == Likelihood::kAdaptive && prepared.size() >= impact::kLeastForTails)
    likelihoods = {Likelihood::kStudentT, Likelihood::kGaussian};
  FitPoint from = without.optimum.best;
  if (!as_asked.intervals) from.mu = start.mu_k, from.e = start.e;
  from.e_t = start.e_t;
  std::unique_ptr<LikelihoodFit> best;
  for (const Likelihood likelihood : likelihoods) {
    IdentifyOptions with = *options;
    with.likelihood = likelihood;
    auto attempt = PrepareFit(prepared, start.law, with);
    attempt->task->free_e_t = true;
    // Costs are compared.
    attempt->task->n_groups = without.task->n_groups;
    // The second likelihood goes on from where the first ended.
    const bool scan = as_asked.intervals && !best;
    attempt->optimum = impact::FitSpringBack(*attempt->task, from, scan);
    if (best && !(attempt->cost() < best->cost())) continue;
    if (attempt->optimum.best.ok) from = attempt->optimum.best;
    if (best) {
      attempt->optimum.starts = best->optimum.starts;
      attempt->optimum.agreeing = best->optimum.agreeing;
    }
    best = std::move(attempt);
    *options = with;
  }
  const double gain = 2 * (without.cost() - best->cost());
  if (best->optimum.best.ok &&
      (always || impact::SpringsBack(*best->task, best->optimum.best, gain)))
    return best;
  return nullptr;
}

// Scatter of the impulses that leaves no meaning to coefficients, or to friction.
void JudgeScatter(const Discrepancy& scatter, const FitPoint& best, LawFit& fit) {
  constexpr double kFarFromLaw = 2;  // of the normal momentum
  // Of the normal momentum: the slopes of a smooth floor, a degree or so, scatter impulses by less
  // without any friction.
  constexpr double kSlopes = 0.025;
  constexpr int kFewest = 4;
  const bool few = std::ssize(best.at) < kFewest;
  const double most = std::max(scatter.sd_tangential, scatter.sd_normal);
  if (!few && most > kFarFromLaw) {
    const std::string reason = fmt::format(
        "the impulses follow no law: about any coefficients they scatter by {:.0f} % of the normal "
        "momentum; which column is which, and the units, would be the first to look at",
        100 * most);
    NotIdentifiable(fit.mu_k, reason, kInfinity);
    NotIdentifiable(fit.e, reason, 1);
    return;
  }
  const double friction = best.mu * (1 + best.e);
  if (few || !fit.mu_k.identifiable || !(scatter.sd_tangential > std::max(friction, kSlopes)))
    return;
  NotIdentifiable(
      fit.mu_k,
      fmt::format("the tangential impulses scatter by {:.3g} of the normal momentum, by more than "
                  "the friction that suits them best gives ({:.3g}): they do not oppose the slip, "
                  "so that the sense of a spin or of an axis is wrong, or the surface is rough and "
                  "has next to no friction",
                  scatter.sd_tangential, friction),
      kInfinity);
}

// The cone of the friction that was found, held against what was measured.
void JudgeCone(const FitTask& task, const FitPoint& best, ParameterEstimate& mu) {
  if (!mu.identifiable) return;
  if (mu.lower95 == 0 && impact::PushesAlongSlip(*task.events)) {
    NotIdentifiable(mu,
                    "impulses act along the slip before the impacts, which no friction does: the "
                    "sense of a spin or of an axis is wrong, or the spin of the release",
                    kInfinity);
    return;
  }
  const impact::ConeTest test = impact::HoldConeAgainst(task, best, mu.upper95);
  if (!test.contradicts) return;
  NotIdentifiable(mu,
                  fmt::format("the impulses contradict every mu_k: of {} impacts {} lie beyond the "
                              "cone of [{:.3g}, {:.3g}] by more than their uncertainty, with |J_t| "
                              "/ J_n up to {:.3g}, which {}",
                              test.n, test.beyond, mu.lower95, mu.upper95, test.highest,
                              task.free_e_t ? "contacts that spring back explain only in part"
                                            : "contacts that spring back (e_t) do not explain"),
                  kInfinity);
}

// Tangential restitution: its value, and whether any event tells it.
void JudgeTangential(const FitPoint& best, const Information& info, bool intervals,
                     ParameterEstimate& e_t) {
  e_t.value = best.e_t;
  if (!intervals) e_t.identifiable = true;
  if (info.informed[2]) return;
  NotIdentifiable(e_t, "no event sticks with slip before", 1);
}

// Coefficients of a single event: its scatter is not known.
void ForgetIntervals(LawFit& fit) {
  for (ParameterEstimate* p : {&fit.mu_k, &fit.e}) {
    p->reason = "one event: its scatter cannot be told from its coefficients";
    p->identifiable = false;
    p->lower95 = 0;
  }
  fit.mu_k.upper95 = kInfinity;
  fit.e.upper95 = 1;
  fit.covariance.setConstant(kNaN);
}

// Widens the covariance of the curvature where noise or intervals say more than it does, and sets
// the standard deviations.
void SetDeviations(const Information& info, bool intervals, LawFit& fit) {
  std::vector<ParameterEstimate*> each{&fit.mu_k, &fit.e};
  if (fit.e_t) each.push_back(&*fit.e_t);
  const int n = static_cast<int>(each.size());
  for (int k = 0; k < n; ++k) {
    const double variance = fit.covariance(k, k);
    if (!(variance > 0)) continue;
    // By chance the few impacts may agree better than their noise allows.
    double ratio = std::sqrt(std::max(1.0, fit.covariance_noise_only(k, k) / variance));
    // Where the cost has kinks beside the optimum its curvature there says too much; the interval
    // takes them in. One-sided intervals do not tell a width.
    const ParameterEstimate& p = *each[k];
    const bool two_sided =
        intervals && p.identifiable && p.lower95 > 0 && p.upper95 < (k == 0 ? impact::kMuMax : 1.0);
    if (two_sided)
      ratio = std::max(ratio, 0.5 * (p.upper95 - p.lower95) / impact::IntervalQuantile(info, k) /
                                  std::sqrt(variance));
    fit.covariance.row(k) *= ratio;
    fit.covariance.col(k) *= ratio;
  }
  for (int k = 0; k < n; ++k) {
    if (std::isnan(each[k]->value) || !info.informed[k]) {
      fit.covariance.row(k).setConstant(kNaN);
      fit.covariance.col(k).setConstant(kNaN);
      fit.covariance_noise_only.row(k).setConstant(kNaN);
      fit.covariance_noise_only.col(k).setConstant(kNaN);
    }
    each[k]->sd = std::sqrt(fit.covariance(k, k));
    each[k]->sd_noise_only = std::sqrt(fit.covariance_noise_only(k, k));
  }
}

void AddInfluence(const FitTask& task, const FitPoint& best, const Information& info, LawFit& fit) {
  const std::vector<PreparedEvent>& prepared = *task.events;
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    const Eigen::VectorXd shift = impact::LeaveOneOut(info, static_cast<int>(i));
    EventInfluence influence{prepared[i].event->recording, prepared[i].event->impact, {}, 1};
    influence.weight = task.shape(best.at[i].r.dot(best.S[i].llt().solve(best.at[i].r)))[1];
    for (int k = 0; k < shift.size(); ++k) {
      const double sd = (k == 0 ? fit.mu_k : k == 1 ? fit.e : *fit.e_t).sd;
      influence.shift.push_back(sd > 0 ? shift[k] / sd : 0);
    }
    fit.influence.push_back(std::move(influence));
  }
}

}  // namespace

IdentifyOptions WithLikelihoodOf(const LawFit& fit, IdentifyOptions options) {
  for (const Likelihood likelihood :
       {Likelihood::kGaussian, Likelihood::kStudentT, Likelihood::kContamination})
    if (fit.likelihood == LikelihoodName(likelihood)) options.likelihood = likelihood;
  options.tangential = fit.e_t ? TangentialFit::kAlways : TangentialFit::kNever;
  return options;
}

LawFit Identify(std::span<const ImpactEvent> events, const Body& body, ImpactModel start,
                const IdentifyOptions& as_asked) {
  IdentifyOptions options = as_asked;
  LawFit fit;
  fit.law = LawName(start.law);
  fit.likelihood = LikelihoodName(options.likelihood);
  ParameterEstimate &mu = fit.mu_k, &e = fit.e;
  mu.name = "mu_k";
  e.name = CoefficientName(start.law);
  e.upper95 = 1;
  fit.covariance = fit.covariance_noise_only = Eigen::Matrix2d::Constant(kNaN);

  const std::vector<PreparedEvent> all = impact::PrepareEvents(events, body);
  const int n = static_cast<int>(all.size());
  if (n == 0) {
    NotIdentifiable(mu, "no accepted event approaches the surface", kInfinity);
    NotIdentifiable(e, "no accepted event approaches the surface", 1);
    return fit;
  }
  std::unique_ptr<LikelihoodFit> attempt = FitLikeliest(all, start, &options);
  if (attempt->optimum.best.ok) {
    IdentifyOptions with = options;
    if (auto tangential = FitTangential(all, start, *attempt, as_asked, &with)) {
      attempt = std::move(tangential);
      options = with;
      fit.e_t.emplace().name = "e_t";
      fit.e_t->upper95 = 1;
      fit.covariance = fit.covariance_noise_only = Eigen::Matrix3d::Constant(kNaN);
    }
  }
  fit.likelihood = LikelihoodName(options.likelihood);
  const std::vector<PreparedEvent>& prepared = attempt->prepared;
  FitTask& task = *attempt->task;
  const impact::Optimum& optimum = attempt->optimum;
  FitPoint best = optimum.best;
  fit.n_starts = optimum.starts;
  fit.n_starts_agreeing = optimum.agreeing;
  if (!best.ok) {
    NotIdentifiable(mu, "no friction and restitution could be evaluated on these events",
                    kInfinity);
    NotIdentifiable(e, mu.reason, 1);
    return fit;
  }

  std::vector<StaticLevel> static_levels;
  if (options.fit_mu_s) static_levels = impact::FitStaticFriction(task, best);
  if (options.intervals) {
    SetIntervals(task, best, fit);
  } else {
    mu.value = best.mu;
    e.value = best.e;
  }
  const Information info = InformationAt(task, best);
  if (fit.e_t) JudgeTangential(best, info, options.intervals, *fit.e_t);
  if (options.fit_discrepancy && n > 1) fit.discrepancy = impact::ScatterOf(prepared, best);
  if (options.intervals && n > 1) {
    JudgeCone(task, best, mu);
    JudgeScatter(fit.discrepancy, best, fit);
  }
  if (!options.intervals) {
    mu.identifiable = info.informed[0];
    e.identifiable = info.informed[1];
  }
  fit.covariance = info.covariance;
  fit.covariance_noise_only = NoiseOnlyCovariance(task, best);
  if (n < 2 && options.fit_discrepancy) ForgetIntervals(fit);
  SetDeviations(info, options.intervals, fit);
  fit.loglik = -(best.cost + attempt->couple_cost);
  fit.dof =
      n * (prepared.front().dim + prepared.front().dim_c) - (fit.e_t ? 3 : 2) -
      (task.fit_discrepancy ? task.n_groups + impact::CoupleGroups(prepared.front().dim_c, n) : 0);
  if (options.influence) AddInfluence(task, best, info, fit);
  if (options.bootstrap > 1) {
    fit.sd_bootstrap = impact::BootstrapOverRecordings(task, best, options.bootstrap, options.seed,
                                                       options.progress);
  }
  if (options.grid > 1) FillGrid(task, best, options.grid, fit);
  if (options.fit_mu_s) AddStaticFriction(static_levels, best.mu, fit);
  return fit;
}

}  // namespace impactlab
