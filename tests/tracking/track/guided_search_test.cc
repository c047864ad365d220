#include "tracking/track/guided_search.h"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>
#include <random>

#include "tests/support/discs.h"

namespace impactlab {
namespace {

constexpr int kGuidedSearchWidth = 160, kGuidedSearchHeight = 120;

// A body lit nearly as bright as its markers: a band that crosses the picture, on a dark wall.
std::vector<double> LitBand(double level, int half = 6) {
  std::vector<double> picture(static_cast<std::size_t>(kGuidedSearchWidth) * kGuidedSearchHeight,
                              30);
  for (int y = 60 - half; y < 60 + half; ++y)
    for (int x = 0; x < kGuidedSearchWidth; ++x)
      picture[static_cast<std::size_t>(y) * kGuidedSearchWidth + static_cast<std::size_t>(x)] =
          level;
  return picture;
}

GrayImage Shown(const std::vector<double>& picture, double noise, bool dark, std::mt19937_64& rng) {
  GrayImage image = test::Expose(picture, kGuidedSearchWidth, kGuidedSearchHeight, noise, rng);
  if (dark)
    for (std::uint8_t& v : image.pixels) v = static_cast<std::uint8_t>(255 - v);
  return image;
}

std::vector<TrackPoint> Look(const GrayImage& image, const WantedMarker& wanted,
                             bool dark = false) {
  CameraTrackOptions options;
  options.spots.dark = dark;
  return SearchPicture(image, options, 0.7, {1.5, 0}, {wanted});
}

TEST(GuidedSearch, FindsMarkersOnABodyThatIsNearlyAsBright) {
  std::mt19937_64 rng(41);
  std::uniform_real_distribution<double> unit(-1, 1);
  int rough = 0;
  for (int trial = 0; trial < 24; ++trial) {
    const bool dark = trial % 2 == 1;
    const Eigen::Vector2d q(80 + 30 * unit(rng), 60 + unit(rng));
    std::vector<double> picture = LitBand(170, trial % 4 < 2 ? 6 : 20);
    test::AddDisc({.q = q, .radius = 4.5, .amplitude = 45}, kGuidedSearchWidth, kGuidedSearchHeight,
                  &picture);
    const GrayImage image = Shown(picture, 1.5, dark, rng);
    const WantedMarker wanted{
        .frame = 7, .q = q + 3 * Eigen::Vector2d(unit(rng), unit(rng)), .sd = 1.5, .radius = 4.5};
    const std::vector<TrackPoint> found = Look(image, wanted, dark);
    ASSERT_EQ(found.size(), 1u) << trial;
    const Eigen::Vector2d r = found[0].q - q;
    EXPECT_LT(r.norm(), 1.2) << trial;
    EXPECT_LT(r.dot(found[0].cov.inverse() * r), 20) << trial;
    rough += (found[0].flags & kRough) != 0;
    EXPECT_EQ(found[0].frame, 7);
    EXPECT_EQ(found[0].marker, -1);
    EXPECT_NEAR(found[0].major, 4.5, 1);
    EXPECT_EQ(found[0].amplitude < 0, dark);
  }
  EXPECT_LE(rough, 14) << "on the wide body the model fits";
}

TEST(GuidedSearch, TakesNeitherABareBodyNorNoiseNorAnotherSize) {
  std::mt19937_64 rng(42);
  std::uniform_real_distribution<double> unit(-1, 1);
  for (int trial = 0; trial < 40; ++trial) {
    std::vector<double> picture = LitBand(trial % 2 == 0 ? 170 : 30);
    const Eigen::Vector2d q(80 + 30 * unit(rng), 60 + unit(rng));
    if (trial % 4 == 1)
      test::AddDisc({.q = q, .radius = 10, .amplitude = 80}, kGuidedSearchWidth,
                    kGuidedSearchHeight, &picture);
    const GrayImage image = Shown(picture, 1.5, false, rng);
    EXPECT_TRUE(Look(image, {.q = q, .sd = 3, .radius = 4.5}).empty()) << trial;
  }
}

TEST(GuidedSearch, LooksNoFartherThanThePlaceIsKnown) {
  std::mt19937_64 rng(43);
  std::vector<double> picture(static_cast<std::size_t>(kGuidedSearchWidth) * kGuidedSearchHeight,
                              30);
  const Eigen::Vector2d q(80, 60);
  test::AddDisc({.q = q, .radius = 4.5, .amplitude = 120}, kGuidedSearchWidth, kGuidedSearchHeight,
                &picture);
  const GrayImage image = Shown(picture, 1.5, false, rng);
  EXPECT_EQ(Look(image, {.q = q + Eigen::Vector2d(6, 0), .sd = 1.5, .radius = 4.5}).size(), 1u);
  EXPECT_TRUE(Look(image, {.q = q + Eigen::Vector2d(12, 0), .sd = 1.5, .radius = 4.5}).empty());
  EXPECT_TRUE(Look(image, {.q = q + Eigen::Vector2d(40, 0), .sd = 100, .radius = 4.5}).empty());
}

TEST(GuidedSearch, SurvivesPlacesThatAreNone) {
  const GrayImage image{
      kGuidedSearchWidth, kGuidedSearchHeight,
      std::vector<std::uint8_t>(static_cast<std::size_t>(kGuidedSearchWidth) * kGuidedSearchHeight,
                                40)};
  for (const double x : {-1e9, -3.0, kGuidedSearchWidth + 2.0, std::nan("")})
    EXPECT_TRUE(Look(image, {.q = {x, 60}, .sd = 2, .radius = 4.5}).empty()) << x;
  for (const double radius : {0.0, -1.0, 1e9, std::nan("")})
    EXPECT_TRUE(Look(image, {.q = {80, 60}, .sd = 2, .radius = radius}).empty()) << radius;
  EXPECT_TRUE(Look({}, {.q = {80, 60}, .sd = 2, .radius = 4.5}).empty());
}

TEST(GuidedSearch, AFileThatIsGoneGivesNothing) {
  FrameSource source;
  source.video = "/nowhere/at_all.mp4";
  SecondLook look(source);
  EXPECT_TRUE(
      GuidedSearch({}, 0.7, {}, {{.frame = 3, .q = {80, 60}, .sd = 2, .radius = 4.5}}, &look)
          .empty());
}

// A frame may have been kept in part only.
TEST(GuidedSearch, ReadsNothingOutsideOfThePartItNames) {
  std::mt19937_64 rng(43);
  std::uniform_real_distribution<double> unit(-1, 1);
  int found = 0;
  for (int trial = 0; trial < 60; ++trial) {
    const double radius = trial % 3 == 0 ? 2 : trial % 3 == 1 ? 4.5 : 11;
    const Eigen::Vector2d q(80 + 70 * unit(rng), 60 + 50 * unit(rng));
    std::vector<double> picture = LitBand(100 + 60 * unit(rng), trial % 4 < 2 ? 6 : 20);
    test::AddDisc({.q = q, .radius = radius, .amplitude = 60}, kGuidedSearchWidth,
                  kGuidedSearchHeight, &picture);
    const GrayImage image = Shown(picture, 2, false, rng);
    const WantedMarker wanted{.frame = 0,
                              .q = q + 4 * Eigen::Vector2d(unit(rng), unit(rng)),
                              .sd = trial % 2 == 0 ? 1.0 : 7.0,
                              .radius = radius * (1 + 0.3 * unit(rng)),
                              .v = 2000 * Eigen::Vector2d(unit(rng), unit(rng))};
    CameraTrackOptions options;
    options.exposure = trial % 5 == 0 ? 0 : 0.003;
    options.shape = trial % 7 == 0 ? MarkerShape::kStripe : MarkerShape::kDisc;
    const FramePart part = SearchedPart(wanted, options.exposure);
    GrayImage cut = image;
    for (int y = 0; y < cut.height; ++y)
      for (int x = 0; x < cut.width; ++x)
        if (x < part.left || x > part.right || y < part.top || y > part.bottom) cut.At(x, y) = 0;
    const auto of_all = SearchPicture(image, options, 0.7, {2, 0}, {wanted}),
               of_part = SearchPicture(cut, options, 0.7, {2, 0}, {wanted});
    ASSERT_EQ(of_all.size(), of_part.size()) << trial;
    if (of_all.empty()) continue;
    ++found;
    EXPECT_EQ(of_all[0].q, of_part[0].q) << trial;
    EXPECT_EQ(of_all[0].cov, of_part[0].cov) << trial;
    EXPECT_EQ(of_all[0].flags, of_part[0].flags) << trial;
  }
  EXPECT_GT(found, 20);
}

}  // namespace
}  // namespace impactlab
