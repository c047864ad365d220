#include "pipelines/run/recordings.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "data/base/error.h"
#include "data/base/parallel.h"
#include "data/files/sha256.h"
#include "reconstruction/pose/track_poses.h"

namespace impactlab {
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

void AppendBytes(double value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// What was measured, as a key. Empty where there is nothing to compare.
std::string ContentOf(const PoseRecording& poses) {
  std::string bytes;
  if (poses.t.size() < 2) return bytes;
  for (std::size_t i = 0; i < poses.t.size(); ++i) {
    AppendBytes(poses.t[i], &bytes);
    for (const double value : poses.X_WB[i].matrix().reshaped()) AppendBytes(value, &bytes);
  }
  return Sha256(bytes);
}

std::string ContentOf(const MarkerTracks& tracks) {
  std::string bytes;
  for (const TrackPoint& point : tracks.points)
    for (const double value : {static_cast<double>(point.camera), static_cast<double>(point.marker),
                               point.t, point.q.x(), point.q.y()})
      AppendBytes(value, &bytes);
  return bytes.empty() ? bytes : Sha256(bytes);
}

// Names of the earlier recordings whose content a later one repeats; empty elsewhere. One file
// under two names would count twice, and every interval would be too narrow.
class Repeats {
 public:
  std::string Of(const std::string& content, const std::string& name) {
    if (content.empty()) return {};
    const auto [first, fresh] = seen_.emplace(content, name);
    return fresh ? std::string() : first->second;
  }

 private:
  std::map<std::string, std::string> seen_;
};

std::string RepeatFault(const std::string& earlier) {
  return fmt::format("repeats {}, number for number: one recording counts once", earlier);
}

void RefuseRepeats(PoseRecordings* out) {
  Repeats repeats;
  for (auto& [poses, fault] : out->recordings) {
    if (!fault.empty()) continue;
    const std::string earlier = repeats.Of(ContentOf(poses), poses.name);
    if (earlier.empty()) continue;
    fault = RepeatFault(earlier);
    PoseRecording empty;
    empty.name = poses.name;
    empty.planar = poses.planar;
    poses = std::move(empty);
  }
}

void RefuseRepeats(MarkerRecordings* out) {
  Repeats repeats;
  for (MarkerRecording& recording : out->recordings) {
    if (!recording.fault.empty()) continue;
    const std::string earlier = repeats.Of(ContentOf(recording.tracks), recording.tracks.recording);
    if (earlier.empty()) continue;
    recording.fault = RepeatFault(earlier);
    recording.tracks.points.clear();
  }
}

PoseRecordings ReadPoseFiles(const PoseColumns& columns,
                             const std::vector<std::filesystem::path>& files,
                             const std::vector<std::string>& names) {
  PoseRecordings out;
  out.recordings.resize(files.size());
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto& [poses, fault] = out.recordings[i];
    try {
      poses = ReadPoses(files[i], columns);
    } catch (const DataError& error) {
      poses.planar = columns.planar;
      fault = error.what();
    }
    poses.name = names[i];
  }
  return out;
}

// Frame by frame, as far as the markers of one body tell it.
PosedRecording PosesOfMarkers(const MarkerRecordings& markers, const MarkerRecording& recording) {
  PosedRecording out;
  out.fault = recording.fault;
  if (out.fault.empty()) {
    TrackPosesOptions how;
    how.exposure = markers.exposure;
    TrackPoses found = PosesFromTracks(recording.tracks, markers.rig, markers.layout, how);
    if (!found.observable)
      out.fault = "all markers of a body lie on a line, which hides its spin about it";
    out.poses = std::move(found.recording);
  }
  out.poses.name = recording.tracks.recording;
  return out;
}

PoseRecordings PosesOfMarkers(const MarkerRecordings& markers, const RunContext& context) {
  PoseRecordings out;
  out.recordings.resize(markers.recordings.size());
  ForEachIndex(out.recordings.size(), context.threads, [&](std::size_t i) {
    context.CheckCancelled();
    out.recordings[i] = PosesOfMarkers(markers, markers.recordings[i]);
  });
  return out;
}

}  // namespace

const PoseRecordings* PosesOf(const Recordings& recordings) {
  if (const auto* both = std::get_if<TwoBodyRecordings>(&recordings.data)) return &both->first;
  return std::get_if<PoseRecordings>(&recordings.data);
}

std::size_t CountOf(const Recordings& recordings) {
  if (const auto* markers = std::get_if<MarkerRecordings>(&recordings.data))
    return markers->recordings.size();
  return PosesOf(recordings)->recordings.size();
}

const std::string& NameOf(const Recordings& recordings, std::size_t i) {
  if (const auto* markers = std::get_if<MarkerRecordings>(&recordings.data))
    return markers->recordings[i].tracks.recording;
  return PosesOf(recordings)->recordings[i].poses.name;
}

Recordings LoadRecordings(const Experiment& experiment,
                          const std::vector<std::filesystem::path>& files) {
  if (files.empty())
    throw DataError(fmt::format("{}: no recording matches '{}'", experiment.path.string(),
                                experiment.recordings));
  Recordings out;
  out.files = files;
  const std::vector<std::string> names = RecordingNames(files);
  PoseRecordings first = experiment.points ? ReadPointRecordings(*experiment.points, files, names)
                         : experiment.planar_camera
                             ? ReadPlanarRecordings(*experiment.planar_camera, files)
                             : ReadPoseFiles(experiment.columns, files, names);
  RefuseRepeats(&first);
  if (!experiment.second) {
    out.data = std::move(first);
    return out;
  }
  const std::filesystem::path folder = std::filesystem::absolute(experiment.path).parent_path();
  SecondRecordings second = ReadSecondBody(*experiment.second, folder, files, names);
  out.files.insert(out.files.end(), second.files.begin(), second.files.end());
  out.data = TwoBodyRecordings{std::move(first), std::move(second.poses)};
  return out;
}

Recordings LoadMarkers(Experiment& experiment, const std::filesystem::path& folder,
                       const MarkerStageOptions& options, const RunContext& context) {
  Recordings out;
  MarkerRecordings first = LoadOrTrackMarkers(experiment, folder, options, context);
  out.files = first.files;
  RefuseRepeats(&first);
  if (!experiment.second) {
    out.data = std::move(first);
    return out;
  }
  const MarkerRecordings second = TakeSecondMarkers(experiment, first, folder, options, context);
  out.files.insert(out.files.end(), second.files.begin(), second.files.end());
  out.data = TwoBodyRecordings{PosesOfMarkers(first, context), PosesOfMarkers(second, context)};
  return out;
}

Experiment WithNoiseOf(const Recordings& recordings, Experiment experiment) {
  const auto* both = std::get_if<TwoBodyRecordings>(&recordings.data);
  const PoseRecordings* first = PosesOf(recordings);
  if (first != nullptr && first->points)
    SetPoseNoise(*experiment.points, *first->points, &experiment.motion);
  if (both != nullptr && both->second.points) {
    MotionFitOptions noise;
    SetPoseNoise(*experiment.second->points, *both->second.points, &noise);
    experiment.second->struck.sigma_position = noise.sigma_position;
    experiment.second->struck.sigma_angle = noise.sigma_angle;
  }
  return experiment;
}

}  // namespace impactlab
