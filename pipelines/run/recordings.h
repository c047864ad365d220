#pragma once
// What a run starts from, however it was recorded, as one value.

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "pipelines/config/run_context.h"
#include "pipelines/run/experiment.h"
#include "pipelines/run/marker_recordings.h"
#include "pipelines/run/point_recordings.h"

namespace impactlab {

// A body and a struck body that moves as well; of every recording of the first one of the second,
// in the same order.
struct TwoBodyRecordings {
  PoseRecordings first, second;
};

struct Recordings {
  std::variant<PoseRecordings, MarkerRecordings, TwoBodyRecordings> data;
  std::vector<std::filesystem::path> files;  // read
};

// Poses of the (first) body; null of marker images.
const PoseRecordings* PosesOf(const Recordings& recordings);
std::size_t CountOf(const Recordings& recordings);
// The name of a recording in tables.
const std::string& NameOf(const Recordings& recordings, std::size_t i);

// Of files of poses, of markers in space or of markers in a plane; with those of the second body
// where the experiment has one. A recording that cannot be used has a fault; DataError when `files`
// is empty.
Recordings LoadRecordings(const Experiment& experiment,
                          const std::vector<std::filesystem::path>& files);

// Of images of markers, by LoadOrTrackMarkers; poses frame by frame where the experiment has two
// bodies.
Recordings LoadMarkers(Experiment& experiment, const std::filesystem::path& folder,
                       const MarkerStageOptions& options = {}, const RunContext& context = {});

// The experiment with the noise of poses that the markers of the recordings tell, where it does not
// state it itself.
Experiment WithNoiseOf(const Recordings& recordings, Experiment experiment);

}  // namespace impactlab
