#include <algorithm>
#include <cstddef>

#include "data/base/error.h"
#include "tracking/spot/spot.h"

namespace impactlab {
namespace {

// Samples kept of every pixel. The median of 15 is wrong only where a marker stood on a pixel in 8
// of them.
constexpr int kSamples = 15;

}  // namespace

Background::Background(int width, int height) : width_(width), height_(height) {
  if (width < 1 || height < 1)
    throw ConfigError("the background needs a width and a height of at least one pixel");
}

// The frames kept are spread over all that came: once there are kSamples, each new one takes the
// place of one of them with probability kSamples / frames (reservoir sampling, Vitter 1985), drawn
// by a hash of its number so that the same video gives the same background.
void Background::Add(const GrayImage& image) {
  if (image.width != width_ || image.height != height_)
    throw ConfigError("a frame of another size than the background's");
  const std::size_t n = image.pixels.size();
  long long slot = frames_;
  if (frames_ >= kSamples) {
    std::uint64_t h = static_cast<std::uint64_t>(frames_) + 0x9E3779B97F4A7C15ull;
    h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ull;
    h = (h ^ (h >> 27)) * 0x94D049BB133111EBull;
    h ^= h >> 31;
    slot = static_cast<long long>(h % static_cast<std::uint64_t>(frames_ + 1));
  }
  ++frames_;
  if (slot >= kSamples) return;
  if (samples_.size() < (static_cast<std::size_t>(slot) + 1) * n)
    samples_.resize((static_cast<std::size_t>(slot) + 1) * n);
  std::copy(image.pixels.begin(), image.pixels.end(),
            samples_.begin() + static_cast<std::ptrdiff_t>(slot * n));
  stale_ = true;
}

const GrayImage& Background::image() {
  if (empty()) throw ConfigError("the background has seen no frame");
  if (!stale_) return image_;
  const std::size_t n = static_cast<std::size_t>(width_) * height_;
  const int kept = static_cast<int>(std::min<long long>(frames_, kSamples));
  image_.width = width_;
  image_.height = height_;
  image_.pixels.resize(n);
  std::uint8_t values[kSamples];
  for (std::size_t i = 0; i < n; ++i) {
    for (int k = 0; k < kept; ++k) {  // sorted as they come
      const std::uint8_t v = samples_[k * n + i];
      int at = k;
      for (; at > 0 && values[at - 1] > v; --at) values[at] = values[at - 1];
      values[at] = v;
    }
    image_.pixels[i] =
        kept % 2 ? values[kept / 2]
                 : static_cast<std::uint8_t>((values[kept / 2 - 1] + values[kept / 2] + 1) / 2);
  }
  stale_ = false;
  return image_;
}

void Background::Subtract(const GrayImage& image, bool dark, GrayImage* difference) {
  const GrayImage& still = this->image();
  if (image.width != width_ || image.height != height_)
    throw ConfigError("a frame of another size than the background's");
  difference->width = width_;
  difference->height = height_;
  difference->pixels.resize(image.pixels.size());
  const std::uint8_t* a = image.pixels.data();
  const std::uint8_t* b = still.pixels.data();
  std::uint8_t* out = difference->pixels.data();
  if (dark) std::swap(a, b);
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    out[i] = static_cast<std::uint8_t>(a[i] > b[i] ? a[i] - b[i] : 0);
}

}  // namespace impactlab
