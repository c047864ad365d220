#pragma once
// Least squares behind CheckFlights: every flight's state and everything that was declared, each
// parameter with its prior.

#include <Eigen/Dense>
#include <vector>

#include "reconstruction/bundle/detail/problem.h"
#include "reconstruction/bundle/flight_check.h"

namespace impactlab::reconstruction {

// Parameters in order: 12 a flight (position, body-side rotation, velocity, spin in B, at its
// middle), 3 a flight (angular acceleration in W), then gravity (3, along its axes), scale, rate of
// all clocks, relative focal length of all cameras; then offset, row time, rate, relative focal
// length and shift of the centre (2) of every camera; three a marker; the rig's errors along its
// principal axes, in standard deviations.
struct FlightPlaces {
  int flights = 0, cameras = 0, markers = 0, rig = 0;
  int State(int flight) const { return 12 * flight; }
  int Torque(int flight) const { return 12 * flights + 3 * flight; }
  int Gravity() const { return 15 * flights; }
  int Scale() const { return Gravity() + 3; }
  int Clock() const { return Gravity() + 4; }
  int Lens() const { return Gravity() + 5; }
  int Camera(int c) const { return Gravity() + 6 + 6 * c; }
  int Marker(int m) const { return Camera(cameras) + 3 * m; }
  int Rig() const { return Marker(markers); }
  int Size() const { return Rig() + rig; }
};

struct FlightProblem {
  const CameraRig* rig = nullptr;
  std::vector<int> camera_of_clock;  // in the rig
  std::vector<DropProblem> flights;  // points of each
  std::vector<DropState> start;      // of each, both sides alike, tau its middle
  Eigen::MatrixXd rig_axes;          // rig parameters by standard deviations along principal axes
  Eigen::Vector3d gravity_W = Eigen::Vector3d::Zero();
  // columns along which it may be wrong; the last is its own direction
  Eigen::Matrix3d gravity_axes = Eigen::Matrix3d::Identity();
  std::vector<KnownDistance> distances;
  FlightPlaces places;
};

struct FlightSolution {
  bool converged = false;
  Eigen::VectorXd x;
  double chi_square = 0;        // points and priors
  Eigen::MatrixXd information;  // of the points alone, all parameters
  Eigen::VectorXd gradient;     // of half the chi-square of the points
  int points = 0;
};

// `prior_sd` of every parameter about 0; 0: held, infinity: free. Levenberg-Marquardt from `x`.
FlightSolution SolveFlights(const FlightProblem& problem, const Eigen::VectorXd& prior_sd,
                            const Eigen::VectorXd& x);

// Distance of every point from its image in standard deviations, flight by flight.
std::vector<std::vector<double>> FlightDistances(const FlightProblem& problem,
                                                 const Eigen::VectorXd& x);

// One Gauss-Newton step from a solution with other priors, its covariance and by how much it lowers
// chi-square.
struct FlightStep {
  Eigen::VectorXd x;
  Eigen::MatrixXd cov;  // 0 where held
  double gain = 0;
};
FlightStep StepFlights(const FlightSolution& at, const Eigen::VectorXd& prior_at,
                       const Eigen::VectorXd& prior_sd);

}  // namespace impactlab::reconstruction
