#include "tracking/video/video.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "data/base/error.h"
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

// No symmetry: every turn and every mirror image differs.
GrayImage Noise(int width, int height, unsigned seed) {
  std::mt19937_64 rng(seed);
  GrayImage image{width, height,
                  std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height)};
  for (auto& v : image.pixels) v = static_cast<std::uint8_t>(rng() & 0xFF);
  return image;
}
GrayImage Uniform(int width, int height, int value) {
  return {width, height,
          std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height,
                                    static_cast<std::uint8_t>(value))};
}

struct Clip {
  std::vector<GrayImage> images;
  std::vector<double> t;
  std::vector<long long> index;
  long long damaged = 0;
};
Clip ReadAll(const std::filesystem::path& path, int threads = 0) {
  VideoReader reader(path, {.threads = threads});
  Clip clip;
  GrayImage image;
  double t = 0;
  while (reader.Next(&image, &t)) {
    clip.images.push_back(image);
    clip.t.push_back(t);
    clip.index.push_back(reader.index());
  }
  EXPECT_FALSE(reader.Next(&image, &t)) << "the end stays the end";
  clip.damaged = reader.damaged();
  return clip;
}
// What reading the whole file throws.
std::string ErrorOf(const std::filesystem::path& path) {
  try {
    ReadAll(path);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

class VideoTest : public ::testing::Test {
 protected:
  std::filesystem::path Path(const std::string& name) const { return scratch_.path() / name; }
  // Noise frames as png in mov: lossless, every frame a key frame.
  std::filesystem::path NoiseClip(const std::string& name, std::vector<std::int64_t> stamps,
                                  int rotation_deg = 0) const {
    WriteClip(
        Path(name), {.stamps = std::move(stamps), .rotation_deg = rotation_deg},
        [](int k, AVFrame& frame) { FillGray(frame, Noise(64, 48, static_cast<unsigned>(k))); });
    return Path(name);
  }
  test::ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_F(VideoTest, PixelsAreExactAndTimesAreThoseOfTheFrames) {
  const std::vector<std::int64_t> stamps = {0, 900, 1701, 2650, 12000, 12001};
  const Clip clip = ReadAll(NoiseClip("a.mov", stamps));
  ASSERT_EQ(clip.images.size(), stamps.size());
  for (std::size_t k = 0; k < stamps.size(); ++k) {
    EXPECT_EQ(clip.images[k].pixels, Noise(64, 48, static_cast<unsigned>(k)).pixels) << k;
    EXPECT_DOUBLE_EQ(clip.t[k], static_cast<double>(stamps[k]) / 90000) << k;
    EXPECT_EQ(clip.index[k], static_cast<long long>(k));
  }
}

TEST_F(VideoTest, HeaderSaysWhatItSays) {
  VideoReader reader(NoiseClip("a.mov", EvenStamps(10, 750)));
  EXPECT_EQ(reader.info().width, 64);
  EXPECT_EQ(reader.info().height, 48);
  EXPECT_EQ(reader.info().announced_frames, 10);
  EXPECT_NEAR(reader.info().nominal_rate, 120, 1e-9);
  EXPECT_FALSE(reader.info().still);
  EXPECT_EQ(reader.info().codec, "png");
  EXPECT_EQ(reader.index(), -1);
}

// The number of a frame as stripes, legible after lossy coding.
void VideoFillNumber(int k, AVFrame& frame) {
  GrayImage image = Uniform(frame.width, frame.height, 40);
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      if ((k >> (8 * x / image.width) & 1) != 0) image.At(x, y) = 200;
  FillGray(frame, image);
}
int VideoReadNumber(const GrayImage& image) {
  int k = 0;
  for (int bit = 0; bit < 8; ++bit)
    k |= (image.At((2 * bit + 1) * image.width / 16, image.height / 2) > 128 ? 1 : 0) << bit;
  return k;
}

// Variable rate with reordered frames: the stamps must be those of the pictures, to the last one.
TEST_F(VideoTest, HostileT20VariableRateWithReorderedFrames) {
  std::mt19937_64 rng(20);
  std::vector<std::int64_t> stamps = {0};
  for (int k = 1; k < 100; ++k)
    stamps.push_back(stamps.back() + 400 + static_cast<std::int64_t>(rng() % 700));
  WriteClip(Path("vfr.mp4"),
            {.encoder = "mpeg4",
             .format = AV_PIX_FMT_YUV420P,
             .width = 320,
             .height = 240,
             .time_base = {1, 60000},
             .stamps = stamps,
             .b_frames = 2},
            VideoFillNumber);
  for (const int threads : {1, 0}) {
    const Clip clip = ReadAll(Path("vfr.mp4"), threads);
    ASSERT_EQ(clip.t.size(), stamps.size());
    for (std::size_t k = 0; k < stamps.size(); ++k) {
      EXPECT_DOUBLE_EQ(clip.t[k], static_cast<double>(stamps[k]) / 60000) << k;
      EXPECT_EQ(VideoReadNumber(clip.images[k]), static_cast<int>(k))
          << "another picture than that of the stamp";
    }
  }
}

// The first frame keeps its own stamp, and it does not matter what was asked before.
TEST_F(VideoTest, HostileT21TheFirstFrameHasItsOwnTime) {
  WriteClip(
      Path("late.mkv"),
      {.encoder = "ffv1", .time_base = {1, 1000}, .stamps = EvenStamps(5, 8, 3040)},
      [](int k, AVFrame& frame) { FillGray(frame, Noise(64, 48, static_cast<unsigned>(k))); });
  VideoReader reader(Path("late.mkv"));
  EXPECT_EQ(reader.info().announced_frames, 0) << "Matroska does not say";
  double t = 0;
  ASSERT_TRUE(reader.Next(nullptr, &t));
  EXPECT_DOUBLE_EQ(t, 3.04);
  GrayImage image;
  ASSERT_TRUE(reader.Next(&image, nullptr));
  EXPECT_EQ(image.pixels, Noise(64, 48, 1).pixels);
  ASSERT_TRUE(reader.Next(&image, &t));
  EXPECT_DOUBLE_EQ(t, 3.056);
}

TEST_F(VideoTest, HostileT29QuarterTurnsAreFollowedTheRightWay) {
  const GrayImage stored = Noise(64, 48, 0);
  for (const int turn : {0, 90, 180, 270}) {
    const auto path = NoiseClip("turn" + std::to_string(turn) + ".mov", EvenStamps(1, 750), turn);
    VideoReader reader(path);
    EXPECT_EQ(reader.info().rotation_deg, turn);
    GrayImage shown;
    ASSERT_TRUE(reader.Next(&shown, nullptr));
    ASSERT_EQ(shown.width, turn % 180 == 0 ? 64 : 48);
    ASSERT_EQ(shown.height, turn % 180 == 0 ? 48 : 64);
    EXPECT_EQ(reader.info().width, shown.width);
    for (const auto& [x, y] : {std::pair{0, 0}, {63, 0}, {0, 47}, {63, 47}, {10, 30}}) {
      // Clockwise: what was the left edge becomes the top.
      const int sx = turn == 0 ? x : turn == 90 ? 47 - y : turn == 180 ? 63 - x : y;
      const int sy = turn == 0 ? y : turn == 90 ? x : turn == 180 ? 47 - y : 63 - x;
      EXPECT_EQ(shown.At(sx, sy), stored.At(x, y)) << turn << ": " << x << ", " << y;
    }
  }
}

TEST_F(VideoTest, OddTurnsAreRefused) {
  const auto path = NoiseClip("odd.mov", EvenStamps(1, 750), 30);
  EXPECT_THAT(ErrorOf(path), HasSubstr("quarter turns"));
}

TEST_F(VideoTest, LimitedRangeIsStretchedAndFullRangeIsNot) {
  const auto value = [&](AVPixelFormat format, AVColorRange range, int stored) {
    WriteClip(Path("range.mkv"),
              {.encoder = "ffv1",
               .format = format,
               .time_base = {1, 1000},
               .stamps = {0},
               .range = range},
              [&](int, AVFrame& frame) { FillGray(frame, Uniform(64, 48, stored)); });
    return static_cast<int>(ReadAll(Path("range.mkv")).images.at(0).At(5, 5));
  };
  for (const int stored : {0, 16, 17, 100, 180, 234, 235, 255}) {
    const int stretched =
        static_cast<int>(std::clamp(std::lround((stored - 16) * 255.0 / 219), 0L, 255L));
    EXPECT_EQ(value(AV_PIX_FMT_YUV420P, AVCOL_RANGE_MPEG, stored), stretched);
    EXPECT_EQ(value(AV_PIX_FMT_YUV420P, AVCOL_RANGE_UNSPECIFIED, stored), stretched);
    EXPECT_EQ(value(AV_PIX_FMT_YUV420P, AVCOL_RANGE_JPEG, stored), stored);
    EXPECT_EQ(value(AV_PIX_FMT_GRAY8, AVCOL_RANGE_UNSPECIFIED, stored), stored);
    EXPECT_EQ(value(AV_PIX_FMT_GRAY8, AVCOL_RANGE_JPEG, stored), stored);
  }
}

TEST_F(VideoTest, HostileT31DeepFormatsAreScaledNotWrapped) {
  const auto first = [&](const std::string& name, ClipOptions options,
                         const std::function<void(int, AVFrame&)>& fill) {
    options.stamps = {0};
    if (name.ends_with("mkv")) options.time_base = {1, 1000};
    WriteClip(Path(name), options, fill);
    return ReadAll(Path(name)).images.at(0);
  };
  const auto sixteen = [](int v) {
    return [v](int, AVFrame& frame) {
      for (int plane = 0; plane < 3 && frame.data[plane] != nullptr; ++plane)
        for (int y = 0; y < (plane == 0 || frame.format != AV_PIX_FMT_YUV420P10LE ? 48 : 24); ++y)
          for (int x = 0; x < frame.linesize[plane] / 2; ++x) {
            frame.data[plane][y * frame.linesize[plane] + 2 * x] =
                static_cast<std::uint8_t>(v & 0xFF);
            frame.data[plane][y * frame.linesize[plane] + 2 * x + 1] =
                static_cast<std::uint8_t>(v >> 8);
          }
    };
  };
  EXPECT_EQ(first("g16.mkv", {.encoder = "ffv1", .format = AV_PIX_FMT_GRAY16LE}, sixteen(0x80FF))
                .At(3, 3),
            128);
  EXPECT_EQ(first("g16b.mkv", {.encoder = "ffv1", .format = AV_PIX_FMT_GRAY16LE}, sixteen(0xFFFF))
                .At(63, 47),
            255);
  EXPECT_EQ(
      first("g10.mkv", {.encoder = "ffv1", .format = AV_PIX_FMT_GRAY10LE}, sixteen(512)).At(3, 3),
      128);
  EXPECT_EQ(
      first("y10.mkv", {.encoder = "ffv1", .format = AV_PIX_FMT_YUV420P10LE}, sixteen(64)).At(3, 3),
      0);
  EXPECT_EQ(first("y10b.mkv", {.encoder = "ffv1", .format = AV_PIX_FMT_YUV420P10LE}, sixteen(940))
                .At(3, 3),
            255);
  const auto colour = [](int r, int g, int b) {
    return [=](int, AVFrame& frame) {
      for (int y = 0; y < 48; ++y)
        for (int x = 0; x < 64; ++x)
          for (int k = 0; k < 3; ++k)
            frame.data[0][y * frame.linesize[0] + 3 * x + k] =
                static_cast<std::uint8_t>(k == 0   ? r
                                          : k == 1 ? g
                                                   : b);
    };
  };
  const ClipOptions rgb{.format = AV_PIX_FMT_RGB24};
  EXPECT_EQ(first("red.mov", rgb, colour(255, 0, 0)).At(3, 3), 76);
  EXPECT_EQ(first("green.mov", rgb, colour(0, 255, 0)).At(3, 3), 150);
  EXPECT_EQ(first("blue.mov", rgb, colour(0, 0, 255)).At(3, 3), 29);
  for (const int v : {0, 1, 77, 128, 254, 255})
    EXPECT_EQ(first("gray.mov", rgb, colour(v, v, v)).At(3, 3), v);
}

// A packet overwritten in the middle: that frame is gone, its number stays in use, the others are
// untouched.
TEST_F(VideoTest, DamagedFramesAreCountedAndLeftOut) {
  const auto path = NoiseClip("damaged.mov", EvenStamps(9, 750));
  std::string bytes = ReadText(path);
  std::size_t at = 0;
  for (int k = 0; k <= 4; ++k) at = bytes.find("IDAT", at + 4);
  ASSERT_NE(at, std::string::npos);
  for (std::size_t k = 0; k < 400; ++k) bytes[at + 40 + k] = '\x55';
  WriteText(path, bytes);
  const Clip clip = ReadAll(path, 1);
  EXPECT_EQ(clip.damaged, 1);
  EXPECT_THAT(clip.index, ::testing::ElementsAre(0, 1, 2, 3, 5, 6, 7, 8));
  EXPECT_EQ(clip.images[4].pixels, Noise(64, 48, 5).pixels);
  EXPECT_DOUBLE_EQ(clip.t[4], 5 * 750.0 / 90000);
}

// Frames predicted from a damaged one look like pictures and show nothing true: they go too, up to
// the next key frame. Whatever is returned is the frame of its number, at its time, as if nothing
// were damaged.
TEST_F(VideoTest, FramesPredictedFromADamagedOneAreLeftOut) {
  WriteClip(Path("p.mp4"),
            {.encoder = "mpeg4",
             .format = AV_PIX_FMT_YUV420P,
             .width = 320,
             .height = 240,
             .time_base = {1, 60000},
             .stamps = EvenStamps(60, 500),
             .key_interval = 10},
            [](int k, AVFrame& frame) {
              VideoFillNumber(k, frame);
              std::mt19937_64 rng(static_cast<unsigned>(k));
              for (int y = 0; y < 240; ++y)
                for (int x = 0; x < 320; ++x)
                  frame.data[0][y * frame.linesize[0] + x] += static_cast<std::uint8_t>(rng() % 40);
            });
  const Clip whole = ReadAll(Path("p.mp4"), 1);
  ASSERT_EQ(whole.images.size(), 60U);
  const std::string bytes = ReadText(Path("p.mp4"));
  long long most = 0;
  for (const double place : {0.2, 0.35, 0.5, 0.65, 0.8}) {
    std::string harmed = bytes;
    for (std::size_t k = 0; k < 200; ++k)
      harmed[static_cast<std::size_t>(place * static_cast<double>(bytes.size())) + k] =
          static_cast<char>(0xAA);
    WriteText(Path("harmed.mp4"), harmed);
    const Clip clip = ReadAll(Path("harmed.mp4"), 1);
    EXPECT_GE(clip.damaged, 1) << place;
    most = std::max(most, clip.damaged);
    EXPECT_EQ(clip.damaged + static_cast<long long>(clip.index.size()), 60);
    for (std::size_t k = 0; k < clip.index.size(); ++k) {
      const auto at = static_cast<std::size_t>(clip.index[k]);
      EXPECT_EQ(clip.images[k].pixels, whole.images[at].pixels) << place << ": frame " << at;
      EXPECT_EQ(clip.t[k], whole.t[at]);
    }
  }
  EXPECT_GE(most, 3) << "no predicted frame followed a damaged one: the test says nothing";
}

TEST_F(VideoTest, AFileThatEndsInTheMiddleSaysSo) {
  for (const std::string name : {"a.mkv", "a.avi"}) {
    WriteClip(
        Path(name), {.encoder = "ffv1", .time_base = {1, 1000}, .stamps = EvenStamps(20, 10)},
        [](int k, AVFrame& frame) { FillGray(frame, Noise(64, 48, static_cast<unsigned>(k))); });
    EXPECT_EQ(ReadAll(Path(name)).images.size(), 20U);
    std::filesystem::resize_file(Path(name), std::filesystem::file_size(Path(name)) / 2);
    VideoReader reader(Path(name));
    GrayImage image;
    int n = 0;
    EXPECT_THROW(
        while (reader.Next(&image, nullptr)) {
          EXPECT_EQ(image.pixels, Noise(64, 48, static_cast<unsigned>(n)).pixels);
          ++n;
        },
        DataError)
        << name;
    EXPECT_GE(n, 7) << "good frames come before the bad news";
    EXPECT_LE(n, 11);
    EXPECT_THAT(ErrorOf(Path(name)), AllOf(HasSubstr(name), HasSubstr("ends in the middle")));
  }
  const auto movie = NoiseClip("a.mov", EvenStamps(20, 750));
  std::filesystem::resize_file(movie, std::filesystem::file_size(movie) / 2);
  EXPECT_THAT(ErrorOf(movie), HasSubstr("table of contents is missing"));
}

TEST_F(VideoTest, FilesThatAreNoVideo) {
  const auto refuses = [&](const std::string& name, const std::string& bytes,
                           const std::string& words) {
    WriteText(Path(name), bytes);
    EXPECT_THAT(ErrorOf(Path(name)), AllOf(HasSubstr(Path(name).string() + ": "), HasSubstr(words)))
        << name;
    EXPECT_THROW(ReadImage(Path(name)), DataError);
  };
  refuses("empty.mp4", "", "is empty");
  refuses("empty.png", "", "is empty");
  refuses("text.mp4", "time,x,y\n0,1,2\n", "is not a video");
  refuses("text.jpg", std::string(100000, 'x'), "");
  std::mt19937_64 rng(3);
  std::string noise(50000, '\0');
  for (char& c : noise) c = static_cast<char>(rng());
  refuses("noise.avi", noise, "");
  refuses("huge.pgm", "P5\n60000 60000\n255\nabc", "");
  refuses("negative.pgm", "P5\n-5 7\n255\nabc", "");
  // A playlist that names a good video must not open it.
  const auto good = NoiseClip("good.mov", EvenStamps(3, 750));
  refuses("list.m3u8",
          "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile://" + good.string() +
              "\n#EXT-X-ENDLIST\n",
          "");
  refuses("list.mp4", "ffconcat version 1.0\nfile '" + good.string() + "'\n", "");
  EXPECT_THAT(ErrorOf(Path("absent.mp4")), HasSubstr("No such file"));
  EXPECT_THAT(ErrorOf(scratch_.path()), HasSubstr("folder"));
  EXPECT_THAT(ErrorOf("/dev/null"), HasSubstr("not a regular file"));
}

TEST_F(VideoTest, AbsurdSizesAreRefusedBeforeMemoryIsAskedFor) {
  const GrayImage image = Noise(64, 48, 1);
  std::string png = EncodePng(image);
  // Width and height stand at bytes 16 to 23 of every PNG file.
  for (const std::size_t k : {16U, 20U}) png[k] = 0, png[k + 1] = 1, png[k + 2] = 0, png[k + 3] = 0;
  WriteText(Path("big.png"), png);
  EXPECT_THROW(ReadImage(Path("big.png")), DataError);
}

TEST_F(VideoTest, NamesAreNamesAndNothingElse) {
  for (const std::string name : {"with space.mov", "colon:in:name.mov", "frame%03d.mov",
                                 "file:x.mov", "star*?[a].mov", "dash-.mov"}) {
    const auto plain = NoiseClip("plain.mov", EvenStamps(2, 750));
    std::filesystem::copy_file(plain, Path(name),
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(ReadAll(Path(name)).images.size(), 2U) << name;
  }
  // With image%03d.png a pattern reader would show image001.png.
  WritePng(Path("image%03d.png"), Uniform(20, 10, 11));
  WritePng(Path("image001.png"), Uniform(20, 10, 22));
  EXPECT_EQ(ReadImage(Path("image%03d.png")).At(3, 3), 11);
}

TEST_F(VideoTest, PngRoundTripIsExact) {
  for (const auto& [w, h] : {std::pair{1, 1}, {3, 5}, {64, 48}, {641, 37}}) {
    const GrayImage image = Noise(w, h, 5);
    WritePng(Path("a.png"), image);
    const GrayImage back = ReadImage(Path("a.png"));
    EXPECT_EQ(back.width, w);
    EXPECT_EQ(back.height, h);
    EXPECT_EQ(back.pixels, image.pixels);
  }
  EXPECT_THROW(WritePng(Path("a.png"), GrayImage{}), OutputError);
  EXPECT_THROW(WritePng("/proc/absent/a.png", Noise(4, 4, 1)), OutputError);
}

TEST_F(VideoTest, PicturesOfOtherKinds) {
  WriteText(Path("a.pgm"), std::string("P5\n3 2\n255\n") + "\x01\x02\x03\x7F\x80\xFF");
  EXPECT_EQ(ReadImage(Path("a.pgm")).pixels, (std::vector<std::uint8_t>{1, 2, 3, 127, 128, 255}));
  WriteText(Path("deep.pgm"), std::string("P5\n2 1\n65535\n") + std::string("\x80\x00\xFF\xFF", 4));
  EXPECT_EQ(ReadImage(Path("deep.pgm")).pixels, (std::vector<std::uint8_t>{128, 255}));
  WriteText(Path("a.ppm"), std::string("P6\n1 1\n255\n") + "\xFF\x80\x10");
  EXPECT_EQ(ReadImage(Path("a.ppm")).pixels, (std::vector<std::uint8_t>{153}));
  // Wrong extensions do not matter.
  std::filesystem::copy_file(Path("a.pgm"), Path("a.jpg"));
  EXPECT_EQ(ReadImage(Path("a.jpg")).At(2, 1), 255);
  EXPECT_THAT(ErrorOf(NoiseClip("v.mov", EvenStamps(2, 750))), HasSubstr("no error"));
  EXPECT_THROW(ReadImage(Path("v.mov")), DataError) << "a video is not a picture";
}

TEST_F(VideoTest, CutPicturesAreRefused) {
  std::string png = EncodePng(Noise(200, 150, 1));
  for (const double share : {0.9, 0.5, 0.1}) {
    WriteText(Path("cut.png"),
              png.substr(0, static_cast<std::size_t>(share * static_cast<double>(png.size()))));
    EXPECT_THROW(ReadImage(Path("cut.png")), DataError) << share;
  }
  png[png.size() / 2] ^= 0x40;
  WriteText(Path("flipped.png"), png);
  EXPECT_THROW(ReadImage(Path("flipped.png")), DataError);
  WriteText(Path("cut.pgm"), std::string("P5\n100 100\n255\n") + std::string(5000, 'a'));
  EXPECT_THROW(ReadImage(Path("cut.pgm")), DataError);
  WriteClip(Path("one.avi"),
            {.encoder = "mjpeg",
             .format = AV_PIX_FMT_YUVJ420P,
             .width = 160,
             .height = 120,
             .time_base = {1, 25},
             .stamps = {0}},
            [](int, AVFrame& frame) { FillGray(frame, Noise(160, 120, 1)); });
  const std::string avi = ReadText(Path("one.avi"));
  const std::size_t start = avi.find("\xFF\xD8\xFF"), end = avi.find("\xFF\xD9", start);
  ASSERT_NE(end, std::string::npos);
  const std::string jpeg = avi.substr(start, end + 2 - start);
  WriteText(Path("whole.jpg"), jpeg);
  EXPECT_EQ(ReadImage(Path("whole.jpg")).width, 160);
  for (const double share : {0.9, 0.6}) {
    WriteText(Path("cut.jpg"),
              jpeg.substr(0, static_cast<std::size_t>(share * static_cast<double>(jpeg.size()))));
    EXPECT_THROW(ReadImage(Path("cut.jpg")), DataError) << share;
  }
  // An orientation tag (turn by 90 degrees) leaves the rows of the sensor as they are.
  const std::string tag(
      "\xFF\xE1\x00\x22"
      "Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0",
      36);
  WriteText(Path("tagged.jpg"), jpeg.substr(0, 2) + tag + jpeg.substr(2));
  EXPECT_EQ(ReadImage(Path("tagged.jpg")).pixels, ReadImage(Path("whole.jpg")).pixels);
}

// TIFF as programs write it, with tags about paper and programs, packed in several ways, in both
// byte orders, and cut.
TEST_F(VideoTest, TiffPicturesAreReadAndCutOnesAreNot) {
  const GrayImage image = Noise(60, 40, 9);
  for (const std::string packing : {"raw", "packbits", "lzw", "deflate"}) {
    const std::string bytes = test::EncodePicture(
        {.encoder = "tiff", .width = 60, .height = 40, .more = {{"compression_algo", packing}}},
        [&](AVFrame& frame) { FillGray(frame, image); });
    WriteText(Path("a.tif"), bytes);
    EXPECT_EQ(ReadImage(Path("a.tif")).pixels, image.pixels) << packing;
    for (const double share : {0.95, 0.6, 0.3, 0.02}) {
      WriteText(
          Path("cut.tif"),
          bytes.substr(0, static_cast<std::size_t>(share * static_cast<double>(bytes.size()))));
      EXPECT_THROW(ReadImage(Path("cut.tif")), DataError) << packing << ", " << share;
    }
    if (packing == "deflate") {
      std::string harmed = bytes;
      for (std::size_t k = 0; k < 20; ++k) harmed[bytes.size() / 2 + k] ^= 0x5A;
      WriteText(Path("harmed.tif"), harmed);
      EXPECT_THROW(ReadImage(Path("harmed.tif")), DataError);
    }
  }
  // By hand: big-endian, orientation "turned", artist, resolution; the pixels stand behind the
  // table.
  const auto entry = [](unsigned tag, unsigned type, unsigned count, unsigned value) {
    std::string e;
    for (const unsigned v : {tag, type})
      e += {static_cast<char>(v >> 8), static_cast<char>(v & 0xFF)};
    for (const unsigned v : {count, type == 3 ? value << 16 : value})
      for (int k = 3; k >= 0; --k) e += static_cast<char>(v >> (8 * k) & 0xFF);
    return e;
  };
  const std::string table = entry(256, 3, 1, 3) + entry(257, 3, 1, 2) + entry(258, 3, 1, 8) +
                            entry(259, 3, 1, 1) + entry(262, 3, 1, 1) +
                            entry(273, 4, 1, 8 + 2 + 12 * 12 + 4) + entry(274, 3, 1, 6) +
                            entry(277, 3, 1, 1) + entry(278, 3, 1, 2) + entry(279, 4, 1, 6) +
                            entry(296, 3, 1, 2) + entry(33432, 2, 4, 0x41424300);
  const std::string tiff = std::string("MM\0*\0\0\0\x08\0\x0C", 10) + table + std::string(4, '\0') +
                           "\x01\x02\x03\x7F\x80\xFF";
  WriteText(Path("hand.tif"), tiff);
  EXPECT_EQ(ReadImage(Path("hand.tif")).pixels,
            (std::vector<std::uint8_t>{1, 2, 3, 127, 128, 255}));
}

TEST_F(VideoTest, BareStreamsHaveNoTime) {
  WriteClip(Path("bare.m1v"),
            {.encoder = "mpeg1video",
             .format = AV_PIX_FMT_YUV420P,
             .time_base = {1, 25},
             .stamps = EvenStamps(5, 1)},
            [](int k, AVFrame& frame) { FillGray(frame, Uniform(64, 48, 30 + k)); });
  EXPECT_THAT(ErrorOf(Path("bare.m1v")), HasSubstr("no time stamps"));
}

TEST_F(VideoTest, ReadersMoveAndStandSideBySide) {
  const auto path = NoiseClip("a.mov", EvenStamps(3, 750));
  VideoReader first(path);
  VideoReader second(path);
  GrayImage a, b;
  ASSERT_TRUE(first.Next(&a, nullptr));
  VideoReader moved = std::move(first);
  ASSERT_TRUE(moved.Next(&a, nullptr));
  ASSERT_TRUE(second.Next(&b, nullptr));
  EXPECT_EQ(a.pixels, Noise(64, 48, 1).pixels);
  EXPECT_EQ(b.pixels, Noise(64, 48, 0).pixels);
}

}  // namespace
}  // namespace impactlab
