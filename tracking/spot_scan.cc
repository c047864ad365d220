#include "tracking/spot_scan.h"

#include <algorithm>
#include <bit>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define IMPACTLAB_X86 1
#define IMPACTLAB_AVX2 __attribute__((target("avx2,bmi,popcnt")))
#endif

namespace impactlab::internal {

Simd BestSimd() {
#ifdef IMPACTLAB_X86
  static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
  return avx2 ? Simd::kAvx2 : Simd::kSse2;
#else
  return Simd::kPlain;
#endif
}

namespace {

void ColumnMaximaPlain(const std::uint8_t* first, std::ptrdiff_t stride, int from, int width, int rows, std::uint8_t flip,
                       std::uint8_t* out) {
  for (int x = from; x < width; ++x) {
    std::uint8_t most = 0;
    for (int y = 0; y < rows; ++y) most = std::max<std::uint8_t>(most, first[y * stride + x] ^ flip);
    out[x] = most;
  }
}

#ifdef IMPACTLAB_X86
int ColumnMaximaSse2(const std::uint8_t* first, std::ptrdiff_t stride, int width, int rows, std::uint8_t flip, std::uint8_t* out) {
  const __m128i f = _mm_set1_epi8(static_cast<char>(flip));
  int x = 0;
  for (; x + 16 <= width; x += 16) {
    __m128i most = _mm_setzero_si128();
    for (int y = 0; y < rows; ++y) {
      most = _mm_max_epu8(most, _mm_xor_si128(f, _mm_loadu_si128(reinterpret_cast<const __m128i*>(first + y * stride + x))));
    }
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + x), most);
  }
  return x;
}

IMPACTLAB_AVX2 int ColumnMaximaAvx2(const std::uint8_t* first, std::ptrdiff_t stride, int width, int rows, std::uint8_t flip,
                                    std::uint8_t* out) {
  const __m256i f = _mm256_set1_epi8(static_cast<char>(flip));
  const auto at = [&](int y, int x) IMPACTLAB_AVX2 {
    return _mm256_xor_si256(f, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(first + y * stride + x)));
  };
  int x = 0;
  if (rows == kBand) {
    for (; x + 64 <= width; x += 64) {
      __m256i a = at(0, x), b = at(0, x + 32);
      for (int y = 1; y < kBand; ++y) {
        a = _mm256_max_epu8(a, at(y, x));
        b = _mm256_max_epu8(b, at(y, x + 32));
      }
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + x), a);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + x + 32), b);
    }
  }
  for (; x + 32 <= width; x += 32) {
    __m256i most = _mm256_setzero_si256();
    for (int y = 0; y < rows; ++y) most = _mm256_max_epu8(most, at(y, x));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + x), most);
  }
  return x;
}

// Smallest and largest of 32 bytes.
IMPACTLAB_AVX2 void RangeAvx2(const std::uint8_t* m, int* low, int* high) {
  const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(m));
  const __m128i a = _mm256_castsi256_si128(v), b = _mm256_extracti128_si256(v, 1);
  const auto least = [](__m128i u) IMPACTLAB_AVX2 {
    return _mm_cvtsi128_si32(_mm_minpos_epu16(_mm_min_epu8(_mm_and_si128(u, _mm_set1_epi16(0xFF)), _mm_srli_epi16(u, 8)))) & 0xFF;
  };
  *low = least(_mm_min_epu8(a, b));
  *high = 255 - least(_mm_xor_si128(_mm_max_epu8(a, b), _mm_set1_epi8(-1)));
}

IMPACTLAB_AVX2 std::uint32_t AboveAvx2(const std::uint8_t* p, std::uint8_t flip, std::uint8_t level) {
  const __m256i v = _mm256_xor_si256(_mm256_set1_epi8(static_cast<char>(flip)), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  const __m256i not_above = _mm256_cmpeq_epi8(_mm256_subs_epu8(v, _mm256_set1_epi8(static_cast<char>(level))), _mm256_setzero_si256());
  return ~static_cast<std::uint32_t>(_mm256_movemask_epi8(not_above));
}

std::uint32_t AboveSse2(const std::uint8_t* p, std::uint8_t flip, std::uint8_t level) {
  const __m128i f = _mm_set1_epi8(static_cast<char>(flip)), t = _mm_set1_epi8(static_cast<char>(level));
  const auto half = [&](const std::uint8_t* q) {
    const __m128i v = _mm_xor_si128(f, _mm_loadu_si128(reinterpret_cast<const __m128i*>(q)));
    return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_subs_epu8(v, t), _mm_setzero_si128())));
  };
  return ~(half(p) | half(p + 16) << 16);
}
#endif

std::uint32_t AbovePlain(const std::uint8_t* p, int n, std::uint8_t flip, std::uint8_t level) {
  std::uint32_t bits = 0;
  for (int i = 0; i < n; ++i) bits |= static_cast<std::uint32_t>((p[i] ^ flip) > level) << i;
  return bits;
}

std::uint32_t Above(const std::uint8_t* p, int n, std::uint8_t flip, std::uint8_t level, Simd simd) {
#ifdef IMPACTLAB_X86
  if (n == 32 && simd == Simd::kAvx2) return AboveAvx2(p, flip, level);
  if (n == 32 && simd == Simd::kSse2) return AboveSse2(p, flip, level);
#endif
  (void)simd;
  return AbovePlain(p, n, flip, level);
}

void Range(const std::uint8_t* m, int n, Simd simd, int* low, int* high) {
#ifdef IMPACTLAB_X86
  if (n == kBlock && simd == Simd::kAvx2) return RangeAvx2(m, low, high);
#endif
  (void)simd;
  const auto [least, most] = std::minmax_element(m, m + n);
  *low = *least;
  *high = *most;
}

void Sample(const std::uint8_t* p, int n, std::uint8_t flip, LevelCounts* counts) {
  for (int i = 0; i < n; ++i) ++counts->sample[p[i] ^ flip];
  counts->pixels += n;
  for (int i = 2; i < n; ++i) {
    const int a = p[i - 2], b = p[i];
    if (static_cast<unsigned>(a - 1) >= 254u || static_cast<unsigned>(b - 1) >= 254u) continue;
    ++counts->difference[std::abs(a - b)];
    ++counts->pairs;
  }
}

}  // namespace

void ColumnMaxima(const std::uint8_t* first, std::ptrdiff_t stride, int width, int rows, std::uint8_t flip, Simd simd, std::uint8_t* out) {
  int x = 0;
#ifdef IMPACTLAB_X86
  if (simd == Simd::kAvx2) x = ColumnMaximaAvx2(first, stride, width, rows, flip, out);
  if (simd == Simd::kSse2) x = ColumnMaximaSse2(first, stride, width, rows, flip, out);
#endif
  (void)simd;
  ColumnMaximaPlain(first, stride, x, width, rows, flip, out);
}

void ScanLevels(const GrayImage& image, const Rect& rect, std::uint8_t flip, int every, Simd simd, std::vector<std::uint8_t>* maxima,
                LevelCounts* counts) {
  const int width = rect.width(), bands = (rect.height() + kBand - 1) / kBand;
  maxima->resize(static_cast<std::size_t>(bands) * width);
  const std::ptrdiff_t stride = image.width;
  long long tile = 0;
  for (int band = 0; band < bands; ++band) {
    const int top = rect.top + band * kBand, rows = std::min(kBand, rect.bottom + 1 - top);
    const std::uint8_t* first = image.pixels.data() + top * stride + rect.left;
    std::uint8_t* m = maxima->data() + static_cast<std::size_t>(band) * width;
    ColumnMaxima(first, stride, width, rows, flip, simd, m);
    // The last block of a row overlaps the one before it where the width is no multiple: a narrow rest would be filled by a spot.
    for (int x = 0; x < width; x += kBlock, ++tile) {
      const int from = std::max(0, std::min(x, width - kBlock)), n = std::min(kBlock, width);
      int low = 0, high = 0;
      Range(m + from, n, simd, &low, &high);
      ++counts->low[low];
      ++counts->high[high];
      ++counts->tiles;
      if (tile % every == 0) Sample(first + (tile / every * 5 % rows) * stride + from, n, flip, counts);
    }
  }
}

void AppendRuns(const GrayImage& image, int y, int left, int right, std::uint8_t flip, int level, Simd simd, std::vector<Run>* runs) {
  const std::uint8_t* row = image.pixels.data() + static_cast<std::size_t>(y) * image.width;
  std::uint32_t carry = 0;
  int start = -1;
  for (int x = left; x <= right; x += 32) {
    const std::uint32_t above = Above(row + x, std::min(32, right - x + 1), flip, static_cast<std::uint8_t>(level), simd);
    std::uint32_t edges = above ^ (above << 1 | carry);  // a bit where a run begins or has ended
    carry = above >> 31;
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

void CollectRuns(const GrayImage& image, const Rect& rect, std::uint8_t flip, int level, Simd simd, const std::vector<std::uint8_t>* maxima,
                 std::vector<Run>* runs) {
  runs->clear();
  if (level >= 255) return;
  if (maxima == nullptr) {
    for (int y = rect.top; y <= rect.bottom; ++y) AppendRuns(image, y, rect.left, rect.right, flip, level, simd, runs);
    return;
  }
  const int width = rect.width();
  thread_local std::vector<std::pair<int, int>> hot;  // columns of the band with something in them
  for (int band = 0; band * kBand < rect.height(); ++band) {
    const std::uint8_t* m = maxima->data() + static_cast<std::size_t>(band) * width;
    hot.clear();
    for (int x = 0; x < width; x += 32) {
      const int n = std::min(32, width - x);
      if (Above(m + x, n, 0, static_cast<std::uint8_t>(level), simd) == 0) continue;
      if (!hot.empty() && hot.back().second == x - 1) {
        hot.back().second = x + n - 1;
      } else {
        hot.emplace_back(x, x + n - 1);
      }
    }
    if (hot.empty()) continue;
    const int top = rect.top + band * kBand, bottom = std::min(top + kBand - 1, rect.bottom);
    for (int y = top; y <= bottom; ++y) {
      for (const auto& [from, to] : hot) AppendRuns(image, y, rect.left + from, rect.left + to, flip, level, simd, runs);
    }
  }
}

namespace {

void SumPlain(const std::uint8_t* p, int from, int n, int base, int limit, RowSums* s) {
  for (int x = from; x < n; ++x) {
    const int d = p[x] - base;
    s->d += d;
    s->dx += static_cast<std::int64_t>(d) * x;
    s->dxx += static_cast<std::int64_t>(d) * x * x;
    s->clamped += std::clamp(d, -limit, limit);
    s->lowest = std::min<int>(s->lowest, p[x]);
    s->highest = std::max<int>(s->highest, p[x]);
  }
}

#ifdef IMPACTLAB_X86
int Horizontal(__m128i v) {
  v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 0xB1)));
}

// For n of at most 128: x^2 fits 16 bits.
void SumSse2(const std::uint8_t* p, int n, int base, int limit, RowSums* s) {
  const __m128i zero = _mm_setzero_si128(), one = _mm_set1_epi16(1);
  const __m128i b = _mm_set1_epi16(static_cast<short>(base)), up = _mm_set1_epi16(static_cast<short>(limit)),
                down = _mm_set1_epi16(static_cast<short>(-limit));
  __m128i sd = zero, sdx = zero, sdxx = zero, sc = zero, most = zero, least = _mm_set1_epi16(255);
  __m128i x = _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7);
  const __m128i step = _mm_set1_epi16(8), count = _mm_set1_epi16(static_cast<short>(n));
  for (int i = 0; i < n; i += 8, x = _mm_add_epi16(x, step)) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, p + i, 8 <= n - i ? 8 : n - i);
    const __m128i v = _mm_unpacklo_epi8(_mm_cvtsi64_si128(static_cast<long long>(bytes)), zero);
    const __m128i inside = _mm_cmpgt_epi16(count, x);
    const __m128i d = _mm_and_si128(inside, _mm_sub_epi16(v, b));
    sd = _mm_add_epi32(sd, _mm_madd_epi16(d, one));
    sdx = _mm_add_epi32(sdx, _mm_madd_epi16(d, x));
    sdxx = _mm_add_epi32(sdxx, _mm_madd_epi16(d, _mm_mullo_epi16(x, x)));
    sc = _mm_add_epi32(sc, _mm_madd_epi16(_mm_max_epi16(down, _mm_min_epi16(up, d)), one));
    most = _mm_max_epi16(most, v);  // zero outside
    least = _mm_min_epi16(least, _mm_or_si128(v, _mm_andnot_si128(inside, _mm_set1_epi16(255))));
  }
  s->d += Horizontal(sd);
  s->dx += Horizontal(sdx);
  s->dxx += Horizontal(sdxx);
  s->clamped += Horizontal(sc);
  const auto fold = [](__m128i v, auto f) {
    v = f(v, _mm_shuffle_epi32(v, 0x4E));
    v = f(v, _mm_shuffle_epi32(v, 0xB1));
    return _mm_extract_epi16(f(v, _mm_srli_epi32(v, 16)), 0);
  };
  s->highest = std::max(s->highest, fold(most, [](__m128i u, __m128i w) { return _mm_max_epi16(u, w); }));
  s->lowest = std::min(s->lowest, fold(least, [](__m128i u, __m128i w) { return _mm_min_epi16(u, w); }));
}
#endif

}  // namespace

RowSums SumRow(const std::uint8_t* p, int n, int base, int limit, Simd simd) {
  RowSums sums;
#ifdef IMPACTLAB_X86
  if (simd != Simd::kPlain && n <= 128) {
    SumSse2(p, n, base, limit, &sums);
    return sums;
  }
#endif
  (void)simd;
  SumPlain(p, 0, n, base, limit, &sums);
  return sums;
}

}  // namespace impactlab::internal
