#pragma once
// A folder with a calibration file, its pictures and the built program.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/support/calibration_scene.h"
#include "tests/support/html.h"
#include "tests/support/process.h"

namespace impactlab::test {

class Calibrate : public ::testing::Test {
 protected:
  std::filesystem::path File(const std::string& name) const { return scratch_.path() / name; }
  ProcessResult Run(std::vector<std::string> more = {}, const std::string& prefix = "") const {
    std::vector<std::string> arguments = {"calibrate", File("rig.yaml"), "--out", File("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(arguments, scratch_.path(), prefix);
  }
  void Write(const CalibrationScene& scene, const std::string& more = "") const {
    scene.WritePictures(scratch_.path());
    WriteText(File("rig.yaml"), scene.Yaml(more));
  }
  // Refused: exit code 3, one line of reason on stderr, no rig, but a page and numbers to find the
  // cause with.
  std::string ExpectRefusal(const ProcessResult& result) const {
    EXPECT_EQ(result.code, 3) << result.out << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err,
                ::testing::HasSubstr("calibration refused, rig.yaml was not written: "));
    EXPECT_FALSE(std::filesystem::exists(File("out/rig.yaml")));
    const std::string page = ReadText(File("out/calibration.html"));
    EXPECT_EQ(HtmlFault(page), "");
    EXPECT_THAT(page, ::testing::HasSubstr("Refused"));
    EXPECT_TRUE(std::filesystem::exists(File("out/calibration.json")));
    return result.out + result.err;
  }
  void Mirror(const std::string& name) const {
    GrayImage image = ReadImage(File(name));
    for (int y = 0; y < image.height; ++y) {
      const auto row = image.pixels.begin() + static_cast<std::ptrdiff_t>(y) * image.width;
      std::reverse(row, row + image.width);
    }
    WritePng(File(name), image);
  }

  ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

}  // namespace impactlab::test
