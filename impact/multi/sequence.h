#pragma once
// Impact at several contacts as a sequence of impacts at one contact each, every one solved exactly
// by `Solve` with the others left alone; and the set of outcomes such laws allow.
//
// Sequential laws (Rodriguez 2014, chapter 2; Barjau et al. 2014, introduction) take any
// redundancy, friction in plane and space and each single-contact law, and with the energetic law
// never gain energy. Their outcome depends on the order of the contacts. Where it does, the answer
// of rigid-body mechanics is not unique, and the set is the answer.

#include <vector>

#include "impact/multi/outcome.h"

namespace impactlab {

struct SequenceOptions {
  RestitutionLaw law = RestitutionLaw::kEnergetic;
  // priority: the first contact of this list that approaches is struck next; empty: the one that
  // approaches fastest
  std::vector<int> order;
  int max_impacts = 20000;  // a sequence that takes more is given up
  // approach slower than this, relative to the fastest the impact's energy allows, is over:
  // sequences may converge without end
  double at_rest = 1e-13;
  bool keep_paths = true;  // keep the path of each single impact for the judge
};

// Uses mu_k, mu_s and e of the contacts. Status kInvalid when a contact alone is no impact problem
// (its A_F is singular: joints tie its tangent to its normal). Throws ConfigError for an order that
// names a contact twice or not at all.
MultiOutcome SolveSequence(const ImpactSystem& system, const SequenceOptions& options = {});

struct OutcomeSet {
  std::vector<MultiOutcome> outcomes;  // different ones, by v_plus within `same` of the speed
  int tried = 0;                       // sequences or stiffness ratios tried
  bool complete = true;                // false: more orders exist than were tried
};

// Every choice of the next contact at every step, as a tree, until `max_tried` sequences have
// ended.
OutcomeSet SequenceOutcomes(const ImpactSystem& system, const SequenceOptions& options = {},
                            int max_tried = 1000, double same = 1e-9);

// Springs (impact/multi/springs.h) whose stiffness is multiplied by each of `ratios` at each
// contact, all combinations.
OutcomeSet SpringOutcomes(const ImpactSystem& system, const std::vector<double>& ratios,
                          int max_tried = 1000, double same = 1e-9);

}  // namespace impactlab
