#include "tracking/spot_scan.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>

namespace impactlab::internal {
namespace {

// A tile of at most kBlock columns.
void TilePlain(const std::uint8_t* first, std::ptrdiff_t stride, int width, int rows, std::uint8_t flip, std::uint8_t* low,
               std::uint8_t* high) {
  std::uint8_t most[kBlock] = {};
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < width; ++x) most[x] = std::max<std::uint8_t>(most[x], first[y * stride + x] ^ flip);
  }
  const auto [a, b] = std::minmax_element(most, most + width);
  *low = *a;
  *high = *b;
}

#ifdef IMPACTLAB_X86
void TileSse2(const std::uint8_t* first, std::ptrdiff_t stride, int rows, std::uint8_t flip, std::uint8_t* low, std::uint8_t* high) {
  const __m128i f = _mm_set1_epi8(static_cast<char>(flip));
  const auto at = [&](const std::uint8_t* p) { return _mm_xor_si128(f, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p))); };
  __m128i a = _mm_setzero_si128(), b = a;
  for (int y = 0; y < rows; ++y) {
    a = _mm_max_epu8(a, at(first + y * stride));
    b = _mm_max_epu8(b, at(first + y * stride + 16));
  }
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

// Two tiles side by side. `ahead`: distance of the pixels to ask the memory for, which are two bands on: the processor does not foresee the
// order of the rows. 0: none.
IMPACTLAB_AVX2 inline void TwoTilesAvx2(const std::uint8_t* first, std::ptrdiff_t stride, int rows, std::uint8_t flip, std::ptrdiff_t ahead,
                                        std::uint8_t* low, std::uint8_t* high) {
  const __m256i f = _mm256_set1_epi8(static_cast<char>(flip));
  const auto at = [&](const std::uint8_t* p)
                      IMPACTLAB_AVX2 { return _mm256_xor_si256(f, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))); };
  __m256i a = _mm256_setzero_si256(), b = a;
  if (ahead > 0) {
    for (int y = 0; y < kBand; ++y) {
      const std::uint8_t* p = first + y * stride;
      _mm_prefetch(reinterpret_cast<const char*>(p + ahead), _MM_HINT_T1);
      a = _mm256_max_epu8(a, at(p));
      b = _mm256_max_epu8(b, at(p + 32));
    }
  } else {
    for (int y = 0; y < rows; ++y) {
      const std::uint8_t* p = first + y * stride;
      a = _mm256_max_epu8(a, at(p));
      b = _mm256_max_epu8(b, at(p + 32));
    }
  }
  // Smallest of a and of b, largest of a and of b as smallest of the complements: interleaved, halved, interleaved, halved ...
  const auto least = [](__m256i v) IMPACTLAB_AVX2 { return _mm_min_epu8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)); };
  const __m256i ones = _mm256_set1_epi8(-1);
  const __m128i la = least(a), lb = least(b), ha = least(_mm256_xor_si256(a, ones)), hb = least(_mm256_xor_si256(b, ones));
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

IMPACTLAB_AVX2 int PairsAvx2(const std::uint8_t* first, std::ptrdiff_t stride, int width, int rows, std::uint8_t flip, std::ptrdiff_t ahead,
                             std::uint8_t* low, std::uint8_t* high) {
  int x = 0;
  for (; x + 2 * kBlock <= width; x += 2 * kBlock, low += 2, high += 2) {
    TwoTilesAvx2(first + x, stride, rows, flip, ahead, low, high);
  }
  return x;
}
#endif

// The tiles of a band. The last overlaps the one before it where the width is no multiple: a narrow rest would be filled by a spot.
void ScanBand(const std::uint8_t* first, std::ptrdiff_t stride, int width, int rows, std::uint8_t flip, std::ptrdiff_t ahead, Simd simd,
              std::uint8_t* low, std::uint8_t* high) {
  int x = 0;
#ifdef IMPACTLAB_X86
  if (simd == Simd::kAvx2) x = PairsAvx2(first, stride, width, rows, flip, ahead, low, high);
#endif
  for (; x < width; x += kBlock) {
    const std::uint8_t* tile = first + std::max(0, std::min(x, width - kBlock));
    const int k = x / kBlock, n = std::min(kBlock, width);
#ifdef IMPACTLAB_X86
    if (n == kBlock && simd != Simd::kPlain) {
      TileSse2(tile, stride, rows, flip, low + k, high + k);
      continue;
    }
#endif
    TilePlain(tile, stride, n, rows, flip, low + k, high + k);
  }
  (void)ahead;
  (void)simd;
}

// Levels and differences of n pixels, the last two of which have no partner.
void Sample(const std::uint8_t* p, int n, std::uint8_t flip, Simd simd, std::uint8_t* sample, std::uint8_t* difference) {
#ifdef IMPACTLAB_X86
  if (n == kBlock && simd != Simd::kPlain) {
    const __m128i zero = _mm_setzero_si128(), ones = _mm_set1_epi8(-1), f = _mm_set1_epi8(static_cast<char>(flip));
    for (const int k : {0, 16}) {
      const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + k));
      const __m128i b = k ? _mm_srli_si128(a, 2) : _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 2));  // zeros at the end: no pair
      const auto at_end = [&](__m128i v) { return _mm_or_si128(_mm_cmpeq_epi8(v, zero), _mm_cmpeq_epi8(v, ones)); };
      const __m128i d = _mm_or_si128(_mm_subs_epu8(a, b), _mm_subs_epu8(b, a));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(sample + k), _mm_xor_si128(a, f));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(difference + k), _mm_or_si128(d, _mm_or_si128(at_end(a), at_end(b))));
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

void ScanLevels(const GrayImage& image, const Rect& rect, std::uint8_t flip, int every, Simd simd, LevelCounts* counts) {
  const int width = rect.width(), bands = (rect.height() + kBand - 1) / kBand, blocks = (width + kBlock - 1) / kBlock;
  const std::ptrdiff_t stride = image.width;
  std::size_t tile = counts->low.size();
  counts->low.resize(tile + static_cast<std::size_t>(bands) * blocks);
  counts->high.resize(counts->low.size());
  int k = 0, turn = 0;  // block of the next sample, samples taken
  for (int band = 0; band < bands; ++band, tile += blocks) {
    const int top = rect.top + band * kBand, rows = std::min(kBand, rect.bottom + 1 - top);
    const std::uint8_t* first = image.pixels.data() + top * stride + rect.left;
    const std::ptrdiff_t ahead = top + 3 * kBand <= rect.bottom + 1 ? 2 * kBand * stride : 0;
    ScanBand(first, stride, width, rows, flip, ahead, simd, &counts->low[tile], &counts->high[tile]);
    for (; k < blocks; k += every) {
      const int from = std::max(0, std::min(k * kBlock, width - kBlock)), n = std::min(kBlock, width);
      const std::size_t at = counts->sample.size();
      counts->sample.resize(at + n);
      counts->difference.resize(at + n);
      Sample(first + (turn++ * 5 % rows) * stride + from, n, flip, simd, &counts->sample[at], &counts->difference[at]);
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
  const __m128i f = _mm_set1_epi8(static_cast<char>(flip)), t = _mm_set1_epi8(static_cast<char>(level));
  const auto half = [&](const std::uint8_t* q) {
    const __m128i v = _mm_xor_si128(f, _mm_loadu_si128(reinterpret_cast<const __m128i*>(q)));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_subs_epu8(v, t), _mm_setzero_si128())));
  };
  return ~(half(p) | half(p + 16) << 16);
}

IMPACTLAB_AVX2 inline std::uint32_t AboveAvx2(const std::uint8_t* p, std::uint8_t flip, std::uint8_t level) {
  const __m256i v = _mm256_xor_si256(_mm256_set1_epi8(static_cast<char>(flip)), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  const __m256i not_above = _mm256_cmpeq_epi8(_mm256_subs_epu8(v, _mm256_set1_epi8(static_cast<char>(level))), _mm256_setzero_si256());
  return ~static_cast<std::uint32_t>(_mm256_movemask_epi8(not_above));
}
#endif

// Appends the runs of the parts of the rows top..bottom. `above(p, n)`: a bit for each of the n <= 32 pixels from p on.
template <typename Above>
[[gnu::always_inline]] inline void AppendRuns(const GrayImage& image, int top, int bottom, const Extent* parts, std::size_t n_parts,
                                              const Above& above, std::vector<Run>* runs) {
  for (int y = top; y <= bottom; ++y) {
    const std::uint8_t* row = image.pixels.data() + static_cast<std::size_t>(y) * image.width;
    for (std::size_t i = 0; i < n_parts; ++i) {
      const int right = parts[i].right;
      std::uint32_t carry = 0;
      int start = -1;
      for (int x = parts[i].left; x <= right; x += 32) {
        const std::uint32_t bits = above(row + x, std::min(32, right - x + 1));
        std::uint32_t edges = bits ^ (bits << 1 | carry);  // a bit where a run begins or has ended
        carry = bits >> 31;
        while (edges) {
          const int at = x + std::countr_zero(edges);
          edges &= edges - 1;
          if (start < 0) {
            start = at;
          } else {
            runs->push_back({start, at - 1, y});
            start = -1;
          }
        }
      }
      if (start >= 0) runs->push_back({start, right, y});
    }
  }
}

#ifdef IMPACTLAB_X86
IMPACTLAB_AVX2 void AppendRunsAvx2(const GrayImage& image, int top, int bottom, const Extent* parts, std::size_t n_parts, std::uint8_t flip,
                                   std::uint8_t level, std::vector<Run>* runs) {
  const std::uint8_t* end = image.pixels.data() + image.pixels.size();
  const auto above = [flip, level, end](const std::uint8_t* p, int n) IMPACTLAB_AVX2 {
    if (end - p < 32) return AbovePlain(p, n, flip, level);
    return AboveAvx2(p, flip, level) & (~std::uint32_t{0} >> (32 - n));
  };
  AppendRuns(image, top, bottom, parts, n_parts, above, runs);
}
#endif

void AppendRuns(const GrayImage& image, int top, int bottom, const Extent* parts, std::size_t n_parts, std::uint8_t flip, int level,
                Simd simd, std::vector<Run>* runs) {
  const std::uint8_t l = static_cast<std::uint8_t>(level);
#ifdef IMPACTLAB_X86
  if (simd == Simd::kAvx2) return AppendRunsAvx2(image, top, bottom, parts, n_parts, flip, l, runs);
  if (simd == Simd::kSse2) {
    const auto above = [flip, l](const std::uint8_t* p, int n) { return n == 32 ? AboveSse2(p, flip, l) : AbovePlain(p, n, flip, l); };
    return AppendRuns(image, top, bottom, parts, n_parts, above, runs);
  }
#endif
  (void)simd;
  AppendRuns(
      image, top, bottom, parts, n_parts, [flip, l](const std::uint8_t* p, int n) { return AbovePlain(p, n, flip, l); }, runs);
}

// Asks the memory for a part of some rows.
void Fetch(const GrayImage& image, int top, int bottom, const Extent& part) {
  for (int y = top; y <= bottom; ++y) {
    const std::uint8_t* row = image.pixels.data() + static_cast<std::size_t>(y) * image.width;
    for (int x = part.left; x <= part.right; x += 64) __builtin_prefetch(row + x);
  }
}

}  // namespace

void CollectRuns(const GrayImage& image, const Rect& rect, std::uint8_t flip, int level, Simd simd, const std::vector<std::uint8_t>* high,
                 std::vector<Run>* runs) {
  runs->clear();
  if (level >= 255) return;
  if (high == nullptr) {
    const Extent whole{rect.left, rect.right};
    AppendRuns(image, rect.top, rect.bottom, &whole, 1, flip, level, simd, runs);
    return;
  }
  const int width = rect.width(), blocks = (width + kBlock - 1) / kBlock, bands = (rect.height() + kBand - 1) / kBand;
  const auto rows = [&](int band) { return Extent{rect.top + band * kBand, std::min(rect.top + (band + 1) * kBand - 1, rect.bottom)}; };
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
  thread_local std::vector<Extent> hot, next;
  find_hot(0, &hot);
  for (int band = 0; band < bands; ++band) {
    next.clear();
    if (band + 1 < bands) {
      find_hot(band + 1, &next);
      const Extent y = rows(band + 1);
      for (const Extent& part : next) Fetch(image, y.left, y.right, part);
    }
    if (!hot.empty()) AppendRuns(image, rows(band).left, rows(band).right, hot.data(), hot.size(), flip, level, simd, runs);
    std::swap(hot, next);
  }
}

}  // namespace impactlab::internal
