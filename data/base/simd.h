#pragma once
// Four numbers at a time, for hot loops where the processor has AVX2 with fused multiplication,
// asked when the program runs. Without it plain loops give the same within rounding.

#if defined(__x86_64__)
#define IMPACTLAB_FMA __attribute__((target("avx2,fma")))
#endif

namespace impactlab::data {

#ifdef IMPACTLAB_FMA
using Four = double __attribute__((vector_size(32), aligned(8), may_alias));

// The four numbers at p. References, because how vectors are handed over depends on the processor a
// function is compiled for.
inline Four& FourAt(double* p) { return *reinterpret_cast<Four*>(p); }
inline const Four& FourAt(const double* p) { return *reinterpret_cast<const Four*>(p); }

inline bool HasFma() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}
#endif

}  // namespace impactlab::data
