#pragma once
// Recordings that follow a place of the body and not its attitude: the spin is not in them.
//
// A ball's contact point lies below its centre whatever its attitude, so that velocities alone
// still give the impulse: e from its normal part, and |J_t| / J_n, which is mu where the contact
// slides all through and less where it sticks. The spin counts as not known, 0 with the standard
// deviations of a prior before and after, as for a rod's spin about its own axis. Of any other body
// the contact point is not known either: nothing can be said.

#include <span>
#include <string>
#include <vector>

#include "impact/body/event.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab {

// Whether a recording of five poses or more has one attitude to the last bit: what is written where
// none was measured. Poses that were measured have noise.
bool AttitudeIsConstant(const PoseRecording& recording);

// Standard deviation of the spin where none was measured [rad/s].
struct SpinPrior {
  double sd_minus = 1, sd_plus = 30;
};

// Takes the spin of an event as not known (see above). Of bodies other than balls the event is
// refused with the reason.
void TakeSpinAsUnknown(ImpactEvent& event, const Body& body, const Plane& floor,
                       const Eigen::Vector3d& gravity_W, const SpinPrior& prior);

// An event whose spin after the impact is 0 exactly and not known to 10 rad/s was not seen to spin.
bool SpinIsUnknown(const ImpactEvent& event);

}  // namespace impactlab
