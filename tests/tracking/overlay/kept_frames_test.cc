#include "tracking/overlay/kept_frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "data/base/error.h"
#include "tests/support/folder.h"
#include "tests/support/process.h"
#include "tracking/video/jpeg.h"
#include "tracking/video/video.h"

namespace impactlab {
namespace {

constexpr int kWidth = 800, kHeight = 600, kFrames = 40, kTurn = 20;
constexpr double kRadius = 9;

// Two bright discs that fall and rise again, on a ground that says which frame it is.
Eigen::Vector2d DiscAt(int marker, int frame) {
  return {300.0 + 4 * frame + 90 * marker, 500.0 - 9 * std::abs(frame - kTurn)};
}
int GroundOf(int frame) { return 20 + 2 * frame; }

class KeptFramesTest : public ::testing::Test {
 protected:
  KeptFramesTest() {
    for (int k = 0; k < kFrames; ++k) {
      GrayImage image{
          kWidth, kHeight,
          std::vector<std::uint8_t>(kWidth * kHeight, static_cast<std::uint8_t>(GroundOf(k)))};
      for (int marker = 0; marker < 2; ++marker) {
        const Eigen::Vector2d q = DiscAt(marker, k);
        for (int y = 0; y < kHeight; ++y)
          for (int x = 0; x < kWidth; ++x)
            if ((Eigen::Vector2d(x, y) - q).norm() < kRadius) image.At(x, y) = 240;
        TrackPoint p;
        p.marker = marker;
        p.frame = k;
        p.t = 0.01 * k;
        p.q = q;
        p.major = p.minor = kRadius;
        p.smooth_v = {400, k < kTurn ? 900 : -900};
        p.flags = k == kTurn ? kImpact : 0u;
        tracks_.points.push_back(p);
      }
      source_.images.push_back(folder_ / ("frame_" + std::to_string(k) + ".png"));
      WritePng(source_.images.back(), image);
    }
    Sort(&tracks_);
    source_.rate = 100;
  }
  KeptFrames Keep(const char* stem, const MarkerTracks& tracks, const KeepOptions& options = {}) {
    SecondLook look(source_);
    return KeepFrames(folder_ / stem, tracks, 0, &look, options);
  }

  test::TemporaryFolder folder_;
  FrameSource source_;
  MarkerTracks tracks_{"drop.1", {"left"}, {"a", "b"}, {}};
};

int GrayAt(const GrayImage& picture, const KeptFrames& kept, std::size_t place,
           const Eigen::Vector2d& in_tile) {
  const auto columns = static_cast<std::size_t>(kept.columns);
  const std::size_t column = place % columns, row = place / columns;
  const double x = static_cast<double>(column) * kept.tile_width + in_tile.x() - 0.5;
  const double y = static_cast<double>(row) * kept.tile_height + in_tile.y() - 0.5;
  return picture.At(static_cast<int>(std::lround(x)), static_cast<int>(std::lround(y)));
}

TEST_F(KeptFramesTest, HoldTheFramesAboutTheImpactWithTheMarkersWhereTheTableSays) {
  const KeptFrames kept = Keep("drop.1_left", tracks_);
  ASSERT_EQ(kept.frames.size(), 21u);
  EXPECT_LE(kept.tile_width, 320);
  EXPECT_LT(kept.crop_width, kWidth) << "cut down to the markers";
  const GrayImage picture = ReadImage(folder_ / "drop.1_left.jpg");
  EXPECT_EQ(picture.width, kept.columns * kept.tile_width);
  for (std::size_t k = 0; k < kept.frames.size(); ++k) {
    const KeptFrame& frame = kept.frames[k];
    ASSERT_EQ(frame.index, kTurn - 10 + static_cast<long long>(k));
    EXPECT_NEAR(frame.t, 0.01 * static_cast<double>(frame.index), 1e-9);
    const int ground = GroundOf(static_cast<int>(frame.index));
    for (int marker = 0; marker < 2; ++marker) {
      const Eigen::Vector2d q = DiscAt(marker, static_cast<int>(frame.index));
      EXPECT_NEAR(GrayAt(picture, kept, k, kept.At(frame, q)), 240, 12) << frame.index;
      for (const Eigen::Vector2d& beside :
           {Eigen::Vector2d(0, 1.5 * kRadius), Eigen::Vector2d(1.5 * kRadius, 0),
            Eigen::Vector2d(0, -1.5 * kRadius)})
        EXPECT_NEAR(GrayAt(picture, kept, k, kept.At(frame, q + beside)), ground, 12)
            << frame.index;
    }
    // Nothing of the cut beside it.
    for (const Eigen::Vector2d& corner :
         {Eigen::Vector2d(1, 1), Eigen::Vector2d(kept.tile_width - 1, kept.tile_height - 1)})
      EXPECT_NEAR(GrayAt(picture, kept, k, corner), ground, 4) << frame.index;
  }
}

TEST_F(KeptFramesTest, LargeMarkersAreMadeSmallerAndStayInPlace) {
  const KeptFrames kept = Keep("small", tracks_, {.before = 2, .after = 2, .max_width = 64});
  ASSERT_EQ(kept.frames.size(), 5u);
  EXPECT_EQ(kept.tile_width, 64);
  const GrayImage picture = ReadImage(folder_ / "small.jpg");
  for (std::size_t k = 0; k < kept.frames.size(); ++k)
    EXPECT_GT(GrayAt(picture, kept, k,
                     kept.At(kept.frames[k], DiscAt(0, static_cast<int>(kept.frames[k].index)))),
              180);
}

TEST_F(KeptFramesTest, TableReadsBack) {
  const KeptFrames kept = Keep("a.b", tracks_), again = ReadKeptFrames(folder_ / "a.b");
  EXPECT_EQ(again.recording, "drop.1");
  EXPECT_EQ(again.camera, "left");
  EXPECT_EQ(again.columns, kept.columns);
  EXPECT_EQ(again.tile_height, kept.tile_height);
  EXPECT_EQ(again.crop_height, kept.crop_height);
  ASSERT_EQ(again.frames.size(), kept.frames.size());
  for (std::size_t k = 0; k < kept.frames.size(); ++k) {
    EXPECT_EQ(again.frames[k].index, kept.frames[k].index);
    EXPECT_EQ(again.frames[k].t, kept.frames[k].t);
    EXPECT_EQ(again.frames[k].corner, kept.frames[k].corner);
  }
  for (const char* broken : {"", "[]", "{\"schema\": \"impactlab.frames/2\"}",
                             "{\"schema\": \"impactlab.frames/1\", \"camera\": 3}"}) {
    test::WriteText(folder_ / "broken.json", broken);
    EXPECT_THROW(ReadKeptFrames(folder_ / "broken"), DataError) << broken;
  }
}

// A hand that lets go makes half the jump that the surface does, from rest: it is not what the
// pictures are about.
TEST_F(KeptFramesTest, LettingGoIsNoImpact) {
  constexpr int kRelease = 5;
  for (TrackPoint& p : tracks_.points) {
    if (p.frame < kRelease) p.smooth_v.setZero();
    if (p.frame == kRelease) p.flags = kImpact;
  }
  const KeptFrames kept = Keep("drop", tracks_);
  EXPECT_EQ(kept.frames.front().index, kTurn - 10);
  // What is struck while it rests has no other jump to show.
  for (TrackPoint& p : tracks_.points)
    if (p.frame == kTurn) p.flags = 0;
  EXPECT_EQ(Keep("struck", tracks_).frames.front().index, 0);
}

TEST_F(KeptFramesTest, EndsOfTheRecordingAreWhatThereIs) {
  for (TrackPoint& p : tracks_.points)
    p.flags = p.frame == 3 ? kImpact : 0u, p.smooth_v.y() = p.frame < 3 ? 900 : -900;
  const KeptFrames first = Keep("first", tracks_);
  EXPECT_EQ(first.frames.front().index, 0);
  EXPECT_EQ(first.frames.back().index, 13);
  EXPECT_EQ(ReadImage(folder_ / "first.jpg").height,
            (14 + first.columns - 1) / first.columns * first.tile_height);
  source_.images.resize(2);
  MarkerTracks none{"none", {"left"}, {"a"}, {}};
  EXPECT_EQ(Keep("none", none).crop_width, kWidth) << "no marker: all of the frame";
  for (TrackPoint& p : tracks_.points) p.frame += 500;
  EXPECT_THROW(Keep("late", tracks_), DataError);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "late.jpg"));
}

TEST(Jpeg, KeepsGrayAndRefusesNothing) {
  const test::TemporaryFolder folder;
  GrayImage image{37, 21, std::vector<std::uint8_t>(37 * 21)};
  for (int y = 0; y < 21; ++y)
    for (int x = 0; x < 37; ++x) image.At(x, y) = static_cast<std::uint8_t>(5 * x + 3 * y);
  test::WriteText(folder / "a.jpg", EncodeJpeg(image, 2));
  const GrayImage again = ReadImage(folder / "a.jpg");
  ASSERT_EQ(again.width, 37);
  ASSERT_EQ(again.height, 21);
  for (std::size_t k = 0; k < image.pixels.size(); ++k)
    EXPECT_NEAR(again.pixels[k], image.pixels[k], 8);
  EXPECT_LT(EncodeJpeg(image, 31).size(), EncodeJpeg(image, 2).size());
  EXPECT_THROW(EncodeJpeg({}), OutputError);
  EXPECT_THROW(EncodeJpeg({4, 4, {1, 2}}), OutputError);
}

}  // namespace
}  // namespace impactlab
