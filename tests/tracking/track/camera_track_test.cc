#include "tracking/track/camera_track.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include "tests/support/discs.h"
#include "tests/support/folder.h"
#include "tests/support/tag_pictures.h"
#include "tracking/video/writer.h"

namespace impactlab {
namespace {

constexpr int kWidth = 320, kHeight = 240, kFrames = 40;
constexpr double kRate = 200, kExposure = 1e-3, kBlur = 0.9;

// Two discs in flight, which bounce in frame 20, and one that stands still.
Eigen::Vector2d Place(int marker, double t) {
  constexpr double kBounce = 20.4 / kRate;
  const double u = t - kBounce;
  if (marker == 2) return {40.3, 200.6};
  const Eigen::Vector2d at =
      marker == 0 ? Eigen::Vector2d(150.2, 180.4) : Eigen::Vector2d(210.7, 170.1);
  const Eigen::Vector2d v = u < 0 ? Eigen::Vector2d(marker == 0 ? 120 : 60, 900)
                                  : Eigen::Vector2d(marker == 0 ? 60 : 200, -500);
  return at + v * u + 0.5 * u * u * Eigen::Vector2d(0, 3000);
}

class CameraTrackTest : public ::testing::Test {
 protected:
  // Grey levels run from `ground` by the amplitude of the discs.
  std::filesystem::path Draw(double ground, double amplitude, const std::string& name = "clip.mp4",
                             const VideoWriterOptions& video = {}) const {
    auto path = folder_ / name;
    VideoWriter writer(path, kWidth, kHeight, video);
    std::mt19937_64 rng(7);
    for (int k = 0; k < kFrames; ++k) {
      std::vector<double> picture(static_cast<std::size_t>(kWidth) * kHeight, ground);
      for (int m = 0; m < 3; ++m) {
        const double t = k / kRate;
        const Eigen::Vector2d motion =
            Place(m, t + 0.5 * kExposure) - Place(m, t - 0.5 * kExposure);
        test::AddDisc({Place(m, t), 6, amplitude, kBlur, motion}, kWidth, kHeight, &picture);
      }
      writer.Write(test::Expose(picture, kWidth, kHeight, 2, rng), k / kRate);
    }
    writer.Finish();
    return path;
  }
  static CameraTrackOptions Options() {
    CameraTrackOptions o;
    o.exposure = kExposure;
    o.names = {"a", "b"};
    o.hints = {{"a", 0, Place(0, 0)}, {"b", 0, Place(1, 0)}};
    o.tracker.markers = 2;
    return o;
  }
  static FrameSource Source(const std::filesystem::path& path) {
    FrameSource source;
    source.video = path;
    return source;
  }

  test::TemporaryFolder folder_;
};

TEST_F(CameraTrackTest, PositionsBlurNamesAndImpact) {
  for (const bool dark : {false, true}) {
    CameraTrackOptions options = Options();
    options.spots.dark = dark;
    const CameraTrackResult result =
        TrackCamera(Source(dark ? Draw(200, -150) : Draw(40, 150)), options);
    EXPECT_EQ(result.frames, kFrames);
    EXPECT_EQ(result.broke, "");
    EXPECT_NEAR(result.blur, kBlur, 0.1);
    EXPECT_NEAR(result.noise.read, 2, 0.3);
    ASSERT_GE(result.markers.size(), 3u);
    EXPECT_EQ(result.markers[0], "a");
    EXPECT_EQ(result.still[0], 0);
    EXPECT_EQ(result.still[2], 1) << "the disc that stands still has no name";
    int measured[2] = {0, 0};
    double chi2 = 0;
    int n = 0, impacts = 0;
    for (const TrackPoint& p : result.points) {
      if (p.marker > 1) continue;
      const Eigen::Vector2d error = p.q - Place(p.marker, static_cast<double>(p.frame) / kRate);
      impacts += (p.flags & kImpact) != 0;
      if ((p.flags & kPredicted) != 0) continue;
      ++measured[p.marker];
      EXPECT_LT(error.norm(), 0.15) << p.frame;
      // In the frame of the bounce two motions share an exposure.
      if (p.frame != 20 && p.frame != 21) chi2 += error.dot(p.cov.inverse() * error), n += 2;
    }
    EXPECT_GE(measured[0], kFrames - 1);
    EXPECT_GE(measured[1], kFrames - 1);
    EXPECT_EQ(impacts, 2);
    // Noise makes 0.006 px of these discs, and 0.01 px of model error are counted besides.
    EXPECT_GT(chi2 / n, 0.15);
    EXPECT_LT(chi2 / n, 1.4);
  }
}

TEST_F(CameraTrackTest, WhatACoderDoesToMarkersIsLearned) {
  VideoWriterOptions lossy;
  lossy.codec = VideoWriterOptions::Codec::kH264;
  lossy.quality = 24;
  EXPECT_EQ(TrackCamera(Source(Draw(40, 150)), Options()).coder, 0);
  const CameraTrackResult result =
      TrackCamera(Source(Draw(40, 150, "lossy.mp4", lossy)), Options());
  EXPECT_GT(result.coder, 2 * result.noise.read)
      << "the frame as a whole looks cleaner than its markers are";
  EXPECT_LT(result.coder, 10);
  double chi2 = 0;
  int n = 0, flagged = 0;
  for (const TrackPoint& p : result.points) {
    if (p.marker > 1 || (p.flags & kPredicted) != 0) continue;
    flagged += (p.flags & (kHidden | kTouching | kRough | kFaint)) != 0;
    if (p.frame == 20 || p.frame == 21) continue;
    const Eigen::Vector2d error = p.q - Place(p.marker, static_cast<double>(p.frame) / kRate);
    EXPECT_LT(error.norm(), 0.4) << p.frame;
    chi2 += error.dot(p.cov.inverse() * error), n += 2;
  }
  EXPECT_GE(n, 2 * 2 * (kFrames - 5));
  EXPECT_LE(flagged, 2);
  EXPECT_GT(chi2 / n, 0.3);
  EXPECT_LT(chi2 / n, 2);
}

TEST_F(CameraTrackTest, ARangeOfFramesAndStopping) {
  CameraTrackOptions options = Options();
  options.hints.clear();
  options.first = 5;
  options.last = 14;
  const auto path = Draw(40, 150);
  const CameraTrackResult result = TrackCamera(Source(path), options);
  EXPECT_EQ(result.frames, 10);
  EXPECT_EQ(result.index.front(), 5);
  EXPECT_EQ(result.index.back(), 14);
  for (const TrackPoint& p : result.points) EXPECT_TRUE(p.frame >= 5 && p.frame <= 14);
  struct Stop {};
  options.progress = [](long long frame) {
    if (frame == 9) throw Stop();
  };
  EXPECT_THROW(TrackCamera(Source(path), options), Stop);
}

TEST_F(CameraTrackTest, ACutFileGivesItsGoodFramesAndSaysWhereItBroke) {
  const auto path = Draw(40, 150, "whole.mkv");
  std::ifstream in(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  std::ofstream(folder_ / "cut.mkv", std::ios::binary) << whole.substr(0, whole.size() * 6 / 10);
  const CameraTrackResult result = TrackCamera(Source(folder_ / "cut.mkv"), Options());
  EXPECT_GT(result.frames, 10);
  EXPECT_LT(result.frames, kFrames);
  EXPECT_THAT(result.broke, ::testing::HasSubstr("cut.mkv"));
  EXPECT_GT(std::count_if(result.points.begin(), result.points.end(),
                          [](const TrackPoint& p) { return p.marker == 0; }),
            10);
}

TEST_F(CameraTrackTest, RowsOfARollingShutterHaveTheirOwnTimes) {
  FrameSource source = Source(Draw(40, 150));
  source.t_line = 2e-5;
  source.t_shift = 1.5;
  const CameraTrackResult result = TrackCamera(source, Options());
  for (const TrackPoint& p : result.points) {
    if ((p.flags & kPredicted) != 0) continue;
    EXPECT_NEAR(p.t, 1.5 + static_cast<double>(p.frame) / kRate + 2e-5 * p.q.y(), 1e-9);
  }
}

TEST_F(CameraTrackTest, StillClutterLeavesWithTheBackground) {
  CameraTrackOptions options = Options();
  options.subtract_background = true;
  const CameraTrackResult result = TrackCamera(Source(Draw(40, 150)), options);
  for (const TrackPoint& p : result.points) EXPECT_GT((p.q - Place(2, 0)).norm(), 20) << p.frame;
  EXPECT_GT(std::count_if(result.points.begin(), result.points.end(),
                          [](const TrackPoint& p) { return p.marker == 0; }),
            kFrames - 3);
}

TEST_F(CameraTrackTest, TagsBringTheirNames) {
  std::mt19937_64 rng(3);
  std::vector<std::array<Eigen::Vector2d, 4>> truth;
  VideoWriter writer(folder_ / "tags.mp4", 160, 120, {});
  for (int k = 0; k < 12; ++k) {
    test::Canvas canvas(160, 120);
    const test::Map map = test::Place(test::kAruco1, 60 + 3 * k, 55 + k, 9, 0.1 * k, 0.05);
    canvas.Draw(test::kAruco1, map);
    truth.push_back(test::TrueCorners(test::kAruco1, map));
    writer.Write(canvas.Expose(0.7, 1, 0, rng), k / 100.0);
  }
  writer.Finish();
  CameraTrackOptions options;
  options.tags = options.tag_corners = true;
  options.tag_names = {{test::kAruco1.id, "plate"}, {7, "absent"}};
  for (const char* name : {"plate", "absent"})
    for (int k = 1; k <= 4; ++k)
      options.names.push_back(std::string(name) + "." + std::to_string(k));
  const CameraTrackResult result = TrackCamera(Source(folder_ / "tags.mp4"), options);
  std::map<int, int> seen;
  for (const TrackPoint& p : result.points) {
    ASSERT_LT(p.marker, 4);
    ++seen[p.marker];
    EXPECT_LT(
        (p.q - truth[static_cast<std::size_t>(p.frame)][static_cast<std::size_t>(p.marker)]).norm(),
        0.2);
  }
  for (int m = 0; m < 4; ++m) EXPECT_EQ(seen[m], 12);
}

}  // namespace
}  // namespace impactlab
