#pragma once
// The chain from recordings to a validated fit, as one value.

#include <functional>
#include <string>
#include <vector>

#include "data/fit_result.h"
#include "pipelines/experiment.h"
#include "pipelines/validation.h"

namespace impactlab {

// Everything one pass over the recordings gives for one set of frame corrections.
struct Analysis {
  FrameCorrection correction;          // applied to the recordings
  std::vector<MotionFit> motion;       // one a recording, in order of the files
  std::vector<ImpactEvent> events;     // all events of all recordings
  FitResult fit;
  ValidationTable validation;
};

struct RunResult {
  Experiment experiment;
  std::vector<std::filesystem::path> files;
  std::vector<PoseRecording> recordings;   // as read (empty poses where a file could not be used)
  Analysis recorded;                       // with corrections known beforehand only
  AuditResult audit;                       // of `recorded`
  bool has_corrected = false;
  Analysis corrected;                      // with the audit's corrections
  AuditResult audit_corrected;
  double seconds = 0;                      // wall time without the report
  const Analysis& best() const { return has_corrected ? corrected : recorded; }
};

}  // namespace impactlab
