// Comparison of consecutive frames: differences, moving blocks, interlacing, brightness.

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "data/statistics/order_statistic.h"
#include "tracking/doctor/detail/checks.h"

namespace impactlab::tracking {
namespace {

constexpr int kBlock = 16;     // [px]
constexpr int kSamples = 256;  // blocks whose noise is kept for the whole recording
constexpr int kBands = 8;
constexpr double kActive = 1.6;                // times the noise of a block, and
constexpr double kActiveFloor = 0.3;           // grey levels on top: what moves
constexpr double kRim = 1.1, kRimFloor = 0.1;  // the same beside it
// grey levels by which a line must stand out of both its neighbours, above the noise
constexpr int kCombStep = 12;

// FNV-1a, eight pixels at a time.
std::uint64_t Fingerprint(const std::vector<std::uint8_t>& pixels) {
  std::uint64_t print = 0xcbf29ce484222325ULL, word = 0;
  const std::size_t whole = pixels.size() / sizeof word * sizeof word;
  for (std::size_t i = 0; i < whole; i += sizeof word) {
    std::memcpy(&word, pixels.data() + i, sizeof word);
    print = (print ^ word) * 0x100000001b3ULL;
    print ^= print >> 29;
  }
  for (std::size_t i = whole; i < pixels.size(); ++i)
    print = (print ^ pixels[i]) * 0x100000001b3ULL;
  return print;
}

// What blocks of the same brightness differ by between two frames when nothing moves in them: the
// third quartile, since a coder leaves some of them as they were and a body moves in a few. Levels
// that too few blocks have take the noise of the next that enough have.
std::vector<float> UsualDifference(const std::vector<float>& level,
                                   const std::vector<float>& difference) {
  constexpr int kLevels = 8;
  const auto bin = [](float v) {
    return std::clamp(static_cast<int>(v) * kLevels / 256, 0, kLevels - 1);
  };
  std::vector<std::vector<float>> in(kLevels);
  for (std::size_t b = 0; b < level.size(); ++b) in[bin(level[b])].push_back(difference[b]);
  const std::size_t enough = std::max<std::size_t>(8, level.size() / 10);
  std::vector<float> usual(kLevels, -1);
  for (int i = 0; i < kLevels; ++i) {
    if (in[i].size() < enough) continue;
    usual[i] = OrderStatistic(in[i], 3 * in[i].size() / 4);
  }
  std::vector<float> out(level.size(), 0.0F);
  for (std::size_t b = 0; b < level.size(); ++b) {
    const int i = bin(level[b]);
    for (int off = 0; off < kLevels; ++off) {
      const float below = i - off >= 0 ? usual[i - off] : -1,
                  above = i + off < kLevels ? usual[i + off] : -1;
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

void FrameMeter::MeasureBlocks(const GrayImage& image, BlockLevels* blocks_out, FrameMeasure* m) {
  const int width = image.width, n = blocks();
  const int bw = blocks_out->width, bh = blocks_out->height;
  const bool compare = blocks_out->compared;
  std::vector<float>&level = blocks_out->level, &difference = blocks_out->difference;
  level.assign(static_cast<std::size_t>(n), 0.0F);
  difference.assign(static_cast<std::size_t>(n), 0.0F);
  const int n_bands = std::min(kBands, rows_);
  m->bands.assign(static_cast<std::size_t>(n_bands), 0.0F);
  std::vector<int> rows_in(static_cast<std::size_t>(n_bands), 0);
  double total = 0;
  std::size_t alike = 0;
  for (int r = 0; r < rows_; ++r) {
    std::vector<unsigned> sum(static_cast<std::size_t>(columns_), 0),
        apart(static_cast<std::size_t>(columns_), 0);
    for (int y = r * bh; y < (r + 1) * bh; ++y) {
      const std::uint8_t* now = image.pixels.data() + static_cast<std::size_t>(y) * width;
      const std::uint8_t* before =
          compare ? last_.pixels.data() + static_cast<std::size_t>(y) * width : now;
      for (int c = 0; c < columns_; ++c) {
        unsigned s = 0, d = 0;
        for (int x = c * bw; x < (c + 1) * bw; ++x)
          s += now[x], d += static_cast<unsigned>(std::abs(now[x] - before[x])),
              alike += now[x] == before[x];
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
    m->bands[band] += static_cast<float>(row / columns_), ++rows_in[band];
  }
  for (int b = 0; b < n_bands; ++b) m->bands[b] /= static_cast<float>(rows_in[b]);
  m->mean = total / n;
  blocks_out->alike = alike;
}

// A body that moves between two fields appears in every other line: a line unlike those beside it
// and like those of its own field.
void FrameMeter::CountComb(const GrayImage& image, int x0, int y0, const BlockLevels& blocks_in,
                           float usual, FrameMeasure* m) const {
  const int stands_out = kCombStep + static_cast<int>(3 * usual);
  for (int y = std::max(2, y0); y < std::min(image.height - 2, y0 + blocks_in.height); ++y) {
    for (int x = x0; x < x0 + blocks_in.width; ++x) {
      const int here = image.At(x, y), up = here - image.At(x, y - 1),
                down = here - image.At(x, y + 1);
      if (up * down <= 0 || std::min(std::abs(up), std::abs(down)) < stands_out) continue;
      const int same = std::min(std::abs(up), std::abs(down)) / 2;
      const bool field =
          std::abs(here - image.At(x, y - 2)) < same && std::abs(here - image.At(x, y + 2)) < same;
      ++(field ? m->comb : m->ridges);
    }
  }
}

void FrameMeter::MeasureChange(const GrayImage& image, const BlockLevels& blocks_in,
                               FrameMeasure* m) {
  const int n = blocks(), bw = blocks_in.width, bh = blocks_in.height;
  const std::vector<float>& difference = blocks_in.difference;
  const std::vector<float> usual = UsualDifference(blocks_in.level, difference);
  m->identical = image.pixels == last_.pixels;
  m->equal = static_cast<double>(blocks_in.alike) / (static_cast<double>(n) * bw * bh);
  std::vector<std::uint16_t> kept;
  for (const int b : sampled_)
    kept.push_back(static_cast<std::uint16_t>(
        std::min(65535.0F, static_cast<float>(kSampleScale) * difference[b])));
  samples_.push_back(std::move(kept));
  // Blocks that move, and their neighbours that hold the border of what moves and alone would not
  // stand out of the noise.
  std::vector<char> moves(static_cast<std::size_t>(n), 0);
  for (int b = 0; b < n; ++b) {
    moves[b] = difference[b] > kActive * usual[b] + kActiveFloor;
    m->strongest = std::max<double>(m->strongest, difference[b]);
    m->hidden = std::max(m->hidden, kActive * usual[b] + kActiveFloor);
  }
  const auto beside = [&](int b) {
    for (int r = std::max(0, b / columns_ - 1); r <= std::min(rows_ - 1, b / columns_ + 1); ++r)
      for (int c = std::max(0, b % columns_ - 1); c <= std::min(columns_ - 1, b % columns_ + 1);
           ++c)
        if (moves[r * columns_ + c] != 0) return true;
    return false;
  };
  double moved = 0, centre[2] = {0, 0};
  for (int b = 0; b < n; ++b) {
    m->active += moves[b], m->change += difference[b] / n;
    if (moves[b] == 0 && !(difference[b] > kRim * usual[b] + kRimFloor && beside(b))) continue;
    const int x0 = b % columns_ * bw, y0 = b / columns_ * bh;
    for (int y = y0; y < y0 + bh; ++y) {
      for (int x = x0; x < x0 + bw; ++x) {
        const double d = static_cast<double>(image.At(x, y)) - last_.At(x, y);
        m->activity += std::abs(d), moved += d;
        m->moment[0] += d * x, m->moment[1] += d * y;
        centre[0] += std::abs(d) * x, centre[1] += std::abs(d) * y;
      }
    }
    if (moves[b] != 0) CountComb(image, x0, y0, blocks_in, usual[b], m);
  }
  // About the middle of the change: a body before a background that is not everywhere as bright
  // would count with its distance from the corner.
  if (m->activity > 0)
    for (int i = 0; i < 2; ++i) m->moment[i] -= centre[i] / m->activity * moved;
  m->balance = m->activity > 0 ? std::abs(moved) / m->activity : 1;
}

FrameMeasure FrameMeter::MeasureFrame(const GrayImage& image) {
  FrameMeasure m;
  const bool first = columns_ == 0;
  if (first) Start(image);
  BlockLevels levels;
  levels.width = std::min(kBlock, image.width);
  levels.height = std::min(kBlock, image.height);
  levels.compared = last_.width == image.width && last_.height == image.height;
  MeasureBlocks(image, &levels, &m);
  m.print = Fingerprint(image.pixels);

  if (first) reference_ = levels.level;
  std::vector<float> ratios;
  for (int b = 0; b < blocks(); ++b)
    if (reference_[b] > 10 && reference_[b] < 245)
      ratios.push_back(levels.level[b] / reference_[b]);
  if (!ratios.empty()) m.gain = UpperMedian(std::move(ratios));
  if (levels.compared) MeasureChange(image, levels, &m);
  last_ = image;
  return m;
}

}  // namespace impactlab::tracking
