#pragma once
// Recordings of markers in space (CSV, TRC, C3D) as poses of the body: the way into a run for
// motion capture and for what `export` wrote.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "reconstruction/formats/marker_files.h"
#include "reconstruction/motion/motion_fit.h"
#include "reconstruction/pose/layout_distances.h"
#include "reconstruction/pose/marker_points.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab {
namespace pipelines {
class Keys;
}

// Recordings of poses in one form, whether the files hold poses, markers in space or markers in a
// plane.
struct PosedRecording {
  PoseRecording poses;  // with its name; without a frame where there is a fault
  std::string fault;    // why it cannot be used; empty where it can
};

// How one file of markers in space fared.
struct PointFile {
  std::filesystem::path path;
  std::string recording;
  std::string bad;              // why nothing of it can be used; empty where it can
  int markers = 0, frames = 0;  // of the layout; in the file
  int poses = 0;                // frames with a pose
  int too_few = 0, collinear = 0, misfit = 0;
  double rms = 0;                  // what the layout leaves [m]
  std::string worst;               // marker and frame that fit least among the frames left out
  std::vector<std::string> notes;  // of the file
};

struct PointReport {
  std::vector<PointFile> files;     // one a recording
  std::vector<NamedMarker> layout;  // as used
  // of one coordinate from the distances, or as stated [m]; 0: not known
  double sd = 0;
};

struct PoseRecordings {
  std::vector<PosedRecording> recordings;
  // whether the distances of the layout that was given are those of the recordings; of markers
  LayoutVerdict layout;
  std::optional<PointReport> points;  // of markers in space
};

// Where the noise of the poses comes from.
enum class PointNoise {
  kFlights,  // each recording's own flights: errors that all markers share count
  // what the rigid layout leaves, over all recordings: errors that all markers share do not show
  kDistances,
  kStated
};

struct PointSource {
  std::vector<NamedMarker> layout;  // [m]
  // the layout from all frames of all recordings; what is given holds the frame B
  bool learn = false;
  std::vector<std::string> learned;  // further markers, whose places are not known
  // axis of the files that points up; nothing: what the file says, else z
  std::optional<UpAxis> up;
  PointNoise noise = PointNoise::kFlights;
  double sd = 0;           // of one coordinate of a marker, where stated [m]
  double max_rms = 0.005;  // of what the layout leaves in a frame [m]
};

// Keys of the `recordings` map beside `kind` and `files`.
void Visit(pipelines::Keys& keys, PointSource& source);

// `names` of the recordings, one a file. A file that cannot be read is bad, not an error; DataError
// where a layout is to be learned and the files do not give it, or a name of the layout occurs in
// no file.
PoseRecordings ReadPointRecordings(const PointSource& source,
                                   const std::vector<std::filesystem::path>& files,
                                   const std::vector<std::string>& names);

// Sets the noise of the motion fit where the source states it or takes it from distances and
// `motion` does not say it itself.
void SetPoseNoise(const PointSource& source, const PointReport& report, MotionFitOptions* motion);

// points.csv, one row a file.
void WritePointFiles(const std::filesystem::path& path, const PointReport& report);

}  // namespace impactlab
