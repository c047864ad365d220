#pragma once
// Correspondence of detected and printed points: detectors list the points of a grid from either
// end, by rows or by columns, and a mirrored picture reverses their order. Private to the room.

#include <Eigen/Geometry>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "calibration/solve/calibrate.h"

namespace impactlab::calibration {

struct ViewCheck {
  std::string rejected;  // why the view cannot serve; empty: it can
  std::string note;      // what was done to it
  bool mirrored = false;
};
// One view against the plane grid it claims to show. Where its points are listed along the other
// side of the grid they are renumbered (with `fix`) or the view is rejected.
ViewCheck CheckView(const Board& board, BoardView& view, bool fix);

// Poses of the cameras from mono poses of the board, `X_CG[shot][camera]`; views whose board looks
// turned are renumbered in `problem` and in `X_CG`, those that fit nowhere are taken out of `X_CG`.
struct RigStart {
  // W = camera 0; nothing: no chain of shared shots leads there
  std::vector<std::optional<Eigen::Isometry3d>> X_WC;
  std::vector<std::vector<ViewCheck>> checks;    // [shot][camera]
  int turned = 0, disagreeing = 0, swapped = 0;  // shots
  // cameras whose views agree once one of the two is mirrored, and not before
  std::optional<std::pair<int, int>> mirrored;
};
using MonoPoses = std::vector<std::vector<std::optional<Eigen::Isometry3d>>>;
RigStart ChainCameras(CalibrationProblem& problem, MonoPoses& X_CG, bool fix);

}  // namespace impactlab::calibration
