#pragma once
// Simultaneous impact with friction on one path, ended by a single energetic coefficient
// (Rodriguez 2014, chapters 3 to 8; errata by the numbers of impact/REFERENCES.md).
//
// All touching contacts share one independent variable P, the normal impulse of the first of them.
// Rigid bodies do not say how the normal impulses divide among contacts that depend on each other;
// a closure must: either shares, dJ_n in given proportions, or linear relations c . (dJ_t1,
// |dJ_n1|, dJ_t2, ...) = 0, Rodriguez's "rigid-body constraints" for impulses. These are a rule
// of selection and no law of mechanics (errata E1, E6): a relation that asks a
// contact to pull ends in an error here.
//
// While every contact keeps its mode and no slip turns, velocities are linear in P and work is
// quadratic: these pieces are exact, and a plane has no others. Slip that turns is integrated
// (impact/multi/detail/turning.h). When a contact stops slipping it sticks if mu_s can hold it
// under the impulses of all others, else it slips the way that leaves rest; contacts that stop
// together are decided together (impact/multi/rest_friction.h). Rodriguez's direction of slip
// from rest, eq. 7.21, is that of the friction that would hold the contact (erratum E4) and is not
// used.
//
// The event ends when the normal work W is back to (1 - e_star^2) W_c, W_c its minimum; a negative
// e_star ends it in compression at that value. Then contacts that still approach (by 1e-11 of the
// speed) begin the next event, together with those that rest.
//
// kPhysical: W is the work of the normal impulses; every event acts on the whole system; events go
// on until nothing approaches. Energy is never gained. kThesis, in a plane only, for the thesis
// prints no numbers in space: W is the state function of eq. 4.7, W_c that of the last segment's
// curve, and contacts that have separated keep their velocities through later events: what the
// tables of the thesis were computed with (errata E2, E3). Its outcome breaks momentum after a
// second event, and its e_star is not that of the work; the certificate says so.

#include <vector>

#include "impact/multi/outcome.h"

namespace impactlab {

enum class GlobalMode { kPhysical, kThesis };

struct GlobalOptions {
  std::vector<double> e_star = {
      // [-1, 1] for each event; the last one holds for all that follow (a negative one then ends
      // never: kNotConverged)
      0.5};
  GlobalMode mode = GlobalMode::kPhysical;
  // > 0 for each contact: proportions of dJ_n where `closure` leaves them open; empty: all equal
  Eigen::VectorXd share;
  // relations over stacked impulses with |dJ_n|; 0 rows: shares alone. Relations with a contact
  // that has no part in an event are left out
  Eigen::MatrixXd closure;
  int max_events = 2000;
};

// Uses mu_k, mu_s of the contacts, not their e. Throws ConfigError for options out of range. Status
// kInvalid: kThesis in space. Status kNotConverged with the reason when compression cannot end
// (jam), a closure asks for a pull or does not settle with the modes of contacts at rest, or
// max_events is reached.
MultiOutcome SolveGlobal(const ImpactSystem& system, const GlobalOptions& options = {});

// Relations for the systems of Rodriguez 2014: disc in a corner (eq. 3.21), two contacts of a block
// on one plane (eq. B.11), balls of a chain (eq. B.33).
Eigen::MatrixXd CornerClosure();
Eigen::MatrixXd BlockClosure();
Eigen::MatrixXd ChainClosure(int n_contacts);

}  // namespace impactlab
