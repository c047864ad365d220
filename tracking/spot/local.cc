#include "tracking/spot/local.h"

#include <algorithm>
#include <cstddef>

namespace impactlab::tracking {

void LocalMean::Subtract(const GrayImage& image, const Rect& rect, int side, std::uint8_t flip,
                         GrayImage* difference) {
  difference->width = image.width;
  difference->height = image.height;
  difference->pixels.resize(image.pixels.size());
  const int half = std::max(1, side / 2), from = std::max(0, rect.left - half),
            to = std::min(image.width - 1, rect.right + half);
  columns_.assign(image.width, 0);
  const auto row = [&](int y) {
    return image.pixels.data() + static_cast<std::size_t>(y) * image.width;
  };
  const auto enter = [&](int y) {
    for (int x = from; x <= to; ++x) columns_[x] += row(y)[x] ^ flip;
  };
  const auto leave = [&](int y) {
    for (int x = from; x <= to; ++x) columns_[x] -= row(y)[x] ^ flip;
  };
  int top = std::max(0, rect.top - half), bottom = top - 1;  // rows in the sums
  for (int y = rect.top; y <= rect.bottom; ++y) {
    while (bottom < std::min(image.height - 1, y + half)) enter(++bottom);
    while (top < y - half) leave(top++);
    const std::int64_t rows = bottom - top + 1;
    std::int64_t sum = 0;
    int left = from, right = from - 1;
    std::uint8_t* out = difference->pixels.data() + static_cast<std::size_t>(y) * image.width;
    for (int x = rect.left; x <= rect.right; ++x) {
      while (right < std::min(to, x + half)) sum += columns_[++right];
      while (left < x - half) sum -= columns_[left++];
      const std::int64_t n = rows * (right - left + 1);
      const int mean = static_cast<int>((sum + n / 2) / n);
      out[x] =
          static_cast<std::uint8_t>(std::clamp(kLocalZero + (row(y)[x] ^ flip) - mean, 0, 255));
    }
  }
}

}  // namespace impactlab::tracking
