#pragma once
// Which vector instructions the inner loops of the spot finder use, chosen when the program runs.

#if defined(__x86_64__)
#include <immintrin.h>
#define IMPACTLAB_X86 1
#define IMPACTLAB_AVX2 __attribute__((target("avx2,bmi,popcnt")))
#endif

namespace impactlab::tracking {

enum class Simd { kPlain, kSse2, kAvx2 };

// Of this processor.
inline Simd BestSimd() {
#ifdef IMPACTLAB_X86
  static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                           __builtin_cpu_supports("popcnt");
  return avx2 ? Simd::kAvx2 : Simd::kSse2;
#else
  return Simd::kPlain;
#endif
}

}  // namespace impactlab::tracking
