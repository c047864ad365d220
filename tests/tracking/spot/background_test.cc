#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "data/base/error.h"
#include "tests/support/discs.h"
#include "tracking/spot/spot.h"

namespace impactlab {
namespace {

GrayImage Uniform(int width, int height, int level) {
  return {width, height,
          std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height,
                                    static_cast<std::uint8_t>(level))};
}

// A lamp and a bright edge that stand still, a marker that moves by `step` px a frame.
GrayImage Scene(int frame, double step, bool dark, std::mt19937_64& rng) {
  std::vector<double> picture(320 * 200, 60);
  for (int y = 0; y < 200; ++y) {
    for (int x = 250; x < 258; ++x) picture[y * 320 + x] += 120;
  }
  const double sign = dark ? -1 : 1;
  test::AddDisc({{80, 60}, 8, sign * 55}, 320, 200, &picture);
  test::AddDisc({{20.3 + step * frame, 140.6}, 5, sign * 50}, 320, 200, &picture);
  return test::Expose(picture, 320, 200, 2, rng);
}

TEST(Background, IsTheMedian) {
  Background background(3, 1);
  EXPECT_TRUE(background.empty());
  for (const int v : {10, 200, 12, 11, 13})
    background.Add({3, 1, {static_cast<std::uint8_t>(v), 50, static_cast<std::uint8_t>(255 - v)}});
  EXPECT_EQ(background.image().pixels, (std::vector<std::uint8_t>{12, 50, 243}));
  background.Add({3, 1, {14, 50, 241}});  // even count: middle of the two
  EXPECT_EQ(background.image().pixels, (std::vector<std::uint8_t>{13, 50, 243}));
}

TEST(Background, StaticClutterVanishesAndAMovingMarkerStays) {
  for (const bool dark : {false, true}) {
    std::mt19937_64 rng(5);
    Background background(320, 200);
    for (int i = 0; i < 40; ++i) background.Add(Scene(i, 5, dark, rng));
    SpotOptions options;
    options.dark = dark;
    const GrayImage frame = Scene(20, 5, dark, rng);
    EXPECT_GE(SpotFinder(options).FindSpots(frame).size(), 2u)
        << "the clutter is seen without a background";
    GrayImage difference;
    background.Subtract(frame, dark, &difference);
    const auto spots =
        SpotFinder().FindSpots(difference);  // bright on black, whatever the marker is
    ASSERT_EQ(spots.size(), 1u);
    EXPECT_LT((spots[0].q - Eigen::Vector2d(120.3, 140.6)).norm(), 0.3);
    EXPECT_NEAR(spots[0].peak, 50, 12);
    // The other sign sees no marker at all.
    background.Subtract(frame, !dark, &difference);
    for (const Spot& s : SpotFinder().FindSpots(difference))
      EXPECT_GT((s.q - Eigen::Vector2d(120.3, 140.6)).norm(), 20);
  }
}

// However long the recording: the samples are drawn from all of it, not from its beginning.
TEST(Background, FollowsTheWholeRecordingInBoundedMemory) {
  Background background(4, 4);
  // the light was switched on early
  for (int i = 0; i < 20000; ++i) background.Add(Uniform(4, 4, i < 6000 ? 20 : 90));
  EXPECT_EQ(background.image().At(2, 2), 90);
  Background again(4, 4);
  for (int i = 0; i < 20000; ++i) again.Add(Uniform(4, 4, static_cast<int>(i % 251)));
  EXPECT_NEAR(again.image().At(0, 0), 125, 75);
  Background twice(4, 4);
  for (int i = 0; i < 20000; ++i) twice.Add(Uniform(4, 4, static_cast<int>(i % 251)));
  EXPECT_EQ(again.image().pixels, twice.image().pixels) << "no chance in it";
}

TEST(Background, RefusesWhatDoesNotFit) {
  EXPECT_THROW(Background(0, 5), ConfigError);
  Background background(8, 6);
  GrayImage out;
  EXPECT_THROW(background.image(), ConfigError);
  EXPECT_THROW(background.Subtract(Uniform(8, 6, 1), false, &out), ConfigError);
  EXPECT_THROW(background.Add(Uniform(6, 8, 1)), ConfigError);
  background.Add(Uniform(8, 6, 1));
  EXPECT_THROW(background.Subtract(Uniform(6, 8, 1), false, &out), ConfigError);
}

}  // namespace
}  // namespace impactlab
