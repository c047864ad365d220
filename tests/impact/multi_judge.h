#pragma once
// What random impacts at several contacts come to, by the judge that calls no solver: counts for
// tests and studies.

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "impact/multi/certify.h"
#include "impact/multi/outcome.h"
#include "impact/multi/system.h"

namespace impactlab {

struct Tally {
  int solved = 0, none = 0, invalid = 0, open = 0, wedged = 0;
  int infinite = 0;                    // outcomes with a number that is not finite
  int gained = 0;                      // that gained energy, of laws that may not
  int moved = 0;                       // that had an impulse though nothing approached
  std::map<std::string, int> failed;   // certificates, by check
  std::map<std::string, int> reasons;  // why not ended: the first words
  void operator+=(const Tally& other) {
    solved += other.solved, none += other.none, invalid += other.invalid, open += other.open,
        wedged += other.wedged;
    infinite += other.infinite, gained += other.gained, moved += other.moved;
    for (const auto& [name, n] : other.failed) failed[name] += n;
    for (const auto& [name, n] : other.reasons) reasons[name] += n;
  }
  bool Fine() const { return infinite == 0 && gained == 0 && moved == 0 && failed.empty(); }
};

// Outcomes that did not end still have to be finite and, for energetic laws, poor in energy.
inline void Judge(const ImpactSystem& system, const MultiOutcome& outcome, bool may_gain,
                  Tally& tally, const std::vector<double>& e_star = {1}) {
  if (!outcome.J.allFinite() || !outcome.v_plus.allFinite() || !outcome.u_plus.allFinite()) {
    ++tally.infinite;
    return;
  }
  const double energy = KineticEnergy(system, system.u_minus);
  // Rounding adds up over elastic impacts of hundreds of phases.
  tally.gained +=
      !may_gain && outcome.energy_change >
                       1e-12 * energy * (1 + 0.05 * static_cast<double>(outcome.phases.size()));
  if (outcome.status == SolveStatus::kNoApproach) {
    ++tally.none;
    tally.moved += outcome.J.norm() != 0;
    return;
  }
  if (outcome.status == SolveStatus::kInvalid) {
    ++tally.invalid;
    return;
  }
  if (outcome.status == SolveStatus::kNotConverged) {
    ++(CanSeparate(ReduceToContacts(system)) ? tally.open : tally.wedged);
    ++tally.reasons[outcome.reason.substr(0, outcome.reason.find_first_of(":,0123456789"))];
    return;
  }
  ++tally.solved;
  for (const CertificateCheck& check : CertifySystem(system, outcome, e_star).checks) {
    if (check.ok || (may_gain && check.name == "energy")) continue;
    if (++tally.failed[check.name] <= 3)
      std::printf("%s: %s %g > %g\n", MultiLawName(outcome.law), check.name.c_str(), check.value,
                  check.limit);
  }
}

inline void Report(const std::string& name, const Tally& tally) {
  std::printf("%-30s solved %d, no approach %d, not of this law %d, wedged %d, not ended %d;",
              name.c_str(), tally.solved, tally.none, tally.invalid, tally.wedged, tally.open);
  for (const auto& [check, n] : tally.failed) std::printf(" %s %d", check.c_str(), n);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace impactlab
