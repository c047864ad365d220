#include "data/statistics/uncertainty.h"

#include <gtest/gtest.h>

#include <cmath>

#include "data/base/error.h"

namespace impactlab {
namespace {

double Sum(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum;
}

UncertainInput Normal(double value, double u) { return {"x", "1", value, u}; }

// JCGM 101, 9.2: four inputs of standard uncertainty 1.
TEST(Uncertainty, AdditiveModelOfTheSupplement) {
  const UncertainResult normal =
      PropagateUncertainty(Sum, std::vector<UncertainInput>(4, Normal(0, 1)), 200000);
  EXPECT_NEAR(normal.u, 2, 1e-9);
  EXPECT_NEAR(normal.interval95.upper, 3.92, 0.04);
  EXPECT_NEAR(normal.linear95.upper, 3.92, 0.001);
  EXPECT_TRUE(normal.linear_holds);
  const UncertainResult rectangles = PropagateUncertainty(
      Sum, std::vector<UncertainInput>(4, Rectangular("x", "1", 0, std::sqrt(3.0), "")), 200000);
  EXPECT_NEAR(rectangles.u, 2, 1e-9);
  EXPECT_NEAR(rectangles.interval95.upper, 3.88, 0.03);
  EXPECT_NEAR(rectangles.sd, 2, 0.02);
}

// One rectangle: the linear interval is wider than all that can be.
TEST(Uncertainty, OneRectangleIsNoNormal) {
  const UncertainResult r = PropagateUncertainty(Sum, {Rectangular("x", "1", 5, 1, "")});
  EXPECT_NEAR(r.interval95.lower, 5 - 0.95, 0.01);
  EXPECT_GT(r.linear95.upper, 6);
  EXPECT_FALSE(r.linear_holds);
}

TEST(Uncertainty, BudgetOfAProduct) {
  const auto product = [](const std::vector<double>& x) { return x[0] * x[1] * x[1]; };
  UncertainInput exact = Normal(7, 0);
  exact.spread = Spread::kExact;
  const UncertainResult r =
      PropagateUncertainty(product, {Normal(3, 0.01), Normal(2, 0.02), exact});
  EXPECT_NEAR(r.value, 12, 1e-12);
  EXPECT_NEAR(r.budget[0].sensitivity, 4, 1e-6);
  EXPECT_NEAR(r.budget[1].sensitivity, 12, 1e-6);
  EXPECT_EQ(r.budget[2].contribution, 0);
  EXPECT_NEAR(r.u, std::hypot(0.04, 0.24), 1e-6);
  EXPECT_NEAR(r.budget[0].share + r.budget[1].share, 1, 1e-12);
  EXPECT_NEAR(r.sd, r.u, 0.03 * r.u);
}

// A mean of readings keeps its degrees of freedom: the interval is Student's.
TEST(Uncertainty, MeanOfReadings) {
  const UncertainInput mean = MeanOf("x", "1", {10.1, 9.9, 10.0, 10.2}, "");
  EXPECT_NEAR(mean.value, 10.05, 1e-12);
  EXPECT_NEAR(mean.u, std::sqrt((0.05 * 0.05 + 0.15 * 0.15 + 0.05 * 0.05 + 0.15 * 0.15) / 3 / 4),
              1e-12);
  const UncertainResult r = PropagateUncertainty(Sum, {mean}, 200000);
  EXPECT_NEAR(r.dof, 3, 1e-9);
  const double half = StudentQuantile(0.975, 3) * mean.u;
  EXPECT_NEAR(r.linear95.upper, 10.05 + half, 1e-9);
  EXPECT_NEAR(r.interval95.upper, 10.05 + half, 0.03 * half);
  // Welch and Satterthwaite with an input that is known as well.
  const UncertainResult both = PropagateUncertainty(Sum, {mean, Normal(0, mean.u)});
  EXPECT_NEAR(both.dof, 12, 1e-6);
}

TEST(Uncertainty, RefusesNonsense) {
  EXPECT_THROW(PropagateUncertainty(Sum, {Normal(std::nan(""), 1)}), ConfigError);
  EXPECT_THROW(PropagateUncertainty(Sum, {Normal(1, -1)}), ConfigError);
}

}  // namespace
}  // namespace impactlab
