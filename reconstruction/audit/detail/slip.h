#pragma once
// Slip and impulse at the contact point of an event, with their standard deviations.

#include <Eigen/Core>

#include "impact/body/body.h"
#include "impact/body/event.h"

namespace impactlab::reconstruction {

// standard deviations at which a slip or an impulse has a sense
inline constexpr double kClearSlip = 2;

// Lever of the contact point in W, for a floor of the given unit normal [m].
Eigen::Vector3d LeverW(const ImpactEvent& event, const Body& body, const Eigen::Vector3d& normal);

// Square root of the trace of a covariance.
double LargestSd(const Eigen::Matrix3d& cov);

struct Slip {
  Eigen::Vector3d minus, plus;  // tangential velocity of the contact point, in W
  double sd_minus = 0, sd_plus = 0;
  Eigen::Vector3d dv_t;  // tangential impulse per mass
  double dv_n = 0, sd_dv_t = 0, sd_dv_n = 0;
};

Slip MeasureSlip(const ImpactEvent& event, const Body& body, const Eigen::Vector3d& normal);

// Cosine between friction and the reverse of the slip at the start; NaN where either is not clear.
double InitialOpposition(const Slip& slip);

}  // namespace impactlab::reconstruction
