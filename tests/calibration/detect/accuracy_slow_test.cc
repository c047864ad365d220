// How accurate detection is on rendered boards: blur, noise, tilt and lens vary; truth is the
// projection of the points.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <random>

#include "tests/calibration/board_scene.h"

namespace impactlab {
namespace {

using testing::AddErrors;
using testing::MakeBoard;
using testing::MakeCamera;
using testing::Pose;
using testing::Score;

struct Scene {
  GrayImage image;
  Eigen::Isometry3d X_CG;
};

class DetectAccuracyTest : public ::testing::Test {
 protected:
  std::mt19937_64 rng_{20};
  double Uniform(double a, double b) { return std::uniform_real_distribution<double>(a, b)(rng_); }
  Scene Make(const Camera& camera, const Board& board, double blur, double noise, double tilt,
             double roll, double z) {
    Scene scene;
    scene.X_CG = Pose(board, tilt, Uniform(0, 2 * M_PI), roll + Uniform(-0.5, 0.5),
                      {Uniform(-0.02, 0.02), Uniform(-0.02, 0.02), z});
    RenderOptions options;
    options.blur = blur;
    options.noise_sd = noise;
    options.seed = rng_();
    options.light = {Uniform(-0.2, 0.2), Uniform(-0.2, 0.2)};
    scene.image = RenderBoard(camera, scene.X_CG, board, {0, 0}, options);
    return scene;
  }
};

TEST_F(DetectAccuracyTest, CornersBelowAFewHundredthsOfAPixelAndBetterThanGradients) {
  const Board board = MakeBoard(BoardKind::kChessboard);
  for (const bool large : {false, true}) {
    const Camera camera = large ? MakeCamera(1280, 720, 900) : MakeCamera();
    for (const double blur : {0.5, 1.0, 1.5}) {
      for (const double noise : {0.0, 2.0, 5.0}) {
        for (const double tilt : {10.0, 40.0, 60.0}) {
          Score ours;
          double theirs = 0;
          for (int k = 0; k < 4; ++k) {
            const Scene scene =
                Make(camera, board, blur, noise, tilt * M_PI / 180, 0, tilt > 30 ? 0.42 : 0.38);
            const BoardView view = DetectBoard(scene.image, board);
            ASSERT_EQ(view.problem, "") << blur << " " << noise << " " << tilt;
            AddErrors(view, camera, scene.X_CG, board, &ours);
            std::vector<cv::Point2f> corners;
            std::vector<Eigen::Vector2d> truth;
            for (const BoardPoint& p : view.points) {
              truth.push_back(*ProjectBoardPoint(camera, scene.X_CG, board, {0, 0}, p.id));
              corners.emplace_back(truth.back().x() + 0.5, truth.back().y() - 0.4);
            }
            const int half = tilt > 30 ? 4 : 6;
            const cv::Mat image(scene.image.height, scene.image.width, CV_8U,
                                const_cast<unsigned char*>(scene.image.pixels.data()));
            cv::cornerSubPix(image, corners, {half, half}, {-1, -1}, cv::TermCriteria(3, 50, 1e-4));
            for (std::size_t i = 0; i < corners.size(); ++i)
              theirs += (Eigen::Vector2d(corners[i].x, corners[i].y) - truth[i]).squaredNorm();
          }
          theirs = std::sqrt(theirs / (2 * ours.points));
          const std::string name = "corner_rms_px_" + std::to_string(camera.width) + "_blur" +
                                   std::to_string(int(10 * blur)) + "_noise" +
                                   std::to_string(int(noise)) + "_tilt" + std::to_string(int(tilt));
          RecordProperty(name,
                         std::to_string(ours.rms()) + " gradient method " + std::to_string(theirs));
          EXPECT_LT(ours.rms(), noise < 4 ? 0.02 : 0.035) << name;
          EXPECT_LT(ours.rms(), theirs) << name;
          EXPECT_GE(ours.points, 4 * 52) << name;
        }
      }
    }
  }
}

// The noise part of sd: sd^2 = 1 + (noise / 0.02 px)^2, so normalised errors have one variance
// whatever blur, size and contrast.
TEST_F(DetectAccuracyTest, StandardDeviationsOrderTheCorners) {
  const Board board = MakeBoard(BoardKind::kChessboard);
  const Camera camera = MakeCamera();
  double sum[3] = {0, 0, 0};
  int n[3] = {0, 0, 0};
  for (int k = 0; k < 90; ++k) {
    RenderOptions options;
    const Eigen::Isometry3d X =
        Pose(board, Uniform(0, 1.1), Uniform(0, 6), Uniform(-0.5, 0.5), {0, 0, Uniform(0.4, 0.7)});
    options.blur = Uniform(0.6, 1.8);
    options.noise_sd = Uniform(4, 7);
    options.white = Uniform(120, 220);
    options.light = {Uniform(-0.3, 0.3), Uniform(-0.3, 0.3)};
    options.seed = rng_();
    const BoardView view = DetectBoard(RenderBoard(camera, X, board, {0, 0}, options), board);
    if (!view.problem.empty()) continue;
    for (const BoardPoint& p : view.points) {
      const double variance = 0.02 * 0.02 * (p.sd * p.sd - 1);
      const int group = p.sd < 1.5 ? 0 : p.sd < 2.2 ? 1 : 2;
      sum[group] +=
          (p.q - *ProjectBoardPoint(camera, X, board, {0, 0}, p.id)).squaredNorm() / (2 * variance);
      ++n[group];
    }
  }
  for (int group = 0; group < 3; ++group) {
    ASSERT_GT(n[group], 200);
    const double factor = std::sqrt(sum[group] / n[group]);
    RecordProperty("normalised_error_group" + std::to_string(group), std::to_string(factor));
    EXPECT_GT(factor, 0.75) << group;
    EXPECT_LT(factor, 1.35) << group;
  }
}

TEST_F(DetectAccuracyTest, CharucoCorners) {
  const Board board = MakeBoard(BoardKind::kCharuco);
  const Camera camera = MakeCamera(1280, 720, 900);
  for (const double blur : {0.5, 1.0, 1.5}) {
    for (const double tilt : {10.0, 60.0}) {
      Score score;
      for (int k = 0; k < 6; ++k) {
        const Scene scene = Make(camera, board, blur, 3, tilt * M_PI / 180, 3 * k, 0.4);
        const BoardView view = DetectBoard(scene.image, board);
        ASSERT_EQ(view.problem, "");
        AddErrors(view, camera, scene.X_CG, board, &score);
      }
      RecordProperty(
          "charuco_blur" + std::to_string(int(10 * blur)) + "_tilt" + std::to_string(int(tilt)),
          std::to_string(score.rms()));
      EXPECT_GE(score.points, 6 * 35 * 8 / 10) << blur << " " << tilt;
      EXPECT_LT(score.rms(), 0.05) << blur << " " << tilt;
    }
  }
}

TEST_F(DetectAccuracyTest, HostileT18DiscCentres) {
  for (const BoardKind kind : {BoardKind::kCircles, BoardKind::kAsymmetricCircles}) {
    const Board board = MakeBoard(kind);
    const Camera camera = MakeCamera(1280, 720, 900, -0.2);
    const auto turns = Symmetries(board, true);
    for (const double blur : {0.5, 1.0, 1.5}) {
      for (const double noise : {0.0, 5.0}) {
        Score score;
        for (int k = 0; k < 6; ++k) {
          const Scene scene = Make(camera, board, blur, noise, M_PI / 3,
                                   kind == BoardKind::kCircles ? 0 : 1.5, 0.36);
          const BoardView view = DetectBoard(scene.image, board);
          ASSERT_EQ(view.problem, "");
          EXPECT_GE(view.points.size(), PointCount(board) - 4u);
          Score best;
          for (const auto& turn : turns) {
            Score turned;
            AddErrors(view, camera, scene.X_CG, board, &turned, &turn);
            if (best.points == 0 || turned.sum < best.sum) best = turned;
          }
          score.points += best.points;
          score.sum += best.sum;
          score.mean += best.mean;
        }
        RecordProperty(std::string(ToString(kind)) + "_blur" + std::to_string(int(10 * blur)) +
                           "_noise" + std::to_string(int(noise)),
                       std::to_string(score.rms()));
        EXPECT_LT((score.mean / score.points).norm(), 0.005) << blur << " " << noise;
        EXPECT_LT(score.rms(), 0.02) << blur << " " << noise;
      }
    }
  }
}

}  // namespace
}  // namespace impactlab
