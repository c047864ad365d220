#include "tracking/overlay/overlay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "data/base/error.h"
#include "tests/support/process.h"
#include "tracking/overlay/detail/draw.h"
#include "tracking/video/video.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;

struct Pixel {
  int r, g, b;
};
Pixel At(const ColorImage& image, double x, double y) {
  const std::size_t k = 3 * (static_cast<std::size_t>(std::lround(y)) * image.width +
                             static_cast<std::size_t>(std::lround(x)));
  return {image.rgb[k], image.rgb[k + 1], image.rgb[k + 2]};
}
int Saturation(Pixel p) { return std::max({p.r, p.g, p.b}) - std::min({p.r, p.g, p.b}); }

GrayImage Gray(int width, int height, int value) {
  return {width, height,
          std::vector<std::uint8_t>(static_cast<std::size_t>(width) * height,
                                    static_cast<std::uint8_t>(value))};
}

TrackPoint Point(int marker, long long frame, double x, double y, std::uint32_t flags = 0) {
  TrackPoint p;
  p.marker = marker;
  p.frame = frame;
  p.t = 0.01 * static_cast<double>(frame);
  p.q = {x, y};
  p.cov = 1e-4 * Eigen::Matrix2d::Identity();
  p.major = p.minor = 12;
  p.flags = flags;
  return p;
}
// One marker that moves to the right, 10 px a frame.
MarkerTracks Moving(int frames, int impact = -1) {
  MarkerTracks tracks{"r", {"c"}, {"m"}, {}};
  for (int k = 0; k < frames; ++k)
    tracks.points.push_back(Point(0, k, 60 + 10 * k, 150, k == impact ? kImpact : 0u));
  return tracks;
}
// How much of the outline of a marker is coloured.
double Outlined(const ColorImage& image, double x, double y, double radius) {
  int hit = 0;
  for (int k = 0; k < 360; ++k)
    hit += Saturation(At(image, x + radius * std::cos(k * M_PI / 180),
                         y + radius * std::sin(k * M_PI / 180))) > 60;
  return hit / 360.0;
}

class OverlayTest : public ::testing::Test {
 protected:
  std::filesystem::path Path(const std::string& name) const { return scratch_.path() / name; }
  FrameSource Video(int width, int height, int frames, double first = 0) const {
    VideoWriter writer(Path("in.mkv"), width, height);
    for (int k = 0; k < frames; ++k) writer.Write(Gray(width, height, 20 + k), first + 0.01 * k);
    writer.Finish();
    FrameSource source;
    source.video = Path("in.mkv");
    return source;
  }
  test::ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_F(OverlayTest, MarkersAreOutlinedInTheColourOfTheirState) {
  const std::vector<std::uint32_t> states = {0,       kPredicted, kOutlier, kImpact,
                                             kHidden, kSaturated, kManual};
  std::set<std::tuple<int, int, int>> colours;
  for (const std::uint32_t flags : states) {
    MarkerTracks tracks{"r", {"c"}, {"m"}, {Point(0, 5, 300, 150, flags)}};
    const ColorImage image =
        DrawFrame({5, 0.05, Gray(640, 400, 40)}, tracks, 0, {.gates = false, .labels = false});
    ASSERT_EQ(image.width, 640);
    ASSERT_EQ(image.rgb.size(), 3U * 640 * 400);
    const double outlined = Outlined(image, 300, 150, 12);
    if (flags == kPredicted) {
      EXPECT_GT(outlined, 0.3);
      EXPECT_LT(outlined, 0.8) << "dashed";
    } else {
      EXPECT_GT(outlined, 0.9);
      const Pixel p = At(image, 312, 150);
      colours.insert({p.r / 32, p.g / 32, p.b / 32});
    }
    EXPECT_EQ(Saturation(At(image, 450, 150)), 0) << "what is not drawn on stays gray";
    EXPECT_EQ(At(image, 450, 150).g, 40);
  }
  EXPECT_EQ(colours.size(), states.size() - 1);
}

TEST_F(OverlayTest, OtherFramesAndCamerasAreNotShown) {
  const MarkerTracks tracks = Moving(30);
  const OverlayOptions plain{.trail = 0, .gates = false, .labels = false};
  EXPECT_GT(Outlined(DrawFrame({7, 0.07, Gray(640, 400, 40)}, tracks, 0, plain), 130, 150, 12),
            0.9);
  EXPECT_EQ(Outlined(DrawFrame({8, 0.08, Gray(640, 400, 40)}, tracks, 0, plain), 160 - 48, 150, 12),
            0);
  const ColorImage other = DrawFrame({7, 0.07, Gray(640, 400, 40)}, tracks, 1, plain);
  EXPECT_EQ(Outlined(other, 130, 150, 12), 0);
}

TEST_F(OverlayTest, TrailsFade) {
  const ColorImage image = DrawFrame({25, 0.25, Gray(640, 400, 40)}, Moving(30), 0,
                                     {.trail = 20, .gates = false, .labels = false});
  const int recent = Saturation(At(image, 60 + 10 * 22 + 5, 150)),
            old = Saturation(At(image, 60 + 10 * 7 + 5, 150));
  EXPECT_GT(recent, 90);
  EXPECT_GT(old, 10);
  EXPECT_LT(2 * old, recent);
  EXPECT_EQ(Saturation(At(image, 60 + 10 * 4 + 5, 150)), 0) << "20 frames and no more";
}

TEST_F(OverlayTest, GatesAreEnlargedAsStated) {
  MarkerTracks tracks{"r", {"c"}, {"m"}, {Point(0, 5, 300, 150)}};
  tracks.points[0].cov << 1, 0, 0, 0.25;
  tracks.points[0].major = tracks.points[0].minor = 4;
  const ColorImage image =
      DrawFrame({5, 0.05, Gray(640, 400, 40)}, tracks, 0, {.labels = false, .ellipse_scale = 10});
  EXPECT_GT(Saturation(At(image, 330, 150)), 50) << "3 sd x 10 along x";
  EXPECT_GT(Saturation(At(image, 300, 165)), 50);
  EXPECT_LT(Saturation(At(image, 300, 180)), 10);
  tracks.points[0].flags = kPredicted;
  const ColorImage predicted =
      DrawFrame({5, 0.05, Gray(640, 400, 40)}, tracks, 0, {.labels = false, .ellipse_scale = 10});
  EXPECT_LT(Saturation(At(predicted, 330, 150)), 10) << "a predicted point is wide enough as it is";
}

TEST_F(OverlayTest, DrawsOnWhateverItIsGiven) {
  MarkerTracks tracks{"r", {"c"}, {"m\xC3\xA9 \x01", "", std::string(300, 'x')}, {}};
  tracks.points = {Point(0, 5, -50, -50), Point(1, 5, 1e7, 3), Point(2, 5, 4, 4)};
  tracks.points[0].cov = 1e12 * Eigen::Matrix2d::Identity();
  tracks.points[1].cov.setConstant(std::nan(""));
  tracks.points[2].major = 1e9;
  for (const auto& [w, h] :
       std::vector<std::pair<int, int>>{{1, 1}, {3, 700}, {40, 30}, {640, 400}}) {
    const ColorImage image = DrawFrame({5, 0.05, Gray(w, h, 40)}, tracks, 0);
    EXPECT_EQ(image.rgb.size(), 3U * static_cast<std::size_t>(w) * static_cast<std::size_t>(h));
  }
  EXPECT_EQ(DrawFrame({5, 0.05, Gray(20, 20, 40)}, {}, 0).width, 20);
  tracks.points[1].q.x() = std::nan("");
  DrawFrame({5, 0.05, Gray(64, 64, 40)}, tracks, 0);
}

void Overlay(const std::filesystem::path& path, const FrameSource& source,
             const MarkerTracks& tracks, const OverlayOptions& options = {}) {
  SecondLook look(source);
  WriteOverlay(path, tracks, 0, &look, options);
}

void Sheet(const std::filesystem::path& path, const FrameSource& source, const MarkerTracks& tracks,
           long long frame, int columns = 4, int rows = 3) {
  SecondLook look(source);
  WriteContactSheet(path, tracks, 0, &look, frame, columns, rows);
}

TEST_F(OverlayTest, VideoOfOddSizeWithTheStampsOfTheFrames) {
  const FrameSource source = Video(321, 201, 12, 3.5);
  Overlay(Path("out.mp4"), source, Moving(12));
  VideoReader reader(Path("out.mp4"));
  EXPECT_EQ(reader.info().width, 322);
  EXPECT_EQ(reader.info().height, 202);
  GrayImage image;
  double t = 0;
  int n = 0;
  for (; reader.Next(&image, &t); ++n) {
    EXPECT_NEAR(t, 0.01 * n, 2e-6);
    EXPECT_NEAR(image.At(300, 60), 20 + n, 4) << "the picture is below";
  }
  EXPECT_EQ(n, 12);
  Overlay(Path("slow.mp4"), source, Moving(12), {.play_rate = 10});
  VideoReader slow(Path("slow.mp4"));
  for (n = 0; slow.Next(nullptr, &t); ++n) EXPECT_NEAR(t, 0.1 * n, 2e-6);
}

TEST_F(OverlayTest, BrokenRecordingIsShownAsFarAsItGoes) {
  const FrameSource source = Video(320, 200, 60);
  std::string bytes = test::ReadText(Path("in.mkv"));
  test::WriteText(Path("in.mkv"), bytes.substr(0, bytes.size() * 2 / 3));
  EXPECT_THROW(Overlay(Path("out.mp4"), source, Moving(30)), DataError);
  VideoReader reader(Path("out.mp4"));
  int n = 0;
  while (reader.Next(nullptr, nullptr)) ++n;
  EXPECT_GT(n, 10);
  EXPECT_LT(n, 60);
  test::WriteText(Path("in.mkv"), "no video");
  EXPECT_THROW(Overlay(Path("none.mp4"), source, Moving(30)), DataError);
  EXPECT_FALSE(std::filesystem::exists(Path("none.mp4")));
}

TEST_F(OverlayTest, ContactSheetAroundTheImpact) {
  const FrameSource source = Video(640, 300, 40);
  Sheet(Path("sheet.png"), source, Moving(40, 20), -1, 3, 2);
  const GrayImage sheet = ReadImage(Path("sheet.png"));
  EXPECT_GT(sheet.width, 1000);
  // Frames 18 to 23: gray 38 to 43, one level a tile.
  const int tile = sheet.width / 3, row = sheet.height / 2;
  for (int k = 0; k < 6; ++k)
    EXPECT_NEAR(sheet.At(k % 3 * tile + 20, k / 3 * row + row - 20), 38 + k, 1) << k;
  Sheet(Path("given.png"), source, Moving(40, 20), 0, 3, 2);
  EXPECT_NEAR(ReadImage(Path("given.png")).At(20, row - 20), 20, 1);
  Sheet(Path("empty.png"), source, {}, 5, 1, 1);
  EXPECT_NEAR(ReadImage(Path("empty.png")).At(20, 100), 25, 1);
  EXPECT_THROW(Sheet(Path("far.png"), source, Moving(40), 500), DataError);
  EXPECT_THROW(Sheet(Path("none.png"), source, Moving(40), -1, 0, 2), ConfigError);
  EXPECT_FALSE(std::filesystem::exists(Path("far.png")));
  // More pictures than frames: the rest stays empty.
  Sheet(Path("end.png"), source, Moving(40), 39, 4, 3);
  EXPECT_TRUE(std::filesystem::exists(Path("end.png")));
}

TEST(DrawTest, EveryCharacterLooksDifferent) {
  std::set<std::vector<std::uint8_t>> seen;
  for (char c = '!'; c <= '~'; ++c) {
    ColorImage image = tracking::MakeColor(24, 32, {0, 0, 0});
    tracking::DrawText(&image, {4, 4}, std::string(1, c), 18, {255, 255, 255}, false);
    // Capital O and zero share their strokes.
    if (c != 'O') {
      EXPECT_TRUE(seen.insert(image.rgb).second) << c;
    }
    EXPECT_GT(*std::max_element(image.rgb.begin(), image.rgb.end()), 200) << c;
  }
  EXPECT_EQ(tracking::TextWidth("\xC3\xA9", 12), tracking::TextWidth("e", 12))
      << "a letter of two bytes";
}

TEST(DrawTest, StrokesHaveTheirWidthAndStayInside) {
  ColorImage image = tracking::MakeColor(50, 40, {0, 0, 0});
  tracking::DrawPaths(&image, {{{-1e6, 20}, {1e6, 20}}}, {{255, 0, 0}, 3, 1, 0});
  double sum = 0;
  for (int y = 0; y < 40; ++y) sum += At(image, 25, y).r / 255.0;
  EXPECT_NEAR(sum, 3, 0.05);
  tracking::DrawPaths(&image, {{{100, 100}, {200, 200}}, {{std::nan(""), 0}}}, {});
  tracking::FillBox(&image, -10, -10, 5, 5, {0, 0, 255}, 1);
  EXPECT_EQ(At(image, 5, 5).b, 255);
  EXPECT_EQ(At(image, 6, 6).b, 0);
  // A dash and a gap of the same length.
  ColorImage dashed = tracking::MakeColor(400, 9, {0, 0, 0});
  tracking::DrawPaths(&dashed, {{{0, 4}, {399, 4}}}, {{255, 255, 255}, 1, 1, 10});
  double on = 0;
  for (int x = 0; x < 400; ++x) on += At(dashed, x, 4).g > 127;
  EXPECT_NEAR(on / 400, 0.5, 0.06);
}

}  // namespace
}  // namespace impactlab
