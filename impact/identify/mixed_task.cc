#include "impact/identify/detail/mixed_task.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "data/base/error.h"
#include "data/statistics/statistics.h"

namespace impactlab::impact {

Material PrepareGroups(std::span<const EventGroup> groups, const IdentifyOptions& options) {
  Material material;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].body.planar != groups.front().body.planar) {
      throw ConfigError(
          fmt::format("groups: found '{}' {} and '{}' {}, allowed: all planar or all in space",
                      groups.front().name, groups.front().body.planar ? "planar" : "in space",
                      groups[g].name, groups[g].body.planar ? "planar" : "in space"));
    }
    int clusters = 0;
    const std::size_t first = material.events.size();
    for (PreparedEvent& event : PrepareEvents(groups[g].events, groups[g].body)) {
      clusters = std::max(clusters, event.cluster + 1);
      event.cluster += material.n_recordings;
      material.group.push_back(static_cast<int>(g));
      material.log_speed.push_back(std::log(-event.event->contact.v_minus_F.z()));
      material.events.push_back(std::move(event));
    }
    for (std::size_t i = first; i < material.events.size(); ++i) {
      const double place = material.events[i].cluster - material.n_recordings;
      material.order.push_back(clusters > 1 ? place / (clusters - 1) - 0.5 : 0);
    }
    material.n_recordings += clusters;
  }
  if (material.events.empty()) return material;
  material.log_reference = Mean(material.log_speed);
  material.couple_cost = FitCouple(material.events, options);
  return material;
}

MixedTask TaskOf(const Material& material, std::size_t n_groups, RestitutionLaw law,
                 const CoefficientModel& model, const IdentifyOptions& options) {
  const int n = static_cast<int>(material.events.size());
  MixedTask task{.base = {.events = &material.events,
                          .multiplicity = std::vector<double>(material.events.size(), 1.0),
                          .law = law,
                          .fit_discrepancy = options.fit_discrepancy && n > 1,
                          .n_groups = ScatterGroups(n),
                          .shape = Shape(options, material.events.front().dim)}};
  task.group = material.group;
  for (const double v : material.log_speed) task.log_v.push_back(v - material.log_reference);
  task.order = material.order;
  task.n_groups = static_cast<int>(n_groups);
  task.offset = {model.friction != Pooling::kComplete && n_groups > 1,
                 model.restitution != Pooling::kComplete && n_groups > 1};
  task.pooled = {model.friction != Pooling::kNone, model.restitution != Pooling::kNone};
  // What every group has of its own leaves nothing to be shared.
  task.free = {!task.offset[0] || task.pooled[0],
               !task.offset[1] || task.pooled[1],
               model.fit_exponent,
               model.fit_e_t,
               model.fit_order,
               model.fit_order};
  return task;
}

MixedPoint FitFromScratch(MixedTask& task, const CoefficientModel& model) {
  // A start needs no more events than these.
  constexpr std::size_t kEnough = 100;
  std::vector<PreparedEvent> few;
  FitTask some = task.base;
  some.multiplicity.clear();
  const std::size_t stride = std::max<std::size_t>(1, task.base.events->size() / kEnough);
  for (std::size_t i = 0; i < task.base.events->size(); i += stride) {
    if (task.base.multiplicity[i] == 0) continue;
    few.push_back((*task.base.events)[i]);
    some.multiplicity.push_back(task.base.multiplicity[i]);
  }
  if (few.empty()) return {};
  some.events = &few;
  FitPoint pooled = FitBest(some, ImpactModel{{}, task.base.law}, true).best;
  MixedPoint start;
  if (!pooled.ok) return start;
  if (model.fit_mu_s) {
    pooled = FitFrom(task.base, pooled, true, true, 1e-4);
    FitStaticFriction(task.base, pooled);
  }
  start.theta.setZero();
  start.theta.head<3>() << pooled.mu, pooled.e, model.fit_exponent ? 0 : model.exponent;
  ScanOffsets(task, start);
  MixedPoint best = FitMixed(task, start);
  if (!model.fit_e_t) return best;
  // What springs back looks like more friction, and less of it slides: other valleys.
  const auto take = [&](MixedPoint found) {
    const bool better = found.ok && (!best.ok || found.cost < best.cost);
    if (better) best = std::move(found);
    return better;
  };
  for (const double e_t : {0.4, 0.8})
    for (const double more : {1.0, 1.5}) {
      start.theta[0] = more * pooled.mu;
      start.theta[3] = e_t;
      ScanOffsets(task, start);
      take(FitMixed(task, start));
    }
  constexpr int kRounds = 3;
  for (int round = 0; round < kRounds && best.ok; ++round)
    if (!take(FitMixed(task, ScanCoefficient(task, best, 3, 0, 1)))) break;
  return best;
}

MixedFit FitMixedModel(std::span<const EventGroup> groups, RestitutionLaw law,
                       const CoefficientModel& model, const IdentifyOptions& options) {
  const auto prepare = [&](Likelihood likelihood) {
    MixedFit fit;
    fit.options = options;
    fit.options.likelihood = likelihood;
    fit.material = std::make_unique<Material>(PrepareGroups(groups, fit.options));
    if (!fit.material->events.empty())
      fit.task = TaskOf(*fit.material, groups.size(), law, model, fit.options);
    return fit;
  };
  const bool open = options.likelihood == Likelihood::kAdaptive;
  MixedFit heavy = prepare(open ? Likelihood::kStudentT : options.likelihood);
  if (!heavy.task) return heavy;
  if (open && heavy.material->events.size() < kLeastForTails) {
    heavy = prepare(Likelihood::kGaussian);
    heavy.point = FitFromScratch(*heavy.task, model);
    return heavy;
  }
  heavy.point = FitFromScratch(*heavy.task, model);
  if (!open || !heavy.point.ok) return heavy;
  MixedFit light = prepare(Likelihood::kGaussian);
  light.task->base.mu_s_floor = heavy.task->base.mu_s_floor;
  light.point = FitMixed(*light.task, heavy.point);
  const auto cost = [](const MixedFit& fit) { return fit.point.cost + fit.material->couple_cost; };
  return light.point.ok && cost(light) < cost(heavy) ? std::move(light) : std::move(heavy);
}

}  // namespace impactlab::impact
