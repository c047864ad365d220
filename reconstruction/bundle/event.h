#pragma once
// From the fitted state to an event: states in W, contact, judgement.

#include "reconstruction/bundle/detail/recording.h"

namespace impactlab::reconstruction {

// Fills fit->event from the state, fit->cov and the residuals, and accepts or rejects it by the
// criteria of the motion fit.
void MakeEvent(const DropRecording& recording, const DropProblem& problem, const DropState& state,
               const DropNormal& normal, const ImpactBundleOptions& options, ImpactBundle* fit);

// The floor pushed the body: the contact point was near it and gained speed away from it, beyond
// doubt.
bool IsPush(const DropRecording& recording, const ImpactBundle& fit);

}  // namespace impactlab::reconstruction
