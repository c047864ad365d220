#pragma once
// What is measured of one spot: background from a ring, centroid over spot and rim, covariance, area, shape.

#include <cstdint>
#include <vector>

#include "tracking/spot.h"
#include "tracking/spot_scan.h"

namespace impactlab::internal {

// Pixels of a spot that are above the threshold.
struct Piece {
  int first = -1, last = -1;                               // of its runs, chained by Run::next
  int left = 0, top = 0, right = 0, bottom = 0;            // box
  double count = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;  // sums over its pixels
};
void Add(const Run& run, Piece* piece);

struct SpotShape {
  double elongation = 1;  // larger axis over smaller
  bool ellipse = true;    // outline like that of an ellipse
  bool lobes = false;     // it has a waist: two spots in one, rather
};

class SpotMeasure {
 public:
  SpotMeasure(const SpotOptions& options, Simd simd) : options_(options), simd_(simd) {}

  // False where nothing stands out of the noise. `contrast`: of the threshold with the background [grey levels], 0: the difference of
  // `level` and the background found. The extents of the rows are left in `extents()`.
  bool Measure(const GrayImage& image, const std::vector<Run>& runs, const Piece& piece, const PixelNoise& noise, int level,
               double contrast, Spot* spot, SpotShape* shape);
  const std::vector<Extent>& extents() const { return extents_; }

 private:
  void Widen(int width, int height, int top, int bottom);
  double RingLevel(const GrayImage& image, const PixelNoise& noise, double* variance);
  void Judge(const Piece& piece, double sigmas, Spot* spot, SpotShape* shape);

  SpotOptions options_;
  Simd simd_;
  std::vector<Extent> extents_;   // of the spot, from its top on
  std::vector<Extent> aperture_;  // of spot and rim, from aperture_top_ on
  int aperture_top_ = 0;
  std::vector<std::uint8_t> ring_;
  std::vector<std::pair<double, double>> corners_, hull_;
};

}  // namespace impactlab::internal
