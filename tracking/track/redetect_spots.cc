#include "tracking/track/redetect_spots.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace impactlab {
namespace {

constexpr double kNear = 3;              // [px], and so many standard deviations
constexpr double kSimilarAreas = 2;      // of areas
constexpr double kShare = 0.4;           // of the height of a marker: threshold in its window
constexpr double kRedetectContrast = 8;  // standard deviations of the noise
constexpr double kMargin = 5;            // of background about a marker [px]

double RedetectReach(const ExpectedMarker& marker) {
  return kNear + kNear * std::min(marker.sd, 2.0);
}

bool Answers(const Spot& spot, const ExpectedMarker& marker) {
  const double ratio = spot.area / std::max(marker.area, 1.0);
  return (spot.q - marker.q).norm() < RedetectReach(marker) && ratio < kSimilarAreas &&
         ratio > 1 / kSimilarAreas;
}

}  // namespace

int LookAgain(const GrayImage& image, const SpotOptions& options, const PixelNoise& noise,
              const std::vector<ExpectedMarker>& expected, std::vector<Spot>* spots) {
  std::vector<Spot> found;
  for (const ExpectedMarker& marker : expected) {
    if (std::any_of(spots->begin(), spots->end(),
                    [&](const Spot& s) { return Answers(s, marker); }))
      continue;
    const double half = std::sqrt(std::max(marker.area, 1.0) / M_PI) + kMargin;
    const Window window{std::max(0, static_cast<int>(marker.q.x() - half)),
                        std::max(0, static_cast<int>(marker.q.y() - half)),
                        std::min(image.width - 1, static_cast<int>(marker.q.x() + half)),
                        std::min(image.height - 1, static_cast<int>(marker.q.y() + half))};
    std::vector<std::uint8_t> levels;
    for (int y = window.top; y <= window.bottom; ++y)
      for (int x = window.left; x <= window.right; ++x)
        levels.push_back(
            image.pixels[static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
                         static_cast<std::size_t>(x)]);
    if (levels.size() < 30) continue;
    std::sort(levels.begin(), levels.end());
    const double background = levels[levels.size() / 2],
                 top = options.dark ? levels[2] : levels[levels.size() - 3];
    const double height = top - background;
    if (std::abs(height) < kRedetectContrast * std::sqrt(noise.Variance(background)) ||
        (height < 0) != options.dark)
      continue;
    SpotOptions own = options;
    own.local = 0;
    own.threshold = std::clamp(static_cast<int>(std::lround(background + kShare * height)), 1, 254);
    own.noise = noise;
    own.estimate_noise = false;
    SpotFinder finder(own);
    for (const Spot& spot : finder.FindSpots(image, {window})) {
      if (!Answers(spot, marker)) continue;
      found.push_back(spot);
      break;
    }
  }
  for (const Spot& spot : found) {
    std::erase_if(*spots, [&](const Spot& old) {
      return old.left <= spot.q.x() && old.right >= spot.q.x() && old.top <= spot.q.y() &&
             old.bottom >= spot.q.y();
    });
  }
  spots->insert(spots->end(), found.begin(), found.end());
  std::sort(spots->begin(), spots->end(), [](const Spot& a, const Spot& b) {
    return a.top != b.top ? a.top < b.top : a.left < b.left;
  });
  return static_cast<int>(found.size());
}

}  // namespace impactlab
