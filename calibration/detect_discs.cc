#include "calibration/detect_internal.h"
namespace impactlab::internal {
void DetectDiscs(const GrayImage&, const Board&, const DetectOptions&, BoardView* view) { view->problem = "x"; }
}  // namespace impactlab::internal
