#pragma once
// Do the flights turn as one rigid body turns?
//
// Nothing turns a body in free flight: in a plane its spin is constant, in space its angular
// momentum is (Euler's equations; a link of a chain is turned by its joint). Errors of length,
// clock, floor and handedness do not change that, and the drag of air, a moment of inertia known to
// some per cent or a drift of the attitude change it a little. A flight therefore speaks against a
// rigid body only where its spin changes both by a large share of itself and beyond noise, and a
// set only where many of its flights do.

#include <span>
#include <string>

#include "impact/body/body.h"
#include "reconstruction/motion/motion_fit.h"

namespace impactlab {

struct RigidityVerdict {
  bool rigid = true;    ///< no evidence against it
  bool tested = false;  ///< enough flights could have shown it
  int n = 0;            ///< flights whose noise would not hide a change that counts
  int against = 0;      ///< of them with such a change
  double share = 0;     ///< median change of the spin over those flights by the spin
  std::string text;     ///< one sentence
};

/// Judges flights that carry a spin with its noise; others are left out. Never throws because of
/// what the data are.
RigidityVerdict JudgeRigidity(std::span<const FlightArc> arcs, const Body& body,
                              const Eigen::Vector3d& gravity_W);

}  // namespace impactlab
