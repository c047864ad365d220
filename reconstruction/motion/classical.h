#pragma once
// Classical estimators of the states beside an impact, from poses frame by frame: for comparison
// with the bundle fit (reconstruction/bundle/impact_bundle.h).
//
// Each is a set of weights over the poses of one side. Positions are differentiated in W, rotations
// as rotation vectors from the pose next to the impact (omega_B = J_r(phi) dphi/dt). The stated
// covariance is what the poses' own covariance becomes under the weights, for the Kalman smoother
// with its process noise; none of the methods states the bias that it has where the motion is not
// the polynomial it assumes. Houbolt's third-order backward difference and its gravity term:
// Sun 2017, eqs. 4.9 and 4.24 (J. Aeronaut. Sci. 17, 1950); Savitzky and Golay, Anal. Chem. 36,
// 1964; Rauch, Tung and Striebel, AIAA J. 3, 1965.

#include <Eigen/Core>
#include <functional>
#include <string>
#include <vector>

#include "reconstruction/pose/pose_recording.h"
#include "reconstruction/pose/track_poses.h"

namespace impactlab {

enum class ClassicalEstimator {
  // cubic through the four poses next to the impact, its slope at the outermost
  kHoubolt,
  kCentralDifference,  // over the three next to the impact, at the middle one
  kSavitzkyGolay,      // polynomial over `window` poses, its slope at their middle
  kLocalQuadratic,     // parabola over `window` poses, its slope at the impact
  // constant acceleration with white jerk, Rauch-Tung-Striebel smoothed, continued to the impact
  kKalman
};
// "houbolt", "central_difference", "savitzky_golay", "local_quadratic", "kalman".
const char* ToString(ClassicalEstimator estimator);

// How the velocity of an instant becomes that of the impact.
enum class GravityCorrection {
  kNone,  // as it is
  // g dt / 2 later, as eq. 4.24 prints it: right where the impact is half a frame behind the last
  // pose
  kHalfInterval,
  kToImpact  // gravity from that instant to the impact
};
const char* ToString(GravityCorrection correction);

struct ClassicalOptions {
  ClassicalEstimator estimator = ClassicalEstimator::kHoubolt;
  // of velocities; parabola and smoother reach the impact by themselves
  GravityCorrection gravity = GravityCorrection::kToImpact;
  Eigen::Vector3d gravity_W = {0, 0, -9.80665};  // [m/s^2]
  // Houbolt: the state after from a backward difference too, at the fourth pose, as Sun 2017
  // does
  bool backward_after = false;
  int window = 7;       // poses of Savitzky-Golay (odd) and parabola
  int degree = 2;       // of Savitzky-Golay's polynomial
  int max_frames = 40;  // poses a side for the smoother
  // spectral density of the smoother's white jerk, positions [m^2/s^5]; 0: the likeliest
  double jerk = 0;
  double angular_jerk = 0;     // the same of rotations [rad^2/s^5]
  bool across_impact = false;  // smoother: one pass over both sides, as if there were no impact
  double exposure = 0;         // poses within half of it of the impact are left out [s]
};

// Poses with the covariance of each.
struct MeasuredPoses {
  PoseRecording recording;
  // position in W, rotation on the body side; pixels alone
  std::vector<Eigen::Matrix<double, 6, 6>> cov;
  // Of the errors of poses i and j, i < j; empty: independent.
  std::function<Eigen::Matrix<double, 6, 6>(int i, int j)> cross;
  // How poses follow parameters whose error is common to all, and its covariance; empty: none.
  std::vector<Eigen::Matrix<double, 6, Eigen::Dynamic>> dx_drig;
  Eigen::MatrixXd cov_rig;
  bool observable = true;  // false: the rotation about axis_B is a convention
  Eigen::Vector3d axis_B = Eigen::Vector3d::Zero();
};
// `tracks` and `rig` as they went into the poses; both and `poses` must outlive the result.
MeasuredPoses Measured(const TrackPoses& poses, const MarkerTracks& tracks, const CameraRig& rig);

struct ClassicalSide {
  Eigen::Vector3d v = Eigen::Vector3d::Zero();  // of the body's origin, in W [m/s]
  // in W [rad/s]; its part along the axis taken out where it is not observable
  Eigen::Vector3d omega = Eigen::Vector3d::Zero();
  Eigen::Matrix<double, 6, 6> cov = Eigen::Matrix<double, 6, 6>::Zero();  // v, omega
  std::vector<double> times;                                              // of the poses used [s]
  // of the estimate, before any gravity correction [s]
  double t = 0;
};

struct ClassicalEstimate {
  bool usable = false;
  std::string reason;  // why not: too few poses on a side
  ClassicalSide minus, plus;
  bool observable = true;
  double jerk = 0, angular_jerk = 0;  // that the smoother used, the larger of both sides
};

// ConfigError for covariances of another number than poses, a planar recording, options without
// meaning.
ClassicalEstimate EstimateClassical(const MeasuredPoses& poses, double t_impact,
                                    const ClassicalOptions& options = {});

}  // namespace impactlab
