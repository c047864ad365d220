#pragma once
// The chain from recordings to a validated fit, as one value.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/files/fit_result.h"
#include "pipelines/config/run_context.h"
#include "pipelines/run/bundle_fits.h"
#include "pipelines/run/error_budget.h"
#include "pipelines/run/experiment.h"
#include "pipelines/run/flights.h"
#include "pipelines/run/marker_recordings.h"
#include "pipelines/run/recordings.h"
#include "pipelines/study/classical_comparison.h"
#include "pipelines/study/coefficient_models.h"
#include "pipelines/study/diagnostics.h"
#include "pipelines/study/repeatability.h"
#include "pipelines/study/validation.h"
#include "reconstruction/motion/set_diagnosis.h"

namespace impactlab {

// Everything one pass over the recordings gives for one set of frame corrections.
struct Analysis {
  FrameCorrection correction;     // applied to the recordings
  std::vector<MotionFit> motion;  // one a recording, in order of the files
  // of marker images: the bundle fits behind the events, by recording
  std::vector<std::vector<ImpactBundle>> drops;
  LearnedLayout layout;             // of marker images: as those fits have it
  std::vector<ImpactEvent> events;  // all events of all recordings
  // of marker images with what all impacts share of errors counted
  FitResult fit;
  ErrorBudget budget;  // of marker images; empty where nothing was fitted
  // of marker images: of one core for one impact, mean of a recording
  std::vector<double> fit_seconds;
  Comparison comparison;  // of marker images: the classical estimators
  Repeatability repeats;
  CoefficientStudy coefficients;  // by the law that stands for all; empty where nothing was fitted
  ValidationTable validation;
  Diagnostics scrutiny;
};

struct RunResult {
  Experiment experiment;
  // As read. A recording that cannot be used has a fault, and poses without a frame.
  Recordings recordings;
  // of marker images: poses frame by frame, without any correction, by recording
  std::vector<PoseRecording> image_poses;
  // of marker images: what free flight says of cameras, clocks and layout as they were declared
  FlightReport flights;
  Analysis recorded;  // with corrections known beforehand only
  AuditResult audit;  // of `recorded`
  bool has_corrected = false;
  Analysis corrected;  // with the audit's corrections
  AuditResult audit_corrected;
  DataVerdict verdict;  // above the coefficients of `best`
  // What the recordings show, where no impact of `best` was accepted or their fall withholds
  // coefficients; not with a second body.
  std::optional<SetDiagnosis> diagnosis;
  double seconds = 0;  // wall time without the report; of the command with calibration and tracking
  const Analysis& best() const { return has_corrected ? corrected : recorded; }

  std::size_t n_recordings() const { return CountOf(recordings); }
  // Of the body, by recording.
  const PoseRecording& poses(std::size_t i) const;
  std::vector<const PoseRecording*> poses() const;
  // Null where the recordings are none of marker images, of markers in space, or of a struck body
  // that moves as well (its poses).
  const MarkerRecordings* markers() const;
  const PointReport* points() const;
  const PoseRecordings* second() const;
};

struct RunOptions {
  bool identify = true;  // false: stop after events and audit
  bool validate = true;
  // Coefficients of data that contradict a rigid body are determined all the same.
  bool force_coefficients = false;
};

// The whole chain, from recordings to validated fits. A recording that cannot be used is a rejected
// event. Impacts in images of markers are those of their bundle fits, with free flights and rests
// from the poses of the frames.
RunResult RunExperiment(const Experiment& declared, Recordings recordings,
                        const RunOptions& options = {}, const RunContext& context = {});

// The verdict on data that are not of one rigid body in single impacts. `force`: coefficients are
// not withheld.
DataVerdict DoesNotClose(const std::string& reason, bool force);

// The verdict of accepted impacts, as recorded, of the experiment's body over its floor. Those of a
// struck body that moves are not judged here. `force`: coefficients are not withheld.
DataVerdict JudgeImpacts(const Experiment& experiment, const std::vector<ImpactEvent>& events,
                         bool force);

// The verdict above all coefficients: of what was corrected where the audit's correction was
// applied (`corrected` not null), with what it was as recorded. `force`: nothing is withheld.
DataVerdict JudgeAudit(const AuditResult& recorded, const AuditResult* corrected, bool force);

// Fits of all laws of the experiment to the accepted events, with the rejected ones listed; without
// a verdict. Where `verdict` withholds coefficients, all are null with its reason.
FitResult FitAll(const Experiment& experiment, const std::vector<ImpactEvent>& events,
                 const RunContext& context = {}, const DataVerdict& verdict = {});

// Writes the files of a run folder (formats in data/README.md) except the report; each appears
// whole or not at all.
void WriteRun(const std::filesystem::path& folder, const RunResult& run,
              const std::string& command);

// Of a run that can use no recording: the tables that say why, events.csv first.
void WriteRefusal(const std::filesystem::path& folder, const RunResult& run);

// Table for a terminal: one screen.
std::string BriefReport(const RunResult& run);

}  // namespace impactlab
