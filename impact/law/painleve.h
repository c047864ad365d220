#pragma once
// Painleve's paradox of one planar contact that slips: does a finite contact force solve the
// motion, and which impact follows where none does.
//
// While the contact slips in the direction s with normal force N, the normal acceleration is a_n =
// free_n + k_n N with k_n = A_nn - s mu A_tn: contact needs N >= 0, a_n >= 0 and N a_n = 0.
//   k_n > 0  regular: one solution, contact (free_n < 0) or separation
//   k_n < 0  free_n < 0: inconsistent, no force at all; an impact without collision (v_n = 0)
//            stops the slip at once
//            free_n > 0: indeterminate, separation and contact both solve it, and so does that
//            impact
// The impact without collision is the energetic law at v_n = 0 (`Solve`, `EnergeticMap` regions 5
// and 6): slip stops, the contact sticks, and v_n+ = e |v_t| |k_n / k_t| sqrt(1 + k_stick / |k_n|).
// A contact at rest never meets the paradox: it holds for mu >= |A_tn| / A_tt, and below that bound
// k_n > 0 in the direction it slips. Source: the Bristol thesis, sections 2.2 and 6; see
// FindCriticalFriction(...).press for mu.

#include "impact/body/planar_contact.h"

namespace impactlab {

enum class ContactRegime {
  kContact,        // one solution, contact goes on
  kSeparation,     // one solution, the contact opens
  kInconsistent,   // no finite force solves it
  kIndeterminate,  // separation, contact and an impact all solve it
  kMoving          // v_n != 0 (an ordinary impact, or apart already): the question does not arise
};
const char* RegimeName(ContactRegime regime);

// `free_normal_acceleration` [m/s^2]: of the contact point with no force acting there; v_n of the
// contact counts as 0 below 1e-12 of |v_t|.
ContactRegime ClassifyContact(const PlanarContact& contact, double mu,
                              double free_normal_acceleration);

// Lean of a rod's end and mu beyond which a rod (or any body with gyration radius k about the
// centre at lever length L) can jam. The rod at the angle theta from the floor: mu = (k^2 + L^2
// cos^2) / (L^2 sin cos); its least value over theta is where tan^2 = 1 + L^2 / k^2.
double RodCriticalFriction(double theta, double gyration_over_lever);
struct LeastCriticalFriction {
  double theta = 0;  // [rad] above the floor
  double mu = 0;
};
LeastCriticalFriction LeastRodCriticalFriction(double gyration_over_lever);

}  // namespace impactlab
