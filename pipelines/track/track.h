#pragma once
// From recordings of a marked body to tracks.csv: every camera of every recording tracked, clocks
// synchronised, names assigned.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "pipelines/config/run_context.h"
#include "reconstruction/identity/identity.h"
#include "reconstruction/pose/marker_pose.h"
#include "tracking/sync/sync.h"
#include "tracking/track/camera_track.h"

namespace impactlab {

// One camera as the file describes it; `source` without files.
struct TrackedCamera {
  std::string name;
  FrameSource source;
  double exposure = 0;  // [s]; 0: not known
};

struct TrackedRecording {
  std::string name;
  // of every camera: a video, or pictures in order; empty: this camera has none
  std::vector<std::vector<std::filesystem::path>> files;
  // of every camera: a table of stamps; empty: none
  std::vector<std::filesystem::path> stamps;
};

enum class SyncMethod {
  kNone,   // the stamps of all cameras are on one clock
  kGiven,  // shift_s and clock_rate of every camera
  kFlash   // a flash that all saw
};
const char* ToString(SyncMethod method);

struct TrackConfig {
  std::filesystem::path path;  // of the file
  std::string name;
  std::filesystem::path rig_file;  // empty: names are decided camera by camera
  std::optional<CameraRig> rig;
  std::vector<TrackedCamera> cameras;
  // names, layout, spots, tracker; hints apply to all recordings of their camera
  CameraTrackOptions track;
  // layout with radii and normals; empty where the layout is not known
  std::vector<BodyMarker> markers;
  std::vector<std::pair<int, MarkerHint>> hints;  // camera and hint
  std::vector<TrackedRecording> recordings;
  SyncMethod sync = SyncMethod::kNone;
  std::filesystem::path corrections;  // empty: none
  IdentityOptions identity;
};

// Reads a tracking file (keys in data/README.md); ConfigError with file, line and key.
TrackConfig LoadTracking(const std::filesystem::path& path);
// With every default written out and paths from the root of the file system; LoadTracking reads it
// back to the same plan.
std::string ToYaml(const TrackConfig& plan);

// Statistics of one marker in one camera.
struct MarkerSummary {
  std::string camera, marker;
  long long first = -1, last = -1;  // frames
  // points; flagged: measured with any flag of its image
  long long measured = 0, predicted = 0, rough = 0, flagged = 0;
  long long gaps = 0, longest_gap = 0;  // of predicted frames
  // median of the larger standard deviation of a measured point [px]
  double sd = 0;
};

struct RecordingSummary {
  std::string name;
  std::string failure;  // why nothing was tracked; empty where something was
  struct Camera {
    std::string name;
    std::string failure;
    VideoInfo info;
    long long frames = 0, damaged = 0;
    double rate = 0;  // from the median step [1/s]
    std::string broke;
    // [px], [grey levels], [grey levels], [1]
    double blur = 0, noise = 0, threshold = 0, spots_per_frame = 0;
    InnovationReport innovations;
    double seconds = 0, decoding = 0;
  };
  std::vector<Camera> cameras;
  std::vector<CameraClock> clocks;  // of every camera
  bool identity_tried = false;
  bool identity_usable = false;
  std::string identity_reason;
  double ray_rms = 0, layout_rms = 0, log_odds = 0;
  std::vector<IdentityChange> changes;
  std::vector<MarkerSummary> markers;
  int corrections = 0;
  std::vector<std::string> notes;
};

// Everything known of one recording.
struct RecordingTracks {
  MarkerTracks tracks;
  std::vector<FrameSource> sources;  // of every camera, with the clock as found
  RecordingSummary summary;
};

struct TrackRunOptions {
  // video per recording and camera, named after this one; empty: none
  std::filesystem::path overlay;
  std::size_t shown = 6;     // recordings whose tracks are kept for the page
  bool keep_tracks = false;  // those of all recordings are kept in TrackRun::tracks
  // a picture of the frames about the first impact, per recording and camera
  bool sheets = true;
  // cuts of the frames about it, kept for pages that draw on them (tracking/overlay/kept_frames.h)
  bool frames = false;
  std::string command;  // for run.yaml
};

struct TrackRun {
  TrackConfig plan;
  std::vector<RecordingSummary> recordings;
  double seconds = 0;
  long long points = 0;
  std::vector<MarkerTracks> shown;  // of the first recordings that gave any
  // of every recording, where they are to be kept; without points where nothing was tracked
  std::vector<MarkerTracks> tracks;
  // folder of the frames that were kept, RECORDING_CAMERA each; empty: none
  std::filesystem::path frames;
};

// All recordings, in parallel; writes tracks.csv, tracking.json, run.yaml and the pictures to
// `folder` as results come in. DataError when no recording gives a single track.
TrackRun RunTracking(const TrackConfig& plan, const std::filesystem::path& folder,
                     const TrackRunOptions& options = {}, const RunContext& context = {});

std::string ToJson(const TrackRun& run);
// Notes for the user beside the tables; the same note of several recordings once.
std::vector<std::string> GroupedNotes(const TrackRun& run);
// One screen for a terminal.
std::string BriefReport(const TrackRun& run);

}  // namespace impactlab
