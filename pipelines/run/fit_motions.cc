// From recordings to the motion in each of them.

#include <utility>

#include "data/base/parallel.h"
#include "data/cache/stage_cache.h"
#include "pipelines/run/detail/stages.h"
#include "reconstruction/pose/missing_attitude.h"

namespace impactlab::pipelines {
namespace {

// A recording that cannot be used, as an event that says why.
MotionFit UnusableMotion(const std::string& name, const std::string& fault) {
  ImpactEvent event;
  event.recording = name;
  event.reason = RejectReason::kBadRecording;
  event.detail = fault;
  MotionFit out;
  out.events = {std::move(event)};
  return out;
}

// fit(i) of every recording on all threads.
template <class Fit>
std::vector<MotionFit> FitEach(std::size_t n, const std::string& label, const RunContext& context,
                               const Fit& fit) {
  std::vector<MotionFit> out(n);
  Progress progress(label, static_cast<std::int64_t>(n), "recordings", context.Shown());
  ForEachIndex(n, context.threads, [&](std::size_t i) {
    context.CheckCancelled();
    out[i] = fit(i);
    progress.Advance();
  });
  return out;
}

// Of impacts of a body whose attitude was not measured.
void FollowSpin(const Experiment& experiment, const Plane& floor, const KnownSpin& release,
                std::vector<ImpactEvent>* events) {
  const Eigen::Vector3d& gravity_W = experiment.motion.flight.gravity_W;
  for (ImpactEvent& event : *events)
    TakeSpinAsUnknown(event, experiment.body, floor, gravity_W, {});
  CarrySpin(*events, experiment.body, floor, gravity_W, release);
}

std::vector<MotionFit> FitPoses(const Experiment& experiment, const PoseRecordings& recordings,
                                const FrameCorrection& correction, const std::string& label,
                                const RunContext& context) {
  const Plane floor = CorrectedFloor(experiment.floor, correction);
  const KnownSpin release = experiment.release.value_or(KnownSpin{});
  const auto fit = [&](std::size_t i) {
    const auto& [poses, fault] = recordings.recordings[i];
    if (!fault.empty()) return UnusableMotion(poses.name, fault);
    MotionFit motion =
        FitMotion(Correct(poses, correction), experiment.body, floor, experiment.motion);
    if (experiment.planar_camera)
      AddOutOfPlane(*experiment.planar_camera, experiment.body, floor, &motion);
    if (AttitudeIsConstant(poses)) FollowSpin(experiment, floor, release, &motion.events);
    return motion;
  };
  return StageResult<std::vector<MotionFit>>(
      context.cache, "motion",
      [&] { return FitEach(recordings.recordings.size(), label, context, fit); }, experiment.body,
      floor, experiment.motion, release, correction, experiment.planar_camera,
      DigestOf(context.cache, recordings.recordings));
}

std::vector<MotionFit> FitTwoBodyPoses(const Experiment& experiment,
                                       const TwoBodyRecordings& recordings,
                                       const FrameCorrection& correction, const std::string& label,
                                       const RunContext& context) {
  const std::vector<PosedRecording>& first = recordings.first.recordings;
  const std::vector<PosedRecording>& second = recordings.second.recordings;
  // Errors of the first body's frame are its own; scale and clock are common.
  FrameCorrection common = correction;
  common.rotation_offset_B = common.com_offset_B = Eigen::Vector3d::Zero();
  const KnownSpin release = experiment.release.value_or(KnownSpin{});
  const auto fit = [&](std::size_t i) {
    for (const std::string& fault : {first[i].fault, second[i].fault})
      if (!fault.empty()) return UnusableMotion(first[i].poses.name, fault);
    MotionFit motion = FitRelativeMotion(Correct(first[i].poses, correction), experiment.body,
                                         Correct(second[i].poses, common),
                                         experiment.second->struck, experiment.motion);
    if (AttitudeIsConstant(first[i].poses))
      FollowSpin(experiment, experiment.floor, release, &motion.events);
    return motion;
  };
  return StageResult<std::vector<MotionFit>>(
      context.cache, "motion", [&] { return FitEach(first.size(), label, context, fit); },
      experiment.body, experiment.motion, release, correction, experiment.second->struck,
      DigestOf(context.cache, first, second));
}

// Free flights and rests from the poses of the frames; impacts are those of the bundle fits.
std::vector<MotionFit> FitMarkerFlights(const Experiment& experiment, const Motions& motions,
                                        const Plane& floor, const std::string& label,
                                        const RunContext& context) {
  const std::vector<MarkerRecording>& recordings = motions.markers.recordings;
  const auto fit = [&](std::size_t i) {
    const MarkerRecording& recording = recordings[i];
    if (!recording.fault.empty())
      return UnusableMotion(recording.tracks.recording, recording.fault);
    MotionFit motion =
        FitFlights(motions.poses[i].poses.recording, experiment.body, floor, experiment.motion);
    for (const ImpactBundle& drop : motions.bundles.drops[i]) motion.events.push_back(drop.event);
    for (ImpactEvent& event : motion.events)
      if (!event.accepted && !recording.silent.empty())
        event.detail = recording.silent + "; " + event.detail;
    return motion;
  };
  return StageResult<std::vector<MotionFit>>(
      context.cache, "motion",
      [&] { return FitEach(recordings.size(), label + " of the frames", context, fit); },
      experiment.body, floor, experiment.motion, DigestOfMarkers(context.cache, motions.markers),
      DigestOfDrops(context.cache, motions.bundles.drops));
}

}  // namespace

std::string DigestOfExperiment(const StageCache* cache, const Experiment& experiment) {
  return DigestOf(cache, ToYaml(experiment), experiment.body, experiment.floor, experiment.motion,
                  experiment.correction);
}

std::string DigestOfMarkers(const StageCache* cache, const MarkerRecordings& markers) {
  std::string recordings;
  for (const MarkerRecording& one : markers.recordings) recordings += DigestOf(cache, one);
  return DigestOf(cache, markers.rig, markers.layout, markers.layout_knowledge, recordings,
                  markers.exposure);
}

std::string DigestOfDrops(const StageCache* cache,
                          const std::vector<std::vector<ImpactBundle>>& drops) {
  std::string out;
  for (const std::vector<ImpactBundle>& one : drops) out += DigestOf(cache, one);
  return out;
}

Motions FitMotions(const Experiment& experiment, const Recordings& recordings,
                   const FrameCorrection& correction, const std::string& label,
                   const RunContext& context) {
  Motions out;
  if (const auto* markers = std::get_if<MarkerRecordings>(&recordings.data)) {
    const Plane floor = CorrectedFloor(experiment.floor, correction);
    out.markers = Correct(*markers, correction);
    out.bundles = FitBundles(experiment, out.markers, floor, label, context);
    out.markers = WithLayout(std::move(out.markers), out.bundles.layout);
    out.poses = PosesOfAll(out.markers, out.bundles.drops, context);
    out.fits = FitMarkerFlights(experiment, out, floor, label, context);
  } else if (const auto* both = std::get_if<TwoBodyRecordings>(&recordings.data)) {
    out.fits = FitTwoBodyPoses(experiment, *both, correction, label, context);
  } else {
    out.fits =
        FitPoses(experiment, std::get<PoseRecordings>(recordings.data), correction, label, context);
  }
  return out;
}

std::vector<ImpactEvent> CollectImpacts(const std::vector<MotionFit>& fits) {
  std::vector<ImpactEvent> events;
  for (const MotionFit& fit : fits)
    events.insert(events.end(), fit.events.begin(), fit.events.end());
  return events;
}

}  // namespace impactlab::pipelines
