// Series of bounces: flights against integration, fits against truths, and false alarms.

#include "impact/identify/bounce_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "impact/identify/coefficient_tests.h"

namespace impactlab {
namespace {

constexpr double kStandard = 9.80665;

// Fourth-order steps of v' = -g -+ k v^2 up and down, by height and time.
DragFlight IntegratedFlight(double u, double drag) {
  const double h = 1e-5;
  double v = u, z = 0, t = 0;
  const auto a = [&](double speed) { return -kStandard - drag * speed * std::abs(speed); };
  while (true) {
    const double k1 = a(v), k2 = a(v + 0.5 * h * k1), k3 = a(v + 0.5 * h * k2), k4 = a(v + h * k3);
    const double next = v + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6;
    const double rise = h * (v + next) / 2 - h * h * (a(next) - a(v)) / 12;
    if (z + rise < 0) {
      const double share = z / -rise;
      return {t + share * h, -(v + share * (next - v))};
    }
    z += rise;
    v = next;
    t += h;
  }
}

TEST(BounceSeries, FlightsWithDrag) {
  for (const double drag : {0.0, 1e-5, 0.02, 0.14, 2.0})
    for (const double u : {0.5, 4.0}) {
      const DragFlight flight = FlyWithDrag(u, drag, kStandard), judge = IntegratedFlight(u, drag);
      EXPECT_NEAR(flight.duration, judge.duration, 1e-8) << drag << " " << u;
      EXPECT_NEAR(flight.landing, judge.landing, 1e-6) << drag << " " << u;
    }
  // Both forms meet where the series takes over.
  for (const double z : {1e-3, -1e-3}) {
    const double drag = z * kStandard;
    EXPECT_NEAR(FlyWithDrag(1, drag * (1 - 1e-9), kStandard).duration,
                FlyWithDrag(1, drag * (1 + 1e-9), kStandard).duration, 1e-11);
  }
  // Heights with drag and without meet, and heights agree with speeds.
  EXPECT_NEAR(RestitutionOfHeights(1.2, 0.8, 1e-9), RestitutionOfHeights(1.2, 0.8), 1e-8);
  const double k = 0.14, drop = 1.2, e = 0.93;
  const double landing = std::sqrt(kStandard / k * -std::expm1(-2 * k * drop));
  const double rebound = std::log1p(k * e * e * landing * landing / kStandard) / (2 * k);
  EXPECT_NEAR(RestitutionOfHeights(drop, rebound, k), e, 1e-12);
  const double first = FlyWithDrag(e * landing, k, kStandard).duration;
  EXPECT_NEAR(GravityOfDrop(drop, first, e, k), kStandard, 1e-10);
  EXPECT_NEAR(GravityOfDrop(0.575, std::sqrt(8 * 0.575 / kStandard) * 0.86, 0.86, 0), kStandard,
              1e-12);
}

BounceReadings SeriesOf(double e, double slope, double v_0, double drag, double u, int n) {
  BounceReadings out;
  double speed = u;
  out.t = {0.3};
  for (int k = 1; k < n; ++k) {
    const DragFlight flight = FlyWithDrag(speed, drag, kStandard);
    out.t.push_back(out.t.back() + flight.duration);
    speed = flight.landing * (e + slope * (flight.landing - v_0));
  }
  out.u = 2e-4;
  return out;
}

TEST(BounceSeries, FitsGiveWhatMadeThem) {
  BounceSeriesSetting setting;
  const BounceReadings plain = SeriesOf(0.8, 0, 1, 0, 3, 7);
  const BounceSeries one = FitBounceSeries(plain, setting);
  EXPECT_TRUE(one.ok);
  EXPECT_NEAR(one.e, 0.8, 1e-7);
  EXPECT_NEAR(one.first_speed, 3, 1e-6);
  EXPECT_EQ(one.dof, 4);
  // As the logarithms of the flights have it, to first order.
  EXPECT_NEAR(one.sd_e, 0.8 * 2e-4, 0.8 * 2e-4);
  setting.fit_drag = true;
  setting.drag = 0.01;
  const BounceSeries drags = FitBounceSeries(SeriesOf(0.93, 0, 1, 0.14, 4, 12), setting);
  EXPECT_NEAR(drags.e, 0.93, 1e-6);
  EXPECT_NEAR(drags.drag, 0.14, 1e-6);
  setting = {};
  setting.fit_slope = true;
  const BounceSeries slopes = FitBounceSeries(SeriesOf(0.8, -0.03, 1.5, 0, 3, 10), setting);
  EXPECT_NEAR(slopes.slope, -0.03, 1e-6);
  EXPECT_NEAR(slopes.e, 0.8 - 0.03 * (slopes.v_0 - 1.5), 1e-6);
  EXPECT_THROW(FitBounceSeries({{0, 1}, false, 1e-3, {}}, setting), ConfigError);
}

TEST(BounceSeries, DurationsWithoutTimes) {
  BounceReadings flights;
  flights.durations = true;
  flights.u = 1e-4;
  for (int k = 0; k < 6; ++k) flights.t.push_back(0.6 * std::pow(0.7, k));
  EXPECT_NEAR(FitBounceSeries(flights, {}).e, 0.7, 1e-8);
  flights.t[2] += flights.t[3];
  flights.t.erase(flights.t.begin() + 3);
  const auto found = SuspectBounces(flights, {}, 0.001);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].fault, BounceFault::kMissing);
  EXPECT_EQ(found[0].at, 2U);
  EXPECT_NEAR(found[0].fit.e, 0.7, 1e-6);
}

TEST(BounceSeries, SuspicionsFindTheReading) {
  const BounceReadings whole = SeriesOf(0.6, 0, 1, 0, 3, 8);
  BounceReadings missing = whole;
  missing.t.erase(missing.t.begin() + 3);
  const auto found = SuspectBounces(missing, {}, 0.001);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found[0].fault, BounceFault::kMissing);
  EXPECT_EQ(found[0].at, 2U);
  EXPECT_NEAR(found[0].expected, whole.t[3], 1e-3);
  EXPECT_NEAR(found[0].fit.e, 0.6, 1e-3);
  BounceReadings first = whole;
  first.t[0] -= 0.05;
  const auto late = SuspectBounces(first, {}, 0.001);
  ASSERT_FALSE(late.empty());
  EXPECT_EQ(late[0].fault, BounceFault::kMisread);
  EXPECT_EQ(late[0].at, 0U);
  EXPECT_TRUE(std::isnan(late[0].expected));
}

// Stated uncertainties are those of the estimates: 95 % of intervals hold the truth.
TEST(BounceSeries, DragFitsCover) {
  std::mt19937_64 rng(21);
  std::normal_distribution<double> noise(0, 2e-4);
  const BounceReadings truth = SeriesOf(0.93, 0, 1, 0.14, 4, 14);
  BounceSeriesSetting setting;
  setting.fit_drag = true;
  setting.drag = 0.01;
  constexpr int kTrials = 1000;
  int e_inside = 0, drag_inside = 0;
  for (int k = 0; k < kTrials; ++k) {
    BounceReadings readings = truth;
    for (double& t : readings.t) t += noise(rng);
    const BounceSeries fit = FitBounceSeries(readings, setting);
    e_inside += std::abs(fit.e - 0.93) < NormalQuantile(0.975) * fit.sd_e;
    drag_inside += std::abs(fit.drag - 0.14) < NormalQuantile(0.975) * fit.sd_drag;
  }
  EXPECT_TRUE(BinomialBand(kTrials, 0.95, 0.0005).Contains(e_inside)) << e_inside;
  EXPECT_TRUE(BinomialBand(kTrials, 0.95, 0.0005).Contains(drag_inside)) << drag_inside;
}

}  // namespace
}  // namespace impactlab
