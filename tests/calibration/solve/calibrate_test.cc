#include "calibration/solve/calibrate.h"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "calibration/solve/bundle.h"
#include "data/base/error.h"
#include "tests/support/rig_twin.h"

namespace impactlab {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

test::RigTwinOptions Stereo() {
  test::RigTwinOptions options;
  options.cameras = {test::MakePinhole(1280, 720, 1100),
                     test::MakePinhole(1280, 720, 1150, -0.2, 0.08)};
  options.X_WC = {Eigen::Isometry3d::Identity(), test::BesideLooking(0.3, 0.6)};
  options.shots = 20;
  return options;
}

test::RigTwinOptions Mono() {
  test::RigTwinOptions options = Stereo();
  options.cameras.resize(1);
  options.X_WC.resize(1);
  return options;
}

// Square root of the squared error over its covariance, per parameter.
double NormalisedError(const CalibrationResult& result, const CameraRig& truth) {
  const Eigen::VectorXd error = test::RigError(result.rig, truth),
                        variance = result.rig.covariance.diagonal();
  double sum = 0;
  int n = 0;
  for (int i = 0; i < error.size(); ++i) {
    if (!(variance[i] > 0)) continue;
    sum += error[i] * error[i] / variance[i];
    ++n;
  }
  return std::sqrt(sum / n);
}

// Points of one view renumbered as if listed from another corner: true point i carries the label of
// i turned by `turns` half turns.
void TurnHalf(BoardView& view, const Board& board) {
  for (BoardPoint& point : view.points) point.id = PointCount(board) - 1 - point.id;
  std::reverse(view.points.begin(), view.points.end());
}

void TurnQuarter(BoardView& view, const Board& board) {
  const int n = board.columns;
  for (BoardPoint& point : view.points) {
    const int row = point.id / n, column = point.id % n;
    point.id = column * n + (n - 1 - row);
  }
  std::sort(view.points.begin(), view.points.end(),
            [](const BoardPoint& a, const BoardPoint& b) { return a.id < b.id; });
}

TEST(Calibrate, RecoversExactRigsFromExactPoints) {
  for (const int kind : {0, 1, 2}) {
    test::RigTwinOptions options = Stereo();
    options.pixel_sd = 0;
    if (kind == 1) {
      options.cameras = {test::MakeFisheye(1280, 960, 400), test::MakeFisheye(640, 480, 210)};
      options.distance_min = 0.15;
      options.distance_max = 0.4;
    }
    if (kind == 2) {
      options.cameras.push_back(test::MakePinhole(640, 480, 600));
      options.X_WC.push_back(test::BesideLooking(-0.25, 0.6, 0.3));
      options.warp << 8e-4, -4e-4;
    }
    const test::RigTwin twin = test::MakeRigTwin(options, 11);
    const CalibrationResult result = Calibrate(twin.problem);
    ASSERT_TRUE(result.usable()) << result.reason;
    EXPECT_LT(test::RigError(result.rig, twin.truth).cwiseAbs().maxCoeff(), 2e-5) << kind;
    EXPECT_LT((result.warp - twin.warp).norm(), 1e-8);
    EXPECT_LT(result.cost, 1e-10);
  }
}

TEST(Calibrate, ErrorsAreThoseOfTheCovariance) {
  const test::RigTwin twin = test::MakeRigTwin(Stereo(), 3);
  const CalibrationResult result = Calibrate(twin.problem);
  ASSERT_TRUE(result.usable()) << result.reason;
  EXPECT_GT(NormalisedError(result, twin.truth), 0.5);
  EXPECT_LT(NormalisedError(result, twin.truth), 1.7);
  EXPECT_NEAR(result.sigma[0], 0.2, 0.01);
  EXPECT_NEAR(result.sigma[1], 0.2, 0.01);
  // The first camera is the frame: its pose has no error.
  EXPECT_EQ(result.rig.covariance.block(9, 0, 6, result.rig.covariance.cols()).norm(), 0);
}

TEST(Calibrate, PosesOfBoardsCarryTheirCovariance) {
  // Chi-square of one board pose over repeated noise.
  double chi_square = 0;
  const int repeats = 40;
  for (int k = 0; k < repeats; ++k) {
    test::RigTwinOptions options = Stereo();
    options.shots = 10;
    const test::RigTwin twin = test::MakeRigTwin(options, 500 + k);
    const CalibrationResult result = Calibrate(twin.problem);
    ASSERT_TRUE(result.usable()) << result.reason;
    const ShotResult& shot = result.shots[4];
    const Eigen::Matrix<double, 6, 6> cov =
        shot.cov_given_common +
        shot.dpose_dcommon * result.cov_common * shot.dpose_dcommon.transpose();
    Eigen::Matrix<double, 6, 1> error;
    const Eigen::AngleAxisd turn(twin.X_WG[4].linear().transpose() * shot.X_WG.linear());
    error << turn.angle() * turn.axis(), shot.X_WG.translation() - twin.X_WG[4].translation();
    chi_square += error.dot(cov.ldlt().solve(error));
  }
  EXPECT_GT(chi_square, 6 * repeats - 4 * std::sqrt(12.0 * repeats));
  EXPECT_LT(chi_square, 6 * repeats + 4 * std::sqrt(12.0 * repeats));
}

TEST(Calibrate, ListsOutliersAndLeavesThemOut) {
  test::RigTwinOptions options = Stereo();
  options.outlier_share = 0.02;
  const test::RigTwin twin = test::MakeRigTwin(options, 21);
  const CalibrationResult result = Calibrate(twin.problem);
  ASSERT_TRUE(result.usable()) << result.reason;
  EXPECT_NEAR(result.n_outliers, twin.outliers, 2);
  EXPECT_LT(NormalisedError(result, twin.truth), 1.7);
  int listed = 0;
  for (const ShotResult& shot : result.shots)
    for (const ViewResult& view : shot.views)
      for (const PointResidual& point : view.points) {
        listed += point.outlier;
        if (point.outlier) {
          EXPECT_GT(point.residual.norm(), 0.5);
        }
      }
  EXPECT_EQ(listed, result.n_outliers);
}

TEST(Calibrate, FixedSharedAndPriorParameters) {
  test::RigTwinOptions options = Stereo();
  options.cameras[1] = options.cameras[0];
  test::RigTwin twin = test::MakeRigTwin(options, 8);
  twin.problem.cameras[1].shares_intrinsics_with = 0;
  CameraSetup& setup = twin.problem.cameras[0];
  setup.start = options.cameras[0];
  setup.fixed = {"k3", "p1", "p2"};
  setup.priors = {{"fx_px", 1100, 0.01}};
  const CalibrationResult result = Calibrate(twin.problem);
  ASSERT_TRUE(result.usable()) << result.reason;
  const Camera &a = result.rig.cameras[0].camera, &b = result.rig.cameras[1].camera;
  EXPECT_EQ(Intrinsics(a), Intrinsics(b));
  EXPECT_EQ(a.distortion[4], options.cameras[0].distortion[4]);
  EXPECT_NEAR(a.fx, 1100, 0.05);
  EXPECT_LT(std::sqrt(result.rig.covariance(0, 0)), 0.0101);
  EXPECT_EQ(result.rig.covariance(8, 8), 0);
  // Shared means fully correlated.
  const int second = FirstParameter(result.rig, 1);
  EXPECT_DOUBLE_EQ(result.rig.covariance(0, second), result.rig.covariance(0, 0));
}

TEST(Calibrate, AsksForSetupsThatMakeSense) {
  const test::RigTwin twin = test::MakeRigTwin(Stereo(), 1);
  const auto message = [&](auto change) {
    CalibrationProblem problem = twin.problem;
    change(problem);
    try {
      Calibrate(problem);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(message([](auto& p) { p.cameras.clear(); }), HasSubstr("at least one camera"));
  EXPECT_THAT(message([](auto& p) { p.cameras[1].name = "camera0"; }), HasSubstr("used twice"));
  EXPECT_THAT(message([](auto& p) { p.cameras[0].fixed = {"k7"}; }),
              HasSubstr("k7 is no parameter of the brown model"));
  EXPECT_THAT(message([](auto& p) {
                p.cameras[0].priors = {{"k1", 0, 0}};
              }),
              HasSubstr("sd must be above 0"));
  EXPECT_THAT(message([](auto& p) { p.cameras[0].shares_intrinsics_with = 1; }),
              HasSubstr("does not come before"));
  EXPECT_THAT(message([](auto& p) { p.shots[3].views.pop_back(); }),
              HasSubstr("1 views for 2 cameras"));
  EXPECT_THAT(message([](auto& p) { p.shots[3].views[0].points[0].q.x() = NAN; }),
              HasSubstr("not a finite number"));
  EXPECT_THAT(message([](auto& p) { p.shots[3].views[0].points[0].id = 77; }),
              HasSubstr("ids rise"));
  EXPECT_THAT(message([](auto& p) { p.board.pitch = 0; }), HasSubstr("board:"));
}

TEST(Calibrate, SaysWhenThereIsNothingToSee) {
  test::RigTwin twin = test::MakeRigTwin(Stereo(), 1);
  for (BoardShot& shot : twin.problem.shots) shot.views[1].points.clear();
  const CalibrationResult result = Calibrate(twin.problem);
  EXPECT_EQ(result.status, CalibrationStatus::kNoData);
  EXPECT_THAT(result.reason, HasSubstr("camera1"));
}

TEST(Calibrate, SaysWhenCamerasShareNoShot) {
  test::RigTwin twin = test::MakeRigTwin(Stereo(), 1);
  for (std::size_t s = 0; s < twin.problem.shots.size(); ++s)
    twin.problem.shots[s].views[s % 2].points.clear();
  const CalibrationResult result = Calibrate(twin.problem);
  EXPECT_EQ(result.status, CalibrationStatus::kUndetermined);
  EXPECT_THAT(result.reason, HasSubstr("never sees the board in the same shot"));
}

TEST(Calibrate, HostileT11PairsThatSeeDifferentPoints) {
  // Fisheye pairs of different counts, which OpenCV's stereo calibration refuses.
  test::RigTwinOptions options = Stereo();
  options.cameras = {test::MakeFisheye(1280, 960, 400), test::MakeFisheye(1280, 960, 410)};
  options.distance_min = 0.15;
  options.distance_max = 0.4;
  test::RigTwin twin = test::MakeRigTwin(options, 6);
  for (std::size_t s = 0; s < twin.problem.shots.size(); ++s)
    for (int c = 0; c < 2; ++c)
      std::erase_if(twin.problem.shots[s].views[c].points,
                    [&](const BoardPoint& p) { return (p.id * 7 + s + 3 * c) % 4 == 0; });
  const CalibrationResult result = Calibrate(twin.problem);
  ASSERT_TRUE(result.usable()) << result.reason;
  EXPECT_LT(NormalisedError(result, twin.truth), 1.7);
}

TEST(Calibrate, HostileT02TurnedPairsAreTurnedBack) {
  // 25 % of the pairs listed from the opposite corner; on a square board also from its neighbours.
  for (const bool square : {false, true}) {
    test::RigTwinOptions options = Stereo();
    if (square) options.board.columns = options.board.rows = 7;
    test::RigTwin twin = test::MakeRigTwin(options, 31);
    const CalibrationResult clean = Calibrate(twin.problem);
    ASSERT_TRUE(clean.usable()) << clean.reason;
    int turned = 0;
    for (std::size_t s = 0; s < twin.problem.shots.size(); ++s) {
      for (BoardView& view : twin.problem.shots[s].views) view.orientation_known = false;
      if (s % 4 != 1) continue;
      turned += !twin.problem.shots[s].views[0].points.empty() &&
                !twin.problem.shots[s].views[1].points.empty();
      BoardView& view = twin.problem.shots[s].views[s % 8 == 1 ? 0 : 1];
      square&& s % 8 == 1 ? TurnQuarter(view, options.board) : TurnHalf(view, options.board);
    }
    const CalibrationResult result = Calibrate(twin.problem);
    ASSERT_TRUE(result.usable()) << result.reason;
    // Which of two views was turned cannot be told; after a quarter turn of both the warp has its
    // axes exchanged in that shot.
    EXPECT_NEAR(result.cost, clean.cost, (square ? 1e-3 : 1e-6) * clean.cost);
    EXPECT_LT(
        (result.rig.cameras[1].X_WC.translation() - clean.rig.cameras[1].X_WC.translation()).norm(),
        square ? 5e-5 : 1e-7);
    EXPECT_GE(turned, 4);
    EXPECT_THAT(result.notes,
                Contains(HasSubstr(fmt::format("grid orientation mix: in {} shots", turned))));

    CalibrationOptions strict;
    strict.fix_order = false;
    const CalibrationResult rejected = Calibrate(twin.problem, strict);
    int named = 0;
    for (const ShotResult& shot : rejected.shots)
      for (const ViewResult& view : shot.views)
        named += view.rejected.find("grid orientation mix") != std::string::npos;
    EXPECT_EQ(named, turned);
    EXPECT_LT(
        (rejected.rig.cameras[1].X_WC.translation() - twin.truth.cameras[1].X_WC.translation())
            .norm(),
        2e-3);
  }
}

TEST(Calibrate, HostileT03PortraitListsAreNamed) {
  test::RigTwin twin = test::MakeRigTwin(Stereo(), 33);
  const Board& board = twin.problem.board;
  const CalibrationResult clean = Calibrate(twin.problem);
  for (std::size_t s = 0; s < twin.problem.shots.size(); s += 2)
    for (BoardView& view : twin.problem.shots[s].views) {
      view.orientation_known = false;
      if (static_cast<int>(view.points.size()) < PointCount(board)) continue;
      // Listed as six columns of nine, from the top right corner of the upright board.
      for (BoardPoint& point : view.points) {
        const int row = point.id / board.columns, column = point.id % board.columns;
        point.id = column * board.rows + (board.rows - 1 - row);
      }
      std::sort(view.points.begin(), view.points.end(),
                [](const BoardPoint& a, const BoardPoint& b) { return a.id < b.id; });
    }
  const CalibrationResult result = Calibrate(twin.problem);
  ASSERT_TRUE(result.usable()) << result.reason;
  EXPECT_NEAR(result.cost, clean.cost, 1e-6 * clean.cost);
  EXPECT_THAT(result.shots[0].views[0].note, HasSubstr("grid orientation mix"));

  // All of one camera that way, and no leave to renumber: named, not a big number.
  CalibrationOptions strict;
  strict.fix_order = false;
  CalibrationProblem half = twin.problem;
  for (std::size_t s = 0; s < half.shots.size(); ++s)
    if (s % 2 == 1 || static_cast<int>(half.shots[s].views[0].points.size()) < PointCount(board))
      half.shots[s].views[0].points.clear();
  const CalibrationResult refused = Calibrate(half, strict);
  EXPECT_FALSE(refused.usable());
  EXPECT_THAT(refused.reason, HasSubstr("grid orientation mix"));
}

TEST(Calibrate, HostileT04GuessesDoNotChangeTheOptimum) {
  const test::RigTwin twin = test::MakeRigTwin(Stereo(), 41);
  const CalibrationResult free = Calibrate(twin.problem);
  ASSERT_TRUE(free.usable()) << free.reason;
  for (const double factor : {1.0, 0.5, 2.0}) {
    CalibrationProblem guessed = twin.problem;
    for (std::size_t c = 0; c < 2; ++c) {
      Camera start = twin.truth.cameras[c].camera;
      start.fx *= factor;
      start.fy *= factor;
      if (factor != 1) start.distortion = {0.1, 0, 0, 0, 0};
      guessed.cameras[c].start = start;
    }
    const CalibrationResult result = Calibrate(guessed);
    ASSERT_TRUE(result.usable()) << factor << " " << result.reason;
    EXPECT_NEAR(result.cost, free.cost, 1e-6 * free.cost) << factor;
    EXPECT_NEAR(result.rig.cameras[0].camera.fx, free.rig.cameras[0].camera.fx,
                1e-6 * free.rig.cameras[0].camera.fx);
    EXPECT_TRUE(result.starts_agreeing == result.starts || !result.notes.empty());
  }
}

TEST(Calibrate, HostileT06ParallelBoardsAreRefused) {
  test::RigTwinOptions options = Mono();
  options.shots = 30;
  options.max_tilt = 0;
  options.distance_min = options.distance_max = 0.6;
  test::RigTwin twin = test::MakeRigTwin(options, 51);
  // Exactly parallel: the board slid in its own plane.
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> unit(-1, 1);
  std::normal_distribution<double> normal;
  for (BoardShot& shot : twin.problem.shots) {
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
    X.translation() << -0.1 + 0.15 * unit(random), -0.06 + 0.08 * unit(random), 0.6;
    shot.views[0].points.clear();
    for (int id = 0; id < PointCount(options.board); ++id)
      if (const auto q = Project(options.cameras[0], X * PointOnBoard(options.board, id)))
        shot.views[0].points.push_back(
            {id, *q + 0.2 * Eigen::Vector2d(normal(random), normal(random)), 1});
  }
  const CalibrationResult result = Calibrate(twin.problem);
  EXPECT_FALSE(result.usable());
  EXPECT_EQ(result.status, CalibrationStatus::kUndetermined);
  EXPECT_THAT(result.reason, HasSubstr("parallel"));
}

TEST(Calibrate, HostileT08AllStartsEndAtOneOptimum) {
  test::RigTwinOptions options = Stereo();
  options.outlier_share = 0.01;
  const test::RigTwin twin = test::MakeRigTwin(options, 61);
  CalibrationOptions many;
  many.random_starts = 19;
  const CalibrationResult result = Calibrate(twin.problem, many);
  ASSERT_TRUE(result.usable()) << result.reason;
  EXPECT_EQ(result.starts, 20);
  EXPECT_TRUE(result.starts_agreeing == 20 || !result.notes.empty()) << result.starts_agreeing;
  EXPECT_GE(result.starts_agreeing, 18);
  const CalibrationResult again = Calibrate(twin.problem, many);
  EXPECT_EQ(again.cost, result.cost);
  EXPECT_EQ(again.rig.cameras[1].X_WC.matrix(), result.rig.cameras[1].X_WC.matrix());
}

TEST(Calibrate, HostileT09MirroredPicturesAreNamed) {
  test::RigTwinOptions options = Stereo();
  for (int k = 2; k < 5; ++k) {
    options.cameras.push_back(test::MakePinhole(640, 480, 600));
    options.X_WC.push_back(test::BesideLooking(-0.15 * k, 0.6));
  }
  test::RigTwin twin = test::MakeRigTwin(options, 71);
  for (BoardShot& shot : twin.problem.shots)
    for (BoardPoint& point : shot.views[3].points) point.q.x() = 639 - point.q.x();
  const CalibrationResult result = Calibrate(twin.problem);
  EXPECT_FALSE(result.usable());
  EXPECT_EQ(result.status, CalibrationStatus::kInconsistent);
  EXPECT_THAT(result.reason, HasSubstr("camera3"));
  EXPECT_THAT(result.reason, HasSubstr("mirrored"));
  EXPECT_TRUE(std::isfinite(result.cost));
}

TEST(Calibrate, HostileT09MirroredChessboardsAreNamed) {
  // A detector cannot tell a mirrored chessboard from a turned one and lists its points as if
  // nothing were wrong.
  test::RigTwin twin = test::MakeRigTwin(Stereo(), 73);
  const Board& board = twin.problem.board;
  for (BoardShot& shot : twin.problem.shots) {
    BoardView& view = shot.views[1];
    for (BoardPoint& point : view.points) {
      point.q.x() = view.width - 1 - point.q.x();
      point.id =
          point.id / board.columns * board.columns + board.columns - 1 - point.id % board.columns;
    }
    std::sort(view.points.begin(), view.points.end(),
              [](const BoardPoint& a, const BoardPoint& b) { return a.id < b.id; });
  }
  const CalibrationResult result = Calibrate(twin.problem);
  EXPECT_EQ(result.status, CalibrationStatus::kInconsistent);
  EXPECT_THAT(result.reason, HasSubstr("are mirrored"));
}

TEST(Calibrate, HostileT12StretchedPicturesKeepTheirAspect) {
  // 512 x 424 stretched to 1920 x 1080 beside an ordinary camera.
  test::RigTwinOptions options = Stereo();
  Camera stretched = test::MakePinhole(1920, 1080, 365 * 1920.0 / 512);
  Eigen::VectorXd x = Intrinsics(stretched);
  x[1] = 365 * 1080.0 / 424;
  SetIntrinsics(stretched, x);
  options.cameras[0] = stretched;
  const test::RigTwin twin = test::MakeRigTwin(options, 81);
  const CalibrationResult result = Calibrate(twin.problem);
  ASSERT_TRUE(result.usable()) << result.reason;
  EXPECT_LT(NormalisedError(result, twin.truth), 1.7);
  EXPECT_NEAR(result.rig.cameras[0].camera.fx / result.rig.cameras[0].camera.fy,
              (1920.0 / 512) / (1080.0 / 424), 1e-3);
  EXPECT_THAT(result.notes, Contains(HasSubstr("pixels are not square")));
}

TEST(Calibrate, SwappedPicturesAreNamed) {
  test::RigTwinOptions options = Stereo();
  options.cameras[1] = options.cameras[0];
  test::RigTwin twin = test::MakeRigTwin(options, 91);
  for (const std::size_t s : {2, 7, 11})
    std::swap(twin.problem.shots[s].views[0], twin.problem.shots[s].views[1]);
  const CalibrationResult result = Calibrate(twin.problem);
  ASSERT_TRUE(result.usable()) << result.reason;
  EXPECT_THAT(result.shots[7].views[0].rejected, HasSubstr("swapped"));
  EXPECT_THAT(result.notes, Contains(HasSubstr("swapped cameras: in 3 shots")));
  EXPECT_LT(NormalisedError(result, twin.truth), 1.8);
}

TEST(Calibrate, UnsynchronisedShotsAreLeftOut) {
  test::RigTwin twin = test::MakeRigTwin(Stereo(), 95);
  std::swap(twin.problem.shots[2].views[1], twin.problem.shots[9].views[1]);
  const CalibrationResult result = Calibrate(twin.problem);
  ASSERT_TRUE(result.usable()) << result.reason;
  EXPECT_THAT(result.shots[2].views[1].rejected, HasSubstr("do not agree"));
  EXPECT_LT(NormalisedError(result, twin.truth), 1.8);
}

TEST(Calibrate, WrongSquareCountIsNamed) {
  // An 8 x 6 grid read as the first 48 points of a 9 x 6 one.
  test::RigTwinOptions options = Mono();
  options.board.columns = 8;
  test::RigTwin twin = test::MakeRigTwin(options, 97);
  twin.problem.board.columns = 9;
  const CalibrationResult result = Calibrate(twin.problem);
  EXPECT_FALSE(result.usable());
  EXPECT_THAT(result.reason, HasSubstr("wrong count of points"));
}

TEST(ChooseLens, TakesTheSimplestThatPredicts) {
  test::RigTwinOptions options = Mono();
  options.shots = 15;
  const test::RigTwin plain = test::MakeRigTwin(options, 101);
  const std::vector<LensModel> all{LensModel::kBrown, LensModel::kRational, LensModel::kFisheye};
  EXPECT_NE(ChooseLens(plain.problem, all).chosen[0], LensModel::kRational);
  options.cameras = {test::MakeFisheye(1280, 960, 380)};
  options.distance_min = 0.15;
  options.distance_max = 0.4;
  const LensChoice wide = ChooseLens(test::MakeRigTwin(options, 103).problem, all);
  EXPECT_EQ(wide.chosen[0], LensModel::kFisheye);
  EXPECT_EQ(wide.scores[0].size(), 3u);
}

}  // namespace
}  // namespace impactlab
