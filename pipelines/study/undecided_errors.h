#pragma once
// Coefficients of data that contradict what was declared of them, while nothing decides which of
// several errors they have: intervals hold what every one of them would give.

#include <vector>

#include "data/files/fit_result.h"
#include "impact/identify/identify.h"
#include "reconstruction/audit/audit.h"

namespace impactlab {

/// Inertia that momentum finds, over the one declared, where they differ beyond chance and no
/// second source names the cause; 1 otherwise.
double UndecidedInertia(const AuditResult& audit);

/// Errors of lengths and of the clock, each of which alone explains how fast bodies fall, where the
/// audit finds a fall that is not that of gravity and no second source names the cause. Empty
/// otherwise.
std::vector<FrameCorrection> UndecidedScale(const AuditResult& audit);

/// Widens intervals and standard deviations of the identified coefficients by what an inertia of
/// `ratio` times the one declared changes of their values, to either side, since a wrong length or
/// clock would change them otherwise; the reason says so. `fit` is of these events and this body,
/// on this floor, by these options; impacts on the floor alone, not on a second body.
void WidenByInertia(const std::vector<ImpactEvent>& events, const Body& body, const Plane& floor,
                    const Eigen::Vector3d& gravity_W, double ratio, const IdentifyOptions& options,
                    FitResult* fit);

/// Widens them to what they would be after each of the corrections, with the width that they have;
/// the rest as above.
void WidenByScale(const std::vector<ImpactEvent>& events, const Body& body, const Plane& floor,
                  const Eigen::Vector3d& gravity_W, const std::vector<FrameCorrection>& causes,
                  const IdentifyOptions& options, FitResult* fit);

}  // namespace impactlab
