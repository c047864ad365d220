// Tracking files: what they mean, what is refused, and that a plan reads back from its own text.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "data/base/error.h"
#include "pipelines/track/detail/load_or_track.h"
#include "pipelines/track/track.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;

class TrackConfigTest : public ::testing::Test {
 protected:
  std::filesystem::path Write(const std::string& text) const {
    auto path = folder_ / "tracking.yaml";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string Refusal(const std::string& text) const {
    try {
      LoadTracking(Write(text));
    } catch (const ConfigError& error) {
      return error.what();
    } catch (const DataError& error) {
      return error.what();
    }
    return "accepted";
  }
  test::TemporaryFolder folder_;
};

constexpr const char* kFull = R"(schema: impactlab.tracking/1
name: all keys
cameras:
  - {name: left, exposure_s: 0.002, rate_Hz: 240, t_line_s: 1.0e-5, shift_s: 0.5, clock_rate: 1.0001, fields: whole, gamma: 2.2, levels: [64, 4095]}
  - {name: right, color_rgb: [255, 120, 0], linear: true, fields: refuse}
markers:
  look: dark
  shape: stripe
  names: [a, b, c]
  layout_m: [[0, 0, -0.1], [0, 0, 0.05], [0, 0.01, 0.1]]
  layout_sd_m: 0.001
  radius_m: [0.004, 0.005, 0.006]
  normals: [[0, 0, 0], [0, 0, 2], [1, 0, 0]]
  threshold_grey: 90
  local_px: 31
  area_px2: [10, 900]
  refine: false
  blur_px: 0.9
  background: median
tracker: {gate: 4, gap_max_frames: 12, confirm_frames: 5, position_floor_px: 0.1, speed_sd_px_per_s: 100, acceleration_sd_px_per_s2: 2000, jump_speed_px_per_s: 300}
frames: {first: 3, last: 80}
hints: [{camera: right, marker: b, frame: 4, x_px: 10.5, y_px: 20}]
recordings:
  - {name: one, files: {left: one_left.mp4, right: [p1.png, p2.png]}, stamps: {right: stamps.csv}}
  - {name: two, files: {left: two_left.mp4}}
synchronise: {method: given, shift_s: [0, 0.25], clock_rate: [1, 1.0002]}
corrections: hand.csv
identity: {pixel_sd_px: 0.5}
)";

TEST_F(TrackConfigTest, EveryKeyIsReadAndReadsBack) {
  const TrackConfig plan = LoadTracking(Write(kFull));
  EXPECT_EQ(plan.name, "all keys");
  ASSERT_EQ(plan.cameras.size(), 2u);
  const FrameSource& left = plan.cameras[0].source;
  EXPECT_EQ(plan.cameras[0].exposure, 0.002);
  EXPECT_EQ(left.rate, 240);
  EXPECT_EQ(left.t_line, 1e-5);
  EXPECT_EQ(left.t_shift, 0) << "the given synchronisation stands";
  EXPECT_EQ(left.decode.fields, VideoOptions::Fields::kWhole);
  EXPECT_EQ(left.decode.white_level, 4095);
  EXPECT_TRUE(left.decode.linear);
  EXPECT_EQ(plan.cameras[1].source.t_shift, 0.25);
  EXPECT_EQ((*plan.cameras[1].source.decode.color)[1], 120);
  EXPECT_TRUE(plan.track.spots.dark);
  ASSERT_EQ(plan.markers.size(), 3u);
  EXPECT_EQ(plan.markers[2].p_BM, plan.track.layout[2]);
  EXPECT_EQ(plan.markers[1].radius, 0.005);
  EXPECT_TRUE(plan.markers[0].normal_B.isZero(0));
  EXPECT_EQ(plan.markers[1].normal_B, Eigen::Vector3d(0, 0, 1)) << "a direction";
  EXPECT_EQ(plan.track.shape, MarkerShape::kStripe);
  EXPECT_EQ(plan.track.spots.threshold, 90);
  EXPECT_EQ(plan.track.spots.area_max, 900);
  EXPECT_FALSE(plan.track.refine);
  EXPECT_TRUE(plan.track.subtract_background);
  EXPECT_EQ(plan.track.tracker.gap_max, 12);
  EXPECT_EQ(plan.track.tracker.markers, 3);
  EXPECT_EQ(plan.track.first, 3);
  ASSERT_EQ(plan.hints.size(), 1u);
  EXPECT_EQ(plan.hints[0].first, 1);
  ASSERT_EQ(plan.recordings.size(), 2u);
  EXPECT_EQ(plan.recordings[0].files[1].size(), 2u);
  EXPECT_EQ(plan.recordings[0].stamps[1].filename(), "stamps.csv");
  EXPECT_TRUE(plan.recordings[1].files[1].empty());
  EXPECT_EQ(plan.identity.layout_sd, 0.001);
  EXPECT_EQ(plan.identity.pixel_sd, 0.5);
  const std::string text = ToYaml(plan);
  EXPECT_EQ(ToYaml(LoadTracking(Write(text))), text) << text;
}

TEST_F(TrackConfigTest, TagsNameTheirCorners) {
  const TrackConfig plan =
      LoadTracking(Write("cameras: [{name: c}]\nmarkers: {look: tags, names: [plate, ball], "
                         "tag_ids: [3, 8]}\nrecordings: [{name: r, files: {c: x.mp4}}]\n"));
  EXPECT_EQ(plan.track.names.size(), 8u);
  EXPECT_EQ(plan.track.names[5], "ball.2");
  EXPECT_EQ(plan.track.tag_names[1], (std::pair<int, std::string>(8, "ball")));
  const std::string text = ToYaml(plan);
  EXPECT_EQ(ToYaml(LoadTracking(Write(text))), text);
}

TEST_F(TrackConfigTest, MistakesAreNamedWithWhatIsAllowed) {
  const std::string cameras = "cameras: [{name: c}]\n",
                    recordings = "recordings: [{name: r, files: {c: x.mp4}}]\n";
  const std::string markers = "markers: {names: [a, b, c]}\n";
  EXPECT_EQ(Refusal(cameras + markers + recordings), "accepted");
  EXPECT_THAT(Refusal("cameras: [{name: c}, {name: c}]\n" + markers + recordings),
              HasSubstr("a name of its own"));
  EXPECT_THAT(Refusal("cameras: [{name: 'a/b'}]\n" + markers + recordings), HasSubstr("letters"));
  EXPECT_THAT(Refusal("cameras: [{name: c, exposure_ms: 2}]\n" + markers + recordings),
              HasSubstr("exposure_s"));
  EXPECT_THAT(Refusal("cameras: [{name: c, levels: [9, 2]}]\n" + markers + recordings),
              HasSubstr("white above black"));
  EXPECT_THAT(Refusal(cameras + "markers: {names: [unnamed_1]}\n" + recordings),
              HasSubstr("unnamed_"));
  EXPECT_THAT(
      Refusal(cameras + "markers: {names: [a], layout_m: [[0, 0, 0], [0, 0, 1]]}\n" + recordings),
      HasSubstr("2 positions"));
  EXPECT_THAT(Refusal(cameras +
                      "markers: {names: [a, b, c, d], layout_m: [[0, 0, 0], [0.1, 0, 0], [0.1, "
                      "0.1, 0], [0, 0.1, 0]]}\n" +
                      recordings),
              HasSubstr("told apart"))
      << "a square is its own turn: HOSTILE T34";
  EXPECT_THAT(Refusal(cameras + markers + "recordings: [{name: r, files: {d: x.mp4}}]\n"),
              HasSubstr("allowed c"));
  EXPECT_THAT(Refusal(cameras + markers), HasSubstr("neither recordings nor files"));
  EXPECT_THAT(Refusal(cameras + markers + "files: {c: '*.mp4'}\n"), HasSubstr("no file matches"));
  EXPECT_THAT(Refusal(cameras + markers + recordings + "hints: [{marker: z, x_px: 1, y_px: 1}]\n"),
              HasSubstr("a, b, c"));
  EXPECT_THAT(Refusal(cameras + markers + recordings + "frames: {first: 9, last: 2}\n"),
              HasSubstr("not before the first"));
  EXPECT_THAT(
      Refusal(cameras + markers + recordings + "synchronise: {method: given, shift_s: [0, 1]}\n"),
      HasSubstr("shift_s"));
  EXPECT_THAT(Refusal(cameras + markers + recordings + "rig: none.yaml\n"), HasSubstr("none.yaml"));
}

TEST_F(TrackConfigTest, PatternsPairVideosOfOneDrop) {
  for (const char* name :
       {"drop_1_L.mp4", "drop_2_L.mp4", "drop_10_L.mp4", "drop_1_R.mp4", "drop_10_R.mp4"})
    std::ofstream(folder_ / name) << "x";
  const TrackConfig plan =
      LoadTracking(Write("cameras: [{name: l}, {name: r}]\nmarkers: {names: [a]}\nfiles: {l: "
                         "'*_L.mp4', r: '*_R.mp4'}\n"));
  ASSERT_EQ(plan.recordings.size(), 3u);
  EXPECT_EQ(plan.recordings[1].name, "2");
  EXPECT_TRUE(plan.recordings[1].files[1].empty());
  EXPECT_EQ(plan.recordings[2].files[1][0].filename(), "drop_10_R.mp4");
}

TEST_F(TrackConfigTest, WhatIsReadIsNeverWrittenOver) {
  std::ofstream(folder_ / "s_r_c.mp4") << "a recording";
  const TrackConfig plan =
      LoadTracking(Write("cameras: [{name: c}]\nmarkers: {names: [a]}\nrecordings: [{name: r, "
                         "files: {c: s_r_c.mp4}}]\n"));
  TrackRunOptions options;
  options.overlay = folder_ / "s.mp4";
  EXPECT_THROW(RunTracking(plan, folder_ / "out", options, {.quiet = true}), ConfigError);
  std::string text;
  std::getline(std::ifstream(folder_ / "s_r_c.mp4"), text);
  EXPECT_EQ(text, "a recording");
}

TEST_F(TrackConfigTest, AnEmptyFolderIsARowAndNotTheEndOfTheBatch) {
  std::filesystem::create_directories(folder_ / "pictures");
  const TrackConfig plan =
      LoadTracking(Write("cameras: [{name: c}]\nmarkers: {names: [a]}\nrecordings: [{name: r, "
                         "files: {c: pictures}}]\n"));
  EXPECT_THAT(pipelines::TrackAndLook(plan, 0, {}, false, {}).known.summary.failure,
              HasSubstr("pictures"));
}

}  // namespace
}  // namespace impactlab
