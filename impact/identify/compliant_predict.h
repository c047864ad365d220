#pragma once
// The motion after an impact by a compliant contact, with its uncertainty, beside that of the rigid
// laws on the same data.
//
// The contact is frozen at the configuration of the first touch, as rigid laws see it; then its
// stiffness does not count, and one number is left besides friction: the damping. It is set so that
// a contact without friction whose normal direction is not coupled to the other has the restitution
// of the energetic fit at a reference speed. Hunt and Crossley's contact loses more at higher
// speed, the spring-dashpot the same share at any; both differ from the energetic law where slip
// stops or turns around (impact/law/compliant.h). Derivatives are central differences within one
// course of slip and stick.

#include <optional>

#include "impact/identify/identify.h"
#include "impact/law/compliant.h"

namespace impactlab {

// The contacts that a validation sets beside the energetic law on request.
inline constexpr CompliantLaw kValidatedCompliantLaws[] = {CompliantLaw::kHuntCrossley,
                                                           CompliantLaw::kSpringDashpot};

// The body of unit inertia whose contact, frozen, is this one.
CompliantImpact FrozenImpact(const PlanarContact& contact, double mu_k, double mu_s);

// The damping of a contact of `law` with stiffness 1 that has the restitution e in (0, 1] at
// `speed`, for a body of effective mass 1 / A_nn. ConfigError for a law without damping of its own.
CompliantModel CompliantWith(CompliantLaw law, double e, double A_nn, double speed);

// d J_F by the columns of ImpactDerivatives, those of mu_s 0; J_F and v_plus_F filled. The case is
// that of the course.
ImpactDerivatives Differentiate(const PlanarContact& contact, CompliantLaw law, double e, double mu,
                                double reference_speed);

struct CompliantPrediction {
  Prediction motion;  // as Predict of the laws with a path; no path in its outcome but its case
  Prediction bare;    // the same without the scatter between impacts
};

// `energetic`: a fit of the energetic law, its covariance and its scatter. Empty where the contact
// moves out of its plane, the coefficients are not known, e* is below 0.01 (no damping gives it) or
// the contact does not come to an end. ConfigError for the fit of another law.
std::optional<CompliantPrediction> Predict(const ImpactEvent& event, const Body& body,
                                           CompliantLaw law, const LawFit& energetic,
                                           double reference_speed);

}  // namespace impactlab
