#pragma once
// Which track is which marker, once the rig is known: tracklets of all cameras and all frames
// decided together.
//
// Two images belong to one marker when their rays meet (distance counted in the covariance of
// pixels and rig), and the markers of a rigid body keep their distances. A camera alone cannot see
// an exchange that a picture allows; the distances in space can. Cameras need not be synchronous:
// images are brought to a common time along their own tracks, never across an impact.

#include <Eigen/Core>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "tracking/track/tracks.h"

namespace impactlab {

struct IdentityOptions {
  double layout_sd = 5e-4;  // of the markers' positions as given [m]
  // added to every image point: rig, perspective bias of discs and time [px]
  double pixel_sd = 0.3;
  double outlier_probability = 1e-3;
  int piece_min = 2;  // points; the name of a shorter piece of a track must be 2.5 times as certain
};

struct IdentityChange {
  int camera = 0;
  long long first = 0, last = 0;  // frames
  std::string from, to;           // names; `to` is empty where no marker fits
  double log_odds = 0;            // of the change against leaving it
};

struct IdentityResult {
  bool usable = false;
  // why not: too few cameras, too few common frames, a layout with a symmetry, ...
  std::string reason;
  // with the names as decided; changed points carry kRelabelled, points of no marker are left out
  MarkerTracks tracks;
  std::vector<IdentityChange> changes;
  double ray_rms = 0;  // of the distances of the rays, in standard deviations
  // of the markers' distances against the layout, or against their own median [m]
  double layout_rms = 0;
  // of the least certain name that was given, against the next best decision; 99: beyond question
  double log_odds = 0;
  // by which the times of every camera had to move for its rays to meet those of the others [s]; 0
  // mostly
  std::vector<double> shifts;
  std::vector<std::string> notes;
};

// `layout`: p_BM of the first names of `tracks` [m]; further names are those of tracks that may be
// anything. Empty where it is not known: then the arrangement is learned from the recording, and
// names mean no more than that they stay with their marker. Names in `tracks` are taken as a start,
// not as a truth; tracks are cut into pieces at gaps, impacts, jumps and where two markers come
// close. A piece whose name is not certain is left out; when that would be more than a tenth of the
// points, the result is not usable and the tracks stay as they came. A clock that is off by up to
// 0.75 frames is allowed for (the notes say so). ConfigError for a camera of the tracks that the
// rig has not, or a layout of more markers than the tracks name.
IdentityResult ResolveIdentity(const MarkerTracks& tracks, const CameraRig& rig,
                               const std::vector<Eigen::Vector3d>& layout,
                               const IdentityOptions& options = {});

}  // namespace impactlab
