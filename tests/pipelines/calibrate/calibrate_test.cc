#include "pipelines/calibrate/calibrate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "data/base/error.h"
#include "pipelines/calibrate/detail/input.h"
#include "pipelines/calibrate/page.h"
#include "tests/support/calibration_scene.h"
#include "tests/support/clip.h"
#include "tests/support/html.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Path = std::filesystem::path;
using test::CalibrationScene;
using test::ReadText;
using test::ScratchFolder;
using test::WriteText;

class CalibrateTest : public ::testing::Test {
 protected:
  Path File(const std::string& name) const { return scratch_.path() / name; }
  CalibrationConfig Load(const std::string& yaml) const {
    WriteText(File("rig.yaml"), yaml);
    return LoadCalibration(File("rig.yaml"));
  }
  std::string ConfigFault(const std::string& yaml) const {
    try {
      Load(yaml);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "no error";
  }
  ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

const std::string kBoard = "board: {kind: chessboard, corners: [9, 6], square_m: 0.025}\n";
const std::string kCameras =
    "cameras:\n  - {name: left, images: \"left*.jpg\"}\n  - {name: right, images: [a.png, "
    "b.png]}\n";

TEST_F(CalibrateTest, ReadsAFileAndKeepsItThroughYaml) {
  const CalibrationConfig plan = Load(
      kBoard +
      "cameras:\n"
      "  - {name: left, images: \"left*.jpg\", model: rational, fixed: [k3, p1], priors: {cx_px: "
      "[320, 5]}}\n"
      "  - {name: right, images: pictures, model: auto}\n"
      "  - {name: third, images: x.png, shares_intrinsics_with: left, model: rational}\n"
      "match: index\nframes: {most: 20, examine: 99}\ndetect: {method: sector, refine: false}\n"
      "solve: {warp: false, outlier_sigma: 5, random_starts: 3, seed: 9}\n"
      "certificate: {working_distance_m: 0.8, max_depth_sd: 0.05}\n");
  const auto check = [](const CalibrationConfig& p) {
    EXPECT_EQ(p.board.columns, 9);
    EXPECT_EQ(p.board.rows, 6);
    EXPECT_EQ(p.board.pitch, 0.025);
    ASSERT_EQ(p.cameras.size(), 3U);
    EXPECT_EQ(p.cameras[0].model, LensModel::kRational);
    EXPECT_THAT(p.cameras[0].fixed, ElementsAre("k3", "p1"));
    ASSERT_EQ(p.cameras[0].priors.size(), 1U);
    EXPECT_EQ(p.cameras[0].priors[0].parameter, "cx_px");
    EXPECT_EQ(p.cameras[0].priors[0].mean, 320);
    EXPECT_EQ(p.cameras[0].priors[0].sd, 5);
    EXPECT_TRUE(p.cameras[1].choose_model);
    EXPECT_EQ(p.cameras[2].shares_intrinsics_with, 0);
    EXPECT_EQ(p.match, ShotMatch::kIndex);
    EXPECT_EQ(p.frames.most, 20);
    EXPECT_EQ(p.frames.examine, 99);
    EXPECT_EQ(p.detect.method, DetectOptions::Method::kSector);
    EXPECT_FALSE(p.detect.refine);
    EXPECT_FALSE(p.solve.warp);
    EXPECT_EQ(p.solve.outlier_sigma, 5);
    EXPECT_EQ(p.solve.random_starts, 3);
    EXPECT_EQ(p.solve.seed, 9U);
    EXPECT_EQ(p.certificate.working_distance, 0.8);
    EXPECT_EQ(p.certificate.max_depth_sd, 0.05);
  };
  check(plan);
  EXPECT_THAT(plan.cameras[0].images, ElementsAre("left*.jpg"));
  // Written elsewhere, it still names the same files.
  WriteText(File("elsewhere/run.yaml"), ToYaml(plan));
  const CalibrationConfig again = LoadCalibration(File("elsewhere/run.yaml"));
  check(again);
  EXPECT_THAT(again.cameras[0].images, ElementsAre((scratch_.path() / "left*.jpg").string()));
  EXPECT_EQ(ToYaml(again), ToYaml(plan));
}

TEST_F(CalibrateTest, ReadsEveryKindOfBoard) {
  const auto board = [&](const std::string& text) {
    return Load("board: {" + text + "}\n" + kCameras).board;
  };
  const Board charuco = board(
      "kind: charuco, corners: [7, 4], square_m: 0.04, marker_m: 0.03, dictionary: 5X5_100, "
      "legacy: true");
  EXPECT_EQ(charuco.kind, BoardKind::kCharuco);
  EXPECT_EQ(charuco.marker_side, 0.03);
  EXPECT_EQ(charuco.dictionary, "5X5_100");
  EXPECT_TRUE(charuco.legacy);
  const Board circles =
      board("kind: circles, discs: [8, 5], spacing_m: 0.03, disc_diameter_m: 0.015");
  EXPECT_EQ(circles.pitch, 0.03);
  EXPECT_EQ(circles.disc_diameter, 0.015);
  const Board staggered = board(
      "kind: asymmetric-circles, discs: [4, 11], half_spacing_m: 0.02, disc_diameter_m: 0.015");
  EXPECT_EQ(staggered.kind, BoardKind::kAsymmetricCircles);
  EXPECT_EQ(staggered.pitch, 0.02);
  for (const Board& b : {charuco, circles, staggered}) {
    WriteText(File("again.yaml"), BoardYaml(b) + kCameras);
    EXPECT_EQ(BoardYaml(LoadCalibration(File("again.yaml")).board), BoardYaml(b));
  }
}

TEST_F(CalibrateTest, RefusesNonsenseWithFileLineAndKey) {
  const auto refuses = [&](const std::string& yaml, const std::string& words) {
    EXPECT_THAT(ConfigFault(yaml),
                AllOf(HasSubstr(File("rig.yaml").string() + ":"), HasSubstr(words)))
        << yaml;
  };
  refuses(kBoard, "cameras");
  refuses(kCameras, "board");
  refuses("board: {kind: chessbord, corners: [9, 6], square_m: 0.025}\n" + kCameras, "chessboard");
  refuses("board: {kind: chessboard, corners: [9], square_m: 0.025}\n" + kCameras, "board.corners");
  refuses("board: {kind: chessboard, corners: [9, 1], square_m: 0.025}\n" + kCameras,
          "cannot be made");
  refuses("board: {kind: chessboard, corners: [9.5, 6], square_m: 0.025}\n" + kCameras,
          "whole numbers");
  refuses("board: {kind: chessboard, corners: [9, 6], square_m: -0.025}\n" + kCameras, "square_m");
  refuses("board: {kind: chessboard, corners: [9, 6], square_mm: 25}\n" + kCameras, "square_m");
  refuses(
      "board: {kind: chessboard, corners: [9, 6], square_m: 0.025, marker_m: 0.01}\n" + kCameras,
      "marker_m");
  refuses("board: {kind: charuco, corners: [9, 6], square_m: 0.025, marker_m: 0.03}\n" + kCameras,
          "cannot be made");
  refuses(kBoard + "cameras:\n  - {name: left}\n", "images: a pattern");
  refuses(kBoard + "cameras:\n  - {name: left, images: a.png, video: a.mp4}\n", "images as well");
  refuses(kBoard + "cameras:\n  - {name: left, images: a.png}\n  - {name: right, video: a.mp4}\n",
          "other kind");
  refuses(kBoard + "cameras:\n  - {name: left, images: a.png}\n  - {name: left, images: b.png}\n",
          "left again");
  refuses(kBoard + "cameras:\n  - {name: \"le ft\", images: a.png}\n", "letters, digits");
  refuses(kBoard + "cameras:\n  - {name: left, images: a.png, model: pinhole}\n", "brown");
  refuses(kBoard + "cameras:\n  - {name: left, images: a.png, fixed: [k7]}\n", "nearest");
  refuses(kBoard + "cameras:\n  - {name: left, images: a.png, fixed: [k4]}\n", "k3");
  refuses(kBoard + "cameras:\n  - {name: left, images: a.png, priors: {fx_px: [500, 0]}}\n",
          "standard deviation above 0");
  refuses(kBoard + "cameras:\n  - {name: left, images: a.png, shares_intrinsics_with: right}\n",
          "above this one");
  refuses(kBoard + kCameras + "match: time\n", "name");
  refuses(kBoard + kCameras + "frames: {most: 2}\n", "frames.most");
  refuses(kBoard + kCameras + "solve: {wrap: true}\n", "warp");
  refuses(kBoard + kCameras + "mach: index\n", "match");
}

TEST_F(CalibrateTest, StartsFromACameraOfAnotherRig) {
  CalibrationScene scene = CalibrationScene::Stereo();
  WriteText(File("old.yaml"), ToYaml(scene.truth));
  const std::string head = kBoard + "cameras:\n";
  const CalibrationConfig plan =
      Load(head + "  - {name: right, images: a.png, start: old.yaml, fixed: [fx_px]}\n");
  ASSERT_TRUE(plan.cameras[0].start);
  EXPECT_EQ(plan.cameras[0].start->fx, scene.truth.cameras[1].camera.fx);
  EXPECT_THAT(ConfigFault(head + "  - {name: middle, images: a.png, start: old.yaml}\n"),
              HasSubstr("left, right"));
  EXPECT_THAT(
      ConfigFault(head + "  - {name: left, images: a.png, start: old.yaml, model: fisheye}\n"),
      HasSubstr("model of the start"));
  EXPECT_THAT(ConfigFault(head + "  - {name: left, images: a.png, start: absent.yaml}\n"),
              HasSubstr("absent.yaml"));
}

TEST_F(CalibrateTest, NamesAreReadWithoutTheCamerasOwnPart) {
  const auto keys = [](const std::vector<Path>& files) { return pipelines::NameKeys(files); };
  EXPECT_THAT(keys({"left01.jpg", "left02.jpg", "left09.jpg"}), ElementsAre("1", "2", "9"));
  EXPECT_THAT(keys({"left1.jpg", "left10.jpg", "left100.jpg"}), ElementsAre("1", "10", "100"));
  EXPECT_THAT(keys({"a/IMG_120001_left.png", "b/IMG_120002_left.png"}),
              ElementsAre("120001", "120002"));
  EXPECT_THAT(keys({"cam2_000.png", "cam2_010.png"}), ElementsAre("0", "10"))
      << "the number of the camera is no part of it";
  EXPECT_THAT(keys({"only_007.png"}), ElementsAre("7"));
  EXPECT_THAT(keys({"only.png"}), ElementsAre("only"));
  EXPECT_THAT(keys({"left-near.png", "left-far.png"}), ElementsAre("ne", "f"))
      << "the same for both cameras is all that counts";
  EXPECT_THAT(keys({"a.png", "a.jpg"}), ElementsAre("", "")) << "nothing tells them apart";
}

CalibrationConfig PlanOf(ShotMatch match, int cameras) {
  CalibrationConfig plan;
  plan.path = "rig.yaml";
  plan.match = match;
  for (int c = 0; c < cameras; ++c) {
    plan.cameras.emplace_back();
    plan.cameras.back().name = std::string("camera") + static_cast<char>('A' + c);
  }
  return plan;
}

TEST_F(CalibrateTest, PicturesAreMatchedByNameWithGaps) {
  std::vector<std::string> notes;
  const auto shots = pipelines::MatchFiles(
      PlanOf(ShotMatch::kName, 2),
      {{"left01.png", "left02.png", "left10.png"}, {"right2.png", "right10.png", "right11.png"}},
      &notes);
  ASSERT_EQ(shots.size(), 4U);
  EXPECT_EQ(shots[0].name, "1");
  EXPECT_THAT(shots[0].file, ElementsAre(0, -1));
  EXPECT_THAT(shots[1].file, ElementsAre(1, 0));
  EXPECT_THAT(shots[2].file, ElementsAre(2, 1));
  EXPECT_EQ(shots[3].name, "11");
  EXPECT_THAT(shots[3].file, ElementsAre(-1, 2));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], AllOf(HasSubstr("2 of 4"), HasSubstr("1, 11")));
}

TEST_F(CalibrateTest, MatchesThatCannotBeAreRefusedWithTheCure) {
  std::vector<std::string> notes;
  const auto fault = [&](ShotMatch match,
                         const std::vector<std::vector<Path>>& files) -> std::string {
    try {
      pipelines::MatchFiles(PlanOf(match, static_cast<int>(files.size())), files, &notes);
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_THAT(fault(ShotMatch::kName, {{"a1.png", "a2.png"}, {"b7.png", "b8.png"}}),
              HasSubstr("match: index"));
  EXPECT_THAT(fault(ShotMatch::kName, {{"x/a1.png", "y/a1.png", "x/a2.png"}, {"b1.png", "b2.png"}}),
              HasSubstr("both read '1'"));
  EXPECT_THAT(fault(ShotMatch::kIndex, {{"a1.png", "a2.png"}, {"b1.png"}}),
              AllOf(HasSubstr("2 pictures"), HasSubstr("match: name")));
  const auto by_index = pipelines::MatchFiles(PlanOf(ShotMatch::kIndex, 2),
                                              {{"p.png", "q.png"}, {"8.png", "9.png"}}, &notes);
  EXPECT_THAT(by_index[1].file, ElementsAre(1, 1));
}

TEST_F(CalibrateTest, FilesComeFromFoldersPatternsAndLists) {
  for (const char* name : {"shots/a10.png", "shots/a2.PNG", "shots/notes.txt", "shots/.hidden.png",
                           "odd [1]/b.jpg", "one.tif"})
    WriteText(File(name), "x");
  const auto names = [&](const std::vector<std::string>& patterns) {
    std::vector<std::string> out;
    for (const Path& p : pipelines::FindFiles(patterns, scratch_.path(), false, "here"))
      out.push_back(p.filename().string());
    return out;
  };
  EXPECT_THAT(names({"shots"}), ElementsAre("a2.PNG", "a10.png"));
  EXPECT_THAT(names({File("odd [1]").string()}), ElementsAre("b.jpg"));
  EXPECT_THAT(names({"one.tif", "shots/*.png", "shots"}),
              ElementsAre("one.tif", "a10.png", "a2.PNG"))
      << "each file once";
  EXPECT_THROW(names({"absent*.png"}), DataError);
  std::filesystem::create_directories(File("empty"));
  try {
    names({"empty"});
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("here: "), HasSubstr("holds no picture"), HasSubstr(".jpg")));
  }
}

TEST_F(CalibrateTest, TheBoardsCornersFollowFromAnyPartOfIt) {
  CalibrationScene scene = CalibrationScene::Mono();
  scene.AddBoards(4, 0.7, 3);
  Camera camera = scene.truth.cameras[0].camera;
  camera.distortion = {};
  const Eigen::Vector2d extent = Extent(scene.board);
  for (const auto& X : scene.X_WG) {
    BoardView view;
    view.width = camera.width;
    view.height = camera.height;
    for (int id = 0; id < PointCount(scene.board); id += 3)
      view.points.push_back({id, *Project(camera, X * PointOnBoard(scene.board, id)), 1});
    const auto quad = pipelines::BoardQuad(scene.board, view);
    ASSERT_TRUE(quad);
    const Eigen::Vector2d corner = *Project(camera, X * Eigen::Vector3d(extent.x(), extent.y(), 0));
    const double diagonal = std::hypot(camera.width, camera.height);
    EXPECT_LT((quad->segment<2>(4) + Eigen::Vector2d(0.4, 0.3) - corner / diagonal).norm(), 1e-6);
    view.points.resize(3);
    EXPECT_FALSE(pipelines::BoardQuad(scene.board, view));
  }
  BoardView line;
  line.width = line.height = 100;
  for (int id = 0; id < 6; ++id) line.points.push_back({id, Eigen::Vector2d(10.0 * id, 50), 1});
  EXPECT_FALSE(pipelines::BoardQuad(scene.board, line))
      << "one row says nothing about the other corners";
}

// Candidates of one camera: the board at a place, moving by `speed` px a frame, with a sharpness.
pipelines::FrameCandidate Candidate(const Board& board, long long frame, double x, double y,
                                    double size, double sharpness) {
  pipelines::FrameCandidate c;
  c.frame = frame;
  c.shot.name = std::to_string(frame);
  BoardView view;
  view.width = 640;
  view.height = 480;
  view.sharpness = sharpness;
  for (int id = 0; id < PointCount(board); ++id)
    view.points.push_back(
        {id, Eigen::Vector2d(x, y) + size * PointOnBoard(board, id).head<2>() / board.pitch, 1});
  c.shot.views = {view};
  return c;
}

TEST_F(CalibrateTest, FramesAreChosenSharpCalmAndDifferent) {
  const Board board;
  std::vector<pipelines::FrameCandidate> candidates;
  // Six stops of the board, four frames each, and fast moves between them.
  long long frame = 0;
  const double stops[6][3] = {{20, 20, 20},   {300, 20, 20},  {20, 250, 20},
                              {300, 250, 20}, {100, 100, 45}, {200, 150, 10}};
  std::vector<long long> calm;
  for (int s = 0; s < 6; ++s) {
    for (int k = 0; k < 4; ++k) {
      calm.push_back(frame);
      candidates.push_back(Candidate(board, frame++, stops[s][0] + 0.1 * k, stops[s][1],
                                     stops[s][2], k == 2 ? 1.0 : 0.8));
    }
    for (int k = 1; k < 5 && s < 5; ++k) {
      const double u = k / 5.0, v = 1 - u;
      candidates.push_back(Candidate(board, frame++, v * stops[s][0] + u * stops[s + 1][0],
                                     v * stops[s][1] + u * stops[s + 1][1],
                                     v * stops[s][2] + u * stops[s + 1][2], 0.7));
    }
  }
  const auto chosen = pipelines::ChooseFrames(candidates, board, 6);
  ASSERT_EQ(chosen.size(), 6U);
  std::set<long long> stops_seen;
  for (const std::size_t k : chosen) {
    const auto at = std::find(calm.begin(), calm.end(), candidates[k].frame);
    ASSERT_NE(at, calm.end()) << "a frame in motion was chosen: " << candidates[k].frame;
    EXPECT_EQ((at - calm.begin()) % 4, 2) << "not the sharpest of its stop";
    stops_seen.insert((at - calm.begin()) / 4);
  }
  EXPECT_EQ(stops_seen.size(), 6U) << "two frames of one stop while another has none";
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end()));
  // Asked for many, it does not fill up with copies.
  EXPECT_LT(pipelines::ChooseFrames(candidates, board, 100).size(), candidates.size());
}

TEST_F(CalibrateTest, BlurredFramesLoseTheirPoints) {
  const Board board;
  std::vector<pipelines::FrameCandidate> candidates;
  candidates.reserve(20);
  for (int k = 0; k < 20; ++k)
    candidates.push_back(Candidate(board, 10 * k, 15.0 * k, 10.0 * k, 20, k % 2 == 0 ? 1.0 : 0.3));
  for (const std::size_t k : pipelines::ChooseFrames(candidates, board, 20))
    EXPECT_EQ(candidates[k].frame % 20, 0);
  EXPECT_THAT(candidates[1].shot.views[0].problem, HasSubstr("blurred"));
  EXPECT_TRUE(pipelines::ChooseFrames(candidates, board, 0).empty());
  std::vector<pipelines::FrameCandidate> none;
  EXPECT_TRUE(pipelines::ChooseFrames(none, board, 5).empty());
}

TEST_F(CalibrateTest, APictureOfAnotherSizeIsLeftOutAndNamed) {
  CalibrationProblem problem;
  problem.cameras.resize(1);
  for (const int width : {640, 480, 640}) {
    BoardView view;
    view.width = width;
    view.height = 1120 - width;
    view.points.resize(5);
    problem.shots.push_back({"", {view}});
  }
  pipelines::SettleSizes(&problem);
  EXPECT_EQ(problem.cameras[0].width, 640);
  EXPECT_EQ(problem.cameras[0].height, 480);
  EXPECT_EQ(problem.shots[0].views[0].points.size(), 5U);
  EXPECT_TRUE(problem.shots[1].views[0].points.empty());
  EXPECT_THAT(problem.shots[1].views[0].problem, HasSubstr("480 x 640"));
}

// Pictures of a known rig through the whole chain, with a missing, an unreadable and an empty
// picture.
class CalibratedScene : public CalibrateTest {
 protected:
  static CalibrationRun MakeRun(const Path& folder) {
    CalibrationScene scene = CalibrationScene::Stereo();
    scene.AddBoards(12, 0.7, 11);
    scene.WritePictures(folder);
    std::filesystem::remove(folder / scene.Name(1, 3));
    WriteText(folder / scene.Name(0, 5), "no picture");
    WritePng(folder / scene.Name(1, 7), {400, 320, std::vector<std::uint8_t>(400 * 320, 90)});
    WriteText(folder / "rig.yaml", scene.Yaml("certificate: {working_distance_m: 0.4}\n"));
    return RunCalibration(LoadCalibration(folder / "rig.yaml"), {.threads = 2, .quiet = true});
  }
};

TEST_F(CalibratedScene, GivesTheTruthBackWithFilesThatSayEverything) {
  const CalibrationRun run = MakeRun(scratch_.path());
  ASSERT_TRUE(run.result.usable()) << run.result.reason;
  EXPECT_FALSE(run.refused()) << BriefReport(run.certificate);
  ASSERT_EQ(run.problem.shots.size(), 12U);
  EXPECT_EQ(run.problem.shots[3].views[1].problem, "no picture");
  EXPECT_THAT(run.problem.shots[5].views[0].problem, HasSubstr(".png: "));
  EXPECT_FALSE(run.problem.shots[7].views[1].problem.empty());
  EXPECT_EQ(run.problem.cameras[0].width, 480);
  EXPECT_EQ(run.problem.cameras[1].height, 320);
  const CameraRig truth = CalibrationScene::Stereo().truth;
  const Eigen::VectorXd error = test::RigError(run.result.rig, truth);
  const std::vector<std::string> names = ParameterNames(run.result.rig);
  for (Eigen::Index k = 0; k < error.size(); ++k) {
    const double sd = std::sqrt(run.result.rig.covariance(k, k));
    EXPECT_LE(std::abs(error(k)), 4.5 * sd + 1e-12) << names[static_cast<std::size_t>(k)];
  }

  WriteCalibration(File("out"), run, "impactlab calibrate rig.yaml");
  const CameraRig back = RigFromYaml(File("out/rig.yaml"));
  EXPECT_EQ(Intrinsics(back.cameras[1].camera), Intrinsics(run.result.rig.cameras[1].camera));
  EXPECT_EQ(back.covariance, run.result.rig.covariance);
  const CalibrationConfig again = LoadCalibration(File("out/run.yaml"));
  EXPECT_EQ(again.cameras.size(), 2U);
  EXPECT_THAT(ReadText(File("out/run.yaml")),
              AllOf(HasSubstr("provenance:"), HasSubstr("left_01.png"), HasSubstr("sha256")));
  const auto json = nlohmann::json::parse(ReadText(File("out/calibration.json")));
  EXPECT_EQ(json["schema"], "impactlab.calibration_result/1");
  EXPECT_EQ(json["status"], "solved");
  EXPECT_EQ(json["shots"].size(), 12U);
  EXPECT_EQ(json["parameters"].size(), names.size());
  EXPECT_EQ(json["parameters"][0]["name"], "left.fx_px");
  EXPECT_DOUBLE_EQ(json["parameters"][0]["value"].get<double>(),
                   run.result.rig.cameras[0].camera.fx);
  EXPECT_EQ(json["shots"][0]["views"][0]["points"].size(), 35U);
  EXPECT_EQ(json["certificate"]["cameras"].size(), 2U);

  const std::string text = BriefReport(run);
  EXPECT_THAT(text, AllOf(HasSubstr("7 x 5 inner corners"), HasSubstr("left"),
                          HasSubstr("pictures not used: 2"), HasSubstr("left_06.png")));

  WriteText(File("library.js"), "var Plotly = {};");
  for (const Path& library : {Path(), File("library.js")}) {
    WriteCalibrationPage(File("calibration.html"), run, library);
    const std::string page = ReadText(File("calibration.html"));
    EXPECT_EQ(test::HtmlFault(page), "");
    EXPECT_THAT(page, AllOf(HasSubstr("id=\"residuals\""), HasSubstr("id=\"coverage\""),
                            HasSubstr("id=\"space\""), HasSubstr("id=\"views\""),
                            HasSubstr("data:image/png;base64,"),
                            HasSubstr(ToString(run.certificate.verdict))));
    EXPECT_EQ(test::CountOf(page, "<image "), 4U) << "two views of each camera";
    std::string words;
    for (std::size_t at = 0; at < page.size();) {
      const std::size_t from = std::min(page.find("base64,", at), page.size());
      words += page.substr(at, from - at);
      at = std::min(page.find('"', from), page.size());
    }
    EXPECT_FALSE(std::regex_search(words, std::regex("\\b(nan|inf)\\b|https?://")));
    const auto scene = test::Block(page, "rig-data");
    EXPECT_EQ(scene["cameras"].size(), 2U);
    EXPECT_EQ(scene["boards"].size(), 12U);
    const auto figures = test::Block(page, "figure-data");
    EXPECT_EQ(figures.is_null(), library.empty());
    if (!library.empty()) {
      EXPECT_EQ(figures.size(), 2U);
    }
  }
  // Names are data, not markup.
  CalibrationRun hostile = run;
  hostile.plan.name = "<script>alert(1)</script>";
  hostile.problem.cameras[0].name = hostile.result.rig.cameras[0].name = "a<b&\"c";
  hostile.problem.shots[0].name = "</script><img src=x>";
  hostile.notes.push_back("<b>\xFF</b>");
  WriteCalibrationPage(File("hostile.html"), hostile, File("library.js"));
  const std::string page = ReadText(File("hostile.html"));
  EXPECT_EQ(test::HtmlFault(page), "");
  EXPECT_EQ(test::CountOf(page, "<script>alert"), 0U);
  EXPECT_EQ(test::CountOf(page, "<img"), 0U);
}

TEST_F(CalibratedScene, ARefusedRigIsNotWrittenAndTheLastOneStays) {
  CalibrationScene scene = CalibrationScene::Mono();
  scene.AddBoards(8, 0, 5, 0.4, 0.4, 0);  // all parallel, one depth
  scene.WritePictures(scratch_.path());
  WriteText(File("rig.yaml"), scene.Yaml());
  const CalibrationRun run =
      RunCalibration(LoadCalibration(File("rig.yaml")), {.threads = 2, .quiet = true});
  EXPECT_TRUE(run.refused());
  WriteText(File("out/rig.yaml"), "the last good one");
  WriteCalibration(File("out"), run, "");
  EXPECT_EQ(ReadText(File("out/rig.yaml")), "the last good one");
  EXPECT_TRUE(nlohmann::json::parse(ReadText(File("out/calibration.json")))["refused"].get<bool>());
  WriteCalibrationPage(File("out/calibration.html"), run, {});
  const std::string page = ReadText(File("out/calibration.html"));
  EXPECT_EQ(test::HtmlFault(page), "");
  EXPECT_THAT(page,
              AllOf(HasSubstr("Refused"), HasSubstr("What to film next"), HasSubstr("<image ")));
}

// Two videos of one rig: the second lost a frame and starts later in its container. Paired by time
// the frames still show one instant.
TEST_F(CalibrateTest, FramesOfTwoVideosArePairedByTime) {
  CalibrationScene scene = CalibrationScene::Stereo();
  scene.AddBoards(10, 0.7, 21);
  // Each board stands still for two frames, 10 ms apart.
  const int n = 20;
  for (std::size_t c = 0; c < 2; ++c) {
    std::vector<GrayImage> pictures;
    for (std::size_t k = 0; k < scene.X_WG.size(); ++k) pictures.push_back(scene.Picture(c, k));
    std::vector<std::int64_t> stamps;
    std::vector<int> frames;
    for (int k = 0; k < n; ++k) {
      if (c == 1 && k == 9) continue;
      frames.push_back(k);
      stamps.push_back(10 * k + (c == 1 ? 5000 : 0));
    }
    const Camera& camera = scene.truth.cameras[c].camera;
    test::WriteClip(
        File(scene.truth.cameras[c].name + ".mkv"),
        {.encoder = "ffv1",
         .width = camera.width,
         .height = camera.height,
         .time_base = {1, 1000},
         .stamps = stamps},
        [&](int k, AVFrame& frame) {
          test::FillGray(
              frame, pictures[static_cast<std::size_t>(frames[static_cast<std::size_t>(k)] / 2)]);
        });
  }
  WriteText(File("rig.yaml"),
            "board: {kind: chessboard, corners: [7, 5], square_m: 0.02}\ncameras:\n"
            "  - {name: left, video: left.mkv}\n  - {name: right, video: right.mkv}\nframes: "
            "{most: 10}\n");
  const CalibrationRun run =
      RunCalibration(LoadCalibration(File("rig.yaml")), {.threads = 2, .quiet = true});
  ASSERT_TRUE(run.result.usable()) << run.result.reason;
  EXPECT_EQ(run.problem.shots.size(), 10U);
  for (const BoardShot& shot : run.problem.shots) {
    // Frame numbers of the second video fall behind by one after the gap.
    const int left = std::stoi(shot.views[0].image.substr(shot.views[0].image.rfind('#') + 1));
    if (shot.views[1].points.empty()) continue;
    const int right = std::stoi(shot.views[1].image.substr(shot.views[1].image.rfind('#') + 1));
    EXPECT_EQ(right, left > 9 ? left - 1 : left);
  }
  EXPECT_LT(std::abs((run.result.rig.cameras[1].X_WC.translation() -
                      scene.truth.cameras[1].X_WC.translation())
                         .norm()),
            1e-3);
  EXPECT_THAT(run.notes, ::testing::Contains(HasSubstr("must have started together")));
  // The page shows frames of videos too.
  WriteCalibrationPage(File("calibration.html"), run, {});
  EXPECT_EQ(test::CountOf(ReadText(File("calibration.html")), "<image "), 4U);
}

TEST_F(CalibrateTest, AVideoIsNoPictureAndTheOtherWayRound) {
  WritePng(File("a.png"), {40, 30, std::vector<std::uint8_t>(1200, 9)});
  WriteText(File("rig.yaml"), kBoard + "cameras:\n  - {name: left, video: a.png}\n");
  try {
    RunCalibration(LoadCalibration(File("rig.yaml")), {.threads = 1, .quiet = true});
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("name pictures with images"));
  }
}

TEST_F(CalibrateTest, NoBoardInAnyPictureSaysWhatIsCounted) {
  WritePng(File("a1.png"), {80, 60, std::vector<std::uint8_t>(4800, 90)});
  WriteText(File("rig.yaml"), kBoard + "cameras:\n  - {name: left, images: a1.png}\n");
  try {
    RunCalibration(LoadCalibration(File("rig.yaml")), {.threads = 1, .quiet = true});
    ADD_FAILURE();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("9 x 6 inner corners"), HasSubstr("one less each way than squares"),
                      HasSubstr("a1.png")));
  }
}

}  // namespace
}  // namespace impactlab
