#pragma once
// The position of a marker from a model of its image: an ellipse or stripe of one brightness on a
// background of another, blurred by the lens and smeared by the motion during the exposure,
// integrated over every pixel.
//
//   I(q) = background + slope . (q - c)
//          + amplitude * (shape * Gauss(blur) * line of length |motion| * unit square)(q)
//
// fitted to the grey values by weighted least squares, the weight of a pixel being the inverse of
// its noise variance. Under that noise it reaches the Cramer-Rao bound; its covariance is the
// inverse of the information in the pixels, widened where the model does not fit. The position is
// that of the middle of the exposure, because the line is centred.
//
// What is fitted is the centroid of the marker's image. That it is not the image of the marker's
// centre (perspective) is corrected where the rig is known, from the ellipse given here.

#include <Eigen/Core>
#include <optional>

#include "data/files/image.h"
#include "tracking/spot/spot.h"

namespace impactlab {

enum class MarkerShape {
  kDisc,  // image: an ellipse
  // image: a rectangle, long side along `angle`; along a stripe that runs to both silhouettes its
  // position means nothing precise, and the covariance says so
  kStripe,
};

struct MarkerFitOptions {
  MarkerShape shape = MarkerShape::kDisc;
  double blur = 0.7;                                 // of the lens, standard deviation [px]
  bool fit_blur = false;                             // take `blur` as a start and fit it
  Eigen::Vector2d motion = Eigen::Vector2d::Zero();  // of the image during the exposure [px]
  PixelNoise noise;
  // one radius instead of two axes and an angle: fewer unknowns for small discs
  bool circle = false;
  // The ends of the stripe are marks of their own. Otherwise they are where the body turns out of
  // sight, and the covariance along the stripe is that of anywhere on it.
  bool stripe_ends = false;
  double margin = 3;            // pixels taken around the spot [px]
  std::optional<Window> limit;  // pixels that may be used, e.g. where a neighbour stands close
};

struct MarkerFit {
  Eigen::Vector2d q = Eigen::Vector2d::Zero();    // centroid of the shape [px]
  Eigen::Matrix2d cov = Eigen::Matrix2d::Zero();  // [px^2]
  double major = 0, minor = 0;                    // semi-axes; of a stripe half its sides [px]
  // of the major axis from x towards y, in (-pi/2, pi/2] [rad]
  double angle = 0;
  // of the marker over its background, negative where dark [grey levels]
  double amplitude = 0;
  double background = 0;  // at q [grey levels]
  double blur = 0;        // as fitted or given [px]
  double chi_square = 0;  // of the weighted residuals
  // mean square of the residuals less what options.noise says; negative where that says too much
  // [grey levels^2]
  double unexplained = 0;
  int dof = 0;
  std::uint32_t flags = 0;
};

// Starts at `spot`. Nothing where there is no marker to fit (no contrast, too few pixels, no
// convergence). Pixels near the ends of the grey scale are compared with the mean that clipped
// noise has there, so that saturation costs information but causes no bias. An ellipse whose axes
// the pixels do not determine is fitted as a circle; a circle that does not fit, as an ellipse.
// Where the fit is bad, in this order: pixels outside of the marker that belong to something else
// are left out; a marker brighter on one side is modelled so; kHidden where a part of the outline
// does not belong to it, which is left out; kRough where nothing helps: then q is that of the spot.
// What misfit remains widens the covariance. A disc of 4 px, or below 12 px at an SNR of 10, with a
// third covered passes for an ellipse unnoticed.
std::optional<MarkerFit> FitMarker(const GrayImage& image, const Spot& spot,
                                   const MarkerFitOptions& options = {});

}  // namespace impactlab
