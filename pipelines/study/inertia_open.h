#pragma once
// Coefficients of a body whose declared inertia angular momentum contradicts, while nothing decides
// whether it, the lengths or the clock are off.

#include <vector>

#include "data/files/fit_result.h"
#include "impact/identify/identify.h"
#include "reconstruction/audit/audit.h"

namespace impactlab {

/// Inertia that momentum finds, over the one declared, where they differ beyond chance and no
/// second source names the cause; 1 otherwise.
double UndecidedInertia(const AuditResult& audit);

/// Widens intervals and standard deviations of the identified coefficients by what an inertia of
/// `ratio` times the one declared changes of their values, to either side, since a wrong length or
/// clock would change them otherwise; the reason says so. `fit` is of these events and this body,
/// on this floor, by these options; impacts on the floor alone, not on a second body.
void WidenByInertia(const std::vector<ImpactEvent>& events, const Body& body, const Plane& floor,
                    const Eigen::Vector3d& gravity_W, double ratio, const IdentifyOptions& options,
                    FitResult* fit);

}  // namespace impactlab
