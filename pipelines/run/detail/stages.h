#pragma once
// The stages of a run, in their order: functions of values that know nothing of files.
// RunExperiment walks them.

#include <string>
#include <vector>

#include "pipelines/run/recordings.h"
#include "pipelines/run/run.h"

namespace impactlab::pipelines {

// The motion in every recording, with one set of frame corrections.
struct Motions {
  std::vector<MotionFit> fits;  // one a recording
  // Of marker images only:
  MarkerRecordings markers;       // corrected, with the layout of the bundle fits
  BundleFits bundles;             // of all impacts
  std::vector<TimedPoses> poses;  // frame by frame
};

// `label` names the work where progress is shown.
Motions FitMotions(const Experiment& experiment, const Recordings& recordings,
                   const FrameCorrection& correction, const std::string& label,
                   const RunContext& context);

// The events of all recordings in their order, accepted or rejected with a reason.
std::vector<ImpactEvent> CollectImpacts(const std::vector<MotionFit>& fits);

// Free flights, rests and impacts against the laws that hold without a model of impact.
AuditResult AuditImpacts(const Experiment& experiment, const Analysis& analysis);

// The impacts and the body that fits are of, and the fits of all laws.
struct IdentifiedImpacts {
  std::vector<ImpactEvent> events;
  Body body;
  FitResult fit;
  // Of marker images only:
  ErrorBudget budget;
  Comparison comparison;  // the classical estimators
};

// Of marker images (`motions` of the `analysis`) with the errors that all impacts share at their
// best values, the error budget and the classical estimators. `reduced`: values and intervals
// alone, without resampling and budget, of an analysis that is kept for comparison only.
IdentifiedImpacts IdentifyImpacts(const Experiment& experiment, const Recordings& recordings,
                                  const Motions& motions, const Analysis& analysis, bool reduced,
                                  const RunContext& context);

// What is made of impacts and their fits.
struct ImpactStudies {
  Repeatability repeats;
  CoefficientStudy coefficients;
  ValidationTable validation;
  Diagnostics scrutiny;
};

// `events`: as the analysis has them; the fits are of `impacts`.
ImpactStudies StudyImpacts(const Experiment& experiment, const std::vector<ImpactEvent>& events,
                           const IdentifiedImpacts& impacts, bool reduced, bool validate,
                           const RunContext& context);

// Inputs of stages that are large: their digests. All that later stages read of an experiment; its
// own file says it all but floor and gravity, which may be those of the rig.
std::string DigestOfExperiment(const StageCache* cache, const Experiment& experiment);
std::string DigestOfMarkers(const StageCache* cache, const MarkerRecordings& markers);
std::string DigestOfDrops(const StageCache* cache,
                          const std::vector<std::vector<ImpactBundle>>& drops);

}  // namespace impactlab::pipelines
