// The verb that takes tracks of other programs: names of recordings, corrections by hand.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/base/error.h"
#include "pipelines/cli/commands.h"
#include "tests/support/process.h"
#include "tracking/track/tracks.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ImportCommandTest : public ::testing::Test {
 protected:
  ImportCommandTest() {
    arguments_.out = In("tracks.csv");
    const char* const folders[] = {"a", "b", "c"};
    for (int k = 0; k < 3; ++k)
      test::WriteText(In(std::string(folders[k]) + "/tab.csv"),
                      "frame,t_s,marker,x_px,y_px\n3,0.5,m," + std::to_string(10 * k + 12) +
                          ",2\n4,0.625,m,3,4\n4,0.625,n,5,6\n");
  }
  std::filesystem::path In(const std::string& name) const { return scratch_.path() / name; }
  std::string Import(const std::vector<std::string>& files) {
    arguments_.files.clear();
    for (const std::string& file : files) arguments_.files.push_back(In(file));
    ::testing::internal::CaptureStdout();
    try {
      ImportCommand(arguments_);
    } catch (const DataError& error) {
      return ::testing::internal::GetCapturedStdout() + error.what();
    }
    return ::testing::internal::GetCapturedStdout();
  }
  void Correct(const std::string& rows) {
    arguments_.corrections = In("corrections.csv");
    test::WriteText(arguments_.corrections,
                    "recording,camera,marker,frame,action,x_px,y_px,sd_px,to_marker,note\n" + rows);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const MarkerTracks& tracks : ReadTracks(arguments_.out)) names.push_back(tracks.recording);
    return names;
  }
  test::ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
  ImportArguments arguments_;
};

TEST_F(ImportCommandTest, FilesOfOneStemAreToldApart) {
  const std::string said = Import({"a/tab.csv", "b/tab.csv", "c/tab.csv"});
  EXPECT_EQ(Names(), (std::vector<std::string>{"tab", "tab~2", "tab~3"}));
  EXPECT_THAT(said, HasSubstr("named 'tab~2', as there is a recording 'tab' before it"));
  EXPECT_THAT(said, HasSubstr("'tab~3'"));
  const auto tracks = ReadTracks(arguments_.out);
  for (int k = 0; k < 3; ++k)
    EXPECT_EQ(tracks[static_cast<std::size_t>(k)].points[0].q.x(), 10 * (k + 1) + 2)
        << "in the order of the files";
  EXPECT_THAT(Import({"a/tab.csv"}), Not(HasSubstr("named")));
  // A name that looks like one of ours may be taken.
  std::filesystem::copy_file(In("a/tab.csv"), In("tab~2.csv"));
  Import({"tab~2.csv", "a/tab.csv", "b/tab.csv"});
  EXPECT_EQ(Names(), (std::vector<std::string>{"tab~2", "tab", "tab~3"}));
  // Own files bring names with them.
  std::filesystem::rename(In("tracks.csv"), In("first.csv"));
  Import({"a/tab.csv"});
  std::filesystem::rename(In("tracks.csv"), In("own.csv"));
  Import({"own.csv", "own.csv"});
  EXPECT_EQ(Names(), (std::vector<std::string>{"tab", "tab~2"}));
}

TEST_F(ImportCommandTest, CorrectionsGoByTheNewNames) {
  Correct("tab~2,camera_1,n,3,add,7,8,,,\nzzz,camera_1,n,3,delete,,,,,\n");
  const std::string said = Import({"a/tab.csv", "b/tab.csv"});
  const auto tracks = ReadTracks(arguments_.out);
  EXPECT_EQ(tracks.at(0).points.size(), 3U);
  ASSERT_EQ(tracks.at(1).points.size(), 4U);
  EXPECT_EQ(tracks[1].points[2].q, Eigen::Vector2d(7, 8));
  EXPECT_EQ(tracks[1].points[2].t, 0.5) << "that of its frame";
  EXPECT_THAT(said, HasSubstr("1 corrected by hand"));
  EXPECT_THAT(said, HasSubstr("corrections passed over, of recordings not here: 'zzz'"));
}

TEST_F(ImportCommandTest, FramesWithoutAPoint) {
  Correct("tab,camera_1,m,6,add,7,8,,,\n");
  EXPECT_THAT(Import({"a/tab.csv"}), HasSubstr("row 2, column frame: found 6, allowed a frame of "
                                               "the recording whose time is known; camera "
                                               "camera_1 has points in frames 3 to 4"));
  EXPECT_FALSE(std::filesystem::exists(arguments_.out));
  // Counted from the nearest frame, whose time need not be its number by the rate.
  arguments_.rate = 8;
  Import({"a/tab.csv"});
  const auto tracks = ReadTracks(arguments_.out);
  ASSERT_EQ(tracks.at(0).points.size(), 4U);
  EXPECT_EQ(tracks[0].points[2].frame, 6);
  EXPECT_DOUBLE_EQ(tracks[0].points[2].t, 0.625 + 2 / 8.0);
}

}  // namespace
}  // namespace impactlab
