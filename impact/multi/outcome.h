#pragma once
// What every law for impacts at several contacts returns: the outcome and the path that led to it,
// phase by phase, for the judge (impact/multi/certify.h).

#include <Eigen/Core>
#include <array>
#include <string>
#include <vector>

#include "data/base/enum_rows.h"
#include "impact/law/solve.h"
#include "impact/multi/system.h"

namespace impactlab {

enum class MultiLaw {
  // a spring at each contact, phases of modes (impact/multi/springs.h, Barjau et al. 2014)
  kSprings,
  // one contact after the other, each by the exact single-contact law (impact/multi/sequence.h)
  kSequence,
  // all contacts at once, v_n+ = -e v_n- as a complementarity problem (impact/multi/simultaneous.h)
  kSimultaneousNewton,
  kSimultaneousPoisson,  // the same in two phases, J_n,r >= e J_n,c
  // all contacts on one path with a single energetic coefficient (impact/multi/global.h, Rodriguez
  // 2014)
  kGlobalEnergetic
};

struct MultiLawInfo {
  MultiLaw law;
  const char* word;  // in files
  const char* rule;  // what contacts do by it; of a sequence its law of restitution says that
  bool simulated;    // needs no stiffness, so that motions may use it
};

inline constexpr auto kMultiLaws = std::to_array<MultiLawInfo>(
    {{.law = MultiLaw::kSprings,
      .word = "springs",
      .rule = "each contact gives back e^2 of the work that pressed it",
      .simulated = false},
     {.law = MultiLaw::kSequence,
      .word = "sequence",
      .rule = "each single impact",
      .simulated = true},
     {.law = MultiLaw::kSimultaneousNewton,
      .word = "simultaneous_newton",
      .rule = "every contact that stays pressed ends with -e times its normal velocity",
      .simulated = true},
     {.law = MultiLaw::kSimultaneousPoisson,
      .word = "simultaneous_poisson",
      .rule = "every contact gives back at least e times its impulse of compression",
      .simulated = true},
     {.law = MultiLaw::kGlobalEnergetic,
      .word = "global_energetic",
      .rule = "an event gives back e_star^2 of the normal work of all contacts together",
      .simulated = true}});
static_assert(EveryValueHasItsRow<&MultiLawInfo::law>(kMultiLaws));

constexpr const MultiLawInfo& InfoOf(MultiLaw law) { return RowOf(kMultiLaws, law); }
// Name used in files.
constexpr const char* MultiLawName(MultiLaw law) { return InfoOf(law).word; }

enum class PointMode {
  kOpen,  // no impulse
  kSlip,
  kStick
};

// A part of the path in which every contact keeps its mode. Vectors are stacked as in ContactSpace,
// or hold one entry for each contact.
struct MultiPhase {
  // number of the impact event the phase belongs to (sequence: of the single impact)
  int event = 0;
  std::vector<PointMode> mode;
  Eigen::VectorXd v_begin, v_end;  // stacked contact velocities [m/s]
  Eigen::VectorXd dJ;              // stacked impulses of the phase [N s]
  // by contact: work of the normal impulse and of friction in the phase [J]
  Eigen::VectorXd work_n, work_t;

  // Springs only; empty otherwise. A contact presses with stiffness * (reference - delta);
  // stiffness 0: not pressed.
  double duration = 0;                     // [s]
  Eigen::VectorXd stiffness, reference;    // [N/m], [m]
  Eigen::VectorXd delta_begin, delta_end;  // distance from the surface [m], negative inside

  // Sequence only: the contact that was struck and the path of its impact.
  int struck = -1;
  ImpactOutcome single;
};

struct MultiOutcome {
  MultiLaw law = MultiLaw::kSprings;
  // kNotConverged: the impact did not end within the phases allowed; values are those reached
  SolveStatus status = SolveStatus::kOk;
  std::string reason;              // why status is not kOk, empty otherwise
  Eigen::VectorXd u_plus;          // generalised velocities after
  Eigen::VectorXd v_plus;          // stacked contact velocities after [m/s]
  Eigen::VectorXd J;               // stacked impulses [N s]
  Eigen::VectorXd work_n, work_t;  // by contact [J]
  double energy_change = 0;        // kinetic energy after less before [J]
  // impact events: 1 but for global energetic (Rodriguez 2014, section 1.6) and sequences (single
  // impacts)
  int events = 0;
  std::vector<MultiPhase> phases;
  // Global energetic only: normal work at the end of compression by event [J], and what divided the
  // normal impulses of an event.
  std::vector<double> work_c;
  Eigen::VectorXd share;
  Eigen::MatrixXd closure;

  bool usable() const { return status == SolveStatus::kOk || status == SolveStatus::kNoApproach; }
};

namespace impact {

// An outcome with nothing done yet, vectors sized.
MultiOutcome StartOutcome(MultiLaw law, const ImpactSystem& system, const ContactSpace& space);
// Sums impulses and works of the phases; velocities and energy follow from the impulses.
void FinishOutcome(const ImpactSystem& system, const ContactSpace& space, MultiOutcome& outcome);
// True when no contact approaches faster than `tolerance`.
bool NoneApproaches(const ContactSpace& space, const Eigen::VectorXd& v, double tolerance);
// Largest speed a contact could reach with the energy of the impact [m/s]: the scale that rounding
// is measured by.
double SpeedScale(const ContactSpace& space);

}  // namespace impact
}  // namespace impactlab
