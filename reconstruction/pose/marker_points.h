#pragma once
// Markers in space, frame by frame: what motion capture delivers and what triangulation of tracks
// gives. The level between images and poses; files of it are read and written by
// reconstruction/formats/marker_files.h.

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "reconstruction/pose/marker_pose.h"
#include "reconstruction/pose/pose_recording.h"
#include "tracking/track/tracks.h"

namespace impactlab {

struct MarkerEvent {
  std::string label;    // "impact", "Foot Strike"
  std::string context;  // whose: "General", "Left"; empty where not said
  double t = 0;         // on the clock of the frames [s]
};

// One recording. Lists of values are marker by marker, each of one value a frame; those that are
// not known are empty.
struct MarkerPoints {
  std::string name;                  // of the recording
  std::vector<std::string> markers;  // every name once
  std::vector<double> t;             // of every frame, rising [s]
  // [m]; nothing where the marker was not seen
  std::vector<std::vector<std::optional<Eigen::Vector3d>>> p_WM;
  // of p_WM [m^2]; zero where not known
  std::vector<std::vector<Eigen::Matrix3d>> cov;
  // how well the rays met [m]; 0: not measured but filled, or not known
  std::vector<std::vector<double>> residual;
  // number of the first frame where files count, from 1 at the start of the trial
  long long first_frame = 1;
  std::vector<MarkerEvent> events;  // in any order
};

// Throws ConfigError that begins with the name of the recording: lists of other lengths, a name
// that is empty or stands twice, times that do not rise or are no numbers, a position, covariance
// or residual that is none.
void CheckMarkerPoints(const MarkerPoints& points);

// Frames a second where the frames are evenly spaced but for whole frames left out, within
// `tolerance` of an interval [1/s]; nothing where they are not, and for fewer than two frames.
// Rounded to what a file would say (ten digits), where that fits as well.
std::optional<double> FrameRate(const MarkerPoints& points, double tolerance = 0.05);

// Position of a marker on the body.
struct NamedMarker {
  std::string name;
  Eigen::Vector3d p_BM = Eigen::Vector3d::Zero();  // [m]
};

struct PointPoseOptions {
  // of the distances that the layout leaves; a frame above it is left out [m]
  double max_rms = 0.005;
  // second largest rms extent of the markers seen: below it they lie on a line [m]
  double min_spread = 1e-3;
};

// Poses of a body from its markers, and why frames have none. Nothing is interpolated.
struct PointPoses {
  bool usable = false;
  // why there are none at all: a mirrored layout, markers on a line, names that do not occur
  std::string reason;
  PoseRecording poses;                         // of the frames that have one
  std::vector<int> frames;                     // which those are, from 0
  std::vector<double> rms;                     // what the layout leaves in each [m]
  int too_few = 0, collinear = 0, misfit = 0;  // frames left out
  // of the misfits: the marker and frame (as the file numbers it) that fit least, in words
  std::string worst;
  // of what the layout leaves in the frames that have a pose [m^2]
  double sum_squares = 0;
  int dof = 0;  // three a point less six a pose
};

// Weighted absolute orientation (AlignPoints), weights from the covariances where every point of a
// frame has one. Needs three markers of the layout that do not lie on a line; markers of the
// recording that are not of the layout are passed over. A layout whose mirror image fits where it
// does not is refused; three markers, or markers in one plane, cannot tell. ConfigError for a
// layout with a name twice or points that are no numbers, and options without meaning. A layout of
// one marker in the origin of B gives poses of one attitude: of a ball, whose centre it is.
PointPoses PosesFromPoints(const MarkerPoints& points, const std::vector<NamedMarker>& layout,
                           const PointPoseOptions& options = {});

// Places of the markers on the body that all frames of all recordings agree on.
struct PointLayout {
  bool usable = false;
  // why there is none: too few given markers, a marker that no frame shows with three others, ...
  std::string reason;
  std::vector<NamedMarker> markers;  // those given, then those asked for, in their order
  int frames = 0;                    // that gave information
  // of one coordinate of a point, from what the rigid layout leaves; 0: no freedom is left to tell
  // [m]
  double sd = 0;
};

// Generalised Procrustes analysis (Gower, Psychometrika 40, 1975) with markers missing: poses by
// the present layout, then every marker at its mean place on the body, until nothing moves. The
// frame B stays where the `given` markers put it in the least squares, so that the error of B is
// theirs over the root of their number; `asked` are names without a place. Frames above `max_rms`
// are left out.
PointLayout LearnPointLayout(const std::vector<MarkerPoints>& recordings,
                             const std::vector<NamedMarker>& given,
                             const std::vector<std::string>& asked,
                             const PointPoseOptions& options = {});

// Standard deviations of position and of rotation (root mean square of the axes) that independent
// errors `sd` of every coordinate of all markers of a layout leave in a pose [m], [rad].
struct PoseNoise {
  double position = 0, angle = 0;
};
PoseNoise PoseNoiseOf(const std::vector<NamedMarker>& layout, double sd);

struct TrackPointsOptions {
  // of every camera of the tracks, added to its times [s]; empty: the times are right
  std::vector<double> offset;
  // images less likely than this to be of one point are rejected as an outlier, or the point is; 0:
  // never
  double misfit_probability = 1e-6;
  double max_relative_sd = 0.3;  // of the depth; above it the point is left out
  // frames from image to image over which a track is interpolated
  int longest_gap = 2;
};

struct TrackPoints {
  MarkerPoints points;   // at every frame of the first camera, with covariances of pixels and rig
  int placed = 0;        // points
  int alone = 0;         // images of a marker that no other camera sees at the time
  int misfit = 0;        // points left out whose images are not of one point
  int undetermined = 0;  // points left out whose place is not determined
};

// Triangulates the markers (PlacePoint) at every frame of the first camera of the tracks. Images of
// other cameras, and of the rows of a rolling shutter, are brought to that instant along the
// marker's own track as in PosesFromTracks, never across an impact; cameras need not expose
// together. Cameras go by their names in the rig; predicted images and outliers are not used. The
// rig's covariance is counted in every point (it is common to all of them). ConfigError for a
// camera the rig has not, options without meaning; DataError where no point can be placed at all.
TrackPoints PointsFromTracks(const MarkerTracks& tracks, const CameraRig& rig,
                             const TrackPointsOptions& options = {});

}  // namespace impactlab
