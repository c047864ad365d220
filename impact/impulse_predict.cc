#include "impact/impulse_predict.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "data/error.h"

namespace impactlab {

ImpactDerivatives Differentiate(const PlanarContact& contact, const ImpulseModel& model) {
  constexpr double kStep = 1e-6;
  const ImpulseOutcome outcome = Apply(contact, model);
  ImpactDerivatives d;
  d.status = outcome.status;
  d.J_F << outcome.J_t, 0, outcome.J_n;
  d.v_plus_F << outcome.v_t, 0, outcome.v_n;
  if (outcome.status != SolveStatus::kOk) return d;
  const double speed = std::hypot(contact.v_t, contact.v_n), mass = contact.A_tt + contact.A_nn;
  struct Direction {
    int column;
    double PlanarContact::*of_contact;
    double ImpulseModel::*of_model;
    double scale;
  };
  const std::array<Direction, 7> directions = {{{0, &PlanarContact::v_t, nullptr, speed},
                                                {2, &PlanarContact::v_n, nullptr, speed},
                                                {3, &PlanarContact::A_tt, nullptr, mass},
                                                {5, &PlanarContact::A_tn, nullptr, mass},
                                                {8, &PlanarContact::A_nn, nullptr, mass},
                                                {9, nullptr, &ImpulseModel::e_n, 1},
                                                {10, nullptr, &ImpulseModel::mu, 1}}};
  for (const Direction& along : directions) {
    std::array<Eigen::Vector3d, 2> J = {d.J_F, d.J_F}, v_plus = {d.v_plus_F, d.v_plus_F};
    double length = 0;
    for (const int side : {0, 1}) {
      PlanarContact moved = contact;
      ImpulseModel changed = model;
      const double step = (side == 0 ? -kStep : kStep) * along.scale;
      if (along.of_contact != nullptr) moved.*along.of_contact += step;
      if (along.of_model != nullptr) changed.*along.of_model += step;
      const ImpulseOutcome there = Apply(moved, changed);
      // Beyond a bound of the coefficients, or of the impulse, the other side tells.
      if (there.status != SolveStatus::kOk || there.bound != outcome.bound) continue;
      J[side] << there.J_t, 0, there.J_n;
      v_plus[side] << there.v_t, 0, there.v_n;
      length += std::abs(step);
    }
    if (!(length > 0)) continue;
    d.dJ.col(along.column) = (J[1] - J[0]) / length;
    d.dv_plus.col(along.column) = (v_plus[1] - v_plus[0]) / length;
  }
  return d;
}

std::optional<ImpulsePrediction> Predict(const ImpactEvent& event, const Body& body, ImpulseLaw law, const LawFit& newton) {
  if (newton.law != LawName(RestitutionLaw::kNewton))
    throw ConfigError(fmt::format("{}'s law: found coefficients of '{}', allowed: those of newton", LawName(law), newton.law));
  const std::optional<PlanarContact> contact = PlanarPart(event.contact);
  if (!contact || newton.parameters.size() < 2) return std::nullopt;
  const double mu = newton.parameters[0].value, e = newton.parameters[1].value;
  if (!std::isfinite(mu) || !std::isfinite(e)) return std::nullopt;
  const ImpulseModel model{.law = law, .e_n = e, .mu = mu};
  const ImpactDerivatives d = Differentiate(*contact, model);
  if (d.status != SolveStatus::kOk) return std::nullopt;
  ImpulsePrediction out;
  out.motion = internal::PredictByImpulse(event, body, d, newton);
  out.motion.outcome.J_F = d.J_F;
  out.motion.outcome.v_plus_F = d.v_plus_F;
  out.bound = Apply(*contact, model).bound;
  return out;
}

}  // namespace impactlab
