#include "calibration/detect_internal.h"
namespace impactlab::internal {
void DetectCharuco(const GrayImage&, const Board&, const DetectOptions&, BoardView* view) { view->problem = "x"; }
}  // namespace impactlab::internal
