#pragma once
// Parts of the report and what they share.

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "impact/identify/single_impact.h"
#include "pipelines/page/html.h"
#include "pipelines/page/page.h"
#include "pipelines/page/plot.h"
#include "pipelines/run/run.h"

namespace impactlab::pipelines {

using EventKey = std::pair<std::string, int>;  // recording, impact

struct ReportContext {
  const RunResult& run;
  const Analysis& best;
  bool interactive = false;     // the plotting library is in the page
  const LawFit* fit = nullptr;  // fit of the law that predicts best; null where nothing was fitted
  std::map<std::string, int> recording_index;
  std::map<EventKey, std::string> path_case;  // predicted by that law, in sample
  int n_accepted = 0;
  std::vector<std::pair<std::string, int>> rejected;  // reason code and count, most frequent first
  const AuditResult& final_audit() const {
    return run.has_corrected ? run.audit_corrected : run.audit;
  }
  // EventCode; -1 for a recording the run does not hold
  int Code(const std::string& recording, int impact) const;
};
ReportContext MakeContext(const RunResult& run, bool interactive);

std::string HeadHtml(const ReportContext& context);
Section FitSection(const ReportContext& context);
Section PredictionSection(const ReportContext& context);
Section DiagnosticsSection(const ReportContext& context);
Section RestitutionSection(const ReportContext& context);  // where all three laws were fitted
Section MeasuredSection(const ReportContext& context);
Section PixelSection(const ReportContext& context);   // of a run from images of markers
Section FlightSection(const ReportContext& context);  // the same
// the same, where estimators were asked for
Section ClassicalSection(const ReportContext& context);
Section RepeatSection(const ReportContext& context);
Section ModelSection(const ReportContext& context);
Section TwoBodySection(const ReportContext& context);  // of a struck body that moves as well
Section AuditSection(const ReportContext& context);
Section RecordingsSection(const ReportContext& context);
Section MethodsSection(const ReportContext& context);
Section ConfigurationSection(const ReportContext& context);

// One recording for the browser of recordings and the replay, as JSON: what lists of recordings
// need, and that with poses and arcs.
struct RecordingData {
  std::string brief, all;
};
// In the order of the run, with at most `max_frames` poses each.
std::vector<RecordingData> MakeRecordingData(const ReportContext& context, std::size_t max_frames);
// The most, up to `max_frames`, with which all recordings together stay a few megabytes.
std::size_t FramesWithin(const ReportContext& context, std::size_t max_frames);

// What cameras saw about the first impact, as JSON lists by recording for the replay; empty where
// no frame was kept. At most two cameras a recording, and together no more than `most_bytes`: the
// first camera of every recording, then the second, as far as that goes.
inline constexpr std::size_t kPictureBytes = 8'000'000;
std::vector<std::string> MakePictures(const ReportContext& context,
                                      std::size_t most_bytes = kPictureBytes);

// Figures, apart from the text around them.
std::vector<Figure> FitFigures(const ReportContext& context);
std::vector<Figure> PredictionFigures(const ReportContext& context);
std::vector<Figure> DiagnosticsFigures(const ReportContext& context);
std::vector<Figure> RestitutionFigures(const ReportContext& context);
std::vector<Figure> MeasuredFigures(const ReportContext& context);
std::vector<Figure> AuditFigures(const ReportContext& context);

// Median error of the law's predictions in the kinetic-energy norm over recordings its fit had not
// seen (in sample where there is no other); NaN where it predicted nothing.
struct MedianError {
  double by_plus = std::numeric_limits<double>::quiet_NaN();
  bool in_sample = false;
};
MedianError ErrorOf(const ValidationTable& table, const std::string& law);

// Escaped text for people from a line meant for a terminal: typographic signs, words instead of
// names with underscores.
std::string Typographic(std::string text);

// Fits, that of the law reported first in front; none where coefficients are withheld.
std::vector<const LawFit*> FitsInOrder(const ReportContext& context);

// The two parameters of a fit; null where a fit has fewer.
const ParameterEstimate* Friction(const LawFit& fit);
const ParameterEstimate* Restitution(const LawFit& fit);

// Value of a frame error with its sd in the unit its name ends in, e.g. "-35.9 +- 0.4 mrad".
std::string EstimateWords(const std::string& parameter, const Estimate& estimate);

// Colour of a case code.
int CaseColour(const std::string& path_case);

}  // namespace impactlab::pipelines
