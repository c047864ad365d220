// Pictures no rig can be calibrated from, through the built program: the reason in plain words, no
// rig, the last good one untouched.

#include "tests/end_to_end/calibrate_fixture.h"

namespace impactlab::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST_F(Calibrate, HostileT06ParallelBoardsAreRefused) {
  CalibrationScene scene = CalibrationScene::Mono();
  scene.AddBoards(10, 0, 2, 0.4, 0.4, 0);
  Write(scene);
  const std::string text = ExpectRefusal(Run());
  EXPECT_THAT(text, AllOf(AnyOf(HasSubstr("tilt"), HasSubstr("parallel")), HasSubstr("Next:")));
}

// A mirrored chessboard is a chessboard; markers cannot be mirrored unseen.
TEST_F(Calibrate, HostileT09MirroredPicturesAreNamed) {
  CalibrationScene scene = CalibrationScene::Mono();
  scene.truth.cameras[0].camera = MakePinhole(800, 600, 720);
  scene.board.kind = BoardKind::kCharuco;
  scene.board.columns = 6;
  scene.board.rows = 4;
  scene.board.pitch = 0.024;
  scene.board.marker_side = 0.018;
  scene.AddBoards(5, 0.5, 3, 0.3, 0.45);
  Write(scene);
  for (std::size_t k = 0; k < scene.X_WG.size(); ++k) Mirror(scene.Name(0, k));
  const ProcessResult result = Run();
  EXPECT_EQ(result.code, 3) << result.out;
  EXPECT_THAT(result.out + result.err, HasSubstr("mirrored"));
}

TEST_F(Calibrate, TheWrongNumberOfCornersIsNamed) {
  CalibrationScene scene = CalibrationScene::Mono();
  scene.AddBoards(6, 0.6, 4);
  Write(scene);
  std::string yaml = ReadText(File("rig.yaml"));
  const auto at = yaml.find("[7, 5]");
  ASSERT_NE(at, std::string::npos);
  WriteText(File("rig.yaml"), yaml.replace(at, 6, "[8, 6]"));  // squares instead of corners
  const ProcessResult result = Run();
  EXPECT_EQ(result.code, 3) << result.out;
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("8 x 6 inner corners"), HasSubstr("one less each way than squares")));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

// Pictures of two cameras that do not belong together: the second camera's are one shot late.
TEST_F(Calibrate, PicturesThatDoNotBelongTogetherAreRefused) {
  CalibrationScene scene = CalibrationScene::Stereo();
  scene.AddBoards(10, 0.7, 5);
  Write(scene);
  const std::filesystem::path spare = File("spare.png");
  std::filesystem::rename(File(scene.Name(1, 9)), spare);
  for (std::size_t k = 9; k > 0; --k)
    std::filesystem::rename(File(scene.Name(1, k - 1)), File(scene.Name(1, k)));
  std::filesystem::rename(spare, File(scene.Name(1, 0)));
  ExpectRefusal(Run());
}

TEST_F(Calibrate, ACornerOfThePictureIsNotEnough) {
  CalibrationScene scene = CalibrationScene::Mono();
  // Far away and in the middle: the boards cover a few per cent of the picture.
  scene.AddBoards(8, 0.5, 6, 0.85, 1.1, 0.4, 0.05);
  Write(scene);
  const std::string text = ExpectRefusal(Run());
  EXPECT_THAT(text, HasSubstr("cover"));
}

TEST_F(Calibrate, TwoCamerasUnderEachOthersNamesAreStillARig) {
  // Left and right swapped from the start is a rig seen from the other camera: nothing in the data
  // can tell, and nothing is wrong with it.
  CalibrationScene scene = CalibrationScene::Stereo();
  scene.AddBoards(10, 0.7, 7);
  Write(scene);
  std::string yaml = ReadText(File("rig.yaml"));
  for (const auto& [from, to] : {std::pair{"name: left", "name: tmp"},
                                 {"name: right", "name: left"},
                                 {"name: tmp", "name: right"}}) {
    const auto at = yaml.find(from);
    ASSERT_NE(at, std::string::npos);
    yaml.replace(at, std::string(from).size(), to);
  }
  WriteText(File("rig.yaml"), yaml);
  EXPECT_EQ(Run({"--no-report"}).code, 0);
}

TEST_F(Calibrate, AFullDiskLeavesTheLastGoodRig) {
  CalibrationScene scene = CalibrationScene::Mono();
  scene.AddBoards(14, 0.8, 8, 0.2, 0.5);
  Write(scene);
  ASSERT_EQ(Run({"--no-report", "--quiet"}).code, 0);
  const std::string before = ReadText(File("out/calibration.json"));
  const ProcessResult result = Run({"--no-report", "--quiet"}, "ulimit -f 4;");
  EXPECT_EQ(result.code, 3) << result.err;
  EXPECT_EQ(ReadText(File("out/calibration.json")), before);
}

}  // namespace
}  // namespace impactlab::test
