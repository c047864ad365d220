#pragma once
// The projection with its derivatives, without checks of the camera: the inner loop of the bundle
// adjustment.

#include <Eigen/Core>

#include "calibration/camera/camera.h"

namespace impactlab::calibration {

using IntrinsicDerivative = Eigen::Matrix<double, 2, kMaxIntrinsics, Eigen::RowMajor>;

// `intrinsics` has IntrinsicCount(model) entries. The derivatives may be null; columns a model
// lacks are left alone. False (and nothing written) where the projection has no value: z not above
// 0 for brown and rational, the centre of projection itself, a pole of the rational factor.
bool ProjectLens(LensModel model, const double* intrinsics, const Eigen::Vector3d& p_CM,
                 Eigen::Vector2d* q, Eigen::Matrix<double, 2, 3, Eigen::RowMajor>* dq_dp,
                 IntrinsicDerivative* dq_dintrinsics);

}  // namespace impactlab::calibration
