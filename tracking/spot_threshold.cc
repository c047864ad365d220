#include "tracking/spot_threshold.h"

#include <algorithm>
#include <cmath>

#include "data/statistics.h"

namespace impactlab::internal {
namespace {

// Noise pixels above the threshold are one in a thousand and meet in groups of `area_min` so rarely that no frame shows one.
constexpr double kSigmas = 3;
constexpr double kShare = 0.3;    // of the way from the rest of the frame to the brightest pixel
constexpr double kLeastStep = 3;  // [grey levels]: rounding and compression make steps of one or two

// Smallest level with at least `share` of the counts at or below it.
int QuantileLevel(const std::array<int, 256>& counts, double share) {
  long long total = 0, below = 0;
  for (const int n : counts) total += n;
  for (int v = 0; v < 256; ++v) {
    below += counts[v];
    if (below > 0 && below >= share * static_cast<double>(total)) return v;
  }
  return 255;
}

int Otsu(const std::array<int, 256>& counts) {
  double total = 0, sum = 0;
  for (int v = 0; v < 256; ++v) {
    total += counts[v];
    sum += static_cast<double>(v) * counts[v];
  }
  double n = 0, s = 0, best = -1;
  int first = 0, last = 0;
  for (int v = 0; v < 255; ++v) {
    n += counts[v];
    s += static_cast<double>(v) * counts[v];
    if (n <= 0 || n >= total) continue;
    const double gap = s / n - (sum - s) / (total - n), between = n * (total - n) * gap * gap;
    if (between > best * (1 + 1e-12)) {
      best = between;
      first = v;
    }
    if (between >= best * (1 - 1e-12)) last = v;  // empty levels between two classes: the middle of them
  }
  return (first + last) / 2;
}

}  // namespace

double EstimateRead(const LevelCounts& counts, const PixelNoise& given, std::uint8_t flip) {
  if (counts.pairs < 64 || counts.pairs < counts.pixels / 8) return given.read;
  // A normal variable rounded to whole numbers: P(|d| <= k) is that of |x| < k + 1/2. The smaller differences alone count, so that edges
  // and texture in less than half of the sample do not.
  long long below = 0;
  int k = 0;
  for (;; ++k) {
    below += counts.difference[k];
    if (below >= 0.5 * counts.pairs) break;
  }
  const double p = std::min(static_cast<double>(below) / counts.pairs, 1 - 0.5 / counts.pairs);
  const double sd = (k + 0.5) / NormalQuantile(0.5 * (1 + p));
  const int median = QuantileLevel(counts.sample, 0.5);
  const double light = given.gain * (flip ? 255 - median : median);
  return std::sqrt(std::max(0.0, 0.5 * sd * sd - 1.0 / 12 - light));
}

int ChooseThreshold(const LevelCounts& counts, const PixelNoise& noise, std::uint8_t flip) {
  const auto sigma = [&](double level) { return std::sqrt(noise.Variance(flip ? 255 - level : level)); };
  const int background = QuantileLevel(counts.sample, 0.5);
  const int filled = QuantileLevel(counts.low, 0.999);  // one tile in a thousand may be filled by the streak of a moving marker
  const int top = QuantileLevel(counts.high, 1);
  const auto step = [&](double level) { return std::max(kLeastStep, kSigmas * sigma(level)); };
  // The largest of many column maxima lies above the level itself by about a standard deviation.
  const double rest = std::max<double>(std::min(background, filled), filled - sigma(filled));
  double threshold = rest + std::max(step(rest), kShare * (top - rest));
  if (top - rest < 4 + 1.5 * step(rest)) {
    threshold = std::max<double>(background + step(background), Otsu(counts.sample));
  }
  return static_cast<int>(std::clamp(std::lround(threshold), 0l, 254l));
}

}  // namespace impactlab::internal
