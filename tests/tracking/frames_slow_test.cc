#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "data/error.h"
#include "tests/tracking/frames_fixture.h"
#include "tracking/frames.h"

namespace impactlab {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::HasSubstr;

class FramesSlowTest : public FramesFixture {};

TEST_F(FramesSlowTest, SeeksInLongGroupsOfPictures) {
  WriteClip(Path("long.mp4"), H264(EvenStamps(510, 750), 2, 250), FillMoving);
  ExpectSeeksLikeReading(Video("long.mp4"), 510, 6, 4);
}

// Where the packets of a file stand in it.
std::vector<std::int64_t> PacketPlaces(const std::filesystem::path& path) {
  AVFormatContext* format = nullptr;
  Check(avformat_open_input(&format, ("file:" + path.string()).c_str(), nullptr, nullptr), "open");
  std::vector<std::int64_t> places;
  AVPacket* packet = av_packet_alloc();
  for (; av_read_frame(format, packet) >= 0; av_packet_unref(packet)) places.push_back(packet->pos);
  av_packet_free(&packet);
  avformat_close_input(&format);
  return places;
}

// What damage hides is hidden wherever reading begins, and what it does not hide is not.
TEST_F(FramesSlowTest, SeeksAroundDamage) {
  WriteClip(Path("whole.mp4"), H264(EvenStamps(120, 900), 2, 10), FillMoving);
  const std::vector<Frame> whole = ReadAll(Video("whole.mp4"));
  const std::string bytes = ReadText(Path("whole.mp4"));
  const std::vector<std::int64_t> places = PacketPlaces(Path("whole.mp4"));
  ASSERT_EQ(places.size(), 120U);
  std::size_t fewest = 120;
  // A first picture of all, a key picture, pictures that others are made from and pictures that are not, the last.
  for (const std::size_t place : {0, 21, 30, 45, 47, 66, 118, 119}) {
    std::string harmed = bytes;
    for (std::size_t k = 0; k < 300; ++k) harmed[static_cast<std::size_t>(places[place]) + k] = '\x37';
    WriteText(Path("harmed.mp4"), harmed);
    const FrameSource source = Video("harmed.mp4");
    const std::vector<Frame> all = ReadAll(source);
    fewest = std::min(fewest, all.size());
    for (const Frame& frame : all) {
      const Frame& good = whole[static_cast<std::size_t>(frame.index)];
      ASSERT_EQ(frame.image.pixels, good.image.pixels) << place << ": frame " << frame.index;
      ASSERT_EQ(frame.t, good.t);
    }
    FrameReader counting(source);
    for (Frame frame; counting.Next(&frame);) {
    }
    EXPECT_EQ(counting.damaged() + static_cast<long long>(all.size()), 120);
    ExpectSeeksLikeReading(source, 90, 10, 2);
    FrameReader reader(source);
    for (long long index = 0; index < 120; ++index) {
      const auto next = std::find_if(all.begin(), all.end(), [&](const Frame& frame) { return frame.index >= index; });
      const bool there = next != all.end() && next->index == index;
      if (there && index % 7 != 0) continue;
      ASSERT_EQ(reader.Seek(index), there) << index;
      Frame frame;
      ASSERT_EQ(reader.Next(&frame), next != all.end());
      if (next != all.end()) {
        ASSERT_EQ(frame.index, next->index);
      }
    }
  }
  EXPECT_LT(fewest, 120U) << "nothing was damaged: the test says nothing";
}

}  // namespace
}  // namespace impactlab
