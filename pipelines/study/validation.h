#pragma once
// Predictions against measurements: validation table, prediction errors and verdicts after ASME
// V&V 20.

#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "impact/identify/identify.h"
#include "pipelines/page/presentation_table.h"

namespace impactlab {

// Map `validate` of an experiment file.
struct ValidationOptions {
  int folds = 5;                    // k of the k-fold cross-validation over recordings
  double coverage = 2.0;            // k of the validation uncertainty, stated beside every verdict
  double tolerance_velocity = 0.1;  // adequate when |E| + k u_val is below this [m/s]
  double tolerance_spin = 5;        // [rad/s]
  double tolerance_ratio = 0.1;     // impulse and energy ratios [1]
  // compliant contacts beside the rigid laws (impact/identify/compliant_predict.h), in a plane
  bool compliant = false;
};

// One quantity of one event. sd_predicted and z carry the event-to-event discrepancy of the fit,
// because it is part of the error of a prediction; the verdict does not, because it tests whether
// the law itself explains the event: u_val holds pixel noise of both states, the coefficients'
// uncertainty and the solver's error, with their covariance.
struct ValidationRow {
  std::string recording;
  int impact = 0;
  std::string law;
  // fold whose fit excluded this recording, 0 where the given fit did; -1: in sample
  int fold = -1;
  std::string path_case;  // predicted case
  // "v_plus_x", ..., "omega_plus_y", "v_n_plus", "v_t_plus", "J_t_over_J_n", "energy_ratio"
  std::string quantity;
  std::string unit;
  double predicted = 0, sd_predicted = 0, measured = 0, sd_measured = 0;
  // E = S - D, discrepancy included, cross terms included
  double difference = 0, sd_difference = 0, z = 0;
  double u_val = 0;  // validation uncertainty without discrepancy
  bool in_sample = false;
  std::string verdict;  // "adequate", "discrepant", "unresolved"
};

// Error of the predicted plus state in the kinetic-energy norm, relative to three denominators.
struct PredictionError {
  std::string recording;
  int impact = 0;
  std::string law, path_case;
  int fold = -1;
  double by_plus = 0;    // sqrt(d' M d / v+' M v+)
  double by_minus = 0;   // sqrt(d' M d / v-' M v-)
  double by_change = 0;  // sqrt(d' M d / dv' M dv)
  // d against its covariance: d' C^-1 d over the freedoms of the motion, 1 on average where
  // uncertainty and scatter are as stated, and the log of the density that the prediction gave to
  // what was measured, with the tails of the fitted likelihood. NaN where C is singular.
  double chi_square_per_dof = std::numeric_limits<double>::quiet_NaN();
  double log_density = std::numeric_limits<double>::quiet_NaN();
};

struct ErrorSummary {
  std::string law;
  // "all", a case, or "recordings NAME*" where the names of the recordings begin with different
  // words
  std::string group;
  bool in_sample = false;
  int n = 0;
  double median_by_plus = 0, mean_by_plus = 0, median_by_minus = 0, mean_by_minus = 0,
         median_by_change = 0, mean_by_change = 0;
};

struct QuantitySummary {
  std::string law, quantity, group;
  bool in_sample = false;
  int n = 0, adequate = 0, discrepant = 0, unresolved = 0;
  double rms = 0, bias = 0, rms_z = 0;
};

struct ValidationTable {
  std::vector<ValidationRow> rows;
  std::vector<PredictionError> errors;
  std::vector<ErrorSummary> error_summary;
  std::vector<QuantitySummary> quantity_summary;
};

// Recordings of impacts against those that a fit was made of, by their names.
struct FittedSample {
  bool stated = false;  // the fit says what it was made of
  int known = 0, unseen = 0;
  // impacts of the fit's names with other numbers: processed otherwise, or others of the same name
  int other_numbers = 0;
};
FittedSample CompareWithFitted(std::span<const ImpactEvent> events, const FitResult& fit);

// In-sample rows with the given fits, and out-of-sample rows by k-fold over recordings (fits
// repeated without each fold). Where some recordings are not among those that the fit was made of,
// those are the unseen ones, predicted by the fit as it is, and nothing is refitted.
ValidationTable Validate(std::span<const ImpactEvent> events, const Body& body,
                         const FitResult& fit, const IdentifyOptions& identify,
                         const ValidationOptions& options);

// validation.csv (data/README)
void WriteValidation(const std::filesystem::path& path, const ValidationTable& table);
// validation_summary.csv
void WriteValidationSummary(const std::filesystem::path& path, const ValidationTable& table);

// What a name of a recording begins with before its number: "steel_03" is one of "steel".
std::string SetOf(const std::string& recording);

// For people: of every impact the measured motion, then that of every law, the difference, case,
// energy lost, error and verdicts.
PresentationTable ValidationForm(const ValidationTable& table);
// The same as validation_table.csv, .md, .tex and .html.
void WriteValidationForms(const std::filesystem::path& folder, const ValidationTable& table);

}  // namespace impactlab
