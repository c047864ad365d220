#include "tracking/track/redetect_spots.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/support/discs.h"

namespace impactlab {
namespace {

constexpr int kRedetectSpotsWidth = 200, kRedetectSpotsHeight = 120;
const Eigen::Vector2d kFirst(60, 60), kSecond(140, 60);

// Two markers, the second on a body that the level of the frame does not part from it.
GrayImage Picture(std::mt19937_64& rng) {
  std::vector<double> picture(static_cast<std::size_t>(kRedetectSpotsWidth) * kRedetectSpotsHeight,
                              20);
  for (int y = 40; y < 80; ++y)
    for (int x = 110; x < 170; ++x)
      picture[static_cast<std::size_t>(y) * kRedetectSpotsWidth + static_cast<std::size_t>(x)] =
          150;
  test::AddDisc({.q = kFirst, .radius = 5, .amplitude = 200}, kRedetectSpotsWidth,
                kRedetectSpotsHeight, &picture);
  test::AddDisc({.q = kSecond, .radius = 5, .amplitude = 70}, kRedetectSpotsWidth,
                kRedetectSpotsHeight, &picture);
  return test::Expose(picture, kRedetectSpotsWidth, kRedetectSpotsHeight, 1.5, rng);
}

SpotOptions Options() {
  SpotOptions options;
  options.threshold = 110;
  return options;
}

double Nearest(const std::vector<Spot>& spots, const Eigen::Vector2d& q) {
  double least = 1e9;
  for (const Spot& spot : spots) least = std::min(least, (spot.q - q).norm());
  return least;
}

TEST(LookAgain, FindsTheMarkerThatALitBodyHasSwallowed) {
  std::mt19937_64 rng(5);
  const GrayImage image = Picture(rng);
  SpotFinder finder(Options());
  std::vector<Spot> spots = finder.FindSpots(image);
  ASSERT_EQ(spots.size(), 2u) << "the marker and the whole body";
  const auto area_of = [&](const Eigen::Vector2d& q) {
    for (const Spot& spot : spots)
      if ((spot.q - q).norm() < 1) return spot.area;
    return 0.0;
  };
  const double area = area_of(kFirst);
  ASSERT_GT(area_of(kSecond), 10 * area);
  const std::vector<ExpectedMarker> expected{{kFirst + Eigen::Vector2d(1, 0), 0.5, area},
                                             {kSecond + Eigen::Vector2d(-1, 1), 0.5, area}};
  EXPECT_EQ(LookAgain(image, Options(), finder.noise(), expected, &spots), 1);
  ASSERT_EQ(spots.size(), 2u) << "the body went, the marker came";
  EXPECT_LT(Nearest(spots, kFirst), 0.1);
  EXPECT_LT(Nearest(spots, kSecond), 0.15);
  EXPECT_NEAR(area_of(kSecond), area, 0.3 * area);
  // Once more: every marker has its spot, nothing changes.
  EXPECT_EQ(LookAgain(image, Options(), finder.noise(), expected, &spots), 0);
  EXPECT_EQ(spots.size(), 2u);
}

TEST(LookAgain, TakesNothingElseForTheMarker) {
  std::mt19937_64 rng(6);
  const GrayImage image = Picture(rng);
  SpotFinder finder(Options());
  const std::vector<Spot> before = finder.FindSpots(image);
  // a bare wall
  const std::vector<ExpectedMarker> elsewhere{{{30, 30}, 0.5, 80},
                                              // a bare part of the body
                                              {{125, 50}, 0.5, 80},
                                              // too far off
                                              {kSecond + Eigen::Vector2d(12, 0), 0.5, 80},
                                              // a larger marker
                                              {kSecond, 0.5, 800},
                                              {{-500, 40}, 0.5, 80},
                                              {{1e4, 1e4}, 0.5, 80}};  // outside of the picture
  for (const ExpectedMarker& marker : elsewhere) {
    std::vector<Spot> spots = before;
    EXPECT_EQ(LookAgain(image, Options(), finder.noise(), {marker}, &spots), 0)
        << marker.q.transpose();
    EXPECT_EQ(spots.size(), before.size());
  }
}

}  // namespace
}  // namespace impactlab
