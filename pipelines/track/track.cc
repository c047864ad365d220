#include "pipelines/track/track.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <tuple>

#include "data/base/error.h"
#include "data/base/parallel.h"
#include "data/base/progress.h"
#include "data/cache/provenance.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"
#include "pipelines/config/input_files.h"
#include "pipelines/config/run_context.h"
#include "pipelines/track/detail/load_or_track.h"
#include "pipelines/track/refind_markers.h"
#include "reconstruction/identity/complete.h"
#include "tracking/overlay/kept_frames.h"
#include "tracking/track/track_smoothing.h"

namespace impactlab {
namespace {

// Frame rate of stamps that may be rounded or have gaps.
double FrameRateOf(const std::vector<double>& stamps) {
  std::vector<double> steps;
  for (std::size_t k = 1; k < stamps.size(); ++k) steps.push_back(stamps[k] - stamps[k - 1]);
  const double step = MedianOrZero(steps);
  if (!(step > 0)) return 0;
  double beats = 0;
  for (const double s : steps) beats += std::round(s / step);
  return beats / (stamps.back() - stamps.front());
}

FrameSource SourceOf(const TrackedCamera& camera, const std::vector<std::filesystem::path>& files) {
  FrameSource source = camera.source;
  if (files.size() == 1 && !pipelines::IsPicture(files.front())) {
    source.video = files.front();
  } else {
    source.images = files;
  }
  return source;
}

void ApplyClock(const CameraClock& clock, CameraTrackResult* camera, FrameSource* source) {
  for (TrackPoint& point : camera->points) {
    point.t = clock.shift + clock.rate * point.t;
    point.smooth_v /= clock.rate;
  }
  for (TrackPoint& point : camera->loose) point.t = clock.shift + clock.rate * point.t;
  for (double& t : camera->stamps) t = clock.shift + clock.rate * t;
  source->t_shift = clock.shift + clock.rate * source->t_shift;
  source->clock_rate *= clock.rate;
}

// Puts the cameras that saw the same flashes on the clock of the first of them.
void SynchroniseCameras(const TrackConfig& plan, std::vector<CameraTrackResult>* cameras,
                        RecordingTracks* out) {
  out->summary.clocks.resize(cameras->size());
  for (std::size_t c = 0; c < cameras->size(); ++c)
    out->summary.clocks[c].usable = plan.sync != SyncMethod::kFlash;
  if (plan.sync != SyncMethod::kFlash) return;
  std::vector<std::vector<Instant>> flashes;
  for (const CameraTrackResult& camera : *cameras)
    flashes.push_back(FindFlashes(camera.brightness));
  const auto first =
      std::find_if(flashes.begin(), flashes.end(), [](const auto& f) { return !f.empty(); });
  if (first == flashes.end()) {
    out->summary.notes.emplace_back(
        "no camera saw a flash: every camera keeps its own clock, and points of different cameras "
        "must not be combined");
    return;
  }
  for (std::size_t c = 0; c < cameras->size(); ++c) {
    CameraClock& clock = out->summary.clocks[c];
    if (!out->summary.cameras[c].failure.empty()) {
      clock.reason = "no frames";
      continue;
    }
    if (static_cast<std::ptrdiff_t>(c) == first - flashes.begin()) {
      clock.usable = clock.rate_known = true;
      clock.reason = "the common clock";
      continue;
    }
    clock = Synchronise(*first, flashes[c]);
    if (clock.usable) {
      ApplyClock(clock, &(*cameras)[c], &out->sources[c]);
    } else {
      out->summary.notes.push_back(
          fmt::format("camera {} could not be brought onto the common clock: {}",
                      plan.cameras[c].name, clock.reason));
    }
  }
}

// One list of markers for all cameras: the names first, then what has none. A camera in which every
// name has its track needs no others, unless names are decided anew; what does not
// move and has no name is left out as clutter in the end.
enum class Unnamed { kAll, kMoving, kNone };
void MergeCameras(const TrackConfig& plan, const std::vector<CameraTrackResult>& cameras,
                  Unnamed keep, MarkerTracks* tracks) {
  tracks->markers = plan.track.names;
  tracks->points.clear();
  const int n_names = static_cast<int>(plan.track.names.size());
  for (std::size_t c = 0; c < cameras.size(); ++c) {
    const CameraTrackResult& camera = cameras[c];
    std::map<int, int> place;
    for (TrackPoint point : camera.points) {
      point.camera = static_cast<int>(c);
      if (point.marker >= n_names) {
        const auto at = static_cast<std::size_t>(point.marker);
        if (keep == Unnamed::kNone && camera.labels.complete) continue;
        if (keep != Unnamed::kAll && camera.still[at] != 0) continue;
        const auto [found, fresh] =
            place.try_emplace(point.marker, static_cast<int>(tracks->markers.size()));
        if (fresh) tracks->markers.push_back(plan.cameras[c].name + "." + camera.markers[at]);
        point.marker = found->second;
      }
      tracks->points.push_back(point);
    }
  }
  Sort(tracks);
}

// Images that have no name yet: of no track, or of one whose name was not certain.
std::vector<TrackPoint> UnnamedPoints(const std::vector<CameraTrackResult>& cameras,
                                      const MarkerTracks& before, const MarkerTracks& after) {
  std::vector<TrackPoint> out;
  for (std::size_t c = 0; c < cameras.size(); ++c) {
    for (TrackPoint point : cameras[c].loose) {
      point.camera = static_cast<int>(c);
      out.push_back(point);
    }
  }
  std::set<std::tuple<int, long long, double, double>> named;
  for (const TrackPoint& p : after.points) named.insert({p.camera, p.frame, p.q.x(), p.q.y()});
  for (const TrackPoint& p : before.points)
    if ((p.flags & kPredicted) == 0 && !named.contains({p.camera, p.frame, p.q.x(), p.q.y()}))
      out.push_back(p);
  return out;
}

void DecideIdentity(const TrackConfig& plan, const std::vector<CameraTrackResult>& cameras,
                    RecordingTracks* out) {
  RecordingSummary& s = out->summary;
  s.identity_tried = true;
  IdentityResult result = ResolveIdentity(out->tracks, *plan.rig, plan.track.layout, plan.identity);
  s.identity_usable = result.usable;
  s.identity_reason = result.reason;
  s.ray_rms = result.ray_rms;
  s.layout_rms = result.layout_rms;
  s.log_odds = result.log_odds;
  s.changes = result.changes;
  s.notes.insert(s.notes.end(), result.notes.begin(), result.notes.end());
  constexpr double kMisfit = 4;  // of the layout's own standard deviation
  if (!plan.track.layout.empty() && result.layout_rms > kMisfit * plan.identity.layout_sd)
    s.notes.push_back(
        fmt::format("the distances of the markers differ from layout_m by {:.2g} mm rms, "
                    "layout_sd_m says {:.2g} mm: check the layout, or the scale of the rig",
                    1e3 * result.layout_rms, 1e3 * plan.identity.layout_sd));
  if (result.usable) {
    result.tracks.recording = out->tracks.recording;
    const std::vector<TrackPoint> nameless = UnnamedPoints(cameras, out->tracks, result.tracks);
    out->tracks = std::move(result.tracks);
    const long long n = CompleteTracks(nameless, *plan.rig, plan.track.layout, {}, &out->tracks);
    if (n > 0)
      s.notes.push_back(fmt::format(
          "{} images outside of any certain track were named by the pose of the body", n));
  }
}

// Removes names that are not certain: a track without a name is more useful than one with a wrong
// name.
void RemoveUncertainNames(const TrackConfig& plan, const std::vector<CameraTrackResult>& cameras,
                          RecordingTracks* out) {
  constexpr double kCertain = 7;  // log odds
  MergeCameras(plan, cameras, Unnamed::kMoving, &out->tracks);
  std::map<std::pair<int, int>, int> place;
  for (TrackPoint& p : out->tracks.points) {
    const CameraTrackResult& camera = cameras[static_cast<std::size_t>(p.camera)];
    if (p.marker >= static_cast<int>(plan.track.names.size()) ||
        camera.odds[static_cast<std::size_t>(p.marker)] > kCertain)
      continue;
    const auto [at, fresh] =
        place.try_emplace({p.camera, p.marker}, static_cast<int>(out->tracks.markers.size()));
    if (fresh)
      out->tracks.markers.push_back(
          fmt::format("{}.open_{}", plan.cameras[static_cast<std::size_t>(p.camera)].name,
                      out->tracks.markers[static_cast<std::size_t>(p.marker)]));
    p.marker = at->second;
  }
  Sort(&out->tracks);
}

std::vector<MarkerSummary> Summarise(const MarkerTracks& tracks) {
  std::vector<MarkerSummary> out;
  std::vector<double> sds;
  long long gap = 0;
  const auto close = [&] {
    if (!out.empty()) out.back().sd = MedianOrZero(sds);
    sds.clear();
    gap = 0;
  };
  for (const TrackPoint& point : tracks.points) {
    const std::string& camera = tracks.cameras[static_cast<std::size_t>(point.camera)];
    const std::string& marker = tracks.markers[static_cast<std::size_t>(point.marker)];
    if (out.empty() || out.back().camera != camera || out.back().marker != marker) {
      close();
      out.push_back({.camera = camera, .marker = marker, .first = point.frame});
    }
    MarkerSummary& m = out.back();
    m.last = point.frame;
    if ((point.flags & kPredicted) != 0) {
      ++m.predicted;
      m.gaps += gap++ == 0;
      m.longest_gap = std::max(m.longest_gap, gap);
      continue;
    }
    gap = 0;
    ++m.measured;
    constexpr std::uint32_t kImage =
        kSaturated | kTouching | kHidden | kCut | kFaint | kRough | kOutlier;
    m.rough += (point.flags & kRough) != 0;
    m.flagged += (point.flags & kImage) != 0;
    const double half = 0.5 * (point.cov(0, 0) + point.cov(1, 1));
    const double split = std::hypot(0.5 * (point.cov(0, 0) - point.cov(1, 1)), point.cov(0, 1));
    sds.push_back(std::sqrt(std::max(0.0, half + split)));
  }
  close();
  return out;
}

RecordingSummary::Camera SummaryOf(const std::string& name, const CameraTrackResult& r) {
  RecordingSummary::Camera s;
  s.name = name;
  s.info = r.info;
  s.frames = r.frames;
  s.damaged = r.damaged;
  s.rate = FrameRateOf(r.stamps);
  s.broke = r.broke;
  s.blur = r.blur;
  s.noise = r.noise.read;
  s.threshold = r.threshold;
  s.spots_per_frame =
      r.frames > 0 ? static_cast<double>(r.spots) / static_cast<double>(r.frames) : 0;
  s.innovations = r.innovations;
  s.seconds = r.seconds;
  s.decoding = r.decoding;
  return s;
}

// A rig holds for pictures of one size only.
std::string SizeFault(const TrackConfig& plan, std::size_t camera, const VideoInfo& info) {
  if (!plan.rig) return "";
  for (const RigCamera& one : plan.rig->cameras) {
    if (one.name != plan.cameras[camera].name ||
        (one.camera.width == info.width && one.camera.height == info.height))
      continue;
    return fmt::format(
        "its pictures have {} x {} pixels, the camera of the rig has {} x {}: turned, cropped or "
        "scaled since the calibration",
        info.width, info.height, one.camera.width, one.camera.height);
  }
  return "";
}

// Tracks of camera `c` alone, on its own clock; failures are reported in its summary.
void FollowCamera(const TrackConfig& plan, const TrackedRecording& input, std::size_t c,
                  const RunContext& context, RecordingTracks* out, CameraTrackResult* tracked) {
  RecordingSummary::Camera& summary = out->summary.cameras[c];
  summary.name = plan.cameras[c].name;
  if (input.files[c].empty()) {
    summary.failure = "no file";
    return;
  }
  out->sources[c] = SourceOf(plan.cameras[c], input.files[c]);
  if (c < input.stamps.size()) out->sources[c].stamps = input.stamps[c];
  CameraTrackOptions options = plan.track;
  options.exposure = plan.cameras[c].exposure;
  options.hints.clear();
  for (const auto& [camera, hint] : plan.hints)
    if (camera == static_cast<int>(c)) options.hints.push_back(hint);
  options.brightness_bands = plan.sync == SyncMethod::kFlash ? 8 : 0;
  options.progress = [&](long long) { context.CheckCancelled(); };
  try {
    *tracked = TrackCamera(out->sources[c], options);
    summary = SummaryOf(plan.cameras[c].name, *tracked);
    if (const std::string fault = SizeFault(plan, c, tracked->info); !fault.empty()) {
      summary.failure = fault;
      *tracked = {};
      return;
    }
    if (tracked->frames == 0)
      summary.failure =
          tracked->broke.empty() ? "no frame in the range that was asked for" : tracked->broke;
  } catch (const DataError& error) {
    summary.failure = error.what();
  }
}

// Of a recording without a single track.
std::string WhyNothingTracked(const RecordingSummary& s) {
  for (const RecordingSummary::Camera& camera : s.cameras)
    if (!camera.failure.empty()) return fmt::format("camera {}: {}", camera.name, camera.failure);
  return "no marker was found in any camera; try look: dark, a threshold_grey, or another area_px2";
}

// Markers that are named in few frames are reported: their place in the layout may be wrong.
void NoteAbsentMarkers(const TrackConfig& plan, RecordingSummary* s) {
  for (const RecordingSummary::Camera& camera : s->cameras) {
    if (!camera.failure.empty()) continue;
    std::map<std::string, long long> measured;
    long long most = 0;
    for (const MarkerSummary& m : s->markers) {
      if (m.camera != camera.name) continue;
      measured[m.marker] = m.measured;
      most = std::max(most, m.measured);
    }
    for (const std::string& name : plan.track.names) {
      if (2 * measured[name] >= most) continue;
      s->notes.push_back(fmt::format("camera {}: {} has its name in {} frames only, others in {}{}",
                                     camera.name, name, measured[name], most,
                                     s->identity_usable && !plan.track.layout.empty()
                                         ? ": is its place in layout_m right?"
                                         : ""));
    }
  }
}

}  // namespace

namespace pipelines {

SeenRecording TrackAndLook(const TrackConfig& plan, std::size_t recording,
                           const std::vector<Correction>& corrections, bool pictures,
                           const RunContext& context) {
  const TrackedRecording& input = plan.recordings.at(recording);
  SeenRecording seen;
  RecordingTracks& out = seen.known;
  RecordingSummary& s = out.summary;
  s.name = out.tracks.recording = input.name;
  const std::size_t n = plan.cameras.size();
  s.cameras.resize(n);
  out.sources.resize(n);
  std::vector<CameraTrackResult> cameras(n);
  for (const TrackedCamera& camera : plan.cameras) out.tracks.cameras.push_back(camera.name);
  ForEachIndex(n, context.threads,
               [&](std::size_t c) { FollowCamera(plan, input, c, context, &out, &cameras[c]); });
  for (std::size_t c = 0; c < n; ++c) {
    for (const std::string& note : cameras[c].notes)
      s.notes.push_back(fmt::format("camera {}: {}", plan.cameras[c].name, note));
  }
  for (std::size_t c = 0; c < n; ++c) {
    if (cameras[c].damaged > 0)
      s.notes.push_back(fmt::format("camera {}: {} of {} frames are damaged and left out",
                                    plan.cameras[c].name, cameras[c].damaged,
                                    cameras[c].frames + cameras[c].damaged));
  }
  const auto tracked = std::count_if(cameras.begin(), cameras.end(),
                                     [](const CameraTrackResult& r) { return !r.points.empty(); });
  if (tracked == 0) {
    s.failure = WhyNothingTracked(s);
    return seen;
  }
  SynchroniseCameras(plan, &cameras, &out);
  seen.looks = LooksAt(out.sources);
  const bool joint = plan.rig && tracked > 1;
  MergeCameras(plan, cameras, joint ? Unnamed::kAll : Unnamed::kNone, &out.tracks);
  if (joint) DecideIdentity(plan, cameras, &out);
  const auto time = [&](int camera, long long frame, double y) {
    const CameraTrackResult& r = cameras[static_cast<std::size_t>(camera)];
    const auto at = std::lower_bound(r.index.begin(), r.index.end(), frame);
    if (at == r.index.end() || *at != frame) return std::nan("");
    // Points that are added have a column of their own; it would matter only for a rolling shutter
    // that was turned by 90 degrees.
    Frame moment;
    moment.t = r.stamps[static_cast<std::size_t>(at - r.index.begin())];
    return RowTime(out.sources[static_cast<std::size_t>(camera)], r.info, moment, 0, y);
  };
  if (joint && s.identity_usable && !plan.track.tags && plan.track.refine)
    RefindMarkers(plan, cameras, time, pictures, &seen.looks, &out);
  if (joint && !s.identity_usable) RemoveUncertainNames(plan, cameras, &out);
  // Doubts of single cameras about names matter only where several together did not settle them.
  for (std::size_t c = 0; c < n && !s.identity_usable; ++c)
    for (const std::string& note : cameras[c].labels.notes)
      s.notes.push_back(fmt::format("camera {}: {}", plan.cameras[c].name, note));
  // Names and points may have changed: gaps, impacts and the smooth curve are those of the tracks
  // as they are now.
  s.corrections = ApplyCorrections(corrections, plan.corrections.string(), time, &out.tracks);
  for (std::size_t c = 0; c < n; ++c) {
    if (cameras[c].stamps.empty()) continue;
    // found before the names were settled, and already applied
    const double scale = s.cameras[c].innovations.error_scale;
    s.cameras[c].innovations =
        FinishTracks(cameras[c].index, cameras[c].stamps, static_cast<int>(c),
                     FinishOptions(plan.track), &out.tracks);
    s.cameras[c].innovations.error_scale *= scale;
  }
  s.markers = Summarise(out.tracks);
  NoteAbsentMarkers(plan, &s);
  return seen;
}

}  // namespace pipelines

namespace {

std::vector<std::filesystem::path> Inputs(const TrackConfig& plan) {
  std::vector<std::filesystem::path> inputs = {plan.path};
  if (plan.rig) inputs.push_back(plan.rig_file);
  if (!plan.corrections.empty()) inputs.push_back(plan.corrections);
  for (const TrackedRecording& recording : plan.recordings) {
    for (const auto& files : recording.files)
      inputs.insert(inputs.end(), files.begin(), files.end());
    inputs.insert(inputs.end(), recording.stamps.begin(), recording.stamps.end());
  }
  return inputs;
}

// Input files must not be overwritten.
void CheckOutputs(const TrackConfig& plan, const std::filesystem::path& folder,
                  const TrackRunOptions& options) {
  const auto canonical = [](const std::filesystem::path& path) {
    std::error_code error;
    const auto out = std::filesystem::weakly_canonical(std::filesystem::absolute(path), error);
    return error ? path : out;
  };
  std::set<std::filesystem::path> inputs;
  for (const auto& path : Inputs(plan))
    if (!path.empty()) inputs.insert(canonical(path));
  std::vector<std::filesystem::path> outputs = {folder / "tracks.csv", folder / "tracking.json",
                                                folder / "tracking.html", folder / "run.yaml"};
  for (const TrackedRecording& recording : plan.recordings) {
    for (const TrackedCamera& camera : plan.cameras) {
      const std::string name = recording.name + "_" + camera.name;
      if (options.sheets) outputs.push_back(folder / "sheets" / (name + ".png"));
      if (options.frames)
        for (const auto& file : {KeptPicture(folder / pipelines::kFramesFolder / name),
                                 KeptTable(folder / pipelines::kFramesFolder / name)})
          outputs.push_back(file);
      if (!options.overlay.empty()) outputs.push_back(pipelines::WithSuffix(options.overlay, name));
    }
  }
  for (const auto& output : outputs)
    if (inputs.contains(canonical(output)))
      throw ConfigError(fmt::format(
          "{}: would be written over, but it is read; choose another --out or --overlay",
          output.string()));
}

void CheckCorrections(const TrackConfig& plan, const std::vector<Correction>& corrections) {
  std::vector<std::string> names;
  for (const TrackedRecording& recording : plan.recordings) names.push_back(recording.name);
  for (const Correction& correction : corrections) {
    if (std::find(names.begin(), names.end(), correction.recording) != names.end()) continue;
    const std::string nearest = NearestName(correction.recording, names);
    throw DataError(
        fmt::format("{}: row {}, column recording: found {}, allowed the recordings of {}{}",
                    plan.corrections.string(), correction.line, Excerpt(correction.recording),
                    plan.path.string(), nearest.empty() ? "" : ", nearest is " + nearest));
  }
}

}  // namespace

TrackRun RunTracking(const TrackConfig& plan, const std::filesystem::path& folder,
                     const TrackRunOptions& options, const RunContext& context) {
  const auto start = std::chrono::steady_clock::now();
  TrackRun run;
  run.plan = plan;
  if (options.frames) run.frames = folder / pipelines::kFramesFolder;
  const std::size_t n = plan.recordings.size();
  run.recordings.resize(n);
  const std::vector<Correction> corrections =
      plan.corrections.empty() ? std::vector<Correction>{} : ReadCorrections(plan.corrections);
  CheckOutputs(plan, folder, options);
  CheckCorrections(plan, corrections);
  TracksWriter writer(folder / "tracks.csv");
  // Recordings are written in their order, whichever is done first.
  std::mutex guard;
  std::map<std::size_t, MarkerTracks> waiting;
  std::size_t next = 0;
  const int cores = context.threads > 0
                        ? context.threads
                        : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const int inner = std::max(1, cores / static_cast<int>(std::max<std::size_t>(1, n)));
  Progress progress("tracking", static_cast<std::int64_t>(n), "recordings", context.Shown());
  ForEachIndex(n, context.threads, [&](std::size_t i) {
    context.CheckCancelled();
    RecordingTracks done =
        pipelines::FollowOnce(plan, i, corrections, folder, options, context.OnThreads(inner));
    const std::lock_guard lock(guard);
    run.recordings[i] = std::move(done.summary);
    waiting.emplace(i, std::move(done.tracks));
    for (auto at = waiting.find(next); at != waiting.end(); at = waiting.find(++next)) {
      run.points += static_cast<long long>(at->second.points.size());
      writer.Write(at->second);
      if (run.shown.size() < options.shown && !at->second.points.empty())
        run.shown.push_back(at->second);
      if (options.keep_tracks) run.tracks.push_back(std::move(at->second));
      waiting.erase(at);
    }
    progress.Advance();
  });
  progress.Finish();
  if (run.points == 0)
    throw DataError(fmt::format("{}: no marker was tracked in {} recordings; first: {}",
                                plan.path.string(), n, run.recordings.front().failure));
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  writer.Commit();
  WriteFile(folder / "tracking.json", ToJson(run));
  std::vector<std::filesystem::path> inputs = Inputs(plan);
  std::erase_if(inputs, [](const std::filesystem::path& path) {
    std::error_code absent;
    return !std::filesystem::is_regular_file(path, absent);
  });
  Provenance provenance = CollectProvenance(0, options.command);
  AddReadable(inputs, &provenance);
  WriteFile(folder / "run.yaml", ToYaml(plan) + ToYaml(provenance));
  return run;
}

}  // namespace impactlab
