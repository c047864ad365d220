#include "pipelines/report.h"

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
  if (run.markers) {
    const auto at = page.sections.insert(page.sections.begin() + 1, PixelSection(context));
    page.sections.insert(at + 1, FlightSection(context));
  }
  if (run.second) page.sections.insert(page.sections.begin() + 1, TwoBodySection(context));
  if (context.interactive) page.recordings = RecordingsJson(context);
  WritePage(path, page, library);
}

}  // namespace impactlab
