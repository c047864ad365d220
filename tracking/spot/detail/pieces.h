#pragma once
// Runs that touch, joined into pieces: connected components with 8 neighbours (union-find over
// runs, He, Chao and Suzuki, IEEE TIP 17, 2008).

#include <vector>

#include "tracking/spot/detail/measure.h"
#include "tracking/spot/detail/scan.h"

namespace impactlab::tracking {

// Storage of one segmentation; it is kept from frame to frame.
struct Pieces {
  std::vector<Run> runs;
  std::vector<Piece> pieces;  // in the order of their first run
  std::vector<int> scratch;
};

// Fills `pieces` from `runs`, which lie row after row; those with fewer pixels than `count_min` are
// left out.
void JoinRuns(double count_min, Pieces* pieces);

}  // namespace impactlab::tracking
