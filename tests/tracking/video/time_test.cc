// Times, fields, levels and colour of videos.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "data/base/error.h"
#include "tests/support/clip.h"
#include "tests/tracking/video/frames_fixture.h"
#include "tracking/video/video.h"

namespace impactlab {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)
using ::testing::HasSubstr;

class VideoTimeTest : public FramesFixture {};

struct Shot {
  GrayImage image;
  double t = 0;
  long long index = 0, ticks = 0;
};
std::vector<Shot> Read(const std::filesystem::path& path, const VideoOptions& options = {}) {
  VideoReader reader(path, options);
  std::vector<Shot> shots;
  for (Shot shot; reader.Next(&shot.image, &shot.t);) {
    shot.index = reader.index();
    shot.ticks = reader.ticks();
    shots.push_back(shot);
  }
  return shots;
}
std::string TimeMessageOf(const std::filesystem::path& path, const VideoOptions& options) {
  try {
    Read(path, options);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

// The number of a frame as stripes, legible after lossy coding.
void FillNumber(int k, AVFrame& frame) {
  GrayImage image{
      frame.width, frame.height,
      std::vector<std::uint8_t>(static_cast<std::size_t>(frame.width) * frame.height, 40)};
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x)
      if ((k >> (8 * x / image.width) & 1) != 0) image.At(x, y) = 200;
  FillGray(frame, image);
}
int ReadNumber(const GrayImage& image) {
  int k = 0;
  for (int bit = 0; bit < 8; ++bit)
    k |= (image.At((2 * bit + 1) * image.width / 16, image.height / 2) > 128 ? 1 : 0) << bit;
  return k;
}

struct Rate {
  int num, den;
};
constexpr Rate kRates[] = {{25, 1},  {30, 1},  {30000, 1001}, {60000, 1001}, {120000, 1001},
                           {120, 1}, {240, 1}, {1000, 1},     {19001, 317}};

ClipOptions Small(const std::string& encoder, AVRational unit, std::vector<std::int64_t> stamps,
                  int b_frames = 0) {
  ClipOptions options{.encoder = encoder,
                      .format = encoder == "mjpeg" ? AV_PIX_FMT_YUVJ420P : AV_PIX_FMT_YUV420P,
                      .width = 64,
                      .height = 32,
                      .time_base = unit,
                      .stamps = std::move(stamps),
                      .b_frames = b_frames};
  if (encoder == "libx264") options.more = {{"preset", "ultrafast"}};
  return options;
}

TEST_F(VideoTimeTest, ConstantRatesAreExact) {
  int files = 0;
  for (const Rate& rate : kRates) {
    for (const std::string container : {"mp4", "mov", "avi", "mkv"}) {
      for (const int b_frames : {0, 2}) {
        const std::string name = "r" + std::to_string(files++) + "." + container;
        // Matroska counts milliseconds: its writer rounds, and what it wrote is the truth.
        const AVRational unit =
            container == "mkv" ? AVRational{1, 1000} : AVRational{rate.den, rate.num};
        std::vector<std::int64_t> stamps;
        stamps.reserve(40);
        for (int k = 0; k < 40; ++k)
          stamps.push_back(container == "mkv" ? std::llround(1000.0 * k * rate.den / rate.num) : k);
        if (container == "mkv" && rate.num >= 1000 * rate.den) continue;
        WriteClip(Path(name), Small(b_frames > 0 ? "libx264" : "mjpeg", unit, stamps, b_frames),
                  FillNumber);
        const std::vector<Shot> shots = Read(Path(name), {.threads = 1});
        ASSERT_EQ(shots.size(), 40U) << name;
        for (int k = 0; k < 40; ++k) {
          const Shot& shot = shots[static_cast<std::size_t>(k)];
          const double truth = container == "mkv"
                                   ? static_cast<double>(stamps[static_cast<std::size_t>(k)]) / 1000
                                   : static_cast<double>(k) * rate.den / rate.num;
          // Half a microsecond would be enough; what is lost is the last bit.
          ASSERT_NEAR(shot.t, truth, 1e-12) << name << " " << rate.num << "/" << rate.den
                                            << ", b frames " << b_frames << ": " << k;
          ASSERT_EQ(shot.index, k);
          ASSERT_EQ(ReadNumber(shot.image), k) << name;
        }
      }
    }
  }
}

TEST_F(VideoTimeTest, TicksAreTheStoredOnes) {
  WriteClip(Path("a.mp4"), Small("libx264", {1, 60000}, {0, 2002, 4005, 8008, 8009}, 2),
            FillNumber);
  VideoReader reader(Path("a.mp4"));
  const VideoInfo& info = reader.info();
  for (const long long stamp : {0, 2002, 4005, 8008, 8009}) {
    double t = 0;
    ASSERT_TRUE(reader.Next(nullptr, &t));
    // The same instant as an exact fraction, whatever unit the container took.
    EXPECT_EQ(reader.ticks() * info.tick_num * 60000, stamp * info.tick_den);
    EXPECT_DOUBLE_EQ(t, static_cast<double>(stamp) / 60000);
  }
}

// An hour into a recording with fine ticks: no digits are lost.
TEST_F(VideoTimeTest, LateStampsKeepTheirDigits) {
  const std::int64_t hour = 3600LL * 500000;
  WriteClip(Path("a.mov"), Small("mjpeg", {1, 500000}, {0, 1, hour + 7, hour + 8, hour + 1009}),
            FillNumber);
  const std::vector<Shot> shots = Read(Path("a.mov"));
  ASSERT_EQ(shots.size(), 5U);
  EXPECT_NEAR(shots[3].t - shots[2].t, 2e-6, 2e-12);
  EXPECT_NEAR(shots[4].t, 3600.002018, 2e-12);
}

TEST_F(VideoTimeTest, HostileT20VariableRateDuplicatesAndGaps) {
  // Phone-like: jitter, a gap of 7 frames, a picture shown twice with its own stamp, a pause of
  // seconds.
  std::mt19937_64 rng(20);
  std::vector<std::int64_t> stamps;
  std::vector<int> pictures;
  std::int64_t at = 0;
  for (int k = 0; k < 120; ++k) {
    stamps.push_back(at);
    pictures.push_back(k == 50 ? 49 : k);
    at += 3000 + static_cast<std::int64_t>(rng() % 1400) - 700;
    if (k == 30) at += 7 * 3000;
    if (k == 90) at += 5 * 90000;
  }
  for (const std::string name : {"a.mp4", "a.mov", "a.ts"}) {
    WriteClip(Path(name), Small("libx264", {1, 90000}, stamps, 2),
              [&](int k, AVFrame& f) { FillNumber(pictures[static_cast<std::size_t>(k)], f); });
    const std::vector<Shot> shots = Read(Path(name));
    ASSERT_EQ(shots.size(), 120U) << name;
    // Transport streams begin at a time of their own.
    const double shift = name == "a.ts" ? shots[0].t : 0;
    for (std::size_t k = 0; k < 120; ++k) {
      ASSERT_NEAR(shots[k].t - shift, static_cast<double>(stamps[k]) / 90000, 1e-9)
          << name << ": " << k;
      ASSERT_EQ(ReadNumber(shots[k].image), pictures[k]) << name << ": " << k;
    }
  }
}

// Whatever is asked in whatever order, a frame has its own time.
TEST_F(VideoTimeTest, HostileT21TimesDoNotDependOnWhenTheyAreAsked) {
  WriteClip(Path("a.mp4"), Small("libx264", {1, 90000}, JitteredStamps(40, 900, 123456, 4), 2),
            FillNumber);
  const std::vector<Shot> plain = Read(Path("a.mp4"));
  EXPECT_GT(plain[0].t, 1.37) << "the first stamp is its own, not 0";
  VideoReader fresh(Path("a.mp4"));
  double t = 0;
  GrayImage image;
  ASSERT_TRUE(fresh.Next(nullptr, &t));
  EXPECT_EQ(t, plain[0].t);
  ASSERT_TRUE(fresh.Next(&image, nullptr));
  ASSERT_TRUE(fresh.Next(&image, &t));
  EXPECT_EQ(t, plain[2].t);
  EXPECT_EQ(image.pixels, plain[2].image.pixels);
  for (const long long k : {0, 39, 1, 20, 0}) {
    ASSERT_TRUE(fresh.Seek(k));
    ASSERT_TRUE(fresh.Next(nullptr, &t));
    EXPECT_EQ(t, plain[static_cast<std::size_t>(k)].t);
    EXPECT_EQ(fresh.ticks(), plain[static_cast<std::size_t>(k)].ticks);
  }
  VideoReader sought(Path("a.mp4"));
  ASSERT_TRUE(sought.Seek(0)) << "before anything is read";
  ASSERT_TRUE(sought.Next(&image, &t));
  EXPECT_EQ(t, plain[0].t);
  EXPECT_EQ(image.pixels, plain[0].image.pixels);
}

// 25 frames a second whose fields were taken 1/50 s apart: a bar that moves 3 px a field over a
// vertical ramp of brightness.
void FillFields(int k, AVFrame& frame, bool top_first) {
  GrayImage image{frame.width, frame.height,
                  std::vector<std::uint8_t>(static_cast<std::size_t>(frame.width) * frame.height)};
  for (int y = 0; y < image.height; ++y) {
    const bool top = y % 2 == 0;
    const int field = 2 * k + (top == top_first ? 0 : 1);
    for (int x = 0; x < image.width; ++x) {
      const bool bar = x >= 3 * field + 8 && x < 3 * field + 14;
      image.At(x, y) = static_cast<std::uint8_t>(bar ? 235 : 40 + 2 * y);
    }
  }
  FillGray(frame, image);
}
double BarCentre(const GrayImage& image, int y) {
  double sum = 0, moment = 0;
  for (int x = 0; x < image.width; ++x) {
    const double w = std::max(0, image.At(x, y) - 190);
    sum += w, moment += w * x;
  }
  return moment / sum;
}

TEST_F(VideoTimeTest, HostileT30FieldsHaveTheirOwnTimesAndRows) {
  struct Kind {
    const char *name, *encoder;
    bool top_first;
  };
  for (const Kind& kind : {Kind{"t.mp4", "libx264", true},
                           {"b.mp4", "libx264", false},
                           {"t.mkv", "libx264", true},
                           {"t.ts", "mpeg2video", true},
                           {"b.ts", "mpeg2video", false},
                           {"t.avi", "mpeg4", true}}) {
    const bool lossless = std::string(kind.encoder) == "libx264";
    ClipOptions options{.encoder = kind.encoder,
                        .format = AV_PIX_FMT_YUV420P,
                        .width = 96,
                        .height = 64,
                        .time_base = {1, 25},
                        .stamps = EvenStamps(12, 1),
                        .range = AVCOL_RANGE_JPEG,
                        .interlaced = true,
                        .top_first = kind.top_first};
    if (lossless)
      options.more = {{"qp", "0"},
                      {"preset", "ultrafast"},
                      {"x264-params", kind.top_first ? "tff=1" : "bff=1"}};
    if (!lossless) options.more = {{"qmin", "1"}, {"qmax", "2"}, {"b", "20000000"}};
    WriteClip(Path(kind.name), options,
              [&](int k, AVFrame& frame) { FillFields(k, frame, kind.top_first); });
    VideoReader reader(Path(kind.name));
    EXPECT_TRUE(reader.info().interlaced) << kind.name;
    EXPECT_EQ(reader.info().top_field_first, kind.top_first) << kind.name;
    const std::vector<Shot> shots = Read(Path(kind.name));
    ASSERT_EQ(shots.size(), 24U) << kind.name;
    for (int f = 0; f < 24; ++f) {
      const Shot& shot = shots[static_cast<std::size_t>(f)];
      EXPECT_NEAR(shot.t - shots[0].t, f / 50.0, 1e-9) << kind.name << ": " << f;
      EXPECT_EQ(shot.index, f);
      ASSERT_EQ(shot.image.height, 64);
      for (const int y : {0, 1, 20, 21, 62, 63}) {
        ASSERT_NEAR(BarCentre(shot.image, y), 3 * f + 10.5, lossless ? 1e-9 : 1)
            << kind.name << ": field " << f << ", row " << y;
      }
      // The ramp lies where it lay: no shift by half a line, in neither field.
      for (int y = 1; y < 63 && lossless; ++y) {
        ASSERT_EQ(shot.image.At(90, y), 40 + 2 * y)
            << kind.name << ": field " << f << ", row " << y;
      }
    }
    EXPECT_EQ(Read(Path(kind.name), {.fields = VideoOptions::Fields::kWhole}).size(), 12U);
    EXPECT_THAT(TimeMessageOf(Path(kind.name), {.fields = VideoOptions::Fields::kRefuse}),
                HasSubstr("interlaced"));
  }
  ExpectSeeksLikeReading(Video("t.mp4"), 24, 30, 3);
  ExpectSeeksLikeReading(Video("t.avi"), 24, 30, 3);

  // The same pictures without interlacing stay what they are.
  ClipOptions options = H264(EvenStamps(12, 3600), 0, 12, {{"qp", "0"}});
  options.range = AVCOL_RANGE_JPEG;
  WriteClip(Path("p.mp4"), options, [&](int k, AVFrame& frame) { FillFields(k, frame, true); });
  const std::vector<Shot> shots = Read(Path("p.mp4"), {.fields = VideoOptions::Fields::kRefuse});
  ASSERT_EQ(shots.size(), 12U);
  EXPECT_EQ(BarCentre(shots[3].image, 20), 3 * 6 + 10.5);
  EXPECT_EQ(BarCentre(shots[3].image, 21), 3 * 7 + 10.5);
}

// Fields of a turned camera, and of a file whose header rounds the length of a frame to
// milliseconds.
TEST_F(VideoTimeTest, HostileT30FieldsOfTurnedFilesAndCoarseTicks) {
  ClipOptions options = H264({}, 0, 12, {{"qp", "0"}, {"x264-params", "tff=1"}});
  options.interlaced = true;
  options.range = AVCOL_RANGE_JPEG;
  options.rotation_deg = 90;
  options.stamps = EvenStamps(6, 3003);
  WriteClip(Path("turned.mov"), options, [](int k, AVFrame& frame) { FillFields(k, frame, true); });
  const std::vector<Shot> shots = Read(Path("turned.mov"));
  ASSERT_EQ(shots.size(), 12U);
  EXPECT_EQ(shots[0].image.width, 64);
  for (std::size_t f = 0; f < 12; ++f) {
    EXPECT_NEAR(shots[f].t, static_cast<double>(f) * 3003 / 180000, 1e-9);
    for (int y = 1; y < 63; ++y) ASSERT_EQ(shots[f].image.At(63 - y, 90), 40 + 2 * y);
  }
  options.rotation_deg = 0;
  options.time_base = {1, 1000};
  options.stamps.clear();
  for (int k = 0; k < 60; ++k) options.stamps.push_back(std::llround(k * 1001 / 30.0));
  WriteClip(Path("coarse.mkv"), options,
            [](int k, AVFrame& frame) { FillFields(k % 6, frame, true); });
  const std::vector<Shot> coarse = Read(Path("coarse.mkv"));
  ASSERT_EQ(coarse.size(), 120U);
  for (std::size_t f = 0; f < 120; ++f)
    EXPECT_NEAR(coarse[f].t, static_cast<double>(f) * 1.001 / 60, 0.6e-3) << f;
}

GrayImage First(const std::filesystem::path& path, const VideoOptions& options = {}) {
  return Read(path, options).at(0).image;
}

void Fill16(AVFrame& frame, const std::function<int(int, int)>& value, bool big) {
  for (int y = 0; y < frame.height; ++y)
    for (int x = 0; x < frame.width; ++x) {
      const int v = value(x, y);
      frame.data[0][y * frame.linesize[0] + 2 * x + (big ? 1 : 0)] =
          static_cast<std::uint8_t>(v & 0xFF);
      frame.data[0][y * frame.linesize[0] + 2 * x + (big ? 0 : 1)] =
          static_cast<std::uint8_t>(v >> 8);
    }
}

// 12 bits in a 16-bit file: nothing is lost when their range is said, nearly all when it is not.
TEST_F(VideoTimeTest, HostileT31LevelsOfDeepSequences) {
  for (const std::string encoder : {"png", "tiff"}) {
    FrameSource source;
    source.rate = 1000;
    for (int k = 0; k < 3; ++k) {
      source.images.push_back(Path(fmt::format("{}{}.{}", encoder, k, encoder)));
      const bool big = encoder == "png";
      WriteText(source.images.back(),
                EncodePicture({.encoder = encoder,
                               .format = big ? AV_PIX_FMT_GRAY16BE : AV_PIX_FMT_GRAY16LE,
                               .width = 128,
                               .height = 32},
                              [&](AVFrame& frame) {
                                Fill16(
                                    frame, [&](int x, int y) { return x + 128 * y; }, big);
                              }));
    }
    Frame frame;
    FrameReader plain(source);
    EXPECT_EQ(plain.info().bit_depth, 16) << encoder;
    ASSERT_TRUE(plain.Next(&frame));
    EXPECT_EQ(frame.image.At(127, 31), 16) << "4095 of 65535";
    source.decode.white_level = 4095;
    FrameReader scaled(source);
    ASSERT_TRUE(scaled.Next(&frame));
    for (int v = 0; v < 4096; ++v)
      ASSERT_EQ(frame.image.At(v % 128, v / 128), std::lround(255.0 * v / 4095))
          << encoder << ": " << v;
    source.decode.black_level = 500;
    source.decode.white_level = 1500;
    FrameReader part(source);
    ASSERT_TRUE(part.Next(&frame));
    for (int v = 0; v < 4096; ++v)
      ASSERT_EQ(frame.image.At(v % 128, v / 128),
                std::clamp(std::lround(255.0 * (v - 500) / 1000), 0L, 255L))
          << encoder << ": " << v;
    source.decode.black_level = 2000;
    EXPECT_THROW(FrameReader{source}, DataError) << "black above white";
    if (encoder == "tiff") {
      source.decode = {.linear = true};
      EXPECT_THROW(FrameReader{source}, DataError) << "nothing says how levels follow from light";
      EXPECT_EQ(plain.info().transfer, "unknown");
    }
  }
  const auto ten = [&](AVPixelFormat format, AVColorRange range, int stored,
                       const VideoOptions& options) {
    WriteClip(Path("d.mkv"),
              {.encoder = "ffv1",
               .format = format,
               .time_base = {1, 1000},
               .stamps = {0},
               .range = range},
              [&](int, AVFrame& frame) {
                Fill16(
                    frame, [&](int, int) { return stored; }, false);
              });
    return static_cast<int>(First(Path("d.mkv"), options).At(3, 3));
  };
  EXPECT_EQ(
      ten(AV_PIX_FMT_GRAY10LE, AVCOL_RANGE_JPEG, 300, {.black_level = 200, .white_level = 400}),
      128);
  EXPECT_EQ(ten(AV_PIX_FMT_YUV420P10LE, AVCOL_RANGE_MPEG, 300, {}),
            std::lround(255.0 * (300 - 64) / 876));
  EXPECT_EQ(
      ten(AV_PIX_FMT_YUV420P10LE, AVCOL_RANGE_MPEG, 300, {.black_level = 0, .white_level = 1023}),
      std::lround(255.0 * 300 / 1023));
  EXPECT_EQ(ten(AV_PIX_FMT_GRAY12LE, AVCOL_RANGE_JPEG, 4095, {}), 255);
}

TEST_F(VideoTimeTest, HostileT31LightIsUndoneWhereTheCurveIsKnownAndElseSaid) {
  // Closed forms of the standards, at levels below and above their straight parts.
  const auto srgb = [](double e) {
    return e <= 0.04045 ? e / 12.92 : std::pow((e + 0.055) / 1.055, 2.4);
  };
  const auto bt709 = [](double e) {
    return e < 0.0812 ? e / 4.5 : std::pow((e + 0.0993) / 1.0993, 1 / 0.45);
  };
  const auto hlg = [](double e) {
    return e <= 0.5 ? e * e / 3 : (std::exp((e - 0.55991073) / 0.17883277) + 0.28466892) / 12;
  };
  struct Curve {
    AVColorTransferCharacteristic tag;
    std::string name;
    std::function<double(double)> light;
  };
  const std::vector<Curve> curves = {
      {AVCOL_TRC_IEC61966_2_1, "iec61966-2-1", srgb},
      {AVCOL_TRC_BT709, "bt709", bt709},
      {AVCOL_TRC_SMPTE170M, "smpte170m", bt709},
      {AVCOL_TRC_GAMMA22, "bt470m", [](double e) { return std::pow(e, 2.2); }},
      {AVCOL_TRC_LINEAR, "linear", [](double e) { return e; }},
      {AVCOL_TRC_ARIB_STD_B67, "arib-std-b67", hlg}};
  const auto ramp = [](int, AVFrame& frame) {
    GrayImage image{256, 4, std::vector<std::uint8_t>(1024)};
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 256; ++x) image.At(x, y) = static_cast<std::uint8_t>(x);
    FillGray(frame, image);
  };
  for (const Curve& curve : curves) {
    ClipOptions options = H264({0}, 0, 1, {{"qp", "0"}});
    options.width = 256;
    options.height = 4;
    options.range = AVCOL_RANGE_JPEG;
    options.transfer = curve.tag;
    WriteClip(Path("c.mp4"), options, ramp);
    EXPECT_EQ(VideoReader(Path("c.mp4")).info().transfer, curve.name);
    const GrayImage plain = First(Path("c.mp4")), light = First(Path("c.mp4"), {.linear = true});
    const GrayImage given = First(Path("c.mp4"), {.linear = true, .gamma = 1.8});
    for (int v = 0; v < 256; ++v) {
      ASSERT_EQ(plain.At(v, 1), v);
      ASSERT_NEAR(light.At(v, 1), 255 * curve.light(v / 255.0), 0.51) << curve.name << ": " << v;
      ASSERT_NEAR(given.At(v, 1), 255 * std::pow(v / 255.0, 1.8), 0.51)
          << "what is given goes before what is tagged";
    }
  }
  ClipOptions options = H264({0}, 0, 1);
  options.transfer = AVCOL_TRC_SMPTE2084;
  WriteClip(Path("pq.mp4"), options, FillNumber);
  EXPECT_THAT(TimeMessageOf(Path("pq.mp4"), {.linear = true}), HasSubstr("smpte2084"));
  WriteClip(Path("u.mp4"), H264({0}, 0, 1), FillNumber);
  EXPECT_EQ(VideoReader(Path("u.mp4")).info().transfer, "unknown");
  EXPECT_THAT(TimeMessageOf(Path("u.mp4"), {.linear = true}), HasSubstr("give the gamma"));
  EXPECT_EQ(TimeMessageOf(Path("u.mp4"), {.linear = true, .gamma = 2.2}), "no error");
}

// A PNG that states its exponent: chunk gAMA, 45455 for 1/2.2.
TEST_F(VideoTimeTest, HostileT31GammaOfPictures) {
  std::string png =
      EncodePicture({.encoder = "png", .width = 256, .height = 2}, [](AVFrame& frame) {
        for (int y = 0; y < 2; ++y)
          for (int x = 0; x < 256; ++x)
            frame.data[0][y * frame.linesize[0] + x] = static_cast<std::uint8_t>(x);
      });
  // Length 4, name, value 45455, checksum (of ISO 3309).
  std::string chunk("\0\0\0\x04gAMA\0\0\xB1\x8F", 12);
  std::uint32_t crc = 0xFFFFFFFFU;
  for (std::size_t k = 4; k < 12; ++k) {
    crc ^= static_cast<std::uint8_t>(chunk[k]);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  crc = ~crc;
  for (int k = 3; k >= 0; --k) chunk += static_cast<char>(crc >> (8 * k) & 0xFF);
  std::size_t at = 33;  // behind IHDR; what the encoder says of gamma goes
  for (std::size_t old; (old = png.find("gAMA")) != std::string::npos;) png.erase(old - 4, 16);
  png.insert(at, chunk);
  WriteText(Path("g.png"), png);
  EXPECT_EQ(VideoReader(Path("g.png")).info().transfer.substr(0, 9), "gamma 2.1") << "2.19998";
  const GrayImage light = First(Path("g.png"), {.linear = true});
  for (int v = 0; v < 256; ++v)
    ASSERT_NEAR(light.At(v, 0), 255 * std::pow(v / 255.0, 2.2), 0.52) << v;
  EXPECT_EQ(ReadImage(Path("g.png")).At(100, 0), 100) << "as stored where light is not asked for";
}

TEST_F(VideoTimeTest, LimitedRangeIsStretchedAlikeForEveryLevelAndWidth) {
  for (const int width : {2, 30, 256, 258}) {
    ClipOptions options{.encoder = "ffv1",
                        .format = AV_PIX_FMT_YUV444P,
                        .width = width,
                        .height = 256,
                        .time_base = {1, 1000},
                        .stamps = {0}};
    WriteClip(Path("l.mkv"), options, [&](int, AVFrame& frame) {
      for (int y = 0; y < 256; ++y)
        for (int x = 0; x < width; ++x)
          frame.data[0][y * frame.linesize[0] + x] = static_cast<std::uint8_t>(x + y);
    });
    const GrayImage image = First(Path("l.mkv"));
    for (int y = 0; y < 256; ++y)
      for (int x = 0; x < width; ++x) {
        const int v = (x + y) & 0xFF;
        ASSERT_EQ(image.At(x, y), std::clamp(std::lround(255.0 * (v - 16) / 219), 0L, 255L)) << v;
      }
  }
}

// Red, green, blue 0..255 of a pixel.
using Rgb = std::array<double, 3>;
// An orange disc under light that falls off from left to right, between white, gray, blue, green
// and a black stripe.
Rgb Scene(double x, double y, double cx, double cy) {
  const double light = 1 - 0.6 * x / 160;
  Rgb colour = {200, 200, 200};
  if (y < 20) colour = {40, 60, 220};
  if (y > 100) colour = {40, 200, 50};
  if (x > 150) colour = {0, 0, 0};
  if (std::hypot(x - cx, y - cy) < 18) colour = {250, 120, 20};
  for (double& v : colour) v *= light;
  return colour;
}
Rgb Blended(int x, int y, double cx, double cy) {
  Rgb sum{};
  for (int j = 0; j < 8; ++j)
    for (int i = 0; i < 8; ++i) {
      const Rgb c = Scene(x + (i + 0.5) / 8 - 0.5, y + (j + 0.5) / 8 - 0.5, cx, cy);
      for (std::size_t k = 0; k < 3; ++k) sum[k] += c[k] / 64;
    }
  return sum;
}

TEST_F(VideoTimeTest, ColourIsClosenessWhateverTheBrightness) {
  const VideoOptions orange{.color = Rgb{250, 120, 20}};
  const auto check = [&](const std::string& name, double cx, double cy, int noise,
                         double accuracy) {
    const GrayImage image = First(Path(name), orange);
    ASSERT_EQ(image.width, 160);
    double sum = 0, mx = 0, my = 0;
    for (int y = 24; y < 96; ++y)
      for (int x = 2; x < 140; ++x) {
        const double r = std::hypot(x - cx, y - cy);
        const int least = r < 15 ? 255 - noise : 0, most = r > 21 ? noise : 255;
        EXPECT_THAT(int{image.At(x, y)},
                    ::testing::AllOf(::testing::Ge(least), ::testing::Le(most)))
            << name << ": " << x << ", " << y;
        sum += image.At(x, y), mx += image.At(x, y) * static_cast<double>(x),
            my += image.At(x, y) * static_cast<double>(y);
      }
    EXPECT_NEAR(mx / sum, cx, accuracy) << name;
    EXPECT_NEAR(my / sum, cy, accuracy) << name;
    for (const int y : {5, 115})
      for (int x = 2; x < 160; x += 7)
        EXPECT_LE(image.At(x, y), noise) << name << ": " << x << ", " << y;
    EXPECT_LE(image.At(157, 60), noise) << name << ": black has no colour";
  };
  const double cx = 60.3, cy = 60.7;
  const ClipOptions size{.width = 160, .height = 120, .stamps = {0}};
  ClipOptions rgb = size;
  rgb.format = AV_PIX_FMT_RGB24;
  WriteClip(Path("rgb.mov"), rgb, [&](int, AVFrame& frame) {
    for (int y = 0; y < 120; ++y)
      for (int x = 0; x < 160; ++x)
        for (std::size_t k = 0; k < 3; ++k)
          frame.data[0][y * frame.linesize[0] + 3 * x + static_cast<int>(k)] =
              static_cast<std::uint8_t>(std::lround(Blended(x, y, cx, cy)[k]));
  });
  check("rgb.mov", cx, cy, 12, 0.1);
  // Chroma at half the size, taken from where each siting says that it is.
  struct Kind {
    std::string name;
    AVColorRange range;
    AVColorSpace space;
    AVChromaLocation place;
  };
  for (const Kind& kind :
       {Kind{"left.mkv", AVCOL_RANGE_MPEG, AVCOL_SPC_BT709, AVCHROMA_LOC_LEFT},
        {"centre.mkv", AVCOL_RANGE_JPEG, AVCOL_SPC_BT470BG, AVCHROMA_LOC_CENTER},
        {"untagged.mkv", AVCOL_RANGE_MPEG, AVCOL_SPC_UNSPECIFIED, AVCHROMA_LOC_LEFT}}) {
    ClipOptions yuv = size;
    yuv.encoder = "ffv1";
    yuv.format = AV_PIX_FMT_YUV420P;
    yuv.time_base = {1, 1000};
    yuv.range = kind.range;
    yuv.colorspace = kind.space;
    yuv.chroma = kind.place;
    const bool full = kind.range == AVCOL_RANGE_JPEG;
    const double kr = kind.space == AVCOL_SPC_BT709 ? 0.2126 : 0.299,
                 kb = kind.space == AVCOL_SPC_BT709 ? 0.0722 : 0.114;
    WriteClip(Path(kind.name), yuv, [&](int, AVFrame& frame) {
      const auto luma = [&](const Rgb& c) { return kr * c[0] + (1 - kr - kb) * c[1] + kb * c[2]; };
      for (int y = 0; y < 120; ++y)
        for (int x = 0; x < 160; ++x) {
          const double v = luma(Blended(x, y, cx, cy));
          frame.data[0][y * frame.linesize[0] + x] =
              static_cast<std::uint8_t>(std::lround(full ? v : 16 + v * 219 / 255));
        }
      for (int y = 0; y < 60; ++y)
        for (int x = 0; x < 80; ++x) {
          Rgb c{};
          // Left: the mean about the even column, weights 1 2 1; centre: of the four pixels.
          for (int j = 0; j < 2; ++j)
            for (int i = -1; i < 2; ++i) {
              const double w =
                  kind.place == AVCHROMA_LOC_CENTER ? (i >= 0 ? 0.25 : 0) : (i == 0 ? 0.25 : 0.125);
              const Rgb part = Blended(std::max(0, 2 * x + i), 2 * y + j, cx, cy);
              for (std::size_t k = 0; k < 3; ++k) c[k] += w * part[k];
            }
          const double v = luma(c), scale = full ? 1 : 224.0 / 255;
          frame.data[1][y * frame.linesize[1] + x] =
              static_cast<std::uint8_t>(std::lround(128 + scale * (c[2] - v) / (2 * (1 - kb))));
          frame.data[2][y * frame.linesize[2] + x] =
              static_cast<std::uint8_t>(std::lround(128 + scale * (c[0] - v) / (2 * (1 - kr))));
        }
    });
    check(kind.name, cx, cy, 40, 0.1);
  }
  WriteClip(Path("gray.mov"), {.stamps = {0}}, FillNumber);
  EXPECT_THAT(TimeMessageOf(Path("gray.mov"), orange), HasSubstr("is gray"));
  EXPECT_THAT(TimeMessageOf(Path("rgb.mov"), {.color = Rgb{100, 100, 100}}),
              HasSubstr("no colour"));
  EXPECT_THAT(TimeMessageOf(Path("rgb.mov"), {.color = Rgb{300, 0, 0}}), HasSubstr("0 to 255"));
  EXPECT_THAT(TimeMessageOf(Path("left.mkv"), {.black_level = 5, .color = Rgb{250, 120, 20}}),
              HasSubstr("levels"));
}

}  // namespace
}  // namespace impactlab
