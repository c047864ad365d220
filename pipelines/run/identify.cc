// From impacts to fits of the laws, and what is made of impacts and fits.

#include <algorithm>
#include <utility>

#include "data/cache/stage_cache.h"
#include "pipelines/run/compare_classical.h"
#include "pipelines/run/detail/stages.h"

namespace impactlab {

FitResult FitAll(const Experiment& experiment, const std::vector<ImpactEvent>& events,
                 const RunContext& context) {
  FitResult result;
  std::vector<ImpactEvent> accepted;
  for (const ImpactEvent& event : events) {
    if (event.accepted) {
      accepted.push_back(event);
    } else {
      result.rejected.push_back(
          {event.recording, event.impact, ReasonName(event.reason), event.detail});
    }
  }
  result.n_events = static_cast<int>(accepted.size());
  IdentifyOptions options = experiment.identify;
  options.seed = experiment.seed;
  options.progress = [&](double) { context.CheckCancelled(); };
  const auto fit = [&](RestitutionLaw law) {
    context.CheckCancelled();
    return StageResult<LawFit>(
        context.cache, "fit",
        [&] {
          return Identify(accepted, experiment.body, ImpactModel{{}, law}, options);
        },
        accepted, experiment.body, law, options);
  };
  // Laws are compared: what the main one leaves decides of what likelihood all are.
  const LawFit main = fit(MainLaw(experiment));
  options = WithLikelihoodOf(main, options);
  for (const RestitutionLaw law : experiment.laws)
    result.fits.push_back(LawName(law) == main.law ? main : fit(law));
  return result;
}

namespace pipelines {
namespace {

// Without what only later steps read, so that a change there does not count here.
Experiment ReadByFits(Experiment e) {
  e.name.clear();
  e.coefficients = {};
  e.validation = {};
  e.repeats = {};
  e.classical = {};
  return e;
}

// What the fits of marker images with common errors give.
struct FitsWithBudget {
  FitResult fit;
  ErrorBudget budget;
  Adjustment adjustment;
};

IdentifiedImpacts IdentifyMarkerImpacts(const Experiment& experiment, const Motions& motions,
                                        const RunContext& context, Analysis* analysis) {
  const MarkerRecordings& markers = motions.markers;
  const std::string read = DigestOf(
      context.cache, DigestOfExperiment(context.cache, ReadByFits(experiment)),
      DigestOfMarkers(context.cache, markers), DigestOfDrops(context.cache, analysis->drops),
      analysis->correction, analysis->motion, analysis->layout, analysis->events);
  FitsWithBudget fits = StageResult<FitsWithBudget>(
      context.cache, "identify",
      [&] {
        FitsWithBudget made;
        made.adjustment = IdentifyTogether(experiment, markers, true, context, analysis);
        made.fit = analysis->fit;
        made.budget = analysis->budget;
        return made;
      },
      read);
  analysis->fit = std::move(fits.fit);
  analysis->budget = std::move(fits.budget);
  analysis->comparison = StageResult<Comparison>(
      context.cache, "classical",
      [&] { return CompareClassical(experiment, markers, motions.poses, *analysis, context); },
      read, analysis->fit, experiment.classical.estimators, experiment.classical.window);
  return {std::move(fits.adjustment.set.events), std::move(fits.adjustment.set.body)};
}

}  // namespace

IdentifiedImpacts IdentifyImpacts(const Experiment& experiment, const Recordings& recordings,
                                  const Motions& motions, bool reduced, const RunContext& context,
                                  Analysis* analysis) {
  const bool markers = std::holds_alternative<MarkerRecordings>(recordings.data);
  if (markers && !reduced) return IdentifyMarkerImpacts(experiment, motions, context, analysis);
  Experiment values = experiment;
  if (reduced) values.identify.bootstrap = values.identify.grid = 0;
  analysis->fit = FitAll(values, markers ? NoiseEvents(*analysis) : analysis->events, context);
  return {analysis->events, experiment.body};
}

void StudyImpacts(const Experiment& experiment, const IdentifiedImpacts& impacts, bool reduced,
                  bool validate, const RunContext& context, Analysis* analysis) {
  const auto& [events, body] = impacts;
  if (!reduced) {
    for (const LawFit& fit : analysis->fit.fits)
      if (fit.law == LawName(MainLaw(experiment)))
        analysis->repeats = StageResult<Repeatability>(
            context.cache, "repeats",
            [&] { return StudyRepeats(impacts.events, impacts.body, fit, experiment.repeats); },
            events, body, fit, experiment.repeats);
    IdentifyOptions identify = experiment.identify;
    identify.progress = [&](double) { context.CheckCancelled(); };
    const std::vector<EventGroup> groups = GroupEvents(events, body, experiment.coefficients);
    const int folds = experiment.validation.folds;
    analysis->coefficients = StageResult<CoefficientStudy>(
        context.cache, "coefficients",
        [&] {
          return StudyCoefficients(groups, MainLaw(experiment), experiment.coefficients, folds,
                                   identify, context.threads);
        },
        groups, MainLaw(experiment), experiment.coefficients, folds, identify);
  }
  if (!validate) return;
  // Predicted from the events and the body as declared: errors that all impacts share are part of
  // what a prediction may be off by.
  IdentifyOptions identify = experiment.identify;
  if (reduced) identify.bootstrap = identify.grid = 0;
  analysis->validation = StageResult<ValidationTable>(
      context.cache, "validation",
      [&] {
        return Validate(analysis->events, experiment.body, analysis->fit, identify,
                        experiment.validation);
      },
      analysis->events, experiment.body, analysis->fit, identify, experiment.validation);
  context.CheckCancelled();
  if (reduced) return;
  analysis->scrutiny = StageResult<Diagnostics>(
      context.cache, "scrutiny",
      [&] {
        return DiagnoseCampaign(impacts.events, impacts.body, analysis->fit, analysis->validation,
                                experiment.seed);
      },
      events, body, analysis->fit, analysis->validation, experiment.seed);
}

}  // namespace pipelines
}  // namespace impactlab
