#pragma once
// Assignment of markers to the tracks of one camera, as far as one camera determines it.
//
// A hint (where each marker is in one frame) decides outright. Without one, the arrangement of the
// markers in the picture decides: for coplanar markers up to an affine map of the layout, for three
// or more on a line by their order and the ratio of their distances, which perspective changes
// little for a body that is small against its distance. Markers that a symmetry of the layout
// exchanges are not distinguished by any picture; such symmetries are found beforehand.

#include <Eigen/Core>
#include <string>
#include <vector>

#include "tracking/track/tracker.h"
#include "tracking/track/tracks.h"

namespace impactlab {

struct MarkerHint {
  std::string marker;
  long long frame = 0;
  Eigen::Vector2d q = Eigen::Vector2d::Zero();  // [px]
};

struct LabelResult {
  std::vector<int> label;  // for every track the place of its name; -1: none
  // log of the likelihood ratio of this label to the next best; 0 where it is not known
  std::vector<double> odds;
  // notes for the user: hints that matched no track, names without a track, ...
  std::vector<std::string> notes;
  bool complete = false;  // every name has a track in most frames
};

// `layout`: positions of the markers in the body [m], or empty where they are not known: then
// tracks without a hint get names in the order of their first appearance from the left, and the
// notes say so. Tracks that do not overlap in time may share a name.
LabelResult LabelTracks(const std::vector<Track>& tracks, const std::vector<std::string>& names,
                        const std::vector<Eigen::Vector3d>& layout,
                        const std::vector<MarkerHint>& hints);

// Empty when every marker can be distinguished from the others; else what is wrong and what to do:
// "markers a and b can be exchanged (the distances change by at most 0.3 mm); move one by 5 mm
// along ..., or encode one end". `sd`: of a distance as reconstructed [m]. Mirror images count as
// different only where the body is seen in space and the markers are not in one plane.
std::string LayoutFault(const std::vector<std::string>& names,
                        const std::vector<Eigen::Vector3d>& layout, double sd);

}  // namespace impactlab
