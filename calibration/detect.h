#pragma once
// Finds the points of a board in a picture.

#include <Eigen/Core>
#include <string>
#include <vector>

#include "calibration/board.h"
#include "data/image.h"

namespace impactlab {

struct BoardPoint {
  int id = 0;
  Eigen::Vector2d q = Eigen::Vector2d::Zero();  // [px]
  double sd = 1;                                // relative: 1 for a sharp, full-contrast corner, above 1 for a worse one
};

// What one camera saw of the board in one shot. No points: not seen, `problem` says why.
struct BoardView {
  std::string image;  // file, or "file#frame"
  int width = 0, height = 0;
  std::vector<BoardPoint> points;  // ids ascending, each once
  std::string problem;             // empty when usable
  bool mirrored = false;           // the picture shows the board mirrored; its points are then not given
  bool orientation_known = false;  // the order of the points follows from colours or markers and cannot be turned
  double sharpness = 0;            // width of the edges at the corners, inverse [1/px]; compares frames of one video
};

struct DetectOptions {
  enum class Method { kAuto, kClassic, kSector } method = Method::kAuto;  // chessboards: cv::findChessboardCorners or its sector based kin
  bool refine = true;                                                     // sub-pixel corner refinement
};

// Never throws for what is in the picture. Deterministic, safe to call from many threads at once.
BoardView DetectBoard(const GrayImage& image, const Board& board, const DetectOptions& options = {});

}  // namespace impactlab
