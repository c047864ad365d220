#pragma once
// A gray picture in memory.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace impactlab {

// Rows from the top, no padding. Pixel (0, 0) is the top-left one and its centre is the image point
// q = (0, 0).
struct GrayImage {
  int width = 0, height = 0;  // [px]
  std::vector<std::uint8_t> pixels;

  std::uint8_t& At(int x, int y) { return pixels[static_cast<std::size_t>(y) * width + x]; }
  std::uint8_t At(int x, int y) const { return pixels[static_cast<std::size_t>(y) * width + x]; }
};

}  // namespace impactlab
