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
constexpr double kScale = 64;                  // of kept differences
constexpr double kActive = 1.6;                // times the noise of a block, and
constexpr double kActiveFloor = 0.3;           // grey levels on top: what moves
constexpr double kRim = 1.1, kRimFloor = 0.1;  // the same beside it
constexpr int kCombStep = 12;                  // grey levels by which a line must stand out of both its neighbours, above the noise

float MedianOf(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// What blocks of the same brightness differ by between two frames when nothing moves in them: the third quartile, since a coder leaves some
// of them as they were and a body moves in a few. Levels that too few blocks have take the noise of the next that enough have.
std::vector<float> UsualDifference(const std::vector<float>& level, const std::vector<float>& difference) {
  constexpr int kLevels = 8;
  const auto bin = [](float v) { return std::clamp(static_cast<int>(v) * kLevels / 256, 0, kLevels - 1); };
  std::vector<std::vector<float>> in(kLevels);
  for (std::size_t b = 0; b < level.size(); ++b) in[bin(level[b])].push_back(difference[b]);
  const std::size_t enough = std::max<std::size_t>(8, level.size() / 10);
  std::vector<float> usual(kLevels, -1);
  for (int i = 0; i < kLevels; ++i) {
    if (in[i].size() < enough) continue;
    const auto at = in[i].begin() + static_cast<std::ptrdiff_t>(3 * in[i].size() / 4);
    std::nth_element(in[i].begin(), at, in[i].end());
    usual[i] = *at;
  }
  std::vector<float> out(level.size(), 0.0F);
  for (std::size_t b = 0; b < level.size(); ++b) {
    const int i = bin(level[b]);
    for (int off = 0; off < kLevels; ++off) {
      const float below = i - off >= 0 ? usual[i - off] : -1, above = i + off < kLevels ? usual[i + off] : -1;
      if (below < 0 && above < 0) continue;
      out[b] = std::max(below, above);
      break;
    }
  }
  return out;
}

}  // namespace

void FrameMeter::Start(const GrayImage& image) {
  columns_ = std::max(1, image.width / kBlock), rows_ = std::max(1, image.height / kBlock);
  covered_ = std::min(1.0, static_cast<double>(rows_) * kBlock / image.height);
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
  const int n_bands = std::min(kBands, rows_);
  m.bands.assign(static_cast<std::size_t>(n_bands), 0.0F);
  std::vector<int> rows_in(static_cast<std::size_t>(n_bands), 0);
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
    const int band = r * n_bands / rows_;
    m.bands[band] += static_cast<float>(row / columns_), ++rows_in[band];
  }
  for (int b = 0; b < n_bands; ++b) m.bands[b] /= static_cast<float>(rows_in[b]);
  m.mean = total / n;

  if (first) reference_ = level;
  std::vector<float> ratios;
  for (int b = 0; b < n; ++b)
    if (reference_[b] > 10 && reference_[b] < 245) ratios.push_back(level[b] / reference_[b]);
  if (!ratios.empty()) m.gain = MedianOf(std::move(ratios));

  if (compare) {
    const std::vector<float> usual = UsualDifference(level, difference);
    m.identical = image.pixels == last_.pixels;
    std::vector<std::uint16_t> kept;
    for (const int b : sampled_) kept.push_back(static_cast<std::uint16_t>(std::min(65535.0F, static_cast<float>(kScale) * difference[b])));
    samples_.push_back(std::move(kept));
    // What moves, and the rims of it in the blocks around, which alone would not stand out of the noise.
    std::vector<char> moves(static_cast<std::size_t>(n), 0);
    for (int b = 0; b < n; ++b) {
      moves[b] = difference[b] > kActive * usual[b] + kActiveFloor;
      m.strongest = std::max<double>(m.strongest, difference[b]);
      m.hidden = std::max(m.hidden, kActive * usual[b] + kActiveFloor);
    }
    const auto beside = [&](int b) {
      for (int r = std::max(0, b / columns_ - 1); r <= std::min(rows_ - 1, b / columns_ + 1); ++r)
        for (int c = std::max(0, b % columns_ - 1); c <= std::min(columns_ - 1, b % columns_ + 1); ++c)
          if (moves[r * columns_ + c] != 0) return true;
      return false;
    };
    double moved = 0, centre[2] = {0, 0};
    for (int b = 0; b < n; ++b) {
      m.active += moves[b], m.change += difference[b] / n;
      if (moves[b] == 0 && !(difference[b] > kRim * usual[b] + kRimFloor && beside(b))) continue;
      const int x0 = b % columns_ * bw, y0 = b / columns_ * bh;
      for (int y = y0; y < y0 + bh; ++y) {
        for (int x = x0; x < x0 + bw; ++x) {
          const double d = static_cast<double>(image.At(x, y)) - last_.At(x, y);
          m.activity += std::abs(d), moved += d;
          m.moment[0] += d * x, m.moment[1] += d * y;
          centre[0] += std::abs(d) * x, centre[1] += std::abs(d) * y;
        }
      }
      if (moves[b] == 0) continue;
      // A body that moves between two fields stands in every other line: a line unlike those beside it and like those of its own field.
      const int stands_out = kCombStep + static_cast<int>(3 * usual[b]);
      for (int y = std::max(2, y0); y < std::min(height - 2, y0 + bh); ++y) {
        for (int x = x0; x < x0 + bw; ++x) {
          const int here = image.At(x, y), up = here - image.At(x, y - 1), down = here - image.At(x, y + 1);
          if (up * down <= 0 || std::min(std::abs(up), std::abs(down)) < stands_out) continue;
          const int same = std::min(std::abs(up), std::abs(down)) / 2;
          const bool field = std::abs(here - image.At(x, y - 2)) < same && std::abs(here - image.At(x, y + 2)) < same;
          ++(field ? m.comb : m.ridges);
        }
      }
    }
    // About the middle of the change, so that a body before a background of its own brightness here and another there does not count
    // with its distance from the corner.
    if (m.activity > 0)
      for (int i = 0; i < 2; ++i) m.moment[i] -= centre[i] / m.activity * moved;
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
  // A coder that predicts leaves what changes little as it was: still scenes repeat, and noise proves nothing.
  if (predicted || n < 5) return repeats;
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
  // A body on its way changes some blocks too, and rests before it falls: noise is in many.
  if (noisy.size() < std::max<std::size_t>(8, blocks / 5)) return repeats;
  std::vector<double> ratio(n);
  for (std::size_t k = 0; k < n; ++k) {
    std::vector<float> r;
    for (const std::size_t b : noisy) r.push_back(static_cast<float>(samples[k][b] / kScale / usual[b]));
    ratio[k] = MedianOf(std::move(r));
  }
  constexpr double kRepeat = 0.25;
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
  // Less than half of the change and a quarter of the way of frame `a`: coders leave a rest.
  bool Halts(long long a, long long k) const {
    const auto &u = frames[a].moment, &v = frames[k].moment;
    if (frames[k].change > 1.3 * frames[a].change + 0.2) return false;  // the light, or the camera, moved instead
    if (frames[k].hidden > 0.6 * frames[a].strongest) return false;     // the same motion might not be seen (key frame of a coder)
    return frames[k].activity < 0.5 * frames[a].activity && u[0] * v[0] + u[1] * v[1] < 0.25 * Size(a) * Size(a);
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
  // Where noise can tell it is not asked: a body before a background of its own brightness seems to halt.
  for (long long k = 3; !informative && k + 2 < n; ++k) {
    if (!motion.Clear(k - 1) || !motion.Clear(k - 2)) continue;
    long long end = k;
    while (end < n && end - k < 4 && motion.Halts(k - 1, end)) ++end;
    if (end == k || end - k > 3 || !motion.Clear(end) || !motion.Clear(end + 1)) continue;
    const bool onward = motion.Cosine(k - 1, end) > 0.7 && motion.Cosine(k - 2, k - 1) > 0.7 && motion.Cosine(end, end + 1) > 0.7;
    if (!onward || !motion.Near(motion.Size(k - 2), motion.Size(k - 1), 0.35)) continue;
    if (!motion.Near(motion.Size(k - 1), motion.Size(end + 1), 0.35)) continue;
    // A body that sinks into its background for a moment changes less before and after, too; a longer halt must be a full one.
    bool full = motion.Near(frames[k - 1].activity, frames[end].activity, 0.4) || motion.Size(end) > 1.5 * motion.Size(k - 1);
    for (long long j = k; j < end && end - k > 1; ++j) full = full && frames[j].activity < 0.2 * frames[k - 1].activity;
    if (!full) continue;
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
  // A step of motion that is a whole multiple of what the steps on both sides lead up to: exposures between were thrown away. Coders let
  // motion stutter, so that more of it must be even there.
  const int around = predicted ? 3 : 2;
  const double tolerance = predicted ? 0.12 : 0.2;
  for (long long k = around; k + around < n; ++k) {
    std::vector<long long> steps_around;
    long long before = k - 1, halted = 0;
    while (before > 0 && repeats[before] != 0) --before, ++halted;
    for (long long j = before - around + 1; j <= before; ++j) steps_around.push_back(j);
    for (long long j = k + 1; j <= k + around; ++j) steps_around.push_back(j);
    bool clear = motion.Clear(k) && repeats[k] == 0;
    for (const long long j : steps_around)
      clear = clear && motion.Clear(j) && repeats[j] == 0 && motion.Cosine(j, k) > 0.85 && frames[j].change < 2 * frames[k].change + 0.2;
    if (!clear) continue;
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0;
    for (const long long j : steps_around) {
      mean_x += static_cast<double>(j - k) / static_cast<double>(steps_around.size());
      mean_y += motion.Size(j) / static_cast<double>(steps_around.size());
    }
    for (const long long j : steps_around) {
      const double x = static_cast<double>(j - k) - mean_x;
      xx += x * x, xy += x * (motion.Size(j) - mean_y);
    }
    const auto line = [&](long long j) { return mean_y + xy / xx * (static_cast<double>(j - k) - mean_x); };
    for (const long long j : steps_around) clear = clear && motion.Near(motion.Size(j), line(j), tolerance);
    if (predicted)
      for (const long long j : steps_around) clear = clear && frames[k].activity > 1.25 * frames[j].activity;
    const double steps = motion.Size(k) / line(k);
    const long whole = std::lround(steps);
    if (!clear || whole < 2 || whole > 8 || std::abs(steps - static_cast<double>(whole)) > 0.25) continue;
    out.exposures[k] = static_cast<int>(whole);
    // In place of the exposures that are lost a frame was repeated: the beat goes on. Otherwise it lost time.
    if (whole - 1 > halted) out.lost.push_back(k);
  }
  return out;
}

}  // namespace impactlab::internal
