#pragma once
// Private to the tracking room: weighted least squares of the edge model on a patch of pixels
// (Levenberg-Marquardt, up to 12 unknowns, matrices of fixed size). Pixels near the ends of the
// grey scale are compared with the mean a clipped pixel has, so that saturation costs information
// but causes no bias.

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tracking/marker/detail/model.h"

namespace impactlab::tracking {

// Order of the unknowns: what a circle needs comes first.
enum MarkerUnknown {
  kCentreX = 0,
  kCentreY,
  kAmplitude,
  kLevel,  // background at the origin of the patch
  kSlopeX,
  kSlopeY,
  kForm0,  // radius of a circle
  kForm1,
  kForm2,
  kBlur,
  kShadeX,  // relative change of the marker's brightness [1/px]
  kShadeY,
  kMarkerUnknowns
};
using MarkerVector = Eigen::Matrix<double, kMarkerUnknowns, 1>;
using MarkerMatrix = Eigen::Matrix<double, kMarkerUnknowns, kMarkerUnknowns>;

struct MarkerPatch {
  Window window;
  int width = 0, height = 0;
  Eigen::Vector2d origin = Eigen::Vector2d::Zero();  // slopes turn about it
  std::vector<double> values;                        // grey levels
  std::vector<std::uint8_t> used;                    // 1: in the fit

  Eigen::Vector2d Place(int i) const { return {window.left + i % width, window.top + i / width}; }
};

// Response of a clipping sensor to an intensity: mean, its derivative by the intensity, and
// variance.
struct PixelMean {
  double mean, derivative, variance;
};
PixelMean MeanOf(double intensity, const PixelNoise& noise);

constexpr double kBlack = 0, kWhite = 254;  // grey levels at and beyond which a pixel is clipped
// standard deviations from there within which clipping matters
constexpr double kNear = 3.5;
PixelMean MeanNearEnds(double intensity, double read, double gain);
// The variance is read + gain intensity, rounding included [grey levels^2].
inline PixelMean ClippedMean(double intensity, double read, double gain) {
  const double variance = read + gain * std::clamp(intensity, kBlack, kWhite),
               near = kNear * kNear * variance;
  const double below = intensity - kBlack, above = kWhite - intensity;
  if (below >= 0 && above >= 0 && below * below >= near && above * above >= near)
    return {intensity, 1, variance};
  return MeanNearEnds(intensity, read, gain);
}

struct MarkerProblem {
  MarkerShape shape = MarkerShape::kDisc;
  bool circle = false, by_blur = false, shaded = false;
  Eigen::Vector2d motion = Eigen::Vector2d::Zero();
  double blur = 0.7;
  PixelNoise noise;
  // Weak prior, so that parameters that the pixels do not determine stay finite; infinite where
  // there is none.
  MarkerVector prior_mean = MarkerVector::Zero();
  MarkerVector prior_sd = MarkerVector::Constant(1e300);

  bool Free(int unknown) const {
    if (unknown == kForm1 || unknown == kForm2) return !circle;
    if (unknown == kBlur) return by_blur;
    if (unknown == kShadeX || unknown == kShadeY) return shaded;
    return true;
  }
  int CountFree() const;
  MarkerOutline Outline(const MarkerVector& p) const;
};

struct MarkerSolution {
  MarkerVector p = MarkerVector::Zero();
  // where the model was last evaluated: the last step is too small for another evaluation
  MarkerVector at = MarkerVector::Zero();
  MarkerMatrix information = MarkerMatrix::Identity();  // of the free unknowns, prior included
  // of half of chi-square, downwards; of EvaluateAt only
  MarkerVector gradient = MarkerVector::Zero();
  double chi_square = 0;  // of pixels, without the prior
  int n = 0;              // pixels that carry information
  bool converged = false;

  int dof(const MarkerProblem& problem) const { return n - problem.CountFree(); }
  MarkerMatrix Covariance(const MarkerProblem& problem) const;  // zero where not free
};

class MarkerSolver {  // keeps its storage
 public:
  MarkerSolution Solve(const MarkerPatch& patch, const MarkerProblem& problem,
                       const MarkerVector& start);
  // At `p`, without moving: cover, residuals over their standard deviation, information.
  MarkerSolution EvaluateAt(const MarkerPatch& patch, const MarkerProblem& problem,
                            const MarkerVector& p);

  // Of the last evaluation, of all pixels of the patch, used or not.
  // [standard deviations]
  double residual(int i) const { return residuals_[i]; }
  double cover(int i) const { return cover_.pixel(i)[CoverChannel::kCover]; }  // 0 to 1
  double variance(int i) const { return 1 / weights_[i]; }

 private:
  struct Sums {
    MarkerMatrix information;
    MarkerVector gradient;
    double chi_square, merit;  // merit: with the weights of the evaluation before, and the prior
    int n;
  };
  template <int kN>
  void Sum(const MarkerPatch& patch, const MarkerProblem& problem, const MarkerVector& p,
           Sums* sums);
  void Evaluate(const MarkerPatch& patch, const MarkerProblem& problem, const MarkerVector& p,
                Sums* sums);
  double PriorMerit(const MarkerProblem& problem, const MarkerVector& p) const;

  MarkerCover cover_;
  MarkerOutline outline_;  // of the cover
  Window window_;
  bool by_blur_ = false, drawn_ = false;
  std::vector<double> residuals_, weights_, weights_before_;
  std::vector<double> rows_;  // derivatives of the pixels of one row
};

}  // namespace impactlab::tracking
