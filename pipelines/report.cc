#include "pipelines/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "data/atomic_file.h"
#include "pipelines/report_assets.h"
#include "pipelines/report_parts.h"

namespace impactlab {
namespace {

using namespace internal;

// Text of the plotting library; empty when there is none to use.
std::string ReadLibrary(const std::filesystem::path& path) {
  std::error_code error;
  if (path.empty() || !std::filesystem::is_regular_file(path, error) || error) return {};
  std::string text;
  try {
    text = ReadFile(path, std::size_t{16} << 20);
  } catch (const DataError&) {
    return {};  // a report without interactive plots is better than none
  }
  // Nothing inside the script may end its element.
  std::string lower(text.size(), '\0');
  std::transform(text.begin(), text.end(), lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string out;
  std::size_t from = 0;
  for (std::size_t at; (at = lower.find("</script", from)) != std::string::npos; from = at + 1) out += text.substr(from, at - from) + "<\\";
  return from == 0 ? text : out + text.substr(from);
}

std::string Navigation(const std::vector<Section>& sections) {
  std::string items = "<li><a href=\"#result\">Result</a></li>";
  for (const Section& section : sections) items += fmt::format("<li><a href=\"#{}\">{}</a></li>", section.id, Escape(section.title));
  return "<nav aria-label=\"Sections\"><ul>" + items + "</ul></nav>\n";
}

std::string FiguresJson(const std::vector<Section>& sections) {
  std::string json = "[";
  for (const Section& section : sections)
    for (const Figure& figure : section.figures) json += (json.size() > 1 ? "," : "") + ToJson(figure);
  return json + "]";
}

}  // namespace

void WriteReport(const std::filesystem::path& path, const RunResult& run, const std::filesystem::path& plot_library) {
  const std::string library = ReadLibrary(plot_library);
  const bool interactive = !library.empty();
  const ReportContext context = MakeContext(run, interactive);
  const std::vector<Section> sections = {FitSection(context),   PredictionSection(context), MeasuredSection(context),
                                         AuditSection(context), RecordingsSection(context), MethodsSection(context)};
  const std::string name = run.experiment.name.empty() ? run.experiment.path.stem().string() : run.experiment.name;

  AtomicFile out(path);
  // The policy forbids the page every request: it is complete as it is.
  out.Write(
      fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
                  "content=\"width=device-width, initial-scale=1\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src "
                  "'unsafe-inline'; img-src "
                  "data: blob:\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{} "
                  "\u2013 impact report</title>\n<style>\n",
                  Escape(name)));
  out.Write(kReportStyle);
  out.Write("</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
  out.Write(Navigation(sections));
  out.Write("<main id=\"main\">\n");
  out.Write(HeadHtml(context));
  if (!interactive)
    out.Write(
        "<p class=\"notice\">The plotting library was not installed when this page was written, so its plots are static drawings.</p>\n");
  for (const Section& section : sections) {
    out.Write(fmt::format("<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h2 id=\"{0}-title\">{1}</h2>\n", section.id,
                          Escape(section.title)));
    out.Write(section.html);
    out.Write("</section>\n");
  }
  out.Write("</main>\n");
  if (interactive) {
    out.Write("<script type=\"application/json\" id=\"figure-data\">" + ScriptSafe(FiguresJson(sections)) + "</script>\n");
    out.Write("<script type=\"application/json\" id=\"recording-data\">" + ScriptSafe(RecordingsJson(context)) + "</script>\n");
    out.Write("<script>\n");
    out.Write(library);
    out.Write("\n</script>\n<script>\n");
    out.Write(kReportScript);
    out.Write("</script>\n");
  }
  out.Write("</body>\n</html>\n");
  out.Commit();
}

}  // namespace impactlab
