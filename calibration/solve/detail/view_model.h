#pragma once
// Residuals of one view of a bundle and their derivatives. Private to the room.

#include <string>
#include <vector>

#include "calibration/solve/bundle.h"

namespace impactlab::calibration {

// Residuals of the active points of a view and their derivatives. The view outlives it.
class ViewModel {
 public:
  ViewModel(LensModel model, const BundleView& view, bool first_camera);

  int points() const { return static_cast<int>(active_.size()); }

  // Residuals over their standard deviation `sigma` * sd. Any of the derivative arrays may be null;
  // rows are the residuals, row-major. `camera` is not read for the first camera.
  void Evaluate(const double* intrinsics, const double* camera, const double* board,
                const double* warp, double sigma, double* residuals, double* d_intrinsics,
                double* d_camera, double* d_board, double* d_warp) const;

 private:
  LensModel model_;
  const BundleView& view_;
  bool first_camera_;
  std::vector<int> active_;
};

// Place of a parameter among IntrinsicNames of the model.
int IntrinsicIndex(LensModel model, const std::string& name);

}  // namespace impactlab::calibration
