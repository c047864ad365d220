// Slides up, down and level, with stops and turns, by a weight, and pulls.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "tests/pipelines/bench_tests/bench_file.h"

namespace impactlab {
namespace {

using test::ExpectValue;
using ::testing::HasSubstr;

using SlideFile = test::BenchFile;

// A slide along its way: begins with v, slows with `slows`, and after its stop speeds up backward
// with `back` (0: rests). [m], [s], [m/s^2]
double PlaceAt(double t, double v, double slows, double back) {
  const double stop = v / slows;
  if (t < stop) return v * t - 0.5 * slows * t * t;
  return v * stop / 2 - 0.5 * back * (t - stop) * (t - stop);
}

std::string SlideCsv(double v, double slows, double back, double duration, double sign = 1,
                     double angle = NAN, int seed = 1) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> noise(0, 2e-4);
  const bool plane = std::isfinite(angle);
  std::string out = plane ? "t_s,x_m,z_m\n" : "t_s,s_m\n";
  for (int k = 0; k / 60.0 <= duration; ++k) {
    const double s = sign * PlaceAt(k / 60.0, v, slows, back) + noise(rng);
    out += plane ? fmt::format("{},{},{}\n", k / 60.0, s * std::cos(angle) + noise(rng),
                               s * std::sin(angle) + noise(rng))
                 : fmt::format("{},{}\n", k / 60.0, s);
  }
  return out;
}

TEST_F(SlideFile, LevelTable) {
  const double mu = 0.25;
  const std::string kind =
      "kind: kinetic_friction, angle_deg: 0, angle_half_deg: 0.1, slide: s.csv";
  test::WriteText(folder_ / "s.csv", SlideCsv(1.2, mu * test::kStandardGravity, 0, 0.45));
  ExpectValue(Result(kind), mu, 0.005);
  // It comes to rest in view: the part before is fitted.
  test::WriteText(folder_ / "s.csv", SlideCsv(1.2, mu * test::kStandardGravity, 0, 1.0));
  const CoefficientResult rests = Result(kind);
  ExpectValue(rests, mu, 0.005);
  EXPECT_THAT(NotesOf(rests), HasSubstr("comes to rest at t = 0.4"));
  // Backward along s, and by an acceleration alone.
  test::WriteText(folder_ / "s.csv", SlideCsv(1.2, mu * test::kStandardGravity, 0, 1.0, -1));
  ExpectValue(Result(kind), mu, 0.005);
  ExpectValue(Result("kind: kinetic_friction, angle_deg: 0, angle_half_deg: 0.1, "
                     "acceleration_m_per_s2: -2.45"),
              mu, 0.005);
  // What turns round on a level table is not held back by friction alone.
  test::WriteText(folder_ / "s.csv", SlideCsv(1.2, mu * test::kStandardGravity, 1.0, 1.4));
  EXPECT_THAT(Result(kind).undetermined, HasSubstr("turns round"));
}

TEST_F(SlideFile, LetGoInView) {
  const double angle = 25 * M_PI / 180, mu = 0.2,
               a = test::kStandardGravity * (std::sin(angle) - mu * std::cos(angle));
  std::string csv = "t_s,s_m\n";
  std::mt19937_64 rng(4);
  std::normal_distribution<double> noise(0, 2e-4);
  for (int k = 0; k < 60; ++k) {
    const double t = k / 60.0, after = std::max(0.0, t - 0.4);
    csv += fmt::format("{},{}\n", t, 0.1 + 0.5 * a * after * after + noise(rng));
  }
  test::WriteText(folder_ / "s.csv", csv);
  const CoefficientResult r =
      Result("kind: kinetic_friction, angle_deg: 25, angle_half_deg: 0.1, slide: s.csv");
  ExpectValue(r, mu, 0.01);
  EXPECT_THAT(NotesOf(r), HasSubstr("rests until t = 0.3"));
}

class Incline25 : public SlideFile {
 protected:
  static constexpr double kMu = 0.2;
  const double angle_ = 25 * M_PI / 180;
  const double slows_ = test::kStandardGravity * (std::sin(angle_) + kMu * std::cos(angle_));
  const double back_ = test::kStandardGravity * (std::sin(angle_) - kMu * std::cos(angle_));
  const std::string kind_ =
      "kind: kinetic_friction, angle_deg: 25, angle_half_deg: 0.1, slide: s.csv";
};

TEST_F(Incline25, UpAlone) {
  // A distance alone does not say which way is up; that it would need mu = 1.13 on the way down
  // does.
  test::WriteText(folder_ / "s.csv", SlideCsv(1.5, slows_, back_, 0.22));
  const CoefficientResult guessed = Result(kind_);
  ExpectValue(guessed, kMu, 0.02);
  EXPECT_THAT(NotesOf(guessed), HasSubstr("taken as a slide up"));
  EXPECT_EQ(NotesOf(Result(kind_ + ", direction: up")), "");
  const CoefficientResult down = Result(kind_ + ", direction: down");
  EXPECT_NEAR(down.result.value, kMu + 2 * std::tan(angle_), 4 * down.result.u);
  // Heights say it.
  test::WriteText(folder_ / "s.csv", SlideCsv(1.5, slows_, back_, 0.22, 1, angle_));
  const CoefficientResult seen = Result(kind_);
  ExpectValue(seen, kMu, 0.02);
  EXPECT_THAT(NotesOf(seen), HasSubstr("rises by its z"));
}

TEST_F(Incline25, ThereAndBack) {
  for (const double sign : {1.0, -1.0}) {
    test::WriteText(folder_ / "s.csv", SlideCsv(1.5, slows_, back_, 0.78, sign));
    const CoefficientTest t = Test(kind_);
    ASSERT_EQ(t.results.size(), 3U);
    EXPECT_EQ(t.results[0].method, "there and back");
    EXPECT_EQ(t.results[1].method, "tracked slide, uphill");
    EXPECT_EQ(t.results[2].method, "tracked slide, downhill");
    for (const CoefficientResult& r : t.results) ExpectValue(r, kMu, 0.02);
    EXPECT_THAT(NotesOf(t.results[0]), HasSubstr("turns round at t = 0.25"));
  }
  // In pixels of unknown size: up and back still give it.
  std::string pixels = "t_s,x_px,y_px\n";
  std::mt19937_64 rng(2);
  std::normal_distribution<double> noise(0, 0.2);
  for (int k = 0; k < 47; ++k) {
    const double s = 1000 * PlaceAt(k / 60.0, 1.5, slows_, back_);
    pixels += fmt::format("{},{},{}\n", k / 60.0, s * std::cos(angle_) + noise(rng),
                          500 - s * std::sin(angle_) + noise(rng));
  }
  test::WriteText(folder_ / "s.csv", pixels);
  const CoefficientTest t = Test(kind_);
  ASSERT_EQ(t.results.size(), 1U);
  ExpectValue(t.results[0], kMu, 0.02);
}

TEST_F(Incline25, WhatContradictsItself) {
  test::WriteText(folder_ / "s.csv", SlideCsv(1e-3, 1, -back_, 0.6));
  EXPECT_THAT(Result(kind_ + ", direction: up").undetermined, HasSubstr("nothing drives it"));
  // Gentle slopes: up and down are both possible, and the answer says so.
  const std::string gentle = "kind: kinetic_friction, angle_deg: 5, angle_half_deg: 0.1, ";
  const CoefficientTest either = Test(gentle + "acceleration_m_per_s2: -2.50");
  EXPECT_FALSE(either.determined());
  EXPECT_THAT(either.results[0].undetermined, HasSubstr("0.168 on the way up and 0.343"));
  EXPECT_THAT(either.results[0].undetermined, HasSubstr("direction"));
  // Slower than gravity alone would make it on the way up: it goes down.
  EXPECT_NEAR(
      Result("kind: kinetic_friction, angle_deg: 25, acceleration_m_per_s2: -1.00").result.value,
      std::tan(angle_) + 1 / (test::kStandardGravity * std::cos(angle_)), 1e-9);
  // Friction below 0 is no friction.
  EXPECT_THAT(
      Result("kind: kinetic_friction, angle_deg: 25.0, acceleration_m_per_s2: 5.00").undetermined,
      HasSubstr("below 0"));
}

TEST_F(SlideFile, AccelerationsWeightsAndPulls) {
  ExpectValue(Result("kind: kinetic_friction, angle_deg: 35.5, acceleration_m_per_s2: 2.54"), 0.395,
              0.01);
  const CoefficientResult pulled = Result(
      "kind: kinetic_friction, mass_kg: 0.206, hanging_mass_kg: 0.204, acceleration_m_per_s2: 3.9");
  EXPECT_NEAR(pulled.result.value, 0.199, 0.0005);
  EXPECT_NEAR(pulled.result.u, 0.006, 0.001);  // of limits of 0.05 m/s^2
  // On an incline too.
  const double angle = 10 * M_PI / 180, mu = 0.3, m = 0.2, M = 0.3;
  const double a =
      (M - m * (std::sin(angle) + mu * std::cos(angle))) * test::kStandardGravity / (m + M);
  EXPECT_NEAR(Result(fmt::format("kind: kinetic_friction, angle_deg: 10, mass_kg: 0.2, "
                                 "hanging_mass_g: 300, acceleration_m_per_s2: {}",
                                 a))
                  .result.value,
              mu, 1e-6);
  // And where the track of the pulled block is there.
  std::string csv = "Time (s),Position (m)\n";
  for (int k = 0; k < 20; ++k) csv += fmt::format("{},{}\n", 0.05 * k, 0.00125 * k * k * 2);
  test::WriteText(folder_ / "s.csv", csv);
  EXPECT_THAT(Message("kind: kinetic_friction, mass_kg: 1, hanging_mass_kg: 0.5, slide: s.csv"),
              HasSubstr("found neither s_m"));
  EXPECT_NEAR(Result("kind: static_friction, force_N: 1.1, mass_kg: 0.4").result.value, 0.280,
              0.0005);
  EXPECT_NEAR(Result("kind: kinetic_friction, force_mN: [800, 820, 810], mass_g: 400").result.value,
              0.81 / (0.4 * test::kStandardGravity), 1e-9);
  EXPECT_THAT(Message("kind: static_friction, force_N: 1"), HasSubstr("mass_kg"));
  EXPECT_THAT(Message("kind: kinetic_friction, hanging_mass_kg: 1, acceleration_m_per_s2: 1"),
              HasSubstr("mass_kg"));
  EXPECT_THAT(Message("kind: kinetic_friction, acceleration_m_per_s2: 1"), HasSubstr("no angle"));
}

TEST_F(SlideFile, TimedUphill) {
  const double angle = 25 * M_PI / 180,
               slows = test::kStandardGravity * (std::sin(angle) + 0.2 * std::cos(angle));
  std::string times, places;
  for (const int mm : {0, 50, 100, 150}) {
    const double s = mm / 1000.0, v = 1.5;
    times +=
        fmt::format("{}{:.5f}", mm > 0 ? ", " : "", (v - std::sqrt(v * v - 2 * slows * s)) / slows);
    places += fmt::format("{}{}", mm > 0 ? ", " : "", mm);
  }
  const std::string gates = fmt::format(
      "kind: kinetic_friction, angle_deg: 25, angle_half_deg: 0.1, times_s: [{}], times_sd_s: "
      "0.0002, places_mm: [{}], places_half_mm: 0.1",
      times, places);
  ExpectValue(Result(gates), 0.2, 0.03);
  ExpectValue(Result(gates + ", direction: up"), 0.2, 0.03);
  EXPECT_THAT(Message("kind: kinetic_friction, angle_deg: 25, times_s: [0, 0.1, 0.2, 0.3], "
                      "places_m: [0, 0.1, 0.15, 0.12]"),
              HasSubstr("the way back is a test of its own"));
  // Places that no parabola goes through: what they scatter is in the interval.
  const std::string off =
      "kind: kinetic_friction, angle_deg: 0, angle_half_deg: 0, times_s: [0, "
      "0.1, 0.2, 0.3, 0.4], places_half_mm: 0.1, times_sd_s: 1e-5, places_mm: ";
  const CoefficientResult sound = Result(off + "[0, 90, 160, 210, 240]"),
                          spoilt = Result(off + "[0, 90, 164, 210, 240]");
  EXPECT_LT(sound.result.u, 0.01);
  EXPECT_GT(spoilt.result.u, 5 * sound.result.u);
  EXPECT_THAT(NotesOf(spoilt), HasSubstr("off one parabola"));
}

// Friction that grows on the way: one number with what it changes by, never the noise alone.
TEST_F(SlideFile, FrictionThatChangesWidensItsInterval) {
  std::mt19937_64 rng(8);
  std::normal_distribution<double> noise(0, 1e-5);
  std::string csv = "t_s,s_m\n";
  for (int k = 0; k < 60; ++k) {
    const double t = k / 120.0;
    csv += fmt::format("{},{}\n", t, 2 * t - 1.2 * t * t - 0.3 * t * t * t + noise(rng));
  }
  test::WriteText(folder_ / "s.csv", csv);
  const CoefficientResult r =
      Result("kind: kinetic_friction, angle_deg: 0, angle_half_deg: 0, slide: s.csv");
  EXPECT_THAT(NotesOf(r), HasSubstr("changes on the way"));
  // From 2.4 to 3.3 m/s^2.
  EXPECT_LT(r.result.interval95.lower, 2.45 / test::kStandardGravity);
  EXPECT_GT(r.result.interval95.upper, 3.2 / test::kStandardGravity);
}

}  // namespace
}  // namespace impactlab
