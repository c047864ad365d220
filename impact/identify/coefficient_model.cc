#include "impact/identify/coefficient_model.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <sstream>
#include <string_view>

#include "data/base/error.h"
#include "data/base/infinity.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"
#include "impact/identify/detail/mixed_task.h"

namespace impactlab {
namespace {

using impact::Material;
using impact::MixedInformation;
using impact::MixedPoint;
using impact::MixedTask;
using impact::PreparedEvent;

ParameterEstimate Estimate(const std::string& name, double value, double variance, double dof,
                           double lowest, double highest) {
  ParameterEstimate p;
  p.name = name;
  p.value = value;
  p.sd = std::sqrt(variance);
  const double half = StudentQuantile(0.975, std::max(1.0, dof)) * p.sd;
  p.lower95 = std::max(lowest, value - half);
  p.upper95 = std::min(highest, value + half);
  p.identifiable = true;
  return p;
}

ParameterEstimate Unknown(const std::string& name, const std::string& reason, double lowest,
                          double highest) {
  ParameterEstimate p;
  p.name = name;
  p.lower95 = lowest;
  p.upper95 = highest;
  p.reason = reason;
  return p;
}

// Interval of a spread between groups: a variance of as many degrees of freedom as the groups' own
// information is worth.
ParameterEstimate Spread(const std::string& name, double variance,
                         const std::vector<GroupEstimate>& groups, bool friction) {
  ParameterEstimate p;
  p.name = name;
  p.value = std::sqrt(variance);
  // Information of n groups on log T, each weighted by how much its own events determine: half of
  // sum (T / (T + v))^2.
  double information = 0;
  for (const GroupEstimate& group : groups) {
    // sd by the group's own events
    const double own = (friction ? group.mu_k : group.e).sd_noise_only;
    const double share = variance > 0 && std::isfinite(own) ? variance / (variance + own * own) : 0;
    information += 0.5 * share * share;
  }
  const double dof = 2 * information - 1;  // n - 1 where every group is known well
  p.identifiable = dof >= 1;
  if (!p.identifiable) {
    p.upper95 = kInfinity;
    p.reason = variance > 0 ? "too few groups tell a spread"
                            : "no spread seen beyond the groups' own uncertainty";
    return p;
  }
  p.sd = p.value / std::sqrt(2 * dof);
  p.lower95 = p.value * std::sqrt(dof / ChiSquareQuantile(0.975, dof));
  p.upper95 = p.value * std::sqrt(dof / ChiSquareQuantile(0.025, dof));
  return p;
}

std::vector<GroupEstimate> GroupsOf(std::span<const EventGroup> groups, const Material& material,
                                    const MixedTask& task, const MixedPoint& point,
                                    const MixedInformation& info) {
  std::vector<GroupEstimate> out;
  const double n = static_cast<double>(material.events.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    GroupEstimate estimate;
    estimate.name = groups[g].name;
    std::map<int, int> recordings;
    for (std::size_t i = 0; i < material.events.size(); ++i) {
      if (material.group[i] != static_cast<int>(g)) continue;
      ++estimate.n_events;
      ++recordings[material.events[i].cluster];
    }
    estimate.n_recordings = static_cast<int>(recordings.size());
    for (int k = 0; k < 2; ++k) {
      const auto at = static_cast<std::size_t>(k);
      const std::string name = k == 0 ? "mu_k" : CoefficientName(task.base.law);
      const double highest = k == 0 ? kInfinity : 1, value = point.theta[k] + point.offset[g][k],
                   variance = info.local[g](k, k);
      ParameterEstimate& p = k == 0 ? estimate.mu_k : estimate.e;
      const bool own = task.offset[at], alone = own && !task.pooled[at];
      const double known = info.own_share[g][at];
      constexpr double kWidest = 1;  // variance of what nothing is known of
      if ((alone && !(variance < kWidest)) || (!own && !info.informed[at])) {
        p = Unknown(name,
                    k == 0 ? "no event of the group slides" : "no event of the group tells it", 0,
                    highest);
        continue;
      }
      p = Estimate(name, value, variance, own ? n - info.parameters : info.dof[k], 0, highest);
      // Information of the group's own events, without the population: W = 1 / (H + 1 / T).
      const double W = point.T[k] * (1 - known);
      p.sd_noise_only =
          own && known > 0 ? std::sqrt(W / known) : std::numeric_limits<double>::quiet_NaN();
      if (own && !alone && known < 0.1)
        p.reason = point.T[k] == 0
                       ? "no spread between the groups is seen: the value of all"
                       : "its own events hardly tell it: mostly the value of the population";
    }
    out.push_back(std::move(estimate));
  }
  return out;
}

// Friction or restitution of all groups together; of groups that are not pooled their mean.
ParameterEstimate CommonCoefficient(const MixedTask& task, const MixedPoint& point,
                                    const MixedInformation& info,
                                    const std::vector<GroupEstimate>& groups, int k) {
  const std::string name = k == 0 ? "mu_k" : CoefficientName(task.base.law);
  const double highest = k == 0 ? kInfinity : 1;
  const auto at = static_cast<std::size_t>(k);
  if (task.free[at]) {
    if (!info.informed[at])
      return Unknown(name, k == 0 ? "no event slides" : "no event tells it", 0, highest);
    return Estimate(name, point.theta[k], info.covariance(k, k), info.dof[k], 0, highest);
  }
  std::vector<double> values;
  double variance = 0;
  for (const GroupEstimate& group : groups) {
    const ParameterEstimate& p = k == 0 ? group.mu_k : group.e;
    if (!p.identifiable) continue;
    values.push_back(p.value);
    variance += p.sd * p.sd;
  }
  const double n = static_cast<double>(values.size());
  return values.empty() ? Unknown(name, "no group tells it", 0, highest)
                        : Estimate(name, Mean(values), variance / (n * n), n, 0, highest);
}

// What the model fits beside friction and restitution at the reference speed.
void AddFurtherParameters(const Material& material, const MixedTask& task,
                          const CoefficientModel& model, const MixedPoint& point,
                          const MixedInformation& info, CoefficientFit* fit) {
  const double loss = 1 - point.theta[1], v_0 = material.log_reference, m = point.theta[2];
  if (model.fit_exponent) {
    fit->parameters.push_back(
        info.informed[2]
            ? Estimate("exponent", m, info.covariance(2, 2), info.dof[2], -kInfinity, kInfinity)
            : Unknown("exponent", "the events have one speed", -kInfinity, kInfinity));
  }
  if (model.fit_exponent || model.exponent != 0) {
    // alpha = (1 - e_0) v_0^-m
    const double alpha = loss * std::exp(-m * v_0);
    const Eigen::Vector2d by(-std::exp(-m * v_0), -v_0 * alpha);
    const double variance = by.dot(fit->covariance.bottomRightCorner<2, 2>() * by);
    fit->parameters.push_back(
        Estimate("alpha", alpha, variance, std::min(info.dof[1], info.dof[2]), 0, kInfinity));
    if (!model.fit_exponent) fit->parameters.back().sd = std::sqrt(variance);
  }
  if (model.fit_order) {
    const std::string e = CoefficientName(task.base.law);
    for (const int k : {impact::kChangeOfMu, impact::kChangeOfE}) {
      const std::string name = "change_" + (k == impact::kChangeOfMu ? "mu_k" : e);
      fit->parameters.push_back(
          info.informed[static_cast<std::size_t>(k)]
              ? Estimate(name, point.theta[k], info.covariance(k, k), info.dof[k], -kInfinity,
                         kInfinity)
              : Unknown(name, "no two recordings tell it", -kInfinity, kInfinity));
    }
  }
  if (model.fit_mu_s) {
    ParameterEstimate p =
        Unknown("mu_s", "known between critical ratios of the events", point.theta[0], kInfinity);
    p.value = std::max(point.theta[0], task.base.mu_s_floor);
    fit->parameters.push_back(p);
  }
  if (model.fit_e_t)
    fit->parameters.push_back(
        info.informed[3] ? Estimate("e_t", point.theta[3], info.covariance(3, 3), info.dof[3], 0, 1)
                         : Unknown("e_t", "no event sticks with slip before", 0, 1));
  for (int k = 0; k < 2; ++k) {
    const auto at = static_cast<std::size_t>(k);
    if (!task.offset[at] || !task.pooled[at]) continue;
    fit->parameters.push_back(
        Spread(k == 0 ? "sd_mu_k" : std::string("sd_") + CoefficientName(task.base.law), point.T[k],
               fit->groups, k == 0));
  }
}

// Likelihood, number of parameters and information criteria.
void SetCriteria(const MixedTask& task, const CoefficientModel& model, const MixedPoint& point,
                 const MixedInformation& info, CoefficientFit* fit) {
  fit->loglik = -point.cost;
  fit->parameters_used = task.base.fit_discrepancy ? task.base.n_groups : 0;
  for (int k = 0; k < impact::kMixedDim; ++k)
    fit->parameters_used += task.free[static_cast<std::size_t>(k)] ? 1 : 0;
  for (std::size_t k = 0; k < 2; ++k)
    fit->parameters_used += !task.offset[k] ? 0 : task.pooled[k] ? 1 : task.n_groups;
  fit->parameters_used += model.fit_mu_s ? 1 : 0;
  // Groups that know nothing of each other have no population: their wide prior is taken out of the
  // likelihood again.
  for (std::size_t k = 0; k < 2; ++k) {
    if (!task.offset[k] || task.pooled[k]) continue;
    for (std::size_t g = 0; g < fit->groups.size(); ++g) {
      const double known = info.own_share[g][k];
      if (known < 1) fit->loglik -= 0.5 * std::log1p(-std::min(known, 1 - 1e-15));
    }
  }
  fit->aic = 2 * fit->parameters_used - 2 * fit->loglik;
  fit->bic = std::log(std::max(1, fit->n_recordings)) * fit->parameters_used - 2 * fit->loglik;
}

CoefficientFit Report(std::span<const EventGroup> groups, const Material& material,
                      const MixedTask& task, const CoefficientModel& model,
                      const MixedPoint& point) {
  CoefficientFit fit;
  fit.model = model;
  fit.law = LawName(task.base.law);
  fit.n_events = static_cast<int>(material.events.size());
  fit.n_recordings = material.n_recordings;
  fit.reference_speed = std::exp(material.log_reference);
  fit.slowest = std::exp(*std::min_element(material.log_speed.begin(), material.log_speed.end()));
  fit.fastest = std::exp(*std::max_element(material.log_speed.begin(), material.log_speed.end()));
  if (!point.ok || !std::isfinite(point.cost)) {
    fit.reason = "no friction and restitution could be evaluated on these events";
    return fit;
  }
  fit.ok = true;
  const MixedInformation info = InformationAt(task, point);
  fit.covariance = info.covariance.topLeftCorner<3, 3>();
  fit.groups = GroupsOf(groups, material, task, point, info);
  for (int k = 0; k < 2; ++k)
    fit.parameters.push_back(CommonCoefficient(task, point, info, fit.groups, k));
  AddFurtherParameters(material, task, model, point, info, &fit);
  SetCriteria(task, model, point, info, &fit);
  return fit;
}

// Log density of one event that the fit has not seen, its coefficients' uncertainty included.
double PredictiveDensity(const MixedTask& task, const MixedPoint& point,
                         const MixedInformation& info, std::size_t i) {
  const auto g = static_cast<std::size_t>(task.group[i]);
  const impact::EventCoefficients c = CoefficientsOf(task, i, point.theta, point.offset[g]);
  const PreparedEvent& event = (*task.base.events)[i];
  const impact::EventAt at = EvaluateEvent(event, ModelOf(task, c), impact::Need::kNoise);
  if (!at.ok) return -1e3;
  impact::VarianceData data;
  data.n_groups = task.base.n_groups;
  data.multiplicity = {1.0};
  data.r = {at.r};
  data.N = {at.N};
  data.E = {ScatterShapes(task.base, event, at, c.mu, c.e, data.n_groups, c.e_t)};
  // Beyond a third of its size no coefficient's uncertainty is linear.
  impact::MixedMatrix local = info.local[g];
  for (int k = 0; k < impact::kMixedDim; ++k) {
    constexpr double kMost = 0.3;
    const double shrink = std::min(1.0, kMost / std::sqrt(std::max(local(k, k), 1e-300)));
    local.row(k) *= shrink;
    local.col(k) *= shrink;
  }
  const impact::MixedJac G = Slope(at, c);
  data.N[0] += G * local * G.transpose();
  const double cost = VarianceCost(data, task.base.shape, point.log_s.data(), nullptr, nullptr);
  return std::isfinite(cost) ? -cost : -1e3;
}

// Fold of every recording, dealt in each group in random order.
std::vector<int> DealFolds(const Material& material, std::size_t n_groups, int folds,
                           std::uint64_t seed) {
  std::vector<int> fold(static_cast<std::size_t>(material.n_recordings), 0);
  std::vector<std::vector<int>> recordings(n_groups);
  for (std::size_t i = 0; i < material.events.size(); ++i) {
    auto& of_group = recordings[static_cast<std::size_t>(material.group[i])];
    if (of_group.empty() ||
        std::find(of_group.begin(), of_group.end(), material.events[i].cluster) == of_group.end())
      of_group.push_back(material.events[i].cluster);
  }
  std::mt19937_64 random(seed);
  int next = 0;
  for (auto& of_group : recordings) {
    std::shuffle(of_group.begin(), of_group.end(), random);
    for (const int recording : of_group) fold[static_cast<std::size_t>(recording)] = next++ % folds;
  }
  return fold;
}

// Log predictive density of every recording when its fold is left out.
std::vector<double> CrossValidate(const Material& material, const MixedTask& task,
                                  const MixedPoint& all, const CoefficientModel& model,
                                  const std::vector<int>& fold, int folds,
                                  const std::function<void(double)>& progress) {
  std::vector<double> density(static_cast<std::size_t>(material.n_recordings), 0.0);
  for (int f = 0; f < folds; ++f) {
    MixedTask part = task;
    bool empty = true;
    for (std::size_t i = 0; i < material.events.size(); ++i) {
      const bool out = fold[static_cast<std::size_t>(material.events[i].cluster)] == f;
      part.base.multiplicity[i] = out ? 0 : 1;
      empty = empty && !out;
    }
    if (empty) continue;
    // What static friction separates is chosen from the events of the fold alone.
    const MixedPoint point =
        model.fit_mu_s || !all.ok ? FitFromScratch(part, model) : FitMixed(part, all);
    MixedInformation info;
    if (point.ok) info = InformationAt(part, point);
    for (std::size_t i = 0; i < material.events.size(); ++i) {
      if (part.base.multiplicity[i] > 0) continue;
      density[static_cast<std::size_t>(material.events[i].cluster)] +=
          point.ok ? PredictiveDensity(part, point, info, i) : -1e3;
    }
    if (progress) progress((f + 1.0) / folds);
  }
  return density;
}

// Which models may be chosen by what the options say of tangential restitution; all where none is
// left.
std::vector<bool> Choosable(std::span<const CoefficientModel> models, TangentialFit tangential) {
  std::vector<bool> out;
  for (const CoefficientModel& model : models)
    out.push_back(tangential == TangentialFit::kWhereNeeded ||
                  model.fit_e_t == (tangential == TangentialFit::kAlways));
  if (std::find(out.begin(), out.end(), true) == out.end()) out.assign(models.size(), true);
  return out;
}

// One sentence on a model beside the one that was chosen.
std::string VerdictOn(const ModelScore& score, bool chosen, bool best, bool choosable) {
  if (!choosable)
    return fmt::format(
        "left aside, {:+.1f} +- {:.1f} in log density: {}", -score.behind, score.sd_behind,
        score.fit.model.fit_e_t ? "that contacts spring back is not beyond chance in the fit of all"
                                : "contacts spring back, and it has no e_t");
  if (chosen)
    return best ? "predicts recordings left out best"
                : "the simplest that predicts no worse than the best within its standard error";
  if (best)
    return "predicts best, but by less than the standard error of the difference to a simpler one";
  if (score.behind > 2 * score.sd_behind)
    return fmt::format("predicts worse by {:.1f} +- {:.1f} in log density", score.behind,
                       score.sd_behind);
  return fmt::format("cannot be told from the best ({:.1f} +- {:.1f} behind)", score.behind,
                     score.sd_behind);
}

}  // namespace

std::string ModelName(const CoefficientModel& model) {
  std::string name;
  const auto add = [&](const std::string& part) { name += (name.empty() ? "" : "_") + part; };
  if (model.fit_exponent) add("speed");
  if (!model.fit_exponent && model.exponent != 0) add(fmt::format("speed{:g}", model.exponent));
  if (model.fit_order) add("order");
  if (model.fit_mu_s) add("static");
  if (model.fit_e_t) add("tangential");
  const auto word = [](Pooling pooling) {
    return pooling == Pooling::kPartial ? "groups" : "separate";
  };
  if (model.friction == model.restitution) {
    if (model.friction != Pooling::kComplete) add(word(model.friction));
  } else {
    if (model.friction != Pooling::kComplete) add(std::string("mu") + word(model.friction));
    if (model.restitution != Pooling::kComplete) add(std::string("e") + word(model.restitution));
  }
  return name.empty() ? "constant" : name;
}

CoefficientModel ParseModel(const std::string& name) {
  CoefficientModel model;
  std::stringstream words(name);
  std::string word;
  const auto fault = [&] {
    return ConfigError(
        fmt::format("coefficient model: found '{}', allowed: constant, or speed | speedM with a "
                    "number M, order, static, tangential, groups | "
                    "separate | mugroups | egroups | museparate | eseparate joined by _",
                    name));
  };
  while (std::getline(words, word, '_')) {
    if (word == "constant") continue;
    if (word == "speed") {
      model.fit_exponent = true;
    } else if (word.starts_with("speed")) {
      const std::optional<double> exponent = ParseNumber(std::string_view(word).substr(5));
      if (!exponent || !(std::abs(*exponent) <= 3)) throw fault();
      model.exponent = *exponent;
    } else if (word == "order") {
      model.fit_order = true;
    } else if (word == "static") {
      model.fit_mu_s = true;
    } else if (word == "tangential") {
      model.fit_e_t = true;
    } else if (word == "groups" || word == "separate") {
      model.friction = model.restitution = word == "groups" ? Pooling::kPartial : Pooling::kNone;
    } else if (word == "mugroups" || word == "museparate") {
      model.friction = word == "mugroups" ? Pooling::kPartial : Pooling::kNone;
    } else if (word == "egroups" || word == "eseparate") {
      model.restitution = word == "egroups" ? Pooling::kPartial : Pooling::kNone;
    } else {
      throw fault();
    }
  }
  if (name.empty() || ModelName(model) != name) throw fault();
  return model;
}

const ParameterEstimate* CoefficientFit::Find(const std::string& name) const {
  const auto found = std::find_if(parameters.begin(), parameters.end(),
                                  [&](const ParameterEstimate& p) { return p.name == name; });
  return found == parameters.end() ? nullptr : &*found;
}

CoefficientFit FitCoefficients(std::span<const EventGroup> groups, RestitutionLaw law,
                               const CoefficientModel& model, const IdentifyOptions& options) {
  const impact::MixedFit found = impact::FitMixedModel(groups, law, model, options);
  if (found.task) return Report(groups, *found.material, *found.task, model, found.point);
  CoefficientFit fit;
  fit.model = model;
  fit.law = LawName(law);
  fit.reason = "no accepted event approaches the surface";
  return fit;
}

std::vector<ModelScore> CompareModels(std::span<const EventGroup> groups, RestitutionLaw law,
                                      std::span<const CoefficientModel> models, int folds,
                                      const IdentifyOptions& as_asked) {
  std::vector<ModelScore> scores;
  if (models.empty()) return scores;
  const std::vector<bool> choosable = Choosable(models, as_asked.tangential);
  const auto lead = static_cast<std::size_t>(std::find(choosable.begin(), choosable.end(), true) -
                                             choosable.begin());
  // One likelihood for all models: their densities are compared.
  const impact::MixedFit first = impact::FitMixedModel(groups, law, models[lead], as_asked);
  if (!first.task) return scores;
  const IdentifyOptions& options = first.options;
  const Material& material = *first.material;
  folds = std::clamp(folds, 2, std::max(2, material.n_recordings));
  const std::vector<int> fold = DealFolds(material, groups.size(), folds, options.seed);
  std::vector<std::vector<double>> density;
  for (std::size_t k = 0; k < models.size(); ++k) {
    MixedTask task =
        k == lead ? *first.task : TaskOf(material, groups.size(), law, models[k], options);
    const MixedPoint point = k == lead ? first.point : FitFromScratch(task, models[k]);
    ModelScore score;
    score.fit = Report(groups, material, task, models[k], point);
    score.folds = folds;
    const auto progress = [&](double share) {
      if (options.progress)
        options.progress((static_cast<double>(k) + share) / static_cast<double>(models.size()));
    };
    density.push_back(CrossValidate(material, task, point, models[k], fold, folds, progress));
    for (const double d : density.back()) score.elpd += d;
    const double n = static_cast<double>(density.back().size());
    score.sd_elpd = n > 1 ? std::sqrt(n) * StandardDeviation(density.back()) : kInfinity;
    scores.push_back(std::move(score));
  }
  std::size_t best = lead;
  for (std::size_t k = 0; k < scores.size(); ++k)
    if (choosable[k] && scores[k].elpd > scores[best].elpd) best = k;
  const auto least = [&](auto value) {
    double low = kInfinity;
    for (const ModelScore& s : scores) low = std::min(low, s.fit.ok ? value(s) : kInfinity);
    return low;
  };
  const double aic = least([](const ModelScore&s) { return s.fit.aic; }),
               bic = least([](const ModelScore&s) { return s.fit.bic; });
  std::size_t chosen = best;
  for (std::size_t k = 0; k < scores.size(); ++k) {
    ModelScore& score = scores[k];
    std::vector<double> difference;
    for (std::size_t i = 0; i < density[k].size(); ++i)
      difference.push_back(density[best][i] - density[k][i]);
    const double n = static_cast<double>(difference.size());
    score.behind = n * Mean(difference);
    score.sd_behind = k == best || n < 2 ? 0 : std::sqrt(n) * StandardDeviation(difference);
    score.delta_aic = score.fit.aic - aic;
    score.delta_bic = score.fit.bic - bic;
    const bool close = score.behind <= score.sd_behind || k == best;
    if (choosable[k] && score.fit.ok && close &&
        score.fit.parameters_used < scores[chosen].fit.parameters_used)
      chosen = k;
  }
  scores[chosen].chosen = true;
  for (std::size_t k = 0; k < scores.size(); ++k)
    scores[k].verdict = VerdictOn(scores[k], k == chosen, k == best, choosable[k]);
  return scores;
}

}  // namespace impactlab
