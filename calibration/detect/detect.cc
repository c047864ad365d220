#include "calibration/detect/detect.h"

#include <fmt/format.h>

#include <exception>

#include "calibration/detect/detail/features.h"

namespace impactlab {
namespace {
constexpr int kLeastSide = 24;    // [px]; a smaller picture cannot hold a board
constexpr int kMostSide = 32000;  // [px]; OpenCV's own limit for remapping and contours is 2^15
}  // namespace

BoardView DetectBoard(const GrayImage& image, const Board& board, const DetectOptions& options) {
  BoardView view;
  view.width = image.width;
  view.height = image.height;
  if (const std::string fault = Fault(board); !fault.empty()) {
    view.problem = "the board cannot be: " + fault;
    return view;
  }
  if (image.width <= 0 || image.height <= 0 ||
      image.pixels.size() != static_cast<std::size_t>(image.width) * image.height) {
    view.problem = "the picture is empty";
    return view;
  }
  if (image.width < kLeastSide || image.height < kLeastSide || image.width > kMostSide ||
      image.height > kMostSide) {
    view.problem = fmt::format(
        "the picture is {} x {} pixels; a board can be found from {} to {} pixels a side",
        image.width, image.height, kLeastSide, kMostSide);
    return view;
  }
  try {
    switch (board.kind) {
      case BoardKind::kChessboard:
        calibration::DetectChessboard(image, board, options, &view);
        break;
      case BoardKind::kCharuco:
        calibration::DetectCharuco(image, board, options, &view);
        break;
      case BoardKind::kCircles:
      case BoardKind::kAsymmetricCircles:
        calibration::DetectDiscs(image, board, options, &view);
        break;
    }
  } catch (const std::exception& error) {  // assertions of OpenCV on unusual pictures
    view.problem = fmt::format("the detector failed on this picture: {}", error.what());
  }
  if (!view.problem.empty()) {
    view.points.clear();
    view.orientation_known = false;
  }
  return view;
}

}  // namespace impactlab
