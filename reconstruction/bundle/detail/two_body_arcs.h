#pragma once
// One body before and after an impact of two: free flight, or turning about a fixed axis under
// gravity. Private to the reconstruction room.

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "reconstruction/bundle/two_body.h"
#include "reconstruction/motion/flights.h"

namespace impactlab::reconstruction {

// Where a motion is at a time. Order of `cov`: position, body-side rotation; velocity in W, spin in
// B. Accelerations likewise.
struct SideState {
  Eigen::Vector3d p = Eigen::Vector3d::Zero();
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  Eigen::Matrix<double, 6, 1> velocity = Eigen::Matrix<double, 6, 1>::Zero(),
                              acceleration = Eigen::Matrix<double, 6, 1>::Zero();
  Eigen::Matrix<double, 12, 12> cov = Eigen::Matrix<double, 12, 12>::Zero();
};

// A break between two flights: its time, about, the outer ends of the flights and the frame
// interval [s].
struct Break {
  double t = 0, begin = 0, end = 0, interval = 0;
};
std::vector<Break> FindBreaks(const PoseRecording& recording, const Body& body,
                              const MotionFitOptions& options);

// Moment of inertia about the axis [kg m^2].
double AxisInertia(const FixedAxis& axis, const Body& body, const Eigen::Isometry3d& X_WB);

class Motion {
 public:
  Motion(const PoseRecording& recording, const Body& body, const std::optional<FixedAxis>& axis,
         const MotionFitOptions& options);
  // Fits the frames from `begin` to before `before`, and from behind `after` to `end`, max_frames
  // of each; false where they are too few.
  bool Cut(double begin, double before, double after, double end);
  SideState Before(double t) const { return At(0, t); }
  SideState After(double t) const { return At(1, t); }
  double chi_square() const;
  int dof() const;
  int frames_before() const { return frames_[0].size(); }
  int frames_after() const { return frames_[1].size(); }
  double sigma_position() const { return noise_.sd[0]; }
  double sigma_angle() const { return noise_.sd[3]; }

 private:
  // Angle and rate about the axis at t_ref, their covariance for noise of 1, and the residuals.
  struct Swing {
    double t_ref = 0, squares = 0;
    Eigen::Vector2d state = Eigen::Vector2d::Zero();
    Eigen::Matrix2d inverse = Eigen::Matrix2d::Zero();
  };
  struct Swung {
    Eigen::Vector2d state;
    Eigen::Matrix2d by_start;  // by the state at t_ref
  };
  void PrepareAxis();
  double AngularAcceleration(double angle, double* by_angle) const;
  Swung Turned(const Swing& swing, double t) const;
  Swing FitSwing(const Segment& frames) const;
  SideState At(int side, double t) const;

  const PoseRecording& recording_;
  const Body& body_;
  std::optional<FixedAxis> axis_;
  MotionFitOptions options_;
  FlightModel model_;
  NoiseModel noise_;
  bool noise_given_ = false;
  Segment frames_[2];
  Arc arcs_[2];  // free
  // On an axis: attitude and centre of mass (from the point of the axis) at angle 0, angles of all
  // frames.
  Eigen::Matrix3d R_base_ = Eigen::Matrix3d::Identity();
  Eigen::Vector3d arm_base_ = Eigen::Vector3d::Zero();
  std::vector<double> angle_;
  double inertia_ = 0;
  Swing swings_[2];
};

}  // namespace impactlab::reconstruction
