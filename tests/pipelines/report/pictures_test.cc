// Frames of the videos in the report: which of them, where their marks are, and when.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pipelines/report/detail/overview.h"
#include "pipelines/report/detail/split.h"
#include "pipelines/report/parts.h"
#include "tests/support/folder.h"
#include "tests/support/pictured_run.h"

namespace impactlab::pipelines {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class ReportPictures : public ::testing::Test {
 protected:
  test::TemporaryFolder folder_;
};

TEST_F(ReportPictures, MarksStandWhereTheFitAndTheTracksSay) {
  const RunResult run = testing::PicturedRun({.recordings = 3}, 2, folder_.path());
  const ReportContext context = MakeContext(run, true);
  const std::vector<std::string> lists = MakePictures(context);
  ASSERT_EQ(lists.size(), 3u);
  EXPECT_EQ(lists[2], "");
  const json both = json::parse(lists[1]);
  ASSERT_EQ(both.size(), 2u);
  EXPECT_EQ(both[0]["camera"], "left");
  EXPECT_EQ(both[1]["camera"], "right");
  const KeptFrames kept = ReadKeptFrames(run.markers()->frames / (run.poses(1).name + "_left"));
  ASSERT_EQ(both[0]["frames"].size(), 21u);
  const double impact = context.best.motion[1].events.front().t;
  for (std::size_t k = 0; k < 21; ++k) {
    const json& frame = both[0]["frames"][k];
    EXPECT_EQ(frame[0], k);
    EXPECT_NEAR(frame[1], impact - 0.05 + 0.005 * static_cast<double>(k), 1e-6);
    ASSERT_EQ(frame[2].size(), 1u);
    const json& mark = frame[2][0];
    const Eigen::Vector2d found = kept.At(kept.frames[k], {100.0 + static_cast<double>(k), 80}),
                          fitted = kept.At(kept.frames[k], {101.0 + static_cast<double>(k), 82});
    EXPECT_NEAR(mark[1], found.x(), 0.01);
    EXPECT_NEAR(mark[2], found.y(), 0.01);
    ASSERT_EQ(mark.size(), k < 15 ? 6u : 3u) << "the fit ends at frame 15";
    if (k >= 15) continue;
    EXPECT_NEAR(mark[3], fitted.x(), 0.01);
    EXPECT_NEAR(mark[4], fitted.y(), 0.01);
    EXPECT_NEAR(mark[5], std::sqrt(5), 0.05);
  }
}

TEST_F(ReportPictures, ClockOfTheCorrectionIsThatOfTheReplay) {
  RunResult run = testing::PicturedRun({.recordings = 1}, 1, folder_.path());
  const json before = json::parse(MakePictures(MakeContext(run, true))[0]);
  run.corrected.correction.clock_rate = 2;
  const json after = json::parse(MakePictures(MakeContext(run, true))[0]);
  EXPECT_NEAR(after[0]["frames"][7][1], before[0]["frames"][7][1].get<double>() / 2, 1e-6);
}

TEST_F(ReportPictures, OneCameraOfEveryRecordingComesFirstWithinTheBudget) {
  const RunResult run = testing::PicturedRun({.recordings = 4}, 4, folder_.path());
  const ReportContext context = MakeContext(run, true);
  std::vector<std::size_t> whole;
  for (const std::string& list : MakePictures(context)) whole.push_back(list.size());
  const auto counts = [&](std::size_t bytes) {
    std::vector<std::size_t> out;
    std::size_t all = 0;
    for (const std::string& list : MakePictures(context, bytes)) {
      out.push_back(list.empty() ? 0 : json::parse(list).size());
      all += list.size();
    }
    EXPECT_LE(all, bytes + 10 * run.n_recordings());
    return out;
  };
  const std::size_t one = whole[0] / 2;
  EXPECT_THAT(counts(10 * whole[0]), ::testing::ElementsAre(2, 2, 2, 2));
  EXPECT_THAT(counts(5 * one + one / 2), ::testing::ElementsAre(2, 1, 1, 1));
  EXPECT_THAT(counts(2 * one + one / 2), ::testing::ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(counts(0), ::testing::ElementsAre(0, 0, 0, 0));
}

TEST_F(ReportPictures, AreInTheDataOfTheirRecordingAndAreExplained) {
  const RunResult run = testing::PicturedRun({.recordings = 6}, 2, folder_.path());
  const ReportContext context = MakeContext(run, true);
  const PageData whole = SplitPage(context, {}, "parts", 1'000'000'000);
  EXPECT_EQ(whole.pictured, 2u);
  const json recordings = json::parse(whole.recordings);
  EXPECT_TRUE(recordings[0].contains("pictures"));
  EXPECT_FALSE(recordings[2].contains("pictures"));
  const PageData apart = SplitPage(context, {}, "parts", 1000);
  EXPECT_THAT(apart.recordings, Not(HasSubstr("jpeg")));
  EXPECT_THAT(apart.parts.front().second, HasSubstr("\"pictures\":[{"));
  EXPECT_THAT(ReplaySection(context, 2).html, HasSubstr("2 of 6 recordings have pictures"));
  EXPECT_THAT(ReplaySection(context, 0).html, Not(HasSubstr("cameras saw")));
  // A run from poses says nothing of pictures it never had.
  const RunResult poses = testing::FabricatedRun({.recordings = 6});
  EXPECT_TRUE(MakePictures(MakeContext(poses, true)).empty());
}

TEST_F(ReportPictures, BrokenFilesAreLeftOut) {
  const RunResult run = testing::PicturedRun({.recordings = 2}, 2, folder_.path());
  std::filesystem::resize_file(run.markers()->frames / (run.poses(0).name + "_left.json"), 40);
  std::filesystem::remove(run.markers()->frames / (run.poses(0).name + "_right.jpg"));
  const std::vector<std::string> lists = MakePictures(MakeContext(run, true));
  EXPECT_EQ(lists[0], "");
  EXPECT_EQ(json::parse(lists[1]).size(), 2u);
}

}  // namespace
}  // namespace impactlab::pipelines
