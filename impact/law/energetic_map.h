#pragma once
// The planar energetic law in closed form: ten regions of (v_t, v_n), three maps (the Bristol
// thesis, section 3.2, eqs 3.43-3.52 with erratum 3, impact/REFERENCES.md).
//
// `Solve` walks the same path and keeps it; this gives the velocities after the impact alone, for
// scans of many states. Its regions are the thesis': odd numbers slip to the right before the
// impact (v_t > 0), even ones to the left or not at all.
//   1, 2   map I    slip lasts
//   3, 4   map II   slip stops in restitution, then the contact sticks;
//                   7, 8 then it slips the other way
//   5, 6   map III  slip stops in compression, then the contact sticks;
//                   9, 10 then it slips the other way
// With tau = -v_t / k_t the normal impulse at which slip stops and w = v_n + k_n tau the normal
// velocity there, map III reads
//   v_n+ = e sqrt(w^2 - k_n' tau (2 v_n + k_n tau)),  v_t+ = (k_t' / k_n') (v_n+ - w),
//   ' after slip has stopped,
// which divides by no k_n and so passes smoothly through k_n = 0 into slip that presses the bodies
// together (Painleve).

#include <cstddef>
#include <span>

#include "impact/body/planar_contact.h"
#include "impact/law/solve.h"

namespace impactlab {

struct EnergeticMapResult {
  // 1 to 10; 0 where the contact does not approach and nothing presses it together
  int region = 0;
  double v_t = 0, v_n = 0;  // after the impact [m/s]
  // Case digit of `Solve`; a contact at rest before (v_t = 0) has 5 or 6.
  int Digit(bool from_rest) const;
};

// e in [0, 1], mu_s >= mu_k >= 0, A positive definite; nothing is checked here (`Solve` does).
EnergeticMapResult EnergeticMap(const PlanarContact& contact, double e, double mu_k, double mu_s);
// One result for each contact; `out` must be as long as `contacts`.
void EnergeticMap(std::span<const PlanarContact> contacts, double e, double mu_k, double mu_s,
                  std::span<EnergeticMapResult> out);

// Coefficients of friction at which the course of a planar impact changes. Infinite where no
// coefficient does it. Source: Sun 2017, section 2.4; the bounds hold for Newton's, Poisson's
// and the energetic law alike, which agree as long as slip lasts.
struct CriticalFriction {
  // slip lasts through the whole impact up to this mu_k; below 0: it stops even without friction
  // (2.33)
  double slide = 0;
  double slide_compression = 0;  // slip lasts through compression up to this mu_k
  // |A_tn| / A_tt: once slip has stopped the contact sticks from this mu_s on
  double hold = 0;
  // above this mu_k slip in the present direction presses the bodies together (Painleve)
  double press = 0;
  // (2.35) as printed: v_t+ = 0 with friction that opposes the reversed slip from the beginning.
  // Equals -slide; the true bound between reversed slip and sticking is `hold`.
  double reverse_printed = 0;
};
CriticalFriction FindCriticalFriction(const PlanarContact& contact, double e);

}  // namespace impactlab
