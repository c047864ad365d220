// `impactlab doctor` the way a user calls it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/process.h"
#include "tests/tracking/doctor_scene.h"
#include "tracking/video/video.h"

namespace impactlab::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class DoctorVerb : public ::testing::Test {
 protected:
  std::filesystem::path File(const std::string& name) const { return scratch_.path() / name; }
  ProcessResult Run(std::vector<std::string> more) const {
    more.insert(more.begin(), "doctor");
    return RunProgram(more, scratch_.path());
  }
  std::string Healthy(const std::string& name) const {
    return WriteScene(File(name), {}, Range(0, 40));
  }
  std::string Repeating(const std::string& name) const {
    std::vector<int> order = Range(0, 40);
    order.insert(order.begin() + 11, 10);
    return WriteScene(File(name), {}, order);
  }
  static void ExpectOneLine(const ProcessResult& result, int code) {
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr("impactlab: "));
  }
  ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_F(DoctorVerb, OneScreenAFileWithVerdictCostAndAdvice) {
  const ProcessResult result = Run({Healthy("good.mov"), Repeating("bad.mov")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, AllOf(HasSubstr("good.mov\n  verdict   Good: 40 frames at 240.0000 /s"),
                                HasSubstr("bad.mov\n  verdict   Not to be trusted"),
                                HasSubstr("repeats the picture of the frame before"),
                                HasSubstr("cost in e* if ignored"), HasSubstr("-> ")));
  EXPECT_LT(std::count(result.out.begin(), result.out.end(), '\n'), 2 * 24) << "a screen each";
}

TEST_F(DoctorVerb, JsonOnTheTerminalAndInAFile) {
  const ProcessResult result =
      Run({Repeating("bad.mov"), "--json", "--out", File("deep/doctor.json")});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out, ReadText(File("deep/doctor.json")));
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["verdict"], "fault");
  EXPECT_EQ(json[0]["duplicated"], nlohmann::json::array({11}));
}

TEST_F(DoctorVerb, TheTrueRateStretchesTheStamps) {
  const ProcessResult result = Run({Healthy("a.mov"), "--rate-hz", "1000"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("40 frames at 1000.0000 /s"));
}

TEST_F(DoctorVerb, ReferenceOfAnotherSize) {
  DoctorScene other;
  other.width = 192;
  const std::string reference = WriteScene(File("calibration.mov"), other, Range(0, 5));
  const ProcessResult result = Run({Healthy("a.mov"), "--reference", reference});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("192 x 120 to 160 x 120"), HasSubstr("Not to be trusted")));
}

TEST_F(DoctorVerb, FoldersOfPicturesNeedARate) {
  for (int k = 0; k < 12; ++k) {
    std::filesystem::create_directories(File("pictures"));
    WritePng(File("pictures/" + std::to_string(k) + ".png"), Expose({}, k));  // 10 comes after 9
  }
  ExpectOneLine(Run({File("pictures")}), 3);
  const ProcessResult result = Run({File("pictures"), "--rate-hz", "500"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("12 frames at 500.0000 /s"), Not(HasSubstr("missing"))));
}

TEST_F(DoctorVerb, ATableOfStampsAmongThePicturesIsTaken) {
  std::filesystem::create_directories(File("pictures"));
  std::string table = "frame,t_s\n";
  for (int k = 0; k < 12; ++k) {
    WritePng(File("pictures/" + std::to_string(k) + ".png"), Expose({}, k));
    table += std::to_string(k) + "," + std::to_string(0.004 * (k < 7 ? k : k + 1)) + "\n";
  }
  WriteText(File("pictures/stamps.csv"), table);
  const ProcessResult taken = Run({File("pictures"), "--reference", File("pictures")});
  EXPECT_EQ(taken.code, 0) << taken.err;
  EXPECT_THAT(taken.out, AllOf(HasSubstr("12 frames at 250.0000 /s"),
                               HasSubstr("missing by the stamps, after frame 6"),
                               HasSubstr("times are those of stamps.csv")));
  // What is given counts more, and that is said.
  const ProcessResult given = Run({File("pictures"), "--rate-hz", "500"});
  EXPECT_THAT(given.out, AllOf(HasSubstr("12 frames at 500.0000 /s"),
                               HasSubstr("stamps.csv in the folder is left aside")));
  WriteText(File("pictures/stamps.csv"), "frame\n0\n");
  ExpectOneLine(Run({File("pictures")}), 3);
}

TEST_F(DoctorVerb, WhatCannotBeReadIsSaidAndTheRestExamined) {
  WriteText(File("text.mp4"), "no video");
  ExpectOneLine(Run({File("text.mp4")}), 3);
  ExpectOneLine(Run({File("absent.mp4")}), 3);
  const ProcessResult mixed = Run({File("text.mp4"), Healthy("a.mov")});
  EXPECT_EQ(mixed.code, 0) << mixed.err;
  EXPECT_THAT(mixed.out, AllOf(HasSubstr("cannot be examined"), HasSubstr("Good: 40 frames")));
  EXPECT_EQ(Run({File("text.mp4"), File("absent.mp4")}).code, 3);
}

TEST_F(DoctorVerb, NumbersWithoutMeaningAreRefused) {
  const std::string file = Healthy("a.mov");
  ExpectOneLine(Run({file, "--rate-hz=-3"}), 2);
  ExpectOneLine(Run({file, "--exposure-s", "nan"}), 2);
  ExpectOneLine(Run({file, "--max-frames", "0"}), 2);
  ExpectOneLine(Run({file, file, "--stamps", File("t.csv")}), 2);
  ExpectOneLine(Run({}), 2);
}

}  // namespace
}  // namespace impactlab::test
