#include "tracking/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "data/error.h"
#include "tests/support/clip.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

using test::ClipOptions;
using test::EvenStamps;
using test::FillGray;
using test::ReadText;
using test::WriteClip;
using test::WriteText;
using ::testing::AllOf;
using ::testing::HasSubstr;

GrayImage Noise(int width, int height, unsigned seed) {
  std::mt19937_64 rng(seed);
  GrayImage image{width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height)};
  for (auto& v : image.pixels) v = static_cast<std::uint8_t>(rng() & 0xFF);
  return image;
}

// A texture that moves a little from frame to frame, so that pictures are predicted from one another, and no two are alike.
void FillMoving(int k, AVFrame& frame) {
  GrayImage image{frame.width, frame.height, std::vector<std::uint8_t>(static_cast<std::size_t>(frame.width) * frame.height)};
  std::mt19937_64 rng(static_cast<unsigned>(k));
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      image.At(x, y) = static_cast<std::uint8_t>(120 + 60 * std::sin(0.31 * (x + 2 * k)) * std::cos(0.23 * (y - k)) + (rng() & 0x1F));
  FillGray(frame, image);
}

ClipOptions H264(std::vector<std::int64_t> stamps, int b_frames, int key_interval, std::map<std::string, std::string> more = {}) {
  more.insert({"preset", "veryfast"});
  return {.encoder = "libx264",
          .format = AV_PIX_FMT_YUV420P,
          .width = 96,
          .height = 64,
          .time_base = {1, 90000},
          .stamps = std::move(stamps),
          .b_frames = b_frames,
          .key_interval = key_interval,
          .more = std::move(more)};
}

std::vector<std::int64_t> JitteredStamps(int n, std::int64_t step, std::int64_t first, unsigned seed) {
  std::mt19937_64 rng(seed);
  std::vector<std::int64_t> stamps;
  for (int k = 0; k < n; ++k)
    stamps.push_back((stamps.empty() ? first : stamps.back()) + step / 2 + static_cast<std::int64_t>(rng() % step));
  return stamps;
}

std::vector<Frame> ReadAll(const FrameSource& source, const FrameReaderOptions& options = {}) {
  FrameReader reader(source, options);
  std::vector<Frame> frames;
  for (Frame frame; reader.Next(&frame);) frames.push_back(frame);
  Frame frame;
  EXPECT_FALSE(reader.Next(&frame)) << "the end stays the end";
  return frames;
}

class FramesTest : public ::testing::Test {
 protected:
  std::filesystem::path Path(const std::string& name) const { return scratch_.path() / name; }
  FrameSource Video(const std::string& name, int threads = 1) const { return {.video = Path(name), .decode = {.threads = threads}}; }
  // Lossless: every frame a key frame.
  FrameSource NoiseClip(const std::string& name, std::vector<std::int64_t> stamps, AVRational unit = {1, 90000},
                        int rotation_deg = 0) const {
    WriteClip(Path(name), {.time_base = unit, .stamps = std::move(stamps), .rotation_deg = rotation_deg},
              [](int k, AVFrame& frame) { FillGray(frame, Noise(64, 48, static_cast<unsigned>(k))); });
    return Video(name);
  }
  FrameSource Pictures(int n) const {
    FrameSource source;
    for (int k = 0; k < n; ++k) {
      source.images.push_back(Path("p" + std::to_string(k) + ".png"));
      WritePng(source.images.back(), Noise(40, 30, static_cast<unsigned>(k)));
    }
    return source;
  }
  // Seeks everywhere in an order without order and compares with what reading from the beginning gave.
  static void ExpectSeeksLikeReading(const FrameSource& source, std::size_t at_least, int seeks, int ahead) {
    const std::vector<Frame> all = ReadAll(source, {.ahead = 0});
    ASSERT_GE(all.size(), at_least);
    std::mt19937_64 rng(all.size());
    FrameReader reader(source, {.ahead = ahead});
    Frame frame;
    for (int k = 0; k < seeks; ++k) {
      const std::size_t at = k == 0 ? all.size() / 2 : rng() % all.size();
      ASSERT_TRUE(reader.Seek(all[at].index)) << Name(source) << ": " << at;
      const std::size_t run = std::min<std::size_t>(all.size() - at, 1 + rng() % 4);
      for (std::size_t j = 0; j < run; ++j) {
        ASSERT_TRUE(reader.Next(&frame)) << Name(source) << ": " << at << " + " << j;
        ASSERT_EQ(frame.index, all[at + j].index) << Name(source) << ": after seek to " << all[at].index;
        ASSERT_EQ(frame.t, all[at + j].t);
        ASSERT_EQ(frame.image.pixels, all[at + j].image.pixels)
            << Name(source) << ": frame " << frame.index << " after seek to " << all[at].index;
      }
    }
    EXPECT_FALSE(reader.Seek(all.back().index + 100000));
    EXPECT_FALSE(reader.Next(&frame));
    EXPECT_FALSE(reader.Seek(-1));
    ASSERT_TRUE(reader.Seek(all.front().index)) << "back from the end";
    ASSERT_TRUE(reader.Next(&frame));
    EXPECT_EQ(frame.image.pixels, all.front().image.pixels);
  }
  test::ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_F(FramesTest, SeeksInReorderedFramesOfVariableRate) {
  WriteClip(Path("vfr.mp4"), H264(JitteredStamps(80, 900, 0, 1), 3, 12), FillMoving);
  ExpectSeeksLikeReading(Video("vfr.mp4"), 80, 60, 4);
  ExpectSeeksLikeReading(Video("vfr.mp4", 0), 80, 20, 0);
}

TEST_F(FramesTest, SeeksInLongGroupsOfPictures) {
  WriteClip(Path("long.mp4"), H264(EvenStamps(510, 750), 2, 250), FillMoving);
  ExpectSeeksLikeReading(Video("long.mp4"), 510, 6, 4);
}

TEST_F(FramesTest, SeeksWhereTheFirstStampIsNotZero) {
  WriteClip(Path("late.mkv"), H264(JitteredStamps(60, 1800, 273000, 2), 2, 10), FillMoving);
  ExpectSeeksLikeReading(Video("late.mkv"), 60, 30, 2);
  WriteClip(Path("late.ts"), H264(EvenStamps(60, 1800, 4500), 2, 10), FillMoving);
  ExpectSeeksLikeReading(Video("late.ts"), 58, 20, 2);
}

TEST_F(FramesTest, SeeksBehindAnEditList) {
  WriteClip(Path("cut.mp4"), H264(EvenStamps(60, 900, -5 * 900), 2, 20), FillMoving);
  const std::vector<Frame> all = ReadAll(Video("cut.mp4"));
  EXPECT_EQ(all.size(), 55U) << "what the edit list cuts away is not shown";
  EXPECT_EQ(all.front().index, 0);
  ExpectSeeksLikeReading(Video("cut.mp4"), 55, 30, 4);
}

TEST_F(FramesTest, SeeksWithOpenGroupsAndRefreshedPictures) {
  WriteClip(Path("open.mkv"), H264(EvenStamps(90, 900), 3, 12, {{"x264-params", "open-gop=1:bframes=3:b-adapt=0"}}), FillMoving);
  ExpectSeeksLikeReading(Video("open.mkv"), 90, 40, 4);
  WriteClip(Path("open.mp4"), H264(EvenStamps(90, 900), 3, 12, {{"x264-params", "open-gop=1:bframes=3:b-adapt=0"}}), FillMoving);
  ExpectSeeksLikeReading(Video("open.mp4"), 90, 40, 4);
  WriteClip(Path("refresh.mp4"), H264(EvenStamps(90, 900), 0, 20, {{"x264-params", "intra-refresh=1"}}), FillMoving);
  ExpectSeeksLikeReading(Video("refresh.mp4"), 90, 20, 4);
  WriteClip(Path("refresh.mkv"), H264(EvenStamps(90, 900), 0, 20, {{"x264-params", "intra-refresh=1"}}), FillMoving);
  ExpectSeeksLikeReading(Video("refresh.mkv"), 90, 20, 4);
}

TEST_F(FramesTest, SeeksInFilesWithoutStampsOfTheirOwn) {
  WriteClip(Path("b.avi"),
            {.encoder = "mpeg4",
             .format = AV_PIX_FMT_YUV420P,
             .time_base = {1, 50},
             .stamps = EvenStamps(50, 1),
             .b_frames = 2,
             .key_interval = 10},
            FillMoving);
  ExpectSeeksLikeReading(Video("b.avi"), 48, 25, 4);
  WriteClip(Path("m.avi"), {.encoder = "mjpeg", .format = AV_PIX_FMT_YUVJ420P, .time_base = {1, 50}, .stamps = EvenStamps(50, 1)},
            FillMoving);
  ExpectSeeksLikeReading(Video("m.avi"), 50, 25, 4);
}

TEST_F(FramesTest, SeeksInOtherCodecs) {
  WriteClip(Path("turned.mov"), {.stamps = JitteredStamps(30, 750, 90, 3), .rotation_deg = 90}, FillMoving);
  ExpectSeeksLikeReading(Video("turned.mov"), 30, 20, 4);
  WriteClip(Path("f.mkv"), {.encoder = "ffv1", .time_base = {1, 1000}, .stamps = EvenStamps(40, 8, 17)}, FillMoving);
  ExpectSeeksLikeReading(Video("f.mkv"), 40, 20, 4);
  WriteClip(Path("v.webm"),
            {.encoder = "libvpx",
             .format = AV_PIX_FMT_YUV420P,
             .time_base = {1, 1000},
             .stamps = EvenStamps(60, 10),
             .key_interval = 20,
             .more = {{"auto-alt-ref", "1"}, {"lag-in-frames", "12"}, {"deadline", "realtime"}, {"cpu-used", "8"}}},
            FillMoving);
  const std::vector<Frame> all = ReadAll(Video("v.webm"));
  ASSERT_EQ(all.size(), 60U);
  for (std::size_t k = 0; k < all.size(); ++k)
    ASSERT_EQ(all[k].index, static_cast<long long>(k)) << "pictures that are not shown have no number";
  ExpectSeeksLikeReading(Video("v.webm"), 60, 20, 4);
}

// Where the packets of a file stand in it.
std::vector<std::int64_t> PacketPlaces(const std::filesystem::path& path) {
  AVFormatContext* format = nullptr;
  test::Check(avformat_open_input(&format, ("file:" + path.string()).c_str(), nullptr, nullptr), "open");
  std::vector<std::int64_t> places;
  AVPacket* packet = av_packet_alloc();
  for (; av_read_frame(format, packet) >= 0; av_packet_unref(packet)) places.push_back(packet->pos);
  av_packet_free(&packet);
  avformat_close_input(&format);
  return places;
}

// What damage hides is hidden wherever reading begins, and what it does not hide is not.
TEST_F(FramesTest, SeeksAroundDamage) {
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
