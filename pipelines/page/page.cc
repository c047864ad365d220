#include "pipelines/page/page.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "pipelines/page/assets.h"
#include "pipelines/page/html.h"

namespace impactlab::pipelines {
namespace {

std::string Navigation(const std::vector<Section>& sections) {
  std::string items = "<li><a href=\"#result\">Result</a></li>";
  for (const Section& section : sections)
    items += fmt::format("<li><a href=\"#{}\">{}</a></li>", section.id, Escape(section.title));
  // The choice of colours needs the script, which brings it to light.
  return "<nav aria-label=\"Sections\"><div><ul>" + items +
         "</ul><label hidden>Colours <select id=\"theme\"><option "
         "value=\"\">system</option><option value=\"light\">light</option><option "
         "value=\"dark\">dark</option></select></label></div></nav>\n";
}

std::string FiguresJson(const std::vector<Section>& sections) {
  std::string json = "[";
  for (const Section& section : sections)
    for (const Figure& figure : section.figures)
      json += (json.size() > 1 ? "," : "") + ToJson(figure);
  return json + "]";
}

void WriteData(AtomicFile& out, const std::string& id, const std::string& json) {
  out.Write("<script type=\"application/json\" id=\"" + id + "\">" + ScriptSafe(json) +
            "</script>\n");
}

// An installed program, and an installed Python module, have the library in share/ of a folder
// above them, whatever became of the tree they were built in.
std::filesystem::path InstalledPlotLibrary() {
  std::error_code error;
  std::filesystem::path object = std::filesystem::read_symlink("/proc/self/exe", error);
  Dl_info info = {};
  static const char here = 0;
  if (dladdr(&here, &info) != 0 && info.dli_fname != nullptr &&
      std::string_view(info.dli_fname).ends_with(".so"))
    object = std::filesystem::absolute(info.dli_fname, error);
  for (std::filesystem::path folder = object.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    std::filesystem::path path = folder / "share" / "impactlab" / "plotly-cartesian.min.js";
    if (std::filesystem::is_regular_file(path, error)) return path;
  }
  return {};
}

}  // namespace

std::string ReadPlotLibrary(const std::filesystem::path& built_with) {
  std::error_code error;
  const std::filesystem::path installed = InstalledPlotLibrary(),
                              path = installed.empty() ? built_with : installed;
  if (path.empty() || !std::filesystem::is_regular_file(path, error) || error) return {};
  std::string text;
  try {
    text = ReadFile(path, std::size_t{16} << 20);
  } catch (const DataError&) {
    return {};  // a report without interactive plots is better than none
  }
  // Nothing inside the script may end its element.
  const std::string lower = LowerCase(text);
  std::string out;
  std::size_t from = 0;
  for (std::size_t at; (at = lower.find("</script", from)) != std::string::npos; from = at + 1)
    out += text.substr(from, at - from) + "<\\";
  return from == 0 ? text : out + text.substr(from);
}

std::string Tile(const std::string& label, const std::string& value, const std::string& note) {
  return fmt::format(
      "<div class=\"tile\"><dt>{}</dt><dd><span class=\"big\">{}</span><span "
      "class=\"note\">{}</span></dd></div>",
      label, value, note);
}

void WritePage(const std::filesystem::path& path, const Page& page, const std::string& library) {
  const bool interactive = !library.empty();
  AtomicFile out(path);
  // The policy forbids the page every request: it is complete as it is, or with what lies beside
  // it.
  out.Write(
      fmt::format("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
                  "name=\"viewport\" "
                  "content=\"width=device-width, initial-scale=1\">\n"
                  "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                  "style-src 'unsafe-inline'; script-src "
                  "'unsafe-inline'{}; img-src "
                  "data: blob:\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<link "
                  "rel=\"icon\" href=\"data:,\">\n<title>{}"
                  "</title>\n<style>\n",
                  page.has_parts ? " 'self' file:" : "", Escape(page.title)));
  out.Write(kReportStyle);
  for (const std::string_view style : page.styles) out.Write(style);
  out.Write(
      "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the content</a>\n");
  out.Write(Navigation(page.sections));
  out.Write("<main id=\"main\">\n");
  out.Write(page.head);
  // A page without plots for the library misses nothing.
  const bool plots = std::any_of(page.sections.begin(), page.sections.end(),
                                 [](const Section& section) { return !section.figures.empty(); });
  if (!interactive && plots)
    out.Write(
        "<p class=\"notice\">The plotting library was not installed when this page was written, so "
        "its plots are static drawings.</p>\n");
  for (const Section& section : page.sections) {
    out.Write(fmt::format(
        "<section id=\"{0}\" aria-labelledby=\"{0}-title\"><h2 id=\"{0}-title\">{1}</h2>\n",
        section.id, Escape(section.title)));
    out.Write(section.html);
    out.Write("</section>\n");
  }
  out.Write("</main>\n");
  for (const auto& [id, json] : page.data) WriteData(out, id, json);
  WriteData(out, "recording-data", page.recordings);
  const auto write_script = [&](std::string_view script) {
    out.Write("<script>\n");
    out.Write(script);
    out.Write("</script>\n");
  };
  write_script(kPageScript);
  write_script(kTableScript);
  for (const std::string_view script : page.scripts) write_script(script);
  if (interactive) {
    WriteData(out, "figure-data", page.figures.empty() ? FiguresJson(page.sections) : page.figures);
    out.Write("<script>\n");
    out.Write(library);
    out.Write("\n</script>\n");
    write_script(kReportScript);
  }
  out.Write("</body>\n</html>\n");
  out.Commit();
}

}  // namespace impactlab::pipelines
