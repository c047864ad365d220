#pragma once
// Where the fit of a drop begins: rough poses of every frame, the impact between them, and the two
// flights joined.

#include <string>
#include <vector>

#include "reconstruction/bundle/detail/flights.h"
#include "reconstruction/bundle/detail/problem.h"
#include "reconstruction/motion/signals.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab::reconstruction {

// Pose and motion at the times of the first clock, where the images of a few frames tell them; see
// BriefFlights. For markers on a line the roll is carried along without turning.
std::vector<BriefFlight> RoughFlights(const CameraRig& rig, const DropProblem& problem,
                                      const std::vector<double>& offset);

// Offsets of the clocks that make the rays meet, from a grid over three `offset_sd` and finer ones
// about its best place; right to a few hundredths of a frame where the images say it at all, else
// 0.
std::vector<double> RoughOffsets(const DropProblem& problem, double frame_interval);

// Median frame interval of the first clock that has points [s]; 0 for none.
double FrameInterval(const DropProblem& problem);

// Two arcs fitted to the poses about `t_impact` and joined; where they are too short for that, the
// two brief flights beside it that meet best. Empty on success, else why not.
std::string StartDrop(const std::vector<BriefFlight>& flights, const DropProblem& problem,
                      double t_impact, double frame_interval, const MotionFitOptions& options,
                      DropState* state);

// An impact and the times between which its two flights lie; or one that cannot be fitted, with the
// reason.
struct RoughImpact {
  double t = 0, begin = -1e300, end = 1e300;  // [s]
  RejectReason reason = RejectReason::kNone;
  std::string detail;
};
struct RoughImpacts {
  std::vector<RoughImpact> impacts;  // by time
  std::vector<Segment> flights;      // of the poses, by time
  RejectReason reason = RejectReason::kNoImpact;
  std::string detail;  // why there are no impacts
};
// Where one flight ends and the next begins, by the brief flights; where they show none, from the
// motion of the poses; and from the flags of the points where neither shows flight or impact.
// `poses`: those of the brief flights.
RoughImpacts FindImpacts(const MarkerTracks& tracks, const DropProblem& problem,
                         const std::vector<double>& offset, const std::vector<BriefFlight>& brief,
                         const PoseRecording& poses, const Plane& floor,
                         const MotionFitOptions& options);
// The flights on both sides of `t`, where the poses show them.
RoughImpact ImpactAbout(double t, const RoughImpacts& rough, const PoseRecording& poses);

}  // namespace impactlab::reconstruction
