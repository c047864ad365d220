#pragma once
// Tables of states before and after impacts: read as an experiment file says, corrected and audited
// as recordings are.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "pipelines/run/experiment.h"
#include "pipelines/run/run.h"
#include "pipelines/tables/state_table.h"

namespace impactlab {

struct TableStates {
  std::filesystem::path path;
  // with the correction that the experiment declares; spins of a ball carried from its release
  EventStates table;
  Plane floor;       // as it truly is
  std::string note;  // what became of that correction; empty where none is declared
};

/// Reads the table and takes out the frame errors that the experiment declares under `correction`,
/// unless the table is of a run, which did so. ConfigError where an error cannot be taken out of
/// these states; as ReadStates.
TableStates LoadStates(const Experiment& experiment, const std::filesystem::path& path);

/// What would make states close that do not, and the line that cures it.
struct StateCause {
  std::string text, cure;
};

/// Units and senses that a table may have other than its header says: every one with which angular
/// momentum closes. Empty where it closes, or cannot be tested, as given.
std::vector<StateCause> FindStateCauses(const Experiment& experiment, const TableStates& states);

struct JudgedStates {
  // with what the audit names and `audit.apply` allows corrected; those that still move into the
  // floor afterwards are rejected
  std::vector<ImpactEvent> events;
  Plane floor;  // likewise
  // None of two bodies, and of states without an attitude, where momentum alone is judged.
  std::optional<AuditResult> recorded, corrected;
  DataVerdict verdict;
  std::vector<StateCause> causes;
  // that momentum finds, over the inertia declared, where nothing else tells lengths and clock from
  // it; the flights of a run do
  double inertia = 1;
  // errors of which the run that wrote the table could not tell which it has
  std::vector<FrameCorrection> scale;
};

/// The audit of a run without flights and rests. States of a run are not corrected again, and where
/// the run found no rigid body, that is their verdict. `force`: nothing is withheld.
JudgedStates JudgeStates(const Experiment& experiment, const TableStates& states, bool force);

/// Fits of all laws of the experiment to the judged states, as FitAll; where momentum leaves open
/// whether the declared inertia is right, or flights which of lengths and clock is wrong, intervals
/// hold what that changes.
FitResult FitStates(const Experiment& experiment, const JudgedStates& judged,
                    const RunContext& context = {});

/// Momentum, findings, verdict and causes, for the terminal.
std::string BriefReport(const JudgedStates& judged);

/// states_audit.json.
std::string ToJson(const JudgedStates& judged);

}  // namespace impactlab
