// The files of a run folder.

#include <filesystem>
#include <string>
#include <vector>

#include "data/cache/provenance.h"
#include "data/files/atomic_file.h"
#include "data/files/output_folder.h"
#include "pipelines/run/run.h"
#include "pipelines/tables/tables.h"

namespace impactlab {
namespace {

std::vector<const MarkerTracks*> TracksOf(const MarkerRecordings& markers) {
  std::vector<const MarkerTracks*> tracks;
  for (const MarkerRecording& recording : markers.recordings) tracks.push_back(&recording.tracks);
  return tracks;
}

}  // namespace

void WriteRefusal(const std::filesystem::path& folder, const RunResult& run) {
  WriteEvents(folder, run.recorded.events);
  if (run.points()) WritePointFiles(folder / "points.csv", *run.points());
  if (!run.markers()) return;
  WriteDrops(folder / "drops.csv", TracksOf(*run.markers()), run.recorded.drops);
  WriteFlights(folder, *run.markers(), run.flights);
}

void WriteRun(const std::filesystem::path& folder, const RunResult& run,
              const std::string& command) {
  const Analysis& best = run.best();
  std::vector<std::filesystem::path> inputs = {run.experiment.path};
  for (const auto& file : run.recordings.files) {
    std::error_code unreadable;
    if (std::filesystem::is_regular_file(file, unreadable)) inputs.push_back(file);
  }
  std::string yaml = ToYaml(run.experiment);
  Provenance provenance = CollectProvenance(run.experiment.seed, command);
  AddReadable(inputs, &provenance);
  yaml += ToYaml(provenance);
  WriteFile(folder / "run.yaml", yaml);
  WriteEvents(folder, best.events);
  WriteMotion(folder / "motion.csv", best.motion);
  if (run.markers()) {
    WriteDrops(folder / "drops.csv", TracksOf(*run.markers()), best.drops);
    if (!run.markers()->recordings.empty())
      WriteLayout(folder / "layout.csv", run.markers()->recordings.front().tracks.markers,
                  best.layout);
    WriteFlights(folder, *run.markers(), run.flights);
    WritePoses(folder / "poses", run.poses());
  }
  if (run.points()) WritePointFiles(folder / "points.csv", *run.points());
  if (run.points() || (run.second() && run.experiment.markers))
    WritePoses(folder / "poses", run.poses());
  if (run.second()) {
    if (run.second()->points) WritePointFiles(folder / "points_second.csv", *run.second()->points);
    std::vector<const PoseRecording*> poses;
    for (const PosedRecording& one : run.second()->recordings) poses.push_back(&one.poses);
    WritePoses(folder / "poses_second", poses);
  }
  std::string audit = "{\"schema\": \"impactlab.audit/1\",\n\"as_recorded\": " + ToJson(run.audit);
  if (run.has_corrected) audit += ",\n\"after_correction\": " + ToJson(run.audit_corrected);
  if (run.second()) audit += ",\n\"closure\": " + ToJson(ClosureOf(best.events));
  audit += ",\n\"verdict\": " + VerdictJson(run.verdict);
  if (run.diagnosis) audit += ",\n\"diagnosis\": " + ToJson(*run.diagnosis);
  WriteFile(folder / "audit.json", audit + "}\n");
  if (!best.fit.fits.empty()) WriteFile(folder / "fit.json", ToJson(best.fit));
  if (!best.budget.empty()) WriteBudget(folder / "budget.csv", best.budget);
  if (!best.comparison.empty()) WriteComparison(folder, best.comparison);
  if (!best.repeats.empty()) WriteRepeatability(folder / "repeatability.csv", best.repeats);
  if (!best.coefficients.empty()) WriteCoefficients(folder, best.coefficients);
  if (!best.validation.rows.empty()) {
    WriteValidation(folder / "validation.csv", best.validation);
    WriteValidationSummary(folder / "validation_summary.csv", best.validation);
  }
  if (!best.fit.fits.empty() && !best.fit.verdict.withheld) WriteDiagnostics(folder, best.scrutiny);
  // What an earlier run left would be taken for this one's; a step that fits nothing leaves what
  // later steps have made.
  const auto gone = [&](bool written, std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (!written && !best.fit.fits.empty()) RemoveOutput(folder / name);
  };
  gone(run.markers() != nullptr, {"drops.csv", "layout.csv", "flights.csv", "flights.json"});
  gone(!best.budget.empty(), {"budget.csv"});
  gone(!best.comparison.empty(), {"classical.csv", "classical_fit.csv"});
  gone(!best.repeats.empty(), {"repeatability.csv"});
  gone(!best.coefficients.empty(), {"models.csv", "model_coefficients.csv", "intervals.csv"});
  gone(!best.validation.rows.empty(), {"validation.csv", "validation_summary.csv"});
  gone(false,
       // made on request, afterwards
       {"validation_table.csv", "validation_table.md", "validation_table.tex",
        "validation_table.html"});
  if (!run.has_corrected && !best.fit.fits.empty())
    RemoveOutputs(folder / "as_recorded",
                  {"events.csv", "events_cov.csv", "fit.json", "validation.csv"});
  if (run.has_corrected) {
    const auto recorded = folder / "as_recorded";
    WriteEvents(recorded, run.recorded.events);
    if (!run.recorded.fit.fits.empty()) WriteFile(recorded / "fit.json", ToJson(run.recorded.fit));
    if (!run.recorded.validation.rows.empty())
      WriteValidation(recorded / "validation.csv", run.recorded.validation);
  }
}

}  // namespace impactlab
