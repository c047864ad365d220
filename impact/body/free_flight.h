#pragma once
// Free flight of a rigid body: ballistic centre, optional quadratic drag, torque-free rotation
// (Euler's equations on SO(3), not constant omega).

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "impact/body/body.h"

namespace impactlab {

struct BodyState {
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  Eigen::Vector3d v_WB = Eigen::Vector3d::Zero();      // of the centre of mass, in W [m/s]
  Eigen::Vector3d omega_WB = Eigen::Vector3d::Zero();  // in W [rad/s]
};

struct FlightOptions {
  Eigen::Vector3d gravity_W = Eigen::Vector3d(0, 0, -9.80665);  // [m/s^2]
  double drag_per_m = 0;  // k in dv/dt = g - k |v| v [1/m]; = rho c_d area / (2 m)
};

// State a time dt (either sign) away, to a relative accuracy of 1e-12 over a flight of a second.
BodyState Propagate(const BodyState& state, const Body& body, const FlightOptions& options,
                    double dt);

}  // namespace impactlab
