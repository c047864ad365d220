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
#include "pipelines/page/markup.h"

namespace impactlab::pipelines {
namespace {

std::string FiguresJson(const std::vector<Section>& sections) {
  std::string json = "[";
  for (const Section& section : sections)
    for (const Figure& figure : section.figures)
      json += (json.size() > 1 ? "," : "") + ToJson(figure);
  return json + "]";
}

// An installed program, and an installed Python module, have the library in share/ of a folder
// above them, also where the tree they were built in is gone.
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
    return {};  // the report is then written with static plots
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
  return FillTemplate(kTileTemplate,
                      {.texts = {{"label", label}, {"value", value}, {"note", note}}});
}

void WritePage(const std::filesystem::path& path, const Page& page, const std::string& library) {
  const bool interactive = !library.empty();
  const bool plots = std::any_of(page.sections.begin(), page.sections.end(),
                                 [](const Section& section) { return !section.figures.empty(); });
  MarkupValues values{
      .texts = {{"title", page.title}, {"head", page.head}},
      .flags = {{"has_parts", page.has_parts}, {"static_plots", plots && !interactive}}};
  auto &styles = values.lists["styles"], &sections = values.lists["sections"],
       &data = values.lists["data"], &scripts = values.lists["scripts"];
  const auto add_text = [](std::vector<MarkupValues>& list, std::string_view text) {
    list.push_back({.texts = {{"text", std::string(text)}}});
  };
  const auto add_data = [&](const std::string& id, const std::string& json) {
    data.push_back({.texts = {{"id", id}, {"json", ScriptSafe(json)}}});
  };
  add_text(styles, kReportStyle);
  for (const std::string_view style : page.styles) add_text(styles, style);
  for (const Section& section : page.sections)
    sections.push_back(
        {.texts = {{"id", section.id}, {"title", section.title}, {"html", section.html}}});
  for (const auto& [id, json] : page.data) add_data(id, json);
  add_data("recording-data", page.recordings);
  add_text(scripts, kPageScript);
  add_text(scripts, kTableScript);
  for (const std::string_view script : page.scripts) add_text(scripts, script);
  if (interactive) {
    add_data("figure-data", page.figures.empty() ? FiguresJson(page.sections) : page.figures);
    add_text(scripts, library);
    add_text(scripts, kReportScript);
  }
  AtomicFile out(path);
  out.Write(FillTemplate(kPageTemplate, values));
  out.Commit();
}

}  // namespace impactlab::pipelines
