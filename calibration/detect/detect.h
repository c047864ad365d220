#pragma once
// Finds the points of a board in a picture.
//
// Order. Points of ChArUco boards carry their ids. Otherwise the list is right-handed (x to the
// right and y down on the print as it is seen) and point 0 of a chessboard is the corner whose
// upper left square is black, which decides all where columns + rows is odd. Where colours do not
// decide (see Symmetries), x is the direction that points most to the right in the picture, and
// orientation_known is false. A mirrored picture is recognised for ChArUco boards and for
// asymmetric grids with an even number of rows; other patterns are their own mirror image or that
// of a turned print, and only several cameras together decide. ChArUco: the given and the legacy
// layout are both tried, the one that explains more markers is taken. Method: chessboards are grown
// from saddle points (which finds partly hidden, dim and noisy boards and counts their lines);
// OpenCV's detectors are used where that finds nothing or where asked for; corners are fitted by an
// edge model (calibration/detect/detail/corner.h) in every case.

#include <Eigen/Core>
#include <Eigen/Geometry>
#include <optional>
#include <string>
#include <vector>

#include "calibration/board/board.h"
#include "calibration/camera/camera.h"
#include "data/files/image.h"

namespace impactlab {

struct BoardPoint {
  int id = 0;
  // Image of the point itself [px]: of a disc, the projection of its true centre, not the centre of
  // the ellipse that is its image (off by up to several pixels for large tilted discs).
  Eigen::Vector2d q = Eigen::Vector2d::Zero();
  // relative: 1 for a sharp, full-contrast corner, above 1 for a worse one; 1 is about 0.02 px
  double sd = 1;
};

// What one camera saw of the board in one shot. No points: not seen, `problem` says why.
struct BoardView {
  std::string image;  // file, or "file#frame"
  int width = 0, height = 0;
  std::vector<BoardPoint> points;  // ids ascending, each once
  std::string problem;             // empty when usable
  // the picture shows the board mirrored; its points are then not given
  bool mirrored = false;
  // the order of the points follows from colours or markers and cannot be turned
  bool orientation_known = false;
  // width of the edges at the corners, inverse [1/px]; compares frames of one video
  double sharpness = 0;
};

struct DetectOptions {
  // Chessboards: own search, then cv::findChessboardCorners; cv::findChessboardCorners first;
  // cv::findChessboardCornersSB first.
  enum class Method { kAuto, kClassic, kSector } method = Method::kAuto;
  // sub-pixel; false gives the places of OpenCV's detector where one was asked for (discs: of their
  // outlines)
  bool refine = true;
};

// Never throws for what is in the picture. Deterministic, safe to call from many threads at once.
BoardView DetectBoard(const GrayImage& image, const Board& board,
                      const DetectOptions& options = {});

}  // namespace impactlab
