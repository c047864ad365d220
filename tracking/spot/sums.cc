#include "tracking/spot/detail/sums.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace impactlab::tracking {
namespace {

#ifdef IMPACTLAB_X86
// The 32 bytes from kLast + r on are 0xFF in the last r places: what is left of an array is read
// with what lies before it.
alignas(64) constexpr auto kLast = [] {
  std::array<std::uint8_t, 64> bytes{};
  for (int i = 32; i < 64; ++i) bytes[i] = 0xFF;
  return bytes;
}();

IMPACTLAB_AVX2 std::size_t CountUpToAvx2(const std::uint8_t* values, std::size_t n, int level) {
  const __m256i t = _mm256_set1_epi8(static_cast<char>(level));
  const auto up_to = [&](const std::uint8_t* p) IMPACTLAB_AVX2 {
    const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
    return static_cast<std::uint32_t>(
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(v, t), v)));
  };
  std::size_t count = 0, i = 0;
  for (; i + 32 <= n; i += 32) count += std::popcount(up_to(values + i));
  if (i > 0 && i < n) return count + std::popcount(up_to(values + n - 32) >> (32 - (n - i)));
  for (; i < n; ++i) count += values[i] <= level;
  return count;
}

// Of the first values, as many as no sum leaves its 32 bits for; returns how many.
IMPACTLAB_AVX2 std::size_t SumBetweenAvx2(const std::uint8_t* values, std::size_t n, int from,
                                          int to, RangeSums* sums) {
  if (n < 32) return 0;
  const __m256i zero = _mm256_setzero_si256(), low = _mm256_set1_epi8(static_cast<char>(from)),
                span = _mm256_set1_epi8(static_cast<char>(to - from));
  __m256i count = zero, sum = zero, squares = zero;
  const auto add = [&](const std::uint8_t* p, __m256i among) IMPACTLAB_AVX2 {
    // below `from` becomes large
    const __m256i v = _mm256_sub_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), low);
    const __m256i in = _mm256_and_si256(among, _mm256_cmpeq_epi8(_mm256_min_epu8(v, span), v)),
                  kept = _mm256_and_si256(v, in);
    count = _mm256_add_epi64(count, _mm256_sad_epu8(_mm256_sub_epi8(zero, in), zero));
    sum = _mm256_add_epi64(sum, _mm256_sad_epu8(kept, zero));
    const __m256i a = _mm256_unpacklo_epi8(kept, zero), b = _mm256_unpackhi_epi8(kept, zero);
    squares = _mm256_add_epi32(squares,
                               _mm256_add_epi32(_mm256_madd_epi16(a, a), _mm256_madd_epi16(b, b)));
  };
  std::size_t i = 0;
  for (; i + 32 <= n && i < (1u << 16); i += 32) add(values + i, _mm256_set1_epi8(-1));
  if (i < n && n - i < 32) {
    add(values + n - 32, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(&kLast[n - i])));
    i = n;
  }
  const auto total = [](__m256i v) IMPACTLAB_AVX2 {
    const __m128i u = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    return _mm_cvtsi128_si64(u) + _mm_extract_epi64(u, 1);
  };
  sums->n = total(count);
  sums->sum = total(sum);
  sums->squares = total(
      _mm256_add_epi64(_mm256_unpacklo_epi32(squares, zero), _mm256_unpackhi_epi32(squares, zero)));
  return i;
}
#endif

}  // namespace

std::size_t CountUpTo(const std::uint8_t* values, std::size_t n, int level, Simd simd) {
  std::size_t count = 0, i = 0;
#ifdef IMPACTLAB_X86
  if (simd == Simd::kAvx2) return CountUpToAvx2(values, n, level);
  if (simd == Simd::kSse2) {
    const __m128i t = _mm_set1_epi8(static_cast<char>(level)), zero = _mm_setzero_si128();
    __m128i sum = zero;
    for (; i + 16 <= n; i += 16) {
      const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i));
      sum = _mm_add_epi64(
          sum, _mm_sad_epu8(_mm_sub_epi8(zero, _mm_cmpeq_epi8(_mm_subs_epu8(v, t), zero)), zero));
    }
    count = static_cast<std::size_t>(_mm_cvtsi128_si64(sum)) +
            static_cast<std::size_t>(_mm_cvtsi128_si64(_mm_srli_si128(sum, 8)));
  }
#endif
  (void)simd;
  for (; i < n; ++i) count += values[i] <= level;
  return count;
}

int RankLevel(const std::uint8_t* values, std::size_t n, std::size_t rank, int guess, Simd simd) {
  // Of many values, a few tell about where it is.
  if (n >= 1024)
    guess = RankLevel(values, n / 16, std::max<std::size_t>(1, rank / 16), guess, simd);
  int low = -1, high = 255;  // `low` is too small, `high` is not
  for (int at = std::clamp(guess, 0, 254), step = 1; high - low > 1;
       at = std::clamp(at, low + 1, high - 1)) {
    // Away from the guess by longer and longer steps until the answer is enclosed, then by halves.
    const bool enough = CountUpTo(values, n, at, simd) >= rank;
    (enough ? high : low) = at;
    if (low < 0 || high > 254) {
      at += enough ? -step : step;
      step *= 2;
    } else {
      at = (low + high) / 2;
    }
  }
  return high;
}

RangeSums SumBetween(const std::uint8_t* values, std::size_t n, int from, int to, Simd simd) {
  RangeSums sums;
  std::size_t i = 0;
#ifdef IMPACTLAB_X86
  if (simd == Simd::kAvx2) i = SumBetweenAvx2(values, n, from, to, &sums);
  if (simd == Simd::kSse2) {
    const __m128i zero = _mm_setzero_si128(), low = _mm_set1_epi8(static_cast<char>(from)),
                  span = _mm_set1_epi8(static_cast<char>(to - from));
    __m128i count = zero, sum = zero, squares = zero;
    for (; i + 16 <= n && i < (1u << 16); i += 16) {
      // below `from` becomes large
      const __m128i v =
          _mm_sub_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(values + i)), low);
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

namespace {

void SumRowPlain(const std::uint8_t* row, const Extent& part, int x0, std::int64_t y, int base,
                 int limit, ApertureSums* s) {
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

// Apertures of at most 64 columns from x0 on and 64 rows: no sum leaves 32 bits. Products with y
// come from sums of running sums: after R rows, sum over rows of the running sum of S is sum of u S
// with u = R - y; that of the running sum of it is sum of u (u + 1) / 2 S.
struct NarrowSums {
  std::int64_t s, s1, s2, sx, sx1, sxx, clamped;
  int lowest, highest;
};

ApertureSums FromNarrow(const NarrowSums& from, std::size_t rows) {
  const std::int64_t n = static_cast<std::int64_t>(rows);
  ApertureSums sums;
  sums.d = from.s;
  sums.dx = from.sx;
  sums.dxx = from.sxx;
  sums.dy = n * from.s - from.s1;
  sums.dxy = n * from.sx - from.sx1;
  sums.dyy = n * n * from.s - 2 * n * from.s1 + 2 * from.s2 - from.s1;
  sums.clamped = from.clamped;
  sums.lowest = from.lowest;
  sums.highest = from.highest;
  return sums;
}

ApertureSums SumApertureSse2(const GrayImage& image, const std::vector<Extent>& rows, int top,
                             int x0, int base, int limit) {
  const __m128i zero = _mm_setzero_si128(), one = _mm_set1_epi16(1),
                b = _mm_set1_epi16(static_cast<short>(base)),
                up = _mm_set1_epi16(static_cast<short>(limit)),
                down = _mm_set1_epi16(static_cast<short>(-limit));
  __m128i s = zero, s1 = zero, s2 = zero, sx = zero, sx1 = zero, sxx = zero, sc = zero, most = zero,
          least = _mm_set1_epi16(255);
  const std::uint8_t* end = image.pixels.data() + image.pixels.size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const int left = rows[i].left - x0, right = rows[i].right - x0;
    const std::uint8_t* row =
        image.pixels.data() + (static_cast<std::size_t>(top) + i) * image.width + x0;
    const __m128i before = _mm_set1_epi16(static_cast<short>(left)),
                  after = _mm_set1_epi16(static_cast<short>(right));
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
      const __m128i x = _mm_add_epi16(_mm_set1_epi16(static_cast<short>(k)),
                                      _mm_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7));
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
  const auto total = [](__m128i v) -> std::int64_t {
    v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(v, _mm_shuffle_epi32(v, 0xB1)));
  };
  alignas(16) std::int16_t low[8], high[8];
  _mm_store_si128(reinterpret_cast<__m128i*>(low), least);
  _mm_store_si128(reinterpret_cast<__m128i*>(high), most);
  return FromNarrow({total(s), total(s1), total(s2), total(sx), total(sx1), total(sxx), total(sc),
                     *std::min_element(low, low + 8), *std::max_element(high, high + 8)},
                    rows.size());
}

IMPACTLAB_AVX2 ApertureSums SumApertureAvx2(const GrayImage& image, const std::vector<Extent>& rows,
                                            int top, int x0, int base, int limit) {
  const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi16(1),
                b = _mm256_set1_epi16(static_cast<short>(base)),
                up = _mm256_set1_epi16(static_cast<short>(limit)),
                down = _mm256_set1_epi16(static_cast<short>(-limit)),
                places = _mm256_setr_epi16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m256i s = zero, s1 = zero, s2 = zero, sx = zero, sx1 = zero, sxx = zero, sc = zero, most = zero,
          least = _mm256_set1_epi16(255);
  const std::uint8_t* end = image.pixels.data() + image.pixels.size();
  const std::uint8_t* row = image.pixels.data() + static_cast<std::size_t>(top) * image.width + x0;
  for (std::size_t i = 0; i < rows.size(); ++i, row += image.width) {
    const int right = rows[i].right - x0;
    const __m256i after = _mm256_set1_epi16(static_cast<short>(right));
    for (int k = rows[i].left - x0; k <= right; k += 16) {
      const std::uint8_t* p = row + k;
      __m128i bytes;
      if (end - p >= 16) {
        bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
      } else {
        alignas(16) std::uint8_t rest[16] = {};
        std::memcpy(rest, p, static_cast<std::size_t>(end - p));
        bytes = _mm_load_si128(reinterpret_cast<const __m128i*>(rest));
      }
      const __m256i v = _mm256_cvtepu8_epi16(bytes),
                    x = _mm256_add_epi16(_mm256_set1_epi16(static_cast<short>(k)), places),
                    outside = _mm256_cmpgt_epi16(x, after),
                    d = _mm256_andnot_si256(outside, _mm256_sub_epi16(v, b)),
                    dx = _mm256_madd_epi16(d, x);
      s = _mm256_add_epi32(s, _mm256_madd_epi16(d, one));
      sx = _mm256_add_epi32(sx, dx);
      sxx = _mm256_add_epi32(sxx, _mm256_madd_epi16(d, _mm256_mullo_epi16(x, x)));
      sc = _mm256_add_epi32(
          sc, _mm256_madd_epi16(_mm256_max_epi16(down, _mm256_min_epi16(up, d)), one));
      most = _mm256_max_epi16(most, _mm256_andnot_si256(outside, v));
      least = _mm256_min_epi16(least, _mm256_or_si256(v, _mm256_srli_epi16(outside, 8)));
    }
    s1 = _mm256_add_epi32(s1, s);
    s2 = _mm256_add_epi32(s2, s1);
    sx1 = _mm256_add_epi32(sx1, sx);
  }
  // Four at a time: every lane of the result is the total of one.
  const auto totals = [](__m256i p, __m256i q, __m256i u, __m256i v) IMPACTLAB_AVX2 {
    const __m256i all = _mm256_hadd_epi32(_mm256_hadd_epi32(p, q), _mm256_hadd_epi32(u, v));
    return _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  };
  alignas(16) std::int32_t t[8];
  _mm_store_si128(reinterpret_cast<__m128i*>(t), totals(s, s1, s2, sx));
  _mm_store_si128(reinterpret_cast<__m128i*>(t + 4), totals(sx1, sxx, sc, zero));
  const __m128i low = _mm_min_epi16(_mm256_castsi256_si128(least),
                                    _mm256_extracti128_si256(least, 1)),
                high = _mm_sub_epi16(
                    _mm_set1_epi16(255),
                    _mm_max_epi16(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1)));
  return FromNarrow(
      {t[0], t[1], t[2], t[3], t[4], t[5], t[6], _mm_cvtsi128_si32(_mm_minpos_epu16(low)) & 0xFFFF,
       255 - (_mm_cvtsi128_si32(_mm_minpos_epu16(high)) & 0xFFFF)},
      rows.size());
}
#endif

}  // namespace

ApertureSums SumAperture(const GrayImage& image, const std::vector<Extent>& rows, int top, int x0,
                         int base, int limit, Simd simd) {
#ifdef IMPACTLAB_X86
  int right = x0;
  for (const Extent& row : rows) right = std::max(right, row.right);
  if (simd != Simd::kPlain && rows.size() <= 64 && right - x0 < 64) {
    return simd == Simd::kAvx2 ? SumApertureAvx2(image, rows, top, x0, base, limit)
                               : SumApertureSse2(image, rows, top, x0, base, limit);
  }
#endif
  (void)simd;
  ApertureSums sums;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint8_t* row =
        image.pixels.data() + (static_cast<std::size_t>(top) + i) * image.width;
    SumRowPlain(row, rows[i], x0, static_cast<std::int64_t>(i), base, limit, &sums);
  }
  return sums;
}

}  // namespace impactlab::tracking
