#pragma once
// What tests of the identification ask of every fit.

#include <gtest/gtest.h>

#include <cmath>

#include "impact/identify/identify.h"
#include "tests/impact/identify_twin.h"

namespace impactlab::twin {

inline const ParameterEstimate& Mu(const LawFit& fit) { return fit.mu_k; }
inline const ParameterEstimate& E(const LawFit& fit) { return fit.e; }

inline Options Scatter(double sd) {
  Options options;
  options.sd_t = options.sd_n = sd;
  options.sd_c = 2 * sd;
  return options;
}

// Nothing that is called a result may be NaN.
inline void ExpectSane(const LawFit& fit) {
  ASSERT_TRUE(fit.fitted());
  for (const ParameterEstimate& p : ListParameters(fit)) {
    EXPECT_FALSE(std::isnan(p.lower95)) << p.name;
    EXPECT_FALSE(std::isnan(p.upper95)) << p.name;
    EXPECT_LE(p.lower95, p.upper95) << p.name;
    EXPECT_GE(p.lower95, 0) << p.name;
    if (p.identifiable) {
      EXPECT_TRUE(std::isfinite(p.value)) << p.name;
      EXPECT_TRUE(std::isfinite(p.upper95)) << p.name;
      EXPECT_LE(p.lower95, p.value + 1e-12) << p.name;
      EXPECT_LE(p.value, p.upper95 + 1e-12) << p.name;
      EXPECT_FALSE(p.sd < 0) << p.name;
    } else {
      EXPECT_FALSE(p.reason.empty()) << p.name;
    }
  }
  EXPECT_LE(E(fit).upper95, 1);
  const ImpactModel model = ModelOf(fit);
  EXPECT_TRUE(std::isfinite(model.mu_k) && std::isfinite(model.e));
}

}  // namespace impactlab::twin
