#pragma once
// Where the fit of a drop begins: rough poses of every frame, the impact between them, and the two flights joined.

#include <optional>
#include <string>
#include <vector>

#include "reconstruction/drop_fit_problem.h"
#include "reconstruction/pose_recording.h"

namespace impactlab::internal {

// Poses at the times of the first clock, other clocks interpolated along their markers; only where three markers can be placed. For markers
// on a line the roll is carried along without turning.
PoseRecording RoughPoses(const CameraRig& rig, const DropProblem& problem, const std::vector<double>& offset);

// Offsets of the clocks that make the rays meet, from a grid of steps of the frame interval over three `offset_sd`.
std::vector<double> RoughOffsets(const CameraRig& rig, const DropProblem& problem, double frame_interval);

// Median frame interval of the first clock that has points [s]; 0 for none.
double FrameInterval(const DropProblem& problem);

// Two flights fitted to the poses about `t_impact` and joined. Empty on success, else why not.
std::string StartDrop(const PoseRecording& poses, const DropProblem& problem, double t_impact, const MotionFitOptions& options,
                      DropState* state);

// An impact and the times between which its two flights lie.
struct RoughImpact {
  double t = 0, begin = -1e300, end = 1e300;  // [s]
};
// From the first cluster of flagged points, up to the next; or from the first break between two flights.
std::optional<RoughImpact> FlaggedImpact(const MarkerTracks& tracks, const DropProblem& problem, double frame_interval);
std::optional<RoughImpact> ImpactOfMotion(const PoseRecording& poses, const DropProblem& problem, const Plane& floor,
                                          const MotionFitOptions& options);

}  // namespace impactlab::internal
