#include "impact/identify/coefficient_interval.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <random>
#include <set>

#include "data/base/parallel.h"
#include "data/statistics/statistics.h"
#include "impact/identify/detail/mixed_task.h"

namespace impactlab {
namespace {

using impact::kMixedDim;
using impact::Material;
using impact::MixedInformation;
using impact::MixedPoint;
using impact::MixedTask;
using impact::PreparedEvent;

// Everything the methods share.
struct Fitted {
  const Material& material;
  const MixedTask& task;
  const MixedPoint& point;
  const MixedInformation& info;
  bool grouped = false;  // clusters are groups
  std::vector<int> free;
  std::vector<std::string> names;
  double Value(int k) const { return point.theta[k]; }
  // Student's quantile of coefficient k, and the number of observations that a mean of so many
  // degrees of freedom has.
  double Quantile(int k) const { return StudentQuantile(0.975, info.dof[k]); }
};

double HighestOf(int k) {
  return k == 0 || k == impact::kChangeOfMu ? impact::kMuMax : k == 2 ? 3 : 1;
}
double LowestOf(int k) {
  return k == 2 || k == impact::kChangeOfMu || k == impact::kChangeOfE ? -HighestOf(k) : 0;
}

MethodInterval Row(const Fitted& fitted, int k, const char* method, double lower, double upper,
                   double sd, int refits = 0) {
  return {fitted.names[static_cast<std::size_t>(k)],
          method,
          fitted.Value(k),
          sd,
          std::max(LowestOf(k), lower),
          std::min(HighestOf(k), upper),
          refits};
}

MethodInterval Linear(const Fitted& fitted, int k) {
  const double sd = std::sqrt(fitted.info.covariance(k, k)), half = fitted.Quantile(k) * sd;
  return Row(fitted, k, "linear", fitted.Value(k) - half, fitted.Value(k) + half, sd);
}

MethodInterval ByProfile(const Fitted& fitted, int k) {
  MixedTask held = fitted.task;
  held.free[static_cast<std::size_t>(k)] = false;
  std::vector<MixedPoint> points{fitted.point};
  const auto deviance = [&](double value) {
    const auto nearest = std::min_element(
        points.begin(), points.end(), [&](const MixedPoint& a, const MixedPoint& b) {
          return std::abs(a.theta[k] - value) < std::abs(b.theta[k] - value);
        });
    MixedPoint start = *nearest;
    start.theta[k] = value;
    MixedPoint found = FitMixed(held, start);
    if (!found.ok) return 1e6;
    points.push_back(found);
    return std::max(0.0, 2 * (found.cost - fitted.point.cost));
  };
  // What a normal mean of so many degrees of freedom needs so that its likelihood interval is
  // Student's.
  const double sd = std::sqrt(fitted.info.covariance(k, k)), t = fitted.Quantile(k);
  const double square = t * t * fitted.info.variance_ratio[k], dof = fitted.info.dof[k];
  const double threshold =
      fitted.task.base.fit_discrepancy ? (dof + 1) * std::log1p(square / dof) : square;
  const impact::ProfileInterval interval =
      impact::FindInterval(deviance, fitted.Value(k), LowestOf(k), HighestOf(k),
                           std::clamp(t * sd, 1e-9, 0.3), threshold, {});
  return Row(fitted, k, "profile", interval.lower, interval.upper,
             (interval.upper - interval.lower) / (2 * t));
}

// Values of every free coefficient over refits of tasks that `draw` makes.
template <typename Draw>
std::vector<std::vector<double>> Refit(const Fitted& fitted, int n, int threads,
                                       const IdentifyOptions& options, double from,
                                       const Draw& draw) {
  std::vector<impact::MixedVector> theta(static_cast<std::size_t>(n),
                                         impact::MixedVector::Constant(std::nan("")));
  std::mutex mutex;
  int done = 0;
  ForEachIndex(theta.size(), threads, [&](std::size_t i) {
    std::seed_seq seed{options.seed, static_cast<std::uint64_t>(from * 16),
                       static_cast<std::uint64_t>(i)};
    std::mt19937_64 random(seed);
    std::vector<PreparedEvent> events;  // of its own: what was differentiated last is kept in them
    MixedTask task = fitted.task;
    MixedPoint start = fitted.point;
    draw(random, events, task, start);
    task.base.events = &events;
    const MixedPoint point = FitMixed(task, start);
    if (point.ok) theta[i] = point.theta;
    if (!options.progress) return;
    const std::lock_guard lock(mutex);
    ++done;
    options.progress(from + 0.5 * done / n);
  });
  std::vector<std::vector<double>> values(kMixedDim);
  for (const impact::MixedVector& t : theta) {
    for (int k = 0; k < kMixedDim && t.allFinite(); ++k)
      values[static_cast<std::size_t>(k)].push_back(t[k]);
  }
  return values;
}

// Quantiles moved outward so that they hold for few observations, as Student's are beyond the
// normal ones.
MethodInterval ByQuantiles(const Fitted& fitted, int k, const char* method,
                           const std::vector<double>& values) {
  const double dof = fitted.info.dof[k], reach = fitted.Quantile(k) * std::sqrt((dof + 1) / dof);
  const double tail = NormalCdf(-reach);
  return Row(fitted, k, method, Quantile(values, tail), Quantile(values, 1 - tail),
             StandardDeviation(values), static_cast<int>(values.size()));
}

// Whole clusters with replacement: groups where groups differ, else recordings within their groups.
void Resample(const Fitted& fitted, std::mt19937_64& random, std::vector<PreparedEvent>& events,
              MixedTask& task, MixedPoint& start) {
  const std::vector<PreparedEvent>& all = fitted.material.events;
  task.group.clear();
  task.log_v.clear();
  task.order.clear();
  task.base.multiplicity.clear();
  const auto take = [&](std::size_t i, int group, int cluster) {
    events.push_back(all[i]);
    events.back().cluster = cluster;
    task.group.push_back(group);
    task.log_v.push_back(fitted.task.log_v[i]);
    task.order.push_back(fitted.task.order[i]);
    task.base.multiplicity.push_back(1);
  };
  std::vector<std::map<int, std::vector<std::size_t>>> recordings(
      static_cast<std::size_t>(fitted.task.n_groups));
  for (std::size_t i = 0; i < all.size(); ++i)
    recordings[static_cast<std::size_t>(fitted.task.group[i])][all[i].cluster].push_back(i);
  if (fitted.grouped) {
    std::uniform_int_distribution<int> pick(0, fitted.task.n_groups - 1);
    for (int g = 0; g < fitted.task.n_groups; ++g) {
      const auto from = static_cast<std::size_t>(pick(random));
      start.offset[static_cast<std::size_t>(g)] = fitted.point.offset[from];
      for (const auto& [cluster, members] : recordings[from])
        for (const std::size_t i : members) take(i, g, cluster);
    }
    return;
  }
  int cluster = 0;
  for (int g = 0; g < fitted.task.n_groups; ++g) {
    const auto& own = recordings[static_cast<std::size_t>(g)];
    if (own.empty()) continue;
    std::uniform_int_distribution<std::size_t> pick(0, own.size() - 1);
    for (std::size_t draw = 0; draw < own.size(); ++draw) {
      for (const std::size_t i :
           std::next(own.begin(), static_cast<std::ptrdiff_t>(pick(random)))->second)
        take(i, g, cluster);
      ++cluster;
    }
  }
}

// Events as the fit says they come: offsets of the groups and impulses drawn anew about the
// prediction.
void Draw(const Fitted& fitted, std::mt19937_64& random, std::vector<PreparedEvent>& events,
          MixedTask& task, MixedPoint& start) {
  std::normal_distribution<double> normal;
  events = fitted.material.events;
  for (Eigen::Vector2d& u : start.offset) {
    for (int k = 0; k < 2; ++k) {
      if (!task.offset[static_cast<std::size_t>(k)] || !task.pooled[static_cast<std::size_t>(k)])
        continue;
      u[k] = std::sqrt(fitted.point.T[k]) * normal(random);
      const double lowest = -fitted.point.theta[k], highest = HighestOf(k) - fitted.point.theta[k];
      u[k] = std::clamp(u[k], lowest, highest);
    }
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto g = static_cast<std::size_t>(fitted.task.group[i]);
    impact::Vec r = -fitted.point.at[i].r;
    if (fitted.grouped) {
      const impact::EventCoefficients here =
          CoefficientsOf(task, i, fitted.point.theta, fitted.point.offset[g]);
      const impact::EventCoefficients there =
          CoefficientsOf(task, i, fitted.point.theta, start.offset[g]);
      const auto residual = [&](const impact::EventCoefficients& c) {
        return EvaluateEvent(events[i], ModelOf(task, c), impact::Need::kResidual);
      };
      const impact::EventAt a = residual(here), b = residual(there);
      if (a.ok && b.ok) r += a.r - b.r;
    }
    impact::Vec white(r.size());
    for (Eigen::Index k = 0; k < r.size(); ++k) white[k] = normal(random);
    const impact::Mat root = fitted.point.S[i].llt().matrixL();
    events[i].z_J += r + fitted.task.base.shape.Draw(random) * (root * white);
  }
}

// Why the methods differ, for one coefficient.
std::string Note(const Fitted& fitted, int k, const std::vector<MethodInterval>& rows) {
  const auto find = [&](const char* method) -> const MethodInterval* {
    for (const MethodInterval& row : rows)
      if (row.parameter == fitted.names[static_cast<std::size_t>(k)] && row.method == method)
        return &row;
    return nullptr;
  };
  const MethodInterval *linear = find("linear"), *profile = find("profile"),
                       *bootstrap = find("bootstrap"), *draw = find("monte_carlo");
  const double width = linear->upper95 - linear->lower95;
  // Ends further apart than this share of the interval and the sampling of their quantiles explain
  // are a disagreement.
  constexpr double kShare = 0.15;
  const auto apart = [&](const MethodInterval* a, const MethodInterval* b) {
    return a != nullptr && b != nullptr &&
           std::max(std::abs(a->lower95 - b->lower95), std::abs(a->upper95 - b->upper95)) >
               kShare * width;
  };
  std::vector<std::string> parts;
  if (apart(linear, profile)) {
    int change = 0;
    for (std::size_t i = 0; i < fitted.material.events.size() && k < 2; ++i) {
      const auto digit = [&](double value) {
        impact::MixedVector theta = fitted.point.theta;
        theta[k] = value;
        const impact::EventCoefficients c =
            CoefficientsOf(fitted.task, i, theta,
                           fitted.point.offset[static_cast<std::size_t>(fitted.task.group[i])]);
        return EvaluateEvent(fitted.material.events[i], ModelOf(fitted.task, c),
                             impact::Need::kResidual)
            .digit;
      };
      change += digit(linear->lower95) != digit(linear->upper95);
    }
    const bool bound = linear->lower95 <= LowestOf(k) || linear->upper95 >= HighestOf(k) ||
                       profile->lower95 <= LowestOf(k) || profile->upper95 >= HighestOf(k);
    parts.push_back(fmt::format(
        "the likelihood is no parabola ({}): profile [{:.4g}, {:.4g}] holds, linear [{:.4g}, "
        "{:.4g}] does not",
        bound ? "a bound lies inside"
        : change > 0
            ? fmt::format("{} events change between sliding and sticking within the interval",
                          change)
            : "its curvature changes within the interval",
        profile->lower95, profile->upper95, linear->lower95, linear->upper95));
  }
  if (apart(bootstrap, draw)) {
    const double ratio =
        (bootstrap->upper95 - bootstrap->lower95) / std::max(1e-300, draw->upper95 - draw->lower95);
    parts.push_back(
        fmt::format("the scatter between {} is not as modelled: resampling gives {:.2f} times the "
                    "width of drawing anew, "
                    "[{:.4g}, {:.4g}] against [{:.4g}, {:.4g}]",
                    fitted.grouped ? "groups" : "recordings", ratio, bootstrap->lower95,
                    bootstrap->upper95, draw->lower95, draw->upper95));
  }
  const MethodInterval* sharp = profile != nullptr ? profile : linear;
  for (const MethodInterval* other : {draw, bootstrap}) {
    if (!parts.empty() || !apart(sharp, other)) continue;
    parts.push_back(
        fmt::format("refits ({}) give [{:.4g}, {:.4g}] against [{:.4g}, {:.4g}] by {}: the "
                    "estimate is biased or skewed at this "
                    "number of {}",
                    other->method, other->lower95, other->upper95, sharp->lower95, sharp->upper95,
                    sharp->method, fitted.grouped ? "groups" : "recordings"));
  }
  if (parts.empty())
    return fmt::format("the methods agree within {:.0f} % of the interval", 100 * kShare);
  std::string note;
  for (const std::string& part : parts) note += (note.empty() ? "" : "; ") + part;
  return note;
}

}  // namespace

IntervalComparison CompareIntervals(std::span<const EventGroup> groups, RestitutionLaw law,
                                    const CoefficientModel& model, const IntervalMethods& methods,
                                    const IdentifyOptions& as_asked) {
  IntervalComparison out;
  const impact::MixedFit found = impact::FitMixedModel(groups, law, model, as_asked);
  if (!found.task || !found.point.ok) return out;
  const IdentifyOptions& options = found.options;
  const Material& material = *found.material;
  const MixedTask& task = *found.task;
  const MixedPoint& point = found.point;
  const MixedInformation info = InformationAt(task, point);
  const std::string e = CoefficientName(law);
  Fitted fitted{material,
                task,
                point,
                info,
                false,
                {},
                {"mu_k", e, "exponent", "e_t", "change_mu_k", "change_" + e}};
  fitted.grouped = task.offset[0] || task.offset[1];
  for (int k = 0; k < kMixedDim; ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (task.free[at] && info.informed[at] && info.covariance(k, k) > 0) fitted.free.push_back(k);
  }
  for (const int k : fitted.free) {
    out.rows.push_back(Linear(fitted, k));
    if (methods.profile) out.rows.push_back(ByProfile(fitted, k));
  }
  const bool clusters = fitted.grouped ? groups.size() > 1 : material.n_recordings > 1;
  if (methods.bootstrap > 1 && clusters) {
    const auto values = Refit(fitted, methods.bootstrap, methods.threads, options, 0,
                              [&](auto& random, auto& events, auto& t, auto& start) {
                                Resample(fitted, random, events, t, start);
                              });
    for (const int k : fitted.free)
      if (values[0].size() > 1)
        out.rows.push_back(
            ByQuantiles(fitted, k, "bootstrap", values[static_cast<std::size_t>(k)]));
  }
  if (methods.monte_carlo > 1) {
    const auto values = Refit(fitted, methods.monte_carlo, methods.threads, options, 0.5,
                              [&](auto& random, auto& events, auto& t, auto& start) {
                                Draw(fitted, random, events, t, start);
                              });
    for (const int k : fitted.free)
      if (values[0].size() > 1)
        out.rows.push_back(
            ByQuantiles(fitted, k, "monte_carlo", values[static_cast<std::size_t>(k)]));
  }
  for (const int k : fitted.free)
    out.notes.emplace_back(fitted.names[static_cast<std::size_t>(k)], Note(fitted, k, out.rows));
  return out;
}

}  // namespace impactlab
