#pragma once
// Friction and restitution from one impact alone, with first-order standard deviations from
// event.cov.

#include <optional>
#include <string>

#include "impact/body/event.h"

namespace impactlab {

// Figures of one measured impact, free of any law, with first-order standard deviations.
struct MeasuredImpact {
  double speed = 0;  // approach speed of the contact point [m/s]
  // of the line from contact to centre of mass against the normal [rad]; signed in planar motion
  double lean = 0;
  double e = 0, sd_e = 0;          // -v_n+ / v_n-
  double ratio = 0, sd_ratio = 0;  // |J_t| / J_n
};
MeasuredImpact MeasureImpact(const ImpactEvent& event);

// A coefficient by one impact alone; sd of the measurement, the other coefficient and the body
// taken as known.
struct SingleCoefficient {
  std::string recording;
  int impact = 0;
  double value = 0, sd = 0;
};

// Coefficient of restitution with which the law and friction of `model` give the measured normal
// impulse. Beyond 0 and 1 it goes on in a straight line, so that noise about a bound does not pile
// up on it. Empty where the law has no outcome or the impulse does not follow e.
std::optional<SingleCoefficient> RestitutionOf(const ImpactEvent& event, const Body& body,
                                               const ImpactModel& model);

// Friction with which the law and restitution of `model` give the measured ratio of the impulses.
// Empty where the contact does not slide all through by `model`: then the ratio is no measure of
// friction.
std::optional<SingleCoefficient> FrictionOf(const ImpactEvent& event, const Body& body,
                                            const ImpactModel& model);

}  // namespace impactlab
