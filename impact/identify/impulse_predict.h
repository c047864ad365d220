#pragma once
// The motion after an impact by Brach's, Whittaker's or Smith's law, with its uncertainty, beside
// that of the laws with a path.
//
// These laws are not fitted: they read Newton's e_n and a friction mu, so that the coefficients of
// a fit of Newton's law are theirs. They are closed forms of the contact but for Smith's root;
// their derivatives, which carry the covariance, are central differences within the bound that
// holds at the event. Where that bound changes within the uncertainty the covariance is of one side
// only.

#include <optional>

#include "impact/identify/identify.h"
#include "impact/law/impulse_law.h"

namespace impactlab {

// d J_F by the columns of ImpactDerivatives, those of mu_s 0; J_F and v_plus_F filled.
ImpactDerivatives Differentiate(const PlanarContact& contact, const ImpulseModel& model);

struct ImpulsePrediction {
  Prediction motion;  // as Predict of the laws with a path; no path in its outcome
  std::string bound;  // as ImpulseOutcome
};

// `newton`: a fit of Newton's law, its covariance and its scatter. Empty where the contact moves
// out of its plane, the coefficients are not known or the law gives no outcome. ConfigError for the
// fit of another law.
std::optional<ImpulsePrediction> Predict(const ImpactEvent& event, const Body& body, ImpulseLaw law,
                                         const LawFit& newton);

namespace impact {
// The plus state that an impulse makes of an event, with its covariance by the derivatives of the
// impulse; the outcome is left empty.
Prediction PredictByImpulse(const ImpactEvent& event, const Body& body,
                            const ImpactDerivatives& derivatives, const LawFit& fit);
}  // namespace impact

}  // namespace impactlab
