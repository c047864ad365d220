#include "tracking/sync/sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <random>

#include "data/base/error.h"
#include "data/statistics/statistics.h"
#include "tests/support/process.h"
#include "tests/tracking/doctor_scene.h"
#include "tests/tracking/sync/sync_scene.h"

namespace impactlab {
namespace {

using Camera = test::FlashCamera;
using Light = test::FlashLight;
using test::Given;
using test::Simulate;
using ::testing::HasSubstr;

TEST(FindFlashes, NothingInADarkRoom) {
  std::mt19937_64 rng(1);
  int found = 0;
  for (int trial = 0; trial < 40; ++trial)
    found += static_cast<int>(FindFlashes(Simulate({}, {}, rng)).size());
  EXPECT_EQ(found, 0);
  EXPECT_TRUE(FindFlashes({}).empty());
}

TEST(FindFlashes, AMovingObjectAndADriftingLampAreNoFlash) {
  std::mt19937_64 rng(2);
  Camera camera;
  BrightnessSeries series = Simulate(camera, {}, rng);
  for (int k = 0; k < camera.frames; ++k) {
    const int band = k / 40;
    // a bright body passes the bands one after another
    if (band < camera.bands) series.bands[k][band] += 15;
    for (double& v : series.bands[k]) v += 10 * std::sin(0.02 * k);  // the lamp drifts
  }
  EXPECT_TRUE(FindFlashes(series).empty());
}

TEST(FindFlashes, BeginningAndEndToAPartOfAFrame) {
  std::mt19937_64 rng(3);
  Camera camera;
  camera.exposure = 4e-3;
  // on 0.8 ms after the middle of frame 120, off 0.8 ms after that of frame 132
  const Light light{0.5008, 0.5508};
  const auto found = FindFlashes(Simulate(camera, {light}, rng));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].what, "flash on");
  EXPECT_EQ(found[1].what, "flash off");
  EXPECT_NEAR(found[0].t, light.on, 3e-5);
  EXPECT_NEAR(found[1].t, light.off, 3e-5);
  EXPECT_LT(found[0].sd, 5e-5);  // a hundredth of the exposure
  EXPECT_GT(found[0].sd, 1e-7);
}

TEST(FindFlashes, WhatACoderLeavesOfTheLightIsNoShareOfAnExposure) {
  BrightnessSeries series;
  series.exposure = 1e-3;
  // Lossy video keeps up to a hundredth of the flash in the frames behind it until it draws the
  // picture anew.
  for (int k = 0; k < 60; ++k) {
    series.t.push_back(k / 240.0);
    series.bands.emplace_back();
    for (int b = 0; b < 8; ++b)
      series.bands.back().push_back(33.7 + (k >= 10 && k < 20   ? 50
                                            : k >= 20 && k < 24 ? 0.35 + 0.02 * b
                                                                : 0));
  }
  const auto found = FindFlashes(series);
  ASSERT_EQ(found.size(), 2u);
  const double gap = 1 / 240.0 - 1e-3, middle = 19.5 / 240;
  EXPECT_NEAR(found[1].sd, gap / std::sqrt(12.0), 0.2 * gap / std::sqrt(12.0));
  EXPECT_NEAR(found[1].t, middle, 0.1 * gap);
}

TEST(FindFlashes, BetweenExposuresTheGapIsTheUncertainty) {
  std::mt19937_64 rng(4);
  Camera camera;
  camera.exposure = 1e-3;
  // between frames 120 (0.5) and 121 (0.504167)
  const auto found = FindFlashes(Simulate(camera, {{0.50208, 9}}, rng));
  ASSERT_EQ(found.size(), 1u);
  const double gap = 1 / 240.0 - 1e-3;
  EXPECT_NEAR(found[0].sd, gap / std::sqrt(12), 0.1 * gap);
  EXPECT_NEAR(found[0].t, 0.5 + 0.5 / 240, 0.2e-3);
}

TEST(FindFlashes, AnUnknownExposureIsSaidByTheUncertainty) {
  std::mt19937_64 rng(5);
  Camera camera;
  camera.exposure = 3e-3;
  BrightnessSeries series = Simulate(camera, {{0.5012, 9}}, rng);  // 10 % of the frame at 0.5
  const double known = FindFlashes(series).at(0).sd;
  series.exposure = 0;
  const Instant blind = FindFlashes(series).at(0);
  EXPECT_GT(blind.sd, 5 * known);
  EXPECT_LT(blind.sd, 1 / 240.0 / std::sqrt(12)) << "still better than the frame alone";
  EXPECT_NEAR(blind.t, 0.5012, 4 * blind.sd);
}

TEST(FindFlashes, SaturatedFlashesHaveNoShare) {
  std::mt19937_64 rng(6);
  Camera camera;
  camera.exposure = 4e-3;
  camera.amplitude = 5000;
  BrightnessSeries series = Simulate(camera, {{0.5008, 0.7}}, rng);
  for (auto& bands : series.bands)
    for (double& v : bands) v = std::min(v, 255.0);
  const auto found = FindFlashes(series);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_GT(found[0].sd, 1e-3);
  EXPECT_NEAR(found[0].t, 0.5008, 3 * found[0].sd);
  EXPECT_NEAR(found[1].t, 0.7, 3 * found[1].sd);
}

TEST(FindFlashes, ACoderThatChangesItsMindIsNoLamp) {
  BrightnessSeries series;
  series.exposure = 1e-3;
  // As lossy video shows a steady scene: the same picture for frames on end, then one a little
  // darker.
  for (int k = 0; k < 60; ++k) {
    series.t.push_back(k / 120.0);
    series.bands.emplace_back(8, (k >= 10 && k < 20 ? 84.0 : 33.7) - (k >= 25 ? 0.6 : 0));
  }
  const auto found = FindFlashes(series);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].what, "flash on");
  EXPECT_EQ(found[1].what, "flash off");
}

TEST(FindFlashes, ClutterWidensTheAnswer) {
  std::mt19937_64 rng(7);
  Camera camera;
  camera.exposure = 4e-3;
  BrightnessSeries series = Simulate(camera, {{0.5008, 9}}, rng);
  const double quiet = FindFlashes(series).at(0).sd;
  // something glitters during the flash only
  for (int k = 115; k < 128; ++k) series.bands[k][3] += 20 * std::sin(2.0 * k);
  EXPECT_GT(FindFlashes(series).at(0).sd, 2 * quiet);
}

TEST(FindFlashes, RefusesSeriesThatAreNone) {
  BrightnessSeries series{{0, 1, 2, 3, 4, 5}, std::vector<std::vector<double>>(5, {1.0}), 0, 10, 0};
  EXPECT_THROW(FindFlashes(series), ConfigError);
  series.bands.assign(6, {1.0});
  series.t[3] = 1;
  EXPECT_THROW(FindFlashes(series), ConfigError);
  series.t[3] = 3;
  series.bands[2] = {1, 2};
  EXPECT_THROW(FindFlashes(series), ConfigError);
}

// From the file on: a lamp that goes on during the exposure of frame 30 and off during that of
// frame 40.
TEST(Brightness, FlashesOfAVideo) {
  test::ScratchFolder scratch("Brightness");
  test::DoctorScene scene;
  const double rate = 240, exposure = 3e-3, on = 30 / rate + 0.5e-3, off = 40 / rate - 0.9e-3;
  scene.gain = [&](int k) {
    const double a = k / rate - exposure / 2, b = k / rate + exposure / 2;
    return 1 + 0.6 * std::max(0.0, std::min(b, off) - std::max(a, on)) / exposure;
  };
  FrameSource source;
  source.video =
      test::WriteScene(scratch.path() / "a.mov", scene, test::Range(0, 60), {.encoder = "ffv1"});
  BrightnessSeries series, rows;
  series.t_line = source.t_line;
  series.exposure = exposure;
  FrameReader reader(source);
  for (Frame frame; reader.Next(&frame);) {
    AddFrame(frame, 8, &series);
    AddFrame(frame, 500, &rows);
  }
  ASSERT_EQ(series.t.size(), 60u);
  EXPECT_EQ(series.height, 120);
  EXPECT_EQ(series.bands.front().size(), 8u);
  const auto found = FindFlashes(series);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0].t, on, std::max(4 * found[0].sd, 2e-5));
  EXPECT_NEAR(found[1].t, off, std::max(4 * found[1].sd, 2e-5));
  EXPECT_LT(found[0].sd, 1e-4);
  EXPECT_EQ(rows.bands.front().size(), 120u) << "a row each at most";
}

TEST(Synchronise, OneCommonInstantGivesTheShiftAndSaysThatDriftIsAssumed) {
  const CameraClock clock = Synchronise(Given({12.5}), Given({2.25}));
  ASSERT_TRUE(clock.usable) << clock.reason;
  EXPECT_NEAR(clock.shift, 10.25, 1e-12);
  EXPECT_EQ(clock.rate, 1);
  EXPECT_FALSE(clock.rate_known);
  EXPECT_THAT(clock.reason, HasSubstr("50 ppm"));
  EXPECT_NEAR(clock.cov(1, 1), 25e-10, 1e-15);
  // At the instant itself the drift does not matter: only the two readings do.
  const Eigen::Vector2d at(1, 2.25);
  EXPECT_NEAR(at.dot(clock.cov * at), 2e-6, 1e-12);
  EXPECT_EQ(clock.matched, 1);
}

TEST(Synchronise, NothingCommonIsNotUsable) {
  EXPECT_FALSE(Synchronise({}, Given({1})).usable);
  EXPECT_FALSE(Synchronise(Given({1}), {}).usable);
  EXPECT_THAT(Synchronise({{1, 1e-3, "flash on"}}, {{1, 1e-3, "flash off"}}).reason,
              HasSubstr("no instant"));
  EXPECT_FALSE(Synchronise(Given({0}), Given({100}), {.shift_max = 10}).usable);
}

TEST(Synchronise, InstantsThatDisagreeALittleAreOneClockKnownLessWell) {
  // Coded video moves the instants of one flash by a tenth of a millisecond, many times what the
  // noise of the pixels says.
  const CameraClock clock =
      Synchronise({{0.050095, 2e-5, "flash on"}, {0.09991, 2e-5, "flash off"}},
                  {{0.250008, 2e-5, "flash on"}, {0.300071, 2e-5, "flash off"}});
  EXPECT_TRUE(clock.usable) << clock.reason;
  EXPECT_NEAR(clock.shift, -0.2, 2e-4);
  const Eigen::Vector2d at(1, 0.25);
  EXPECT_GT(at.dot(clock.cov * at), std::pow(1e-4, 2)) << "the scatter is counted";
  EXPECT_FALSE(Synchronise({{0.05, 2e-5, "flash on"}, {0.1, 2e-5, "flash off"}},
                           {{0.25, 2e-5, "flash on"}, {0.34, 2e-5, "flash off"}})
                   .usable)
      << "a different flash";
}

TEST(Synchronise, AmbiguousMatchesAreRefusedWithTheReason) {
  const CameraClock one_of_three = Synchronise(Given({1, 2, 3}), Given({0.5}));
  EXPECT_FALSE(one_of_three.usable);
  EXPECT_THAT(one_of_three.reason, HasSubstr("ambiguous"));
  EXPECT_THAT(one_of_three.reason, HasSubstr("3 shifts"));
  // A beat without a mark: four of five can be the first or the last four.
  EXPECT_FALSE(Synchronise(Given({0, 1, 2, 3, 4}), Given({10, 11, 12, 13})).usable);
  // Uneven intervals tell.
  const CameraClock uneven = Synchronise(Given({0, 1, 2.3, 3, 4.6}), Given({11, 12.3, 13, 14.6}));
  EXPECT_TRUE(uneven.usable) << uneven.reason;
  EXPECT_NEAR(uneven.shift + 11, 1, 2e-3);
  // A shift known to half a second tells as well.
  EXPECT_TRUE(Synchronise(Given({1, 2, 3}), Given({0.9}), {.shift_max = 0.5}).usable);
}

TEST(Synchronise, HostileT25DifferentLengthsOffsetAndDriftTogether) {
  // 472 frames against 469, the second started 41 frames earlier, 120 frames/s; three flashes, one
  // of them missed by the second camera.
  std::mt19937_64 rng(25);
  Camera a, b;
  a.rate = b.rate = 120;
  a.frames = 472, b.frames = 469 + 41;
  a.exposure = b.exposure = 6e-3;
  b.shift = -41 / 120.0 + 0.0017, b.clock_rate = 1 + 80e-6;
  const std::vector<Light> lights = {{0.4111, 0.5}, {1.203, 1.31}, {3.5372, 3.62}};
  const auto seen_a = FindFlashes(Simulate(a, lights, rng));
  const auto seen_b = FindFlashes(Simulate(b, {lights[0], lights[2]}, rng));
  ASSERT_EQ(seen_a.size(), 6u);
  ASSERT_EQ(seen_b.size(), 4u);
  const CameraClock clock = Synchronise(seen_a, seen_b);
  ASSERT_TRUE(clock.usable) << clock.reason;
  EXPECT_EQ(clock.matched, 4);
  for (const Light& light : lights) {
    const double t = (light.on - b.shift) / b.clock_rate;
    const Eigen::Vector2d at(1, t);
    const double sd = std::sqrt(at.dot(clock.cov * at));
    EXPECT_NEAR(clock.shift + clock.rate * t, light.on, 4 * sd);
    EXPECT_LT(sd, 2e-4) << "a fortieth of a frame";
  }
  EXPECT_NEAR(clock.rate, b.clock_rate, 4 * std::sqrt(clock.cov(1, 1)));
}

TEST(Synchronise, HostileT26ClocksTwoHundredPpmApart) {
  // A minute with flashes at uneven intervals: 200 ppm are 12 ms or three frames at its end.
  std::mt19937_64 rng(26);
  Camera a, b;
  a.frames = b.frames = 60 * 240;
  a.height = b.height = 80;
  a.exposure = 3e-3, b.exposure = 4e-3;
  b.shift = -3.21, b.clock_rate = 1 + 200e-6;
  std::vector<Light> lights;
  for (const double t : {1.3, 7.9, 16.4, 22.05, 31.7, 40.2, 44.4, 51.9, 55.1})
    lights.push_back({t + 0.00123 * t, t + 0.00123 * t + 0.05});
  const CameraClock clock =
      Synchronise(FindFlashes(Simulate(a, lights, rng)), FindFlashes(Simulate(b, lights, rng)));
  ASSERT_TRUE(clock.usable) << clock.reason;
  EXPECT_TRUE(clock.rate_known);
  EXPECT_EQ(clock.matched, 18);
  EXPECT_NEAR(1e6 * (clock.rate - 1), 200, 5);
  EXPECT_LT(1e6 * std::sqrt(clock.cov(1, 1)), 5);
  EXPECT_NEAR(clock.rate, b.clock_rate, 4 * std::sqrt(clock.cov(1, 1)));
  EXPECT_NEAR(clock.shift, b.shift, 4 * std::sqrt(clock.cov(0, 0)));
}

TEST(Synchronise, AFlashSeenAsAWholeMeetsItsBeginningAndEnd) {
  const std::vector<Instant> fast = {{1.0, 1e-5, "flash on"},
                                     {1.01, 1e-5, "flash off"},
                                     {4.0, 1e-5, "flash on"},
                                     {4.02, 1e-5, "flash off"}};
  const std::vector<Instant> slow = {{0.505, 5e-3, "flash"}, {3.51, 5e-3, "flash"}};
  const CameraClock clock = Synchronise(fast, slow);
  ASSERT_TRUE(clock.usable) << clock.reason;
  EXPECT_EQ(clock.matched, 2);
  EXPECT_NEAR(clock.shift, 0.5, 1e-3);
}

TEST(Synchronise, OneFalseInstantOnEachSideIsLeftOut) {
  const CameraClock clock =
      Synchronise(Given({0, 1.7, 2.1, 5.3, 9.0}, 1e-4), Given({3, 4.7, 7.31, 8.3, 12.0}, 1e-4));
  ASSERT_TRUE(clock.usable) << clock.reason;
  EXPECT_EQ(clock.matched, 4);
  EXPECT_NEAR(clock.shift, -3, 3e-4);
}

TEST(Synchronise, RefusesInstantsThatAreNone) {
  EXPECT_THROW(Synchronise({{NAN, 1e-3, "given"}}, Given({1})), ConfigError);
  EXPECT_THROW(Synchronise(Given({1}), {{1, -1, "given"}}), ConfigError);
  EXPECT_THROW(Synchronise(Given({1}), Given({1}), {.rate_sd = 0}), ConfigError);
}

}  // namespace
}  // namespace impactlab
