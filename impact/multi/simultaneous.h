#pragma once
// Impact at several contacts at once as linear complementarity problems.
//
// Newton (Moreau's form): one problem for the whole impact, at every contact
//   0 <= J_n  perpendicular to  v_n+ + e min(v_n-, 0) >= 0.
// Poisson (Glocker & Pfeiffer 1995): compression, 0 <= J_n,c perpendicular to v_n,c >= 0, then
// restitution, J_n,r >= e J_n,c perpendicular to v_n,r >= 0. In both, friction lies in the cone of
// mu_k and opposes the slip that is left at the end of the phase: these laws jump over what happens
// within it, so slip that stops or turns on the way is not seen, and they may gain energy (the
// certificate says so). In a plane the cone is exact; in space it is a pyramid of `kFrictionFacets`
// edges inscribed in it. Redundant contacts: velocities are found, the impulses are one of many (a
// vertex of the set).

#include "impact/multi/outcome.h"

namespace impactlab {

inline constexpr int kFrictionFacets = 16;

// `law`: kSimultaneousNewton or kSimultaneousPoisson (else ConfigError). Uses e and mu_k of the
// contacts.
MultiOutcome SolveSimultaneous(const ImpactSystem& system, MultiLaw law);

namespace impact {

// Lemke's method with lexicographic pivots: z >= 0, w = M z + q >= 0, z'w = 0 for M and q of the
// order of 1 (to 1e-10). False when it ends on a ray or takes more than `max_pivots`.
bool SolveLcp(const Eigen::MatrixXd& M, const Eigen::VectorXd& q, Eigen::VectorXd& z,
              int max_pivots = 5000);

}  // namespace impact
}  // namespace impactlab
