#pragma once
// Private to the certificate: friction along the path of the global law, judged from the ends of
// its phases.

#include "impact/multi/outcome.h"

namespace impactlab::impact {

// Largest faults. Straight phases are held against Coulomb's law at both ends; a phase in which
// slip turns is integrated again, in the impulse parameter itself and by another method than the
// solver's.
struct FrictionFaults {
  // friction that is not mu_k J_n against slip, slip of a contact that sticks, end velocities that
  // do not follow
  double opposes = 0;
  // contacts that leave rest although mu_s could hold all contacts at rest: the share of mu_s that
  // was left
  double stick = 0;
  // normal impulses that are not those of shares and relations, by the largest impulse
  double division = 0;
  double work = 0;  // works that are not the integrals of impulse and velocity [J]
};

// A: contact-space inverse mass [1/kg]; speed [m/s] and impulse [N s] are the scales of the impact.
FrictionFaults CheckFriction(const ImpactSystem& system, const MultiOutcome& outcome,
                             const Eigen::MatrixXd& A, double speed, double impulse);

}  // namespace impactlab::impact
