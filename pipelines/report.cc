#include "pipelines/report.h"

#include <algorithm>

#include "pipelines/report_assets.h"
#include "pipelines/report_overview.h"
#include "pipelines/report_page.h"
#include "pipelines/report_parts.h"

namespace impactlab {

void WriteReport(const std::filesystem::path& path, const RunResult& run, const std::filesystem::path& plot_library) {
  using namespace internal;
  const std::string library = ReadPlotLibrary(plot_library);
  const ReportContext context = MakeContext(run, !library.empty());
  Page page;
  page.title = (run.experiment.name.empty() ? run.experiment.path.stem().string() : run.experiment.name) + " \u2013 impact report";
  page.head = HeadHtml(context);
  page.sections = {FitSection(context),   PredictionSection(context), MeasuredSection(context),
                   AuditSection(context), RecordingsSection(context), MethodsSection(context)};
  const auto behind = [&](const char* id, Section section) {
    const auto at = std::find_if(page.sections.begin(), page.sections.end(), [&](const Section& s) { return s.id == id; });
    page.sections.insert(at + 1, std::move(section));
  };
  if (run.markers) {
    page.sections.insert(page.sections.begin() + 1, PixelSection(context));
    behind("pixels", FlightSection(context));
  }
  if (run.second) page.sections.insert(page.sections.begin() + 1, TwoBodySection(context));
  if (!context.best.scrutiny.restitution.empty()) behind("prediction", RestitutionSection(context));
  if (!context.best.scrutiny.empty()) behind("prediction", ScrutinySection(context));
  if (!context.best.repeats.empty()) behind("measured", RepeatSection(context));
  if (!context.best.coefficients.empty()) behind("fit", ModelSection(context));
  if (!context.best.comparison.empty()) behind("measured", ClassicalSection(context));
  page.recordings = RecordingsJson(context);
  if (!run.recordings.empty()) {
    behind("audit", ReplaySection(context));
    page.data = {{"replay-data", ReplayJson(context)}};
    page.styles = {kMotionStyle};
    page.scripts = {kMotionScript};
  }
  WritePage(path, page, library);
}

}  // namespace impactlab
