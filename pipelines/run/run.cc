#include "pipelines/run/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "data/base/error.h"
#include "data/cache/stage_cache.h"
#include "data/files/glob.h"
#include "data/files/text.h"
#include "data/math/rotation.h"
#include "data/statistics/statistics.h"
#include "pipelines/run/detail/stages.h"
#include "pipelines/study/undecided_errors.h"

namespace impactlab {
namespace pipelines {

AuditResult AuditImpacts(const Experiment& experiment, const Analysis& analysis) {
  std::vector<FlightArc> arcs;
  std::vector<RestPose> rests;
  for (const MotionFit& fit : analysis.motion) {
    arcs.insert(arcs.end(), fit.arcs.begin(), fit.arcs.end());
    rests.insert(rests.end(), fit.rests.begin(), fit.rests.end());
  }
  AuditOptions options = experiment.audit;
  options.gravity_W = experiment.motion.flight.gravity_W;
  if (experiment.second)
    return Audit(SeenFromSurface(analysis.events, experiment.body, experiment.second->struck,
                                 options.gravity_W),
                 arcs, rests, experiment.body, Plane{}, options);
  return Audit(analysis.events, arcs, rests, experiment.body,
               CorrectedFloor(experiment.floor, analysis.correction), options);
}

}  // namespace pipelines

namespace {

// `second` found on data that `first` had already corrected.
FrameCorrection Compose(const FrameCorrection& first, const FrameCorrection& second) {
  FrameCorrection both = first;
  both.rotation_offset_B =
      LogSO3(ExpSO3(second.rotation_offset_B) * ExpSO3(first.rotation_offset_B));
  both.com_offset_B = first.com_offset_B + second.com_offset_B;
  both.length_scale *= second.length_scale;
  both.clock_rate *= second.clock_rate;
  both.mirrored = first.mirrored != second.mirrored;
  both.theta_flipped = first.theta_flipped != second.theta_flipped;
  both.floor_offset += second.floor_offset;
  both.floor_tilt += second.floor_tilt;
  return both;
}

void AddLayoutFinding(const LayoutVerdict& layout, const std::string& whose, AuditResult* audit) {
  if (!layout.doubtful) return;
  Finding finding;
  finding.parameter = "layout_distance_m";
  finding.named = true;
  const double half = kNormal95 * layout.sd;
  finding.estimate = {layout.furthest,        layout.sd, layout.furthest - half,
                      layout.furthest + half, true,      ""};
  finding.text = whose + layout.text + "; states and coefficients carry the error";
  audit->findings.push_back(finding);
}

// A pattern that names no recording is a slip, which would leave a specimen out in silence.
void CheckGroups(const Experiment& experiment, const Recordings& recordings) {
  for (const auto& [name, glob] : experiment.coefficients.groups) {
    const std::size_t n = CountOf(recordings);
    bool any = n == 0;
    for (std::size_t i = 0; i < n && !any; ++i) any = MatchesGlob(glob, NameOf(recordings, i));
    if (any) continue;
    throw ConfigError(fmt::format(
        "{}: coefficients.groups: found '{}' for {}, which is the name of none of {} recordings, "
        "allowed a pattern of "
        "their names, such as {}",
        experiment.path.string(), glob, Excerpt(name), n, NameOf(recordings, 0)));
  }
}

// One pass over the recordings with one set of frame corrections: the motions, and the analysis
// that begins with them.
struct AnalysisPass {
  pipelines::Motions motions;
  Analysis analysis;
};

AnalysisPass AnalyseMotions(const Experiment& experiment, const Recordings& recordings,
                            const FrameCorrection& correction, const std::string& label,
                            const RunContext& context) {
  AnalysisPass out;
  out.motions = pipelines::FitMotions(experiment, recordings, correction, label, context);
  Analysis& analysis = out.analysis;
  analysis.correction = correction;
  analysis.motion = std::move(out.motions.fits);
  analysis.drops = std::move(out.motions.bundles.drops);
  analysis.layout = std::move(out.motions.bundles.layout);
  analysis.fit_seconds = std::move(out.motions.bundles.seconds);
  analysis.events = pipelines::CollectImpacts(analysis.motion);
  return out;
}

// Fits, and studies of impacts and fits, where the verdict of the data lets coefficients stand.
// `reduced` as in IdentifyImpacts; `audit`: of these impacts.
void IdentifyAndStudy(const Experiment& experiment, const Recordings& recordings, bool reduced,
                      const AuditResult& audit, const DataVerdict& verdict,
                      const RunOptions& options, const RunContext& context, AnalysisPass* pass) {
  if (!options.identify) return;
  Analysis& analysis = pass->analysis;
  if (verdict.withheld) {
    analysis.fit = FitAll(experiment, analysis.events, context, verdict);
    return;
  }
  pipelines::IdentifiedImpacts impacts =
      pipelines::IdentifyImpacts(experiment, recordings, pass->motions, analysis, reduced, context);
  context.CheckCancelled();
  pipelines::ImpactStudies studies = pipelines::StudyImpacts(experiment, analysis.events, impacts,
                                                             reduced, options.validate, context);
  analysis.fit = std::move(impacts.fit);
  analysis.fit.verdict = verdict;
  if (!experiment.second)
    WidenByScale(analysis.events, experiment.body,
                 CorrectedFloor(experiment.floor, analysis.correction),
                 experiment.motion.flight.gravity_W, UndecidedScale(audit), experiment.identify,
                 &analysis.fit);
  analysis.budget = std::move(impacts.budget);
  analysis.comparison = std::move(impacts.comparison);
  analysis.repeats = std::move(studies.repeats);
  analysis.coefficients = std::move(studies.coefficients);
  analysis.validation = std::move(studies.validation);
  analysis.scrutiny = std::move(studies.scrutiny);
}

FlightReport CheckDeclaredFlights(const Experiment& experiment, const MarkerRecordings& markers,
                                  const RunContext& context) {
  const MarkerRecordings corrected = Correct(markers, experiment.correction);
  return StageResult<FlightReport>(
      context.cache, "flights",
      [&] {
        return CheckAllFlights(experiment, corrected,
                               CorrectedFloor(experiment.floor, experiment.correction), context);
      },
      pipelines::DigestOfExperiment(context.cache, experiment),
      pipelines::DigestOfMarkers(context.cache, corrected));
}

// Poses frame by frame as recorded, without any correction, with the layout as learned from the
// recordings.
std::vector<PoseRecording> RecordedPoses(const MarkerRecordings& markers, AnalysisPass* recorded,
                                         const RunContext& context) {
  const Analysis& analysis = recorded->analysis;
  std::vector<TimedPoses> poses = std::move(recorded->motions.poses);
  if (!IsIdentity(analysis.correction))
    poses = PosesOfAll(WithLayout(markers, analysis.layout), analysis.drops, context);
  std::vector<PoseRecording> out;
  out.reserve(poses.size());
  for (TimedPoses& one : poses) out.push_back(std::move(one.poses.recording));
  return out;
}

// What poses show with a correction known beforehand.
SetDiagnosis DiagnosePoses(const Experiment& e, const FrameCorrection& correction,
                           std::vector<const PoseRecording*> poses) {
  std::vector<PoseRecording> corrected;
  if (!IsIdentity(correction)) {
    for (const PoseRecording* recording : poses)
      corrected.push_back(Correct(*recording, correction));
    for (std::size_t i = 0; i < poses.size(); ++i) poses[i] = &corrected[i];
  }
  return DiagnoseSet(poses, e.body, CorrectedFloor(e.floor, correction), e.motion.flight.gravity_W,
                     correction);
}

// How most bodies fall, along gravity; none where few are seen to fall, or not along gravity.
std::optional<SetDiagnosis> SteadyFall(const Experiment& e, const FrameCorrection& correction,
                                       const PoseRecordings& recordings) {
  constexpr int kFewest = 3;
  constexpr double kAlong = 0.95;
  std::vector<const PoseRecording*> poses;
  for (const PosedRecording& one : recordings.recordings) poses.push_back(&one.poses);
  const SetDiagnosis seen = DiagnosePoses(e, correction, std::move(poses));
  const Eigen::Vector3d& gravity_W = e.motion.flight.gravity_W;
  const double size = seen.acceleration_W.norm(), g = gravity_W.norm();
  if (seen.steady < kFewest || 3 * seen.steady < 2 * seen.recordings || !(g > 0)) return {};
  if (!(seen.acceleration_W.dot(gravity_W) > kAlong * size * g)) return {};
  return seen;
}

double FallRatio(const Experiment& e, const SetDiagnosis& fall) {
  return fall.acceleration_W.norm() / e.motion.flight.gravity_W.norm();
}

// Falls outside these bounds contradict clock, scale or gravity: no coefficient stands on them.
constexpr double kLeastFall = 0.7, kMostFall = 1.4;
bool IsContradictory(const Experiment& e, const std::optional<SetDiagnosis>& fall) {
  return fall && !(FallRatio(e, *fall) > kLeastFall && FallRatio(e, *fall) < kMostFall);
}

// The experiment with flights told from contact by the fall that its recordings show. The gate is a
// quarter of gravity wide, so a fall within a tenth of it is told apart as it is; one further off
// would lose the flights beyond the gate, and with them bias every estimate of scale or clock.
Experiment WithFallAsRecorded(const Experiment& experiment,
                              const std::optional<SetDiagnosis>& fall) {
  constexpr double kNear = 0.1;
  Experiment out = experiment;
  // Drag that is declared takes a part of gravity that changes with speed.
  if (!fall || IsContradictory(experiment, fall) || experiment.motion.flight.drag_per_m != 0)
    return out;
  const double ratio = FallRatio(experiment, *fall);
  if (std::abs(ratio - 1) > kNear) out.motion.fall_ratio = ratio;
  return out;
}

// The audit's finding of a drag that was not declared; none where there is none that slows.
const Finding* UndeclaredDrag(const AuditResult& audit) {
  for (const Finding& finding : audit.findings)
    if (finding.parameter == "drag_per_m" && finding.estimate.value > 0) return &finding;
  return nullptr;
}

// The verdict on such a fall; the cures stand in the diagnosis.
DataVerdict VerdictOnFall(const SetDiagnosis& seen, bool force) {
  std::string reason = seen.seen;
  for (const SetCause& cause : seen.causes) reason += "; " + cause.text;
  return DoesNotClose(reason, force);
}

// What the recordings show, with the correction known beforehand, where no impact was accepted.
std::optional<SetDiagnosis> DiagnoseNothing(const RunResult& run) {
  const std::vector<ImpactEvent>& events = run.best().events;
  if (std::any_of(events.begin(), events.end(), [](const ImpactEvent& e) { return e.accepted; }))
    return std::nullopt;
  const bool markers = run.markers() != nullptr;
  return DiagnosePoses(run.experiment, markers ? FrameCorrection() : run.experiment.correction,
                       run.poses());
}

}  // namespace

const PoseRecording& RunResult::poses(std::size_t i) const {
  if (markers() != nullptr) return image_poses[i];
  return PosesOf(recordings)->recordings[i].poses;
}

std::vector<const PoseRecording*> RunResult::poses() const {
  std::vector<const PoseRecording*> out;
  for (std::size_t i = 0; i < n_recordings(); ++i) out.push_back(&poses(i));
  return out;
}

const MarkerRecordings* RunResult::markers() const {
  return std::get_if<MarkerRecordings>(&recordings.data);
}

const PointReport* RunResult::points() const {
  const PoseRecordings* read = PosesOf(recordings);
  return read != nullptr && read->points ? &*read->points : nullptr;
}

const PoseRecordings* RunResult::second() const {
  const auto* both = std::get_if<TwoBodyRecordings>(&recordings.data);
  return both != nullptr ? &both->second : nullptr;
}

RunResult RunExperiment(const Experiment& declared, Recordings recordings,
                        const RunOptions& options, const RunContext& context) {
  const auto start = std::chrono::steady_clock::now();
  RunResult run;
  run.experiment = WithNoiseOf(recordings, declared);
  Experiment& experiment = run.experiment;  // as declared, later with the drag that flights show
  CheckGroups(experiment, recordings);
  const auto* const poses = PosesOf(recordings);
  const auto* const markers = std::get_if<MarkerRecordings>(&recordings.data);
  const auto* const both = std::get_if<TwoBodyRecordings>(&recordings.data);

  if (markers != nullptr) run.flights = CheckDeclaredFlights(experiment, *markers, context);
  const auto fall_with = [&](const FrameCorrection& correction) {
    return poses != nullptr && both == nullptr ? SteadyFall(experiment, correction, *poses)
                                               : std::optional<SetDiagnosis>();
  };
  std::optional<SetDiagnosis> fall = fall_with(experiment.correction);
  AnalysisPass recorded = AnalyseMotions(WithFallAsRecorded(experiment, fall), recordings,
                                         experiment.correction, "fitting motion", context);
  if (markers != nullptr) ExplainRefusals(run.flights, *markers, &recorded.analysis.events);
  run.audit = pipelines::AuditImpacts(experiment, recorded.analysis);
  // Velocities at impacts of flights without the drag that they show would be off, and restitution
  // with them.
  if (const Finding* drag = UndeclaredDrag(run.audit); drag != nullptr && poses != nullptr) {
    Finding found = *drag;
    found.text += "; the flights are fitted with it";
    experiment.motion.flight.drag_per_m += found.estimate.value;
    recorded = AnalyseMotions(experiment, recordings, experiment.correction,
                              "fitting motion with drag", context);
    run.audit = pipelines::AuditImpacts(experiment, recorded.analysis);
    run.audit.findings.push_back(std::move(found));
  }
  if (poses != nullptr) AddLayoutFinding(poses->layout, "", &run.audit);
  if (both != nullptr) AddLayoutFinding(both->second.layout, "second body: ", &run.audit);

  const FrameCorrection allowed = AllowedCorrection(run.audit.correction, experiment.apply);
  run.has_corrected = !IsIdentity(allowed);
  const bool force = options.force_coefficients;
  const auto judge = [&](const AuditResult* corrected) {
    const AuditResult& last = corrected ? *corrected : run.audit;
    // Air slows a light body by more than a wrong clock would.
    if (last.rigidity.rigid && experiment.motion.flight.drag_per_m == 0 &&
        IsContradictory(experiment, fall)) {
      if (!force) run.diagnosis = fall;
      return VerdictOnFall(*fall, force);
    }
    return JudgeAudit(run.audit, corrected, force);
  };
  if (run.has_corrected) {
    const FrameCorrection both_corrections = Compose(experiment.correction, allowed);
    fall = fall_with(both_corrections);
    AnalysisPass corrected = AnalyseMotions(WithFallAsRecorded(experiment, fall), recordings,
                                            both_corrections, "fitting corrected motion", context);
    run.audit_corrected = pipelines::AuditImpacts(experiment, corrected.analysis);
    run.verdict = judge(&run.audit_corrected);
    // Coefficients as recorded are kept for comparison, under the verdict of the recorded data.
    const bool compared = force || !run.verdict.withheld;
    IdentifyAndStudy(experiment, recordings, true, run.audit,
                     JudgeAudit(run.audit, nullptr, compared), options, context, &recorded);
    IdentifyAndStudy(experiment, recordings, false, run.audit_corrected, run.verdict, options,
                     context, &corrected);
    run.corrected = std::move(corrected.analysis);
  } else {
    run.verdict = judge(nullptr);
    IdentifyAndStudy(experiment, recordings, false, run.audit, run.verdict, options, context,
                     &recorded);
  }

  if (markers != nullptr) run.image_poses = RecordedPoses(*markers, &recorded, context);
  run.recordings = std::move(recordings);
  run.recorded = std::move(recorded.analysis);
  if (both == nullptr && !run.diagnosis) run.diagnosis = DiagnoseNothing(run);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

}  // namespace impactlab
