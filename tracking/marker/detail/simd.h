#pragma once
// Private to the tracking room: the hot loops of the marker fit.

#include "data/base/simd.h"

namespace impactlab::tracking {

// sums += weight row' row over n rows of `kWide` numbers: of the lower triangle what lies in blocks
// of four. The hot loop.
#ifdef IMPACTLAB_FMA
template <int kWide, int kBlock>
IMPACTLAB_FMA void AddFourRowsFma(const double* row, const double* weights, int n, double* sums) {
  data::Four sum[4][kBlock + 1] = {};
  for (int i = 0; i < n; ++i, row += kWide) {
#pragma GCC unroll 4
    for (int a = 0; a < 4; ++a) {
      const double f = weights[i] * row[4 * kBlock + a];
#pragma GCC unroll 4
      for (int b = 0; b <= kBlock; ++b) sum[a][b] += f * data::FourAt(row + 4 * b);
    }
  }
#pragma GCC unroll 4
  for (int a = 0; a < 4; ++a)
#pragma GCC unroll 4
    for (int b = 0; b <= kBlock; ++b)
      data::FourAt(sums + (4 * kBlock + a) * kWide + 4 * b) += sum[a][b];
}
#endif
template <int kWide>
inline void AddProducts(const double* row, const double* weights, int n, double* sums) {
#ifdef IMPACTLAB_FMA
  if (data::HasFma()) {
    AddFourRowsFma<kWide, 0>(row, weights, n, sums);
    AddFourRowsFma<kWide, 1>(row, weights, n, sums);
    if constexpr (kWide > 8) AddFourRowsFma<kWide, 2>(row, weights, n, sums);
    if constexpr (kWide == 16) AddFourRowsFma<kWide, 3>(row, weights, n, sums);
    return;
  }
#endif
  for (int i = 0; i < n; ++i, row += kWide)
    for (int a = 0; a < kWide; ++a) {
      const double f = weights[i] * row[a];
      for (int b = 0; b <= a; ++b) sums[a * kWide + b] += f * row[b];
    }
}

}  // namespace impactlab::tracking
