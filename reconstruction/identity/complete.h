#pragma once
// Images without a name that the body itself names: once its pose is known from the markers that
// were decided, there is one place for every other marker, and what lies there alone is that
// marker.

#include <Eigen/Core>
#include <functional>
#include <vector>

#include "calibration/camera/rig.h"
#include "reconstruction/identity/identity.h"
#include "tracking/track/tracks.h"

namespace impactlab {

struct CompletionOptions {
  double pixel_sd = 0.5;  // added to every image: rig, layout and shape of the markers [px]
  double partial_sd = 2;  // the same for images that are merged, cut or hidden in part [px]
  double gate = 4;        // standard deviations from the predicted place
  // a place that is known less well than this names nothing, standard deviation [px]
  double widest = 20;
  // -2 ln(odds) against any other image for the name, and any other name for the image
  double margin = 16;
  // of a pose between two that are known, per second to the nearer one [m/s]
  double speed_error = 1.5;
  double turn_error = 10;      // the same [rad/s]
  double still_share = 0.5;    // of the recording: what stands at one place so long is clutter
  double largest_ratio = 1.6;  // of the size of an image to that of its marker, and the reverse
};

// First takes the name from images that are merged, hidden in part or of another outline and lie
// far from the place that all other images give their marker. Then gives names to images of `loose`
// (measured ones, no track's or a nameless track's) and adds them to `tracks`, flagged kRelabelled.
// The names in `tracks` are taken as true: they must have been decided with `layout` (p_BM of the
// first markers of `tracks` [m]). A place for which two images compete, or an image for which two
// markers do, is left as it is. Returns the number of points added. ConfigError for a camera that
// the rig has not.
long long CompleteTracks(const std::vector<TrackPoint>& loose, const CameraRig& rig,
                         const std::vector<Eigen::Vector3d>& layout,
                         const CompletionOptions& options, MarkerTracks* tracks);

// A place where a marker has no image although the pose of its body says that there should be one,
// unless something hides it.
struct AbsentMarker {
  int camera = 0, marker = 0;
  long long frame = 0;
  Eigen::Vector2d q = Eigen::Vector2d::Zero();    // [px]
  Eigen::Matrix2d cov = Eigen::Matrix2d::Zero();  // of q [px^2]
  Eigen::Vector2d v = Eigen::Vector2d::Zero();    // [px/s]
  // typical longer semi-axis of its image in the frames around [px]
  double major = 0;
};

// All such places, by camera, frame and marker, in the frames listed for every camera: those inside
// of the picture, known to `options.widest`, that lie on no image which has a name. `time` gives
// the time of a row of a frame [s]. ConfigError as CompleteTracks.
std::vector<AbsentMarker> FindAbsent(
    const MarkerTracks& tracks, const CameraRig& rig, const std::vector<Eigen::Vector3d>& layout,
    const std::vector<std::vector<long long>>& frames,
    const std::function<double(int camera, long long frame, double y)>& time,
    const CompletionOptions& options);

}  // namespace impactlab
