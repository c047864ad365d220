#pragma once
// Free-flight arcs fitted to the frames on one side of an impact, and two arcs joined at an impact.
//
// An arc is a weighted least-squares fit of free flight: per coordinate a line beyond gravity (and
// drag), in space a torque-free rotation. An optional acceleration of zero mean and given standard
// deviation stands for what free flight leaves out; it widens the covariance where the
// control experiment (FlightArc) says that flight is not free. Two arcs are joined by a common pose
// at the impact time, which the pose gap determines; all are linear maps of the two arcs, so their
// covariance is joint. Coordinates D = 3: x, z, theta (counter-clockwise); D = 6: p_WB, then
// body-side rotation (velocities v_WB and omega in B).

#include <Eigen/Dense>
#include <algorithm>
#include <vector>

#include "impact/body/body.h"
#include "impact/body/free_flight.h"
#include "reconstruction/motion/signals.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab::reconstruction {

// Noise and the sd of accelerations beyond free flight, by signal; spatial angles use entry 3.
struct NoiseModel {
  PerSignal sd{};
  PerSignal acceleration{};
};

// One coordinate: a + b s + c s^2 / 2 about the arc's reference time; c has the prior sd of
// NoiseModel::acceleration (0: c = 0).
struct LineFit {
  Eigen::Vector3d coefficients = Eigen::Vector3d::Zero();
  Eigen::Matrix3d cov = Eigen::Matrix3d::Zero();
};

struct Arc {
  Segment frames;
  double t0 = 0;                   // reference time [s]
  double chi_square = 0;           // of all coordinates, accelerations as noise
  double chi_square_rotation = 0;  // its share of the rotation in space
  int dof = 0;
  std::array<LineFit, 3> line;     // planar x, z, theta; spatial x, y, z
  Eigen::Vector3d drag_p, drag_v;  // planar and spatial: state whose drag was taken off, at t0
  bool has_drag = false;
  Eigen::Matrix3d R0 = Eigen::Matrix3d::Identity();   // spatial
  Eigen::Vector3d omega_B = Eigen::Vector3d::Zero();  // spatial, at t0
  // spatial, beyond torque-free
  Eigen::Vector3d alpha_B = Eigen::Vector3d::Zero();
  // rotation, omega, alpha
  Eigen::Matrix<double, 9, 9> cov_rotation = Eigen::Matrix<double, 9, 9>::Zero();
  bool converged = true;
};

struct FlightModel {
  const PoseRecording* recording = nullptr;
  const Body* body = nullptr;
  FlightOptions flight;
};

Arc FitArc(const FlightModel& model, const Segment& frames, const NoiseModel& noise);

template <int D>
struct ArcState {
  // rotation part unused in space, see R
  Eigen::Matrix<double, D, 1> pose = Eigen::Matrix<double, D, 1>::Zero();
  Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
  Eigen::Matrix<double, D, 1> velocity = Eigen::Matrix<double, D, 1>::Zero();
  Eigen::Matrix<double, D, 1> acceleration = Eigen::Matrix<double, D, 1>::Zero();
  // pose, velocity
  Eigen::Matrix<double, 2 * D, 2 * D> cov = Eigen::Matrix<double, 2 * D, 2 * D>::Zero();
};

template <int D>
ArcState<D> StateAt(const Arc& arc, const FlightModel& model, double t);

// Two arcs joined. Order of `cov`: pose, minus velocity, plus velocity, time.
template <int D>
struct Joint {
  bool converged = false;
  double t = 0, sd_t = 0;
  ArcState<D> minus, plus;  // at the impact, updated by each other; minus holds the common pose
  // of the poses that remains
  Eigen::Matrix<double, D, 1> gap = Eigen::Matrix<double, D, 1>::Zero();
  // of the gap, D - 1 degrees of freedom
  double chi_square = 0;
  Eigen::Matrix<double, 3 * D + 1, 3 * D + 1> cov =
      Eigen::Matrix<double, 3 * D + 1, 3 * D + 1>::Zero();
};

struct JoinOptions {
  double t_min = 0, t_max = 0;               // window of the impact time, on the minus arc's clock
  double delay = 0;                          // plus arc's stamps are early by this [s]
  double jump_position = 0, jump_angle = 0;  // sd of the pose jump that a finite contact makes
};

template <int D>
Joint<D> JoinArcs(const Arc& minus, const Arc& plus, const FlightModel& model,
                  const JoinOptions& options);

// Rotation and angular velocity (in B) of a torque-free body a time dt after attitude 1 and
// omega_B, with derivatives by omega_B.
struct TorqueFree {
  Eigen::Matrix3d Q = Eigen::Matrix3d::Identity();
  Eigen::Vector3d omega_B = Eigen::Vector3d::Zero();
  // body-side rotation at dt by omega_B at 0
  Eigen::Matrix3d dphi_domega = Eigen::Matrix3d::Zero();
  Eigen::Matrix3d domega_domega = Eigen::Matrix3d::Identity();
};
TorqueFree TurnTorqueFree(const Body& body, const TorqueFree& start, double dt);

}  // namespace impactlab::reconstruction
