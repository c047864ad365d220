#pragma once
// Recordings that follow a place of the body and not its attitude: the spin is not in them.
//
// A ball's contact point lies below its centre whatever its attitude, so that velocities alone
// still give the impulse: e from its normal part, and |J_t| / J_n, which is mu where the contact
// slides all through and less where it sticks. Nothing turns a ball in flight, and an impact
// changes its spin by the moment of the impulse, I (omega+ - omega-) = r x m (v+ - v-), under any
// law: the spin before an impact is that of the release and the changes at the impacts before it.
// Where it is not known, impacts bound mu from below alone (SpinIsOpen). Of any other body the
// contact point is not known either: nothing can be said.

#include <Eigen/Core>
#include <span>
#include <string>
#include <vector>

#include "impact/body/event.h"
#include "impact/body/unknown_spin.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab {

// Whether a recording of five poses or more has one attitude to the last bit: what is written where
// none was measured. Poses that were measured have noise.
bool AttitudeIsConstant(const PoseRecording& recording);

// What is known of the spin of a ball, in W; at first nothing.
struct KnownSpin {
  Eigen::Vector3d omega_W = Eigen::Vector3d::Zero();                                // [rad/s]
  Eigen::Matrix3d cov = kUnknownSpin * kUnknownSpin * Eigen::Matrix3d::Identity();  // [(rad/s)^2]
};
// The same standard deviation in every direction [rad/s].
KnownSpin SpinOf(const Eigen::Vector3d& omega_W, double sd);

// Gives an event the spin `before` the impact and takes the one after as not known, 0 with the
// standard deviation kUnknownSpin. Of bodies other than balls the event is refused with the reason.
void TakeSpinAsUnknown(ImpactEvent& event, const Body& body, const Plane& floor,
                       const Eigen::Vector3d& gravity_W, const KnownSpin& before);

// The spin of a ball on the other side of an impact, by the moment of the measured impulse.
KnownSpin SpinAfter(const ImpactEvent& event, const Body& body, const KnownSpin& before);
KnownSpin SpinBefore(const ImpactEvent& event, const Body& body, const KnownSpin& after);

// Carries the spin of a ball from impact to impact. Where nothing is known of the spin before an
// impact, that of the release stands before the first of a recording, and what the impacts before
// it made of it before every other one. Nothing is known after an impact that was not accepted or
// is missing, nor where the flight between two was not free. Impacts of a recording are in the
// order of time; events of bodies other than balls stay as they are.
void CarrySpin(std::span<ImpactEvent> events, const Body& body, const Plane& floor,
               const Eigen::Vector3d& gravity_W, const KnownSpin& release);

}  // namespace impactlab
