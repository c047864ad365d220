#pragma once
// The classical estimators on the recordings of a run, beside its bundle fits.

#include <vector>

#include "pipelines/config/run_context.h"
#include "pipelines/study/classical_comparison.h"

namespace impactlab {

struct Experiment;
struct Analysis;
struct MarkerRecordings;
struct TimedPoses;

// Beside the bundle fits in `analysis`; `markers` and their `poses` (PosesOfAll) with corrections
// and layout of that analysis.
Comparison CompareClassical(const Experiment& experiment, const MarkerRecordings& markers,
                            const std::vector<TimedPoses>& poses, const Analysis& analysis,
                            const RunContext& context);

}  // namespace impactlab
