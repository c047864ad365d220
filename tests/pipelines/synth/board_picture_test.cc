#include "pipelines/synth/board_picture.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>

#include "calibration/board/pattern.h"
#include "data/base/error.h"
#include "tests/calibration/board_scene.h"

namespace impactlab {
namespace {

using testing::MakeBoard;
using testing::MakeCamera;
using testing::Pose;

// A camera without distortion straight above the board: everything is known in closed form.
struct Straight {
  Camera camera;
  Board board;
  Eigen::Isometry3d X_CG = Eigen::Isometry3d::Identity();
  Straight() {
    camera.width = 200;
    camera.height = 160;
    Eigen::VectorXd intrinsics = Eigen::VectorXd::Zero(9);
    intrinsics.head<4>() << 400, 400, 0, 0;
    SetIntrinsics(camera, intrinsics);
    board.columns = 4;
    board.rows = 3;
    board.pitch = 0.03;
    // 30 px a square, point 0 at (70.2, 60.1)
    X_CG.translation() = Eigen::Vector3d(0.0702, 0.0601, 0.4);
  }
};

TEST(RenderTest, PixelsAreMeansOverTheirSquares) {
  const Straight s;
  RenderOptions options;
  options.blur = 0;
  options.black = 0;
  options.white = 250;
  const GrayImage image = RenderBoard(s.camera, s.X_CG, s.board, {0, 0}, options);
  // The field up and left of point 0 is black; the edge at x = 70.2 leaves 0.7 of pixel 70 (69.5
  // .. 70.5) black.
  EXPECT_EQ(image.At(69, 50), 0);
  EXPECT_EQ(image.At(71, 50), 250);
  EXPECT_NEAR(image.At(70, 50), 0.3 * 250, 2);
  EXPECT_NEAR(image.At(60, 60), 0.4 * 250, 2);  // the edge at y = 60.1 leaves 0.6 black
  // At the corner itself the fields up-left and down-right are black.
  EXPECT_NEAR(image.At(70, 60), (1 - 0.7 * 0.6 - 0.3 * 0.4) * 250, 3);
}

TEST(RenderTest, BlurIsTheStatedGaussian) {
  const Straight s;
  for (const double blur : {0.4, 0.7, 1.0, 1.8}) {
    RenderOptions options;
    options.blur = blur;
    options.black = 0;
    options.white = 250;
    const GrayImage image = RenderBoard(s.camera, s.X_CG, s.board, {0, 0}, options);
    for (int x = 64; x <= 77; ++x) {
      // Mean over the pixel of the blurred step, by Simpson's rule.
      double mean = 0;
      for (int k = 0; k <= 20; ++k)
        mean += (k % 20 == 0  ? 1
                 : k % 2 == 1 ? 4
                              : 2) *
                std::erfc(-(x - 0.5 + k / 20.0 - 70.2) / (blur * std::sqrt(2))) / 2;
      EXPECT_NEAR(image.At(x, 46), 250 * mean / 60, 2.5) << blur << " " << x;
    }
  }
}

// The inverse map between its nodes is the camera's own: the colour at the centre of every pixel
// away from edges is that of the pattern.
TEST(RenderTest, ColoursLieWhereTheLensPutsThem) {
  const Camera camera = MakeCamera(640, 480, 500, -0.25);
  for (const BoardKind kind : {BoardKind::kChessboard, BoardKind::kCharuco, BoardKind::kCircles,
                               BoardKind::kAsymmetricCircles}) {
    const Board board = MakeBoard(kind);
    const Eigen::Isometry3d X = Pose(board, 0.9, 0.5, 0.3, {0, 0, 0.3});
    RenderOptions options;
    options.blur = 0;
    const GrayImage image = RenderBoard(camera, X, board, {0, 0}, options);
    const calibration::BoardPattern pattern(board);
    int checked = 0, wrong = 0;
    for (int y = 0; y < image.height; y += 3) {
      for (int x = 0; x < image.width; x += 3) {
        const int value = image.At(x, y);
        if (value != 30 && value != 220) continue;
        const auto ray = Unproject(camera, {x, y});
        ASSERT_TRUE(ray);
        const Eigen::Vector3d o = X.inverse().translation(), d = X.linear().transpose() * *ray,
                              p = o - o.z() / d.z() * d;
        ++checked;
        wrong += pattern.Black(p.x(), p.y()) != (value == 30);
      }
    }
    EXPECT_GT(checked, 3000);
    EXPECT_EQ(wrong, 0);
  }
}

// A bent board: points follow ProjectBoardPoint. At a corner of a chessboard light is point
// symmetric.
TEST(RenderTest, WarpMovesWhatIsDrawn) {
  const Straight s;
  const Eigen::Vector2d warp(0.004, 0.002);
  RenderOptions options;
  options.blur = 1;
  Eigen::Isometry3d X = s.X_CG;
  X.linear() = Eigen::AngleAxisd(0.5, Eigen::Vector3d::UnitX()).toRotationMatrix();
  const GrayImage image = RenderBoard(s.camera, X, s.board, warp, options);
  const auto sample = [&](double x, double y) {
    const int x0 = static_cast<int>(std::floor(x)), y0 = static_cast<int>(std::floor(y));
    const double fx = x - x0, fy = y - y0;
    return (1 - fy) * ((1 - fx) * image.At(x0, y0) + fx * image.At(x0 + 1, y0)) +
           fy * ((1 - fx) * image.At(x0, y0 + 1) + fx * image.At(x0 + 1, y0 + 1));
  };
  for (const int id : {1, 5, 6}) {
    const auto bent = ProjectBoardPoint(s.camera, X, s.board, warp, id),
               flat = ProjectBoardPoint(s.camera, X, s.board, {0, 0}, id);
    ASSERT_TRUE(bent && flat);
    EXPECT_GT((*bent - *flat).norm(), 1);
    for (const Eigen::Vector2d& d : {Eigen::Vector2d(2, 1), Eigen::Vector2d(-1, 2),
                                     Eigen::Vector2d(3, 0), Eigen::Vector2d(0, 3)})
      EXPECT_NEAR(sample(bent->x() + d.x(), bent->y() + d.y()),
                  sample(bent->x() - d.x(), bent->y() - d.y()), 8);
    EXPECT_NEAR(sample(bent->x(), bent->y()), 125, 16);  // a pixel off the corner is 60 or more
  }
}

TEST(RenderTest, NoiseIsSeededAndOfTheStatedSize) {
  const Straight s;
  RenderOptions options;
  options.noise_sd = 4;
  options.seed = 11;
  const GrayImage a = RenderBoard(s.camera, s.X_CG, s.board, {0, 0}, options),
                  b = RenderBoard(s.camera, s.X_CG, s.board, {0, 0}, options);
  EXPECT_EQ(a.pixels, b.pixels);
  options.seed = 12;
  const GrayImage c = RenderBoard(s.camera, s.X_CG, s.board, {0, 0}, options);
  EXPECT_NE(a.pixels, c.pixels);
  double sum = 0;
  int n = 0;
  for (std::size_t k = 0; k < a.pixels.size(); ++k, ++n)
    sum += std::pow(double(a.pixels[k]) - c.pixels[k], 2);
  EXPECT_NEAR(std::sqrt(sum / n / 2), 4.01, 0.1);
}

TEST(RenderTest, BehindTheBoardIsBlankPaperAndBehindTheCameraNothing) {
  const Straight s;
  Eigen::Isometry3d back = s.X_CG;
  back.linear() = Eigen::AngleAxisd(M_PI, Eigen::Vector3d::UnitY()).toRotationMatrix();
  back.translation().x() += 0.09;
  RenderOptions options;
  const GrayImage image = RenderBoard(s.camera, back, s.board, {0, 0}, options);
  int black = 0, white = 0;
  for (const auto p : image.pixels) {
    black += p < 90;
    white += p > 210;
  }
  EXPECT_EQ(black, 0);
  EXPECT_GT(white, 5000);
  Eigen::Isometry3d behind = s.X_CG;
  behind.translation().z() = -0.4;
  for (const auto p : RenderBoard(s.camera, behind, s.board, {0, 0}, options).pixels)
    ASSERT_EQ(p, 110);
}

TEST(RenderTest, ImpossibleBoardsAndCamerasAreRefused) {
  Straight s;
  s.board.pitch = 0;
  EXPECT_THROW(RenderBoard(s.camera, s.X_CG, s.board), ConfigError);
  s = Straight();
  s.camera.fx = 0;
  EXPECT_THROW(RenderBoard(s.camera, s.X_CG, s.board), ConfigError);
}

}  // namespace
}  // namespace impactlab
