#pragma once
// What the coefficients of an experiment depend on, and how sure their intervals are: models by
// cross-validation, four methods side by side.

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "impact/identify/coefficient_interval.h"
#include "impact/identify/coefficient_model.h"

namespace impactlab {

namespace pipelines {
class Keys;
}

struct CoefficientOptions {
  // empty: constant, speed and order; with groups those of groups in place of the order
  std::vector<CoefficientModel> models;
  // Groups of recordings: name and glob over the names of recordings. Recordings that match none
  // are the group "rest".
  std::vector<std::pair<std::string, std::string>> groups;
  // Refits of bootstrap and Monte Carlo for the comparison of intervals. Each costs some 5 ms for
  // 100 planar impacts, ten times that in space; 0 leaves the comparison out.
  int refits = 200;
};

struct CoefficientStudy {
  std::string law;
  std::vector<ModelScore> models;
  IntervalComparison intervals;  // of the chosen model
  const ModelScore* chosen() const;
  bool empty() const { return models.empty(); }
};

// The events by the groups of the options, in the order of the options; groups without events are
// left out.
std::vector<EventGroup> GroupEvents(const std::vector<ImpactEvent>& events, const Body& body,
                                    const CoefficientOptions& options);

// The models that are compared where the options name none.
std::vector<CoefficientModel> UsualModels(std::size_t n_groups);

// The models with those that fit e_t beside each that does not.
std::vector<CoefficientModel> WithTangential(std::vector<CoefficientModel> models);

// What the fit that is printed beside the models says of friction: of all impacts ("all"), or of
// one group.
struct FrictionVerdict {
  std::string group;
  ParameterEstimate mu_k;
  bool e_t = false;  // fitted beside it
};

// Fits, compares and chooses; `folds` of whole recordings. Where `identify` always fits e_t, models
// with it stand beside those that are asked for. Friction that the fit beside does not determine is
// not determined by a model of the same friction either: its curvature at the optimum, which a
// model goes by, knows nothing of the plateau that a profile ends on.
CoefficientStudy StudyCoefficients(std::span<const EventGroup> groups, RestitutionLaw law,
                                   const CoefficientOptions& options, int folds,
                                   const IdentifyOptions& identify, int threads,
                                   std::span<const FrictionVerdict> beside = {});

// models.csv, model_coefficients.csv and intervals.csv, see data/README.
void WriteCoefficients(const std::filesystem::path& folder, const CoefficientStudy& study);

// Keys `models`, `groups` and `refits` of a map.
void Visit(pipelines::Keys& keys, CoefficientOptions& options);

}  // namespace impactlab
