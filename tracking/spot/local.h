#pragma once
// Difference of a picture from its local mean, for a threshold that follows the light (Bradley and
// Roth, J. Graphics Tools 12, 2007).

#include <cstdint>
#include <vector>

#include "data/files/image.h"
#include "tracking/spot/detail/scan.h"

namespace impactlab::tracking {

constexpr int kLocalZero = 64;  // level of no difference

class LocalMean {
 public:
  // difference = kLocalZero + raised level - mean of the raised levels over `side` x `side` pixels
  // (fewer at the border), cut to 0..255, inside `rect`. The cost does not depend on `side`.
  void Subtract(const GrayImage& image, const Rect& rect, int side, std::uint8_t flip,
                GrayImage* difference);

 private:
  std::vector<std::uint32_t> columns_;  // sums of the columns over the rows of the neighbourhood
};

}  // namespace impactlab::tracking
