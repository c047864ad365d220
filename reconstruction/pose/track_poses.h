#pragma once
// Poses of a marked body over a whole recording, from the tracks of its markers: one at every frame
// of the first camera.
//
// Other cameras expose at other times and rows of a rolling shutter at theirs; their images are
// brought to the instant along the marker's own track by a cubic through the four nearest images,
// with the covariance that follows and an allowance for what a cubic misses. No interpolation
// crosses an impact. Poses are those of PoseFromMarkers, one by one: nothing smooths over time.

#include <Eigen/Core>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "reconstruction/pose/marker_pose.h"
#include "reconstruction/pose/pose_recording.h"
#include "tracking/track/tracks.h"

namespace impactlab {

struct TrackPosesOptions {
  MarkerPoseOptions pose;
  // added to every image point, independent: what its covariance does not know [px]
  double pixel_sd = 0;
  // of every camera of the tracks, added to its times [s]; empty: the times are right
  std::vector<double> offset;
  // known impact times, on the first camera's clock [s]; elsewhere the tracks' own flags count
  std::vector<double> impacts;
  // images within half of it of a known impact saw both flights and are left out [s]
  double exposure = 0;
  int longest_gap = 2;  // frames from image to image over which a track is interpolated
  // beyond the end of a track: frame intervals over which it is continued
  double reach = 0.25;
  int cameras = 2;  // that must see the body at an instant, at least
  // images of an instant that may be left out when all others agree without them; 0 or 1
  int outliers = 1;
};

// How a pose follows one image of the tracks: its noise is common to all poses that use it.
struct PoseImage {
  // in MarkerTracks::points
  int point = 0;
  // position [m/px], rotation on the body side [rad/px]
  Eigen::Matrix<double, 6, 2> dx_dq = Eigen::Matrix<double, 6, 2>::Zero();
};

struct TrackPoses {
  // the usable poses; times on the first camera's clock
  PoseRecording recording;
  std::vector<MarkerPose> poses;               // the same with covariance, dx_drig and chi-square
  std::vector<std::vector<PoseImage>> images;  // of every pose
  std::vector<long long> frames;               // of the first camera
  // False: at least one pose has its rotation about axis_B from a convention, carried along from
  // pose to pose without turning.
  bool observable = true;
  Eigen::Vector3d axis_B = Eigen::Vector3d::Zero();
  // Between the two times of each the velocity jumped: one time where the impact is known [s].
  struct Window {
    double begin = 0, end = 0;
  };
  std::vector<Window> impacts;
  struct Refusal {
    long long frame = 0;
    double t = 0;
    std::string reason;
  };
  std::vector<Refusal> refused;  // frames with markers but without a pose
  int outliers = 0;              // images that were left out
  double pixel_sd = 0;           // as in the options
};

// `markers`: the layout, one a name of `tracks.markers` in its order; names behind it are passed
// over. Cameras of the tracks are found in the rig by name. Predicted points and outliers are
// passed over. ConfigError for a camera the rig has not, a layout longer than the tracks' names,
// offsets of another number, options without meaning. No pose at all is a value: see `refused`.
TrackPoses PosesFromTracks(const MarkerTracks& tracks, const CameraRig& rig,
                           const std::vector<BodyMarker>& markers,
                           const TrackPosesOptions& options = {});

// Covariance of the errors of poses i and j that the noise of common images makes; i = j: that of
// the pixels alone, interpolation's own error left out.
Eigen::Matrix<double, 6, 6> CrossCovariance(const TrackPoses& poses, const MarkerTracks& tracks,
                                            int i, int j);

}  // namespace impactlab
