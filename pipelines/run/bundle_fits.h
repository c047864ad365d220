#pragma once
// All impacts of all recordings of marker images: every one by its bundle fit, and the layout of
// the markers by all of them together.

#include <string>
#include <vector>

#include "pipelines/config/run_context.h"
#include "pipelines/run/experiment.h"
#include "pipelines/run/marker_recordings.h"
#include "reconstruction/bundle/layout_learn.h"
#include "reconstruction/pose/track_poses.h"

namespace impactlab {

struct BundleFits {
  std::vector<std::vector<ImpactBundle>> drops;  // by recording
  LearnedLayout layout;                          // as given where it was not learned (impacts = 0)
  int rounds = 1;                                // passes over all recordings
  // of one core for one impact in the last pass, mean of a recording
  std::vector<double> seconds;
};

// `label` names the work where progress is shown.
BundleFits FitBundles(const Experiment& experiment, const MarkerRecordings& markers,
                      const Plane& floor, const std::string& label, const RunContext& context);

// The same recordings seen with the layout of a campaign.
MarkerRecordings WithLayout(MarkerRecordings markers, const LearnedLayout& layout);

struct TimedPoses {
  TrackPoses poses;    // none of a recording with a fault
  double seconds = 0;  // of one core, for all frames
};

// Poses of every recording frame by frame on one clock: what the bundle fits `drops` of the
// recording found of the clocks of the cameras, the median over the impacts.
std::vector<TimedPoses> PosesOfAll(const MarkerRecordings& markers,
                                   const std::vector<std::vector<ImpactBundle>>& drops,
                                   const RunContext& context);

}  // namespace impactlab
