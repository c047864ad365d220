// The page of a plan.

#include "pipelines/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipelines/page/html.h"
#include "pipelines/page/markup.h"
#include "pipelines/plan/detail/evaluate_design.h"

namespace impactlab {
namespace {

using pipelines::Escape;
using pipelines::Figure;
using pipelines::HtmlTable;
using pipelines::Mark;
using pipelines::Num;
using pipelines::Percent;
using pipelines::Plot;
using pipelines::Section;
using pipelines::Series;

constexpr double kMostUsefulDrops = 1e5;  // drops: more than any campaign has

std::string EHtml(const ExperimentDesign& plan) {
  return pipelines::SymbolHtml(CoefficientName(plan.law));
}

std::string Half(double x) { return std::isfinite(x) ? "&plusmn; " + Num(x, 2) : "open"; }

std::string NumberOf(double drops) {
  return std::isfinite(drops) && drops < kMostUsefulDrops ? fmt::format("{:.0f}", drops) : "none";
}

Section Allocation(const ExperimentDesign& plan, const PlanResult& result) {
  Section section{"allocation", "What to release", {}, {}};
  const bool speeds = std::any_of(plan.settings.begin(), plan.settings.end(),
                                  [](const PlanSetting& s) { return s.speed != 0; });
  const bool spins = std::any_of(plan.settings.begin(), plan.settings.end(),
                                 [](const PlanSetting& s) { return s.spin != 0; });
  std::vector<std::string> head{"#Drops", "#Slope, rad", "#Fall, m", "#Lean, rad"};
  if (speeds) head.emplace_back("#Speed, m/s");
  if (spins) head.emplace_back("#Spin, rad/s");
  for (const char* title : {"#Approach, m/s", "#Slip, m/s", "#Sliding at the end", "#Usable"})
    head.emplace_back(title);
  HtmlTable table("", head);
  for (const std::size_t c : pipelines::Chosen(result)) {
    const PlanSetting& s = plan.settings[c];
    const SettingFigures& f = result.settings[c];
    double sliding = 0, usable = 0;
    for (const SettingInformation& t : result.information[c]) {
      sliding += t.usable * pipelines::SlidingShare(t.cases);
      usable += t.usable;
    }
    std::vector<std::string> row{std::to_string(result.counts[c]), Num(s.slope), Num(s.height),
                                 Num(s.lean)};
    if (speeds) row.push_back(Num(s.speed));
    if (spins) row.push_back(Num(s.spin));
    row.push_back(Num(f.approach));
    row.push_back(Num(f.slip));
    row.push_back(usable > 0 ? Percent(sliding / usable) : "&ndash;");
    row.push_back(Percent(usable / static_cast<double>(result.information[c].size())));
    table.Row(row);
  }
  section.html = table.Html();
  section.html += fmt::format(
      "<p class=\"foot\">Shares of {} settings by {} over the prior of friction and restitution, "
      "in whole drops. Lean is that of the line from the vertex that strikes to the centre of mass "
      "from the normal, downhill positive. Releases scatter as stated in the file; what cannot be "
      "used (a second contact too soon, too few frames) is counted as drops without "
      "information.</p>",
      plan.settings.size(),
      plan.criterion == DesignCriterion::kA
          ? "the A criterion (variances in units of the half widths wanted)"
          : "the D criterion (area of the confidence region)");
  return section;
}

Section Intervals(const ExperimentDesign& plan, const PlanResult& result, bool interactive) {
  Section section{"intervals", "What the intervals will be", {}, {}};
  Plot plot;
  plot.x_label = "drops";
  plot.y_label = "95 % half width";
  plot.y_min = 0;
  double top = 0;
  const std::string e_name = pipelines::CoefficientWord(plan.law);
  for (int k = 0; k < 2; ++k) {
    Series line{k == 0 ? "mu" : e_name, Mark::kLine, k}, dots{"", Mark::kDot, k},
        errors{(k == 0 ? "mu" : e_name) + ", errors", Mark::kDash, k};
    for (const PlanPoint& p : result.curve) {
      const ExpectedCoefficient& c = k == 0 ? p.mu : p.e;
      if (!std::isfinite(c.half_width)) continue;
      for (Series* s : {&line, &errors}) s->x.push_back(p.drops);
      line.y.push_back(c.half_width);
      errors.y.push_back(c.error95);
      if (p.drops >= 6) top = std::max(top, 1.1 * c.half_width);
      if (!p.simulated) continue;
      dots.x.push_back(p.drops);
      dots.y.push_back(c.half_width);
    }
    if (line.x.empty()) continue;
    plot.series.push_back(line);
    plot.series.push_back(errors);
    plot.series.push_back(dots);
    if (plan.wanted[k] > 0)
      plot.series.push_back({(k == 0 ? "mu" : e_name) + std::string(" wanted"),
                             Mark::kDash,
                             pipelines::kInk,
                             {line.x.front(), line.x.back()},
                             {plan.wanted[k], plan.wanted[k]}});
  }
  if (!plot.series.empty()) {
    plot.y_max = top;
    Figure figure;
    figure.id = "plan_curve";
    figure.title = "Half width of the interval by number of drops";
    figure.caption =
        "Points: campaigns drawn with scatter and noise and identified, median half width. Lines "
        "between them by the information of the drops. Dashed: 95 % of the estimates lie nearer to "
        "the truth than this; with few drops Student&rsquo;s interval is wider.";
    figure.wide = true;
    PreparePlot(plot);
    figure.plots.push_back(plot);
    section.figures.push_back(figure);
    section.html = pipelines::FigureHtml(figure, interactive);
  }
  HtmlTable table(
      "", {"#Drops", "#Half width of <i>&mu;</i>", "#of " + EHtml(plan), "#Determined", "How"});
  for (const PlanPoint& p : result.curve)
    table.Row({std::to_string(p.drops), Half(p.mu.half_width), Half(p.e.half_width),
               Percent(std::min(p.mu.determined, p.e.determined)),
               p.simulated ? "campaigns" : "information"});
  section.html += table.Html(true);
  section.html += "<ul>";
  for (const std::string& limit : result.limits) section.html += "<li>" + Escape(limit) + "</li>";
  section.html += "</ul>";
  return section;
}

Section Cases(const PlanResult& result) {
  Section section{"cases", "Which cases will occur", {}, {}};
  static const char* const words[7] = {"slides throughout",
                                       "stops in compression, sticks",
                                       "stops in compression, slides again",
                                       "stops in restitution, sticks",
                                       "stops in restitution, slides again",
                                       "from rest, sticks",
                                       "from rest, slides"};
  HtmlTable table("", {"Case", "", "#Share of the impacts"});
  for (std::size_t digit = 0; digit < 7; ++digit)
    if (result.cases[digit] > 0)
      table.Row({std::to_string(digit), words[digit], Percent(result.cases[digit])});
  section.html = table.Html();
  section.html +=
      "<p class=\"foot\">Over the proposal and the prior of friction and restitution. Contacts "
      "that slide to the end determine <i>&mu;</i> by their impulse; those that stick bound it "
      "from below.</p>";
  return section;
}

Section Laws(const ExperimentDesign& plan, const PlanResult& result, bool interactive) {
  Section section{"laws", "Distinguishing laws", {}, {}};
  HtmlTable table(
      "", {"Other law", "imitates with", "#Power of " + std::to_string(plan.drops) + " drops",
           "#Drops for 80 %", "#Drops for 95 %"});
  Plot plot;
  plot.x_label = "drops";
  plot.y_label = "power";
  plot.y_min = 0;
  plot.y_max = 1;
  int colour = 0;
  for (const PlanRival& r : result.rivals) {
    const double n80 = r.Drops(0.8), n95 = r.Drops(0.95);
    table.Row({pipelines::LawTitle(LawName(r.law)),
               "<i>&mu;</i> " + Num(r.mu) + ", " + pipelines::SymbolHtml(CoefficientName(r.law)) +
                   " " + Num(r.e),
               Percent(r.Power(plan.drops)), NumberOf(n80), NumberOf(n95)});
    Series line{LawName(r.law), Mark::kLine, colour++};
    const int most = std::isfinite(n95) && n95 < kMostUsefulDrops
                         ? std::max(plan.drops, static_cast<int>(1.5 * n95))
                         : 4 * plan.drops;
    for (int k = 0; k <= 60; ++k) {
      const int n = std::max(2, most * k / 60);
      line.x.push_back(n);
      line.y.push_back(r.Power(n));
    }
    plot.series.push_back(line);
  }
  section.html = table.Html();
  section.html += fmt::format(
      "<p class=\"foot\">{} is taken to be true with the means of the prior. Both laws are fitted "
      "to drawn campaigns, and the difference of their log likelihoods is the test; its critical "
      "value at 5 % comes from campaigns in which the other law is true, with the coefficients "
      "that imitate best.</p>",
      Escape(pipelines::LawPhrase(LawName(plan.law))));
  Figure figure;
  figure.id = "plan_power";
  figure.title = "Power by number of drops";
  PreparePlot(plot);
  figure.plots.push_back(plot);
  section.figures.push_back(figure);
  section.html += pipelines::FigureHtml(figure, interactive);
  return section;
}

Section Cameras(const PlanResult& result) {
  Section section{"cameras", "Cameras and frame rate", {}, {}};
  HtmlTable table("", {"What", "Expected, worst setting", "", "To change"});
  for (const PlanCheck& check : result.checks)
    table.Row({Escape(check.name), Escape(check.found), check.fine ? "fine" : "<b>not enough</b>",
               Escape(check.advice)});
  section.html = table.Html();
  if (!result.rates.empty()) {
    HtmlTable rates("The setting with most drops at other frame rates",
                    {"#Frames a second", "#sd of a velocity after, m/s", "#of a spin after, rad/s",
                     "#of the time of impact, &micro;s"});
    for (const PlanRate& r : result.rates)
      rates.Row({Num(r.rate, 4), Num(r.sd_v_plus), Num(r.sd_spin_plus), Num(1e6 * r.sd_t)});
    section.html += rates.Html();
  }
  return section;
}

Section Settings(const ExperimentDesign& plan, const PlanResult& result) {
  Section section{"settings", "All settings", {}, {}};
  HtmlTable table("",
                  {"#Slope, rad", "#Fall, m", "#Lean, rad", "#Speed, m/s", "#Spin, rad/s", "#Drops",
                   "#<i>&mu;</i> alone", "#" + EHtml(plan) + " alone", "#Frames before", "#after",
                   "#sd v&#8314;, m/s", "#sd &omega;&#8314;, rad/s", "Refused"});
  for (std::size_t c = 0; c < plan.settings.size(); ++c) {
    const PlanSetting& s = plan.settings[c];
    const SettingFigures& f = result.settings[c];
    const bool any = f.frames_minus > 0;
    const auto figure = [&](double x) { return any ? Num(x, 2) : std::string("&ndash;"); };
    table.Row({Num(s.slope), Num(s.height), Num(s.lean), Num(s.speed), Num(s.spin),
               std::to_string(result.counts[c]), Half(result.alone[c][0]), Half(result.alone[c][1]),
               figure(f.frames_minus), figure(f.frames_plus), figure(f.sd_v_plus),
               figure(f.sd_spin_plus), Escape(pipelines::ReasonTitle(f.refused))});
  }
  section.html = table.Html(true);
  section.html += fmt::format(
      "<p class=\"foot\">Alone: half widths by the information of {} drops all made at this "
      "setting.</p>",
      plan.drops);
  return section;
}

}  // namespace

void WritePlanPage(const std::filesystem::path& path, const ExperimentDesign& plan,
                   const PlanResult& result, const std::string& library) {
  pipelines::Page page;
  page.title = plan.name + " - plan";
  const PlanPoint& last = result.curve.back();
  std::string tiles = pipelines::Tile(
      "<i>&mu;</i> after " + std::to_string(last.drops) + " drops", Half(last.mu.half_width),
      plan.wanted[0] > 0
          ? "wanted " + Num(plan.wanted[0], 2) + ": " + NumberOf(result.needed_mu) + " drops"
          : "95 % half width, median");
  tiles += pipelines::Tile(
      EHtml(plan) + " after " + std::to_string(last.drops) + " drops", Half(last.e.half_width),
      plan.wanted[1] > 0
          ? "wanted " + Num(plan.wanted[1], 2) + ": " + NumberOf(result.needed_e) + " drops"
          : "95 % half width, median");
  tiles +=
      pipelines::Tile("impacts that slide to the end",
                      Percent(pipelines::SlidingShare(result.cases)), "they determine friction");
  const auto faults = std::count_if(result.checks.begin(), result.checks.end(),
                                    [](const PlanCheck& c) { return !c.fine; });
  tiles += pipelines::Tile("cameras", faults == 0 ? "fine" : pipelines::Count(faults, "fault"),
                           pipelines::Count(static_cast<long long>(result.checks.size()), "check"));
  page.head = pipelines::PageHeadHtml(
      {.eyebrow = "ImpactLab plan",
       .title = plan.name,
       .lead =
           fmt::format("Uncertainty of friction and restitution to expect from {} of this body.",
                       pipelines::Count(plan.drops, "drop")),
       .tiles = tiles});
  page.sections = {Allocation(plan, result), Intervals(plan, result, !library.empty()),
                   Cases(result)};
  if (!result.rivals.empty()) page.sections.push_back(Laws(plan, result, !library.empty()));
  page.sections.push_back(Cameras(result));
  page.sections.push_back(Settings(plan, result));
  pipelines::WritePage(path, page, library);
}

}  // namespace impactlab
