#pragma once
// Clips for the tests of the frame reader, and what they have in common.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/clip.h"
#include "tests/support/process.h"
#include "tracking/video/frames.h"

namespace impactlab::test {

inline GrayImage Noise(int width, int height, unsigned seed) {
  std::mt19937_64 rng(seed);
  GrayImage image{width, height,
                  std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height)};
  for (auto& v : image.pixels) v = static_cast<std::uint8_t>(rng() & 0xFF);
  return image;
}

// A texture that moves a little from frame to frame, so that pictures are predicted from one
// another, and no two are alike.
inline void FillMoving(int k, AVFrame& frame) {
  GrayImage image{frame.width, frame.height,
                  std::vector<std::uint8_t>(static_cast<std::size_t>(frame.width) * frame.height)};
  std::mt19937_64 rng(static_cast<unsigned>(k));
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      image.At(x, y) = static_cast<std::uint8_t>(
          120 + 60 * std::sin(0.31 * (x + 2 * k)) * std::cos(0.23 * (y - k)) + (rng() & 0x1F));
  FillGray(frame, image);
}

inline ClipOptions H264(std::vector<std::int64_t> stamps, int b_frames, int key_interval,
                        std::map<std::string, std::string> more = {}) {
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

inline std::vector<std::int64_t> JitteredStamps(int n, std::int64_t step, std::int64_t first,
                                                unsigned seed) {
  std::mt19937_64 rng(seed);
  std::vector<std::int64_t> stamps;
  stamps.reserve(static_cast<std::size_t>(n));
  for (int k = 0; k < n; ++k)
    stamps.push_back((stamps.empty() ? first : stamps.back()) + step / 2 +
                     static_cast<std::int64_t>(rng() % step));
  return stamps;
}

inline std::vector<Frame> ReadAll(const FrameSource& source,
                                  const FrameReaderOptions& options = {}) {
  FrameReader reader(source, options);
  std::vector<Frame> frames;
  for (Frame frame; reader.Next(&frame);) frames.push_back(frame);
  Frame frame;
  EXPECT_FALSE(reader.Next(&frame)) << "the end stays the end";
  return frames;
}

class FramesFixture : public ::testing::Test {
 protected:
  std::filesystem::path Path(const std::string& name) const { return scratch_.path() / name; }
  FrameSource Video(const std::string& name, int threads = 1) const {
    return {.video = Path(name), .decode = {.threads = threads}};
  }
  // Lossless: every frame a key frame.
  FrameSource NoiseClip(const std::string& name, std::vector<std::int64_t> stamps,
                        AVRational unit = {1, 90000}, int rotation_deg = 0) const {
    WriteClip(
        Path(name), {.time_base = unit, .stamps = std::move(stamps), .rotation_deg = rotation_deg},
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
  // Seeks everywhere in an order without order and compares with what reading from the beginning
  // gave.
  static void ExpectSeeksLikeReading(const FrameSource& source, std::size_t at_least, int seeks,
                                     int ahead) {
    const std::vector<Frame> all = ReadAll(source, {.ahead = 0});
    ASSERT_GE(all.size(), at_least);
    std::mt19937_64 rng(all.size());
    FrameReader reader(source, {.ahead = ahead});
    Frame frame;
    for (int k = 0; k < seeks; ++k) {
      const std::size_t at = k == 0 ? all.size() / 2 : rng() % all.size();
      ASSERT_TRUE(reader.Seek(all[at].index)) << SourceName(source) << ": " << at;
      const std::size_t run = std::min<std::size_t>(all.size() - at, 1 + rng() % 4);
      for (std::size_t j = 0; j < run; ++j) {
        ASSERT_TRUE(reader.Next(&frame)) << SourceName(source) << ": " << at << " + " << j;
        ASSERT_EQ(frame.index, all[at + j].index)
            << SourceName(source) << ": after seek to " << all[at].index;
        ASSERT_EQ(frame.t, all[at + j].t);
        ASSERT_EQ(frame.image.pixels, all[at + j].image.pixels)
            << SourceName(source) << ": frame " << frame.index << " after seek to "
            << all[at].index;
      }
    }
    EXPECT_FALSE(reader.Seek(all.back().index + 100000));
    EXPECT_FALSE(reader.Next(&frame));
    EXPECT_FALSE(reader.Seek(-1));
    ASSERT_TRUE(reader.Seek(all.front().index)) << "back from the end";
    ASSERT_TRUE(reader.Next(&frame));
    EXPECT_EQ(frame.image.pixels, all.front().image.pixels);
  }
  ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

}  // namespace impactlab::test
