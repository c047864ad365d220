// Gallery of maps: every picture with what the source of its figure says beside what we get.

#include "pipelines/page/page.h"

#include <fmt/core.h>

#include <algorithm>

#include "pipelines/map/impact_map.h"
#include "pipelines/page/html.h"
#include "pipelines/page/map_drawing.h"
#include "pipelines/page/markup.h"

namespace impactlab {
namespace {

using pipelines::Escape;

std::string Pictures(const ImpactMap& map) {
  std::string out = "<div class=\"pair\">";
  for (const std::string& picture : map.sweep.pictures)
    for (std::size_t law = 0; law < (map.sweep.y ? map.sweep.laws.size() : 1); ++law)
      out += pipelines::FigureOf(MapSvg(map, picture, law));
  return out + "</div>";
}

std::string Certified(const ImpactMap& map) {
  if (map.sweep.laws == std::vector<std::string>{"ratio"})
    return "A given impulse ratio is no law: there is nothing to certify.";
  const std::size_t n = map.nx() * map.ny() * map.sweep.laws.size();
  std::string out = fmt::format("{} outcomes, ", n);
  out += map.faults == 0
             ? "each with a certificate that holds"
             : fmt::format("<b>{} of them without a certificate that holds</b>", map.faults);
  if (map.gains > 0)
    out += fmt::format("; {} gain energy ({:.1f} %), as their law may", map.gains,
                       100.0 * static_cast<double>(map.gains) / static_cast<double>(n));
  return out + ".";
}

}  // namespace

void WriteMapGallery(const std::filesystem::path& path, const std::vector<ImpactMap>& maps) {
  pipelines::Page page;
  page.title = "Maps of single impacts";
  int agree = 0, differ = 0;
  for (const ImpactMap& map : maps) {
    pipelines::Section section;
    section.id = map.sweep.path.stem().string();
    section.title = map.sweep.figure.empty() ? map.sweep.name : map.sweep.figure;
    section.html = "<p>" + Escape(map.sweep.name) + "</p>";
    if (!map.sweep.assumptions.empty())
      section.html += "<p class=\"foot\">Our choice where the source is silent: " +
                      Escape(map.sweep.assumptions) + "</p>";
    section.html += Pictures(map);
    if (!map.sweep.statements.empty()) {
      pipelines::HtmlTable table("", {"The source says", "We get", "Verdict"});
      for (const MapStatement& statement : map.sweep.statements) {
        const StatementResult result = CheckStatement(map, statement);
        (result.agrees ? agree : differ)++;
        table.Row({Escape(statement.says),
                   Escape(result.found) +
                       (statement.note.empty()
                            ? ""
                            : "<br><span class=\"foot\">" + Escape(statement.note) + "</span>"),
                   !result.decided ? "cannot be compared"
                   : result.agrees ? "agrees"
                                   : "<b>differs</b>"});
      }
      section.html += table.Html();
    }
    section.html += "<p class=\"foot\">" + Certified(map) + "</p>";
    page.sections.push_back(std::move(section));
  }
  std::string lead = fmt::format("{}, solved along the exact path and certified point by point.",
                                 pipelines::Count(static_cast<long long>(maps.size()), "map"));
  if (agree + differ > 0)
    lead += fmt::format(" Of {} statements of the literature {} agree with what we get, {} do not.",
                        agree + differ, agree, differ);
  page.head = pipelines::PageHeadHtml(
      {.eyebrow = "ImpactLab",
       .title = "Maps of single impacts",
       .lead = lead,
       .remarks = {{"second",
                    "A case says when slip first stops: 0 never, 1 and 2 in compression, 3 and 4 "
                    "in restitution, 5 and 6 from rest; after 1, 3, 5 the contact sticks, after 2, "
                    "4, 6 it slips again."}}});
  pipelines::WritePage(path, page, {});
}

}  // namespace impactlab
