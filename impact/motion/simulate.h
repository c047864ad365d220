#pragma once
// Motion of a mechanism through flight, contact and impacts: a hybrid system.
//
// Between events every contact keeps its mode - open, slipping, sticking - and the equations of
// motion with these contacts closed are integrated by a Runge-Kutta method of order 8
// (Boost.Odeint), each step no longer than the gaps take to turn. Events are roots within a step: a
// gap that closes (isolated in the Bernstein form of its quintic, so that a graze is not stepped
// over), a normal force that ends, a slip that stops, friction that no longer holds. At an impact
// the laws of this room act at once on all contacts that touch; then forces and modes of the
// contacts that last are decided anew (impact/motion/detail/contact_forces.h). Positions and
// velocities of closed contacts are kept on their constraint.
//
// Chatter: impacts slower than `least_rebound` are perfectly inelastic, and the time at which the
// infinitely many that they stand for would have ended is reported (geometric series: 2 e v / (a (1
// - e)) after the first). Painleve: where a slipping contact finds no finite force, the impact law
// acts on it at v_n = 0 (impact without collision). Sources: the Bristol thesis, chapters 4 to 6
// with the errata listed in impact/REFERENCES.md; Rodriguez 2014, section 2.4.

#include <Eigen/Core>
#include <functional>
#include <string>
#include <vector>

#include "impact/motion/mechanism.h"
#include "impact/multi/outcome.h"

namespace impactlab {

enum class SimulationEventKind {
  kImpact,
  kImpactWithoutCollision,  // Painleve: v_n = 0 before
  kContact,                 // an impact too slow to rebound: the contact closes
  kRelease,                 // a closed contact opens
  kStick,
  kSlip,  // begins to slip, or slips the other way
  kRest   // nothing moves any more
};
// Name used in files: "impact", "impact_without_collision", "contact", "release", "stick", "slip",
// "rest".
const char* SimulationEventName(SimulationEventKind kind);

struct SimulationEvent {
  SimulationEventKind kind = SimulationEventKind::kImpact;
  double t = 0;               // [s]
  std::vector<int> contacts;  // that take part
  MechanismState before, after;
  // Impacts: stacked over `contacts`, relative to the surfaces.
  Eigen::VectorXd v_minus, v_plus;  // [m/s]
  Eigen::VectorXd J;                // [N s]
  std::vector<std::string> cases;   // by contact where each was struck alone, else empty
  double energy_change = 0;         // of kinetic energy, in the frame of the surfaces [J]
  // kContact: time at which the impacts it stands for would have ended [s]
  double accumulation = 0;
};

struct SimulateOptions {
  double duration = 10;  // [s]
  RestitutionLaw law = RestitutionLaw::kEnergetic;
  // contacts that touch at once: kSequence (by `law`), kSimultaneousNewton, kSimultaneousPoisson or
  // kGlobalEnergetic (least e of the contacts)
  MultiLaw several = MultiLaw::kSequence;
  // of a step, relative and absolute in the units of q and u
  double tolerance = 1e-11;
  // approach below which nothing rebounds [m/s], at most 0.01
  double least_rebound = 1e-6;
  double sample_step = 0;   // time between samples [s]; 0: none
  double longest_step = 0;  // [s]; 0: what frequencies allow
  long most_events = 10'000'000;
  bool stop_at_rest = true;  // or where it moves on steadily; only a passive mechanism does
};

// A function of the state whose zeros are of interest (Poincare section).
struct Section {
  std::function<double(const MechanismState&)> value;
  int direction = 1;  // 1: rising, -1: falling, 0: both
};

// Called while the motion is integrated; nothing is stored. Functions may be empty.
struct SimulationObserver {
  std::function<void(const MechanismState&, const std::vector<PointMode>& mode,
                     const Eigen::VectorXd& lambda)>
      sample;
  std::function<void(const SimulationEvent&)> event;
  std::vector<Section> sections;
  std::function<bool(int section, const MechanismState&)> crossing;  // true: stop here
  // asked after every step and event; true: stop here
  std::function<bool()> stop;
};

enum class SimulationEnd {
  kDuration,
  kRest,
  kSteady,   // rolls or spins on as it is: no acceleration and no event for a second
  kStopped,  // by the observer
  kGivenUp
};
// Name used in files: "duration", "rest", "steady", "stopped", "given_up".
const char* SimulationEndName(SimulationEnd end);

struct SimulationResult {
  SimulationEnd end = SimulationEnd::kDuration;
  std::string reason;  // of kGivenUp
  MechanismState state;
  std::vector<PointMode> mode;
  long impacts = 0, events = 0, steps = 0;
  // Audit over all steps and events.
  // least gap of any contact at the end of any step [m], 0 or negative
  double deepest = 0;
  // largest gain of energy over a step or an event of a passive mechanism [J]
  double energy_gain = 0;
  double closed_speed = 0;       // largest |v_n| of a closed contact [m/s]
  double last_accumulation = 0;  // [s]; 0: no chatter has ended
};

// Throws ConfigError for a state that does not fit the mechanism, for options out of range and
// where impacts meet surfaces whose motions no shift of velocities can still (FreezeForImpact).
SimulationResult Simulate(const Mechanism& mechanism, const MechanismState& start,
                          const SimulateOptions& options, const SimulationObserver& observer = {});

}  // namespace impactlab
