#pragma once
// What all pages of the program share: one complete file that loads nothing from the network.

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pipelines/page/plot.h"

namespace impactlab::pipelines {

struct Section {
  std::string id, title;
  std::string html;
  std::vector<Figure> figures;  // drawn by the page's script
};

struct Page {
  std::string title;  // plain text
  // HTML above the sections; its id is "result"
  std::string head;
  std::vector<Section> sections;                          //
  std::vector<std::pair<std::string, std::string>> data;  // id and JSON, for the scripts
  std::vector<std::string_view> styles;                   // beside the common style sheet
  std::vector<std::string_view> scripts;                  // that need no plotting library
  // JSON of the recordings for the common script
  std::string recordings = "[]";
  // JSON of the figures; empty: those of the sections
  std::string figures;
  // scripts beside the page hold more of both
  bool has_parts = false;
};

// Text of the plotting library, ready to stand in a <script>; empty when there is none to use.
std::string ReadPlotLibrary(const std::filesystem::path& path);

// `library` as ReadPlotLibrary gives it; without it the static drawings stay.
void WritePage(const std::filesystem::path& path, const Page& page, const std::string& library);

// One figure with its label and a note, all HTML.
std::string Tile(const std::string& label, const std::string& value, const std::string& note);

}  // namespace impactlab::pipelines
