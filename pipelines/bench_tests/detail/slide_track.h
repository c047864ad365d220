#pragma once
// The track of a slide: places along its way, and which way is up.

#include <limits>
#include <vector>

#include "impact/identify/slide_course.h"
#include "pipelines/bench_tests/detail/readings.h"

namespace impactlab::pipelines {

struct SlideTrack {
  std::vector<double> t, s;  // [s], [m] or [px]
  bool pixels = false;
  // Angle of the way above the horizontal, positive where s rises with height [rad]; not a number
  // where the track has no height. A picture's rows count down.
  double rise = std::numeric_limits<double>::quiet_NaN();
};

// From s, from x, (y,) z, or from the pixels of one marker, by the key `slide`.
SlideTrack ReadSlideTrack(BenchReader& in);

}  // namespace impactlab::pipelines
