#pragma once
// A drop of a plan as it would be released, followed and recorded. Private to the pipelines room
// and its tests.

#include <random>

#include "pipelines/plan/plan.h"
#include "pipelines/synth/motion.h"
#include "reconstruction/bundle/impact_bundle.h"
#include "reconstruction/motion/motion_fit.h"
#include "reconstruction/pose/pose_recording.h"
#include "tracking/track/tracks.h"

namespace impactlab::pipelines {

struct ReleasedDrop {
  DropMotion motion;  // strikes beside plan.centre_W; no strike: it touches nothing
  Plane floor;
  double t_end = 0;  // of the second impact, or of the recording [s]
  bool struck() const { return !motion.strikes.empty() && motion.strikes.front().from_flight; }
};
ReleasedDrop ReleaseDrop(const ExperimentDesign& plan, const PlanSetting& setting,
                         const ImpactModel& model, const Scatter& scatter, std::mt19937_64& random);

// Properties of the pictures of drops; sums and extremes over all that were given.
struct PictureFigures {
  double blur = 0, marker_size = 0;  // see SettingFigures [px]
  int images = 0, outside = 0;
};
// Images of the flights before and after the first impact, with noise of `noise_sd` pixels; their
// stated covariance is that of the plan.
MarkerTracks FilmDrop(const ExperimentDesign& plan, const ReleasedDrop& drop, double noise_sd,
                      std::mt19937_64& random, PictureFigures* figures = nullptr);
ImpactBundleOptions FilmFitOptions(const ExperimentDesign& plan, const ReleasedDrop& drop);

// Poses with the plan's noise, and how they are fitted.
PoseRecording RecordPoses(const ExperimentDesign& plan, const ReleasedDrop& drop,
                          std::mt19937_64& random);
MotionFitOptions PoseFitOptions(const ExperimentDesign& plan);

}  // namespace impactlab::pipelines
