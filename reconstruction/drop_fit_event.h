#pragma once
// From the fitted state to an event: states in W, contact, judgement.

#include "reconstruction/drop_fit_recording.h"

namespace impactlab::internal {

// Fills fit->event from the state, fit->cov and the residuals, and accepts or rejects it by the
// criteria of the motion fit.
void MakeEvent(const DropRecording& recording, const DropProblem& problem, const DropState& state,
               const DropNormal& normal, const DropFitOptions& options, DropFit* fit);

// The floor pushed the body: the contact point was near it and gained speed away from it, beyond
// doubt.
bool IsPush(const DropRecording& recording, const DropFit& fit);

// Derivative of the lever to the lowest point, in W, by a rotation of W; R is the attitude, n the
// unit normal of the floor.
Eigen::Matrix3d LeverByRotation(const Body& body, const Eigen::Matrix3d& R,
                                const Eigen::Vector3d& n);

}  // namespace impactlab::internal
