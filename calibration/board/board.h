#pragma once
// Calibration targets: the printed pattern and the coordinates of its points.
//
// Frame G of a board: origin at point 0, x along a row of points, y along a column, both in the
// printed plane, z into the paper. Seen from the front with point 0 at the top left, x is right and
// y is down, so a board held straight before a camera has about its orientation.

#include <Eigen/Core>
#include <string>
#include <vector>

namespace impactlab {

enum class BoardKind { kChessboard, kCharuco, kCircles, kAsymmetricCircles };
// All kinds, in the order of lists for people.
inline constexpr BoardKind kBoardKinds[] = {BoardKind::kChessboard, BoardKind::kCharuco,
                                            BoardKind::kCircles, BoardKind::kAsymmetricCircles};
const char* ToString(BoardKind kind);  // "chessboard", "charuco", "circles", "asymmetric-circles"
// The words for people: "chessboard", "ChArUco board", "grid of discs", "staggered grid of discs".
const char* BoardWords(BoardKind kind);
// Whether the points are inner corners of squares, and not centres of discs.
bool HasSquares(BoardKind kind);

// Points are inner corners of a chessboard or ChArUco board, centres of discs otherwise; point `row
// * columns + column`.
struct Board {
  BoardKind kind = BoardKind::kChessboard;
  // points in a row, points in a column. A chessboard or ChArUco board has one square more each
  // way. An asymmetric grid has `rows` rows of `columns` discs, odd rows moved by half a spacing
  // (OpenCV's 4 x 11).
  int columns = 9, rows = 6;
  // side of a square; spacing of discs. Asymmetric: half of the spacing inside a row, the step
  // between rows [m]
  double pitch = 0.025;
  double disc_diameter = 0;           // circle grids [m]
  double marker_side = 0;             // ChArUco [m]
  std::string dictionary = "4X4_50";  // ChArUco: OpenCV's name without DICT_
  // ChArUco pattern of OpenCV before 4.6 (top-left square is a marker on boards with an even number
  // of rows)
  bool legacy = false;
};

// Empty when the board can be made; else what is wrong ("rows is 1, at least 2", "marker_side must
// be below pitch", ...).
std::string Fault(const Board& board);
int PointCount(const Board& board);
Eigen::Vector3d PointOnBoard(const Board& board, int id);  // p_G, z = 0 [m]
// Least extent that holds all points: half widths are used to normalise the warp.
Eigen::Vector2d Extent(const Board& board);  // [m]

// Permutations of the points that leave the printed grid unchanged, e.g. a quarter turn of a square
// board: entry s[id] is the id seen where id is expected. The identity comes first. `with_colours`:
// only those that leave the black and white pattern unchanged too.
std::vector<std::vector<int>> Symmetries(const Board& board, bool with_colours);

// A page at true scale: SVG or PDF text. `page_w`, `page_h` [m]; ConfigError when the board does
// not fit. The page holds a description and a ruler of known length to check the printer.
std::string BoardSvg(const Board& board, double page_width, double page_height);
std::string BoardPdf(const Board& board, double page_width, double page_height);

}  // namespace impactlab
