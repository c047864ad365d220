#pragma once
// Mechanisms of the literature: bouncing ball, rod on a vibrating floor, pendulum on a belt (the
// Bristol thesis); cradle, bodies in a corner, rocking blocks (Rodriguez 2014).
//
// Where bodies are free, a mechanism is one of MakeBodyMechanism (impact/motion/mechanism_bodies.h)
// with the ground at z = 0. The pendulum and the cradle have their angles as coordinates, so that
// no joint can drift.

#include <Eigen/Core>
#include <optional>
#include <vector>

#include "impact/motion/mechanism_bodies.h"

namespace impactlab {

inline constexpr double kStandardGravity = 9.80665;  // [m/s^2]

struct StartedMechanism {
  Mechanism mechanism;
  MechanismState start;  // t = 0
};

// Disc of 1 kg that falls on the ground from `height` [m] below its lowest point, without turning.
BodyMechanism MakeBouncingBall(double e, double height, double gravity = kStandardGravity,
                               double radius = 0.1);

// Uniform slender rod whose ends meet a floor at z = amplitude sin(frequency t + phase):
// the Bristol thesis, chapter 5. Contact 0 is the end at +x of the rod (the thesis' P2), contact
// 1 the other (P1).
struct RodOnFloor {
  double length = 2;     // [m]
  double mass = 1;       // [kg]
  double amplitude = 1;  // [m]
  double frequency = 3;  // [rad/s]
  double phase = 0;      // [rad]
  double mu = 0.05;      // static and kinetic
  double e = 0.9;
  double gravity = 9.81;                              // [m/s^2]
  Eigen::Vector3d pose = Eigen::Vector3d(0, 3, 0.3);  // x [m], z [m], theta [rad]
  Eigen::Vector3d rates = Eigen::Vector3d::Zero();    // v_x, v_z [m/s], theta_dot [rad/s]
};
BodyMechanism MakeRodOnFloor(const RodOnFloor& rod);

// Two massless rods with point masses at their ends, hung from the ground, whose tip meets a wall
// or a belt: the Bristol thesis, section 6.2 with errata 7 and 8 (impact/REFERENCES.md). Angles
// from the downward vertical, the tip is at x = l1 sin theta + l2 sin phi and the wall at x =
// -wall, normal +x. The tangent is the thesis': up along the wall.
struct BeltPendulum {
  double l1 = 1, l2 = 1;      // [m]
  double m1 = 0.5, m2 = 0.5;  // [kg]
  double theta = 0, phi = 0;  // [rad]
  double theta_dot = 0, phi_dot = 0;
  double torque = 0;      // on the first rod, positive with theta [N m]
  double belt = 0;        // velocity of the belt along the tangent [m/s]
  double gravity = 9.81;  // [m/s^2]
  // d of the thesis [m]; without it the tip touches the wall at the start
  std::optional<double> wall;
  ContactProperties properties;
};
StartedMechanism MakeBeltPendulum(const BeltPendulum& pendulum);

// Torque and normal force [N m, N] that hold the pendulum at rest when the contact presses with
// (friction_ratio, 1) times the force: the Bristol thesis, eqs 6.29 and 6.30. Friction of a belt
// that runs with belt < 0 has friction_ratio = -mu.
struct HoldingForces {
  double torque, normal;
};
HoldingForces HoldPendulum(const BeltPendulum& pendulum, double friction_ratio);

// Newton's cradle: solid balls fixed to strings of `length` [m] from pivot to centre, `spaces` [m]
// between neighbours that hang at rest. Angles from the downward vertical, positive towards higher
// numbers; contact k between ball k and ball k + 1.
struct Cradle {
  std::vector<double> masses;  // [kg]
  double length = 0.1;         // [m]
  double radius = 0.01;        // [m]
  std::vector<double> spaces;  // one less than balls; empty: the balls touch
  std::vector<double> angles;  // [rad]
  std::vector<double> rates;   // [rad/s]; empty: at rest
  double gravity = kStandardGravity;
  ContactProperties properties;
};
StartedMechanism MakeCradleMechanism(const Cradle& cradle);

// Disc before a floor at z = 0 and a wall at x = 0, on its +x side: Rodriguez 2014, section 6.1.
// gaps: to floor and wall.
BodyMechanism MakeDiscInCornerMechanism(double radius, double mass, const Eigen::Vector2d& gaps,
                                        const Eigen::Vector2d& v, double theta_dot,
                                        const ContactProperties& properties,
                                        double gravity = kStandardGravity);

// Solid sphere before the floor z = 0 and walls x = 0 and y = 0 on its + sides: Rodriguez 2014,
// section 8.1. gaps: to floor, wall x, wall y.
BodyMechanism MakeSphereInCornerMechanism(double radius, double mass, const Eigen::Vector3d& gaps,
                                          const Eigen::Vector3d& v_W,
                                          const Eigen::Vector3d& omega_W,
                                          const ContactProperties& properties,
                                          double gravity = kStandardGravity);

// Block that stands on its lower edge at -x, lifted by `tilt` > 0 [rad] at +x, at rest:
// Rodriguez 2014, sections 6.2 and 8.2. In the plane size is (width, 0, height), in space (length,
// width, height).
BodyMechanism MakeRockingBlockMechanism(const Eigen::Vector3d& size, double mass, double tilt,
                                        bool planar, const ContactProperties& properties,
                                        double gravity = kStandardGravity);

}  // namespace impactlab
