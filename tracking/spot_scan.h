#pragma once
// Inner loops of the spot finder, over rows of pixels. Every one exists for AVX2, for SSE2 and in plain C++, with the same result: all are
// exact arithmetic on whole numbers.
//
// Levels are "raised": the grey level itself where bright spots are looked for, 255 minus it (`flip` = 0xFF) where dark ones are.

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/image.h"

namespace impactlab::internal {

enum class Simd { kPlain, kSse2, kAvx2 };
Simd BestSimd();  // of this processor

// The pixels of a part of a picture, both ends included.
struct Rect {
  int left = 0, top = 0, right = -1, bottom = -1;
  int width() const { return right - left + 1; }
  int height() const { return bottom - top + 1; }
  bool empty() const { return right < left || bottom < top; }
};

constexpr int kBand = 16;   // rows of a band
constexpr int kBlock = 32;  // columns of a block; a tile is a block of a band

// out[x] = largest raised level of column x over `rows` rows that lie `stride` bytes apart.
void ColumnMaxima(const std::uint8_t* first, std::ptrdiff_t stride, int width, int rows, std::uint8_t flip, Simd simd, std::uint8_t* out);

// What a frame says about its levels, from every tile and from a sparse sample of single rows of tiles.
struct LevelCounts {
  // Of every tile: the smallest and the largest column maximum. The smallest is high only where something bright fills the whole width of
  // the tile, so that a spot narrower than a block does not count in it.
  std::vector<std::uint8_t> low, high;
  std::vector<std::uint8_t> sample;      // raised levels
  std::vector<std::uint8_t> difference;  // |difference| of pixels of the sample two columns apart; 255 where one is at an end of the scale
  void Clear();
};

// How many of n values are at most `level`.
std::size_t CountUpTo(const std::uint8_t* values, std::size_t n, int level, Simd simd);

// One pass over `rect`: column maxima of each of its bands (`maxima`, bands x width of the rect), and the counts, which are added to.
// `every`: of how many tiles one is sampled.
void ScanLevels(const GrayImage& image, const Rect& rect, std::uint8_t flip, int every, Simd simd, std::vector<std::uint8_t>* maxima,
                LevelCounts* counts);

// Neighbouring pixels of a row above the level. `parent` and `next` serve the joining of runs into spots.
struct Run {
  int left = 0, right = 0, y = 0;
  int parent = 0, next = -1;
};

// Appends the runs of raised level above `level` in columns left..right of row y.
void AppendRuns(const GrayImage& image, int y, int left, int right, std::uint8_t flip, int level, Simd simd, std::vector<Run>* runs);

// All runs of `rect`, row after row. `maxima` and `high` as ScanLevels left them for the same rect (or null): parts that they rule out are
// not looked at again.
void CollectRuns(const GrayImage& image, const Rect& rect, std::uint8_t flip, int level, Simd simd, const std::vector<std::uint8_t>* maxima,
                 const std::vector<std::uint8_t>* high, std::vector<Run>* runs);

// The columns of a row from the first to the last.
struct Extent {
  int left = 0, right = -1;
};

// Sums over the pixels of `rows`, the first of which is row `top`, of d = level - base and its products with the place of the pixel
// relative to column `x0` of row `top`.
struct ApertureSums {
  std::int64_t d = 0, dx = 0, dy = 0, dxx = 0, dxy = 0, dyy = 0;
  std::int64_t clamped = 0;  // of d cut to -limit..limit
  int lowest = 255, highest = 0;
};
ApertureSums SumAperture(const GrayImage& image, const std::vector<Extent>& rows, int top, int x0, int base, int limit, Simd simd);

// Count, sum of (value - from) and sum of its square, of those values that lie in from..to.
struct RangeSums {
  std::int64_t n = 0, sum = 0, squares = 0;
};
RangeSums SumBetween(const std::uint8_t* values, std::size_t n, int from, int to, Simd simd);

}  // namespace impactlab::internal
