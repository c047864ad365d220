#pragma once
// The classical estimators on the recordings of a run, beside its bundle fits.

#include "pipelines/config/run_context.h"
#include "pipelines/study/classical_comparison.h"

namespace impactlab {

struct Experiment;
struct Analysis;
struct MarkerRecordings;

// `analysis` as fitted. `markers` and `floor` with corrections and layout of that analysis.
Comparison CompareClassical(const Experiment& experiment, const MarkerRecordings& markers,
                            const Analysis& analysis, const RunContext& context);

}  // namespace impactlab
