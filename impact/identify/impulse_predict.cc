#include "impact/identify/impulse_predict.h"

#include <fmt/format.h>

#include <cmath>

#include "data/base/error.h"
#include "impact/law/planar_differences.h"

namespace impactlab {

ImpactDerivatives Differentiate(const PlanarContact& contact, const ImpulseModel& model) {
  constexpr double kStep = 1e-6;
  return impact::CentralDifferences(
      contact, model.e, model.mu_k, kStep, [&](const PlanarContact& c, double e, double mu) {
        ImpulseModel changed = model;
        changed.e = e;
        changed.mu_k = mu;
        const ImpulseOutcome outcome = ApplyImpulseLaw(c, changed);
        return impact::PlanarLawOutcome<std::string>{outcome.status, outcome.J_t, outcome.J_n,
                                                     outcome.v_t,    outcome.v_n, outcome.bound};
      });
}

std::optional<ImpulsePrediction> Predict(const ImpactEvent& event, const Body& body, ImpulseLaw law,
                                         const LawFit& newton) {
  if (newton.law != LawName(kImpulseRestitution))
    throw ConfigError(fmt::format("{}'s law: found coefficients of '{}', allowed: those of {}",
                                  LawName(law), newton.law, LawName(kImpulseRestitution)));
  const std::optional<PlanarContact> contact = PlanarPart(event.contact);
  if (!contact || !newton.fitted()) return std::nullopt;
  const double mu = newton.mu_k.value, e = newton.e.value;
  if (!std::isfinite(mu) || !std::isfinite(e)) return std::nullopt;
  ImpulseModel model{{.e = e, .mu_k = mu}, law};
  if (InfoOf(law).tangential && newton.e_t && std::isfinite(newton.e_t->value))
    model.e_t = newton.e_t->value;
  const ImpactDerivatives d = Differentiate(*contact, model);
  if (d.status != SolveStatus::kOk) return std::nullopt;
  ImpulsePrediction out;
  out.motion = impact::PredictByImpulse(event, body, d, newton);
  out.motion.outcome.J_F = d.J_F;
  out.motion.outcome.v_plus_F = d.v_plus_F;
  out.bound = ApplyImpulseLaw(*contact, model).bound;
  return out;
}

}  // namespace impactlab
