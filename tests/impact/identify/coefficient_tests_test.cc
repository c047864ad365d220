// Bench tests: closed forms, trends that are named, and intervals that hold the truth as often as
// they say.

#include "impact/identify/coefficient_tests.h"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <functional>
#include <random>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "data/statistics/uncertainty.h"
#include "tests/support/per_test_level.h"

namespace impactlab {
namespace {

constexpr double kGravity = 9.81;

TEST(BenchTests, ClosedForms) {
  EXPECT_NEAR(FrictionOfTilt(std::atan(0.3)), 0.3, 1e-15);
  EXPECT_NEAR(FrictionOfSine(3, 5), 0.75, 1e-15);
  EXPECT_TRUE(std::isnan(FrictionOfSine(5, 3)));
  EXPECT_NEAR(RestitutionOfHeights(1, 0.25), 0.5, 1e-15);
  EXPECT_NEAR(RestitutionOfVelocities(2, 1), 0.5, 1e-15);
  // A slide with mu = 0.2 on 30 deg, seen from an instant when it already moves.
  const double angle = M_PI / 6, a = kGravity * (std::sin(angle) - 0.2 * std::cos(angle));
  const auto s = [&](double t) { return 0.3 + 0.4 * t + 0.5 * a * t * t; };
  EXPECT_NEAR(SlideAcceleration({1.0, 1.1, 1.3}, {s(1.0), s(1.1), s(1.3)}), a, 1e-9);
  EXPECT_NEAR(SlideAcceleration({0, 0.1, 0.3, 0.4, 0.7}, {s(0), s(0.1), s(0.3), s(0.4), s(0.7)}), a,
              1e-11);
  EXPECT_NEAR(FrictionOfSlide(angle, a, kGravity), 0.2, 1e-12);
  // Sun 2017, equation 4.38, from its readings.
  EXPECT_NEAR(SlideAcceleration({0, 0.084, 0.233}, {0, 0.05, 0.15}),
              2 * (0.15 * 0.084 - 0.05 * 0.233) / (0.084 * 0.233 * 0.149), 1e-12);
}

TEST(BenchTests, WaysOfSliding) {
  const double angle = 0.4, mu = 0.2, g = kGravity;
  const double up = -g * (std::sin(angle) + mu * std::cos(angle)),
               down = g * (std::sin(angle) - mu * std::cos(angle));
  EXPECT_NEAR(FrictionOfSlideUp(angle, up, g), mu, 1e-14);
  EXPECT_NEAR(FrictionOfSlide(angle, down, g), mu, 1e-14);
  EXPECT_NEAR(FrictionThereAndBack(angle, up, down), mu, 1e-14);
  EXPECT_NEAR(FrictionThereAndBack(angle, 3.7 * up, 3.7 * down), mu, 1e-14);
  EXPECT_NEAR(FrictionOfSlide(0, -2, g), 2 / g, 1e-15);
  // m a = T - mu m g, M a = M g - T.
  EXPECT_NEAR(FrictionOfHangingWeight(0.2, 0.3, 0, (0.3 - mu * 0.2) * g / 0.5, g), mu, 1e-14);
  EXPECT_NEAR(FrictionOfPull(0.3 * 2 * g, 2, g), 0.3, 1e-15);
  // m v_0 = m v_1 + M v_2 and v_2 - v_1 = e v_0, of m = 1, M = 4, e = 0.6.
  EXPECT_NEAR(RestitutionOfRecoil(0.28, 0.25), 0.6, 1e-14);
  EXPECT_NEAR(RestitutionOfRecoil(0.7, 0), 0.7, 1e-15);
}

TEST(BenchTests, TrendsWithSpeed) {
  const std::vector<double> v = {1, 2, 4};
  const Eigen::MatrixXd cov = 1e-4 * Eigen::MatrixXd::Identity(3, 3);
  const SpeedTrend even = FitSpeedTrend(v, {0.7, 0.7, 0.7}, cov);
  EXPECT_NEAR(even.value, 0.7, 1e-14);
  EXPECT_NEAR(even.sd, 0.01 / std::sqrt(3.0), 1e-12);
  EXPECT_NEAR(even.slope, 0, 1e-14);
  const SpeedTrend falls = FitSpeedTrend(v, {0.9, 0.8, 0.6}, cov);
  EXPECT_NEAR(falls.slope, -0.1, 1e-12);
  EXPECT_NEAR(falls.line_value, 0.8, 1e-12);
  EXPECT_LT(falls.probability, 1e-9);
  EXPECT_NEAR(falls.line_probability, 1, 1e-6);
  EXPECT_EQ(FitSpeedTrend({2, 2, 2}, {0.7, 0.7, 0.71}, cov).slope_sd, 0);
  EXPECT_EQ(FitSpeedTrend({1, 2}, {0.7, 0.6}, cov.topLeftCorner(2, 2)).slope_sd, 0);
  EXPECT_THROW(FitSpeedTrend({1}, {0.7}, cov.topLeftCorner(1, 1)), ConfigError);
}

std::vector<double> BounceTimes(const std::function<double(double)>& e, double v, int n) {
  std::vector<double> t = {0.1};
  for (int k = 1; k < n; ++k) {
    v *= e(v);
    t.push_back(t.back() + 2 * v / kGravity);
  }
  return t;
}

TEST(BenchTests, BouncesGiveTheirCoefficient) {
  const std::vector<double> t = BounceTimes([](double) { return 0.8; }, 3, 6);
  const BounceFit fit = FitBounces(t, 1e-4);
  EXPECT_NEAR(fit.e, 0.8, 1e-12);
  EXPECT_EQ(fit.ratios.size(), 4U);
  EXPECT_NEAR(fit.drift, 0, 1e-10);
  EXPECT_NEAR(RestitutionOfBounces(t, fit.weights), 0.8, 1e-12);
  EXPECT_NEAR(FitBounces({0, 1, 1.6}, 1e-3).e, 0.6, 1e-12);
  EXPECT_THROW(FitBounces({0, 1}, 1e-3), ConfigError);
}

// e that falls with speed makes the ratios rise.
TEST(BenchTests, DriftOfBouncesIsSeen) {
  const std::vector<double> t = BounceTimes([](double v) { return 0.9 - 0.04 * v; }, 3, 7);
  const BounceFit fit = FitBounces(t, 2e-4);
  EXPECT_GT(fit.drift_z, 5);
  EXPECT_LT(fit.probability, 1e-6);
}

TEST(BenchTests, FrictionThatChangesOnTheWayIsSeen) {
  std::mt19937_64 rng(1);
  std::normal_distribution<double> noise(0, 2e-4);
  std::vector<double> t, even, bent;
  for (int k = 0; k < 60; ++k) {
    t.push_back(k / 120.0);
    even.push_back(0.1 * t.back() + 1.2 * t.back() * t.back() + noise(rng));
    bent.push_back(even.back() + 0.3 * t.back() * t.back() * t.back());
  }
  EXPECT_LT(std::abs(FitSlide(t, even).jerk_z), 3);
  EXPECT_GT(std::abs(FitSlide(t, bent).jerk_z), 5);
  EXPECT_NEAR(FitSlide(t, even).acceleration, 2.4, 5 * FitSlide(t, even).sd);
  EXPECT_NEAR(FitSlide(t, even).v_0, 0.1, 0.01);
  EXPECT_NEAR(FitSlide(t, even).rms, 2e-4, 0.5e-4);
  EXPECT_THROW(FitSlide({0, 1, 2}, {0, 1, 2}), ConfigError);
}

// Under an even e the share of false alarms at three standard deviations is that of a normal
// variable, and chi-square has its mean.
TEST(BenchTests, BouncesOfOneCoefficientSeldomDrift) {
  std::mt19937_64 rng(3);
  std::normal_distribution<double> noise(0, 3e-4);
  const std::vector<double> truth = BounceTimes([](double) { return 0.7; }, 3, 6);
  constexpr int kTrials = 2000;
  int inside = 0;
  double chi_square = 0;
  for (int k = 0; k < kTrials; ++k) {
    std::vector<double> t = truth;
    for (double& x : t) x += noise(rng);
    const BounceFit fit = FitBounces(t, 3e-4);
    inside += std::abs(fit.drift_z) < NormalQuantile(0.975);
    chi_square += fit.chi_square;
  }
  EXPECT_TRUE(BinomialBand(kTrials, 0.95, 0.001).Contains(inside)) << inside;
  EXPECT_NEAR(chi_square / kTrials, 3, 5 * std::sqrt(6.0 / kTrials));
}

// Coverage of the quoted interval: readings are drawn about a truth as their budget says they are.
constexpr int kTrials = 2000, kDraws = 1000;
constexpr std::int64_t kTests = 5;

void ExpectCovered(int hits, const char* what) {
  const CountBand band = BinomialBand(kTrials, 0.95, PerTestLevel(0.001, kTests));
  EXPECT_TRUE(band.Contains(hits)) << what << ": " << hits << " of " << kTrials << ", band "
                                   << band.lower << " to " << band.upper;
}

bool Holds(const UncertainResult& r, double truth) {
  return r.interval95.lower <= truth && truth <= r.interval95.upper;
}

TEST(BenchTestCoverage, TiltReadSeveralTimes) {
  std::mt19937_64 rng(11);
  std::normal_distribution<double> scatter(0, 0.004);
  std::uniform_real_distribution<double> unit(-1, 1);
  const double truth = 0.35, half = 0.003;
  int hits = 0;
  for (int k = 0; k < kTrials; ++k) {
    const double instrument = half * unit(rng);
    std::vector<double> readings;
    readings.reserve(5);
    for (int i = 0; i < 5; ++i) readings.push_back(truth + instrument + scatter(rng));
    const UncertainResult r = PropagateUncertainty(
        [](const std::vector<double>& x) { return FrictionOfTilt(x[0] + x[1]); },
        {MeanOf("angle", "rad", readings, ""), Rectangular("instrument", "rad", 0, half, "")},
        kDraws, 100 + k);
    hits += Holds(r, std::tan(truth));
  }
  ExpectCovered(hits, "tilt");
}

TEST(BenchTestCoverage, SineOfTheTilt) {
  std::mt19937_64 rng(12);
  std::uniform_real_distribution<double> unit(-1, 1);
  int hits = 0;
  for (int k = 0; k < kTrials; ++k) {
    const UncertainResult r = PropagateUncertainty(
        [](const std::vector<double>& x) { return FrictionOfSine(x[0], x[1]); },
        {Rectangular("height", "m", 0.07 + 5e-4 * unit(rng), 5e-4, ""),
         Rectangular("length", "m", 0.28 + 1e-3 * unit(rng), 1e-3, "")},
        kDraws, 100 + k);
    hits += Holds(r, FrictionOfSine(0.07, 0.28));
  }
  ExpectCovered(hits, "height over length");
}

TEST(BenchTestCoverage, TimedSlide) {
  std::mt19937_64 rng(13);
  std::uniform_real_distribution<double> unit(-1, 1);
  const double angle = 0.35, mu = 0.3, a = kGravity * (std::sin(angle) - mu * std::cos(angle));
  const double times[] = {0, 0.2, 0.45};
  int hits = 0;
  for (int k = 0; k < kTrials; ++k) {
    std::vector<UncertainInput> inputs = {
        Rectangular("angle", "rad", angle + 0.003 * unit(rng), 0.003, "")};
    for (const double t : times)
      inputs.push_back(Rectangular("time", "s", t + 1e-3 * unit(rng), 1e-3, ""));
    for (const double t : times)
      inputs.push_back(
          Rectangular("place", "m", 0.2 * t + 0.5 * a * t * t + 5e-4 * unit(rng), 5e-4, ""));
    const UncertainResult r = PropagateUncertainty(
        [](const std::vector<double>& x) {
          return FrictionOfSlide(x[0], SlideAcceleration({x[1], x[2], x[3]}, {x[4], x[5], x[6]}),
                                 kGravity);
        },
        inputs, kDraws, 100 + k);
    hits += Holds(r, mu);
  }
  ExpectCovered(hits, "timed slide");
}

TEST(BenchTestCoverage, TrackedSlide) {
  std::mt19937_64 rng(14);
  std::normal_distribution<double> noise(0, 3e-4);
  const double angle = 0.4, mu = 0.25, a = kGravity * (std::sin(angle) - mu * std::cos(angle));
  int hits = 0;
  for (int k = 0; k < kTrials; ++k) {
    std::vector<double> t, s;
    for (int i = 0; i < 9; ++i) {
      t.push_back(i / 60.0);
      s.push_back(0.1 * t.back() + 0.5 * a * t.back() * t.back() + noise(rng));
    }
    const SlideFit fit = FitSlide(t, s);
    const UncertainResult r = PropagateUncertainty(
        [&](const std::vector<double>& x) { return FrictionOfSlide(angle, x[0], kGravity); },
        {{"acceleration", "m/s^2", fit.acceleration, fit.sd, Spread::kStudent,
          static_cast<double>(fit.dof), ""}},
        kDraws, 100 + k);
    hits += Holds(r, mu);
  }
  ExpectCovered(hits, "tracked slide");
}

TEST(BenchTestCoverage, BounceTimes) {
  std::mt19937_64 rng(15);
  std::uniform_real_distribution<double> unit(-1, 1);
  const double half = 1e-3;
  const std::vector<double> truth = BounceTimes([](double) { return 0.75; }, 2.5, 5);
  int hits = 0;
  for (int k = 0; k < kTrials; ++k) {
    std::vector<UncertainInput> inputs;
    std::vector<double> t;
    for (const double x : truth) {
      t.push_back(x + half * unit(rng));
      inputs.push_back(Rectangular("impact", "s", t.back(), half, ""));
    }
    const BounceFit fit = FitBounces(t, half / std::sqrt(3.0));
    const UncertainResult r = PropagateUncertainty(
        [&](const std::vector<double>& x) { return RestitutionOfBounces(x, fit.weights); }, inputs,
        kDraws, 100 + k);
    hits += Holds(r, 0.75);
  }
  ExpectCovered(hits, "bounce times");
}

}  // namespace
}  // namespace impactlab
