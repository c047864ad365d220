#include "pipelines/run/marker_recordings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/base/error.h"
#include "data/files/text.h"
#include "data/math/rotation.h"
#include "pipelines/calibrate/page.h"
#include "pipelines/track/page.h"

namespace impactlab {
namespace {

constexpr double kStandardGravity = 9.80665;  // [m/s^2]
// least error of the clocks a flash leaves: coders of videos change brightness in steps [s]
constexpr double kFlashSd = 5e-4;

// With the markers of the plan in front, in its order.
MarkerTracks Ordered(MarkerTracks tracks, const std::vector<std::string>& names) {
  std::vector<std::string> markers = names;
  std::vector<int> place;
  for (const std::string& name : tracks.markers) {
    const auto at = std::find(markers.begin(), markers.end(), name);
    place.push_back(static_cast<int>(at - markers.begin()));
    if (at == markers.end()) markers.push_back(name);
  }
  for (TrackPoint& p : tracks.points) p.marker = place[static_cast<std::size_t>(p.marker)];
  tracks.markers = markers;
  Sort(&tracks);
  return tracks;
}

CameraRig ApplyRig(const MarkerSource& source, const std::filesystem::path& folder,
                   const MarkerStageOptions& options, const RunContext& context,
                   MarkerRecordings* out) {
  if (!source.rig.empty()) {
    out->files.push_back(source.rig);
    return RigFromYaml(source.rig);
  }
  if (source.calibration.empty()) {
    out->files.push_back(source.plan.rig_file);
    return *source.plan.rig;
  }
  const CalibrationRun calibration = RunCalibration(LoadCalibration(source.calibration), context);
  WriteCalibration(folder / "calibration", calibration, options.command);
  if (options.pages)
    WriteCalibrationPage(folder / "calibration" / "calibration.html", calibration,
                         options.plotting);
  out->calibrated = true;
  out->files.push_back(source.calibration);
  out->files.insert(out->files.end(), calibration.files.begin(), calibration.files.end());
  if (calibration.refused())
    throw DataError(fmt::format(
        "{}: the calibration is refused, nothing can be measured with these cameras: {}",
        source.calibration.string(), WhyRefused(calibration)));
  return calibration.rig();
}

void CheckCameras(const std::string& where, const std::vector<std::string>& cameras,
                  const CameraRig& rig) {
  std::vector<std::string> names;
  for (const RigCamera& item : rig.cameras) names.push_back(item.name);
  for (const std::string& camera : cameras)
    if (std::find(names.begin(), names.end(), camera) == names.end())
      throw ConfigError(fmt::format("{}: camera {} is not in the rig, which has {}", where,
                                    Excerpt(camera), JoinNames(names)));
}

// Tracks that are read again do not tell how well a flash was timed: then it may be between two
// exposures.
constexpr double kUnknownFlashSd = 5e-3;  // [s]

std::string FaultsOf(const RecordingSummary& summary) {
  std::string out;
  for (const RecordingSummary::Camera& camera : summary.cameras)
    if (!camera.failure.empty())
      out += fmt::format("{}camera {}: {}", out.empty() ? "" : "; ", camera.name, camera.failure);
  return out;
}

// The clocks of cameras that were brought together by what they saw are known only so well; others
// are taken at their word.
double OffsetSd(const RecordingSummary& summary, SyncMethod method) {
  double sd = 0;
  if (method != SyncMethod::kFlash) return sd;
  for (const CameraClock& clock : summary.clocks)
    if (clock.usable) sd = std::max({sd, kFlashSd, 3 * std::sqrt(clock.cov(0, 0))});
  return sd;
}

TrackRun FollowVideos(const TrackConfig& plan, const std::filesystem::path& folder,
                      const MarkerStageOptions& options, const RunContext& context,
                      MarkerRecordings* out) {
  TrackRunOptions how;
  how.sheets = how.frames = options.pages;
  how.command = options.command;
  how.keep_tracks = true;
  TrackRun run = RunTracking(plan, folder, how, context);
  out->frames = run.frames;
  if (options.pages)
    WriteTrackingPage(folder / "tracking.html", run, folder / "sheets", options.plotting);
  for (const TrackedRecording& recording : plan.recordings)
    for (const auto& files : recording.files)
      out->files.insert(out->files.end(), files.begin(), files.end());
  return run;
}

// As ReadTracks gives them back from the table of points, so that a run that follows its videos and
// one that reads the table agree to the last bit: cameras and markers that have a point, in the
// order of the points, and 0 for what is not known of an image.
MarkerTracks AsRead(MarkerTracks tracks) {
  const auto settle = [&](std::vector<std::string>& names, int TrackPoint::*index) {
    std::vector<int> place(names.size(), -1);
    std::vector<std::string> kept;
    for (TrackPoint& p : tracks.points) {
      int& at = place[static_cast<std::size_t>(p.*index)];
      if (at < 0) {
        at = static_cast<int>(kept.size());
        kept.push_back(names[static_cast<std::size_t>(p.*index)]);
      }
      p.*index = at;
    }
    names = std::move(kept);
  };
  settle(tracks.cameras, &TrackPoint::camera);
  settle(tracks.markers, &TrackPoint::marker);
  for (TrackPoint& p : tracks.points) {
    p.cov(1, 0) = p.cov(0, 1);
    if (p.major == 0 && p.minor == 0) p.angle = 0;
    for (double* value : {&p.major, &p.minor, &p.angle, &p.amplitude, &p.background})
      if (std::isnan(*value)) *value = 0;
  }
  return tracks;
}

// What the videos gave, without the way through the table.
void AddFollowed(const MarkerSource& source, TrackRun run, MarkerRecordings* out) {
  for (std::size_t i = 0; i < run.recordings.size(); ++i) {
    const RecordingSummary& summary = run.recordings[i];
    MarkerRecording& recording = out->recordings.emplace_back();
    recording.tracks.recording = summary.name;
    recording.silent = FaultsOf(summary);
    recording.offset_sd = OffsetSd(summary, source.plan.sync);
    if (run.tracks[i].points.empty()) {
      recording.fault = summary.failure.empty() ? "no marker was tracked" : summary.failure;
      continue;
    }
    recording.tracks = Ordered(AsRead(std::move(run.tracks[i])), source.plan.track.names);
  }
}

// Of a table of points that is there already.
void AddRead(const MarkerSource& source, const std::filesystem::path& file, MarkerRecordings* out) {
  for (MarkerTracks& tracks : ReadTracks(file)) {
    CheckCameras(file.string(), tracks.cameras, out->rig);
    MarkerRecording& recording = out->recordings.emplace_back();
    recording.tracks = Ordered(std::move(tracks), source.plan.track.names);
    recording.offset_sd = source.plan.sync == SyncMethod::kFlash ? kUnknownFlashSd : 0;
  }
  if (out->recordings.empty())
    throw DataError(fmt::format("{}: found no point, allowed at least one", file.string()));
}

void ApplyWorld(Experiment& e, const CameraRig& rig) {
  const WorldFrame& world = rig.world;
  if (e.floor_of_rig) {
    if (world.source != "board" && world.source != "points")
      throw ConfigError(fmt::format(
          "{}: floor: found none, and the rig does not know the struck surface: its W is {}; "
          "allowed a floor here, or `world` "
          "with a board or points on the surface in the calibration file",
          e.path.string(), world.source == "camera" ? "the frame of the first camera" : "given"));
    e.floor = {};
  }
  if (e.gravity_of_rig) {
    if (!world.gravity_W)
      throw ConfigError(
          fmt::format("{}: gravity_m_per_s2: found none, and the rig does not say which way is "
                      "down; allowed it here, or `gravity` in the calibration "
                      "file",
                      e.path.string()));
    e.motion.flight.gravity_W = kStandardGravity * *world.gravity_W;
    e.audit.gravity_W = e.motion.flight.gravity_W;
  }
}

// The points of the videos, followed into the folder `name` of the run, or of tracks that are there
// already; `out` has the rig.
void TakeTracks(const MarkerSource& source, const std::filesystem::path& folder, const char* name,
                const MarkerStageOptions& options, const RunContext& context,
                MarkerRecordings* out) {
  if (!source.tracks.empty()) {
    out->files.push_back(source.tracks);
    AddRead(source, source.tracks, out);
    return;
  }
  TrackConfig plan = source.plan;
  plan.rig = out->rig;
  if (out->calibrated) plan.rig_file = folder / "calibration" / "rig.yaml";
  if (!source.rig.empty()) plan.rig_file = source.rig;
  AddFollowed(source, FollowVideos(plan, folder / name, options, context, out), out);
}

}  // namespace

MarkerRecordings LoadOrTrackMarkers(Experiment& experiment, const std::filesystem::path& folder,
                                    const MarkerStageOptions& options, const RunContext& context) {
  MarkerSource& source = *experiment.markers;
  MarkerRecordings out;
  out.rig = ApplyRig(source, folder, options, context, &out);
  ApplyWorld(experiment, out.rig);
  std::vector<std::string> cameras;
  for (const TrackedCamera& camera : source.plan.cameras) {
    cameras.push_back(camera.name);
    out.exposure = std::max(out.exposure, camera.exposure);
  }
  CheckCameras(source.plan.path.string(), cameras, out.rig);
  out.layout = source.plan.markers;
  out.files.push_back(source.plan.path);
  TakeTracks(source, folder, "tracking", options, context, &out);
  return out;
}

MarkerRecordings TakeSecondMarkers(const Experiment& experiment, const MarkerRecordings& first,
                                   const std::filesystem::path& folder,
                                   const MarkerStageOptions& options, const RunContext& context) {
  const SecondBody& second = *experiment.second;
  const MarkerSource& one = *experiment.markers;
  MarkerSource source{.plan = *second.plan,
                      .tracks = second.tracks.empty() ? one.tracks : second.tracks,
                      .calibration = {},
                      .rig = one.rig};
  MarkerRecordings out;
  out.rig = first.rig;
  out.calibrated = first.calibrated;
  std::vector<std::string> cameras;
  for (const TrackedCamera& camera : source.plan.cameras) cameras.push_back(camera.name);
  CheckCameras(source.plan.path.string(), cameras, out.rig);
  for (const std::string& name : source.plan.track.names)
    if (std::find(one.plan.track.names.begin(), one.plan.track.names.end(), name) !=
        one.plan.track.names.end())
      throw ConfigError(fmt::format(
          "{}: markers.names: found {}, which {} has too, allowed: names of the second body's own",
          source.plan.path.string(), Excerpt(name), one.plan.path.string()));
  out.files.push_back(source.plan.path);
  TakeTracks(source, folder, "tracking_second", options, context, &out);
  out.layout = source.plan.markers;
  out.exposure = first.exposure;
  std::vector<MarkerRecording> found;
  found.swap(out.recordings);
  for (const MarkerRecording& wanted : first.recordings) {
    const std::string& name = wanted.tracks.recording;
    const auto at = std::find_if(found.begin(), found.end(), [&](const MarkerRecording& r) {
      return r.tracks.recording == name;
    });
    if (at != found.end()) {
      out.recordings.push_back(std::move(*at));
    } else {
      out.recordings.emplace_back().fault = "the second body was not tracked in this recording";
    }
    out.recordings.back().tracks.recording = name;
  }
  return out;
}

ImpactBundleOptions BundleOptions(const Experiment& experiment, const MarkerRecordings& markers,
                                  std::size_t recording) {
  ImpactBundleOptions options = experiment.bundle;
  options.motion = experiment.motion;
  options.layout = markers.layout_knowledge;
  if (options.exposure < 0) options.exposure = markers.exposure;
  if (options.offset_sd < 0) options.offset_sd = markers.recordings[recording].offset_sd;
  return options;
}

MarkerRecordings Correct(const MarkerRecordings& markers, const FrameCorrection& correction) {
  if (correction.mirrored || correction.theta_flipped)
    throw ConfigError(
        "correction: found mirrored or theta_flipped, allowed neither with recordings of markers: "
        "cameras do not mirror");
  MarkerRecordings out = markers;
  const Eigen::Matrix3d turn = ExpSO3(correction.rotation_offset_B);
  for (BodyMarker& m : out.layout) {
    m.p_BM = turn * m.p_BM / correction.length_scale - correction.com_offset_B;
    m.normal_B = turn * m.normal_B;
    m.radius /= correction.length_scale;
  }
  for (RigCamera& camera : out.rig.cameras) camera.X_WC.translation() /= correction.length_scale;
  if (out.rig.covariance.size() > 0) {
    const std::vector<std::string> names = ParameterNames(out.rig);
    Eigen::VectorXd scale = Eigen::VectorXd::Ones(out.rig.covariance.rows());
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i].ends_with("_m"))
        scale(static_cast<Eigen::Index>(i)) = 1 / correction.length_scale;
    out.rig.covariance = scale.asDiagonal() * out.rig.covariance * scale.asDiagonal();
  }
  for (MarkerRecording& recording : out.recordings) {
    for (TrackPoint& p : recording.tracks.points) p.t /= correction.clock_rate;
    recording.offset_sd /= correction.clock_rate;
  }
  out.exposure /= correction.clock_rate;
  return out;
}

}  // namespace impactlab
