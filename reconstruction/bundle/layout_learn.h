#pragma once
// The places of the markers on the body from all impacts of a campaign together. Every impact tells
// how its images would fit better to a layout that is a little different, its own states and clocks
// being free; the sum over all, with what was known before, is one step of the joint least squares
// over all motions and the layout (a Schur complement, Triggs et al., Bundle adjustment - a modern
// synthesis, 2000).

#include <Eigen/Core>
#include <string>
#include <vector>

#include "reconstruction/bundle/impact_bundle.h"
#include "reconstruction/pose/marker_pose.h"

namespace impactlab {

struct LearnedLayout {
  std::vector<BodyMarker> markers;  // after the step
  // what is left unknown, and how the layout follows the rig it was learned with
  LayoutKnowledge knowledge;
  // p_BM before anything was learned; standard deviations afterwards, rig included [m]
  std::vector<Eigen::Vector3d> given, sd;
  // largest move of a marker in this step, in standard deviations of what is left unknown
  double step = 0;
  int impacts = 0;  // that gave information
  // Markers, by their `names`, that lie further from where they were given than `prior_sd` allows,
  // in words.
  std::vector<std::string> Doubts(const std::vector<std::string>& names) const;
  double prior_sd = 0;
};

// One step from `now`, the layout with which `fits` were made; `given` with standard deviation `sd`
// of every coordinate [m] is what was known before. Fits that are not usable, or whose residuals
// are more than `max_noise_scale` times their noise, give no information; one that contradicts all
// others pulls no harder than at the edge of what chance allows. Markers on a line move along it
// only: across it no two motions show the same side. ConfigError for an `sd` not above 0.
LearnedLayout LearnLayout(const std::vector<const ImpactBundle*>& fits, const CameraRig& rig,
                          const std::vector<BodyMarker>& given, const std::vector<BodyMarker>& now,
                          double sd, double max_noise_scale);

}  // namespace impactlab
