// The page of a campaign.
#include "pipelines/page/page.h"

#include <fmt/format.h>

#include <cmath>

#include "data/files/atomic_file.h"
#include "impact/identify/single_impact.h"
#include "pipelines/campaign/campaign.h"
#include "pipelines/page/html.h"
#include "pipelines/study/coefficient_html.h"

namespace impactlab {

namespace {

using pipelines::Escape;
using pipelines::Fixed;
using pipelines::HtmlTable;
using pipelines::Num;
using pipelines::Section;

// Path from the page to a file of a run, for a link.
std::string Link(const std::filesystem::path& folder, const std::filesystem::path& run,
                 const char* file) {
  const std::string path =
      (std::filesystem::absolute(run).lexically_relative(std::filesystem::absolute(folder)) / file)
          .generic_string();
  std::string out;
  for (const unsigned char c : path)
    out += std::isalnum(c) != 0 ||
                   std::string_view("-_.~/").find(static_cast<char>(c)) != std::string_view::npos
               ? std::string(1, static_cast<char>(c))
               : fmt::format("%{:02X}", c);
  return out;
}

std::string MembersHtml(const std::filesystem::path& folder, const CampaignResult& result) {
  HtmlTable table("Members of the campaign", {"member", "#impacts", "#accepted", "run", "why not"});
  for (const MemberResult& member : result.members) {
    const std::string link =
        fmt::format("<a href=\"{}\">report</a>", Link(folder, member.member->run, "report.html"));
    table.Row({Escape(member.member->name), std::to_string(member.events.size()),
               std::to_string(member.accepted), link, Escape(member.fault)},
              member.fault.empty() ? "" : "muted");
  }
  return table.Html();
}

std::string P(double p) { return p < 1e-15 ? "&lt; 1e-15" : Num(p, 2); }

std::string DifferencesHtml(const CampaignResult& result) {
  if (result.differences.empty()) return "<p>One member alone: there is nothing to compare.</p>\n";
  HtmlTable table(
      "Differences between every two members, each fitted alone; p corrected for all of them "
      "together",
      {"coefficient", "member", "less", "#difference", "#p", "#p of the family", "verdict"});
  for (const MemberDifference& d : result.differences) {
    table.Row({pipelines::SymbolHtml(d.parameter), Escape(d.a), Escape(d.b),
               std::isfinite(d.sd) ? pipelines::ValueSd(d.difference, d.sd) : "–", P(d.p),
               P(d.p_family),
               d.verdict == "differ" ? "<span class=\"notok\">differ</span>" : Escape(d.verdict)});
  }
  return table.Html(result.differences.size() > 15);
}

// All impacts, each with the way to its recording; the page's script filters and sorts.
std::string ImpactsHtml(const std::filesystem::path& folder, const CampaignResult& result) {
  HtmlTable table("Every impact of every member",
                  {"member", "recording", "#impact", "state", "#approach [m/s]", "#slip [m/s]",
                   "#lean [rad]", "#v_n+ / v_n−", "#J_t / J_n"});
  for (const MemberResult& member : result.members) {
    const std::string link = Link(folder, member.member->run, "report.html");
    for (const ImpactEvent& event : member.events) {
      std::vector<std::string> cells = {
          Escape(member.member->name),
          fmt::format("<a href=\"{}\">{}</a>", link, Escape(event.recording)),
          std::to_string(event.impact),
          event.accepted ? "accepted" : Escape(pipelines::ReasonTitle(ReasonName(event.reason)))};
      if (event.accepted) {
        const MeasuredImpact m = MeasureImpact(event);
        for (const double value :
             {m.speed, event.contact.v_minus_F.head<2>().norm(), m.lean, m.e, m.ratio})
          cells.push_back(Fixed(value, 3));
      } else {
        cells.insert(cells.end(), 5, "–");
      }
      table.Row(cells);
    }
  }
  return table.Html(true);
}

constexpr std::string_view kFilterScript = R"js(
(() => {
  // The long table: a line to type in, and columns that sort.
  const section = document.getElementById('impacts');
  const table = section && section.querySelector('table');
  if (!table) return;
  const rows = [...table.tBodies[0].rows];
  const box = document.createElement('p');
  box.innerHTML = '<label>Show rows with <input type="search" size="30"></label> <span role="status"></span>';
  const input = box.querySelector('input'), status = box.querySelector('span');
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter((w) => w);
    let n = 0;
    rows.forEach((row) => { const text = row.textContent.toLowerCase(); row.hidden = !words.every((w) => text.includes(w)); n += row.hidden ? 0 : 1; });
    status.textContent = n + ' of ' + rows.length;
  };
  input.addEventListener('input', show);
  section.insertBefore(box, section.querySelector('h2').nextSibling);
  show();
  [...table.tHead.rows[0].cells].forEach((cell, k) => {
    const button = document.createElement('button');
    button.type = 'button'; button.textContent = cell.textContent; button.className = 'sort';
    cell.textContent = ''; cell.append(button);
    let way = 1;
    button.addEventListener('click', () => {
      const number = (row) => parseFloat(row.cells[k].textContent.replace('\u2212', '-'));
      rows.sort((a, b) => way * (isNaN(number(a)) || isNaN(number(b)) ? a.cells[k].textContent.localeCompare(b.cells[k].textContent, undefined, {numeric: true}) : number(a) - number(b)));
      rows.forEach((row) => table.tBodies[0].append(row));
      [...table.tHead.rows[0].cells].forEach((other) => other.removeAttribute('aria-sort'));
      cell.setAttribute('aria-sort', way > 0 ? 'ascending' : 'descending');
      way = -way;
    });
  });
})();
)js";

constexpr std::string_view kStyle =
    "button.sort{all:unset;cursor:pointer;text-decoration:underline "
    "dotted}button.sort:focus-visible{outline:2px solid}";

}  // namespace

void WriteCampaign(const std::filesystem::path& folder, const Campaign& campaign,
                   const CampaignResult& result, const std::string& plotting) {
  WriteCampaignTables(folder, result);
  pipelines::Page page;
  page.title = campaign.name;
  const ModelScore* best = result.study.chosen();
  int accepted = 0, used = 0;
  for (const MemberResult& member : result.members) {
    accepted += member.accepted;
    used += member.fault.empty();
  }
  page.head = fmt::format("<p>{} of {} members, {}. ", used, result.members.size(),
                          pipelines::Count(accepted, "accepted impact"));
  if (best != nullptr) {
    const bool one = best->fit.model.friction == Pooling::kComplete &&
                     best->fit.model.restitution == Pooling::kComplete;
    page.head += used < 2 ? fmt::format("The model that serves: <b>{}</b>.",
                                        Escape(ModelName(best->fit.model)))
                 : one    ? fmt::format(
                                "One pair of coefficients serves all members (model <b>{}</b>): the "
                                   "differences between them do not help to "
                                   "predict recordings left out.",
                                Escape(ModelName(best->fit.model)))
                       : fmt::format("The members differ (model <b>{}</b>): {}.",
                                     Escape(ModelName(best->fit.model)), Escape(best->verdict));
  }
  page.head += "</p>\n";
  page.sections.push_back({"members", "Members", MembersHtml(folder, result), {}});
  page.sections.push_back(
      {"models", "What the coefficients depend on", pipelines::CoefficientHtml(result.study), {}});
  page.sections.push_back({"differences", "Differences", DifferencesHtml(result), {}});
  page.sections.push_back({"impacts", "Impacts", ImpactsHtml(folder, result), {}});
  page.styles.push_back(kStyle);
  page.scripts.push_back(kFilterScript);
  pipelines::WritePage(folder / "campaign.html", page, pipelines::ReadPlotLibrary(plotting));
}

}  // namespace impactlab
