// The data audit as text and tables.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "data/files/text.h"
#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

// The unit of an audit parameter is the end of its name; lengths read better in mm, angles in mrad.
struct AuditUnit {
  double factor = 1;
  std::string name;
};
AuditUnit AuditUnitOf(const std::string& parameter) {
  if (parameter.ends_with("_rad")) return {1e3, "mrad"};
  if (parameter.ends_with("_m")) return {1e3, "mm"};
  if (parameter.ends_with("_per_s")) return {1, "1/s"};
  if (parameter.ends_with("_s")) return {1e3, "ms"};
  return {1, "1"};
}

std::string FindingText(const Finding& finding) {
  std::string text = finding.text;
  if (text.rfind(finding.parameter + ":", 0) == 0) text.erase(0, finding.parameter.size() + 1);
  std::string title;
  for (std::size_t from = 0; from <= finding.parameter.size();) {
    const std::size_t bar = std::min(finding.parameter.find('|', from), finding.parameter.size());
    title += (title.empty() ? "" : " or ") +
             Escape(ErrorTitle(finding.parameter.substr(from, bar - from)));
    from = bar + 1;
  }
  return "<b>" + title + "</b>: " + Typographic(std::string(TrimSpace(text)));
}

std::string FindingsHtml(const ReportContext& context) {
  std::vector<const Finding*> findings;
  for (const bool named : {true, false})
    for (const Finding& finding : context.run.audit.findings)
      if (finding.named == named) findings.push_back(&finding);
  const bool open = context.run.verdict.verdict == "does_not_close";
  std::string verdict =
      context.run.verdict.reason.empty()
          ? std::string()
          : fmt::format("<p><b>Verdict</b>: {}.{}</p>\n", Typographic(context.run.verdict.reason),
                        open && findings.empty() ? " No frame error explains it." : "");
  if (findings.empty() && open) return verdict;
  if (findings.empty() && context.run.diagnosis)
    return "<p>No impact was accepted: of the frames nothing but the fall was checked.</p>\n";
  if (findings.empty())
    return verdict +
           "<p class=\"finding calm\">No frame error was found: nothing in the recordings "
           "contradicts mechanics beyond its uncertainty.</p>\n";
  std::string out = verdict + "<ul class=\"findings\">";
  for (const Finding* finding : findings)
    out += fmt::format("<li class=\"{}\"><span class=\"badge\">{}</span> {}</li>",
                       finding->named ? "named" : "open", finding->named ? "found" : "undecided",
                       FindingText(*finding));
  out += "</ul>\n";
  if (!context.run.has_corrected) return out;
  std::string remaining;
  for (const Finding& finding : context.run.audit_corrected.findings)
    if (finding.named)
      remaining += (remaining.empty() ? "" : ", ") +
                   fmt::format("{} ({})", Escape(ErrorTitle(finding.parameter)),
                               EstimateWords(finding.parameter, finding.estimate));
  return out + (remaining.empty()
                    ? "<p>Audited again after the correction, the recordings show no further frame "
                      "error.</p>\n"
                    : "<p>Audited again after the correction, the recordings still show: " +
                          remaining + ".</p>\n");
}

std::string MomentumTable(const ReportContext& context) {
  const RunResult& run = context.run;
  HtmlTable table(
      "Angular momentum about the contact point",
      {"Frames", "#Impacts", "#rms residual [rad/s]", "#median [rad/s]", "#bias [rad/s]",
       "#expected rms [rad/s]", "#Spread of the spin change [rad/s]", "#Residual / spread"});
  const auto row = [&](const std::string& name, const MomentumAudit& m) {
    if (m.n > 0)
      table.Row({name, fmt::format("{}", m.n), Num(m.rms), Num(m.median_abs), Num(m.bias),
                 Num(m.expected_rms), Num(m.spread), Percent(m.relative())});
  };
  row("as recorded", run.audit.momentum);
  if (run.has_corrected)
    row("corrected", run.audit_corrected.momentum);
  else
    row("with the errors named undone", run.audit.momentum_corrected);
  return table.rows() > 0 ? table.Html() : std::string();
}

std::string GyrationHtml(const ReportContext& context) {
  const AuditResult& audit = context.final_audit();
  std::vector<IntervalRow> rows;
  const auto add = [&](const char* label, const Estimate& estimate) {
    if (audit.momentum.n > 0 && std::isfinite(estimate.value) &&
        (estimate.determined || estimate.value != 0))
      rows.push_back({label, 1e3 * estimate.value, 1e3 * estimate.lower95, 1e3 * estimate.upper95,
                      !estimate.determined});
  };
  add("normal impulse", audit.momentum.gyration_normal);
  add("tangential impulse", audit.momentum.gyration_tangential);
  std::string out =
      rows.empty()
          ? std::string()
          : IntervalChart("Radius of gyration from each part of the impulse, 95 % interval", "mm",
                          rows, 1e3 * audit.momentum.gyration_body, "body as given");
  if (audit.gravity.determined) {
    const double g = context.run.experiment.motion.flight.gravity_W.norm();
    out += IntervalChart(
        "Acceleration of free flight, 95 % interval", "m/s²",
        {{"all arcs", audit.gravity.value, audit.gravity.lower95, audit.gravity.upper95, false}}, g,
        "as given");
  }
  if (!out.empty()) out = "<div class=\"minis\">" + out + "</div>\n";
  if (!audit.inertia_note.empty()) out += "<p>" + Typographic(audit.inertia_note) + "</p>\n";
  return out;
}

std::string EvidenceTable(const ReportContext& context) {
  HtmlTable table(
      "Estimate of each frame error by each source of evidence",
      {"Frame error", "Source", "Frames", "#Estimate", "#95 % interval", "Unit", "Determined"});
  const auto rows = [&](const AuditResult& audit, const char* frames) {
    for (const Evidence& evidence : audit.evidence) {
      const AuditUnit unit = AuditUnitOf(evidence.parameter);
      const Estimate& e = evidence.estimate;
      std::string source = evidence.source;
      std::replace(source.begin(), source.end(), '_', ' ');
      if (e.determined)
        table.Row({Escape(ErrorTitle(evidence.parameter)), Escape(source), frames,
                   ValueSd(unit.factor * e.value, unit.factor * e.sd),
                   BoundsText(unit.factor * e.lower95, unit.factor * e.upper95, unit.factor * e.sd),
                   unit.name, "yes"});
      else
        table.Row(
            {Escape(ErrorTitle(evidence.parameter)), Escape(source), frames, "\u2013", "\u2013",
             unit.name, "no" + (e.reason.empty() ? std::string() : ": " + Escape(e.reason))},
            "muted");
    }
  };
  rows(context.run.audit, "as recorded");
  if (context.run.has_corrected) rows(context.run.audit_corrected, "corrected");
  if (table.rows() == 0) return {};
  const std::string html = table.Html(table.rows() > 14);
  return table.rows() > 8 ? "<details><summary>Evidence by source</summary>" + html + "</details>\n"
                          : html;
}

// The corrections that were applied, where there were any.
std::string CorrectionHtml(const ReportContext& context) {
  const FrameCorrection& c = context.best.correction;
  std::string items;
  const auto item = [&](const std::string& name, double value, const char* unit) {
    if (value != 0) items += fmt::format("<li>{}: {} {}</li>", name, Num(value), unit);
  };
  const bool planar = context.run.experiment.body.planar;
  if (planar) {
    item("attitude offset", c.theta_offset(), "rad");
  } else {
    item("attitude offset about x", c.rotation_offset_B.x(), "rad");
    item("attitude offset about y", c.rotation_offset_B.y(), "rad");
    item("attitude offset about z", c.rotation_offset_B.z(), "rad");
  }
  for (int k = 0; k < 3; ++k)
    item(fmt::format("offset of the centre of mass in {}", "xyz"[k]), 1e3 * c.com_offset_B[k],
         "mm");
  item("floor height", 1e3 * c.floor_offset, "mm");
  item("floor tilt", c.floor_tilt, "rad");
  if (c.length_scale != 1) items += "<li>length scale: " + Num(c.length_scale, 5) + "</li>";
  if (c.clock_rate != 1) items += "<li>clock rate: " + Num(c.clock_rate, 5) + "</li>";
  if (c.mirrored) items += "<li>mirrored axis</li>";
  if (c.theta_flipped) items += "<li>sense of rotation</li>";
  if (items.empty()) return {};
  return "<p>Corrected in the frames before any number of this report was computed:</p><ul "
         "class=\"plain\">" +
         items + "</ul>\n";
}

std::string EventTable(const ReportContext& context) {
  const AuditResult& audit = context.final_audit();
  if (audit.events.empty()) return {};
  const auto mark = [](bool ok) {
    return ok ? std::string("<span class=\"ok\">ok</span>")
              : std::string("<span class=\"notok\">fails</span>");
  };
  HtmlTable table("Checks of every impact",
                  {"Recording", "#Impact", "#Residual [rad/s]", "Momentum", "#Energy change",
                   "#its sd", "Energy", "Friction force", "Friction"});
  std::vector<const EventAudit*> sorted;
  int momentum = 0, energy = 0, friction = 0;
  for (const EventAudit& event : audit.events) {
    sorted.push_back(&event);
    momentum += event.momentum_ok ? 0 : 1;
    energy += event.energy_ok ? 0 : 1;
    friction += event.friction_ok ? 0 : 1;
  }
  const auto fails = [](const EventAudit* e) {
    return (e->momentum_ok ? 0 : 1) + (e->energy_ok ? 0 : 1) + (e->friction_ok ? 0 : 1);
  };
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const auto* a, const auto* b) { return fails(a) > fails(b); });
  for (const EventAudit* event : sorted) {
    std::string words = event->friction;
    std::replace(words.begin(), words.end(), '_', ' ');
    table.Row({Escape(event->recording), fmt::format("{}", event->impact),
               ValueSd(event->momentum_residual, event->momentum_sd), mark(event->momentum_ok),
               Percent(event->energy_gain), Percent(event->energy_sd), mark(event->energy_ok),
               Escape(words), mark(event->friction_ok)});
  }
  return fmt::format(
             "<p>Of {}, {} fail the momentum check, {} gain energy and {} show a friction force "
             "along the slip.</p>\n",
             Count(static_cast<long long>(audit.events.size()), "audited impact"), momentum, energy,
             friction) +
         "<details><summary>Checks of every impact, failures first</summary>" + table.Html(true) +
         "</details>\n";
}

}  // namespace

std::string EstimateWords(const std::string& parameter, const Estimate& estimate) {
  const AuditUnit unit = AuditUnitOf(parameter);
  return ValueSd(unit.factor * estimate.value, unit.factor * estimate.sd) +
         (unit.name == "1" ? std::string() : "\u00A0" + unit.name);
}

Section AuditSection(const ReportContext& context) {
  Section section{
      .id = "audit", .title = "Data audit", .html = {}, .figures = AuditFigures(context)};
  section.html =
      "<p>Before any law is fitted, the recordings are checked against mechanics alone: angular "
      "momentum about the contact point, free flight and rest poses. A frame error is named only "
      "when two independent sources agree on it.</p>\n";
  section.html += FindingsHtml(context) + CorrectionHtml(context) + MomentumTable(context) +
                  GyrationHtml(context);
  section.html += FiguresHtml(section.figures, context.interactive);
  section.html += EvidenceTable(context) + EventTable(context);
  return section;
}

}  // namespace impactlab::pipelines
