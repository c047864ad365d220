#pragma once
// Error budget of a run from marker images: what every source of error contributes to the states of
// the impacts and to the coefficients.
//
// Pixels differ from impact to impact and average out; the cameras, the layout of the markers,
// gravity and the body are the same for all and do not. The states stand with what was declared of
// them. The coefficients are identified with the common errors at their best values: a declared
// error of one standard deviation moves them by what the impacts do not find of it, and the noise
// with which they find it is a source of its own ("adjustment"). So split, the shares add up in
// squares to the covariance of what is left (first order; JCGM 100:2008, 5.1).

#include <Eigen/Core>
#include <filesystem>
#include <string>
#include <vector>

#include "data/files/fit_result.h"
#include "pipelines/config/run_context.h"
#include "pipelines/run/common_errors.h"
#include "pipelines/run/experiment.h"
#include "pipelines/run/marker_recordings.h"

namespace impactlab {

struct Analysis;

struct BudgetSource {
  std::string name;     // "pixels", "clocks", "cameras", "layout", "gravity", "inertia", "scatter"
  std::string how;      // what was varied, by how much, in words
  bool common = false;  // the same for all impacts
  // independent directions that were varied; 0 where the covariance itself is known
  int dimensions = 0;
};

// One quantity: its standard deviation by source, in the order of the sources; NaN where a source
// does not apply.
struct BudgetRow {
  std::string quantity;  // "mu_k", "e_star", "position", "v_minus", ...
  // of a coefficient; empty for states, whose figures are rms over the accepted impacts of one
  // component
  std::string law;
  std::string unit;
  double value = 0;  // of a coefficient
  std::vector<double> sd;
  double total = 0;  // all sources in squares
};

struct ErrorBudget {
  std::vector<BudgetSource> sources;
  std::vector<BudgetRow> rows;  // coefficients of all fits in their order, then states
  // covariance of the coefficients by what all impacts share; empty: nothing was varied
  Eigen::MatrixXd common;
  std::vector<std::string> notes;  // what was left out and why
  bool empty() const { return rows.empty(); }
};

// Of the bundle fits in `analysis` and the `fit` from the adjusted events.
ErrorBudget MakeBudget(const Experiment& experiment, const Analysis& analysis, const FitResult& fit,
                       const CommonErrors& common, const Adjustment& adjustment,
                       const RunContext& context);

// Adds what is common to all impacts to standard deviations, covariances and intervals of the fits.
// A coefficient that it moves by more than its own size is not determined any more.
void AddCommon(const ErrorBudget& budget, FitResult* fit);

// What the fits of marker images with common errors give.
struct FitsWithBudget {
  FitResult fit;
  ErrorBudget budget;
  Adjustment adjustment;  // with the events and the body that the fits are of
};

// Fit of all laws from the events of the bundle fits in `analysis` at the best common errors, with
// what is left of those added and, with `budget`, split by source.
FitsWithBudget IdentifyTogether(const Experiment& experiment, const MarkerRecordings& markers,
                                const Analysis& analysis, bool budget, const RunContext& context);

// budget.csv (data/README)
void WriteBudget(const std::filesystem::path& path, const ErrorBudget& budget);

}  // namespace impactlab
