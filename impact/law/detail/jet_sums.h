#pragma once
// Private to the solver: sums of products of Jets (a number and its derivatives). Nearly all time
// of `Differentiate` goes here, so the derivatives are summed in vectors that stay in registers.

#include <cstddef>

#include "data/base/simd.h"

namespace impactlab::impact {

// Steps of x and y from one summand to the next, and where the derivatives of a Jet begin, in
// numbers.
struct JetSteps {
  std::ptrdiff_t x, y, at;
};

// `scale` times the sum over n products of a value and `kParts` derivatives, a multiple of four.
#ifdef IMPACTLAB_FMA
template <int kParts>
IMPACTLAB_FMA void SumJetProductsFma(const double* x, const double* y, int n, JetSteps steps,
                                     double scale, double* out) {
  constexpr int kFours = kParts / 4;
  data::Four by_x[kFours] = {}, by_y[kFours] = {};
  double sum = 0;
  for (int i = 0; i < n; ++i, x += steps.x, y += steps.y) {
    const double x_a = *x, y_a = *y;
    sum += x_a * y_a;
#pragma GCC unroll 4
    for (int j = 0; j < kFours; ++j) {
      by_x[j] += x_a * data::FourAt(y + steps.at + 4 * j);
      by_y[j] += y_a * data::FourAt(x + steps.at + 4 * j);
    }
  }
  *out = scale * sum;
#pragma GCC unroll 4
  for (int j = 0; j < kFours; ++j)
    data::FourAt(out + steps.at + 4 * j) = scale * (by_x[j] + by_y[j]);
}
#endif

template <int kParts>
void SumJetProducts(const double* x, const double* y, int n, JetSteps steps, double scale,
                    double* out) {
  static_assert(kParts % 4 == 0);
#ifdef IMPACTLAB_FMA
  if (data::HasFma()) return SumJetProductsFma<kParts>(x, y, n, steps, scale, out);
#endif
  using Pair [[gnu::vector_size(16), gnu::aligned(8), gnu::may_alias]] = double;
  constexpr int kPairs = kParts / 2;
  double sum = 0;
  Pair sums[kPairs] = {};
  for (int i = 0; i < n; ++i, x += steps.x, y += steps.y) {
    const double x_a = *x, y_a = *y;
    sum += x_a * y_a;
#pragma GCC unroll 8
    for (int j = 0; j < kPairs; ++j)
      sums[j] += x_a * *reinterpret_cast<const Pair*>(y + steps.at + 2 * j) +
                 y_a * *reinterpret_cast<const Pair*>(x + steps.at + 2 * j);
  }
  *out = scale * sum;
#pragma GCC unroll 8
  for (int j = 0; j < kPairs; ++j)
    *reinterpret_cast<Pair*>(out + steps.at + 2 * j) = scale * sums[j];
}

// `out` = scale * sum over n of x[i x_step] y[i y_step], steps in Jets. It is written as it will be
// read, in whole vectors: a sum that went through a temporary would be waited for.
template <class Jet>
void SumJetProducts(const Jet* x, std::ptrdiff_t x_step, const Jet* y, std::ptrdiff_t y_step, int n,
                    double scale, Jet* out) {
  static_assert(sizeof(Jet) % sizeof(double) == 0);
  constexpr auto kSize = static_cast<std::ptrdiff_t>(sizeof(Jet) / sizeof(double));
  SumJetProducts<Jet::DIMENSION>(
      &x->a, &y->a, n, {x_step * kSize, y_step * kSize, x->v.data() - &x->a}, scale, &out->a);
}

}  // namespace impactlab::impact
