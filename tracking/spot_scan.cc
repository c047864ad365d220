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
    // The processor does not foresee that the next band follows: its lines are asked for by hand. An address past the end does no harm.
    for (; x + 64 <= width; x += 64) {
      __m256i a = _mm256_setzero_si256(), b = a;
      for (int y = 0; y < kBand; ++y) {
        _mm_prefetch(reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(first) + (y + kBand) * stride + x), _MM_HINT_T0);
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
IMPACTLAB_AVX2 void RangeAvx2(const std::uint8_t* m, std::uint8_t* low, std::uint8_t* high) {
  const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(m));
  const __m128i a = _mm256_castsi256_si128(v), b = _mm256_extracti128_si256(v, 1);
  const auto least = [](__m128i u) IMPACTLAB_AVX2 {
    return _mm_cvtsi128_si32(_mm_minpos_epu16(_mm_min_epu8(_mm_and_si128(u, _mm_set1_epi16(0xFF)), _mm_srli_epi16(u, 8)))) & 0xFF;
  };
  *low = static_cast<std::uint8_t>(least(_mm_min_epu8(a, b)));
  *high = static_cast<std::uint8_t>(255 - least(_mm_xor_si128(_mm_max_epu8(a, b), _mm_set1_epi8(-1))));
}

IMPACTLAB_AVX2 std::uint32_t AboveAvx2(const std::uint8_t* p, std::uint8_t flip, std::uint8_t level) {
  const __m256i v = _mm256_xor_si256(_mm256_set1_epi8(static_cast<char>(flip)), _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  const __m256i not_above = _mm256_cmpeq_epi8(_mm256_subs_epu8(v, _mm256_set1_epi8(static_cast<char>(level))), _mm256_setzero_si256());
  return ~static_cast<std::uint32_t>(_mm256_movemask_epi8(not_above));
}

IMPACTLAB_AVX2 std::size_t CountUpToAvx2(const std::uint8_t* values, std::size_t n, int level) {
  const __m256i t = _mm256_set1_epi8(static_cast<char>(level)), zero = _mm256_setzero_si256();
  std::size_t count = 0, i = 0;
  for (; i + 32 <= n; i += 32) {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(values + i));
    count += std::popcount(static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_subs_epu8(v, t), zero))));
  }
  for (; i < n; ++i) count += values[i] <= level;
  return count;
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
  if (n == 32 && simd == Simd::kSse2) return AboveSse2(p, flip, level);
#endif
  (void)simd;
  return AbovePlain(p, n, flip, level);
}

void Range(const std::uint8_t* m, int n, Simd simd, std::uint8_t* low, std::uint8_t* high) {
#ifdef IMPACTLAB_X86
  if (n == kBlock && simd == Simd::kAvx2) return RangeAvx2(m, low, high);
#endif
  (void)simd;
  const auto [least, most] = std::minmax_element(m, m + n);
  *low = *least;
  *high = *most;
}

// Levels and differences of n pixels, the last two of which have no partner.
void Sample(const std::uint8_t* p, int n, std::uint8_t flip, Simd simd, std::uint8_t* sample, std::uint8_t* difference) {
  int i = 0;
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
  for (; i < n; ++i) {
    const int a = p[i], b = i + 2 < n ? p[i + 2] : 0;
    const bool pair = static_cast<unsigned>(a - 1) < 254u && static_cast<unsigned>(b - 1) < 254u;
    sample[i] = p[i] ^ flip;
    difference[i] = static_cast<std::uint8_t>(pair ? std::abs(a - b) : 255);
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

void LevelCounts::Clear() {
  low.clear();
  high.clear();
  sample.clear();
  difference.clear();
}

std::size_t CountUpTo(const std::uint8_t* values, std::size_t n, int level, Simd simd) {
  std::size_t count = 0, i = 0;
#ifdef IMPACTLAB_X86
  if (simd == Simd::kAvx2) return CountUpToAvx2(values, n, level);
  if (simd == Simd::kSse2) {
    const __m128i t = _mm_set1_epi8(static_cast<char>(level)), zero = _mm_setzero_si128();
    __m128i sum = zero;
    for (; i + 16 <= n; i += 16) {
      const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i));
      sum = _mm_add_epi64(sum, _mm_sad_epu8(_mm_sub_epi8(zero, _mm_cmpeq_epi8(_mm_subs_epu8(v, t), zero)), zero));
    }
    count = static_cast<std::size_t>(_mm_cvtsi128_si64(sum)) + static_cast<std::size_t>(_mm_cvtsi128_si64(_mm_srli_si128(sum, 8)));
  }
#endif
  (void)simd;
  for (; i < n; ++i) count += values[i] <= level;
  return count;
}

RangeSums SumBetween(const std::uint8_t* values, std::size_t n, int from, int to, Simd simd) {
  RangeSums sums;
  std::size_t i = 0;
#ifdef IMPACTLAB_X86
  if (simd != Simd::kPlain) {
    const __m128i zero = _mm_setzero_si128(), low = _mm_set1_epi8(static_cast<char>(from)),
                  span = _mm_set1_epi8(static_cast<char>(to - from));
    __m128i count = zero, sum = zero, squares = zero;
    for (; i + 16 <= n && i < (1u << 16); i += 16) {
      const __m128i v = _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i)), low);  // below `from` becomes large
      const __m128i in = _mm_cmpeq_epi8(_mm_subs_epu8(v, span), zero), kept = _mm_and_si128(v, in);
      count = _mm_add_epi64(count, _mm_sad_epu8(_mm_sub_epi8(zero, in), zero));
      sum = _mm_add_epi64(sum, _mm_sad_epu8(kept, zero));
      const __m128i a = _mm_unpacklo_epi8(kept, zero), b = _mm_unpackhi_epi8(kept, zero);
      squares = _mm_add_epi32(squares, _mm_add_epi32(_mm_madd_epi16(a, a), _mm_madd_epi16(b, b)));
    }
    sums.n = _mm_cvtsi128_si64(count) + _mm_cvtsi128_si64(_mm_srli_si128(count, 8));
    sums.sum = _mm_cvtsi128_si64(sum) + _mm_cvtsi128_si64(_mm_srli_si128(sum, 8));
    squares = _mm_add_epi64(_mm_unpacklo_epi32(squares, zero), _mm_unpackhi_epi32(squares, zero));
    sums.squares = _mm_cvtsi128_si64(squares) + _mm_cvtsi128_si64(_mm_srli_si128(squares, 8));
  }
#endif
  (void)simd;
  for (; i < n; ++i) {
    if (values[i] < from || values[i] > to) continue;
    const int d = values[i] - from;
    ++sums.n;
    sums.sum += d;
    sums.squares += d * d;
  }
  return sums;
}

void ScanLevels(const GrayImage& image, const Rect& rect, std::uint8_t flip, int every, Simd simd, std::vector<std::uint8_t>* maxima,
                LevelCounts* counts) {
  const int width = rect.width(), bands = (rect.height() + kBand - 1) / kBand, blocks = (width + kBlock - 1) / kBlock;
  maxima->resize(static_cast<std::size_t>(bands) * width);
  const std::ptrdiff_t stride = image.width;
  std::size_t tile = counts->low.size();
  counts->low.resize(tile + static_cast<std::size_t>(bands) * blocks);
  counts->high.resize(counts->low.size());
  int wait = 0, turn = 0;  // tiles until the next sample, samples taken
  for (int band = 0; band < bands; ++band) {
    const int top = rect.top + band * kBand, rows = std::min(kBand, rect.bottom + 1 - top);
    const std::uint8_t* first = image.pixels.data() + top * stride + rect.left;
    std::uint8_t* m = maxima->data() + static_cast<std::size_t>(band) * width;
    ColumnMaxima(first, stride, width, rows, flip, simd, m);
    // The last block of a row overlaps the one before it where the width is no multiple: a narrow rest would be filled by a spot.
    for (int x = 0; x < width; x += kBlock, ++tile) {
      const int from = std::max(0, std::min(x, width - kBlock)), n = std::min(kBlock, width);
      Range(m + from, n, simd, &counts->low[tile], &counts->high[tile]);
      if (wait-- > 0) continue;
      wait = every - 1;
      const std::size_t at = counts->sample.size();
      counts->sample.resize(at + n);
      counts->difference.resize(at + n);
      Sample(first + (turn++ * 5 % rows) * stride + from, n, flip, simd, &counts->sample[at], &counts->difference[at]);
    }
  }
}

namespace {

// `above(p, n)`: a bit for each of the n <= 32 pixels from p on.
template <typename Above>
[[gnu::always_inline]] inline void AppendRunsWith(const std::uint8_t* row, int y, int left, int right, const Above& above,
                                                  std::vector<Run>* runs) {
  std::uint32_t carry = 0;
  int start = -1;
  for (int x = left; x <= right; x += 32) {
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

#ifdef IMPACTLAB_X86
IMPACTLAB_AVX2 void AppendRunsAvx2(const std::uint8_t* row, int y, int left, int right, std::uint8_t flip, int level,
                                   std::vector<Run>* runs) {
  const std::uint8_t l = static_cast<std::uint8_t>(level);
  AppendRunsWith(
      row, y, left, right,
      [flip, l](const std::uint8_t* p, int n) IMPACTLAB_AVX2 { return n == 32 ? AboveAvx2(p, flip, l) : AbovePlain(p, n, flip, l); }, runs);
}
#endif

}  // namespace

void AppendRuns(const GrayImage& image, int y, int left, int right, std::uint8_t flip, int level, Simd simd, std::vector<Run>* runs) {
  const std::uint8_t* row = image.pixels.data() + static_cast<std::size_t>(y) * image.width;
#ifdef IMPACTLAB_X86
  if (simd == Simd::kAvx2) return AppendRunsAvx2(row, y, left, right, flip, level, runs);
#endif
  const std::uint8_t l = static_cast<std::uint8_t>(level);
  AppendRunsWith(
      row, y, left, right, [flip, l, simd](const std::uint8_t* p, int n) { return Above(p, n, flip, l, simd); }, runs);
}

void CollectRuns(const GrayImage& image, const Rect& rect, std::uint8_t flip, int level, Simd simd, const std::vector<std::uint8_t>* maxima,
                 const std::vector<std::uint8_t>* high, std::vector<Run>* runs) {
  runs->clear();
  if (level >= 255) return;
  if (maxima == nullptr || high == nullptr) {
    for (int y = rect.top; y <= rect.bottom; ++y) AppendRuns(image, y, rect.left, rect.right, flip, level, simd, runs);
    return;
  }
  const int width = rect.width(), blocks = (width + kBlock - 1) / kBlock;
  thread_local std::vector<Extent> hot;  // columns of the band with something in them
  for (int band = 0; band * kBand < rect.height(); ++band) {
    hot.clear();
    for (int k = 0; k < blocks; ++k) {
      if ((*high)[static_cast<std::size_t>(band) * blocks + k] <= level) continue;
      const int from = k * kBlock, to = std::min(from + kBlock, width) - 1;
      if (!hot.empty() && hot.back().right == from - 1) {
        hot.back().right = to;
      } else {
        hot.push_back({from, to});
      }
    }
    if (hot.empty()) continue;
    const int top = rect.top + band * kBand, bottom = std::min(top + kBand - 1, rect.bottom);
    for (int y = top; y <= bottom; ++y) {
      for (const Extent& part : hot) AppendRuns(image, y, rect.left + part.left, rect.left + part.right, flip, level, simd, runs);
    }
  }
}

namespace {

void SumRowPlain(const std::uint8_t* row, const Extent& part, int x0, std::int64_t y, int base, int limit, ApertureSums* s) {
  std::int64_t sum = 0, first = 0, second = 0;
  for (int x = part.left; x <= part.right; ++x) {
    const std::int64_t d = row[x] - base, u = x - x0;
    sum += d;
    first += d * u;
    second += d * u * u;
    s->clamped += std::clamp<std::int64_t>(d, -limit, limit);
    s->lowest = std::min<int>(s->lowest, row[x]);
    s->highest = std::max<int>(s->highest, row[x]);
  }
  s->d += sum;
  s->dx += first;
  s->dxx += second;
  s->dy += sum * y;
  s->dxy += first * y;
  s->dyy += sum * y * y;
}

#ifdef IMPACTLAB_X86
std::int64_t Horizontal(__m128i v) {
  v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4E));
  return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 0xB1)));
}

// For apertures of at most 64 columns from x0 on and 64 rows: no sum leaves 32 bits. Products with y come from sums of running sums:
// after R rows, sum over rows of the running sum of S is sum of (R - y) S.
ApertureSums SumApertureSse2(const GrayImage& image, const std::vector<Extent>& rows, int top, int x0, int base, int limit) {
  const __m128i zero = _mm_setzero_si128(), one = _mm_set1_epi16(1), b = _mm_set1_epi16(static_cast<short>(base)),
                up = _mm_set1_epi16(static_cast<short>(limit)), down = _mm_set1_epi16(static_cast<short>(-limit));
  __m128i s = zero, s1 = zero, s2 = zero, sx = zero, sx1 = zero, sxx = zero, sc = zero, most = zero, least = _mm_set1_epi16(255);
  const std::uint8_t* end = image.pixels.data() + image.pixels.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int left = rows[i].left - x0, right = rows[i].right - x0;
    const std::uint8_t* row = image.pixels.data() + (static_cast<std::size_t>(top) + i) * image.width + x0;
    const __m128i before = _mm_set1_epi16(static_cast<short>(left)), after = _mm_set1_epi16(static_cast<short>(right));
    for (int k = left & ~7; k <= right; k += 8) {
      const std::uint8_t* p = row + k;
      __m128i v;
      if (p + 8 <= end) {
        v = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
      } else {
        std::uint64_t bytes = 0;
        std::memcpy(&bytes, p, static_cast<std::size_t>(end - p));
        v = _mm_cvtsi64_si128(static_cast<long long>(bytes));
      }
      v = _mm_unpacklo_epi8(v, zero);
      const __m128i x = _mm_add_epi16(_mm_set1_epi16(static_cast<short>(k)), _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7));
      const __m128i outside = _mm_or_si128(_mm_cmpgt_epi16(before, x), _mm_cmpgt_epi16(x, after));
      const __m128i d = _mm_andnot_si128(outside, _mm_sub_epi16(v, b));
      s = _mm_add_epi32(s, _mm_madd_epi16(d, one));
      sx = _mm_add_epi32(sx, _mm_madd_epi16(d, x));
      sxx = _mm_add_epi32(sxx, _mm_madd_epi16(d, _mm_mullo_epi16(x, x)));
      sc = _mm_add_epi32(sc, _mm_madd_epi16(_mm_max_epi16(down, _mm_min_epi16(up, d)), one));
      most = _mm_max_epi16(most, _mm_andnot_si128(outside, v));
      least = _mm_min_epi16(least, _mm_or_si128(v, _mm_and_si128(outside, _mm_set1_epi16(255))));
    }
    s1 = _mm_add_epi32(s1, s);
    s2 = _mm_add_epi32(s2, s1);
    sx1 = _mm_add_epi32(sx1, sx);
  }
  ApertureSums sums;
  const std::int64_t n = static_cast<std::int64_t>(rows.size());
  sums.d = Horizontal(s);
  sums.dx = Horizontal(sx);
  sums.dxx = Horizontal(sxx);
  sums.clamped = Horizontal(sc);
  // With u = n - y: s1 = sum of u S, sx1 = sum of u Sx, s2 = sum of u (u + 1) / 2 S.
  const std::int64_t u1 = Horizontal(s1), u2 = 2 * Horizontal(s2) - u1;
  sums.dy = n * sums.d - u1;
  sums.dxy = n * sums.dx - Horizontal(sx1);
  sums.dyy = n * n * sums.d - 2 * n * u1 + u2;
  alignas(16) std::int16_t values[8];
  _mm_store_si128(reinterpret_cast<__m128i*>(values), most);
  sums.highest = *std::max_element(values, values + 8);
  _mm_store_si128(reinterpret_cast<__m128i*>(values), least);
  sums.lowest = *std::min_element(values, values + 8);
  return sums;
}
#endif

}  // namespace

ApertureSums SumAperture(const GrayImage& image, const std::vector<Extent>& rows, int top, int x0, int base, int limit, Simd simd) {
#ifdef IMPACTLAB_X86
  int right = x0;
  for (const Extent& row : rows) right = std::max(right, row.right);
  if (simd != Simd::kPlain && rows.size() <= 64 && right - x0 < 64) return SumApertureSse2(image, rows, top, x0, base, limit);
#endif
  (void)simd;
  ApertureSums sums;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint8_t* row = image.pixels.data() + (static_cast<std::size_t>(top) + i) * image.width;
    SumRowPlain(row, rows[i], x0, static_cast<std::int64_t>(i), base, limit, &sums);
  }
  return sums;
}

}  // namespace impactlab::internal
