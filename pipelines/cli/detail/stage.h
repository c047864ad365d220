#pragma once
// Verbs that begin from the files of a run: an experiment, its events and its fit. Private to the
// pipelines room.

#include <CLI/CLI.hpp>
#include <filesystem>
#include <vector>

#include "data/files/fit_result.h"
#include "pipelines/cli/detail/verb.h"
#include "pipelines/run/experiment.h"
#include "pipelines/states/states.h"

namespace impactlab::pipelines {

struct StageArguments {
  std::filesystem::path experiment;
  std::filesystem::path events;  // events.csv
  std::filesystem::path fit;     // fit.json
  std::filesystem::path out = "out";
  bool force_coefficients = false;  // of `identify`
  bool tables = false;              // of `validate`: validation_table.csv, .md, .tex, .html
  SharedOptions shared;
};

struct Stage {
  Experiment experiment;
  TableStates states;  // with what became of the declared correction, said on standard error
  std::vector<ImpactEvent> events;
};

// Reads the experiment and the events. ConfigError, DataError.
Stage LoadStage(const StageArguments& arguments);

// A fit that predictions can be made from; one edited into nonsense is refused before it silently
// predicts nothing. DataError.
FitResult LoadFit(const std::filesystem::path& path);

}  // namespace impactlab::pipelines
