#pragma once
// Derivatives of a planar law that has no closed ones, by central differences within one course.

#include <array>
#include <cmath>

#include "impact/body/planar_contact.h"
#include "impact/law/solve.h"

namespace impactlab::impact {

// What a planar law makes of a contact and its two coefficients. Outcomes of one course are joined
// by a smooth function.
template <class Course>
struct PlanarLawOutcome {
  SolveStatus status = SolveStatus::kOk;
  double J_t = 0, J_n = 0, v_t = 0, v_n = 0;
  Course course{};
};

// By [v_t, v_n, A_tt, A_tn, A_nn | e | mu], in the columns of ImpactDerivatives; those of mu_s stay
// 0. `apply(contact, e, mu)` gives a PlanarLawOutcome. Steps are `step` of the size of each input.
// Where one side of an input takes another course, or is out of range, the other side tells; where
// both are, the derivative is 0.
template <class Apply>
ImpactDerivatives CentralDifferences(const PlanarContact& contact, double e, double mu, double step,
                                     const Apply& apply) {
  const auto outcome = apply(contact, e, mu);
  ImpactDerivatives d;
  d.status = outcome.status;
  d.J_F << outcome.J_t, 0, outcome.J_n;
  d.v_plus_F << outcome.v_t, 0, outcome.v_n;
  if (outcome.status != SolveStatus::kOk) return d;
  const double speed = std::hypot(contact.v_t, contact.v_n), mass = contact.A_tt + contact.A_nn;
  struct Direction {
    int column;
    double PlanarContact::*of_contact;
    double scale, by_e, by_mu;
  };
  const std::array<Direction, 7> directions = {{{0, &PlanarContact::v_t, speed, 0, 0},
                                                {2, &PlanarContact::v_n, speed, 0, 0},
                                                {3, &PlanarContact::A_tt, mass, 0, 0},
                                                {5, &PlanarContact::A_tn, mass, 0, 0},
                                                {8, &PlanarContact::A_nn, mass, 0, 0},
                                                {9, nullptr, 1, 1, 0},
                                                {10, nullptr, 1, 0, 1}}};
  for (const Direction& along : directions) {
    std::array<Eigen::Vector3d, 2> J = {d.J_F, d.J_F}, v_plus = {d.v_plus_F, d.v_plus_F};
    double length = 0;
    for (const int side : {0, 1}) {
      PlanarContact moved = contact;
      const double by = (side == 0 ? -step : step) * along.scale;
      if (along.of_contact != nullptr) moved.*along.of_contact += by;
      const auto there = apply(moved, e + along.by_e * by, mu + along.by_mu * by);
      if (there.status != SolveStatus::kOk || there.course != outcome.course) continue;
      J[side] << there.J_t, 0, there.J_n;
      v_plus[side] << there.v_t, 0, there.v_n;
      length += std::abs(by);
    }
    if (!(length > 0)) continue;
    d.dJ.col(along.column) = (J[1] - J[0]) / length;
    d.dv_plus.col(along.column) = (v_plus[1] - v_plus[0]) / length;
  }
  return d;
}

}  // namespace impactlab::impact
