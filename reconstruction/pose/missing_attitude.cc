#include "reconstruction/pose/missing_attitude.h"

namespace impactlab {

bool AttitudeIsConstant(const PoseRecording& recording) {
  constexpr std::size_t kFewest = 5;
  if (recording.X_WB.size() < kFewest) return false;
  for (const Eigen::Isometry3d& X_WB : recording.X_WB)
    if (X_WB.linear() != recording.X_WB.front().linear()) return false;
  return true;
}

void TakeSpinAsUnknown(ImpactEvent& event, const Body& body, const Plane& floor,
                       const Eigen::Vector3d& gravity_W, const SpinPrior& prior) {
  if (event.reason == RejectReason::kBadRecording) return;
  if (body.shape != BodyShape::kBall) {
    event.accepted = false;
    event.reason = RejectReason::kBadRecording;
    event.detail =
        "attitude is the same in every frame: neither spin nor contact point was measured";
    return;
  }
  event.omega_minus.setZero();
  event.omega_plus.setZero();
  for (const int block : {kOmegaMinus, kOmegaPlus}) {
    event.cov.middleRows<3>(block).setZero();
    event.cov.middleCols<3>(block).setZero();
    const double sd = block == kOmegaMinus ? prior.sd_minus : prior.sd_plus;
    for (int axis = 0; axis < 3; ++axis)
      if (!event.planar || axis == 1) event.cov(block + axis, block + axis) = sd * sd;
  }
  UpdateContact(event, body, floor, gravity_W);
}

bool SpinIsUnknown(const ImpactEvent& event) {
  constexpr double kUnknown = 10;  // [rad/s]
  if (!event.omega_plus.isZero(0)) return false;
  const Eigen::Vector3d variance = event.cov.diagonal().segment<3>(kOmegaPlus);
  return (event.planar ? variance.y() : variance.minCoeff()) > kUnknown * kUnknown;
}

}  // namespace impactlab
