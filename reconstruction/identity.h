#pragma once
// Which track is which marker, once the rig is known: tracklets of all cameras and all frames decided together.
//
// Two images belong to one marker when their rays meet (distance counted in the covariance of pixels and rig), and the markers of a rigid
// body keep their distances. A camera alone cannot see an exchange that a picture allows; the distances in space can. Cameras need not
// be synchronous: images are brought to a common time along their own tracks, never across an impact.

#include <Eigen/Core>
#include <string>
#include <vector>

#include "calibration/rig.h"
#include "tracking/tracks.h"

namespace impactlab {

struct IdentityOptions {
  double layout_sd = 5e-4;  // of the markers' positions as given [m]
  double pixel_sd = 0.3;    // added to every image point: rig, perspective bias of discs and time [px]
  double outlier_probability = 1e-3;
  int piece_min = 2;  // shorter pieces of tracks are not decided on their own
};

struct IdentityChange {
  int camera = 0;
  long long first = 0, last = 0;  // frames
  std::string from, to;           // names; `to` is empty where no marker fits
  double log_odds = 0;            // of the change against leaving it
};

struct IdentityResult {
  bool usable = false;
  std::string reason;   // why not: too few cameras, too few common frames, a layout with a symmetry, ...
  MarkerTracks tracks;  // with the names as decided; changed points carry kRelabelled, points of no marker are left out
  std::vector<IdentityChange> changes;
  double ray_rms = 0;     // of the distances of the rays, in standard deviations
  double layout_rms = 0;  // of the markers' distances against the layout, or against their own median [m]
  double log_odds = 0;    // of the whole decision against the next best; small: ambiguous
  std::vector<std::string> notes;
};

// `layout`: p_BM of every marker of `tracks` [m], empty where not known: then only what the rays and the constancy of distances decide.
// Names in `tracks` are taken as a start, not as a truth; tracks are cut into pieces at gaps and where two markers come close.
// ConfigError for a camera of the tracks that the rig has not.
IdentityResult ResolveIdentity(const MarkerTracks& tracks, const CameraRig& rig, const std::vector<Eigen::Vector3d>& layout,
                               const IdentityOptions& options = {});

}  // namespace impactlab
