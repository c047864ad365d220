// Free flight as a check of what was declared: gravity and the marker layout against cameras,
// clocks and lengths.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

std::string FlightQuantityName(const std::string& name) {
  if (name == "gravity") return "gravity";
  if (name == "vertical") return "vertical, angle to the one declared";
  if (name == "scale") return "length scale of the cameras";
  if (name == "clock") return "rate of the clocks";
  if (name == "lens") return "focal length of all cameras";
  if (name == "angular momentum") return "angular momentum, change over a flight";
  if (name == "reprojection") return "residuals against their noise";
  if (name.starts_with("view ")) return "focal length of camera " + name.substr(5);
  if (name.starts_with("sync ")) return "clock of camera " + name.substr(5) + " late by";
  if (name.starts_with("row time "))
    return "rows of camera " + name.substr(9) + ", time between two beyond that declared";
  if (name.starts_with("rate ")) return "rate of the clock of camera " + name.substr(5);
  if (name.starts_with("distance ")) {
    const std::size_t gap = name.find(' ', 9);
    return "distance of markers " + name.substr(9, gap - 9) + " and " + name.substr(gap + 1);
  }
  return name;
}

// Lengths in mm, times in ms, those between rows in µs, angles in mrad.
struct FlightUnit {
  double factor = 1;
  std::string name;
};
FlightUnit FlightUnitOf(const std::string& name, const std::string& unit) {
  if (unit == "m") return {1e3, "mm"};
  if (unit == "s")
    return name.starts_with("row time ") ? FlightUnit{1e6, "µs"} : FlightUnit{1e3, "ms"};
  if (unit == "rad") return {1e3, "mrad"};
  if (unit == "m_per_s2") return {1, "m/s²"};
  return {1, "1"};
}

// Ratio of found to declared with its 95 % interval; an en dash where the declared value is 0 or
// has no uncertainty.
std::string Ratio(const FlightSummary& q) {
  if (q.expected == 0 || !(q.sd > 0)) return "–";
  const double k = 1 / q.expected;
  return Fixed(q.value * k, DecimalsFor(q.sd * std::abs(k))) + " (" +
         BoundsText(q.lower95 * k, q.upper95 * k, q.sd * std::abs(k)) + ")";
}

std::string FlightVerdictHtml(const FlightReport& report) {
  if (report.failed == 0)
    return fmt::format("<p class=\"finding calm\">{}.</p>\n", Escape(report.verdict));
  const bool several = report.culprits.size() > 1;
  const bool unknown =
      report.culprits.size() == 1 && report.culprits.front().fault == FlightFault::kUnknown;
  return fmt::format(
      "<ul class=\"findings\"><li class=\"{}\"><span class=\"badge\">{}</span> {}.</li></ul>\n",
      several || unknown ? "open" : "named", several || unknown ? "undecided" : "found",
      Escape(report.verdict));
}

std::string FlightQuantityTable(const FlightReport& report) {
  HtmlTable table("Findings from free flight, mean of the recordings",
                  {"Quantity", "#Found", "#Declared", "Unit", "#Found / declared (95 % interval)",
                   "#Largest |z|", "Recordings", "Verdict"});
  for (const FlightSummary& q : report.quantities) {
    const FlightUnit unit = FlightUnitOf(q.name, q.unit);
    table.Row({Escape(FlightQuantityName(q.name)),
               q.sd > 0 ? ValueSd(unit.factor * q.value, unit.factor * q.sd)
                        : Num(unit.factor * q.value, 3),
               Num(unit.factor * q.expected, 5), unit.name, Ratio(q),
               q.sd > 0 ? Fixed(std::abs(q.worst_z), 1) : "–", fmt::format("{}", q.recordings),
               q.failed == 0 ? std::string("<span class=\"ok\">agrees</span>")
                             : fmt::format("<span class=\"notok\">{} of {} disagree</span>",
                                           q.failed, q.recordings)});
  }
  return table.rows() > 0 ? table.Html() : std::string();
}

std::string RecordingTable(const ReportContext& context) {
  const FlightReport& report = context.run.flights;
  HtmlTable table("Recording by recording",
                  {"Recording", "#Flights", "#Residuals / noise", "Verdict"});
  for (std::size_t i = 0; i < report.recordings.size(); ++i) {
    const FlightCheck& check = report.recordings[i];
    table.Row(
        {Escape(context.run.markers()->recordings[i].tracks.recording),
         fmt::format("{}", check.flights.size()), check.usable ? Num(check.noise_scale, 2) : "–",
         Escape(check.usable ? check.verdict : check.reason)},
        check.usable ? "" : "muted");
  }
  return "<details><summary>Recording by recording</summary>" + table.Html(table.rows() > 14) +
         "</details>\n";
}

}  // namespace

Section FlightSection(const ReportContext& context) {
  Section section{.id = "flights", .title = "Free flight", .html = {}, .figures = {}};
  const FlightReport& report = context.run.flights;
  section.html =
      "<p>Between impacts nothing but gravity acts, so flights test what was declared: lenses, "
      "lengths, clocks, the layout of the markers and which camera is which. Every flight is "
      "fitted with all of it held within its stated uncertainty; then one declared quantity after "
      "the other is estimated freely. The one that explains the images is named; where several "
      "explain them equally well, all are stated.</p>\n";
  section.html += FlightVerdictHtml(report) + FlightQuantityTable(report);
  if (!report.quantities.empty())
    section.html +=
        "<p>Standard deviations include pixels and all that was declared, as if recordings shared "
        "every error: intervals are not narrower for more recordings. The layout is the one given, "
        "not the one learned.</p>\n";
  section.html += RecordingTable(context);
  return section;
}

}  // namespace impactlab::pipelines
