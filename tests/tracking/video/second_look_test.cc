#include "tracking/video/second_look.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "data/base/error.h"
#include "tests/tracking/video/frames_fixture.h"

namespace impactlab {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

class SecondLookTest : public FramesFixture {
 protected:
  static void ExpectPart(const Frame* found, const Frame& wanted, const FramePart& part) {
    ASSERT_NE(found, nullptr) << wanted.index;
    EXPECT_EQ(found->index, wanted.index);
    EXPECT_EQ(found->t, wanted.t);
    ASSERT_EQ(found->image.width, wanted.image.width);
    ASSERT_EQ(found->image.height, wanted.image.height);
    for (int y = std::max(0, part.top); y <= std::min(part.bottom, wanted.image.height - 1); ++y)
      for (int x = std::max(0, part.left); x <= std::min(part.right, wanted.image.width - 1); ++x)
        ASSERT_EQ(found->image.At(x, y), wanted.image.At(x, y))
            << wanted.index << ": " << x << ", " << y;
  }
};

TEST_F(SecondLookTest, GivesTheFramesInWhateverOrderTheyAreAskedFor) {
  WriteClip(Path("a.mp4"), H264(JitteredStamps(150, 900, 0, 3), 2, 40), FillMoving);
  const FrameSource source = Video("a.mp4");
  const std::vector<Frame> all = ReadAll(source);
  ASSERT_EQ(all.size(), 150U);
  std::mt19937_64 rng(5);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{4000}, std::size_t{1} << 20}) {
    SecondLook look(source, bytes);
    std::vector<FramePart> parts;
    for (int k = 0; k < 60; ++k) {
      const int left = static_cast<int>(rng() % 110) - 10, top = static_cast<int>(rng() % 80) - 10;
      parts.push_back({static_cast<long long>(rng() % 150), left, top,
                       left + static_cast<int>(rng() % 30), top + static_cast<int>(rng() % 30)});
    }
    look.Expect(parts);
    for (int round = 0; round < 2; ++round)
      for (const FramePart& part : parts)
        ExpectPart(look.Find(part), all[static_cast<std::size_t>(part.frame)], part);
    const FramePart whole = WholeFrame(77);
    ExpectPart(look.Find(whole), all[77], whole);
    EXPECT_EQ(look.Find(WholeFrame(150)), nullptr);
    EXPECT_EQ(look.Find(WholeFrame(-1)), nullptr);
    EXPECT_TRUE(look.EndsBefore(150));
    EXPECT_FALSE(look.EndsBefore(149));
    ExpectPart(look.Find(parts[0]), all[static_cast<std::size_t>(parts[0].frame)], parts[0]);
  }
}

// What is kept is shown without the file.
TEST_F(SecondLookTest, KeepsWhatIsExpected) {
  const FrameSource source = Pictures(12);
  const std::vector<Frame> all = ReadAll({.images = source.images, .rate = 100});
  SecondLook look({.images = source.images, .rate = 100});
  const FramePart early{2, 3, 4, 20, 20}, late{9, 0, 0, 10, 29};
  look.Expect({late, early, {2, 10, 10, 30, 25}});
  ExpectPart(look.Find(WholeFrame(11)), all[11], WholeFrame(11));
  for (const auto& image : source.images) std::filesystem::remove(image);
  ExpectPart(look.Find(early), all[2], {2, 3, 4, 30, 25});
  ExpectPart(look.Find(late), all[9], late);
  ExpectPart(look.Find(early), all[2], early);
  EXPECT_EQ(look.Find({2, 0, 0, 20, 20}), nullptr) << "more than was expected";
}

TEST_F(SecondLookTest, DamagedFramesAreNone) {
  FrameSource source = Pictures(8);
  source.rate = 100;
  WriteText(source.images[0], "no picture");
  WriteText(source.images[4], "no picture");
  SecondLook look(source);
  look.Expect({WholeFrame(4), WholeFrame(5)});
  for (long long index = 0; index < 8; ++index)
    EXPECT_EQ(look.Find(WholeFrame(index)) == nullptr, index % 4 == 0) << index;
  EXPECT_EQ(look.Find(WholeFrame(4)), nullptr);
  EXPECT_FALSE(look.EndsBefore(7));
  EXPECT_EQ(look.Find(WholeFrame(8)), nullptr);
  EXPECT_TRUE(look.EndsBefore(8));
}

TEST_F(SecondLookTest, OpensNothingBeforeItIsAsked) {
  SecondLook look({.video = "/nowhere/at_all.mp4"});
  EXPECT_FALSE(look.EndsBefore(3));
  EXPECT_THROW(look.Find(WholeFrame(0)), DataError);
}

TEST(FramePartTest, UnionsAndMargins) {
  const FramePart a{3, 1, 2, 5, 6}, b{3, 4, 0, 9, 3};
  const FramePart both = Union(a, b);
  EXPECT_EQ(both.left, 1);
  EXPECT_EQ(both.top, 0);
  EXPECT_EQ(both.right, 9);
  EXPECT_EQ(both.bottom, 6);
  EXPECT_EQ(Union(FramePart{}, a).right, 5);
  EXPECT_EQ(Union(a, FramePart{}).frame, 3);
  EXPECT_EQ(Widened(a, 2).left, -1);
  EXPECT_FALSE(WholeFrame(0).empty());
  EXPECT_TRUE(FramePart{}.empty());
}

}  // namespace
}  // namespace impactlab
