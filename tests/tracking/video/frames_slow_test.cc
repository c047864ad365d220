#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>

#include "data/base/error.h"
#include "tests/tracking/video/frames_fixture.h"
#include "tracking/video/frames.h"

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
  // A first picture of all, a key picture, pictures that others are made from and pictures that are
  // not, the last.
  for (const std::size_t place : {0, 21, 30, 45, 47, 66, 118, 119}) {
    std::string harmed = bytes;
    for (std::size_t k = 0; k < 300; ++k)
      harmed[static_cast<std::size_t>(places[place]) + k] = '\x37';
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
      const auto next = std::find_if(all.begin(), all.end(),
                                     [&](const Frame& frame) { return frame.index >= index; });
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

// Resident memory of this process now [bytes].
double Resident() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    double kilobytes = 0;
    status >> kilobytes;
    return 1024 * kilobytes;
  }
  return 0;
}

// A file of 20,000 frames costs no more memory than one of 1000, however it is stored.
TEST_F(FramesSlowTest, MemoryStaysConstantOver20000Frames) {
  constexpr int kFrames = 20000;
  ClipOptions options = H264(EvenStamps(kFrames, 375), 2, 250, {{"preset", "ultrafast"}});
  options.more["preset"] = "ultrafast";
  options.width = 320;
  options.height = 240;
  // Nothing to search for: the encoder would cost more than all the reading.
  WriteClip(Path("long.mp4"), options, [](int k, AVFrame& frame) {
    for (int plane = 0; plane < 3; ++plane)
      std::memset(frame.data[plane], plane == 0 ? 60 + k % 100 : 128,
                  static_cast<std::size_t>(frame.linesize[plane]) * (plane == 0 ? 240 : 120));
  });
  for (const int threads : {1, 0}) {
    FrameReader reader(Video("long.mp4", threads), {.ahead = 8});
    double after_first = 0, most = 0;
    Frame frame;
    long long n = 0;
    while (reader.Next(&frame)) {
      ASSERT_EQ(frame.index, n);
      ASSERT_NEAR(frame.t, static_cast<double>(n) * 375 / 90000, 1e-9);
      ++n;
      if (n == 1000) after_first = Resident();
      if (n > 1000 && n % 500 == 0) most = std::max(most, Resident());
    }
    EXPECT_EQ(n, kFrames);
    RecordProperty("resident_megabytes", static_cast<int>(most / 1e6));
    EXPECT_LT(most - after_first, 4e6) << "grows with the number of frames";
    EXPECT_LT(most, 300e6);
    std::printf("%d threads: %.1f MB after 1000 frames, %.1f MB at most\n", threads,
                after_first / 1e6, most / 1e6);
    // The table of stamps that seeking needs is small.
    ASSERT_TRUE(reader.Seek(kFrames - 10));
    ASSERT_TRUE(reader.Next(&frame));
    EXPECT_EQ(frame.index, kFrames - 10);
    EXPECT_LT(Resident() - most, 16e6);
  }
}

}  // namespace
}  // namespace impactlab
