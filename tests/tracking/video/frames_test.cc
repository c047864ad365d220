#include "tracking/video/frames.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <set>
#include <thread>

#include "data/base/error.h"
#include "tests/tracking/video/frames_fixture.h"

namespace impactlab {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using ::testing::AllOf;
using ::testing::HasSubstr;

class FramesTest : public FramesFixture {};

template <typename Call>
std::string MessageOf(const Call& call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}
#define EXPECT_THROW_WITH(call, words) EXPECT_THAT(MessageOf([&] { call; }), HasSubstr(words))

TEST_F(FramesTest, SeeksInReorderedFramesOfVariableRate) {
  WriteClip(Path("vfr.mp4"), H264(JitteredStamps(80, 900, 0, 1), 3, 12), FillMoving);
  ExpectSeeksLikeReading(Video("vfr.mp4"), 80, 60, 4);
  ExpectSeeksLikeReading(Video("vfr.mp4", 0), 80, 20, 0);
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
  WriteClip(Path("open.mkv"),
            H264(EvenStamps(90, 900), 3, 12, {{"x264-params", "open-gop=1:bframes=3:b-adapt=0"}}),
            FillMoving);
  ExpectSeeksLikeReading(Video("open.mkv"), 90, 40, 4);
  WriteClip(Path("open.mp4"),
            H264(EvenStamps(90, 900), 3, 12, {{"x264-params", "open-gop=1:bframes=3:b-adapt=0"}}),
            FillMoving);
  ExpectSeeksLikeReading(Video("open.mp4"), 90, 40, 4);
  WriteClip(Path("refresh.mp4"),
            H264(EvenStamps(90, 900), 0, 20, {{"x264-params", "intra-refresh=1"}}), FillMoving);
  ExpectSeeksLikeReading(Video("refresh.mp4"), 90, 20, 4);
  WriteClip(Path("refresh.mkv"),
            H264(EvenStamps(90, 900), 0, 20, {{"x264-params", "intra-refresh=1"}}), FillMoving);
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
  WriteClip(Path("m.avi"),
            {.encoder = "mjpeg",
             .format = AV_PIX_FMT_YUVJ420P,
             .time_base = {1, 50},
             .stamps = EvenStamps(50, 1)},
            FillMoving);
  ExpectSeeksLikeReading(Video("m.avi"), 50, 25, 4);
}

TEST_F(FramesTest, SeeksInOtherCodecs) {
  WriteClip(Path("turned.mov"), {.stamps = JitteredStamps(30, 750, 90, 3), .rotation_deg = 90},
            FillMoving);
  ExpectSeeksLikeReading(Video("turned.mov"), 30, 20, 4);
  WriteClip(Path("f.mkv"),
            {.encoder = "ffv1", .time_base = {1, 1000}, .stamps = EvenStamps(40, 8, 17)},
            FillMoving);
  ExpectSeeksLikeReading(Video("f.mkv"), 40, 20, 4);
  WriteClip(Path("v.webm"),
            {.encoder = "libvpx",
             .format = AV_PIX_FMT_YUV420P,
             .time_base = {1, 1000},
             .stamps = EvenStamps(60, 10),
             .key_interval = 20,
             .more = {{"auto-alt-ref", "1"},
                      {"lag-in-frames", "12"},
                      {"deadline", "realtime"},
                      {"cpu-used", "8"}}},
            FillMoving);
  const std::vector<Frame> all = ReadAll(Video("v.webm"));
  ASSERT_EQ(all.size(), 60U);
  for (std::size_t k = 0; k < all.size(); ++k)
    ASSERT_EQ(all[k].index, static_cast<long long>(k))
        << "pictures that are not shown have no number";
  ExpectSeeksLikeReading(Video("v.webm"), 60, 20, 4);
}

TEST_F(FramesTest, SequencesTakeTheirTimeFromRateOrTable) {
  FrameSource source = Pictures(5);
  EXPECT_THROW_WITH(FrameReader{source}, "pictures have no time");
  source.rate = 240;
  for (const int ahead : {0, 1, 4}) {
    const std::vector<Frame> frames = ReadAll(source, {.ahead = ahead});
    ASSERT_EQ(frames.size(), 5U);
    for (std::size_t k = 0; k < 5; ++k) {
      EXPECT_EQ(frames[k].index, static_cast<long long>(k));
      EXPECT_DOUBLE_EQ(frames[k].t, static_cast<double>(k) / 240);
      EXPECT_EQ(frames[k].image.pixels, Noise(40, 30, static_cast<unsigned>(k)).pixels);
    }
  }
  ExpectSeeksLikeReading(source, 5, 20, 2);
  source.stamps = Path("stamps.csv");
  WriteText(source.stamps, "frame,t_s\n0,10.0\n1,10.1\n2,10.25\n3,11\n4,12.5\n");
  source.t_shift = -10;
  source.clock_rate = 1.5;
  const std::vector<Frame> frames = ReadAll(source);
  ASSERT_EQ(frames.size(), 5U);
  EXPECT_DOUBLE_EQ(frames[2].t, -10 + 1.5 * 10.25) << "the table takes the place of the rate";
  WriteText(source.stamps, "t_s\n0\n1\n2\n3\n");
  EXPECT_THROW_WITH(FrameReader{source}, "4 rows");
  WriteText(source.stamps, "t_s\n0\n1\n2\n3\n4\n5\n");
  EXPECT_THROW_WITH(FrameReader{source}, "6 rows");
  WriteText(source.stamps, "t_s\n0\n1\n1\n3\n4\n");
  EXPECT_THROW_WITH(FrameReader{source}, "row 4");
  WriteText(source.stamps, "time\n0\n1\n1\n3\n4\n");
  EXPECT_THROW(FrameReader{source}, DataError);
}

TEST_F(FramesTest, SequencesWithBadPictures) {
  FrameSource source = Pictures(6);
  source.rate = 100;
  const std::string png = ReadText(source.images[2]);
  WriteText(source.images[2], png.substr(0, png.size() / 2));
  WriteText(source.images[5], "");
  FrameReader reader(source);
  std::vector<long long> indices;
  for (Frame frame; reader.Next(&frame);) {
    indices.push_back(frame.index);
    EXPECT_DOUBLE_EQ(frame.t, static_cast<double>(frame.index) / 100);
  }
  EXPECT_THAT(indices, ::testing::ElementsAre(0, 1, 3, 4));
  EXPECT_EQ(reader.damaged(), 2);
  EXPECT_FALSE(reader.Seek(2));
  Frame frame;
  ASSERT_TRUE(reader.Next(&frame));
  EXPECT_EQ(frame.index, 3);
  while (reader.Next(&frame)) {
  }
  EXPECT_EQ(reader.damaged(), 2) << "each counts once";

  WriteText(source.images[0], "nothing");
  EXPECT_EQ(FrameReader(source).info().width, 40) << "known from the first that can be read";
  WritePng(source.images[4], Noise(41, 30, 1));
  EXPECT_THROW_WITH(ReadAll(source), "41 x 30");
  source.images[3] = Path("absent.png");
  EXPECT_THROW_WITH(FrameReader{source}, "absent.png: No such file");
  for (const auto& image : Pictures(6).images) WriteText(image, "x");
  source.images = Pictures(0).images;
  EXPECT_THROW(FrameReader{source}, ConfigError);
}

// A file written for slow motion: the header says 30, the camera took 240; one frame is missing,
// and the container rounds to milliseconds.
TEST_F(FramesTest, RateStretchesStampsAndKeepsGaps) {
  std::vector<std::int64_t> stamps;
  for (int k = 0; k < 200; ++k)
    if (k % 9 != 4) stamps.push_back(std::llround(1000.0 * k / 30) + 2000);
  WriteClip(Path("slow.mkv"), {.encoder = "ffv1", .time_base = {1, 1000}, .stamps = stamps},
            FillMoving);
  FrameSource source = Video("slow.mkv");
  source.rate = 240;
  const std::vector<Frame> frames = ReadAll(source);
  ASSERT_EQ(frames.size(), stamps.size());
  std::size_t at = 0;
  for (int k = 0; k < 200; ++k) {
    if (k % 9 == 4) continue;
    // Within the rounding of the container, stretched with all the rest; the rate itself is not off
    // by the missing frames.
    EXPECT_NEAR(frames[at].t - 2.0 / 8, k / 240.0, 0.51e-3 / 8 + 2e-5) << k;
    ++at;
  }
  WriteClip(Path("exact.mp4"), H264(EvenStamps(60, 3000), 2, 12), FillMoving);
  source = Video("exact.mp4");
  source.rate = 239.76;
  const std::vector<Frame> exact = ReadAll(source);
  for (std::size_t k = 0; k < exact.size(); ++k)
    EXPECT_NEAR(exact[k].t, static_cast<double>(k) / 239.76, 1e-12);
}

TEST_F(FramesTest, TablesOfStampsFitTheVideoOrAreRefused) {
  FrameSource source = NoiseClip("a.mov", EvenStamps(10, 750));
  source.stamps = Path("t.csv");
  const auto write = [&](int n) {
    std::string text = "t_s\n";
    for (int k = 0; k < n; ++k) text += std::to_string(0.5 * k * k + k) + "\n";
    WriteText(source.stamps, text);
  };
  write(10);
  const std::vector<Frame> frames = ReadAll(source);
  ASSERT_EQ(frames.size(), 10U);
  for (int k = 0; k < 10; ++k)
    EXPECT_DOUBLE_EQ(frames[static_cast<std::size_t>(k)].t, 0.5 * k * k + k);
  for (const int n : {9, 11}) {
    write(n);
    EXPECT_THROW_WITH(FrameReader{source}, std::to_string(n) + " rows");
  }
  // Frames without stamps of their own: told at the end.
  WriteClip(Path("b.avi"),
            {.encoder = "mpeg4",
             .format = AV_PIX_FMT_YUV420P,
             .time_base = {1, 50},
             .stamps = EvenStamps(20, 1),
             .b_frames = 2,
             .key_interval = 10},
            FillMoving);
  source = Video("b.avi");
  source.stamps = Path("t.csv");
  for (const int n : {15, 30}) {
    write(n);
    EXPECT_THROW_WITH(ReadAll(source), std::to_string(n) + " rows");
  }
}

TEST_F(FramesTest, ErrorsComeAfterAllGoodFramesAndNameThePlace) {
  WriteClip(
      Path("cut.mkv"),
      {.encoder = "ffv1", .time_base = {1, 1000}, .stamps = EvenStamps(20, 10, 500)},
      [](int k, AVFrame& frame) { FillGray(frame, Noise(64, 48, static_cast<unsigned>(k))); });
  std::filesystem::resize_file(Path("cut.mkv"), std::filesystem::file_size(Path("cut.mkv")) / 2);
  for (const int ahead : {0, 1, 8, 64}) {
    FrameReader reader(Video("cut.mkv"), {.ahead = ahead});
    Frame frame;
    long long n = 0;
    try {
      while (reader.Next(&frame)) {
        EXPECT_EQ(frame.image.pixels, Noise(64, 48, static_cast<unsigned>(n)).pixels);
        EXPECT_EQ(frame.index, n++);
        // the thread meets the end long before
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
      ADD_FAILURE() << "no word about the end";
    } catch (const DataError& error) {
      char place[64];
      std::snprintf(place, sizeof(place), "last good frame is %lld, at %.6f s", n - 1,
                    0.5 + 0.01 * static_cast<double>(n - 1));
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("cut.mkv"), HasSubstr("ends in the middle"), HasSubstr(place)));
    }
    EXPECT_GE(n, 7);
    EXPECT_LE(n, 11);
    EXPECT_FALSE(reader.Next(&frame)) << "said once";
    ASSERT_TRUE(reader.Seek(3)) << "what is good can still be read";
    ASSERT_TRUE(reader.Next(&frame));
    EXPECT_EQ(frame.image.pixels, Noise(64, 48, 3).pixels);
    EXPECT_FALSE(reader.Seek(15));
  }
}

TEST_F(FramesTest, ReadersEndWhenTheyAreWantedNoMore) {
  const FrameSource source = NoiseClip("a.mov", EvenStamps(40, 750));
  for (int k = 0; k < 30; ++k) {
    FrameReader reader(source, {.ahead = 1 + k % 5});
    Frame frame;
    for (int j = 0; j < k % 7; ++j) ASSERT_TRUE(reader.Next(&frame));
    if (k % 3 == 0) {
      ASSERT_TRUE(reader.Seek(k));
    }
  }
  FrameReader first(source);
  Frame frame;
  ASSERT_TRUE(first.Next(&frame));
  FrameReader second = std::move(first);
  ASSERT_TRUE(second.Next(&frame));
  EXPECT_EQ(frame.index, 1);
  second = FrameReader(source, {.ahead = 2});
  ASSERT_TRUE(second.Next(&frame));
  EXPECT_EQ(frame.index, 0);
}

TEST_F(FramesTest, TheDecoderWaitsForItsUserOnly) {
  const FrameSource source = NoiseClip("a.mov", EvenStamps(30, 750));
  FrameReader slow(source, {.ahead = 2});
  for (Frame frame; slow.Next(&frame);) std::this_thread::sleep_for(std::chrono::milliseconds(4));
  EXPECT_GT(slow.waiting(), 0.03) << "most of 30 times 4 ms";
  EXPECT_GT(slow.decoding(), 0);
  FrameReader direct(source, {.ahead = 0});
  for (Frame frame; direct.Next(&frame);) {
  }
  EXPECT_EQ(direct.waiting(), 0);
  EXPECT_GT(direct.decoding(), 0);
}

// Pictures change hands; none is made anew.
TEST_F(FramesTest, StorageGoesRound) {
  const FrameSource source = NoiseClip("a.mov", EvenStamps(60, 750), {1, 90000}, 90);
  for (const int ahead : {0, 3}) {
    FrameReader reader(source, {.ahead = ahead});
    std::set<const void*> places;
    Frame frame;
    for (int k = 0; k < 60; ++k) {
      ASSERT_TRUE(reader.Next(&frame));
      places.insert(frame.image.pixels.data());
    }
    EXPECT_LE(places.size(), static_cast<std::size_t>(ahead + 2));
  }
}

TEST_F(FramesTest, SourcesWithoutMeaningAreRefused) {
  const FrameSource good = NoiseClip("a.mov", EvenStamps(3, 750));
  const auto with = [&](const std::function<void(FrameSource&)>& change) {
    FrameSource source = good;
    change(source);
    return source;
  };
  EXPECT_THROW(FrameReader{FrameSource{}}, ConfigError);
  EXPECT_THROW(FrameReader{with([](FrameSource& s) { s.images = {"x.png"}; })}, ConfigError);
  EXPECT_THROW(FrameReader{with([](FrameSource& s) { s.rate = -1; })}, ConfigError);
  EXPECT_THROW(FrameReader{with([](FrameSource& s) { s.rate = std::nan(""); })}, ConfigError);
  EXPECT_THROW(FrameReader{with([](FrameSource& s) { s.clock_rate = 0; })}, ConfigError);
  EXPECT_THROW(FrameReader{with([](FrameSource& s) { s.t_shift = INFINITY; })}, ConfigError);
  EXPECT_THROW_WITH(FrameReader{with([&](FrameSource& s) { s.video = Path("absent.mp4"); })},
                    "No such file");
  EXPECT_THROW_WITH(FrameReader{with([&](FrameSource& s) { s.video = Pictures(1).images[0]; })},
                    "is a picture");
  EXPECT_THROW_WITH(
      FrameReader{with([&](FrameSource& s) { s.images = {s.video}, s.video.clear(), s.rate = 1; })},
      "is a video");
}

// Every pixel holds the number of the sensor row it came from.
TEST_F(FramesTest, HostileT29RowsOfTheSensorHaveTheirTimesHoweverThePictureIsTurned) {
  for (const int turn : {0, 90, 180, 270}) {
    for (const bool upside_down : {false, true}) {
      const std::string name = "t" + std::to_string(turn) + (upside_down ? "u.mov" : ".mov");
      WriteClip(Path(name),
                {.stamps = {90000, 90750}, .rotation_deg = turn, .upside_down = upside_down},
                [](int, AVFrame& frame) {
                  GrayImage image{64, 48, std::vector<std::uint8_t>(64 * 48)};
                  for (int y = 0; y < 48; ++y)
                    for (int x = 0; x < 64; ++x) image.At(x, y) = static_cast<std::uint8_t>(5 * y);
                  FillGray(frame, image);
                });
      FrameSource source = Video(name);
      source.t_line = -20e-6;
      source.clock_rate = 1.25;
      source.t_shift = 3;
      FrameReader reader(source);
      Frame frame;
      ASSERT_TRUE(reader.Next(&frame));
      ASSERT_TRUE(reader.Next(&frame));
      EXPECT_EQ(reader.info().mirrored, upside_down) << name;
      for (int y = 0; y < frame.image.height; ++y)
        for (int x = 0; x < frame.image.width; ++x) {
          const double row = frame.image.At(x, y) / 5.0;
          ASSERT_DOUBLE_EQ(SensorRow(reader.info(), x, y), row) << name << ": " << x << ", " << y;
          ASSERT_NEAR(RowTime(source, reader.info(), frame, x, y),
                      3 + 1.25 * (90750 / 90000.0 - 20e-6 * row), 1e-12);
        }
    }
  }
}

}  // namespace
}  // namespace impactlab
