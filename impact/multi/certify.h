#pragma once
// An independent judge of impacts at several contacts. It never calls a solver and never uses the
// contact space the solvers work in: velocities are carried from phase to phase by the equations of
// motion with joints, works by quadrature, springs by a Taylor series of their own, slip that turns
// by an integration of its own in the impulse.

#include "impact/law/certify.h"
#include "impact/multi/outcome.h"

namespace impactlab {

// Checks by name:
// "status" (usable and finite), "momentum" (M du = G' J + reactions of joints that hold, phase by
// phase), "unilateral" (no phase pulls), "cone" (friction inside the cone: mu_k while slipping,
// mu_s while sticking), "opposes" (friction against slip at both ends of a phase, at its end for
// the simultaneous laws; no slip of a sticking contact), "separation" (nothing approaches
// afterwards), "complementarity" (open contacts carry nothing; springs: open contacts stay outside,
// pressed ones inside), "work" (works of the contacts add up to the change of kinetic energy),
// "energy" (not gained; Newton's and Poisson's laws with friction or different coefficients may
// gain, which is reported here and is no fault of the solver), "stick" (global law: contacts leave
// rest only where mu_s cannot hold all that are at rest), "division" (global law: normal impulses
// divide by the shares and relations the outcome names), "restitution" (the law's own definition),
// "springs" (the motion of each phase integrated again), "single" (sequence: each single impact has
// its own certificate). `law` and `e_star` say what was asked of a sequence and of the global law
// (one value for each event, the last for all that follow); other laws do not look at them.
Certificate CertifySystem(const ImpactSystem& system, const MultiOutcome& outcome,
                          const std::vector<double>& e_star = {1},
                          RestitutionLaw law = RestitutionLaw::kEnergetic);

}  // namespace impactlab
