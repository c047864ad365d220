#include "pipelines/report/report.h"

#include <algorithm>
#include <set>

#include "data/files/atomic_file.h"
#include "data/files/output_folder.h"
#include "pipelines/page/assets.h"
#include "pipelines/page/page.h"
#include "pipelines/report/detail/overview.h"
#include "pipelines/report/detail/split.h"
#include "pipelines/report/parts.h"

namespace impactlab {
namespace {

// Removes parts of former pages, and with the last of them their folder.
void RemoveOthers(const std::filesystem::path& folder,
                  const std::set<std::filesystem::path>& kept) {
  std::error_code error;
  std::vector<std::string> gone;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().extension() == ".js" && !kept.contains(entry.path().filename()))
      gone.push_back(entry.path().filename().string());
  RemoveOutputs(folder, gone);
}

}  // namespace

void pipelines::WriteReportWithin(const std::filesystem::path& path, const RunResult& run,
                                  const std::filesystem::path& plot_library,
                                  std::size_t page_bytes) {
  const std::string library = ReadPlotLibrary(plot_library);
  const ReportContext context = MakeContext(run, !library.empty());
  Page page;
  page.title =
      (run.experiment.name.empty() ? run.experiment.path.stem().string() : run.experiment.name) +
      " \u2013 impact report";
  page.head = HeadHtml(context);
  page.sections = {FitSection(context),          PredictionSection(context),
                   MeasuredSection(context),     AuditSection(context),
                   RecordingsSection(context),   MethodsSection(context),
                   ConfigurationSection(context)};
  const auto behind = [&](const char* id, Section section) {
    const auto at = std::find_if(page.sections.begin(), page.sections.end(),
                                 [&](const Section& s) { return s.id == id; });
    page.sections.insert(at + 1, std::move(section));
  };
  if (run.markers()) {
    page.sections.insert(page.sections.begin() + 1, PixelSection(context));
    behind("pixels", FlightSection(context));
  }
  if (run.second()) page.sections.insert(page.sections.begin() + 1, TwoBodySection(context));
  if (!context.best.scrutiny.restitution.empty()) behind("prediction", RestitutionSection(context));
  if (!context.best.scrutiny.empty()) behind("prediction", DiagnosticsSection(context));
  if (!context.best.repeats.empty()) behind("measured", RepeatSection(context));
  if (!context.best.coefficients.empty()) behind("fit", ModelSection(context));
  if (!context.best.comparison.empty()) behind("measured", ClassicalSection(context));
  const std::string folder = path.stem().string() + "_parts";
  PageData data = SplitPage(context, page.sections, folder, page_bytes);
  page.recordings = std::move(data.recordings);
  page.figures = std::move(data.figures);
  page.has_parts = !data.parts.empty();
  if (run.n_recordings() > 0) {
    behind("audit", ReplaySection(context, data.pictured));
    page.data = {{"replay-data", ReplayJson(context)}};
    page.styles = {kMotionStyle};
    page.scripts = {kMotionScript};
  }
  // Parts have names of their own: until the new page is whole the former one keeps its parts.
  std::set<std::filesystem::path> kept;
  for (const auto& [name, text] : data.parts) {
    WriteFile(path.parent_path() / name, text);
    kept.insert(std::filesystem::path(name).filename());
  }
  WritePage(path, page, library);
  RemoveOthers(path.parent_path() / folder, kept);
}

void WriteReport(const std::filesystem::path& path, const RunResult& run,
                 const std::filesystem::path& plot_library) {
  pipelines::WriteReportWithin(path, run, plot_library, pipelines::kPageBytes);
}

}  // namespace impactlab
