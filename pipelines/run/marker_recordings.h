#pragma once
// What an experiment with cameras starts from: the rig, the layout of the markers and where each of
// them was in every frame, from footage of a board and videos of drops, or from the files that
// earlier runs made of them.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/config/run_context.h"
#include "pipelines/run/experiment.h"
#include "pipelines/track/track.h"
#include "reconstruction/bundle/impact_bundle.h"
#include "reconstruction/pose/marker_pose.h"
#include "tracking/track/tracks.h"

namespace impactlab {

struct MarkerRecording {
  MarkerTracks
      tracks;          // without points where nothing was tracked. Markers of the layout come first
  std::string fault;   // why nothing can be used; empty where something can
  std::string silent;  // cameras that gave nothing and why; empty where all gave something
  double offset_sd = 0;  // of the clocks of the cameras after the first [s]
};

struct MarkerRecordings {
  CameraRig rig;                     // in W
  std::vector<BodyMarker> layout;    // one a name, in the order of the tracking file
  LayoutKnowledge layout_knowledge;  // how well it is known; empty: exactly
  std::vector<MarkerRecording> recordings;
  double exposure = 0;                       // the longest of any camera [s]
  std::vector<std::filesystem::path> files;  // read
  bool calibrated = false;                   // the rig is of a calibration made for this run
  // folder of the frames that the tracking kept, RECORDING_CAMERA each; empty: none
  std::filesystem::path frames;
};

struct MarkerStageOptions {
  bool pages = true;     // calibration.html, tracking.html, contact sheets and kept frames
  std::string command;   // for the run.yaml of the stages
  std::string plotting;  // path of the plotting library
};

// Calibrates and tracks where the experiment asks for it, into `folder`/calibration and
// `folder`/tracking, else reads what is there; floor and gravity that the experiment leaves to the
// rig are set. DataError when the calibration is refused or no recording has a point; ConfigError
// when the rig says nothing of the floor or of gravity.
MarkerRecordings LoadOrTrackMarkers(Experiment& experiment, const std::filesystem::path& folder,
                                    const MarkerStageOptions& options = {},
                                    const RunContext& context = {});

// The same of a second body in the same pictures, which has a tracking file of its own: its markers
// in the recordings of `first`, in their order, seen by the rig of `first`. Videos are followed
// into `folder`/tracking_second.
MarkerRecordings TakeSecondMarkers(const Experiment& experiment, const MarkerRecordings& first,
                                   const std::filesystem::path& folder,
                                   const MarkerStageOptions& options = {},
                                   const RunContext& context = {});

// How the impacts of the recording of that index are fitted.
ImpactBundleOptions BundleOptions(const Experiment& experiment, const MarkerRecordings& markers,
                                  std::size_t recording);

// As they would be without the errors of the frame: times, the places of cameras and markers (floor
// entries do not apply; see CorrectedFloor). ConfigError for a mirrored frame, which no camera
// makes.
MarkerRecordings Correct(const MarkerRecordings& markers, const FrameCorrection& correction);

}  // namespace impactlab
