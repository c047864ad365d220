#include "tracking/video/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <random>

#include "data/base/error.h"
#include "tests/support/process.h"
#include "tracking/video/video.h"

namespace impactlab {
namespace {

using Codec = VideoWriterOptions::Codec;
using ::testing::HasSubstr;

GrayImage WriterNoise(int width, int height, unsigned seed) {
  std::mt19937_64 rng(seed);
  GrayImage image{width, height,
                  std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height)};
  for (auto& v : image.pixels) v = static_cast<std::uint8_t>(rng() & 0xFF);
  return image;
}
// Smooth, moving, the whole gray scale.
GrayImage Waves(int width, int height, int k) {
  GrayImage image{width, height,
                  std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height)};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      image.At(x, y) = static_cast<std::uint8_t>(
          std::lround(127.5 + 127.5 * std::sin(0.05 * (x + 2 * k)) * std::cos(0.04 * y)));
  return image;
}
double Rms(const GrayImage& a, const GrayImage& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.pixels.size(); ++k)
    sum += std::pow(double(a.pixels[k]) - b.pixels[k], 2);
  return std::sqrt(sum / static_cast<double>(a.pixels.size()));
}

struct WriterClip {
  std::vector<GrayImage> images;
  std::vector<double> t;
  VideoInfo info;
};
WriterClip WriterReadAll(const std::filesystem::path& path) {
  VideoReader reader(path);
  WriterClip clip;
  clip.info = reader.info();
  GrayImage image;
  double t = 0;
  while (reader.Next(&image, &t)) {
    clip.images.push_back(image);
    clip.t.push_back(t);
  }
  EXPECT_EQ(reader.damaged(), 0);
  return clip;
}

class VideoWriterTest : public ::testing::Test {
 protected:
  std::filesystem::path Path(const std::string& name) const { return scratch_.path() / name; }
  int Entries() const {
    int n = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(scratch_.path()))
      ++n;
    return n;
  }
  std::string Refusal(const std::string& name, int width, int height,
                      const VideoWriterOptions& options) const {
    try {
      VideoWriter writer(Path(name), width, height, options);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }
  test::ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

// Variable rate: a pause, a step of two microseconds, a start that is not zero, the odd numbers of
// 30000/1001.
const std::vector<double> kUneven = {0.123457, 0.131790, 0.131792, 0.140124,
                                     1.500001, 1.533368, 1.566734, 59.999999};

TEST_F(VideoWriterTest, LosslessFilesGiveBackEveryPixelAndEveryMicrosecond) {
  for (const Codec codec : {Codec::kH264Lossless, Codec::kFfv1}) {
    for (const char* extension : {"mp4", "mov", "mkv", "MKV"}) {
      if (codec == Codec::kFfv1 && std::string(extension) == "mp4") continue;
      for (const auto& [width, height] :
           std::vector<std::pair<int, int>>{{64, 48}, {65, 47}, {200, 131}, {17, 3}}) {
        SCOPED_TRACE(std::string(extension) + " " + std::to_string(static_cast<int>(codec)) + " " +
                     std::to_string(width));
        const auto path = Path(std::string("clip.") + extension);
        VideoWriter writer(path, width, height, {.codec = codec});
        for (std::size_t k = 0; k < kUneven.size(); ++k)
          writer.Write(WriterNoise(width, height, static_cast<unsigned>(k)), kUneven[k]);
        writer.Finish();
        const WriterClip clip = WriterReadAll(path);
        ASSERT_EQ(clip.images.size(), kUneven.size());
        EXPECT_EQ(clip.info.width, width);
        EXPECT_EQ(clip.info.height, height);
        for (std::size_t k = 0; k < kUneven.size(); ++k) {
          EXPECT_EQ(clip.images[k].pixels,
                    WriterNoise(width, height, static_cast<unsigned>(k)).pixels)
              << k;
          EXPECT_NEAR(clip.t[k], kUneven[k], 1e-9) << k;
        }
        std::filesystem::remove(path);
      }
    }
  }
}

TEST_F(VideoWriterTest, BFramesKeepOrderAndStamps) {
  for (const char* extension : {"mp4", "mov", "mkv"}) {
    for (const Codec codec : {Codec::kH264, Codec::kH264Lossless}) {
      SCOPED_TRACE(extension);
      std::mt19937_64 rng(7);
      std::vector<double> stamps;
      double t = 0.5;
      stamps.reserve(60);
      for (int k = 0; k < 60; ++k)
        stamps.push_back(std::round(1e6 * (t += std::uniform_real_distribution(0.002, 0.03)(rng))) /
                         1e6);
      const auto path = Path(std::string("clip.") + extension);
      VideoWriter writer(path, 96, 64,
                         {.codec = codec, .quality = 10, .b_frames = 3, .key_interval = 20});
      for (int k = 0; k < 60; ++k) writer.Write(Waves(96, 64, 5 * k), stamps[k]);
      writer.Finish();
      const WriterClip clip = WriterReadAll(path);
      ASSERT_EQ(clip.images.size(), 60U);
      for (int k = 0; k < 60; ++k) {
        EXPECT_NEAR(clip.t[k], stamps[k], 1e-9) << k;
        EXPECT_LT(Rms(clip.images[k], Waves(96, 64, 5 * k)), codec == Codec::kH264 ? 3 : 1e-9) << k;
      }
    }
  }
}

TEST_F(VideoWriterTest, AviKeepsEvenStepsExactly) {
  struct Case {
    double step;
    Codec codec;
  };
  for (const Case& c :
       {Case{1.0 / 120, Codec::kFfv1}, Case{1001.0 / 30000, Codec::kH264Lossless},
        Case{1001.0 / 240000, Codec::kMjpeg}, Case{0.04, Codec::kH264}, Case{1.0, Codec::kFfv1},
        Case{1.0 / 997, Codec::kFfv1}, Case{1.0 / 30, Codec::kFfv1}}) {
    SCOPED_TRACE(c.step);
    // Once as computed, once as read from a file in microseconds.
    for (const bool rounded : {false, true}) {
      VideoWriter writer(Path("clip.avi"), 32, 32, {.codec = c.codec, .quality = 5});
      const auto stamp = [&](int k) {
        return rounded ? std::round(1e6 * k * c.step) / 1e6 : k * c.step;
      };
      for (int k = 0; k < 500; ++k) writer.Write(Waves(32, 32, k), stamp(k));
      writer.Finish();
      const WriterClip clip = WriterReadAll(Path("clip.avi"));
      ASSERT_EQ(clip.t.size(), 500U);
      for (int k = 0; k < 500; ++k) ASSERT_NEAR(clip.t[k], k * c.step, 1e-6) << k;
      if (c.codec == Codec::kFfv1) {
        EXPECT_EQ(clip.images[77].pixels, Waves(32, 32, 77).pixels);
      }
    }
  }
}

TEST_F(VideoWriterTest, AviRefusesWhatItCannotTime) {
  const GrayImage image = Waves(32, 32, 0);
  {
    VideoWriter writer(Path("clip.avi"), 32, 32);
    EXPECT_THROW(writer.Write(image, 0.01), ConfigError) << "does not start at 0";
  }
  VideoWriter writer(Path("clip.avi"), 32, 32);
  writer.Write(image, 0);
  writer.Write(image, 0.01);
  writer.Write(image, 0.02);
  try {
    writer.Write(image, 0.040);
    FAIL() << "a gap";
  } catch (const ConfigError& error) {
    EXPECT_THAT(
        error.what(),
        HasSubstr(
            "frame 3 is stamped 0.04 s; avi holds even steps from 0 s only, use mp4, mov or mkv"));
  }
}

TEST_F(VideoWriterTest, LossyCodecsFollowQualityAndRate) {
  const auto write = [&](const std::string& name, const VideoWriterOptions& options, bool noise) {
    VideoWriter writer(Path(name), 160, 120, options);
    std::vector<GrayImage> images;
    for (int k = 0; k < 120; ++k) {
      images.push_back(Waves(160, 120, k));
      if (noise) {
        std::mt19937_64 rng(static_cast<unsigned>(k));
        for (auto& v : images.back().pixels)
          v = static_cast<std::uint8_t>(
              std::clamp<int>(v + static_cast<int>(rng() % 41) - 20, 0, 255));
      }
      writer.Write(images.back(), k / 120.0);
    }
    writer.Finish();
    const WriterClip clip = WriterReadAll(Path(name));
    double worst = 0;
    for (std::size_t k = 0; k < images.size(); ++k)
      worst = std::max(worst, Rms(images[k], clip.images[k]));
    return std::pair{worst, static_cast<double>(std::filesystem::file_size(Path(name)))};
  };
  const auto good = write("good.mp4", {.codec = Codec::kH264, .quality = 8}, true);
  const auto poor = write("poor.mp4", {.codec = Codec::kH264, .quality = 40}, true);
  EXPECT_LT(good.first, 3);
  EXPECT_GT(poor.first, 2 * good.first);
  EXPECT_LT(3 * poor.second, good.second);
  const auto fine = write("fine.avi", {.codec = Codec::kMjpeg, .quality = 2}, true);
  const auto coarse = write("coarse.mov", {.codec = Codec::kMjpeg, .quality = 31}, true);
  EXPECT_LT(fine.first, 3);
  EXPECT_GT(coarse.first, 2 * fine.first);
  EXPECT_LT(2 * coarse.second, fine.second);
  // One second: the size is the rate.
  const auto rated = write("rated.mp4", {.codec = Codec::kH264, .bit_rate = 1500000}, true);
  EXPECT_NEAR(8 * rated.second, 1.5e6, 0.3e6);
  // No change of the gray scale: black stays black and white stays white.
  EXPECT_LT(write("smooth.mkv", {.codec = Codec::kH264, .quality = 4}, false).first, 1);
  EXPECT_LT(write("smooth.avi", {.codec = Codec::kMjpeg, .quality = 2}, false).first, 1.5);
}

TEST_F(VideoWriterTest, HostileT29RotationIsThatOfThePlayer) {
  for (const int degrees : {0, 90, 180, 270, -90, 450}) {
    for (const char* extension : {"mp4", "mov"}) {
      const auto path = Path(std::string("clip.") + extension);
      VideoWriter writer(path, 40, 24, {.rotation_deg = degrees});
      const GrayImage image = WriterNoise(40, 24, 3);
      writer.Write(image, 0);
      writer.Write(image, 0.01);
      writer.Finish();
      const WriterClip clip = WriterReadAll(path);
      const int turn = (degrees + 360) % 360;
      EXPECT_EQ(clip.info.rotation_deg, turn);
      ASSERT_EQ(clip.images.size(), 2U);
      const GrayImage& shown = clip.images[0];
      ASSERT_EQ(shown.width, turn % 180 == 0 ? 40 : 24);
      // The top-left pixel, turned clockwise.
      const int x = turn == 0 || turn == 270 ? 0 : shown.width - 1,
                y = turn == 0 || turn == 90 ? 0 : shown.height - 1;
      EXPECT_EQ(shown.At(x, y), image.At(0, 0)) << degrees;
      EXPECT_NE(shown.pixels, (turn == 0 ? WriterNoise(40, 24, 4) : image).pixels);
    }
  }
}

TEST_F(VideoWriterTest, ColourKeepsItsValues) {
  ColorImage image{60, 40, std::vector<std::uint8_t>(60 * 40 * 3)};
  std::mt19937_64 rng(5);
  for (auto& v : image.rgb) v = static_cast<std::uint8_t>(rng() & 0xFF);
  const auto gray = [&](int x, int y, double r, double g, double b) {
    const std::uint8_t* p = image.rgb.data() + 3 * (y * 60 + x);
    return r * p[0] + g * p[1] + b * p[2];
  };
  for (const auto& [name, codec] :
       std::vector<std::pair<std::string, Codec>>{{"a.mp4", Codec::kH264Lossless},
                                                  {"a.mkv", Codec::kFfv1},
                                                  {"a.avi", Codec::kFfv1},
                                                  {"a.mov", Codec::kH264Lossless}}) {
    SCOPED_TRACE(name);
    VideoWriter writer(Path(name), 60, 40, {.codec = codec, .color = true});
    writer.Write(image, 0);
    writer.Write(WriterNoise(60, 40, 1), 0.5);
    writer.Finish();
    const WriterClip clip = WriterReadAll(Path(name));
    ASSERT_EQ(clip.images.size(), 2U);
    for (int y = 0; y < 40; ++y)
      for (int x = 0; x < 60; ++x)
        ASSERT_NEAR(clip.images[0].At(x, y), gray(x, y, 0.299, 0.587, 0.114), 0.51);
    EXPECT_EQ(clip.images[1].pixels, WriterNoise(60, 40, 1).pixels);
  }
  // Areas of one colour through the lossy ones.
  for (std::size_t k = 0; k < image.rgb.size(); ++k)
    image.rgb[k] = static_cast<std::uint8_t>(
        std::vector<int>{200, 30, 90, 20, 220, 60, 0, 0, 255}[3 * (k / 3 % 60 / 20) + k % 3]);
  for (const auto& [name, codec] : std::vector<std::pair<std::string, Codec>>{
           {"b.mp4", Codec::kH264}, {"b.avi", Codec::kMjpeg}}) {
    VideoWriter writer(Path(name), 60, 40, {.codec = codec, .quality = 3, .color = true});
    writer.Write(image, 0);
    writer.Finish();
    const WriterClip clip = WriterReadAll(Path(name));
    const bool hd = codec == Codec::kH264;
    for (const int x : {10, 30, 50})
      EXPECT_NEAR(clip.images.at(0).At(x, 20),
                  hd ? gray(x, 20, 0.2126, 0.7152, 0.0722) : gray(x, 20, 0.299, 0.587, 0.114), 3)
          << name << x;
  }
  // Players want an even size; others are kept all the same.
  VideoWriter writer(Path("odd.mp4"), 61, 41, {.codec = Codec::kH264, .color = true});
  writer.Write(Waves(61, 41, 0), 0);
  writer.Finish();
  EXPECT_LT(Rms(WriterReadAll(Path("odd.mp4")).images.at(0), Waves(61, 41, 0)), 6);
}

TEST_F(VideoWriterTest, TheFileAppearsAtTheEndOrNotAtAll) {
  const GrayImage image = WriterNoise(64, 64, 1);
  const auto path = Path("clip.mkv");
  {
    VideoWriter writer(path, 64, 64);
    for (int k = 0; k < 50; ++k) writer.Write(image, k / 100.0);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_EQ(Entries(), 0) << "nothing is left without Finish";
  test::WriteText(path, "the last good one");
  {
    VideoWriter writer(path, 64, 64);
    writer.Write(image, 0);
    EXPECT_THROW(writer.Write(image, 0), ConfigError);
    EXPECT_EQ(test::ReadText(path), "the last good one");
    writer.Write(image, 1);  // a refused frame harms no other
    VideoWriter moved = std::move(writer);
    moved.Finish();
    EXPECT_THROW(moved.Finish(), OutputError);
    EXPECT_THROW(moved.Write(image, 3), OutputError);
  }
  EXPECT_EQ(WriterReadAll(path).t, (std::vector<double>{0, 1}));
  EXPECT_EQ(Entries(), 1);
  EXPECT_THROW(VideoWriter(scratch_.path() / "clip.mkv" / "inside.mkv", 64, 64), OutputError);
  std::filesystem::create_directories(Path("folder.mp4"));
  EXPECT_THROW(VideoWriter(Path("folder.mp4"), 64, 64), OutputError);
  VideoWriter deep(Path("new/deep/clip.mp4"), 64, 64);
  deep.Write(image, 0);
  deep.Finish();
  EXPECT_EQ(WriterReadAll(Path("new/deep/clip.mp4")).images.at(0).pixels, image.pixels);
  VideoWriter empty(Path("none.mp4"), 64, 64);
  EXPECT_THROW(empty.Finish(), ConfigError);
}

TEST_F(VideoWriterTest, FullDiskIsAnErrorAndLeavesNothing) {
  for (const char* name : {"clip.mp4", "clip.mkv", "clip.avi"}) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{100000, 100000};
      if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
      try {
        VideoWriter writer(Path(name), 128, 128);
        for (int k = 0; k < 60; ++k)
          writer.Write(WriterNoise(128, 128, static_cast<unsigned>(k)), k / 100.0);
        writer.Finish();
      } catch (const OutputError& error) {
        ::_exit(std::string(error.what()).find("File too large") != std::string::npos ? 0 : 3);
      } catch (...) {
        ::_exit(4);
      }
      ::_exit(1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0) << name;
    EXPECT_EQ(Entries(), 0) << name;
  }
}

TEST_F(VideoWriterTest, RefusesWhatCannotBeKept) {
  EXPECT_THAT(Refusal("a.webm", 64, 64, {}), HasSubstr("allowed .mp4, .mov, .mkv and .avi"));
  EXPECT_THAT(Refusal("a", 64, 64, {}), HasSubstr("found the extension ''"));
  EXPECT_THAT(Refusal("a.mp4", 0, 64, {}), HasSubstr("found pictures of 0 x 64"));
  EXPECT_THAT(Refusal("a.mp4", 64, 64, {.codec = Codec::kFfv1}),
              HasSubstr("FFV1 cannot be stored in mp4"));
  EXPECT_THAT(Refusal("a.mp4", 64, 64, {.codec = Codec::kH264, .quality = 52}),
              HasSubstr("allowed 0 to 51"));
  EXPECT_THAT(Refusal("a.mp4", 64, 64, {.codec = Codec::kH264, .quality = std::nan("")}),
              HasSubstr("found quality nan"));
  EXPECT_THAT(Refusal("a.avi", 64, 64, {.codec = Codec::kMjpeg, .quality = 1}),
              HasSubstr("allowed 2 to 31"));
  EXPECT_THAT(Refusal("a.avi", 64, 64, {.b_frames = 2}), HasSubstr("B-frames"));
  EXPECT_THAT(Refusal("a.mkv", 64, 64, {.codec = Codec::kFfv1, .b_frames = 2}),
              HasSubstr("B-frames"));
  EXPECT_THAT(Refusal("a.mp4", 64, 64, {.key_interval = 0}), HasSubstr("key interval"));
  EXPECT_THAT(Refusal("a.mp4", 64, 64, {.rotation_deg = 45}), HasSubstr("quarter turns"));
  EXPECT_THAT(Refusal("a.mkv", 64, 64, {.rotation_deg = 90}), HasSubstr("mp4 and mov only"));
  EXPECT_THAT(Refusal("a.mkv", 64, 64, {.time_base = 90000}), HasSubstr("divisors of 1e9"));
  EXPECT_THAT(Refusal("a.mp4", 64, 64, {.time_base = 0}), HasSubstr("time base"));
  EXPECT_EQ(Entries(), 0);
  VideoWriter writer(Path("a.mp4"), 64, 64);
  EXPECT_THROW(writer.Write(WriterNoise(63, 64, 0), 0), ConfigError);
  EXPECT_THROW(writer.Write(GrayImage{64, 64, {}}, 0), ConfigError);
  EXPECT_THROW(writer.Write(ColorImage{64, 64, std::vector<std::uint8_t>(3 * 64 * 64)}, 0),
               ConfigError)
      << "colour in a gray video";
  for (const double t : {-0.1, std::nan(""), HUGE_VAL, 1e30})
    EXPECT_THROW(writer.Write(WriterNoise(64, 64, 0), t), ConfigError) << t;
}

TEST_F(VideoWriterTest, OtherTimeBasesAreKept) {
  for (const auto& [name, base] : std::vector<std::pair<std::string, int>>{{"a.mp4", 90000},
                                                                           {"b.mp4", 600},
                                                                           {"c.mov", 30000},
                                                                           {"d.mkv", 1000},
                                                                           {"e.mkv", 100},
                                                                           {"f.mkv", 10000000},
                                                                           {"g.mp4", 10000000}}) {
    VideoWriter writer(Path(name), 32, 32, {.time_base = base});
    for (int k = 0; k < 40; ++k) writer.Write(Waves(32, 32, k), (3.0 + k * k) / base);
    writer.Finish();
    const WriterClip clip = WriterReadAll(Path(name));
    ASSERT_EQ(clip.t.size(), 40U) << name;
    for (int k = 0; k < 40; ++k)
      EXPECT_NEAR(clip.t[k], (3.0 + k * k) / base, 1e-9) << name << " " << k;
  }
}

TEST_F(VideoWriterTest, MatroskaSpellsItsDurationInSeconds) {
  VideoWriter writer(Path("a.mkv"), 32, 32);
  for (int k = 0; k < 10; ++k) writer.Write(Waves(32, 32, k), 70 + 0.25 * k);
  writer.Finish();
  EXPECT_THAT(test::ReadText(Path("a.mkv")), HasSubstr("00:01:12.500000000"));
}

TEST_F(VideoWriterTest, ColourPng) {
  ColorImage image{37, 23, std::vector<std::uint8_t>(37 * 23 * 3)};
  std::mt19937_64 rng(9);
  for (auto& v : image.rgb) v = static_cast<std::uint8_t>(rng() & 0xFF);
  WritePng(Path("a.png"), image);
  const GrayImage gray = ReadImage(Path("a.png"));
  ASSERT_EQ(gray.width, 37);
  for (std::size_t k = 0; k < gray.pixels.size(); ++k)
    ASSERT_NEAR(
        gray.pixels[k],
        0.299 * image.rgb[3 * k] + 0.587 * image.rgb[3 * k + 1] + 0.114 * image.rgb[3 * k + 2],
        0.51);
  EXPECT_THROW(EncodePng(ColorImage{}), OutputError);
  EXPECT_THROW(EncodePng(ColorImage{4, 4, {1, 2, 3}}), OutputError);
}

}  // namespace
}  // namespace impactlab
