#pragma once
// Errors of a fitted drop against the one that was drawn.

#include <Eigen/Dense>
#include <cmath>
#include <vector>

#include "reconstruction/bundle/impact_bundle.h"
#include "tests/reconstruction/drop_scene.h"

namespace impactlab::test {

// Of the 19 states of the fit, in their order. The roll of a rod is a convention: the truth is
// rolled to that of the fit.
inline Eigen::VectorXd StateError(const ImpactBundle& fit, const Drop& drop) {
  Matrix3d R = drop.minus.R;
  const Matrix3d R_fit = fit.event.X_WB.linear();
  if (!fit.observable) {
    const Matrix3d M = R.transpose() * R_fit;
    R = R * Turned({0, 0, std::atan2(M(1, 0) - M(0, 1), M(0, 0) + M(1, 1))});
  }
  const Eigen::AngleAxisd turn(R.transpose() * R_fit);
  Eigen::VectorXd error(kDropDim);
  error.segment<3>(kDropPose) = fit.event.X_WB.translation() - drop.minus.p;
  error.segment<3>(kDropPose + 3) = turn.angle() * turn.axis();
  error.segment<3>(kDropMinus) = fit.event.v_minus - drop.minus.v;
  error.segment<3>(kDropMinus + 3) =
      R_fit.transpose() * fit.event.omega_minus - R.transpose() * drop.minus.omega;
  error.segment<3>(kDropPlus) = fit.event.v_plus - drop.plus.v;
  error.segment<3>(kDropPlus + 3) =
      R_fit.transpose() * fit.event.omega_plus - R.transpose() * drop.plus.omega;
  error[kDropTime] = fit.event.t - drop.t;
  return error;
}

// States that the images tell: all but roll and spin about the axis of a rod.
inline std::vector<int> ToldStates(Thing thing) {
  std::vector<int> states;
  for (int i = 0; i < kDropDim; ++i) {
    const bool roll = i == kDropPose + 5 || i == kDropMinus + 5 || i == kDropPlus + 5;
    if (thing != Thing::kRod || !roll) states.push_back(i);
  }
  return states;
}

}  // namespace impactlab::test
