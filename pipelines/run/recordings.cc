#include "pipelines/run/recordings.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "data/base/error.h"
#include "data/base/parallel.h"
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
