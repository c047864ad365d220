#pragma once
// Planar motion seen by one camera: markers that move in a plane of known pose, and what it costs
// that they do not quite.
//
// The plane of motion is the x-z plane of W at a known depth. A homography (from points in the
// plane whose places are known) or a calibrated camera maps it to the picture. A marker nearer to
// the camera than the plane by d is seen away from the foot f of the camera's perpendicular: p_seen
// = f + (p - f) Z / (Z - d) with Z the distance of the camera (Sun 2017, ch. 2: the scale error
// d / Z). A body dropped by hand is off by some d0 and drifts in depth as it moves: d = d0 + a (x -
// x0) + b (z - z0), with other slopes a, b after the impact than before. Neither is seen; both
// enter the covariance of an event with standard deviations that are stated.
//
// Hartley & Zisserman, Multiple View Geometry, 2nd ed. 2004, ch. 4 (normalised direct linear
// transformation, then least squares).

#include <Eigen/Core>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/camera/rig.h"
#include "impact/body/event.h"
#include "reconstruction/pose/layout_distances.h"
#include "reconstruction/pose/pose_recording.h"
#include "tracking/track/tracks.h"

namespace impactlab {

// A point in the plane of motion and its image.
struct PlanePoint {
  Eigen::Vector2d p = Eigen::Vector2d::Zero();  // x, z [m]
  Eigen::Vector2d q = Eigen::Vector2d::Zero();  // [px]
};

struct PlaneView {
  // (x, z, 1) to the picture; not used where there is a camera
  Eigen::Matrix3d H = Eigen::Matrix3d::Identity();
  std::optional<RigCamera> camera;                 // calibrated
  double depth = 0;                                // y of the plane of motion, with a camera [m]
  Eigen::Vector2d foot = Eigen::Vector2d::Zero();  // x, z of the camera [m]
  double distance = 0;                             // of the camera from the plane [m]
  // Of the eight entries but the last of E, row by row, where the true homography is H (1 + E):
  // what the points leave unknown.
  Eigen::Matrix<double, 8, 8> cov_E = Eigen::Matrix<double, 8, 8>::Zero();
  double rms = 0;  // of the points, one coordinate [px]
};

// From four or more points, no three on a line, their images known to `sd` pixels (one coordinate)
// or, with more than four, as their residuals say where that is more. ConfigError for fewer points,
// points on a line, a camera that is not at `distance` > 0.
PlaneView ViewFromPoints(const std::vector<PlanePoint>& points, double sd,
                         const Eigen::Vector2d& foot, double distance);
// From a calibrated camera that looks at the plane y = `depth` of its W. ConfigError for one in
// that plane.
PlaneView ViewFromCamera(const RigCamera& camera, double depth);

// Where a marker in the plane is whose image is q; nothing where the ray misses the plane.
struct PlacedInPlane {
  Eigen::Vector2d p = Eigen::Vector2d::Zero();      // x, z [m]
  Eigen::Matrix2d dp_dq = Eigen::Matrix2d::Zero();  // [m/px]
};
std::optional<PlacedInPlane> PlaceInPlane(const PlaneView& view, const Eigen::Vector2d& q);

struct PlanarMarker {
  std::string name;
  Eigen::Vector2d p_BM = Eigen::Vector2d::Zero();  // x, z [m]
};

struct PlanarPoses {
  bool usable = false;
  std::string reason;
  PoseRecording poses;          // planar
  int too_few = 0, misfit = 0;  // frames left out
  double rms = 0;               // that the layout leaves, one coordinate [m]
};

// Poses of every frame of one camera that shows two or more markers of the layout, weighted by
// their covariances. Predicted points and outliers are passed over; the markers of a frame count as
// seen at the mean of their times (rows of a rolling shutter are not brought together). A layout
// that only fits mirrored is refused. ConfigError for a layout with a name twice or fewer than two
// markers, or tracks of several cameras where `camera` names none of them. `distances`, of the
// layout's markers in its order, learns where the frames that have a pose show them, as those of
// recording `number`.
PlanarPoses PosesInPlane(const MarkerTracks& tracks, const PlaneView& view,
                         const std::vector<PlanarMarker>& layout, const std::string& camera,
                         double max_rms, LayoutDistances* distances = nullptr, int number = 0);

// What the plane of motion may be off by.
struct OutOfPlane {
  double depth_sd = 0;  // of d0 [m]
  double tilt_sd = 0;   // of a and b, before and after the impact [rad]
};
// Adds to the covariance of an event what the depth of the body and the homography do to its states
// and lever. These errors are the same in all frames of a flight, so that no residual shows them.
void AddOutOfPlane(const PlaneView& view, const std::vector<PlanarMarker>& layout,
                   const OutOfPlane& off, const Body& body, const Plane& floor, ImpactEvent* event);

}  // namespace impactlab
