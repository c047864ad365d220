#pragma once
// Names held against the motion of the body: a marker is where the pose that the other markers give
// puts it. The layout's distances can be met by chance, and an image that one camera alone sees
// meets them easily; the pose of all others rarely. Private to identity.

#include <vector>

#include "reconstruction/identity/detail/window.h"

namespace impactlab::reconstruction {

struct MotionCheck {
  std::vector<char> label;  // of every piece: a label or kNone
  // of a name that the motion gave, against the best other one; 0 for other pieces
  std::vector<double> odds;
};

// Takes away the names of pieces that do not fit the pose of the other markers, or would fit it as
// well under another name, the worst first: what is taken away no longer counts against its
// neighbours. Then names the pieces that had a name in `candidates` and have none now, where the
// pose leaves no choice. `label`: the names that are to be held against the motion.
//
// Poses are least squares over all named images at an instant, in all cameras, without those of the
// marker in question; where these do not determine it, the poses before and after the piece tell
// where the body was, as far as it may have turned and moved since.
MotionCheck CheckAgainstMotion(const Scene& scene, const std::vector<char>& label,
                               const std::vector<char>& candidates);

}  // namespace impactlab::reconstruction
