#pragma once
// Boards before cameras, for the tests of detection and rendering.

#include <Eigen/Geometry>
#include <cmath>
#include <random>

#include "calibration/board/board.h"
#include "calibration/camera/camera.h"
#include "calibration/detect/detect.h"
#include "pipelines/synth/board_picture.h"

namespace impactlab::testing {

inline Camera MakeCamera(int width = 640, int height = 480, double f = 600, double k1 = -0.15) {
  Camera camera;
  camera.width = width;
  camera.height = height;
  Eigen::VectorXd intrinsics(9);
  intrinsics << f, f * 1.003, width / 2.0 - 0.5, height / 2.0 + 3, k1, 0.05, 0.001, -0.0005, 0;
  SetIntrinsics(camera, intrinsics);
  return camera;
}

inline Board MakeBoard(BoardKind kind) {
  Board board;
  board.kind = kind;
  if (kind == BoardKind::kCharuco) {
    board.columns = 7;
    board.rows = 5;
    board.pitch = 0.03;
    board.marker_side = 0.022;
  } else if (kind == BoardKind::kCircles) {
    board.columns = 8;
    board.rows = 6;
    board.pitch = 0.03;
    board.disc_diameter = 0.022;
  } else if (kind == BoardKind::kAsymmetricCircles) {
    board.columns = 4;
    board.rows = 11;
    board.pitch = 0.02;
    board.disc_diameter = 0.02;
  }
  return board;
}

// Middle of the board at `centre`, turned by `roll` in its plane and then tilted by `tilt` about an
// axis in the image plane at `azimuth`.
inline Eigen::Isometry3d Pose(const Board& board, double tilt, double azimuth, double roll,
                              const Eigen::Vector3d& centre) {
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() = (Eigen::AngleAxisd(tilt, Eigen::Vector3d(std::cos(azimuth), std::sin(azimuth), 0)) *
                Eigen::AngleAxisd(roll, Eigen::Vector3d::UnitZ()))
                   .toRotationMatrix();
  const Eigen::Vector2d half = Extent(board) / 2;
  X.translation() = centre - X.linear() * Eigen::Vector3d(half.x(), half.y(), 0);
  return X;
}

struct Score {
  int points = 0;
  double sum = 0, worst = 0;  // of squared errors of both coordinates [px^2]; longest error [px]
  Eigen::Vector2d mean = Eigen::Vector2d::Zero();
  double rms() const { return std::sqrt(sum / (2 * points)); }  // of a coordinate
};

// Errors of the points against the truth, ids taken as they are.
inline void AddErrors(const BoardView& view, const Camera& camera, const Eigen::Isometry3d& X_CG,
                      const Board& board, Score* score, const std::vector<int>* relabel = nullptr) {
  for (const BoardPoint& p : view.points) {
    const int id = relabel != nullptr ? (*relabel)[p.id] : p.id;
    const Eigen::Vector2d error =
        p.q - *ProjectBoardPoint(camera, X_CG, board, Eigen::Vector2d::Zero(), id);
    score->sum += error.squaredNorm();
    score->mean += error;
    score->worst = std::max(score->worst, error.norm());
    ++score->points;
  }
}

inline GrayImage MirroredImage(const GrayImage& image) {
  GrayImage out = image;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) out.At(x, y) = image.At(image.width - 1 - x, y);
  return out;
}

inline void Fill(GrayImage* image, int x0, int y0, int width, int height, int value) {
  for (int y = std::max(0, y0); y < std::min(image->height, y0 + height); ++y)
    for (int x = std::max(0, x0); x < std::min(image->width, x0 + width); ++x)
      image->At(x, y) = static_cast<std::uint8_t>(value);
}

}  // namespace impactlab::testing
