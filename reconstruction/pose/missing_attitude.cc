#include "reconstruction/pose/missing_attitude.h"

#include <Eigen/Dense>
#include <cmath>
#include <map>

#include "data/math/rotation.h"

namespace impactlab {

using Eigen::Matrix3d;
using Eigen::Vector3d;

bool AttitudeIsConstant(const PoseRecording& recording) {
  constexpr std::size_t kFewest = 5;
  if (recording.X_WB.size() < kFewest) return false;
  for (const Eigen::Isometry3d& X_WB : recording.X_WB)
    if (X_WB.linear() != recording.X_WB.front().linear()) return false;
  return true;
}

KnownSpin SpinOf(const Vector3d& omega_W, double sd) {
  return {omega_W, sd * sd * Matrix3d::Identity()};
}

void TakeSpinAsUnknown(ImpactEvent& event, const Body& body, const Plane& floor,
                       const Vector3d& gravity_W, const KnownSpin& before) {
  if (event.reason == RejectReason::kBadRecording) return;
  if (body.shape != BodyShape::kBall) {
    event.accepted = false;
    event.reason = RejectReason::kBadRecording;
    event.detail =
        "attitude is the same in every frame: neither spin nor contact point was measured";
    return;
  }
  event.omega_minus = before.omega_W;
  event.omega_plus.setZero();
  for (const int block : {kOmegaMinus, kOmegaPlus}) {
    event.cov.middleRows<3>(block).setZero();
    event.cov.middleCols<3>(block).setZero();
  }
  event.cov.block<3, 3>(kOmegaMinus, kOmegaMinus) = before.cov;
  event.cov.block<3, 3>(kOmegaPlus, kOmegaPlus).diagonal().setConstant(kUnknownSpin * kUnknownSpin);
  if (event.planar) {
    event.omega_minus.x() = event.omega_minus.z() = 0;
    for (const int block : {kOmegaMinus, kOmegaPlus})
      for (const int axis : {0, 2}) {
        event.cov.row(block + axis).setZero();
        event.cov.col(block + axis).setZero();
      }
  }
  UpdateContact(event, body, floor, gravity_W);
}

namespace {

// What an impact adds to the spin of a ball, and its covariance.
KnownSpin SpinChange(const ImpactEvent& event, const Body& body) {
  // A ball's inertia is the same about any axis.
  const Matrix3d turn =
      body.mass / body.inertia_B(1, 1) * CrossMatrix(event.p_WP - event.X_WB.translation());
  Eigen::Matrix<double, 3, kEventDim> by_inputs = Eigen::Matrix<double, 3, kEventDim>::Zero();
  by_inputs.middleCols<3>(kVPlus) = turn;
  by_inputs.middleCols<3>(kVMinus) = -turn;
  return {turn * (event.v_plus - event.v_minus), by_inputs * event.cov * by_inputs.transpose()};
}

bool KnowsNothingBefore(const ImpactEvent& event) {
  constexpr double kAll = 0.999 * kUnknownSpin * kUnknownSpin;
  return SpinIsUnknown(event) && event.cov(kOmegaMinus + 1, kOmegaMinus + 1) > kAll;
}

// Whether the ball flew freely from one impact to the next: a wall, or a bounce that was missed,
// would have changed its velocity, and its spin with it. Air may add a quarter of gravity.
bool FliesBetween(const ImpactEvent& first, const ImpactEvent& next, const Vector3d& gravity_W) {
  constexpr double kAir = 0.25, kSds = 6;
  const double duration = next.t - first.t;
  const Vector3d gained = next.v_minus - first.v_plus;
  const double sd = std::sqrt(next.cov.diagonal().segment<3>(kVMinus).sum() +
                              first.cov.diagonal().segment<3>(kVPlus).sum());
  return duration > 0 &&
         (gained - duration * gravity_W).norm() < kAir * duration * gravity_W.norm() + kSds * sd;
}

}  // namespace

KnownSpin SpinAfter(const ImpactEvent& event, const Body& body, const KnownSpin& before) {
  const KnownSpin change = SpinChange(event, body);
  return {before.omega_W + change.omega_W, before.cov + change.cov};
}

KnownSpin SpinBefore(const ImpactEvent& event, const Body& body, const KnownSpin& after) {
  const KnownSpin change = SpinChange(event, body);
  return {after.omega_W - change.omega_W, after.cov + change.cov};
}

void CarrySpin(std::span<ImpactEvent> events, const Body& body, const Plane& floor,
               const Vector3d& gravity_W, const KnownSpin& release) {
  if (body.shape != BodyShape::kBall) return;
  struct Course {
    const ImpactEvent* last = nullptr;  // impact that the spin is known after; null: none yet
    KnownSpin spin;
  };
  std::map<std::string, Course> courses;
  for (ImpactEvent& event : events) {
    Course& course = courses.try_emplace(event.recording, Course{nullptr, release}).first->second;
    const ImpactEvent* last = course.last;
    const bool follows = last == nullptr ? event.impact == 0
                                         : last->accepted && event.impact == last->impact + 1 &&
                                               FliesBetween(*last, event, gravity_W);
    const KnownSpin before = follows ? course.spin : KnownSpin{};
    course.last = &event;
    if (!event.accepted) continue;
    if (!SpinIsUnknown(event)) {
      course.spin = {event.omega_plus, event.cov.block<3, 3>(kOmegaPlus, kOmegaPlus)};
      continue;
    }
    if (KnowsNothingBefore(event)) TakeSpinAsUnknown(event, body, floor, gravity_W, before);
    course.spin = SpinAfter(event, body,
                            {event.omega_minus, event.cov.block<3, 3>(kOmegaMinus, kOmegaMinus)});
  }
}

}  // namespace impactlab
