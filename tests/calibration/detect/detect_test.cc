#include "calibration/detect/detect.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "calibration/detect/detail/disc.h"
#include "calibration/detect/detail/features.h"
#include "tests/calibration/board_scene.h"
#include "tracking/video/video.h"

namespace impactlab {
namespace {

using testing::AddErrors;
using testing::Fill;
using testing::MakeBoard;
using testing::MakeCamera;
using testing::MirroredImage;
using testing::Pose;
using testing::Score;

RenderOptions Light(double blur, double noise, std::uint64_t seed = 1) {
  RenderOptions options;
  options.blur = blur;
  options.noise_sd = noise;
  options.light = {0.15, -0.1};
  options.seed = seed;
  return options;
}

bool Says(const BoardView& view, const std::string& words) {
  return view.problem.find(words) != std::string::npos;
}

TEST(DetectTest, ChessboardCornersWithinHundredthsOfAPixel) {
  const Camera camera = MakeCamera();
  const Board board = MakeBoard(BoardKind::kChessboard);
  Score score;
  for (int k = 0; k < 4; ++k) {
    const Eigen::Isometry3d X = Pose(board, k % 2 == 0 ? 0.3 : 1.0, 1.3 * k, 0.4 * k, {0, 0, 0.4});
    const BoardView view =
        DetectBoard(RenderBoard(camera, X, board, {0, 0}, Light(1, 2, k + 1)), board);
    ASSERT_EQ(view.problem, "");
    EXPECT_EQ(view.points.size(), 54u);
    EXPECT_TRUE(view.orientation_known);
    EXPECT_NEAR(1 / view.sharpness, 1.05, 0.2);
    for (std::size_t i = 1; i < view.points.size(); ++i)
      EXPECT_LT(view.points[i - 1].id, view.points[i].id);
    for (const BoardPoint& p : view.points) EXPECT_GE(p.sd, 1);
    AddErrors(view, camera, X, board, &score);
  }
  EXPECT_LT(score.rms(), 0.02);
  EXPECT_LT(score.worst, 0.08);
}

// The board turned once around: each of its corners keeps its name, whatever order a detector
// prefers at that angle.
TEST(DetectTest, HostileT01NamesStayWhenTheBoardTurns) {
  const Camera camera = MakeCamera();
  const Board board = MakeBoard(BoardKind::kChessboard);
  for (const auto method : {DetectOptions::Method::kAuto, DetectOptions::Method::kClassic}) {
    for (int k = 0; k < 8; ++k) {
      const Eigen::Isometry3d X = Pose(board, 0.4, 0.3 * k, 2 * M_PI * k / 8 + 0.01, {0, 0, 0.5});
      DetectOptions options;
      options.method = method;
      const BoardView view = DetectBoard(RenderBoard(camera, X, board), board, options);
      ASSERT_EQ(view.problem, "") << k;
      Score score;
      AddErrors(view, camera, X, board, &score);
      EXPECT_LT(score.worst, 0.1) << k;
    }
  }
}

// Every order a detector may hand over gives the same list.
TEST(DetectTest, HostileT01OrderDoesNotDependOnTheDetector) {
  const Camera camera = MakeCamera();
  for (const auto& [columns, rows] :
       {std::pair{9, 6}, std::pair{8, 6}, std::pair{6, 6}, std::pair{7, 7}}) {
    Board board;
    board.columns = columns;
    board.rows = rows;
    const Eigen::Isometry3d X = Pose(board, 0.5, 0.7, 0.2, {0, 0, 0.45});
    const GrayImage image = RenderBoard(camera, X, board);
    std::vector<std::vector<Eigen::Vector2d>> results;
    for (int form = 0; form < 8; ++form) {  // four turns, each also mirrored
      calibration::CornerGrid grid;
      const bool turned = form % 2 == 1;
      grid.columns = turned ? rows : columns;
      grid.rows = turned ? columns : rows;
      for (int r = 0; r < grid.rows; ++r) {
        for (int c = 0; c < grid.columns; ++c) {
          int x = turned ? r : c, y = turned ? c : r;
          if (form & 2) x = columns - 1 - x;
          if (form & 4) y = rows - 1 - y;
          grid.q.push_back(*ProjectBoardPoint(camera, X, board, {0, 0}, y * columns + x));
        }
      }
      calibration::FitGrid(image, &grid);
      bool known = false;
      ASSERT_TRUE(calibration::CanonicalOrder(board, &grid, &known));
      EXPECT_EQ(known, (columns + rows) % 2 == 1);
      results.push_back(grid.q);
      const Eigen::Vector2d u = grid.q[1] - grid.q[0], v = grid.q[columns] - grid.q[0];
      EXPECT_GT(u.x() * v.y() - u.y() * v.x(), 0);
      if (!known) {
        EXPECT_GT(u.x(), 0.5 * u.norm());
      }
    }
    for (const auto& q : results)
      for (std::size_t k = 0; k < q.size(); ++k) EXPECT_LT((q[k] - results[0][k]).norm(), 1e-2);
  }
}

TEST(DetectTest, WrongNumberOfSquaresIsNamed) {
  const Camera camera = MakeCamera();
  const Board board = MakeBoard(BoardKind::kChessboard);
  const GrayImage image = RenderBoard(camera, Pose(board, 0.3, 1, 0.1, {0, 0, 0.4}), board);
  for (const auto& [columns, rows] :
       {std::pair{8, 6}, std::pair{9, 7}, std::pair{8, 5}, std::pair{10, 6}, std::pair{3, 3}}) {
    Board asked = board;
    asked.columns = columns;
    asked.rows = rows;
    for (const auto method : {DetectOptions::Method::kAuto, DetectOptions::Method::kClassic}) {
      DetectOptions options;
      options.method = method;
      const BoardView view = DetectBoard(image, asked, options);
      EXPECT_TRUE(view.points.empty());
      EXPECT_TRUE(Says(view, "a grid of 9 x 6 inner corners was found, " + std::to_string(columns) +
                                 " x " + std::to_string(rows) + " asked"))
          << view.problem;
    }
  }
  Board portrait = board;
  std::swap(portrait.columns, portrait.rows);
  EXPECT_EQ(DetectBoard(image, portrait).points.size(), 54u);
}

TEST(DetectTest, PicturesWithoutABoardAreProblemsNotErrors) {
  std::mt19937_64 rng(5);
  std::vector<GrayImage> images;
  images.push_back({0, 0, {}});
  images.push_back({640, 480, {}});  // no pixels
  images.push_back({3, 2, std::vector<std::uint8_t>(6, 7)});
  for (const int value : {0, 128, 255})
    images.push_back(
        {320, 240, std::vector<std::uint8_t>(320 * 240, static_cast<std::uint8_t>(value))});
  GrayImage noise{320, 240, std::vector<std::uint8_t>(320 * 240)};
  for (auto& p : noise.pixels) p = static_cast<std::uint8_t>(rng() & 255);
  images.push_back(noise);
  GrayImage stripes{320, 240, std::vector<std::uint8_t>(320 * 240)};
  for (int y = 0; y < 240; ++y)
    for (int x = 0; x < 320; ++x) stripes.At(x, y) = x / 16 % 2 == 0 ? 20 : 230;
  images.push_back(stripes);
  images.push_back({2000, 24, std::vector<std::uint8_t>(2000 * 24, 90)});
  for (const GrayImage& image : images) {
    for (const BoardKind kind : {BoardKind::kChessboard, BoardKind::kCharuco, BoardKind::kCircles,
                                 BoardKind::kAsymmetricCircles}) {
      const BoardView view = DetectBoard(image, MakeBoard(kind));
      EXPECT_TRUE(view.points.empty());
      EXPECT_FALSE(view.problem.empty());
      EXPECT_FALSE(view.mirrored);
    }
  }
  Board bad = MakeBoard(BoardKind::kChessboard);
  bad.pitch = -1;
  EXPECT_TRUE(Says(DetectBoard(images[3], bad), "pitch"));
}

TEST(DetectTest, SaturatedAndDimPicturesKeepTheirCorners) {
  const Camera camera = MakeCamera();
  const Board board = MakeBoard(BoardKind::kChessboard);
  const Eigen::Isometry3d X = Pose(board, 0.5, 0.4, 0, {0, 0, 0.42});
  RenderOptions bright = Light(1, 2);
  bright.white = 400;
  bright.background = 300;
  RenderOptions dim = Light(1, 1);
  dim.black = 12;
  dim.white = 40;
  dim.background = 20;
  for (const RenderOptions& options : {bright, dim}) {
    const BoardView view = DetectBoard(RenderBoard(camera, X, board, {0, 0}, options), board);
    ASSERT_EQ(view.problem, "");
    Score score;
    AddErrors(view, camera, X, board, &score);
    EXPECT_EQ(score.points, 54);
    EXPECT_LT(score.rms(), 0.05);
  }
}

// Of two boards the larger one in view; hidden corners are left out.
TEST(DetectTest, TwoBoardsAndAHandInFront) {
  const Camera camera = MakeCamera(1280, 720, 900);
  const Board board = MakeBoard(BoardKind::kChessboard);
  const Eigen::Isometry3d near = Pose(board, 0.3, 0.4, 0, {-0.13, 0, 0.5}),
                          far = Pose(board, 0.3, 1.4, 0.1, {0.22, 0, 0.75});
  GrayImage image = RenderBoard(camera, near, board);
  const GrayImage other = RenderBoard(camera, far, board);
  for (int y = 0; y < 720; ++y)
    for (int x = 660; x < 1280; ++x) image.At(x, y) = other.At(x, y);
  BoardView view = DetectBoard(image, board);
  ASSERT_EQ(view.problem, "");
  Score score;
  AddErrors(view, camera, near, board, &score);
  EXPECT_LT(score.worst, 0.1);

  const Eigen::Vector2d hidden = *ProjectBoardPoint(camera, near, board, {0, 0}, 21);
  Fill(&image, static_cast<int>(hidden.x()) - 20, static_cast<int>(hidden.y()) - 20, 40, 40, 140);
  view = DetectBoard(image, board);
  ASSERT_EQ(view.problem, "");
  EXPECT_GE(view.points.size(), 48u);
  EXPECT_LE(view.points.size(), 53u);
  for (const BoardPoint& p : view.points) EXPECT_NE(p.id, 21);
  Score rest;
  AddErrors(view, camera, near, board, &rest);
  EXPECT_LT(rest.worst, 0.15);
}

TEST(DetectTest, LargePicturesAreSearchedSmallAndFittedLarge) {
  const Camera camera = MakeCamera(3200, 2400, 3000);
  const Board board = MakeBoard(BoardKind::kChessboard);
  const Eigen::Isometry3d X = Pose(board, 0.5, 0.4, 0.3, {0, 0, 0.42});
  const BoardView view = DetectBoard(RenderBoard(camera, X, board, {0, 0}, Light(1.5, 2)), board);
  ASSERT_EQ(view.problem, "");
  Score score;
  AddErrors(view, camera, X, board, &score);
  EXPECT_EQ(score.points, 54);
  EXPECT_LT(score.rms(), 0.03);
}

TEST(DetectTest, CharucoPartialViewsCarryTheirIds) {
  const Camera camera = MakeCamera();
  const Board board = MakeBoard(BoardKind::kCharuco);
  for (const Eigen::Vector3d& centre :
       {Eigen::Vector3d(0, 0, 0.4), Eigen::Vector3d(0.17, 0.05, 0.4),
        Eigen::Vector3d(-0.15, -0.12, 0.4)}) {
    const Eigen::Isometry3d X = Pose(board, 0.4, 1, 2.5, centre);
    const BoardView view = DetectBoard(RenderBoard(camera, X, board, {0, 0}, Light(1, 3)), board);
    ASSERT_EQ(view.problem, "");
    EXPECT_TRUE(view.orientation_known);
    int inside = 0;
    for (int id = 0; id < PointCount(board); ++id) {
      const auto q = ProjectBoardPoint(camera, X, board, {0, 0}, id);
      inside += q && q->x() > 12 && q->y() > 12 && q->x() < camera.width - 13 &&
                q->y() < camera.height - 13;
    }
    EXPECT_GE(static_cast<int>(view.points.size()), inside - 1);
    Score score;
    AddErrors(view, camera, X, board, &score);
    EXPECT_LT(score.rms(), 0.03);
    EXPECT_LT(score.worst, 0.15);
  }
}

// Rendered as one pattern, asked for as the other; rows of squares even (they differ) and odd (they
// do not).
TEST(DetectTest, HostileT10LegacyCharucoIsRecognised) {
  const Camera camera = MakeCamera();
  for (const int rows : {5, 6}) {
    for (const bool drawn : {false, true}) {
      Board board = MakeBoard(BoardKind::kCharuco);
      board.rows = rows;
      board.legacy = drawn;
      const Eigen::Isometry3d X = Pose(board, 0.5, 2, 0.3, {0, 0, 0.42});
      const GrayImage image = RenderBoard(camera, X, board, {0, 0}, Light(0.8, 2));
      Board asked = board;
      asked.legacy = !drawn;
      const BoardView view = DetectBoard(image, asked);
      ASSERT_EQ(view.problem, "");
      EXPECT_GE(view.points.size(), 0.9 * PointCount(board));
      Score score;
      AddErrors(view, camera, X, board, &score);
      EXPECT_LT(score.worst, 0.15);
    }
  }
}

// A corner of something else lies where a corner of the board is hidden: the neighbours know
// better.
TEST(DetectTest, HostileT10MisplacedCornersLeave) {
  const Camera camera = MakeCamera(1280, 720, 1100);
  const Board board = MakeBoard(BoardKind::kCharuco);
  const Eigen::Isometry3d X = Pose(board, 0.2, 2, 0, {0, 0, 0.42});
  const GrayImage clean = RenderBoard(camera, X, board, {0, 0}, Light(0.8, 2));
  for (const int id : {9, 17, 24}) {
    GrayImage image = clean;
    const Eigen::Vector2d q = *ProjectBoardPoint(camera, X, board, {0, 0}, id);
    const int x0 = static_cast<int>(std::lround(q.x())), y0 = static_cast<int>(std::lround(q.y()));
    // The same crossing, 4 px off.
    for (int y = -12; y <= 12; ++y)
      for (int x = -12; x <= 12; ++x) image.At(x0 + x, y0 + y) = clean.At(x0 + x - 4, y0 + y - 3);
    const BoardView view = DetectBoard(image, board);
    ASSERT_EQ(view.problem, "");
    EXPECT_GE(view.points.size(), 30u);
    for (const BoardPoint& p : view.points) EXPECT_NE(p.id, id);
    Score score;
    AddErrors(view, camera, X, board, &score);
    EXPECT_LT(score.worst, 0.2);
  }
}

TEST(DetectTest, CharucoOfAnotherBoardIsNamed) {
  const Camera camera = MakeCamera();
  const Board board = MakeBoard(BoardKind::kCharuco);
  const GrayImage image = RenderBoard(camera, Pose(board, 0.3, 1, 0.1, {0, 0, 0.42}), board);
  Board asked = board;
  asked.dictionary = "6X6_250";
  EXPECT_TRUE(Says(DetectBoard(image, asked), "no marker of dictionary 6X6_250"));
}

TEST(DetectTest, HostileT09MirroredPicturesAreNamed) {
  const Camera camera = MakeCamera();
  Board asymmetric = MakeBoard(BoardKind::kAsymmetricCircles);
  asymmetric.rows = 6;  // with an odd number of rows the mirror image is the pattern itself
  for (const Board& board : {MakeBoard(BoardKind::kCharuco), asymmetric}) {
    const Eigen::Isometry3d X = Pose(board, 0.4, 2, 0.3, {0, 0, 0.45});
    const GrayImage image = RenderBoard(camera, X, board, {0, 0}, Light(0.8, 2));
    EXPECT_FALSE(DetectBoard(image, board).mirrored);
    const BoardView view = DetectBoard(MirroredImage(image), board);
    EXPECT_TRUE(view.mirrored) << view.problem;
    EXPECT_TRUE(view.points.empty());
    EXPECT_TRUE(Says(view, "the picture is mirrored"));
  }
  // A plain board is its own mirror image: still a right-handed list.
  const Board board = MakeBoard(BoardKind::kChessboard);
  const BoardView view = DetectBoard(
      MirroredImage(RenderBoard(camera, Pose(board, 0.4, 2, 0.3, {0, 0, 0.45}), board)), board);
  ASSERT_EQ(view.points.size(), 54u);
  const Eigen::Vector2d u = view.points[8].q - view.points[0].q,
                        v = view.points[45].q - view.points[0].q;
  EXPECT_GT(u.x() * v.y() - u.y() * v.x(), 0);
}

TEST(DetectTest, DiscsWithMissingOnesAndClutter) {
  const Camera camera = MakeCamera(1280, 720, 900);
  for (const BoardKind kind : {BoardKind::kCircles, BoardKind::kAsymmetricCircles}) {
    const Board board = MakeBoard(kind);
    const Eigen::Isometry3d X =
        Pose(board, 0.5, 0.7, kind == BoardKind::kCircles ? 0.2 : 1.4, {0.02, 0, 0.45});
    GrayImage image = RenderBoard(camera, X, board, {0, 0}, Light(0.8, 2));
    for (const int id : {13, 22}) {  // hidden
      const Eigen::Vector2d q = *ProjectBoardPoint(camera, X, board, {0, 0}, id);
      Fill(&image, static_cast<int>(q.x()) - 24, static_cast<int>(q.y()) - 24, 48, 48, 200);
    }
    // dark patches
    for (int k = 0; k < 12; ++k) Fill(&image, 20 + 100 * k, 30 + (k % 2) * 640, 12 + k, 14, 15);
    for (int y = -14; y <= 14; ++y)
      for (int x = -14; x <= 14; ++x)
        if (x * x + y * y < 196) image.At(60 + x, 360 + y) = 20;  // a disc of something else
    const BoardView view = DetectBoard(image, board);
    ASSERT_EQ(view.problem, "");
    EXPECT_EQ(view.orientation_known, kind == BoardKind::kAsymmetricCircles);
    EXPECT_GE(view.points.size(), PointCount(board) - 8u);
    for (const BoardPoint& p : view.points) EXPECT_TRUE(p.id != 13 && p.id != 22) << p.id;
    Score score;
    AddErrors(view, camera, X, board, &score);
    EXPECT_LT(score.worst, 0.1);
  }
}

TEST(DetectTest, WrongNumberOfDiscsIsNamed) {
  const Camera camera = MakeCamera();
  const Board board = MakeBoard(BoardKind::kCircles);
  const GrayImage image = RenderBoard(camera, Pose(board, 0.3, 1, 0.1, {0, 0, 0.42}), board);
  Board asked = board;
  asked.columns = 7;
  EXPECT_TRUE(Says(DetectBoard(image, asked), "a grid of 8 x 6 discs was found, 7 x 6 asked"))
      << DetectBoard(image, asked).problem;
  asked.columns = 10;
  EXPECT_TRUE(Says(DetectBoard(image, asked), "a grid of 8 x 6 discs was found, 10 x 6 asked"))
      << DetectBoard(image, asked).problem;
}

// Centroid of the image of a disc minus the image of its centre [px], by what DetectBoard
// subtracts. Nothing where the disc is not seen.
std::optional<Eigen::Vector2d> DiscBias(const Camera& camera, const Eigen::Isometry3d& X_CG,
                                        const Board& board, int id) {
  const auto map = [&](const Eigen::Vector2d& p, Eigen::Vector2d* q, Eigen::Matrix2d* dq_dp) {
    Eigen::Matrix<double, 2, 3> dq;
    const auto projected = Project(camera, X_CG * Eigen::Vector3d(p.x(), p.y(), 0), &dq);
    if (!projected) return false;
    *q = *projected;
    if (dq_dp != nullptr) *dq_dp = dq * X_CG.linear().leftCols<2>();
    return true;
  };
  Eigen::Vector2d bias;
  if (!calibration::CentroidBias(map, PointOnBoard(board, id).head<2>(), board.disc_diameter / 2,
                                 &bias))
    return std::nullopt;
  return bias;
}

// The correction is the exact one: a disc's image sampled densely, its centroid against the image
// of its centre.
TEST(DetectTest, DiscBiasIsThatOfTheSampledImage) {
  const Camera camera = MakeCamera(1280, 960, 900, -0.25);
  Board board = MakeBoard(BoardKind::kCircles);
  board.disc_diameter = 0.028;
  const Eigen::Isometry3d X = Pose(board, 1.0, 0.8, 0.2, {0.02, 0.01, 0.3});
  for (const int id : {0, 7, 20, 47}) {
    const Eigen::Vector3d centre = PointOnBoard(board, id);
    Eigen::Vector2d sum = Eigen::Vector2d::Zero();
    double area = 0;
    constexpr int n = 400;
    // area elements of the disc, weighted by what they cover in the picture
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        const double r = board.disc_diameter / 2 * std::sqrt((j + 0.5) / n),
                     a = 2 * M_PI * (i + 0.5) / n;
        Eigen::Matrix<double, 2, 3> dq_dp;
        const auto q = Project(
            camera, X * (centre + Eigen::Vector3d(r * std::cos(a), r * std::sin(a), 0)), &dq_dp);
        ASSERT_TRUE(q);
        const double w = (dq_dp * X.linear().leftCols<2>()).determinant();
        sum += w * *q;
        area += w;
      }
    }
    const Eigen::Vector2d expected = sum / area - *Project(camera, X * centre);
    const auto bias = DiscBias(camera, X, board, id);
    ASSERT_TRUE(bias);
    EXPECT_LT((*bias - expected).norm(), 1e-3);
    EXPECT_GT(expected.norm(), 0.1);
  }
}

TEST(DetectTest, HostileT18LargeTiltedDiscsAreReportedAtTheirTrueCentres) {
  const Camera camera = MakeCamera(1280, 720, 900, -0.2);
  Board board = MakeBoard(BoardKind::kCircles);
  board.columns = 5;
  board.rows = 4;
  board.pitch = 0.04;
  board.disc_diameter = 0.03;
  double largest = 0;
  Score score;
  for (int k = 0; k < 4; ++k) {
    const Eigen::Isometry3d X = Pose(board, M_PI / 3, 0.4 + 1.5 * k, 0.1, {0, 0, 0.28});
    const BoardView view = DetectBoard(RenderBoard(camera, X, board, {0, 0}, Light(0.8, 0)), board);
    ASSERT_EQ(view.problem, "");
    EXPECT_GE(view.points.size(), 17u);
    AddErrors(view, camera, X, board, &score);
    for (const BoardPoint& p : view.points)
      largest = std::max(largest, DiscBias(camera, X, board, p.id)->norm());
  }
  EXPECT_GT(largest, 1.5);  // what is corrected
  EXPECT_LT((score.mean / score.points).norm(), 0.005);
  EXPECT_LT(score.rms(), 0.02);
}

// The stereo pairs that come with OpenCV's documentation: every view, one order, with every method;
// a wrong count is named.
TEST(DetectTest, RealChessboardsAreFoundInOneOrder) {
  const char* set = std::getenv("IMPACTLAB_OPENCV_DOC");
  const std::filesystem::path folder =
      set != nullptr ? set : "/usr/share/doc/opencv-doc/examples/data";
  if (!std::filesystem::exists(folder / "left01.jpg"))
    GTEST_SKIP() << "skipped: opencv-doc images absent";
  const Board board = MakeBoard(BoardKind::kChessboard);
  for (const char* side : {"left", "right"}) {
    for (int k = 1; k <= 14; ++k) {
      if (k == 10) continue;
      const GrayImage image =
          ReadImage(folder / (side + std::string(k < 10 ? "0" : "") + std::to_string(k) + ".jpg"));
      const BoardView view = DetectBoard(image, board);
      ASSERT_EQ(view.points.size(), 54u) << side << k << " " << view.problem;
      EXPECT_TRUE(view.orientation_known);
      if (k % 4 != 1) continue;
      DetectOptions classic;
      classic.method = DetectOptions::Method::kClassic;
      const BoardView other = DetectBoard(image, board, classic);
      ASSERT_EQ(other.points.size(), 54u) << side << k;
      for (int id = 0; id < 54; ++id)
        EXPECT_LT((view.points[id].q - other.points[id].q).norm(), 0.01);
      Board asked = board;
      asked.rows = 5;
      EXPECT_TRUE(Says(DetectBoard(image, asked), "9 x 6 inner corners was found, 9 x 5 asked"));
    }
  }
}

TEST(DetectTest, SameInputSameOutput) {
  const Camera camera = MakeCamera();
  for (const BoardKind kind : {BoardKind::kChessboard, BoardKind::kCharuco, BoardKind::kCircles}) {
    const Board board = MakeBoard(kind);
    const GrayImage image =
        RenderBoard(camera, Pose(board, 0.6, 1, 0.3, {0, 0, 0.42}), board, {0, 0}, Light(1, 4));
    const BoardView a = DetectBoard(image, board), b = DetectBoard(image, board);
    ASSERT_EQ(a.points.size(), b.points.size());
    for (std::size_t k = 0; k < a.points.size(); ++k) EXPECT_EQ(a.points[k].q, b.points[k].q);
  }
}

}  // namespace
}  // namespace impactlab
