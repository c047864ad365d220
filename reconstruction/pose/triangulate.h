#pragma once
// A marker from its images in all cameras, with what can go wrong between them named and a wrong
// image rejected as an outlier.
//
// The optimum itself - least reprojection error with the covariance of every pixel, and of the rig
// - is Triangulate of calibration/camera/triangulate.h. Here several views are made to agree first:
// of three or more the largest set that one point explains is used, and where two sets of that size
// would do equally well the point is refused rather than guessed.

#include <Eigen/Core>
#include <string>
#include <vector>

#include "calibration/camera/rig.h"
#include "calibration/camera/triangulate.h"

namespace impactlab {

enum class PlaceFault {
  kNone,
  kTooFewViews,        // fewer than two cameras with a usable image
  kNoBaseline,         // the cameras are at one place
  kParallelRays,       // the rays cannot be distinguished from parallel ones: the point may be at
                       // infinity
  kBehindCamera,       // the rays meet behind a camera, or where its lens is not known
  kDepthUndetermined,  // a depth, but a poor one
  kNotOnePoint  // the images are not of one point, and their majority does not decide which is
                // wrong
};

struct PlaceOptions {
  double max_relative_sd = 0.3;  // of the depth; above it the point is refused
  double min_baseline = 1e-3;    // cameras nearer to each other than this are at one place [m]
  // images less likely than this to be of one point are not; 0: never refused and nothing rejected
  // as an outlier
  double misfit_probability = 1e-4;
  // count the rig's errors, in the covariance and in the judgement
  bool rig_covariance = true;
  bool derivatives = false;  // fill dp_drig
};

// How one observation fared.
struct PlacedView {
  bool used = false;
  // why not: outside the lens, not a number, rejected as an outlier
  std::string reason;
  // projection of the point less image [px]; zero where there is none
  Eigen::Vector2d r = Eigen::Vector2d::Zero();
  // of the image from the projection, in its standard deviations (pixels alone)
  double distance = 0;
};

struct PlacedPoint {
  bool usable = false;
  PlaceFault fault = PlaceFault::kNone;
  std::string reason;  // the fault in words
  // p_W, cov, cov_pixels, chi_square, consistency, dof, dp_drig of the views used
  TriangulatedPoint point;
  std::vector<PlacedView> views;  // as many as observations, in their order
  double baseline = 0;            // largest distance between two cameras used [m]
  double angle = 0;               // largest between two rays used [rad], at most pi / 2
};

// ConfigError for a camera the rig has not, a camera twice, a covariance of the rig of another
// size, options without meaning.
PlacedPoint PlacePoint(const CameraRig& rig, const std::vector<PixelObservation>& observations,
                       const PlaceOptions& options = {});

}  // namespace impactlab
