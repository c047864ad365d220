#pragma once
// Groups of events as the mixed fit sees them; private to the impact room.

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "impact/identify/coefficient_model.h"
#include "impact/identify/detail/mixed_fit.h"

namespace impactlab::impact {

// Events of all groups that can be used, couples fitted.
struct Material {
  std::vector<PreparedEvent> events;
  std::vector<int> group;
  std::vector<double> log_speed;  // log |v_n-|
  std::vector<double> order;      // place of the recording in its group, -1/2 to 1/2
  int n_recordings = 0;
  double log_reference = 0;
  double couple_cost = 0;  // half of -2 log L of the couples
};

// ConfigError where some groups are planar and some are not.
Material PrepareGroups(std::span<const EventGroup> groups, const IdentifyOptions& options);

// The fit of one model to `material`, which must outlive it.
MixedTask TaskOf(const Material& material, std::size_t n_groups, RestitutionLaw law,
                 const CoefficientModel& model, const IdentifyOptions& options);

// Optimum from nothing: one pair of coefficients for all by a scan, then the model's own from
// there. Static friction is set in the task.
MixedPoint FitFromScratch(MixedTask& task, const CoefficientModel& model);

// One model fitted to all groups under the likelihood that the options name, or under the likelier
// one where they leave it open.
struct MixedFit {
  IdentifyOptions options;  // with that likelihood
  std::unique_ptr<Material> material;
  std::optional<MixedTask> task;  // of `material`; empty where no event can be used
  MixedPoint point;
};
MixedFit FitMixedModel(std::span<const EventGroup> groups, RestitutionLaw law,
                       const CoefficientModel& model, const IdentifyOptions& options);

}  // namespace impactlab::impact
