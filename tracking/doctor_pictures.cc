// Frames against the frames before them: noise that repeats, motion that halts or jumps, lines that comb, brightness.

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "data/statistics.h"
#include "tracking/doctor_detail.h"

namespace impactlab::internal {
namespace {

constexpr int kBlock = 16;     // [px]
constexpr int kSamples = 256;  // blocks whose noise is kept for the whole recording
constexpr int kBands = 8;
constexpr double kScale = 64;         // of kept differences
constexpr double kActive = 1.6;       // times the noise of a block, and
constexpr double kActiveFloor = 0.3;  // grey levels on top: what moves
constexpr int kCombStep = 12;         // grey levels by which a line must stand out of both its neighbours

float MedianOf(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void FrameMeter::Start(const GrayImage& image) {
  columns_ = std::max(1, image.width / kBlock), rows_ = std::max(1, image.height / kBlock);
  const int n = columns_ * rows_, step = std::max(1, n / kSamples);
  for (int b = 0; b < n; b += step) sampled_.push_back(b);
}

FrameMeasure FrameMeter::Measure(const GrayImage& image) {
  FrameMeasure m;
  const bool first = columns_ == 0;
  if (first) Start(image);
  const int width = image.width, height = image.height, n = blocks();
  const bool compare = last_.width == width && last_.height == height;
  const int bw = std::min(kBlock, width), bh = std::min(kBlock, height);
  std::vector<float> level(static_cast<std::size_t>(n)), difference(static_cast<std::size_t>(n), 0.0F);
  m.bands.assign(kBands, 0.0F);
  std::vector<int> rows_in(kBands, 0);
  double total = 0;
  for (int r = 0; r < rows_; ++r) {
    std::vector<unsigned> sum(static_cast<std::size_t>(columns_), 0), apart(static_cast<std::size_t>(columns_), 0);
    for (int y = r * bh; y < (r + 1) * bh; ++y) {
      const std::uint8_t* now = image.pixels.data() + static_cast<std::size_t>(y) * width;
      const std::uint8_t* before = compare ? last_.pixels.data() + static_cast<std::size_t>(y) * width : now;
      for (int c = 0; c < columns_; ++c) {
        unsigned s = 0, d = 0;
        for (int x = c * bw; x < (c + 1) * bw; ++x) s += now[x], d += static_cast<unsigned>(std::abs(now[x] - before[x]));
        sum[c] += s, apart[c] += d;
      }
    }
    double row = 0;
    for (int c = 0; c < columns_; ++c) {
      level[r * columns_ + c] = static_cast<float>(sum[c]) / static_cast<float>(bw * bh);
      difference[r * columns_ + c] = static_cast<float>(apart[c]) / static_cast<float>(bw * bh);
      row += level[r * columns_ + c];
    }
    total += row;
    const int band = std::min(kBands - 1, r * kBands / rows_);
    m.bands[band] += static_cast<float>(row / columns_), ++rows_in[band];
  }
  for (int b = 0; b < kBands; ++b)
    m.bands[b] = rows_in[b] > 0 ? m.bands[b] / static_cast<float>(rows_in[b]) : static_cast<float>(total / n);
  m.mean = total / n;

  if (first) reference_ = level;
  std::vector<float> ratios;
  for (int b = 0; b < n; ++b)
    if (reference_[b] > 10 && reference_[b] < 245) ratios.push_back(level[b] / reference_[b]);
  if (!ratios.empty()) m.gain = MedianOf(std::move(ratios));

  if (compare) {
    if (noise_.empty()) noise_ = difference;
    m.identical = image.pixels == last_.pixels;
    std::vector<std::uint16_t> kept;
    for (const int b : sampled_) kept.push_back(static_cast<std::uint16_t>(std::min(65535.0F, static_cast<float>(kScale) * difference[b])));
    samples_.push_back(std::move(kept));
    double still = 0, moved = 0;
    int quiet = 0;
    for (int b = 0; b < n; ++b) {
      const auto limit = static_cast<float>(kActive * noise_[b] + kActiveFloor);
      if (difference[b] <= limit) {
        still += difference[b], ++quiet;
      } else {
        ++m.active;
        const int x0 = b % columns_ * bw, y0 = b / columns_ * bh;
        for (int y = y0; y < y0 + bh; ++y) {
          for (int x = x0; x < x0 + bw; ++x) {
            const double d = static_cast<double>(image.At(x, y)) - last_.At(x, y);
            m.activity += std::abs(d), moved += d;
            m.moment[0] += d * (x - 0.5 * width), m.moment[1] += d * (y - 0.5 * height);
          }
        }
        // A body that moves between two fields stands in every other line; lines of one field, two apart, show no such thing.
        for (int y = std::max(2, y0); y < std::min(height - 2, y0 + bh); ++y) {
          for (int x = x0; x < x0 + bw; ++x) {
            const int here = image.At(x, y), up = here - image.At(x, y - 1), down = here - image.At(x, y + 1);
            const int up2 = here - image.At(x, y - 2), down2 = here - image.At(x, y + 2);
            m.comb += (up > kCombStep && down > kCombStep) || (up < -kCombStep && down < -kCombStep);
            m.comb_field += (up2 > kCombStep && down2 > kCombStep) || (up2 < -kCombStep && down2 < -kCombStep);
          }
        }
      }
      // Slow upwards, so that what passes through a block is not taken for its noise; a repeated frame has none and says nothing.
      if (m.identical) continue;
      const float d = std::min(difference[b], 2 * noise_[b] + 0.5F);
      noise_[b] += (d < noise_[b] ? 0.2F : 0.1F) * (d - noise_[b]);
    }
    m.still = quiet > 0 ? still / quiet : 0;
    m.balance = m.activity > 0 ? std::abs(moved) / m.activity : 1;
  }
  last_ = image;
  return m;
}

namespace {

// Pairs whose noise is (nearly) that of the frame before.
std::vector<char> RepeatsByNoise(const std::vector<FrameMeasure>& frames, const std::vector<std::vector<std::uint16_t>>& samples,
                                 bool predicted, bool* informative) {
  const std::size_t n = samples.size();
  std::vector<char> repeats(frames.size(), 0);
  *informative = false;
  if (n < 5) return repeats;
  // What a block differs by when nothing moves in it and it is not a repeat.
  const std::size_t blocks = samples.front().size();
  std::vector<double> usual(blocks);
  std::vector<float> column(n);
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t k = 0; k < n; ++k) column[k] = samples[k][b];
    const auto at = column.begin() + static_cast<std::ptrdiff_t>(0.6 * static_cast<double>(n - 1));
    std::nth_element(column.begin(), at, column.end());
    usual[b] = *at / kScale;
  }
  std::vector<std::size_t> noisy;
  for (std::size_t b = 0; b < blocks; ++b)
    if (usual[b] > 0.1) noisy.push_back(b);
  if (noisy.size() < std::max<std::size_t>(4, blocks / 50)) return repeats;
  std::vector<double> ratio(n);
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<float> r;
    for (const std::size_t b : noisy) r.push_back(static_cast<float>(samples[k][b] / kScale / usual[b]));
    ratio[k] = MedianOf(std::move(r));
  }
  constexpr double kRepeat = 0.25, kFresh = 0.5;
  std::size_t low = 0, between = 0;
  for (const double r : ratio) low += r < kRepeat, between += r >= kRepeat && r < kFresh;
  // A coder that skips what changes little makes still scenes repeat: then there is no gap between the two kinds.
  if (predicted && (low > n / 4 || between > std::max(low / 2, n / 50))) return repeats;
  *informative = true;
  for (std::size_t k = 0; k < n;) {
    if (ratio[k] >= kRepeat) {
      ++k;
      continue;
    }
    std::size_t end = k;
    while (end < n && ratio[end] < kRepeat) ++end;
    // A long quiet spell after shaking is rest, unless not a grain of noise changes in it.
    const bool frozen = std::all_of(ratio.begin() + static_cast<std::ptrdiff_t>(k), ratio.begin() + static_cast<std::ptrdiff_t>(end),
                                    [](double r) { return r < 0.02; });
    if (end - k <= 6 || frozen)
      for (std::size_t j = k; j < end; ++j) repeats[j + 1] = 1;
    k = end;
  }
  return repeats;
}

struct Motion {
  const std::vector<FrameMeasure>& frames;
  int blocks;
  bool Inside(long long k) const { return k >= 1 && k < static_cast<long long>(frames.size()); }
  // A body that moves through the picture as a whole.
  bool Clear(long long k) const {
    if (!Inside(k)) return false;
    const FrameMeasure& m = frames[k];
    return m.active > 0 && m.active < 0.4 * blocks && m.balance < 0.25 && Size(k) > 0;
  }
  double Size(long long k) const { return std::hypot(frames[k].moment[0], frames[k].moment[1]); }
  double Cosine(long long a, long long b) const {
    const auto &u = frames[a].moment, &v = frames[b].moment;
    return (u[0] * v[0] + u[1] * v[1]) / std::max(1e-300, Size(a) * Size(b));
  }
  bool Near(double a, double b, double tolerance) const { return std::abs(a - b) <= tolerance * std::max(a, b); }
};

}  // namespace

RepeatedFrames FindRepeated(const std::vector<FrameMeasure>& frames, const std::vector<std::vector<std::uint16_t>>& samples, int blocks,
                            bool predicted) {
  RepeatedFrames out;
  const auto n = static_cast<long long>(frames.size());
  out.exposures.assign(frames.size(), 1);
  if (n > 0) out.exposures[0] = 0;
  bool informative = false;
  const std::vector<char> by_noise = RepeatsByNoise(frames, samples, predicted, &informative);
  const Motion motion{frames, blocks};
  long long moving = 0;
  for (long long k = 1; k < n; ++k) moving += motion.Clear(k);
  out.decidable = informative || moving >= 5;

  std::vector<char> repeats = by_noise;
  // Motion that halts for a frame or a few and goes on the way it went. At a bounce it turns round, so that a body that is in the same
  // place before and after is no repeat; where the moment of the difference (contrast times displacement) is the same on both sides, the
  // pictures between are.
  for (long long k = 3; k + 2 < n; ++k) {
    if (!motion.Clear(k - 1) || !motion.Clear(k - 2)) continue;
    const double least = 0.1 * frames[k - 1].activity;
    long long end = k;
    while (end < n && end - k < 4 && frames[end].activity < least && !motion.Clear(end)) ++end;
    if (end == k || end - k > 3 || !motion.Clear(end) || !motion.Clear(end + 1)) continue;
    const bool onward = motion.Cosine(k - 1, end) > 0.7 && motion.Cosine(k - 2, k - 1) > 0.7 && motion.Cosine(end, end + 1) > 0.7;
    if (!onward || !motion.Near(motion.Size(k - 2), motion.Size(k - 1), 0.35)) continue;
    if (!motion.Near(motion.Size(k - 1), motion.Size(end + 1), 0.35)) continue;
    for (long long j = k; j < end; ++j) repeats[j] = 1;
    out.by_motion = true;
  }
  // Noise may be stopped by a coder where motion is seen to go on.
  for (long long k = 1; k < n; ++k) {
    if (repeats[k] == 0) continue;
    if (!frames[k].identical && motion.Clear(k) && motion.Clear(k - 1) && frames[k].activity > 0.5 * frames[k - 1].activity) {
      repeats[k] = 0;
      continue;
    }
    out.by_noise |= by_noise[k] != 0;
    out.repeated.push_back(k);
    out.exposures[k] = 0;
  }
  // Steps of motion that are whole multiples of those on both sides: exposures between were thrown away.
  for (long long k = 2; k + 2 < n; ++k) {
    long long before = k - 1;
    int halted = 0;
    while (before > 0 && repeats[before] != 0) --before, ++halted;
    if (repeats[k] != 0 || repeats[k + 1] != 0 || repeats[k + 2] != 0 || repeats[std::max(0LL, before - 1)] != 0) continue;
    bool clear = true;
    for (const long long j : {before - 1, before, k, k + 1, k + 2}) clear = clear && motion.Clear(j);
    if (!clear || motion.Cosine(before, k + 1) < 0.9 || motion.Cosine(k, k + 1) < 0.9 || motion.Cosine(before - 1, before) < 0.9) continue;
    const double a2 = motion.Size(before - 1), a = motion.Size(before), b = motion.Size(k + 1), b2 = motion.Size(k + 2);
    if (!motion.Near(a, b, 0.3) || !motion.Near(a2, a, 0.2) || !motion.Near(b, b2, 0.2)) continue;
    const double steps = motion.Size(k) / (0.5 * (a + b));
    const long whole = std::lround(steps);
    if (whole < 2 || whole > 8 || std::abs(steps - static_cast<double>(whole)) > 0.25) continue;
    out.exposures[k] = static_cast<int>(whole);
    // In place of the exposures that are lost a frame was repeated: the beat goes on. Otherwise it lost time.
    if (whole - 1 > halted) out.lost.push_back(k);
  }
  return out;
}

}  // namespace impactlab::internal
