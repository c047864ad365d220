#pragma once
// The detectors of DetectBoard, one for each kind of board. Private to the room.

#include <Eigen/Core>
#include <optional>
#include <string>
#include <vector>

#include "calibration/board/pattern.h"
#include "calibration/detect/detail/corner.h"
#include "calibration/detect/detect.h"

namespace impactlab::calibration {

// Each fills points, problem, mirrored, orientation_known and sharpness of a view of a picture with
// pixels.
void DetectChessboard(const GrayImage& image, const Board& board, const DetectOptions& options,
                      BoardView* view);
void DetectCharuco(const GrayImage& image, const Board& board, const DetectOptions& options,
                   BoardView* view);
void DetectDiscs(const GrayImage& image, const Board& board, const DetectOptions& options,
                 BoardView* view);

// A chessboard's grid as some detector gave it: in any of its orders, possibly left-handed,
// possibly with fewer or more lines than asked.
struct CornerGrid {
  int columns = 0, rows = 0;
  std::vector<Eigen::Vector2d> q;  // row by row [px]
  // same order; nothing where the picture has no corner there
  std::vector<std::optional<CornerFit>> fits;
};

// Fits every corner; grows the grid by lines of corners the picture has beyond it. Afterwards
// `columns` x `rows` is what is seen.
void FitGrid(const GrayImage& image, CornerGrid* grid);

// Every chessboard in the picture, at least 3 x 3 corners, most corners first. Searched at 1 /
// scale of the size, fitted at full size.
std::vector<CornerGrid> FindGrids(const GrayImage& image, int scale);

// The same grid in the order of the board (see calibration/detect/detect.h): right-handed, the
// upper left square black where that decides, else x to the right in the image. Invariant to the
// order it came in. False when the numbers of columns and rows are not the board's, either way
// round.
bool CanonicalOrder(const Board& board, CornerGrid* grid, bool* orientation_known);

}  // namespace impactlab::calibration
