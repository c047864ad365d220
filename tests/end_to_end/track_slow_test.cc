// `impactlab track` the way a user runs it: videos of known truth in, tracks.csv out.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "data/files/table.h"
#include "tests/support/html.h"
#include "tests/support/process.h"
#include "tracking/track/tracks.h"

namespace impactlab {
namespace {

using test::ReadText;
using test::RunProgram;
using test::WriteText;
using ::testing::HasSubstr;

// Two short drops before two cameras, drawn once by the program itself.
class Track : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new test::ScratchFolder("track");
    const std::string sample = std::string(IMPACTLAB_SOURCE_DIR) + "/data/sample/video/";
    const auto result =
        RunProgram({"synth", sample + "scene.yaml", "--out", (folder->path() / "in").string()},
                   folder->path());
    ASSERT_EQ(result.code, 0) << result.err;
  }
  static void TearDownTestSuite() {
    delete folder;
    folder = nullptr;
  }
  static std::filesystem::path In(const std::string& name) { return folder->path() / "in" / name; }
  std::filesystem::path Out(const std::string& name) const { return scratch_.path() / name; }
  test::ProcessResult Run(const std::filesystem::path& file, std::vector<std::string> more = {},
                          const std::string& prefix = "") const {
    std::vector<std::string> arguments = {"track", file, "--out", Out("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(arguments, scratch_.path(), prefix);
  }
  // The tracking file the program wrote, with a change, beside the videos.
  std::filesystem::path Changed(const std::string& from, const std::string& to) const {
    std::string text = ReadText(In("tracking.yaml"));
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << "\n" << text;
    text.replace(at, from.size(), to);
    auto path = In(std::string("changed_") +
                   ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml");
    WriteText(path, text);
    return path;
  }

  static test::ScratchFolder* folder;
  test::ScratchFolder scratch_{std::string("track ") +
                               ::testing::UnitTest::GetInstance()->current_test_info()->name()};
};
test::ScratchFolder* Track::folder = nullptr;

TEST_F(Track, FollowsEveryMarkerAndNamesItInSpace) {
  const auto result = Run(In("tracking.yaml"), {"--overlay", Out("seen.mp4")});
  ASSERT_EQ(result.code, 0) << result.err;
  // Nothing but progress, which a slow machine shows.
  EXPECT_EQ(std::regex_replace(result.err, std::regex("tracking: [^\n]*\n"), ""), "");
  const std::vector<MarkerTracks> found = ReadTracks(Out("out/tracks.csv"));
  const Table truth =
      ReadCsv(In("truth_tracks.csv"),
              {.text_columns = {"recording", "camera", "marker"}, .is_text = nullptr});
  std::map<std::tuple<std::string, std::string, std::string, long long>, std::size_t> rows;
  for (std::size_t k = 0; k < truth.n_rows(); ++k)
    rows[{truth.TextColumn("recording")[k], truth.TextColumn("camera")[k],
          truth.TextColumn("marker")[k], std::llround(truth.Column("frame")[k])}] = k;
  ASSERT_EQ(found.size(), 2u);
  for (const MarkerTracks& tracks : found) {
    EXPECT_EQ(std::set<std::string>(tracks.markers.begin(), tracks.markers.end()),
              (std::set<std::string>{"a", "b", "c"}));
    long long measured = 0, wrong = 0;
    double worst_t = 0;
    for (const TrackPoint& point : tracks.points) {
      if ((point.flags & kPredicted) != 0) continue;
      const auto same =
          rows.find({tracks.recording, tracks.cameras[static_cast<std::size_t>(point.camera)],
                     tracks.markers[static_cast<std::size_t>(point.marker)], point.frame});
      ASSERT_NE(same, rows.end()) << point.frame;
      ++measured;
      const Eigen::Vector2d q(truth.Column("centroid_x_px")[same->second],
                              truth.Column("centroid_y_px")[same->second]);
      // of the largest image: what is seen of a marker lies inside of it [px]
      constexpr double kRadius = 13;
      wrong += !((q - point.q).norm() < kRadius);
      worst_t = std::max(worst_t, std::abs(truth.Column("t_s")[same->second] - point.t));
    }
    EXPECT_EQ(wrong, 0);
    EXPECT_GT(measured, 300);
    // Clocks that were started apart agree as far as a flash between two exposures of 1 ms can
    // tell.
    EXPECT_LT(worst_t, 0.0042);
  }
  const auto json = nlohmann::json::parse(ReadText(Out("out/tracking.json")));
  for (const auto& recording : json["recordings"]) {
    EXPECT_TRUE(recording["identity"]["usable"].get<bool>()) << recording["identity"].dump(1);
    EXPECT_TRUE(recording["clocks"][1]["usable"].get<bool>()) << recording["clocks"].dump(1);
  }
  EXPECT_EQ(test::HtmlFault(ReadText(Out("out/tracking.html"))), "");
  EXPECT_TRUE(std::filesystem::exists(Out("out/sheets/drop_0001_left.png")));
  EXPECT_TRUE(std::filesystem::exists(Out("seen_drop_0002_right.mp4")));
  EXPECT_THAT(result.out, HasSubstr("drop_0002"));
  // The run can be repeated from what it wrote, to the same bytes.
  const std::string first = ReadText(Out("out/tracks.csv"));
  const auto again = RunProgram(
      {"track", Out("out/run.yaml"), "--out", Out("again"), "--no-sheets"}, scratch_.path());
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(ReadText(Out("again/tracks.csv")), first);
}

TEST_F(Track, ABadRecordingIsARowWithItsReason) {
  // One video is missing, another cut in the middle.
  std::string whole = ReadText(In("drop_0002_left.mp4"));
  std::ofstream(In("cut.mp4"), std::ios::binary) << whole.substr(0, whole.size() / 2);
  const auto file = Changed("drop_0001_left.mp4", "absent.mp4");
  std::string text = ReadText(file);
  text.replace(text.find("drop_0002_left.mp4"), std::string("drop_0002_left.mp4").size(),
               "cut.mp4");
  WriteText(file, text);
  const auto result = Run(file, {"--no-sheets", "--no-report"});
  ASSERT_EQ(result.code, 0) << result.err;
  const auto json = nlohmann::json::parse(ReadText(Out("out/tracking.json")));
  EXPECT_THAT(json["recordings"][0]["cameras"][0]["failure"].get<std::string>(),
              HasSubstr("absent.mp4"));
  EXPECT_EQ(json["recordings"][0]["cameras"][1]["failure"], "");
  const auto& cut = json["recordings"][1]["cameras"][0];
  EXPECT_TRUE(cut["broke"] != "" || cut["failure"] != "") << cut.dump(1);
  EXPECT_EQ(ReadTracks(Out("out/tracks.csv")).size(), 2u);
}

TEST_F(Track, NothingUsableKeepsTheLastGoodTracks) {
  ASSERT_EQ(Run(In("tracking.yaml"), {"--no-sheets"}).code, 0);
  const std::string before = ReadText(Out("out/tracks.csv"));
  const auto file = Changed("look: bright", "look: bright\n  area_px2: [19000, 20000]");
  const auto result = Run(file, {"--no-sheets"});
  EXPECT_EQ(result.code, 3);
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_EQ(ReadText(Out("out/tracks.csv")), before);
}

TEST_F(Track, MistakesInTheFileAreNamed) {
  const auto expect = [&](const std::string& from, const std::string& to,
                          const std::string& words) {
    const auto result = Run(Changed(from, to));
    EXPECT_EQ(result.code, 2) << to << "\n" << result.err;
    EXPECT_THAT(result.err, HasSubstr(words));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  };
  expect("look: bright", "look: shiny", "bright");
  expect("look: bright", "lok: bright", "look");
  expect("names: [\"a\", \"b\", \"c\"]", "names: [a, b, b]", "twice");
  expect("names: [\"a\", \"b\", \"c\"]", "names: [a, b]", "layout_m");
  expect("rig: rig.yaml", "rig: other.yaml", "other.yaml");
  expect("schema: impactlab.tracking/1", "schema: impactlab.tracking/7", "impactlab.tracking/1");
  // A middle marker half way makes the ends the same.
  std::string text = ReadText(In("tracking.yaml"));
  const auto at = text.find("layout_m:");
  ASSERT_NE(at, std::string::npos);
  const std::string block = text.substr(at, text.find("recordings:") - at);
  expect(block, "layout_m: [[0, 0, -0.1], [0, 0, 0], [0, 0, 0.1]]\n", "told apart");
}

TEST_F(Track, CorrectionsByHandOverride) {
  WriteText(In("corrections.csv"),
            "recording,camera,marker,frame,action,x_px,y_px,sd_px,to_marker,note\n"
            "drop_0001,left,a,12,move,100,200,0.3,,seen by eye\n"
            "drop_0001,left,b,13,delete,,,,,reflection\n");
  const auto result = Run(Changed("schema:", "corrections: corrections.csv\nschema:"),
                          {"--no-sheets", "--no-report"});
  ASSERT_EQ(result.code, 0) << result.err;
  const MarkerTracks tracks = ReadTracks(Out("out/tracks.csv")).front();
  const auto find = [&](int marker, long long frame) {
    return std::find_if(tracks.points.begin(), tracks.points.end(), [&](const TrackPoint& p) {
      return p.camera == 0 && p.marker == marker && p.frame == frame;
    });
  };
  const auto moved = find(0, 12);
  ASSERT_NE(moved, tracks.points.end());
  EXPECT_EQ(moved->q, Eigen::Vector2d(100, 200));
  EXPECT_NEAR(moved->cov(0, 0), 0.09, 1e-12);
  EXPECT_NE(moved->flags & kManual, 0u);
  // What was deleted is a gap, and gaps are bridged and marked.
  const auto deleted = find(1, 13);
  EXPECT_TRUE(deleted == tracks.points.end() || (deleted->flags & kPredicted) != 0);
}

TEST_F(Track, TracksOfOtherProgramsComeIn) {
  WriteText(
      Out("xypts.csv"),
      "pt1_cam1_X,pt1_cam1_Y,pt1_cam2_X,pt1_cam2_Y\n10,20,30,40\nNaN,NaN,31,41\n12,22,32,42\n");
  const auto result = RunProgram({"import", Out("xypts.csv"), "--height-px", "480", "--rate-hz",
                                  "120", "--out", Out("tracks.csv")},
                                 scratch_.path());
  ASSERT_EQ(result.code, 0) << result.err;
  const auto tracks = ReadTracks(Out("tracks.csv"));
  ASSERT_EQ(tracks.size(), 1u);
  EXPECT_EQ(tracks[0].points.size(), 5u);
  EXPECT_EQ(tracks[0].points[0].q, Eigen::Vector2d(9, 460));
  const auto lost = RunProgram({"import", Out("xypts.csv"), "--rate-hz", "120"}, scratch_.path());
  EXPECT_EQ(lost.code, 2);
  EXPECT_THAT(lost.err, HasSubstr("height"));
}

}  // namespace
}  // namespace impactlab
