// Times of bounces with drag, with impacts amiss, and with what they say of gravity; lists of
// heights.

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <random>

#include "tests/pipelines/bench_tests/bench_file.h"

namespace impactlab {
namespace {

using test::ExpectValue;
using ::testing::HasSubstr;
using ::testing::Not;

using BounceFile = test::BenchFile;

// Flights integrated step by step: a judge that shares no closed form with the program.
struct Fall {
  double duration = 0, speed = 0;
};
Fall StepDown(double height, double drag) {
  double v = 0, z = height, t = 0;
  const double h = 1e-6;
  while (z > 0) {
    const double a = test::kStandardGravity - drag * v * v;
    z -= v * h + 0.5 * a * h * h;
    v += a * h;
    t += h;
  }
  return {t, v};
}
Fall StepUp(double speed, double drag) {
  double v = speed, z = 0, t = 0;
  const double h = 1e-6;
  while (v > 0) {
    const double a = test::kStandardGravity + drag * v * v;
    z += v * h - 0.5 * a * h * h;
    v -= a * h;
    t += h;
  }
  return {t, z};
}

std::vector<double> TimesOfDrop(double height, double drag, int n,
                                const std::function<double(double)>& e) {
  Fall fall = StepDown(height, drag);
  std::vector<double> t = {fall.duration};
  for (int k = 1; k < n; ++k) {
    const Fall rise = StepUp(e(fall.speed) * fall.speed, drag);
    fall = StepDown(rise.speed, drag);
    t.push_back(t.back() + rise.duration + fall.duration);
  }
  return t;
}

std::string ListOf(const std::vector<double>& t, double noise = 0, int seed = 1) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal(0, noise > 0 ? noise : 1);
  std::string out;
  for (const double x : t)
    out += fmt::format("{}{:.4f}", out.empty() ? "" : ", ", x + (noise > 0 ? normal(rng) : 0));
  return "[" + out + "]";
}

constexpr double kDrag = 0.1396, kE = 0.93;  // table tennis

TEST_F(BounceFile, DragIsDeclaredOrFound) {
  const std::string times = "kind: restitution, bounce_times_sd_s: 0.0002, bounce_times_s: " +
                            ListOf(TimesOfDrop(1.2, kDrag, 16, [](double) { return kE; }), 2e-4);
  const CoefficientResult declared = Result(times + ", drag_per_m: 0.1396");
  ExpectValue(declared, kE, 0.001);
  const CoefficientResult found = Result(times);
  ExpectValue(found, kE, 0.005);
  EXPECT_THAT(found.method, HasSubstr("drag fitted"));
  EXPECT_THAT(NotesOf(found), HasSubstr("air drags: k = 0.1"));
  // Drag that is not that of the ball contradicts the readings: no value by it.
  const CoefficientResult wrong = Result(times + ", drag_per_m: 0.05, drag_half_per_m: 0.001");
  EXPECT_TRUE(!wrong.undetermined.empty() || wrong.method.find("declared") == std::string::npos)
      << wrong.method;
}

// What the times leave room for is said where drag is not declared; 0 says that there is none.
TEST_F(BounceFile, DragThatIsLeftOutIsSpokenOf) {
  const std::string times = "kind: restitution, bounce_times_sd_s: 0.0004, bounce_times_s: " +
                            ListOf(TimesOfDrop(0.4, 0.02, 6, [](double) { return kE; }), 4e-4, 2);
  const CoefficientResult r = Result(times);
  EXPECT_THAT(NotesOf(r), HasSubstr("the times leave room for"));
  const CoefficientResult none = Result(times + ", drag_per_m: 0");
  EXPECT_THAT(NotesOf(none), Not(HasSubstr("left out")));
  EXPECT_NEAR(none.result.value, r.result.value, 0.2 * r.result.u);
  EXPECT_NEAR(none.result.u, r.result.u, 0.2 * r.result.u);
  const std::string heights = "kind: restitution, drop_height_m: 1.00, rebound_height_m: 0.64";
  EXPECT_EQ(NotesOf(Result(heights + ", drag_per_m: 0")), "");
}

// Few bounces of a low drop: drag and restitution that falls with speed are one to them.
TEST_F(BounceFile, DragOrSpeedIsLeftOpen) {
  const std::string times = "kind: restitution, bounce_times_sd_s: 0.0002, bounce_times_s: " +
                            ListOf(TimesOfDrop(0.4, kDrag, 5, [](double) { return kE; }), 2e-4, 3);
  const CoefficientTest t = Test(times);
  EXPECT_FALSE(t.determined()) << BriefReport(All(times));
  EXPECT_THAT(t.results[0].undetermined, HasSubstr("drag_per_m"));
  ASSERT_GE(t.results.size(), 3U);
  for (std::size_t k = 1; k < t.results.size(); ++k) EXPECT_TRUE(t.results[k].conditional);
  EXPECT_FALSE(AnyDetermined(All(times)));
  ExpectValue(Result(times + ", drag_per_m: 0.1396"), kE, 0.001);
  // A page says it, without a value.
  WriteCoefficients(folder_ / "out", All(times));
  EXPECT_THAT(test::ReadText(folder_ / "out/index.html"), HasSubstr("not determined"));
}

TEST_F(BounceFile, SpeedIsFound) {
  const auto e = [](double v) { return 0.9 - 0.03 * v; };
  const CoefficientResult r =
      Result("kind: restitution, bounce_times_sd_s: 0.0002, bounce_times_s: " +
             ListOf(TimesOfDrop(1.0, 0, 14, e), 2e-4));
  EXPECT_THAT(NotesOf(r), HasSubstr("e falls with speed: -0.03"));
  EXPECT_GT(r.result.value, e(std::sqrt(2 * test::kStandardGravity)));
  EXPECT_LT(r.result.value, 0.9);
}

TEST_F(BounceFile, ImpactsAmiss) {
  const auto without = [](std::vector<double> t, std::size_t k) {
    t.erase(t.begin() + static_cast<std::ptrdiff_t>(k));
    return t;
  };
  const std::string kind = "kind: restitution, bounce_times_sd_s: 0.0003, bounce_times_s: ";
  const std::vector<double> low = TimesOfDrop(0.567, 0, 6, [](double) { return 0.5; });
  const CoefficientResult missing = Result(kind + ListOf(without(low, 2)));
  ExpectValue(missing, 0.5, 0.005);
  EXPECT_THAT(NotesOf(missing), HasSubstr("an impact is missing between"));
  const std::vector<double> high = TimesOfDrop(0.575, 0, 12, [](double) { return 0.86; });
  const CoefficientResult loud = Result(kind + ListOf(without(high, 3), 3e-4));
  ExpectValue(loud, 0.86, 0.002);
  EXPECT_THAT(NotesOf(loud), HasSubstr("an impact is missing between"));
  // A door, and a time that was written wrongly.
  std::vector<double> extra = high;
  extra.insert(extra.begin() + 5, 0.4 * high[4] + 0.6 * high[5]);
  const CoefficientResult door = Result(kind + ListOf(extra, 3e-4));
  ExpectValue(door, 0.86, 0.002);
  EXPECT_THAT(NotesOf(door), HasSubstr("is no impact of the series"));
  std::vector<double> typed = high;
  typed[6] += 0.02;
  const CoefficientResult wrong = Result(kind + ListOf(typed, 3e-4));
  ExpectValue(wrong, 0.86, 0.002);
  EXPECT_THAT(NotesOf(wrong), HasSubstr("is not the time of its impact"));
}

TEST_F(BounceFile, ScatterIsInTheInterval) {
  const std::vector<double> t = TimesOfDrop(0.6, 0, 10, [](double) { return 0.8; });
  const std::string list = ListOf(t, 2e-3, 5);
  const CoefficientResult r =
      Result("kind: restitution, bounce_times_sd_s: 0.0001, bounce_times_s: " + list);
  EXPECT_NEAR(r.result.value, 0.8, 4 * r.result.u);
  EXPECT_GT(r.result.u, 2e-4);  // 2e-5 by the times as stated
  EXPECT_THAT(NotesOf(r), HasSubstr("scatter"));
}

TEST_F(BounceFile, GravityOfADrop) {
  const std::vector<double> t = TimesOfDrop(0.575, 0, 12, [](double) { return 0.86; });
  const std::string kind =
      "kind: restitution, drop_height_m: 0.575, drop_height_half_m: 0.002, bounce_times_sd_s: "
      "0.0003, bounce_times_s: ";
  const CoefficientTest whole = Test(kind + ListOf(t, 3e-4));
  ASSERT_EQ(whole.results.size(), 2U);
  ExpectValue(whole.results[0], 0.86, 0.002);
  EXPECT_EQ(whole.results[1].quantity, "g");
  ExpectValue(whole.results[1], test::kStandardGravity, 0.05);
  EXPECT_THAT(NotesOf(whole.results[1]), HasSubstr("agrees with"));
  // The first impact was not heard; and a height in the wrong unit of thought.
  const CoefficientTest late = Test(kind + ListOf({t.begin() + 1, t.end()}, 3e-4));
  EXPECT_THAT(NotesOf(late.results[1]), HasSubstr("one more impact had come before"));
  const CoefficientTest high =
      Test("kind: restitution, drop_height_m: 0.65, bounce_times_sd_s: 0.0003, bounce_times_s: " +
           ListOf(t, 3e-4));
  EXPECT_THAT(NotesOf(high.results[1]), HasSubstr("was expected"));
  // With drag.
  const std::vector<double> slow = TimesOfDrop(1.2, kDrag, 16, [](double) { return kE; });
  const CoefficientTest air = Test(
      "kind: restitution, drop_height_m: 1.2, drop_height_half_m: 0.001, drag_per_m: 0.1396, "
      "bounce_times_sd_s: 0.0002, bounce_times_s: " +
      ListOf(slow, 2e-4));
  ASSERT_EQ(air.results.size(), 2U);
  ExpectValue(air.results[1], test::kStandardGravity, 0.1);
}

TEST_F(BounceFile, ListsAndHeadersOfOtherPrograms) {
  const std::vector<double> t = TimesOfDrop(0.575, 0, 8, [](double) { return 0.86; });
  std::string app = "\"Bounce\",\"Time (s)\"\n", second = "t1 (ms)\n", flights;
  for (std::size_t k = 0; k < t.size(); ++k) {
    app += fmt::format("{},{:.4f}\n", k + 1, t[k]);
    second += fmt::format("{:.1f}\n", 1000 * t[k]);
    if (k > 0) flights += fmt::format("{}{:.1f}", k > 1 ? ", " : "", 1000 * (t[k] - t[k - 1]));
  }
  test::WriteText(folder_ / "app.csv", app);
  test::WriteText(folder_ / "second.csv", second);
  for (const char* file : {"app.csv", "second.csv"})
    ExpectValue(Result(fmt::format("kind: restitution, bounces: {}, time_sd_s: 0.0003", file)),
                0.86, 0.002);
  ExpectValue(
      Result("kind: restitution, flight_times_sd_ms: 0.4, flight_times_ms: [" + flights + "]"),
      0.86, 0.002);
  const CoefficientResult as_times =
      Result("kind: restitution, bounce_times_sd_ms: 0.4, bounce_times_ms: [" + flights + "]");
  ExpectValue(as_times, 0.86, 0.002);
  EXPECT_THAT(NotesOf(as_times), HasSubstr("taken as durations"));
  test::WriteText(folder_ / "sound.txt", "0.0026\n-0.0015\n0.0022\n0.0001\n");
  EXPECT_THAT(Message("kind: restitution, bounces: sound.txt, time_sd_s: 0.001"),
              HasSubstr("samples of a sound"));
  test::WriteText(folder_ / "bare.txt", "0.3427\n0.9313\n1.4383\n");
  EXPECT_THAT(Message("kind: restitution, bounces: bare.txt, time_sd_s: 0.001"),
              HasSubstr("a line t_s"));
}

TEST_F(BounceFile, HeightsWithDrag) {
  const double drop = 1.2, landing = StepDown(drop, kDrag).speed,
               rebound = StepUp(kE * landing, kDrag).speed;
  const std::string heights = fmt::format(
      "kind: restitution, drop_height_m: {}, drop_height_half_m: 0.001, rebound_height_m: {:.4f}, "
      "rebound_height_half_m: 0.001",
      drop, rebound);
  ExpectValue(Result(heights + ", drag_per_m: 0.1396"), kE, 0.002);
  const CoefficientResult plain = Result(heights);
  EXPECT_NEAR(plain.result.value, 0.811, 0.001);
  EXPECT_THAT(NotesOf(plain), HasSubstr("drag of the air is left out: e is 0.99 % low"));
}

TEST_F(BounceFile, ListsOfEqualLengthArePairs) {
  const CoefficientResult heights = Result(
      "kind: restitution, drop_height_m: [0.40, 0.90, 1.60, 2.50], drop_height_half_m: "
      "0.004, rebound_height_m: [0.256, 0.533, 0.876, 1.262], rebound_height_half_m: 0.004");
  EXPECT_EQ(heights.method, "pairs of heights");
  EXPECT_THAT(NotesOf(heights), HasSubstr("0.800 at 2.8 m/s"));
  EXPECT_THAT(NotesOf(heights), HasSubstr("e falls with speed, from 0.79"));
  EXPECT_THAT(NotesOf(heights), HasSubstr("to 0.71"));
  EXPECT_GT(heights.result.interval95.lower, 0.71);
  EXPECT_LT(heights.result.interval95.upper, 0.80);
  const CoefficientResult speeds = Result(
      "kind: restitution, speed_before_m_per_s: [3.00, 4.00, 5.00], speed_after_m_per_s: "
      "[1.80, 2.41, 2.99], speed_before_sd_m_per_s: 0.02, speed_after_sd_m_per_s: 0.02");
  ExpectValue(speeds, 0.6, 0.005);
  EXPECT_THAT(NotesOf(speeds), Not(HasSubstr("falls")));
  // Scatter is in the interval, and two pairs that differ are no trend.
  const CoefficientResult scatter = Result(
      "kind: restitution, speed_before_m_per_s: [3.00, 3.02, 5.00, 4.98], "
      "speed_after_m_per_s: [1.80, 2.10, 3.40, 3.05], speed_before_sd_m_per_s: 0.005, "
      "speed_after_sd_m_per_s: 0.005");
  EXPECT_GT(scatter.result.u, 0.01);
  EXPECT_THAT(NotesOf(scatter), HasSubstr("the pairs scatter"));
  EXPECT_THAT(Result("kind: restitution, drop_height_m: [0.500, 2.000], rebound_height_m: [0.289, "
                     "0.980]")
                  .undetermined,
              HasSubstr("two pairs"));
  EXPECT_THAT(Message("kind: restitution, drop_height_m: [0.5, 1.0, 2.0], rebound_height_m: [0.3, "
                      "0.5]"),
              HasSubstr("as many of both"));
}

TEST_F(BounceFile, ReboundsOfOneDrop) {
  const std::string drop = "kind: restitution, drop_height_m: 1.00, rebound_height_m: ";
  const CoefficientResult chain = Result(drop + "[0.545, 0.300, 0.170]");
  EXPECT_EQ(chain.method, "successive rebounds");
  EXPECT_THAT(NotesOf(chain), HasSubstr("0.738 at 4.43 m/s, 0.742 at 3.27 m/s, 0.753"));
  EXPECT_THAT(NotesOf(chain), HasSubstr("taken as successive"));
  EXPECT_LT(chain.result.interval95.upper, 0.78);
  EXPECT_GT(chain.result.interval95.lower, 0.70);
  EXPECT_EQ(Result(drop + "[0.645, 0.642, 0.638]").method, "heights");
  EXPECT_EQ(Result(drop + "[0.545, 0.300, 0.170], rebounds: repeated").method, "heights");
  const CoefficientResult bouncy = Result(drop + "[0.980, 0.970, 0.960]");
  EXPECT_THAT(NotesOf(bouncy), HasSubstr("`rebounds: successive`"));
  EXPECT_EQ(Result(drop + "[0.980, 0.970, 0.960], rebounds: successive").method,
            "successive rebounds");
  EXPECT_THAT(Message(drop + "0.5, rebounds: successive"), HasSubstr("a list of rebounds"));
}

TEST_F(BounceFile, NoIntervalAboveOneWithoutAWord) {
  const CoefficientResult reaches =
      Result("kind: restitution, drop_height_m: 1.0, rebound_height_m: 0.96");
  EXPECT_GT(reaches.result.interval95.upper, 1);
  EXPECT_THAT(NotesOf(reaches), HasSubstr("reaches above 1"));
  const CoefficientResult above =
      Result("kind: restitution, speed_before_m_per_s: 2.00, speed_after_m_per_s: 2.20");
  EXPECT_THAT(above.undetermined, HasSubstr("no passive drop"));
}

// m v_0 = m v_1 + M v_2, v_2 - v_1 = e v_0.
// Each of these was printed with a narrow interval, or averaged in.
TEST_F(BounceFile, WhatNothingTestsOrNoBodyDoesIsSaid) {
  const CoefficientResult three =
      Result("kind: restitution, bounce_times_s: [0, 1.9, 2.71], bounce_times_sd_s: 0.0002");
  EXPECT_THAT(NotesOf(three), HasSubstr("two flights give one ratio, which nothing tests"));
  EXPECT_THAT(NotesOf(three), HasSubstr("e would be 0.900")) << "an impact at 1 s was left out";
  EXPECT_THAT(NotesOf(Result("kind: restitution, bounce_times_s: [0, 1, 1.9, 2.71], "
                             "bounce_times_sd_s: 0.0002")),
              Not(HasSubstr("nothing tests")));
  const CoefficientResult pairs = Result(
      "kind: restitution, drop_height_m: [1.0, 0.5, 0.25], drop_height_half_m: 0.002, "
      "rebound_height_m: [0.642, 0.638, 0.16], rebound_height_half_m: 0.002");
  EXPECT_THAT(pairs.undetermined, HasSubstr("pair 2, 1.130 at 3.13 m/s, is above 1"));
  EXPECT_THAT(Message("kind: restitution, bounce_times_s: [0.4515, 1.2912, 3.5], "
                      "bounce_times_sd_s: 0.0002"),
              HasSubstr("at least one impact is missing between 1.2912 and 3.5"));
  EXPECT_THAT(NotesOf(Result("kind: restitution, drop_height_m: 1.0, drop_height_half_m: 0.002, "
                             "rebound_height_m: 0, rebound_height_half_m: 0.002")),
              Not(HasSubstr("write 0.00")));
}

TEST_F(BounceFile, RecoilingTargets) {
  const double m = 0.05, M = 0.4, e = 0.7, v_0 = 3, v_1 = (m - e * M) / (m + M) * v_0;
  const std::string masses = ", mass_kg: 0.0500, target_mass_kg: 0.4000";
  const CoefficientResult r =
      Result(fmt::format("kind: restitution, speed_before_m_per_s: {:.4f}, speed_after_m_per_s: "
                         "{:.4f}",
                         v_0, -v_1) +
             masses);
  EXPECT_NEAR(r.result.value, e, 1e-4);
  // A heavy ball goes on: its speed after the impact is below 0.
  const double heavy = (0.5 - 0.3 * 0.4) / 0.9 * v_0;
  EXPECT_NEAR(Result(fmt::format("kind: restitution, speed_before_m_per_s: 3.0000, "
                                 "speed_after_m_per_s: {:.4f}, mass_kg: 0.5, target_mass_kg: 0.4",
                                 -heavy))
                  .result.value,
              0.3, 1e-4);
  EXPECT_THAT(
      Message("kind: restitution, speed_before_m_per_s: 3, speed_after_m_per_s: 2, mass_kg: "
              "0.1"),
      HasSubstr("target_mass_kg"));
  EXPECT_THAT(Message("kind: restitution, bounce_times_s: [0, 1, 1.5]" + masses),
              HasSubstr("recoils"));
}

}  // namespace
}  // namespace impactlab
