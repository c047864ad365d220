#pragma once
// Impact systems made from bodies, joints and contacts, and those of Rodriguez 2014, Shen
// and Townsend 1998, and Barjau et al. 2014.
//
// Generalised velocities of `MakeBodySystem` are those of its bodies in order: (v_x, v_z,
// theta_dot) in planar motion, (v_WB, omega_WB) in space.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <vector>

#include "impact/body/body.h"
#include "impact/multi/system.h"

namespace impactlab {

inline constexpr int kGround = -1;

struct SystemBody {
  Body body;
  Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
  Eigen::Vector3d v_WB = Eigen::Vector3d::Zero();      // [m/s]
  Eigen::Vector3d omega_WB = Eigen::Vector3d::Zero();  // [rad/s]; planar: (0, -theta_dot, 0)
};

// A joint that makes the points of two bodies at p_W coincide: a pin in planar motion, a ball joint
// in space. With an axis it is a hinge in space.
struct SystemJoint {
  int body = 0, other = kGround;
  Eigen::Vector3d p_W = Eigen::Vector3d::Zero();
  Eigen::Vector3d axis_W = Eigen::Vector3d::Zero();  // zero: free to turn about any axis
};

// Contact of `body` against `other` at the origin of F; F_z points out of `other` into `body`.
struct SystemContact {
  ContactProperties properties;
  int body = 0, other = kGround;
  Eigen::Isometry3d X_WF = Eigen::Isometry3d::Identity();
};

// All bodies planar or none (planar motion in the x-z plane of W). Throws ConfigError for an index
// that names no body, a contact of a body with itself, or initial velocities that break a joint.
ImpactSystem MakeBodySystem(const std::vector<SystemBody>& bodies,
                            const std::vector<SystemJoint>& joints,
                            const std::vector<SystemContact>& contacts);

// Contact frame at p_W with the given normal: planar F_x = W_y x n, in space F_x is W_x projected
// on the plane (W_y where that vanishes).
Eigen::Isometry3d FrameAt(const Eigen::Vector3d& p_W, const Eigen::Vector3d& normal_W, bool planar);

// Free body that meets one plane at several of its points (given in B), all with the same
// properties. The rod of Barjau et al. 2014 and rocking blocks.
ImpactSystem MakeFreeBody(const SystemBody& body, const std::vector<Eigen::Vector3d>& points_B,
                          const Eigen::Vector3d& normal_W, const ContactProperties& properties);

// n uniform slender rods in a planar chain hung from the ground at the origin of W; angles from the
// downward vertical, counter-clockwise with x right and z up. The free end of the last rod strikes
// the floor. Two rods: the double pendulum of Shen and Townsend 1998, example 1.
ImpactSystem MakeChain(const std::vector<double>& lengths, const std::vector<double>& masses,
                       const std::vector<double>& angles, const std::vector<double>& rates,
                       const ContactProperties& properties);

// Balls on a line, free to move along it: contact k between ball k and ball k + 1. Velocities
// positive towards higher numbers.
ImpactSystem MakeBallChain(const std::vector<double>& masses, const std::vector<double>& velocities,
                           const std::vector<ContactProperties>& contacts);

// Newton's cradle of Rodriguez 2014, section 6.3: solid spheres rigid on their strings, generalised
// velocities are the rates of the strings [rad/s], inertia about the pivot m (length^2 + 0.4
// radius^2), length to the centre of the ball.
ImpactSystem MakeCradle(const std::vector<double>& masses, double length, double radius,
                        const std::vector<double>& rates,
                        const std::vector<ContactProperties>& contacts);

// Planar disc that meets floor (contact 0) and the wall on its +x side (contact 1, F_x up) at once:
// Rodriguez 2014, section 6.1.
ImpactSystem MakeDiscInCorner(double radius, double mass, double v_x, double v_z, double theta_dot,
                              const ContactProperties& properties);

// Solid sphere that meets the floor and the walls on its +x and +y sides: Rodriguez 2014,
// section 8.1.
ImpactSystem MakeSphereInCorner(double radius, double mass, const Eigen::Vector3d& v_W,
                                const Eigen::Vector3d& omega_W,
                                const ContactProperties& properties);

}  // namespace impactlab
