#pragma once
// What all impacts of one recording share: its points, the line of its markers, rough clocks, poses
// and impacts.

#include <string>
#include <vector>

#include "reconstruction/bundle/detail/initialization.h"
#include "reconstruction/bundle/detail/problem.h"

namespace impactlab::reconstruction {

struct DropRecording {
  std::string name;
  std::string reason;   // why nothing can be fitted; empty where something can
  DropProblem problem;  // with all points
  Plane floor;          // unit normal
  double frame_interval = 0;
  std::vector<double> offset;        // rough, of every clock
  std::vector<BriefFlight> flights;  // about every frame of the first camera
  PoseRecording poses;               // theirs
  RoughImpacts rough;
  std::vector<std::string> notes;
};

// Options are taken to be right.
DropRecording PrepareDrops(const MarkerTracks& tracks, const CameraRig& rig,
                           const std::vector<BodyMarker>& markers, const Body& body,
                           const Plane& floor, const ImpactBundleOptions& options);

}  // namespace impactlab::reconstruction
