#include "tracking/marker/tags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/base/error.h"
#include "tests/support/tag_pictures.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;

using test::Apply;
using test::Canvas;
using test::kApril16h5;
using test::kApril25h9;
using test::kApril36h11;
using test::kAruco0;
using test::kAruco1;
using test::Map;
using test::Pattern;
using test::Place;
using test::TrueCorners;

TEST(TagsTest, NamesAndCornersInTheTagsOwnOrder) {
  std::mt19937_64 rng(1);
  for (const Pattern& pattern : {kAruco0, kAruco1, kApril36h11, kApril25h9, kApril16h5}) {
    for (int turn = 0; turn < 8; ++turn) {
      Canvas canvas(120, 110);
      const Map map = Place(pattern, 60.3, 54.8, 8, turn * M_PI / 4 + 0.1, 0.1);
      canvas.Draw(pattern, map);
      const auto tags =
          DetectTags(canvas.Expose(0.7, 1, 0, rng), {.dictionary = pattern.dictionary});
      ASSERT_EQ(tags.size(), 1U) << pattern.dictionary << " " << turn;
      EXPECT_EQ(tags[0].id, pattern.id);
      const auto truth = TrueCorners(pattern, map);
      for (std::size_t k = 0; k < 4; ++k)
        EXPECT_LT((tags[0].corners[k] - truth[k]).norm(), 0.15) << pattern.dictionary << turn << k;
      const double half = static_cast<double>(pattern.rows.size()) / 2 + 1;
      EXPECT_LT((tags[0].q - Apply(map, half, half)).norm(), 0.1)
          << "image of the centre, not the mean of the corners";
    }
  }
}

// Errors against the covariance that is given with them; no bias.
TEST(TagsTest, CornersAreUnbiasedAndTheirCovarianceIsTrue) {
  std::mt19937_64 rng(2);
  std::uniform_real_distribution<double> uniform(-1, 1);
  struct Case {
    Pattern pattern;
    double cell, blur, noise;
  };
  for (const Case& c :
       {Case{kAruco0, 5, 0.7, 3}, Case{kApril36h11, 6, 1.0, 6}, Case{kAruco1, 12, 0.8, 2}}) {
    double nees = 0, nees_centre = 0;
    int n = 0, missed = 0;
    Eigen::Vector2d bias = Eigen::Vector2d::Zero(), outward = Eigen::Vector2d::Zero();
    double variance = 0;
    const int trials = c.cell > 10 ? 40 : 80;
    for (int trial = 0; trial < trials; ++trial) {
      const int side =
          static_cast<int>(1.7 * c.cell * (static_cast<double>(c.pattern.rows.size()) + 2));
      Canvas canvas(side, side);
      const Map map = Place(c.pattern, side / 2.0 + uniform(rng), side / 2.0 + uniform(rng), c.cell,
                            M_PI * uniform(rng), 0.15 * uniform(rng));
      canvas.Draw(c.pattern, map);
      const auto tags = DetectTags(canvas.Expose(c.blur, c.noise, 0.2 * uniform(rng), rng),
                                   {.dictionary = c.pattern.dictionary});
      if (tags.empty()) {
        ++missed;
        continue;
      }
      ASSERT_EQ(tags.size(), 1U) << trial;
      ASSERT_EQ(tags[0].id, c.pattern.id);
      const auto truth = TrueCorners(c.pattern, map);
      const double half = static_cast<double>(c.pattern.rows.size()) / 2 + 1;
      const Eigen::Vector2d centre = Apply(map, half, half);
      for (std::size_t k = 0; k < 4; ++k) {
        const Eigen::Vector2d error = tags[0].corners[k] - truth[k];
        nees += error.dot(tags[0].cov[k].inverse() * error);
        bias += error;
        const Eigen::Vector2d out = (truth[k] - centre).normalized();
        outward += Eigen::Vector2d(error.dot(out), error.x() * out.y() - error.y() * out.x());
        variance += tags[0].cov[k].trace() / 2;
        ++n;
      }
      const Eigen::Vector2d error = tags[0].q - centre;
      nees_centre += error.dot(tags[0].cov_q.inverse() * error);
    }
    EXPECT_LE(missed, trials / 20);
    const double sd = std::sqrt(variance / n);
    // Chi-square of two where the covariance is exact; renderings differ by what the model of the
    // edge leaves out.
    EXPECT_GT(nees / n, 1.3) << "cell " << c.cell;
    EXPECT_LT(nees / n, 2.9) << "cell " << c.cell;
    const int found = n / 4;  // of four corners each
    EXPECT_GT(nees_centre / found, 1.2) << "cell " << c.cell;
    EXPECT_LT(nees_centre / found, 3.0) << "cell " << c.cell;
    EXPECT_LT((bias / n).norm(), 5 * sd / std::sqrt(n / 2.0));
    EXPECT_LT((outward / n).norm(), std::max(0.02, 5 * sd / std::sqrt(n / 2.0)));
  }
}

TEST(TagsTest, SeveralTagsClutterAndNothing) {
  std::mt19937_64 rng(3);
  Canvas canvas(320, 200);
  canvas.Draw(kAruco1, Place(kAruco1, 60, 60, 7, 0.3, 0));
  canvas.Draw(kAruco0, Place(kAruco0, 160, 120, 9, 1.3, 0.1));
  canvas.Draw(kAruco0, Place(kAruco0, 260, 90, 6, -2, 0));
  // a black square
  canvas.Draw(Pattern{"", 0, {"0000", "0000", "0000", "0000"}}, Place(kAruco0, 60, 160, 7, 0.2, 0));
  const GrayImage image = canvas.Expose(0.7, 2, 0.1, rng);
  const auto tags = DetectTags(image);
  ASSERT_EQ(tags.size(), 3U);
  EXPECT_EQ(tags[0].id, 0);
  EXPECT_EQ(tags[1].id, 0) << "the same tag twice is for the caller to judge";
  EXPECT_EQ(tags[2].id, 1);
  EXPECT_TRUE(DetectTags(image, {.dictionary = "APRILTAG_36h11"}).empty());
  EXPECT_TRUE(DetectTags(GrayImage{64, 64, std::vector<std::uint8_t>(64 * 64, 90)}).empty());
  GrayImage noise{200, 200, std::vector<std::uint8_t>(200 * 200)};
  for (auto& v : noise.pixels) v = static_cast<std::uint8_t>(rng() & 0xFF);
  EXPECT_TRUE(DetectTags(noise).empty());
  EXPECT_TRUE(DetectTags(GrayImage{}).empty());
  EXPECT_TRUE(DetectTags(GrayImage{3, 2, std::vector<std::uint8_t>(6)}).empty());
}

TEST(TagsTest, ATagAtTheBorderOrWithoutMarginIsLessCertain) {
  std::mt19937_64 rng(4);
  // White margin narrower than the band the edge is fitted in, dark beyond it.
  Canvas canvas(160, 160);
  Pattern frame{"", 0, std::vector<std::string>(30, std::string(30, '0'))};
  for (int k = 3; k < 27; ++k)
    for (int j = 3; j < 27; ++j)
      frame.rows[static_cast<std::size_t>(k)][static_cast<std::size_t>(j)] = '1';
  canvas.Draw(frame, Place(frame, 80, 80, 4.125, 0.2, 0));
  canvas.Draw(kAruco0, Place(kAruco0, 80, 80, 15.5, 0.2, 0));
  const auto tags = DetectTags(canvas.Expose(0.7, 2, 0, rng));
  ASSERT_EQ(tags.size(), 1U);
  const auto truth = TrueCorners(kAruco0, Place(kAruco0, 80, 80, 15.5, 0.2, 0));
  for (std::size_t k = 0; k < 4; ++k) {
    const Eigen::Vector2d error = tags[0].corners[k] - truth[k];
    EXPECT_LT(error.dot(tags[0].cov[k].inverse() * error), 18) << k;
  }
}

TEST(TagsTest, UnknownDictionaryNamesTheNearest) {
  try {
    DetectTags(GrayImage{}, {.dictionary = "APRILTAG_36H11"});
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("dictionary: found 'APRILTAG_36H11', nearest is APRILTAG_36h11"));
  }
}

}  // namespace
}  // namespace impactlab
