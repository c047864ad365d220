// From impacts to fits of the laws, and what is made of impacts and fits.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "data/cache/stage_cache.h"
#include "pipelines/run/compare_classical.h"
#include "pipelines/run/detail/stages.h"

namespace impactlab {
namespace {

DataVerdict VerdictOf(const ClosureVerdict& closure, bool force) {
  return {.verdict = ClosureWord(closure.closure),
          .reason = closure.text,
          .withheld = closure.closure == Closure::kDoesNotClose && !force};
}

constexpr const char* kInertiaFinding = "inertia_scale";

// Impulses that friction turns little close within the share of the gate by either hand, and yet
// give another friction by the wrong one: what two sources name stands above a residual.
bool IsOfHand(const Finding& finding) {
  return finding.named && (finding.parameter == "mirrored" || finding.parameter == "theta_flipped");
}

// Coefficients of a law that the verdict of the data withholds.
LawFit WithheldFit(RestitutionLaw law, const std::string& reason) {
  LawFit fit;
  fit.law = LawName(law);
  fit.mu_k.name = "mu_k";
  fit.e.name = CoefficientName(law);
  for (ParameterEstimate* p : {&fit.mu_k, &fit.e}) {
    p->lower95 = -std::numeric_limits<double>::infinity();
    p->reason = reason;
  }
  fit.covariance = fit.covariance_noise_only =
      Eigen::Matrix2d::Constant(std::numeric_limits<double>::quiet_NaN());
  fit.loglik = std::numeric_limits<double>::quiet_NaN();
  return fit;
}

}  // namespace

DataVerdict DoesNotClose(const std::string& reason, bool force) {
  return {.verdict = ClosureWord(Closure::kDoesNotClose), .reason = reason, .withheld = !force};
}

DataVerdict JudgeAudit(const AuditResult& recorded, const AuditResult* corrected, bool force) {
  const AuditResult& last = corrected ? *corrected : recorded;
  const ClosureVerdict& judged = last.closure;
  // No momentum of impacts, nor any cause of its residual, is asked of what is not one body.
  if (!last.rigidity.rigid) return DoesNotClose(last.rigidity.text, force);
  DataVerdict out = VerdictOf(judged, force);
  std::string named;
  for (const Finding& finding : recorded.findings)
    if (finding.named && finding.parameter != kInertiaFinding)
      named += (named.empty() ? "" : ", ") + finding.parameter;
  // No correction changes the inertia of a body: two sources against it stand above a residual.
  for (const Finding& finding : last.findings)
    if (finding.named && finding.parameter == kInertiaFinding)
      return DoesNotClose(
          "the inertia declared contradicts momentum and shape, which agree: " + last.inertia_note,
          force);
  for (const Finding& finding : last.findings) {
    if (!IsOfHand(finding) || judged.closure == Closure::kDoesNotClose) continue;
    return DoesNotClose(
        finding.text + (corrected ? ", after the corrections that the experiment file allows "
                                    "(audit: {apply: all} allows all)"
                                  : ", and the experiment file does not let it correct (audit: "
                                    "{apply: all})"),
        force);
  }
  const bool was_open = recorded.closure.closure == Closure::kDoesNotClose;
  if (judged.closure == Closure::kDoesNotClose && corrected) {
    out.reason += ", although corrected by " + named;
  } else if (judged.closure == Closure::kDoesNotClose && !named.empty()) {
    out.reason += fmt::format(
        "; the audit names {}, which the experiment file does not let correct (audit: {{apply: "
        "all}})",
        named);
  } else if (judged.closure == Closure::kCloses && corrected && was_open) {
    out.verdict = "closes_after_correction";
    out.reason += fmt::format("; {:.0f} % as recorded, without the correction of {}",
                              100 * recorded.closure.share, named);
  }
  return out;
}

DataVerdict JudgeImpacts(const Experiment& experiment, const std::vector<ImpactEvent>& events,
                         bool force) {
  std::vector<ImpactEvent> judged;
  std::copy_if(events.begin(), events.end(), std::back_inserter(judged),
               [](const ImpactEvent& event) { return !event.struck; });
  return VerdictOf(JudgeClosure(judged, experiment.body), force);
}

FitResult FitAll(const Experiment& experiment, const std::vector<ImpactEvent>& events,
                 const RunContext& context, const DataVerdict& verdict) {
  FitResult result;
  result.verdict = verdict;
  std::vector<ImpactEvent> accepted;
  for (const ImpactEvent& event : events) {
    if (event.accepted) {
      accepted.push_back(event);
      result.fitted.push_back({event.recording, event.impact, event.contact.v_minus_F.z()});
    } else {
      result.rejected.push_back(
          {event.recording, event.impact, ReasonName(event.reason), event.detail});
    }
  }
  result.n_events = static_cast<int>(accepted.size());
  if (verdict.withheld) {
    for (const RestitutionLaw law : experiment.laws)
      result.fits.push_back(WithheldFit(law, verdict.reason));
    return result;
  }
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

IdentifiedImpacts IdentifyMarkerImpacts(const Experiment& experiment, const Motions& motions,
                                        const Analysis& analysis, const RunContext& context) {
  const MarkerRecordings& markers = motions.markers;
  const std::string read = DigestOf(
      context.cache, DigestOfExperiment(context.cache, ReadByFits(experiment)),
      DigestOfMarkers(context.cache, markers), DigestOfDrops(context.cache, analysis.drops),
      analysis.correction, analysis.motion, analysis.layout, analysis.events);
  FitsWithBudget fits = StageResult<FitsWithBudget>(
      context.cache, "identify",
      [&] { return IdentifyTogether(experiment, markers, analysis, true, context); }, read);
  Comparison comparison = StageResult<Comparison>(
      context.cache, "classical",
      [&] { return CompareClassical(experiment, markers, motions.poses, analysis, context); }, read,
      fits.fit, experiment.classical.estimators, experiment.classical.window);
  return {std::move(fits.adjustment.set.events), std::move(fits.adjustment.set.body),
          std::move(fits.fit), std::move(fits.budget), std::move(comparison)};
}

}  // namespace

IdentifiedImpacts IdentifyImpacts(const Experiment& experiment, const Recordings& recordings,
                                  const Motions& motions, const Analysis& analysis, bool reduced,
                                  const RunContext& context) {
  const bool markers = std::holds_alternative<MarkerRecordings>(recordings.data);
  if (markers && !reduced) return IdentifyMarkerImpacts(experiment, motions, analysis, context);
  Experiment values = experiment;
  if (reduced) values.identify.bootstrap = values.identify.grid = 0;
  return {.events = analysis.events,
          .body = experiment.body,
          .fit = FitAll(values, markers ? NoiseEvents(analysis) : analysis.events, context),
          .budget = {},
          .comparison = {}};
}

ImpactStudies StudyImpacts(const Experiment& experiment, const std::vector<ImpactEvent>& events,
                           const IdentifiedImpacts& impacts, bool reduced, bool validate,
                           const RunContext& context) {
  ImpactStudies out;
  const FitResult& fits = impacts.fit;
  if (!reduced) {
    for (const LawFit& fit : fits.fits)
      if (fit.law == LawName(MainLaw(experiment)))
        out.repeats = StageResult<Repeatability>(
            context.cache, "repeats",
            [&] { return StudyRepeats(impacts.events, impacts.body, fit, experiment.repeats); },
            impacts.events, impacts.body, fit, experiment.repeats);
    IdentifyOptions identify = experiment.identify;
    identify.progress = [&](double) { context.CheckCancelled(); };
    std::vector<FrictionVerdict> beside;
    for (const LawFit& fit : fits.fits) {
      if (fit.law != LawName(MainLaw(experiment))) continue;
      beside.push_back({"all", fit.mu_k, fit.e_t.has_value()});
      identify.tangential = fit.e_t ? TangentialFit::kAlways : TangentialFit::kNever;
    }
    const std::vector<EventGroup> groups =
        GroupEvents(impacts.events, impacts.body, experiment.coefficients);
    const int folds = experiment.validation.folds;
    out.coefficients = StageResult<CoefficientStudy>(
        context.cache, "coefficients",
        [&] {
          return StudyCoefficients(groups, MainLaw(experiment), experiment.coefficients, folds,
                                   identify, context.threads, beside);
        },
        groups, MainLaw(experiment), experiment.coefficients, folds, identify, beside);
  }
  if (!validate) return out;
  // Predicted from the events and the body as declared: errors that all impacts share are part of
  // what a prediction may be off by.
  IdentifyOptions identify = experiment.identify;
  if (reduced) identify.bootstrap = identify.grid = 0;
  out.validation = StageResult<ValidationTable>(
      context.cache, "validation",
      [&] { return Validate(events, experiment.body, fits, identify, experiment.validation); },
      events, experiment.body, fits, identify, experiment.validation);
  context.CheckCancelled();
  if (reduced) return out;
  out.scrutiny = StageResult<Diagnostics>(
      context.cache, "scrutiny",
      [&] {
        return DiagnoseCampaign(impacts.events, impacts.body, fits, out.validation,
                                experiment.seed);
      },
      impacts.events, impacts.body, fits, out.validation, experiment.seed);
  return out;
}

}  // namespace pipelines
}  // namespace impactlab
