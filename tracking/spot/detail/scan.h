#pragma once
// Loops of the spot finder over the rows of a picture: levels of its tiles, and runs of pixels
// above a level. Every one exists for AVX2, for SSE2 and in plain C++, with the same result: all
// are exact arithmetic on whole numbers.
//
// Levels are "raised": the grey level itself where bright spots are looked for, 255 minus it
// (`flip` = 0xFF) where dark ones are.

#include <cstdint>
#include <vector>

#include "data/files/image.h"
#include "tracking/spot/detail/simd.h"

namespace impactlab::tracking {

// The pixels of a part of a picture, both ends included.
struct Rect {
  int left = 0, top = 0, right = -1, bottom = -1;
  int width() const { return right - left + 1; }
  int height() const { return bottom - top + 1; }
  bool empty() const { return right < left || bottom < top; }
};

constexpr int kBand = 16;   // rows of a band
constexpr int kBlock = 32;  // columns of a block; a tile is a block of a band

// Levels of a frame, from every tile and from a sparse sample of single rows of tiles.
struct LevelCounts {
  // Of every tile: the smallest and the largest maximum of its columns. The smallest is high only
  // where something bright fills the whole width of the tile, so that a spot narrower than a block
  // does not count in it.
  std::vector<std::uint8_t> low, high;
  std::vector<std::uint8_t> sample;  // raised levels
  // |difference| of pixels of the sample two columns apart; 255 where one is at an end of the scale
  std::vector<std::uint8_t> difference;
  void Clear();
};

// One pass over `rect`; the counts are added to. `every`: of how many tiles one is sampled.
void ScanLevels(const GrayImage& image, const Rect& rect, std::uint8_t flip, int every, Simd simd,
                LevelCounts* counts);

// The columns of a row from the first to the last.
struct Extent {
  int left = 0, right = -1;
};

// Neighbouring pixels of a row above the level. `parent` and `next` serve the joining of runs into
// spots.
struct Run {
  int left = 0, right = 0, y = 0;
  int parent = 0, next = -1;
};

// All runs of raised level above `level` in `rect`, row after row. `high` as ScanLevels left it for
// the same rect alone (or null): tiles that it rules out are not looked at again.
void CollectRuns(const GrayImage& image, const Rect& rect, std::uint8_t flip, int level, Simd simd,
                 const std::vector<std::uint8_t>* high, std::vector<Run>* runs);

}  // namespace impactlab::tracking
