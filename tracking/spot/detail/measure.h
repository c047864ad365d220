#pragma once
// Measurement of one spot: background from a ring, centroid over spot and rim, covariance, area,
// shape.

#include <Eigen/Core>
#include <algorithm>
#include <cstdint>
#include <vector>

#include "tracking/spot/detail/sums.h"
#include "tracking/spot/spot.h"

namespace impactlab::tracking {

// Pixels of a spot that are above the threshold.
struct Piece {
  int first = -1, last = -1;                               // of its runs, chained by Run::next
  int left = 0, top = 0, right = 0, bottom = 0;            // box
  double count = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;  // sums over its pixels
};

struct SpotShape {
  double elongation = 1;  // larger axis over smaller
  bool ellipse = true;    // outline like that of an ellipse
  bool lobes = false;     // it has a waist: two spots in one, rather
  // something much brighter on it: markers on a bright body, or a reflection
  bool capped = false;
};

// Second moments of a piece about its centre, every pixel a square, and the axes of the ellipse
// that has them.
struct Axes {
  double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
  double major = 0, minor = 0;                           // semi-axes [px]
  Eigen::Vector2d direction = Eigen::Vector2d::UnitX();  // of the major one
  // length over which the ends of a streak fade
  double Ramp() const { return 2 * std::min(minor, major - minor); }
};

class SpotMeasure {
 public:
  SpotMeasure(const SpotOptions& options, Simd simd);

  // False where nothing stands out of the noise. `contrast`: of the threshold with the background
  // [grey levels], 0: the difference of `level` and the background found. The extents of the rows
  // are left in `extents()`.
  bool MeasureSpot(const GrayImage& image, const std::vector<Run>& runs, const Piece& piece,
                   const PixelNoise& noise, int level, double contrast, Spot* spot,
                   SpotShape* shape);
  const std::vector<Extent>& extents() const { return extents_; }

 private:
  void Widen(int width, int height, int top, int bottom, const Eigen::Vector2d& reach);
  double RingLevel(const GrayImage& image, const PixelNoise& noise, double* variance);
  void JudgeShape(const Piece& piece, const Axes& axes, double contrast, double sigma, Spot* spot,
                  SpotShape* shape);

  SpotOptions options_;
  Simd simd_;
  std::vector<int> across_;       // half widths of the rows of a disc, of the rim, from its top on
  std::vector<Extent> extents_;   // of the spot, from its top on
  std::vector<Extent> aperture_;  // of spot and rim, from aperture_top_ on
  std::vector<Extent> padded_, drawn_;
  int aperture_top_ = 0, aperture_left_ = 0, aperture_right_ = -1;
  std::vector<std::uint8_t> ring_;
  int ring_guess_ = 127;  // median of the last ring
  std::vector<std::pair<double, double>> corners_, hull_;
};

}  // namespace impactlab::tracking
