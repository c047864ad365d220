#pragma once
// Private to the simulator: a mechanism frozen at one instant - impacts, the problem of its contact
// forces, and its constraints.

#include <Eigen/Core>
#include <string>
#include <vector>

#include "impact/motion/detail/contact_field.h"
#include "impact/motion/detail/contact_forces.h"
#include "impact/motion/mechanism.h"
#include "impact/motion/simulate.h"

namespace impactlab::impact {

struct StrikeResult {
  bool struck = false;  // false: nothing approaches, or `reason` says why the law failed
  bool slow = false;    // every approach was below least_rebound: perfectly inelastic
  std::string reason;
  Eigen::VectorXd u_plus, v_minus, v_plus, J;  // stacked over the touching contacts
  std::vector<std::string> cases;
  double energy_change = 0;  // [J]
};

// Impact of the touching contacts that approach faster than `rest_speed`. `jammed` >= 0: impact
// without collision of that contact alone.
StrikeResult Strike(const Mechanism& mechanism, const MechanismState& state,
                    const std::vector<int>& touching, int jammed, const SimulateOptions& options,
                    double rest_speed);

// W, b, v and coefficients of friction of the contacts in `set`; slip is left at zero.
ForceProblem PoseForces(const Mechanism& mechanism, const MechanismState& state,
                        const std::vector<int>& set);
// Forces of the contacts in `set`, for which `problem` was posed, in the modes they have: slip that
// begins keeps its direction, slip slower than `slip_speed` is rest.
ForceSolution ForcesOf(ForceProblem problem, const std::vector<int>& set,
                       const std::vector<Touch>& touches, double slip_speed);

// Brings closed contacts and joints back to their constraints: gaps and joint errors to 0, v_n and,
// where a contact sticks, v_t to 0, by the least change in kinetic energy.
void Project(const Mechanism& mechanism, const std::vector<Touch>& touches, MechanismState& state);

}  // namespace impactlab::impact
