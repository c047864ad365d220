#pragma once
// What the laws say of a row of a printed table, with the spread that rounding of its inputs gives.

#include "pipelines/literature/audit.h"

namespace impactlab {

// From the printed motion before the impact and the printed coefficients; sd and cases from draws
// of all rounded inputs. Empty where a coefficient is missing or the contact does not approach.
std::vector<RowPrediction> PredictRow(const Body& body, const PrintedRow& row,
                                      const Placement& placement);

// sqrt(T(a - b) / T(b)): prediction error in the norm of the kinetic energy.
double EnergyNormError(const Body& body, const Eigen::Matrix3d& R_WB, const MotionVector& a,
                       const MotionVector& b);

}  // namespace impactlab
