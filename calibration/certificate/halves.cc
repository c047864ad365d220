#include <algorithm>

#include "calibration/certificate/certificate.h"

namespace impactlab {

CrossValidation CrossValidate(const CalibrationProblem& problem, const CalibrationResult& whole,
                              const CalibrationOptions& options, double distance) {
  CrossValidation out;
  if (!whole.usable()) return out.reason = "there is no solution to divide", out;
  std::vector<int> used;
  for (std::size_t s = 0; s < whole.shots.size(); ++s)
    if (whole.shots[s].used) used.push_back(static_cast<int>(s));
  if (used.size() < 6) return out.reason = "fewer than 6 shots: halves would be too small", out;
  CalibrationOptions from_whole = options;
  from_whole.random_starts = 0;  // the solution of all shots is the start
  CalibrationResult halves[2];
  for (int half = 0; half < 2; ++half) {
    CalibrationProblem part;
    part.board = problem.board;
    part.cameras = problem.cameras;
    for (std::size_t c = 0; c < part.cameras.size(); ++c)
      if (!part.cameras[c].start) part.cameras[c].start = whole.rig.cameras[c].camera;
    for (std::size_t k = half; k < used.size(); k += 2) {
      part.shots.push_back(problem.shots[used[k]]);
      // Views rejected in the solution of all shots are rejected in the halves; views it turned are
      // turned again by the same rule.
      for (std::size_t c = 0; c < part.cameras.size(); ++c)
        if (!whole.shots[used[k]].views[c].rejected.empty())
          part.shots.back().views[c].points.clear();
    }
    // Fixed parameters are held at their start when one is given and at 0 or the centre when not:
    // the start above must not change that.
    for (std::size_t c = 0; c < part.cameras.size(); ++c)
      if (!problem.cameras[c].start && !problem.cameras[c].fixed.empty())
        part.cameras[c].start.reset();
    halves[half] = Calibrate(part, from_whole);
  }
  return CompareHalves(whole, halves[0], halves[1], distance);
}

}  // namespace impactlab
