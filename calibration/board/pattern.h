#pragma once
// Geometry of the black areas of a board, shared by the printed page, the rendered picture and the
// detector.

#include <Eigen/Core>
#include <cstdint>
#include <string>
#include <vector>

#include "calibration/board/board.h"

namespace impactlab::calibration {

// Frame G (see calibration/board/board.h). Outside [lower, upper] the paper is white.
struct BoardPattern {
  Board board;
  int squares_x = 0, squares_y = 0;  // chessboard and ChArUco
  bool first_black = true;           // the upper left square
  // ChArUco: markers in the order of their ids; each has cells x cells fields with the black rim,
  // row by row, 1 = black.
  int cells = 0;
  std::vector<Eigen::Vector2i> marker_square;  // column and row of the square
  std::vector<std::vector<std::uint8_t>> marker_black;
  std::vector<int> marker_of_square;  // row by row; -1 for none
  Eigen::Vector2d lower, upper;       // [m]

  explicit BoardPattern(const Board& board);  // of a board without a Fault

  bool Black(double x, double y) const;
  // 0 or 1 when all of the rectangle is white or black, -1 when it may hold an edge.
  int Uniform(double x0, double y0, double x1, double y1) const;
  Eigen::Vector2d MarkerCorner(int marker) const;  // upper left one [m]

  struct Rectangle {
    double x, y, width, height;
  };
  // chessboard and ChArUco: disjoint but for common sides, long runs joined
  std::vector<Rectangle> BlackRectangles() const;
};

// Id of OpenCV's predefined dictionary, its number of markers; -1 when there is none of that name.
int DictionaryId(const std::string& name);
int DictionarySize(const std::string& name);
std::string DictionaryNames();

}  // namespace impactlab::calibration
