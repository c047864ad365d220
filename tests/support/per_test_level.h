#pragma once
// Level of each of `n_tests` tests so that the chance of any false alarm stays at `family_alpha`
// (Sidak).

#include <cmath>

namespace impactlab {

inline double PerTestLevel(double family_alpha, int n_tests) {
  return -std::expm1(std::log1p(-family_alpha) / n_tests);
}

}  // namespace impactlab
