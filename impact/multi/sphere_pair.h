#pragma once
// Two spheres that move, and how the frame of their contact turns with the line of their centres.

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "impact/multi/system_builders.h"

namespace impactlab::impact {

struct SphereMotion {
  Eigen::Vector3d centre;  // [m]
  Eigen::Vector3d v;       // of the centre [m/s]
  Eigen::Vector3d a;       // acceleration of the centre less what comes from du/dt [m/s^2]
  Eigen::Vector3d omega;   // of the body the sphere belongs to [rad/s]
  double radius = 0;       // [m]
};

struct SphereContact {
  double gap = 0;        // [m]
  Eigen::Matrix3d R_WF;  // F_z = n out of `other` into `body`
  Eigen::Vector3d bias_F;
};

// n' = (relative velocity of the centres across n) / distance turns F. With V the relative velocity
// of the contact points, d/dt (f . V) = f . dV/dt + f' . V, where n' . V counts for f = n and f' =
// -(f . n') n for a tangent f of a contact that does not slide.
inline SphereContact ContactOfSpheres(const SphereMotion& body, const SphereMotion& other,
                                      bool planar) {
  const Eigen::Vector3d line = body.centre - other.centre, rate = body.v - other.v;
  const double distance = line.norm();
  const Eigen::Vector3d n = line / distance, turn = (rate - n.dot(rate) * n) / distance;
  const Eigen::Vector3d spins = body.radius * body.omega + other.radius * other.omega;
  const Eigen::Vector3d V = rate - spins.cross(n), bias = body.a - other.a - spins.cross(turn);
  SphereContact contact;
  contact.gap = distance - body.radius - other.radius;
  contact.R_WF = FrameAt(Eigen::Vector3d::Zero(), n, planar).linear();
  contact.bias_F = contact.R_WF.transpose() * (bias - n.dot(V) * turn);
  contact.bias_F.z() = n.dot(bias) + turn.dot(V);
  return contact;
}

}  // namespace impactlab::impact
