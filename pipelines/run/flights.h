#pragma once
// Free flights of all recordings of marker images, as an independent certificate of calibration,
// time base and layout.

#include <filesystem>
#include <string>
#include <vector>

#include "pipelines/config/run_context.h"
#include "pipelines/run/experiment.h"
#include "pipelines/run/marker_recordings.h"
#include "reconstruction/bundle/flight_check.h"

namespace impactlab {

// A quantity over all recordings.
struct FlightSummary {
  std::string name, unit;  // as FlightQuantity
  double value = 0;        // mean, weighted by the recordings' own uncertainty
  double expected = 0;
  // of the difference, as if the recordings shared all their errors: cameras and declarations they
  // do share
  double sd = 0;
  double lower95 = 0, upper95 = 0;
  double worst_z = 0;  // of any recording
  int recordings = 0, failed = 0;
};

struct FlightReport {
  // in order; where nothing could be checked it is not usable and has the reason
  std::vector<FlightCheck> recordings;
  std::vector<FlightSummary> quantities;
  int checked = 0, failed = 0;
  int named = 0;  // failed recordings that blame the same as `culprits`
  // that most of the failed recordings blame: one is named, several cannot be told apart
  std::vector<FlightSuspect> culprits;
  // one line for people; empty where no recording was made by cameras
  std::string verdict;
};

// As everything was declared: the layout as given, not as learned. Recordings without points are
// passed over.
FlightReport CheckAllFlights(const Experiment& experiment, const MarkerRecordings& markers,
                             const Plane& floor, const RunContext& context);

// Adds to every refused impact of `events` what the flights of its recording say, where no impact
// at all was accepted.
void ExplainRefusals(const FlightReport& report, const MarkerRecordings& markers,
                     std::vector<ImpactEvent>* events);

// flights.csv, one row a recording and quantity, and flights.json, verdicts and suspects.
void WriteFlights(const std::filesystem::path& folder, const MarkerRecordings& markers,
                  const FlightReport& report);

}  // namespace impactlab
