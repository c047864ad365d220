// The verbs about cameras through the built program: what a user who never calibrated a camera
// types and sees.

#include <cstdlib>

#include "calibration/formats/formats.h"
#include "tests/end_to_end/calibrate_fixture.h"

namespace impactlab::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Path = std::filesystem::path;

TEST_F(Calibrate, AGoodRigComesWithEverything) {
  CalibrationScene scene = CalibrationScene::Stereo();
  scene.AddBoards(16, 0.8, 1, 0.24, 0.55);
  Write(scene);
  const ProcessResult result = Run({"--export", "opencv=" + File("cv.yml").string(), "--export",
                                    "mrcal=" + File("models").string()});
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, AllOf(HasSubstr("left"), HasSubstr("right"), HasSubstr("rms [px]"),
                                HasSubstr("calibration.html"), HasSubstr("cv.yml"),
                                HasSubstr("matched by name")));
  const CameraRig rig = RigFromYaml(File("out/rig.yaml"));
  const double baseline =
      (rig.cameras[1].X_WC.translation() - rig.cameras[0].X_WC.translation()).norm();
  EXPECT_NEAR(baseline, scene.truth.cameras[1].X_WC.translation().norm(), 5e-4);
  const CameraRig exported = ReadRig(File("cv.yml"));
  EXPECT_NEAR(
      (exported.cameras[1].X_WC.translation() - exported.cameras[0].X_WC.translation()).norm(),
      baseline, 1e-12);
  EXPECT_EQ(ReadRig(File("models")).cameras.size(), 2U);
  EXPECT_EQ(HtmlFault(ReadText(File("out/calibration.html"))), "");
  // The same inputs give the same rig, bit by bit, on any number of threads.
  const std::string first = ReadText(File("out/rig.yaml"));
  ASSERT_EQ(Run({"--threads", "1", "--no-report", "--quiet", "--force"}).code, 0);
  EXPECT_EQ(ReadText(File("out/rig.yaml")), first);
}

TEST_F(Calibrate, BadFilesAndFlagsAreOneLine) {
  WritePng(File("left_1.png"), {64, 48, std::vector<std::uint8_t>(64 * 48, 100)});
  const auto expect = [&](const std::string& yaml, int code, const std::string& words,
                          std::vector<std::string> more = {}) {
    WriteText(File("rig.yaml"), yaml);
    const ProcessResult result = Run(std::move(more));
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, AllOf(HasSubstr("impactlab: "), HasSubstr(words)));
    // Nothing but what the next attempt need not do again.
    if (!std::filesystem::exists(File("out"))) return;
    for (const auto& entry : std::filesystem::directory_iterator(File("out")))
      EXPECT_EQ(entry.path().filename(), ".stages");
  };
  const std::string board = "board: {kind: chessboard, corners: [7, 5], square_m: 0.02}\n";
  const std::string good = board + "cameras: [{name: left, images: \"left_*.png\"}]\n";
  expect("", 2, "rig.yaml");
  expect(board, 2, "cameras");
  expect(board + "cameras: [{name: left, images: \"absent*.png\"}]\n", 3,
         "no file matches 'absent*.png'");
  expect(board + "cameras: [{name: left, imags: \"left_*.png\"}]\n", 2, "images");
  expect(good, 3, "found in none of the 1 pictures");
  expect(good, 2, "nearest is opencv", {"--export", "opencvv=a.yml"});
  expect(good, 2, "FORMAT=PATH", {"--export", "opencv"});
  expect(good, 2, "FORMAT=PATH", {"--export", "dlt=a.csv"});
  WriteText(File("left_1.png"), "");
  expect(good, 3, "left_1.png: is empty");
  std::filesystem::remove(File("left_1.png"));
  const ProcessResult absent = RunProgram({"calibrate", File("absent.yaml")}, scratch_.path());
  EXPECT_EQ(absent.code, 2);
  EXPECT_THAT(absent.err, HasSubstr("absent.yaml"));
}

TEST_F(Calibrate, RealStereoPairs) {
  const char* place = std::getenv("IMPACTLAB_OPENCV_DOC");
  const Path data = place != nullptr ? place : "/usr/share/doc/opencv-doc/examples/data";
  if (!std::filesystem::exists(data / "left01.jpg"))
    GTEST_SKIP() << "skipped: opencv-doc images absent";
  WriteText(File("rig.yaml"),
            "board: {kind: chessboard, corners: [9, 6], square_m: 0.025}\ncameras:\n  - {name: "
            "left, images: \"" +
                (data / "left??.jpg").string() + "\"}\n  - {name: right, images: \"" +
                (data / "right??.jpg").string() + "\"}\n");
  const ProcessResult result = Run();
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const CameraRig rig = RigFromYaml(File("out/rig.yaml"));
  EXPECT_NEAR((rig.cameras[1].X_WC.translation() - rig.cameras[0].X_WC.translation()).norm(),
              0.0833, 0.0008);
  EXPECT_NEAR(rig.cameras[0].camera.fx, 533, 4);
}

TEST_F(Calibrate, BoardsArePrinted) {
  const auto board = [&](std::vector<std::string> more) {
    more.insert(more.begin(), "board");
    return RunProgram(more, scratch_.path());
  };
  const ProcessResult pdf = board({"--corners", "9x6", "--square-m", "0.023", "-o", File("b.pdf")});
  ASSERT_EQ(pdf.code, 0) << pdf.err;
  EXPECT_TRUE(ReadText(File("b.pdf")).starts_with("%PDF-"));
  // What it says for the calibration file is a board the calibration reads.
  const auto at = pdf.out.find("board:\n");
  ASSERT_NE(at, std::string::npos);
  EXPECT_THAT(pdf.out, AllOf(HasSubstr("corners: [9, 6]"), HasSubstr("square_m: 0.023"),
                             HasSubstr("100 %")));
  for (const std::vector<std::string>& kind :
       {std::vector<std::string>{"--kind", "charuco", "--corners", "6x4", "--square-m", "0.03"},
        {"--kind", "circles", "--corners", "7x5", "--square-m", "0.03", "--page", "letter"},
        {"--kind", "asymmetric-circles", "--corners", "4x11", "--square-m", "0.02", "--page",
         "A3"}}) {
    std::vector<std::string> arguments = kind;
    arguments.insert(arguments.end(), {"--out", File("b.svg")});
    const ProcessResult svg = board(arguments);
    EXPECT_EQ(svg.code, 0) << svg.err;
    EXPECT_THAT(ReadText(File("b.svg")), HasSubstr("<svg"));
  }
  const auto refuses = [&](std::vector<std::string> arguments, const std::string& words) {
    arguments.insert(arguments.end(), {"-o", File("no.pdf")});
    const ProcessResult result = board(arguments);
    EXPECT_EQ(result.code, 2) << result.out;
    EXPECT_THAT(result.err, HasSubstr(words));
    EXPECT_FALSE(std::filesystem::exists(File("no.pdf")));
  };
  refuses({"--square-m", "0.1"}, "use a larger --page, or --square-m 0.02");
  refuses({"--square-m", "-1"}, "--square-m");
  refuses({"--square-m", "0.02", "--corners", "9,6"}, "9x6");
  refuses({"--square-m", "0.02", "--kind", "chess"}, "--kind");
  refuses({"--square-m", "0.02", "--page", "b5"}, "--page");
  refuses({"--corners", "9x6"}, "--square-m");
  EXPECT_EQ(board({"--square-m", "0.02", "-o", File("b.png")}).code, 2);
}

}  // namespace
}  // namespace impactlab::test
