#pragma once
// Mechanisms (impact/motion/mechanism.h) of rigid bodies that fly, touch planes that move and balls
// that touch each other, with joints.
//
// Coordinates of a body are (x, z, theta) in planar motion, with velocities (v_x, v_z, theta_dot),
// and (p_WB, quaternion w x y z of R_WB) in space, with velocities (v_WB, omega_WB): velocities as
// MakeBodySystem orders them, body by body. Every corner, cap, point or smooth surface of a body is
// one contact with every plane it may touch, in the frame FrameAt(p, normal); frames of balls turn
// with their line of centres.
//
// The velocity of a contact is v = v_P - v_surface with P = c - r n, c the centre of the touching
// sphere. Its rate less the part of du/dt is omega x (omega x (c - p)) for a plane whose normal
// stands still: less than that of the material point, because P moves over the body.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <string>
#include <vector>

#include "impact/body/body.h"
#include "impact/body/free_flight.h"
#include "impact/motion/mechanism.h"
#include "impact/multi/system_builders.h"

namespace impactlab {

// A plane n . p = offset + amplitude sin(frequency t + phase) whose points run along it with the
// velocity belt_W.
struct MovingPlane {
  std::string name = "floor";
  Plane plane;
  double amplitude = 0;                              // [m]
  double frequency = 0;                              // [rad/s]
  double phase = 0;                                  // [rad]
  Eigen::Vector3d belt_W = Eigen::Vector3d::Zero();  // [m/s], along the plane
};

struct MovingBody {
  SystemBody start;  // pose and velocity when it is set free
  std::string name;  // empty: the name of its shape, numbered where several bodies have it
  // Drag at the centre of mass, force = -m (linear + quadratic |v|) v, no couple.
  double linear_drag = 0;     // [1/s]
  double quadratic_drag = 0;  // [1/m]; rho c_d area / (2 m)
  // [s]; before, the body stands still at its start and nothing touches it
  double start_t = 0;
};

// A body that may touch a plane, or another body (`plane` < 0).
struct TouchingPair {
  ContactProperties properties;
  int body = 0;
  int plane = -1;
  int other = -1;
};

// What contact i of a mechanism is: feature (number of the corner as Vertices() orders them, 0 for
// smooth shapes) of `body` against a plane or a feature of `other`.
struct ContactOfBodies {
  int body = 0, feature = 0;
  int plane = -1;
  int other = -1, other_feature = 0;
};

struct BodyMechanism {
  Mechanism mechanism;
  MechanismState start;  // t = 0
  std::vector<MovingBody> bodies;
  std::vector<MovingPlane> planes;
  std::vector<ContactOfBodies> contacts;  // as mechanism.contacts

  // Pose and velocities of body k; velocities are 0 before it starts.
  BodyState StateOf(const MechanismState& state, int k) const;
};

// CheckMechanism, and no contact deeper than 1e-9 m. Throws ConfigError.
void CheckStart(const Mechanism& mechanism, const MechanismState& start);

// Pairs that let every body touch every plane with the same properties.
std::vector<TouchingPair> EveryBodyOnEveryPlane(std::size_t bodies, std::size_t planes,
                                                const ContactProperties& properties);

// All bodies planar or none. Joints hold where they are at the start; a body with a joint starts at
// t = 0. Between two bodies only balls and points touch each other, because sides and edges of
// other shapes are not followed. Throws ConfigError for an index that names nothing, a belt that
// leaves its plane, velocities that break a joint, and a contact deeper than 1e-9 m at the start
// (of bodies that start at 0).
BodyMechanism MakeBodyMechanism(const std::vector<MovingBody>& bodies,
                                const std::vector<SystemJoint>& joints,
                                const std::vector<MovingPlane>& planes,
                                const std::vector<TouchingPair>& pairs,
                                const Eigen::Vector3d& gravity_W = Eigen::Vector3d(0, 0, -9.80665));

}  // namespace impactlab
