#include "pipelines/run/run.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "data/base/error.h"
#include "data/base/parallel.h"
#include "data/base/progress.h"
#include "data/cache/provenance.h"
#include "data/cache/stage_cache.h"
#include "data/files/atomic_file.h"
#include "data/files/glob.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"
#include "pipelines/run/compare_classical.h"
#include "pipelines/tables/tables.h"
#include "reconstruction/pose/missing_attitude.h"

namespace impactlab {
namespace {

// A recording that could not be read, as an event that says why.
ImpactEvent BadRecording(const std::string& name, const std::string& detail) {
  ImpactEvent event;
  event.recording = name;
  event.reason = RejectReason::kBadRecording;
  event.detail = detail;
  return event;
}

// What the chain works on, however it was recorded.
struct Recorded {
  const std::vector<PoseRecording>* poses = nullptr;  // where the recordings are poses
  const MarkerRecordings* markers = nullptr;
  const std::vector<PoseRecording>* second = nullptr;  // of a struck body that moves as well
  std::vector<std::string> bad;                        // why one cannot be used
  std::size_t size() const { return bad.size(); }
  const std::string& Name(std::size_t i) const {
    return markers != nullptr ? markers->tracks[i].recording : (*poses)[i].name;
  }
};

// Everything the later stages read of an experiment: its own file says it all but floor and
// gravity, which may be those of the rig.
std::string DigestOfExperiment(const StageCache* cache, const Experiment& e) {
  return DigestOf(cache, ToYaml(e), e.body, e.floor, e.motion, e.correction);
}

std::string DigestOfMarkers(const StageCache* cache, const MarkerRecordings& m) {
  std::string tracks;
  for (const MarkerTracks& one : m.tracks) tracks += DigestOf(cache, one);
  return DigestOf(cache, m.rig, m.layout, m.layout_knowledge, tracks, m.bad, m.faults, m.offset_sd,
                  m.exposure);
}

std::string DigestOfDrops(const StageCache* cache,
                          const std::vector<std::vector<ImpactBundle>>& drops) {
  std::string out;
  for (const std::vector<ImpactBundle>& one : drops) out += DigestOf(cache, one);
  return out;
}

Analysis Reconstruct(const Experiment& experiment, const Recorded& recorded,
                     const FrameCorrection& correction, const RunContext& context,
                     const std::string& label) {
  Analysis analysis;
  analysis.correction = correction;
  const Plane floor = CorrectedFloor(experiment.floor, correction);
  std::optional<MarkerRecordings> markers;
  if (recorded.markers != nullptr) markers = Correct(*recorded.markers, correction);
  if (markers) {
    BundleFits campaign = FitBundles(experiment, *markers, floor, label, context);
    analysis.drops = std::move(campaign.drops);
    analysis.layout = std::move(campaign.layout);
    analysis.fit_seconds = std::move(campaign.seconds);
    markers = WithLayout(std::move(*markers), analysis.layout);
  }
  const auto fit = [&] {
    std::vector<MotionFit> motions(recorded.size());
    Progress progress(markers ? label + " of the frames" : label,
                      static_cast<std::int64_t>(recorded.size()), "recordings", context.Shown());
    ForEachIndex(recorded.size(), context.threads, [&](std::size_t i) {
      context.CheckCancelled();
      MotionFit& motion = motions[i];
      if (!recorded.bad[i].empty()) {
        motion.events = {BadRecording(recorded.Name(i), recorded.bad[i])};
      } else if (markers) {
        const std::vector<ImpactBundle>& drops = analysis.drops[i];
        motion = FitMotion(PosesOf(*markers, i, drops).recording, experiment.body, floor,
                           experiment.motion);
        motion.events.clear();
        for (const ImpactBundle& drop : drops) motion.events.push_back(drop.event);
        const std::string fault = i < markers->faults.size() ? markers->faults[i] : "";
        for (ImpactEvent& event : motion.events)
          if (!event.accepted && !fault.empty()) event.detail = fault + "; " + event.detail;
      } else if (recorded.second != nullptr) {
        // Errors of the first body's frame are its own; scale and clock are common.
        FrameCorrection common = correction;
        common.rotation_offset_B = common.com_offset_B = Eigen::Vector3d::Zero();
        motion = FitRelativeMotion(Correct((*recorded.poses)[i], correction), experiment.body,
                                   Correct((*recorded.second)[i], common),
                                   experiment.second->struck, experiment.motion);
      } else {
        motion = FitMotion(Correct((*recorded.poses)[i], correction), experiment.body, floor,
                           experiment.motion);
        if (experiment.planar_camera)
          AddOutOfPlane(*experiment.planar_camera, experiment.body, floor, &motion);
        const SpinPrior prior{experiment.bundle.spin_axis_prior_sd,
                              experiment.bundle.spin_axis_prior_sd_plus};
        if (AttitudeIsConstant((*recorded.poses)[i]))
          for (ImpactEvent& event : motion.events)
            TakeSpinAsUnknown(event, experiment.body, floor, experiment.motion.flight.gravity_W,
                              prior);
      }
      progress.Advance();
    });
    return motions;
  };
  std::string poses;
  for (const std::vector<PoseRecording>* of_body : {recorded.poses, recorded.second})
    if (of_body != nullptr) poses += DigestOf(context.cache, *of_body);
  const std::string struck =
      experiment.second ? DigestOf(context.cache, experiment.second->struck) : "";
  const std::string plane =
      experiment.planar_camera ? DigestOf(context.cache, *experiment.planar_camera) : "";
  analysis.motion = StageResult<std::vector<MotionFit>>(
      context.cache, "motion", fit, experiment.body, floor, experiment.motion,
      experiment.bundle.spin_axis_prior_sd, experiment.bundle.spin_axis_prior_sd_plus, correction,
      recorded.bad, poses, struck, plane, markers ? DigestOfMarkers(context.cache, *markers) : "",
      DigestOfDrops(context.cache, analysis.drops));
  for (const MotionFit& fit : analysis.motion)
    analysis.events.insert(analysis.events.end(), fit.events.begin(), fit.events.end());
  return analysis;
}

AuditResult AuditAnalysis(const Experiment& experiment, const Analysis& analysis) {
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

bool IsIdentity(const FrameCorrection& c) {
  return c.rotation_offset_B.isZero(0) && c.com_offset_B.isZero(0) && c.length_scale == 1 &&
         c.clock_rate == 1 && !c.mirrored && !c.theta_flipped && c.floor_offset == 0 &&
         c.floor_tilt == 0;
}

// `second` found on data that `first` had already corrected.
FrameCorrection Compose(const FrameCorrection& first, const FrameCorrection& second) {
  FrameCorrection both = first;
  const auto rotation = [](const Eigen::Vector3d& v) {
    const double angle = v.norm();
    return angle > 0 ? Eigen::AngleAxisd(angle, v / angle)
                     : Eigen::AngleAxisd(0, Eigen::Vector3d::UnitX());
  };
  const Eigen::AngleAxisd total(rotation(second.rotation_offset_B).toRotationMatrix() *
                                rotation(first.rotation_offset_B).toRotationMatrix());
  both.rotation_offset_B = total.angle() * total.axis();
  both.com_offset_B = first.com_offset_B + second.com_offset_B;
  both.length_scale *= second.length_scale;
  both.clock_rate *= second.clock_rate;
  both.mirrored = first.mirrored != second.mirrored;
  both.theta_flipped = first.theta_flipped != second.theta_flipped;
  both.floor_offset += second.floor_offset;
  both.floor_tilt += second.floor_tilt;
  return both;
}

// Without what only later steps read, so that a change there does not count here.
Experiment ReadByFits(Experiment e) {
  e.name.clear();
  e.coefficients = {};
  e.validation = {};
  e.repeats = {};
  e.classical = {};
  return e;
}

struct Together {
  FitResult fit;
  ErrorBudget budget;
  Adjustment adjustment;
};

// `side` is an analysis kept for comparison only: values and intervals, without resampling.
void IdentifyAndValidate(Experiment experiment, const MarkerRecordings* markers,
                         const RunOptions& options, const RunContext& context, bool side,
                         Analysis& analysis) {
  if (!options.identify) return;
  if (side) experiment.identify.bootstrap = experiment.identify.grid = 0;
  std::vector<ImpactEvent> events = analysis.events;
  const Body declared = experiment.body;
  if (markers == nullptr) {
    analysis.fit = FitAll(experiment, events, context);
  } else if (side) {
    analysis.fit = FitAll(experiment, NoiseEvents(analysis), context);
  } else {
    const MarkerRecordings corrected =
        WithLayout(Correct(*markers, analysis.correction), analysis.layout);
    const std::string read = DigestOf(
        context.cache, DigestOfExperiment(context.cache, ReadByFits(experiment)),
        DigestOfMarkers(context.cache, corrected), DigestOfDrops(context.cache, analysis.drops),
        analysis.correction, analysis.motion, analysis.layout, analysis.events);
    Together together = StageResult<Together>(
        context.cache, "identify",
        [&] {
          Together made;
          made.adjustment = IdentifyTogether(experiment, corrected, true, context, &analysis);
          made.fit = analysis.fit;
          made.budget = analysis.budget;
          return made;
        },
        read);
    analysis.fit = std::move(together.fit);
    analysis.budget = std::move(together.budget);
    analysis.comparison = StageResult<Comparison>(
        context.cache, "classical",
        [&] { return CompareClassical(experiment, corrected, analysis, context); }, read,
        analysis.fit, experiment.classical.estimators, experiment.classical.window);
    events = std::move(together.adjustment.set.events);
    experiment.body = together.adjustment.set.body;
  }
  context.CheckCancelled();
  for (const LawFit& fit : analysis.fit.fits)
    if (!side && fit.law == LawName(MainLaw(experiment)))
      analysis.repeats = StageResult<Repeatability>(
          context.cache, "repeats",
          [&] { return StudyRepeats(events, experiment.body, fit, experiment.repeats); }, events,
          experiment.body, fit, experiment.repeats);
  if (!side) {
    IdentifyOptions identify = experiment.identify;
    identify.progress = [&](double) { context.CheckCancelled(); };
    const std::vector<EventGroup> groups =
        GroupEvents(events, experiment.body, experiment.coefficients);
    const int folds = experiment.validation.folds;
    analysis.coefficients = StageResult<CoefficientStudy>(
        context.cache, "coefficients",
        [&] {
          return StudyCoefficients(groups, MainLaw(experiment), experiment.coefficients, folds,
                                   identify, context.threads);
        },
        groups, MainLaw(experiment), experiment.coefficients, folds, identify);
  }
  if (!options.validate) return;
  analysis.validation = StageResult<ValidationTable>(
      context.cache, "validation",
      [&] {
        return Validate(analysis.events, declared, analysis.fit, experiment.identify,
                        experiment.validation);
      },
      analysis.events, declared, analysis.fit, experiment.identify, experiment.validation);
  context.CheckCancelled();
  if (!side)
    analysis.scrutiny = StageResult<Diagnostics>(
        context.cache, "scrutiny",
        [&] {
          return Scrutinise(events, experiment.body, analysis.fit, analysis.validation,
                            experiment.seed);
        },
        events, experiment.body, analysis.fit, analysis.validation, experiment.seed);
}

}  // namespace

namespace {

// Two folders may hold files of one name; the name that stands in the tables must stay a key.
std::vector<std::string> RecordingNames(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> names;
  std::map<std::string, int> seen;
  for (const auto& file : files) {
    const std::string stem = file.stem().string();
    const int count = seen[stem]++;
    names.push_back(count == 0 ? stem : fmt::format("{}~{}", stem, count + 1));
  }
  return names;
}

}  // namespace

std::vector<PoseRecording> ReadRecordings(const Experiment& experiment,
                                          const std::vector<std::filesystem::path>& files,
                                          std::vector<std::string>& bad) {
  std::vector<PoseRecording> recordings(files.size());
  bad.assign(files.size(), "");
  const std::vector<std::string> names = RecordingNames(files);
  for (std::size_t i = 0; i < files.size(); ++i) {
    try {
      recordings[i] = ReadPoses(files[i], experiment.columns);
    } catch (const DataError& error) {
      recordings[i] = {};
      recordings[i].planar = experiment.columns.planar;
      bad[i] = error.what();
    }
    recordings[i].name = names[i];
  }
  return recordings;
}

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
        [&] { return Identify(accepted, experiment.body, ImpactModel{.law = law}, options); },
        accepted, experiment.body, law, options);
  };
  // Laws are compared: what the main one leaves decides of what likelihood all are.
  const LawFit main = fit(MainLaw(experiment));
  options = WithLikelihoodOf(main, options);
  for (const RestitutionLaw law : experiment.laws)
    result.fits.push_back(LawName(law) == main.law ? main : fit(law));
  return result;
}

namespace {

// Joins the second body to what the chain works on; noise that its markers state goes with it.
void TakeSecond(RunResult* run, Recorded* recorded) {
  SecondRecordings& second = *run->second;
  recorded->second = &second.poses;
  for (std::size_t i = 0; i < second.bad.size(); ++i)
    if (recorded->bad[i].empty()) recorded->bad[i] = second.bad[i];
  if (!second.points) return;
  MotionFitOptions noise;
  SetPoseNoise(*run->experiment.second->points, *second.points, &noise);
  run->experiment.second->struck.sigma_position = noise.sigma_position;
  run->experiment.second->struck.sigma_angle = noise.sigma_angle;
}

void AddLayoutFinding(const LayoutVerdict& layout, const std::string& whose, AuditResult* audit) {
  if (!layout.doubtful) return;
  Finding finding;
  finding.parameter = "layout_distance_m";
  finding.named = true;
  const double half = NormalQuantile(0.975) * layout.sd;
  finding.estimate = {layout.furthest,        layout.sd, layout.furthest - half,
                      layout.furthest + half, true,      ""};
  finding.text = whose + layout.text + "; states and coefficients carry the error";
  audit->findings.push_back(finding);
}

// A pattern that names no recording is a slip, which would leave a specimen out in silence.
void CheckGroups(const Experiment& experiment, const Recorded& recorded) {
  for (const auto& [name, glob] : experiment.coefficients.groups) {
    bool any = recorded.size() == 0;
    for (std::size_t i = 0; i < recorded.size() && !any; ++i)
      any = MatchesGlob(glob, recorded.Name(i));
    if (any) continue;
    throw ConfigError(fmt::format(
        "{}: coefficients.groups: found '{}' for {}, which is the name of none of {} recordings, "
        "allowed a pattern of "
        "their names, such as {}",
        experiment.path.string(), glob, Excerpt(name), recorded.size(), recorded.Name(0)));
  }
}

void Analyse(const Recorded& recorded, const RunOptions& options, const RunContext& context,
             RunResult* run) {
  const Experiment& experiment = run->experiment;
  CheckGroups(experiment, recorded);
  run->recorded =
      Reconstruct(experiment, recorded, experiment.correction, context, "fitting motion");
  if (recorded.markers != nullptr)
    ExplainRefusals(run->flights, recorded.markers->tracks, &run->recorded.events);
  run->audit = AuditAnalysis(experiment, run->recorded);
  AddLayoutFinding(run->layout, "", &run->audit);
  if (run->second && run->second->points)
    AddLayoutFinding(run->second->points->verdict, "second body: ", &run->audit);
  const FrameCorrection allowed = AllowedCorrection(run->audit.correction, experiment.apply);
  if (!IsIdentity(allowed)) {
    run->corrected = Reconstruct(experiment, recorded, Compose(experiment.correction, allowed),
                                 context, "fitting corrected motion");
    run->audit_corrected = AuditAnalysis(experiment, run->corrected);
    run->has_corrected = true;
  }
  IdentifyAndValidate(experiment, recorded.markers, options, context, run->has_corrected,
                      run->recorded);
  if (run->has_corrected)
    IdentifyAndValidate(experiment, recorded.markers, options, context, false, run->corrected);
}

}  // namespace

RunResult RunExperiment(const Experiment& experiment,
                        const std::vector<std::filesystem::path>& files, const RunOptions& options,
                        const RunContext& context) {
  if (files.empty())
    throw DataError(fmt::format("{}: no recording matches '{}'", experiment.path.string(),
                                experiment.recordings));
  const auto start = std::chrono::steady_clock::now();
  RunResult run;
  run.experiment = experiment;
  run.files = files;
  Recorded recorded;
  if (experiment.points) {
    run.points = ReadPointRecordings(*experiment.points, files, RecordingNames(files));
    SetPoseNoise(*experiment.points, *run.points, &run.experiment.motion);
    run.recordings = run.points->poses;
    run.layout = run.points->verdict;
    for (const PointFile& file : run.points->files) recorded.bad.push_back(file.bad);
  } else if (experiment.planar_camera) {
    PlanarRecordings planar = ReadPlanarRecordings(*experiment.planar_camera, files);
    run.recordings = std::move(planar.poses);
    recorded.bad = std::move(planar.bad);
    run.layout = std::move(planar.layout);
  } else {
    run.recordings = ReadRecordings(experiment, files, recorded.bad);
  }
  recorded.poses = &run.recordings;
  if (experiment.second) {
    const std::filesystem::path folder = std::filesystem::absolute(experiment.path).parent_path();
    run.second = ReadSecondBody(*experiment.second, folder, files, RecordingNames(files));
    run.files.insert(run.files.end(), run.second->files.begin(), run.second->files.end());
    TakeSecond(&run, &recorded);
  }
  Analyse(recorded, options, context, &run);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

RunResult RunExperiment(const Experiment& experiment, const MarkerRecordings& first,
                        const MarkerRecordings& second, const RunOptions& options,
                        const RunContext& context) {
  const auto start = std::chrono::steady_clock::now();
  RunResult run;
  run.experiment = experiment;
  run.files = first.files;
  run.files.insert(run.files.end(), second.files.begin(), second.files.end());
  run.second.emplace();
  Recorded recorded;
  recorded.bad = first.bad;
  run.second->bad = second.bad;
  const auto take = [&](const MarkerRecordings& markers, std::vector<PoseRecording>* poses,
                        std::vector<std::string>* bad) {
    poses->resize(first.tracks.size());
    ForEachIndex(poses->size(), context.threads, [&](std::size_t i) {
      context.CheckCancelled();
      PoseRecording& recording = (*poses)[i];
      if ((*bad)[i].empty()) {
        TrackPosesOptions how;
        how.exposure = markers.exposure;
        TrackPoses found = PosesFromTracks(markers.tracks[i], markers.rig, markers.layout, how);
        if (!found.observable)
          (*bad)[i] = "all markers of a body lie on a line, which hides its spin about it";
        recording = std::move(found.recording);
      }
      recording.name = first.tracks[i].recording;
    });
  };
  take(first, &run.recordings, &recorded.bad);
  take(second, &run.second->poses, &run.second->bad);
  recorded.poses = &run.recordings;
  TakeSecond(&run, &recorded);
  Analyse(recorded, options, context, &run);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

RunResult RunExperiment(const Experiment& experiment, MarkerRecordings markers,
                        const RunOptions& options, const RunContext& context) {
  const auto start = std::chrono::steady_clock::now();
  RunResult run;
  run.experiment = experiment;
  run.files = markers.files;
  run.markers = std::move(markers);
  const MarkerRecordings corrected = Correct(*run.markers, experiment.correction);
  run.flights = StageResult<FlightReport>(
      context.cache, "flights",
      [&] {
        return CheckAllFlights(experiment, corrected,
                               CorrectedFloor(experiment.floor, experiment.correction), context);
      },
      DigestOfExperiment(context.cache, experiment), DigestOfMarkers(context.cache, corrected));
  Analyse({.markers = &*run.markers, .bad = run.markers->bad}, options, context, &run);
  const MarkerRecordings learned = WithLayout(*run.markers, run.recorded.layout);
  for (std::size_t i = 0; i < run.markers->tracks.size(); ++i) {
    run.recordings.push_back(run.markers->bad[i].empty()
                                 ? PosesOf(learned, i, run.recorded.drops[i]).recording
                                 : PoseRecording{});
    run.recordings.back().name = run.markers->tracks[i].recording;
  }
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return run;
}

}  // namespace impactlab
