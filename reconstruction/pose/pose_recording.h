#pragma once
// Recordings of body poses and the frame errors they may carry.

#include <Eigen/Geometry>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "data/math/rotation.h"
#include "impact/body/body.h"

namespace impactlab {

// One recording: poses of B in W at increasing times.
struct PoseRecording {
  std::string name;  // file name without folder and extension
  bool planar = false;
  std::vector<double> t;                // [s]
  std::vector<Eigen::Isometry3d> X_WB;  // planar poses lie in the x-z plane
  std::vector<double> theta;            // planar attitude, unwrapped [rad]; empty in space
};

// How columns of a foreign file map to ours; keys are ours (t, x, y, z, theta, qw, qx, qy, qz),
// values "their_name" or "their_name unit".
struct PoseColumns {
  bool planar = true;
  std::map<std::string, std::string> names;  // empty: our own names with any known unit suffix
};

// Reads one CSV of poses. Any column order, units from the header's suffix or the mapping; extra
// columns are ignored. Time stamps keep their origin; planar theta is unwrapped on the assumption
// of less than half a turn a frame. Throws DataError for a missing column, NaN, unsorted or
// duplicated time stamps, unit of the wrong kind, quaternion far from unit length (more than 0.01);
// ConfigError for a mapping that cannot be (unknown key, unit of another quantity).
PoseRecording ReadPoses(const std::filesystem::path& path, const PoseColumns& columns);

// What is wrong between the frame a recording claims and the body: recorded = error applied to
// truth, in the order
//   R = R_true * ExpSO3(rotation_offset_B), p = p_true - R_true * com_offset_B
//   (planar: theta = theta_true + theta_offset)
//   mirror (planar: x -> -x; spatial, M = diag(1, -1, 1): p -> M p, attitudes as they are) and
//   flip (planar: theta -> -theta)
//   p -> length_scale * p, t -> clock_rate * t.
struct FrameCorrection {
  // R_recorded = R_true * ExpSO3(rotation_offset_B); planar: (0, -theta_offset, 0) [rad]
  Eigen::Vector3d rotation_offset_B = Eigen::Vector3d::Zero();
  // true centre of mass as seen from the recorded origin, in the true B [m]
  Eigen::Vector3d com_offset_B = Eigen::Vector3d::Zero();
  double length_scale = 1;  // recorded length / true length
  double clock_rate = 1;    // recorded duration / true duration
  // planar: x of the recording runs the wrong way against its attitudes; spatial: y
  bool mirrored = false;
  bool theta_flipped = false;  // planar: theta counts clockwise
  double floor_offset = 0;     // true floor height minus the height given [m]
  double floor_tilt = 0;       // true floor's slope about -W_y against the one given [rad]

  double theta_offset() const { return -rotation_offset_B.y(); }
};

// True where no error is stated.
bool IsIdentity(const FrameCorrection& correction);
// The recording as it would read without the errors (floor entries do not apply to poses; see
// CorrectedFloor).
PoseRecording Correct(const PoseRecording& recording, const FrameCorrection& correction);
// The floor as it truly is: moved by `floor_offset` along its normal, then turned by `floor_tilt`
// about its point nearest the origin of W.
Plane CorrectedFloor(const Plane& floor, const FrameCorrection& correction);

}  // namespace impactlab
