#include "tracking/spot/detail/threshold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "tracking/spot/detail/sums.h"

namespace impactlab::tracking {
namespace {

// Noise pixels above the threshold are one in a thousand and meet in groups of `area_min` so rarely
// that no frame shows one.
constexpr double kSigmas = 3;
constexpr double kShare = 0.3;  // of the way from the rest of the frame to the brightest pixel
// [grey levels]: rounding and compression make steps of one or two
constexpr double kLeastStep = 3;

int Otsu(const std::vector<std::uint8_t>& values) {
  std::array<int, 256> counts{};
  for (const std::uint8_t v : values) ++counts[v];
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
    // empty levels between two classes: the middle of them
    if (between >= best * (1 - 1e-12)) last = v;
  }
  return (first + last) / 2;
}

// Of the sampled pixels.
int Median(const LevelCounts& counts, Simd simd) {
  return RankLevel(counts.sample.data(), counts.sample.size(), (counts.sample.size() + 1) / 2, 127,
                   simd);
}

}  // namespace

double EstimateRead(const LevelCounts& counts, const PixelNoise& given, std::uint8_t flip,
                    Simd simd) {
  const std::size_t pairs =
      CountUpTo(counts.difference.data(), counts.difference.size(), 254, simd);
  if (pairs < 64 || pairs < counts.difference.size() / 8) return given.read;
  const auto count = [&](int k) {
    return static_cast<double>(
        CountUpTo(counts.difference.data(), counts.difference.size(), std::min(k, 254), simd));
  };
  // The difference of two rounded values, of normal noise of deviation sd in their difference:
  // P(|d| <= k) is that of |x| < t, averaged over t from k to k + 1. Edges and texture make large
  // differences and add few to the small ones: the ratio of two counts of small ones does not know
  // them.
  const auto share = [](int k, double sd) {
    const double s = std::sqrt(2.0) * sd;
    const auto integral = [s](double t) {
      return t * std::erf(t / s) + s / std::sqrt(std::numbers::pi) * std::exp(-t * t / (s * s));
    };
    return integral(k + 1) - integral(k);
  };
  const int median =
      RankLevel(counts.difference.data(), counts.difference.size(), (pairs + 1) / 2, 2, simd);
  const int near = median,
            far = std::max(median + 1, static_cast<int>(std::lround(3 * (median + 0.5))));
  const double ratio = count(near) / count(far);
  double low = 0.05, high = 3 * (median + 1);  // the ratio falls with sd
  for (int i = 0; i < 14; ++i) {
    const double sd = 0.5 * (low + high);
    (share(near, sd) / share(far, sd) > ratio ? low : high) = sd;
  }
  const double sd = 0.5 * (low + high);
  double light = 0;
  if (given.gain != 0) {
    const int level = Median(counts, simd);
    light = given.gain * (flip ? 255 - level : level);
  }
  return std::sqrt(std::max(0.0, 0.5 * sd * sd - light));
}

int ChooseThreshold(const LevelCounts& counts, const PixelNoise& noise, std::uint8_t flip,
                    Simd simd) {
  const auto sigma = [&](double level) {
    return std::sqrt(noise.Variance(flip ? 255 - level : level));
  };
  const std::size_t tiles = counts.low.size();
  const int background = Median(counts, simd);
  const int filled = RankLevel(counts.low.data(), tiles, tiles - tiles / 1000, background,
                               // one tile in a thousand may be filled by the streak of a marker
                               simd);
  const int top = RankLevel(counts.high.data(), tiles, tiles, 255, simd);
  const auto step = [&](double level) { return std::max(kLeastStep, kSigmas * sigma(level)); };
  // The largest of many column maxima lies above the level itself by the largest noise of its
  // columns.
  const double rest = std::max<double>(std::min(background, filled), filled - 1.5 * sigma(filled));
  // So does the brightest of the pixels of the markers, most of all where they are faint.
  double threshold = rest + std::max(step(rest), kShare * (top - 2.5 * sigma(top) - rest));
  if (top - rest < 4 + 1.5 * step(rest)) return SecondThreshold(counts, noise, flip, simd);
  return static_cast<int>(std::clamp(std::lround(threshold), 0l, 254l));
}

int SecondThreshold(const LevelCounts& counts, const PixelNoise& noise, std::uint8_t flip,
                    Simd simd) {
  const int background = Median(counts, simd);
  const double step = std::max(
      kLeastStep, kSigmas * std::sqrt(noise.Variance(flip ? 255 - background : background)));
  const double threshold = std::max<double>(background + step, Otsu(counts.sample));
  return static_cast<int>(std::clamp(std::lround(threshold), 0l, 254l));
}

}  // namespace impactlab::tracking
