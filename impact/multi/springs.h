#pragma once
// Frictionless impact at several contacts with a spring at each, solved in closed form phase by
// phase (Barjau, Batlle and Font-Llagunes 2014).
//
// The configuration is frozen; a spring presses while its point is inside the surface. Between two
// changes of the set of springs that press, the motion is a superposition of modes of M_ind y'' +
// K^ y = 0 in the velocities of s independent contacts, v_n = R_all v_ind, with
//
//   M_ind = (H_ind H_ind')^-1,   K^ = K_ind + R' K_red R   (eqs 4.3, 4.5);
//
// the end of a phase is the first zero of a sum of sines, bracketed with a bound on its second
// derivative, so that none is missed. Impulses are integrals of the same modes, so that they do not
// need the points to be consistent with each other (gaps of a rough floor). No result depends on
// the choice of independent contacts, on the scale of the stiffness, or, with no gaps, on mass and
// length scale.
//
// Dissipation (e < 1, an extension the authors name): two stiffnesses. Loading along k, unloading
// along k / e^2 with the force continuous where the point turns; reloading follows the unloading
// line back to where it left the loading line. Each cycle from contact to separation then gives
// back e^2 of the work that it took, W_r = -e^2 W_c at every contact, and a single contact leaves
// with e times its approach speed. A point that has left finds its surface where it left it (the
// indentation that remains is microscopic) and loads along k again.

#include <vector>

#include "impact/multi/outcome.h"

namespace impactlab {

inline constexpr double kLeastSpringRestitution = 0.01;  // stiffness ratio of 1e4

struct SpringOptions {
  // independent contacts, as many as NormalRank; empty: the best conditioned
  std::vector<int> independent;
  // an impact that takes more is given up (wedged between surfaces it never ends)
  int max_phases = 20000;
};

// Uses stiffness, gap and e (kLeastSpringRestitution to 1) of the contacts; friction must be 0,
// else status kInvalid. Throws ConfigError for a choice of `independent` that is not independent.
// Status kNoApproach when no contact approaches.
MultiOutcome SolveSprings(const ImpactSystem& system, const SpringOptions& options = {});

}  // namespace impactlab
