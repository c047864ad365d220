#pragma once
// An independent judge of an impact outcome. It never calls a solver: every check is made from the
// path an outcome carries, with quadrature of its own.

#include <string>
#include <vector>

#include "impact/law/solve.h"

namespace impactlab {

// One check: ok when value <= limit.
struct CertificateCheck {
  std::string name;
  double value = 0;
  double limit = 0;
  bool ok = false;
};

// Checks by name: "momentum" (v+ = v- + A J at every point), "cone" (|J_t| increments inside the
// cone), "opposes" (friction opposes slip), "separation" (v_n+ >= 0), "compression" (v_n = 0 at its
// end), "unilateral" (J_n never falls), "work" (work of the path by quadrature = work reported =
// kinetic energy change of the contact), "restitution" (the law's own definition), "energy"
// (kinetic energy not gained; Newton's law may gain where slip stops or reverses, which is reported
// here and is not a fault of the solver; Poisson's law cannot in a plane - proof in the README -
// and never did in space), "stick" (friction while sticking inside the static cone, slip from rest
// only where that cone cannot hold), "path" (start, one end of compression, end), "case" (the digit
// is that of the path), "recovery" (with tangential restitution: v_t+ = -s v_t- after a path that
// ends sticking, s = e_t or as much of it as the cone, the separation and the work of friction
// allow). An outcome that is not usable or not finite has the one check "status". Turning slip is
// judged from `ImpactOutcome::dense`; an outcome without it fails there.
struct Certificate {
  bool ok = false;  // all checks hold
  std::vector<CertificateCheck> checks;
  // names of the checks that do not hold; empty when all do
  std::string Failed(const std::string& separator = ", ") const;
};

Certificate Certify(const ContactState& contact, const ImpactModel& model,
                    const ImpactOutcome& outcome);

}  // namespace impactlab
