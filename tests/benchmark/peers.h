#pragma once
// Physics engines that solve the impact of a rod, for peer_benchmark. Each function exists where
// its engine was found.

#include <Eigen/Core>
#include <cmath>
#include <functional>
#include <string>

#include "impact/body/contact.h"

namespace impactlab::test {

// A planar impact in the x-z plane: the end of a rod touches z = 0. The rod turns about y alone;
// its other moments of inertia do not matter.
struct RodImpact {
  // of the rod's axis, from the contact to its centre, over the plane [rad]
  double beta = 0;
  double mass = 1, inertia = 1;     // [kg], about y through the centre [kg m^2]
  double lever_x = 0, lever_z = 0;  // contact point from the centre [m]
  double v_x = 1, v_z = -1;         // of the contact point before [m/s]; the rod does not turn then
  double mu = 0.4, e = 0.4;

  // Velocity of the contact point, from that of the centre and the angular velocity about y.
  Eigen::Vector2d AtContact(double centre_x, double centre_z, double omega_y) const {
    return {centre_x + omega_y * lever_z, centre_z - omega_y * lever_x};
  }
};

// An engine with the impact set up in it.
struct Peer {
  std::string name, law;    // law: of restitution, in words
  RestitutionLaw compared;  // what the engine's restitution stands for
  // from the state before; velocity of the contact point after it, along x and z [m/s]
  std::function<Eigen::Vector2d()> impact;
};

Peer OdePeer(const RodImpact& impact);
Peer BulletPeer(const RodImpact& impact);
enum class SimbodySolver { kPlus, kGaussSeidel };
Peer SimbodyPeer(const RodImpact& impact, SimbodySolver solver);
Peer MujocoPeer(const RodImpact& impact);

}  // namespace impactlab::test
