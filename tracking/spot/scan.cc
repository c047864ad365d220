#include "tracking/spot/detail/scan.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>

namespace impactlab::tracking {
namespace {

// Distance of the pixels to ask the memory for [bytes]: it takes a few rows to come.
constexpr std::ptrdiff_t kAhead = 8192;

// Raises `most` to the levels of a row, pixel by pixel.
void RaisePlain(const std::uint8_t* row, int width, std::uint8_t flip, std::uint8_t* most) {
  for (int x = 0; x < width; ++x) most[x] = std::max<std::uint8_t>(most[x], row[x] ^ flip);
}

// Smallest and largest of n values.
void SpanPlain(const std::uint8_t* most, int n, std::uint8_t* low, std::uint8_t* high) {
  const auto [a, b] = std::minmax_element(most, most + n);
  *low = *a;
  *high = *b;
}

#ifdef IMPACTLAB_X86
// The last vector overlaps the one before it where the width, at least kBlock, is no multiple.
void RaiseSse2(const std::uint8_t* row, int width, std::uint8_t flip, std::uint8_t* most) {
  const __m128i f = _mm_set1_epi8(static_cast<char>(flip));
  const auto raise = [&](int x) {
    __m128i* m = reinterpret_cast<__m128i*>(most + x);
    _mm_storeu_si128(
        m,
        _mm_max_epu8(_mm_loadu_si128(m),
                     _mm_xor_si128(f, _mm_loadu_si128(reinterpret_cast<const __m128i*>(row + x)))));
  };
  int x = 0;
  for (; x + 16 <= width; x += 16) raise(x);
  if (x < width) raise(width - 16);
}

void SpanSse2(const std::uint8_t* tile, std::uint8_t* low, std::uint8_t* high) {
  const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tile)),
                b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(tile + 16));
  // Halves on halves until one byte is left.
  __m128i least = _mm_min_epu8(a, b), most = _mm_max_epu8(a, b);
  const auto fold = [&](__m128i u, __m128i v) {
    least = _mm_min_epu8(least, u);
    most = _mm_max_epu8(most, v);
  };
  fold(_mm_srli_si128(least, 8), _mm_srli_si128(most, 8));
  fold(_mm_srli_si128(least, 4), _mm_srli_si128(most, 4));
  fold(_mm_srli_si128(least, 2), _mm_srli_si128(most, 2));
  fold(_mm_srli_si128(least, 1), _mm_srli_si128(most, 1));
  *low = static_cast<std::uint8_t>(_mm_cvtsi128_si32(least));
  *high = static_cast<std::uint8_t>(_mm_cvtsi128_si32(most));
}

IMPACTLAB_AVX2 void RaiseAvx2(const std::uint8_t* row, int width, std::uint8_t flip,
                              std::ptrdiff_t ahead, std::uint8_t* most) {
  const __m256i f = _mm256_set1_epi8(static_cast<char>(flip));
  const auto raise = [&](int x) IMPACTLAB_AVX2 {
    __m256i* m = reinterpret_cast<__m256i*>(most + x);
    const __m256i v =
        _mm256_xor_si256(f, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + x)));
    _mm256_storeu_si256(m, _mm256_max_epu8(_mm256_loadu_si256(m), v));
  };
  int x = 0;
  for (; x + 64 <= width; x += 64) {
    _mm_prefetch(reinterpret_cast<const char*>(row + x + ahead), _MM_HINT_T0);
    raise(x);
    raise(x + 32);
  }
  if (x + 32 <= width) raise(x);
  if (width % 32 != 0) raise(width - 32);
}

// Two tiles side by side.
IMPACTLAB_AVX2 inline void SpansAvx2(const std::uint8_t* tiles, std::uint8_t* low,
                                     std::uint8_t* high) {
  const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(tiles)),
                b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(tiles + 32));
  // Smallest of a and of b, largest of a and of b as smallest of the complements: interleaved,
  // halved, interleaved, halved ...
  const auto least = [](__m256i v) IMPACTLAB_AVX2 {
    return _mm_min_epu8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  };
  const __m256i ones = _mm256_set1_epi8(-1);
  const __m128i la = least(a), lb = least(b), ha = least(_mm256_xor_si256(a, ones)),
                hb = least(_mm256_xor_si256(b, ones));
  const __m128i l = _mm_min_epu8(_mm_unpacklo_epi8(la, lb), _mm_unpackhi_epi8(la, lb)),
                h = _mm_min_epu8(_mm_unpacklo_epi8(ha, hb), _mm_unpackhi_epi8(ha, hb));
  __m128i all = _mm_min_epu8(_mm_unpacklo_epi16(l, h), _mm_unpackhi_epi16(l, h));
  all = _mm_min_epu8(all, _mm_shuffle_epi32(all, 0x4E));
  all = _mm_min_epu8(all, _mm_shuffle_epi32(all, 0xB1));
  const std::uint32_t bytes = static_cast<std::uint32_t>(_mm_cvtsi128_si32(all));
  low[0] = static_cast<std::uint8_t>(bytes);
  low[1] = static_cast<std::uint8_t>(bytes >> 8);
  high[0] = static_cast<std::uint8_t>(~bytes >> 16);
  high[1] = static_cast<std::uint8_t>(~bytes >> 24);
}

IMPACTLAB_AVX2 int PairsAvx2(const std::uint8_t* most, int width, std::uint8_t* low,
                             std::uint8_t* high) {
  int x = 0;
  for (; x + 2 * kBlock <= width; x += 2 * kBlock, low += 2, high += 2)
    SpansAvx2(most + x, low, high);
  return x;
}
#endif

// The tiles of a band, from the largest level of each of its columns. Row after row as they lie in
// memory, the order for which the processor prefetches. The last tile overlaps the one before it
// where the width is no multiple: a narrow rest would be filled by a spot.
void ScanBand(const GrayImage& image, int left, int width, int top, int rows, std::uint8_t flip,
              Simd simd, std::uint8_t* most, std::uint8_t* low, std::uint8_t* high) {
  std::fill(most, most + width, std::uint8_t{0});
  const std::uint8_t* end = image.pixels.data() + image.pixels.size();
  for (int y = top; y < top + rows; ++y) {
    const std::uint8_t* row =
        image.pixels.data() + static_cast<std::ptrdiff_t>(y) * image.width + left;
#ifdef IMPACTLAB_X86
    if (width >= kBlock && simd == Simd::kAvx2) {
      RaiseAvx2(row, width, flip, end - row > width + kAhead ? kAhead : 0, most);
      continue;
    }
    if (width >= kBlock && simd == Simd::kSse2) {
      RaiseSse2(row, width, flip, most);
      continue;
    }
#endif
    RaisePlain(row, width, flip, most);
  }
  int x = 0;
#ifdef IMPACTLAB_X86
  if (simd == Simd::kAvx2) x = PairsAvx2(most, width, low, high);
#endif
  for (; x < width; x += kBlock) {
    const std::uint8_t* tile = most + std::max(0, std::min(x, width - kBlock));
    const int k = x / kBlock, n = std::min(kBlock, width);
#ifdef IMPACTLAB_X86
    if (n == kBlock && simd != Simd::kPlain) {
      SpanSse2(tile, low + k, high + k);
      continue;
    }
#endif
    SpanPlain(tile, n, low + k, high + k);
  }
  (void)end;
  (void)simd;
}

// Levels and differences of n pixels, the last two of which have no partner.
void Sample(const std::uint8_t* p, int n, std::uint8_t flip, Simd simd, std::uint8_t* sample,
            std::uint8_t* difference) {
#ifdef IMPACTLAB_X86
  if (n == kBlock && simd != Simd::kPlain) {
    const __m128i zero = _mm_setzero_si128(), ones = _mm_set1_epi8(-1),
                  f = _mm_set1_epi8(static_cast<char>(flip));
    for (const int k : {0, 16}) {
      const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + k));
      // zeros at the end: no pair
      const __m128i b =
          k ? _mm_srli_si128(a, 2) : _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 2));
      const auto at_end = [&](__m128i v) {
        return _mm_or_si128(_mm_cmpeq_epi8(v, zero), _mm_cmpeq_epi8(v, ones));
      };
      const __m128i d = _mm_or_si128(_mm_subs_epu8(a, b), _mm_subs_epu8(b, a));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(sample + k), _mm_xor_si128(a, f));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(difference + k),
                       _mm_or_si128(d, _mm_or_si128(at_end(a), at_end(b))));
    }
    return;
  }
#endif
  (void)simd;
  for (int i = 0; i < n; ++i) {
    const int a = p[i], b = i + 2 < n ? p[i + 2] : 0;
    const bool pair = static_cast<unsigned>(a - 1) < 254u && static_cast<unsigned>(b - 1) < 254u;
    sample[i] = p[i] ^ flip;
    difference[i] = static_cast<std::uint8_t>(pair ? std::abs(a - b) : 255);
  }
}

}  // namespace

void LevelCounts::Clear() {
  low.clear();
  high.clear();
  sample.clear();
  difference.clear();
}

void ScanLevels(const GrayImage& image, const Rect& rect, std::uint8_t flip, int every, Simd simd,
                LevelCounts* counts) {
  const int width = rect.width(), bands = (rect.height() + kBand - 1) / kBand,
            blocks = (width + kBlock - 1) / kBlock;
  // width and left end of a sample, at most
  const int n = std::min(kBlock, width), last = std::max(0, width - kBlock);
  std::size_t tile = counts->low.size(), at = counts->sample.size();
  const std::size_t tiles = static_cast<std::size_t>(bands) * blocks,
                    samples = (tiles + every - 1) / every;
  counts->low.resize(tile + tiles);
  counts->high.resize(tile + tiles);
  counts->sample.resize(at + samples * n);
  counts->difference.resize(at + samples * n);
  thread_local std::vector<std::uint8_t> most;
  most.resize(std::max<std::size_t>(most.size(), width));
  int k = 0, turn = 0;  // block of the next sample, samples taken
  for (int band = 0; band < bands; ++band, tile += blocks) {
    const int top = rect.top + band * kBand, rows = std::min(kBand, rect.bottom + 1 - top);
    ScanBand(image, rect.left, width, top, rows, flip, simd, most.data(), &counts->low[tile],
             &counts->high[tile]);
    for (; k < blocks; k += every, at += n) {
      const std::size_t row = static_cast<std::size_t>(top + turn++ * 5 % rows) * image.width;
      Sample(image.pixels.data() + row + rect.left + std::min(k * kBlock, last), n, flip, simd,
             &counts->sample[at], &counts->difference[at]);
    }
    k -= blocks;
  }
}

namespace {

std::uint32_t AbovePlain(const std::uint8_t* p, int n, std::uint8_t flip, std::uint8_t level) {
  std::uint32_t bits = 0;
  for (int i = 0; i < n; ++i) bits |= static_cast<std::uint32_t>((p[i] ^ flip) > level) << i;
  return bits;
}

#ifdef IMPACTLAB_X86
std::uint32_t AboveSse2(const std::uint8_t* p, std::uint8_t flip, std::uint8_t level) {
  const __m128i f = _mm_set1_epi8(static_cast<char>(flip)),
                t = _mm_set1_epi8(static_cast<char>(level));
  const auto half = [&](const std::uint8_t* q) {
    const __m128i v = _mm_xor_si128(f, _mm_loadu_si128(reinterpret_cast<const __m128i*>(q)));
    return static_cast<std::uint32_t>(
        _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_subs_epu8(v, t), _mm_setzero_si128())));
  };
  return ~(half(p) | half(p + 16) << 16);
}

IMPACTLAB_AVX2 inline std::uint32_t AboveAvx2(const std::uint8_t* p, std::uint8_t flip,
                                              std::uint8_t level) {
  const __m256i v = _mm256_xor_si256(_mm256_set1_epi8(static_cast<char>(flip)),
                                     _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  const __m256i not_above = _mm256_cmpeq_epi8(
      _mm256_subs_epu8(v, _mm256_set1_epi8(static_cast<char>(level))), _mm256_setzero_si256());
  return ~static_cast<std::uint32_t>(_mm256_movemask_epi8(not_above));
}
#endif

// 32 columns of a part, or what is left of it.
struct Word {
  int x = 0, n = 0;
  bool last = false;  // of its part
};

// Bits of the pixels of a column of words, `step` words from row to row. Returns the bits of all
// rows together. `above(p, n)`: a bit for each of the n <= 32 pixels from p on.
template <typename Above>
[[gnu::always_inline]] inline void MarkColumn(const std::uint8_t* p, std::ptrdiff_t stride,
                                              int rows, int n, std::size_t step, const Above& above,
                                              std::uint32_t* bits, std::uint32_t* any) {
  for (int i = 0; i < rows; ++i, p += stride, bits += step) any[i] |= * bits = above(p, n);
}

#ifdef IMPACTLAB_X86
IMPACTLAB_AVX2 void MarkColumnAvx2(const std::uint8_t* p, std::ptrdiff_t stride, int rows, int n,
                                   std::size_t step, std::uint8_t flip, std::uint8_t level,
                                   std::uint32_t* bits, std::uint32_t* any) {
  const std::uint32_t inside = ~std::uint32_t{0} >> (32 - n);
  MarkColumn(
      p, stride, rows, n, step,
      [flip, level, inside](const std::uint8_t* q, int)
          IMPACTLAB_AVX2 { return AboveAvx2(q, flip, level) & inside; },
      bits, any);
}
#endif

// Appends the runs of the parts of the rows top..bottom, at most kBand of them.
void AppendRuns(const GrayImage& image, int top, int bottom, const std::vector<Extent>& parts,
                std::uint8_t flip, std::uint8_t level, Simd simd, std::vector<Run>* runs) {
  thread_local std::vector<Word> words;
  thread_local std::vector<std::uint32_t> marked;
  words.clear();
  for (const Extent& part : parts) {
    for (int x = part.left; x <= part.right; x += 32)
      words.push_back({x, std::min(32, part.right - x + 1), x + 32 > part.right});
  }
  const std::size_t n = words.size();
  if (marked.size() < n * kBand) marked.resize(n * kBand);
  std::uint32_t* const bits = marked.data();
  const int rows = bottom - top + 1;
  std::uint32_t any[kBand] = {};
  const std::uint8_t *first = image.pixels.data() + static_cast<std::size_t>(top) * image.width,
                     *end = image.pixels.data() + image.pixels.size();
  for (std::size_t w = 0; w < n; ++w) {
    const std::uint8_t* p = first + words[w].x;
    const int width = words[w].n;
#ifdef IMPACTLAB_X86
    if (simd == Simd::kAvx2 &&
        end - p >= static_cast<std::ptrdiff_t>(rows - 1) * image.width + 32) {
      MarkColumnAvx2(p, image.width, rows, width, n, flip, level, bits + w, any);
      continue;
    }
    if (simd != Simd::kPlain && width == 32) {
      MarkColumn(
          p, image.width, rows, width, n,
          [flip, level](const std::uint8_t* q, int) { return AboveSse2(q, flip, level); }, bits + w,
          any);
      continue;
    }
#endif
    MarkColumn(
        p, image.width, rows, width, n,
        [flip, level](const std::uint8_t* q, int k) { return AbovePlain(q, k, flip, level); },
        bits + w, any);
  }
  (void)end;
  (void)simd;
  for (int i = 0; i < rows; ++i) {
    if (any[i] == 0) continue;
    std::uint32_t carry = 0;
    int start = 0;
    for (std::size_t w = 0; w < n; ++w) {
      const std::uint32_t here = bits[i * n + w];
      std::uint32_t edges = here ^ (here << 1 | carry);  // a bit where a run begins or has ended
      bool open = carry != 0;
      carry = here >> 31;
      for (; edges; edges &= edges - 1, open = !open) {
        const int at = words[w].x + std::countr_zero(edges);
        if (open) {
          runs->push_back({start, at - 1, top + i});
        } else {
          start = at;
        }
      }
      if (words[w].last && open) {
        runs->push_back({start, words[w].x + words[w].n - 1, top + i});
        carry = 0;
      }
    }
  }
}

// Asks the memory for a part of some rows.
void Fetch(const GrayImage& image, int top, int bottom, const Extent& part) {
  for (int y = top; y <= bottom; ++y) {
    const std::uint8_t* row = image.pixels.data() + static_cast<std::size_t>(y) * image.width;
    for (int x = part.left; x <= part.right; x += 64) __builtin_prefetch(row + x);
  }
}

}  // namespace

void CollectRuns(const GrayImage& image, const Rect& rect, std::uint8_t flip, int level, Simd simd,
                 const std::vector<std::uint8_t>* high, std::vector<Run>* runs) {
  runs->clear();
  if (level >= 255) return;
  const std::uint8_t raised = static_cast<std::uint8_t>(level);
  thread_local std::vector<Extent> hot, next;
  if (high == nullptr) {
    hot.assign(1, {rect.left, rect.right});
    for (int y = rect.top; y <= rect.bottom; y += kBand)
      AppendRuns(image, y, std::min(y + kBand - 1, rect.bottom), hot, flip, raised, simd, runs);
    return;
  }
  const int width = rect.width(), blocks = (width + kBlock - 1) / kBlock,
            bands = (rect.height() + kBand - 1) / kBand;
  const auto rows = [&](int band) {
    return Extent{rect.top + band * kBand,
                  std::min(rect.top + (band + 1) * kBand - 1, rect.bottom)};
  };
  // Columns of a band with something in them.
  const auto find_hot = [&](int band, std::vector<Extent>* hot) {
    hot->clear();
    const std::uint8_t* most = high->data() + static_cast<std::size_t>(band) * blocks;
    for (int k = 0; k < blocks; ++k) {
      if (most[k] <= level) continue;
      const int from = rect.left + k * kBlock, to = std::min(from + kBlock - 1, rect.right);
      if (!hot->empty() && hot->back().right == from - 1) {
        hot->back().right = to;
      } else {
        hot->push_back({from, to});
      }
    }
  };
  find_hot(0, &hot);
  for (int band = 0; band < bands; ++band) {
    next.clear();
    if (band + 1 < bands) {
      find_hot(band + 1, &next);
      const Extent y = rows(band + 1);
      for (const Extent& part : next) Fetch(image, y.left, y.right, part);
    }
    if (!hot.empty())
      AppendRuns(image, rows(band).left, rows(band).right, hot, flip, raised, simd, runs);
    std::swap(hot, next);
  }
}

}  // namespace impactlab::tracking
