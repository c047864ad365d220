#pragma once
// Sums, counts and ranks over pixels, for the measuring of spots and the choice of levels. As in
// tracking/spot/detail/scan.h: exact arithmetic on whole numbers, the same with any instructions.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/files/image.h"
#include "tracking/spot/detail/scan.h"

namespace impactlab::tracking {

// How many of n values are at most `level`.
std::size_t CountUpTo(const std::uint8_t* values, std::size_t n, int level, Simd simd);

// Smallest value with at least `rank` of the n values at or below it; 255 where there are fewer.
// `guess` only changes the time it takes.
int RankLevel(const std::uint8_t* values, std::size_t n, std::size_t rank, int guess, Simd simd);

// Sums over the pixels of `rows`, the first of which is row `top`, of d = level - base and its
// products with the place of the pixel relative to column `x0` of row `top`.
struct ApertureSums {
  std::int64_t d = 0, dx = 0, dy = 0, dxx = 0, dxy = 0, dyy = 0;
  std::int64_t clamped = 0;  // of d cut to -limit..limit
  int lowest = 255, highest = 0;
};
ApertureSums SumAperture(const GrayImage& image, const std::vector<Extent>& rows, int top, int x0,
                         int base, int limit, Simd simd);

// Count, sum of (value - from) and sum of its square, of those values that lie in from..to.
struct RangeSums {
  std::int64_t n = 0, sum = 0, squares = 0;
};
RangeSums SumBetween(const std::uint8_t* values, std::size_t n, int from, int to, Simd simd);

}  // namespace impactlab::tracking
