// Drawn pictures of a known rig, calibrated into the world of an experiment: what is written is the
// truth within its own intervals.

#include <fmt/format.h>

#include <cmath>

#include "calibration/formats/formats.h"
#include "pipelines/synth/rig.h"
#include "tests/end_to_end/calibrate_fixture.h"

namespace impactlab::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CalibrateWorld : public Calibrate {
 protected:
  void SetUp() override {
    const std::string sample = std::string(IMPACTLAB_SOURCE_DIR) + "/data/sample/rig/";
    WriteText(File("truth.yaml"), ReadText(sample + "rig.yaml"));
    WriteText(File("scene.yaml"),
              "schema: impactlab.rig_scene/1\nrig: truth.yaml\nboard: {kind: chessboard, corners: "
              "[9, 6], square_m: 0.025}\n"
              "shots: 12\ndistance_m: [0.35, 0.75]\nnoise_grey: 3\nseed: 11\n");
    scene_ = LoadRigScene(File("scene.yaml"));
    const ProcessResult drawn =
        RunProgram({"synth", File("scene.yaml"), "--out", File("pictures")}, scratch_.path());
    ASSERT_EQ(drawn.code, 0) << drawn.err;
    EXPECT_THAT(drawn.out, HasSubstr("24 pictures"));
    tour_ = BoardTour(scene_.rig, scene_.board, scene_.tour, scene_.seed);
  }
  ProcessResult RunWith(const std::string& more) const {
    WriteText(File("pictures/mine.yaml"), ReadText(File("pictures/calibration.yaml")) + more);
    return RunProgram(
        {"calibrate", File("pictures/mine.yaml"), "--out", File("out"), "--no-report"},
        scratch_.path());
  }
  // Pixels of a point given in the frame of the first camera.
  std::string Seen(const Eigen::Vector3d& p) const {
    std::string out;
    for (const RigCamera& item : scene_.rig.cameras) {
      const auto q = Project(item.camera, item.X_WC.inverse() * p);
      EXPECT_TRUE(q.has_value());
      out += fmt::format("{}{}: [{}, {}]", out.empty() ? "" : ", ", item.name, q->x(), q->y());
    }
    return "{" + out + "}";
  }

  RigScene scene_;
  std::vector<Eigen::Isometry3d> tour_;
};

TEST_F(CalibrateWorld, ABoardOnTheSurfaceGravityAndLengths) {
  const Eigen::Vector3d a(0.05, 0.02, 0.5), b(0.13, -0.05, 0.55);
  const std::string lengths = fmt::format(
      "lengths:\n  - {{name: rod, length_m: {}, sd_m: 0.0002, sd_px: 0.2, from: {}, to: {}}}\n",
      (b - a).norm(), Seen(a), Seen(b));
  const ProcessResult result = RunWith(
      "world:\n  board: {shot: left_004.png, thickness_m: 0.004}\ngravity:\n"
      "  direction: {frame: left, down: [0, 0.8, 0.6], sd_rad: 0.002}\n" +
      lengths);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("world       from board"), HasSubstr("slope"), HasSubstr("rod")));

  // Truth: z out of the paper, x along the rows, origin on the surface under the first point.
  const Eigen::Isometry3d& X_AG = tour_[3];
  Eigen::Isometry3d X_AW = Eigen::Isometry3d::Identity();
  X_AW.linear().col(0) = X_AG.linear().col(0);
  X_AW.linear().col(1) = -X_AG.linear().col(1);
  X_AW.linear().col(2) = -X_AG.linear().col(2);
  X_AW.translation() = X_AG.translation() - 0.004 * X_AW.linear().col(2);
  const CameraRig rig = RigFromYaml(File("out/rig.yaml"));
  EXPECT_EQ(rig.world.source, "board");
  for (std::size_t c = 0; c < 2; ++c) {
    const Eigen::Isometry3d X_WC = X_AW.inverse() * scene_.rig.cameras[c].X_WC;
    const int at =
        FirstParameter(rig, static_cast<int>(c)) + IntrinsicCount(rig.cameras[c].camera.model) + 3;
    const Eigen::Vector3d error = rig.cameras[c].X_WC.translation() - X_WC.translation();
    const Eigen::Matrix3d cov = rig.covariance.block<3, 3>(at, at);
    // Chi-square of 3 at 1e-4.
    EXPECT_LT(error.dot(cov.ldlt().solve(error)), 21.1) << error.transpose();
    EXPECT_LT(error.norm(), 5e-4);
  }
  const Eigen::Vector3d down = X_AW.linear().transpose() * Eigen::Vector3d(0, 0.8, 0.6);
  ASSERT_TRUE(rig.world.slope.has_value());
  EXPECT_NEAR(*rig.world.slope, std::acos(std::abs(down.z())), 4 * rig.world.sd_slope);
  EXPECT_LT(rig.world.sd_slope, 0.0045);
}

TEST_F(CalibrateWorld, KnownPointsAndAWrongLength) {
  // A world turned and moved against the first camera.
  Eigen::Isometry3d X_AW = Eigen::Isometry3d::Identity();
  X_AW.linear() = (Eigen::AngleAxisd(1.7, Eigen::Vector3d::UnitX()) *
                   Eigen::AngleAxisd(0.4, Eigen::Vector3d::UnitZ()))
                      .toRotationMatrix();
  X_AW.translation() << 0.1, 0.08, 0.55;
  std::string points = "world:\n  points:\n";
  for (const Eigen::Vector3d& p : {Eigen::Vector3d(0, 0, 0), Eigen::Vector3d(0.1, 0, 0),
                                   Eigen::Vector3d(0, 0.1, 0), Eigen::Vector3d(0.05, 0.05, 0.06)})
    points += fmt::format("    - {{at_m: [{}, {}, {}], sd_px: 0.1, seen: {}}}\n", p.x(), p.y(),
                          p.z(), Seen(X_AW * p));
  const Eigen::Vector3d a(0.05, 0.02, 0.5), b(0.13, -0.05, 0.55);
  const std::string wrong =
      fmt::format("lengths:\n  - {{name: ruler, length_m: {}, sd_px: 0.1, from: {}, to: {}}}\n",
                  1.05 * (b - a).norm(), Seen(a), Seen(b));
  const ProcessResult result = RunWith(
      points + "gravity:\n  direction: {frame: world, down: [0, 0, -1], sd_rad: 0.001}\n" + wrong);
  ASSERT_EQ(result.code, 0) << result.out << result.err;
  const CameraRig rig = RigFromYaml(File("out/rig.yaml"));
  const Eigen::Isometry3d X_WC = X_AW.inverse() * scene_.rig.cameras[1].X_WC;
  EXPECT_LT((rig.cameras[1].X_WC.translation() - X_WC.translation()).norm(), 1e-3);
  EXPECT_THAT(result.out, AllOf(HasSubstr("point 4"), HasSubstr("no downhill direction"),
                                HasSubstr("too short")));
  EXPECT_THAT(result.out, HasSubstr("Usable with care: lengths come out"));
}

TEST_F(CalibrateWorld, CarelessUseIsOneLine) {
  // A shot by its number, with the zeros of the file name; an export that cannot be, beside one
  // that can.
  WriteText(File("pictures/mine.yaml"),
            ReadText(File("pictures/calibration.yaml")) + "world: {board: {shot: \"004\"}}\n");
  const ProcessResult exported =
      RunProgram({"calibrate", "pictures/mine.yaml", "--out", "out", "--no-report", "--export",
                  "kalibr=k.yaml", "--export", "mrcal=models"},
                 scratch_.path(), "cd " + ShellQuote(scratch_.path()) + ";");
  EXPECT_EQ(exported.code, 2) << exported.out << exported.err;
  EXPECT_THAT(exported.err, AllOf(HasSubstr("--export kalibr=k.yaml"), HasSubstr("fixed: [k3]")));
  EXPECT_THAT(exported.out, AllOf(HasSubstr("world       from board"), HasSubstr("models")));
  EXPECT_TRUE(std::filesystem::exists(File("models/left.cameramodel")));
  EXPECT_TRUE(std::filesystem::exists(File("out/rig.yaml")));
  EXPECT_FALSE(std::filesystem::exists(File("k.yaml")));

  // From one program to another and back, and as the start of a solve.
  const std::string there = "cd " + ShellQuote(scratch_.path()) + ";";
  const ProcessResult converted = RunProgram(
      {"convert", "models", "--export", "opencv=cv.yml", "--export", "impactlab=back.yaml"},
      scratch_.path(), there);
  ASSERT_EQ(converted.code, 0) << converted.err;
  EXPECT_THAT(converted.out, AllOf(HasSubstr("1280 x 720 brown"), HasSubstr("cv.yml")));
  EXPECT_EQ(ReadRig(File("back.yaml")).cameras[1].camera.fx,
            RigFromYaml(File("out/rig.yaml")).cameras[1].camera.fx);
  const ProcessResult bad = RunProgram({"convert", "scene.yaml"}, scratch_.path(), there);
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, HasSubstr("scene.yaml"));
  EXPECT_EQ(RunProgram({"convert", "models", "--format", "opencvv"}, scratch_.path(), there).code,
            2);
  std::string started = ReadText(File("pictures/calibration.yaml"));
  started.replace(started.find("model: brown"), 12, "model: brown\n    start: ../cv.yml");
  WriteText(File("pictures/started.yaml"), started);
  const ProcessResult again =
      RunProgram({"calibrate", "pictures/started.yaml", "--out", "again", "--no-report"},
                 scratch_.path(), there);
  EXPECT_EQ(again.code, 0) << again.err;

  // A file named without its folder.
  WriteText(File("absent.yaml"),
            "board: {kind: chessboard, corners: [9, 6], square_m: 0.025}\ncameras: [{name: a, "
            "images: \"no[1]/a*.png\"}]\n");
  const ProcessResult absent =
      RunProgram({"calibrate", "absent.yaml", "--out", "none"}, scratch_.path(),
                 "cd " + ShellQuote(scratch_.path()) + ";");
  EXPECT_EQ(absent.code, 3);
  EXPECT_THAT(absent.err, AllOf(HasSubstr("no file matches 'no[1]/a*.png'"),
                                HasSubstr("choice of characters")));

  // A pipe among the pictures is not waited for.
  ASSERT_EQ(std::system(("mkfifo " + ShellQuote(File("pictures/left_100.png"))).c_str()), 0);
  const ProcessResult pipe =
      RunProgram({"calibrate", File("pictures/calibration.yaml"), "--out", File("none")},
                 scratch_.path(), "timeout 20");
  EXPECT_EQ(pipe.code, 3) << pipe.err;
  EXPECT_THAT(pipe.err, HasSubstr("is not a regular file"));

  // Pictures of two scenes do not mix.
  WriteText(File("scene.yaml"), ReadText(File("scene.yaml")) + "max_roll_rad: 0.1\n");
  const ProcessResult mixed =
      RunProgram({"synth", File("scene.yaml"), "--out", File("pictures")}, scratch_.path());
  EXPECT_EQ(mixed.code, 3);
  EXPECT_THAT(mixed.err, HasSubstr("would be mixed"));
}

TEST_F(CalibrateWorld, AWorldThatCannotBeHadRefusesTheRig) {
  const std::string line = fmt::format(
      "world:\n  points:\n    - {{at_m: [0, 0, 0], seen: {0}}}\n    - {{at_m: [0.1, 0, 0], seen: "
      "{1}}}\n"
      "    - {{at_m: [0.2, 0, 0], seen: {2}}}\n",
      Seen({0, 0, 0.5}), Seen({0.1, 0, 0.5}), Seen({0.2, 0, 0.5}));
  const ProcessResult result = RunWith(line);
  EXPECT_EQ(result.code, 3) << result.out;
  EXPECT_THAT(result.err, AllOf(HasSubstr("rig.yaml was not written"),
                                HasSubstr("world frame cannot be had"), HasSubstr("line")));
  EXPECT_FALSE(std::filesystem::exists(File("out/rig.yaml")));

  const auto expect = [&](const std::string& yaml, const std::string& words) {
    const ProcessResult bad = RunWith(yaml);
    EXPECT_EQ(bad.code, 2) << bad.out;
    EXPECT_THAT(bad.err, HasSubstr(words));
    EXPECT_EQ(std::count(bad.err.begin(), bad.err.end(), '\n'), 1) << bad.err;
  };
  expect("world: {board: {shot: nothing}}\n", "allowed the name of a shot or picture");
  expect("world: {board: {shot: a}, points: []}\n", "exactly one of them");
  expect("world: {points: [{at_m: [0, 0, 0], seen: {left: [1, 2]}}]}\n", "two cameras or more");
  expect("world: {given: {rotation: [[1, 0, 0], [0, 1, 0], [0, 0, -1]], position_m: [0, 0, 0]}}\n",
         "no rotation");
  expect("gravity: {direction: {frame: up, down: [0, 0, 1]}}\n", "world");
  expect("gravity: {plumb_line: {left: [[1, 2], [3, 4]]}}\n", "two cameras or more");
  expect(
      "lengths: [{length_m: -1, from: {left: [0, 0], right: [0, 0]}, to: {left: [0, 0], right: [0, "
      "0]}}]\n",
      "length_m");
}

}  // namespace
}  // namespace impactlab::test
