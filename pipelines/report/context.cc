// What the parts of the report share, and its head.
#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>
#include <regex>

#include "data/files/text.h"
#include "pipelines/page/markup.h"
#include "pipelines/report/detail/overview.h"
#include "pipelines/report/parts.h"

namespace impactlab::pipelines {
namespace {

std::string ParameterTile(const ParameterEstimate& p, const std::string& what) {
  if (!p.identifiable) {
    const std::string bounds = BoundsText(p.lower95, p.upper95, p.sd, 0);
    return Tile(what + " " + SymbolHtml(p.name), bounds == "open" ? "not determined" : bounds,
                Escape(p.reason));
  }
  return Tile(what + " " + SymbolHtml(p.name), ValueSd(p.value, p.sd),
              "95\u00A0%: " + BoundsText(p.lower95, p.upper95, p.sd));
}

// "mu = 0.10 ± 0.01", or why there is no number.
std::string ParameterWords(const ParameterEstimate& p) {
  if (p.identifiable) return SymbolHtml(p.name) + "\u00A0=\u00A0" + ValueSd(p.value, p.sd);
  const std::string bounds = BoundsText(p.lower95, p.upper95, p.sd, 0);
  return SymbolHtml(p.name) + (bounds == "open" ? " not determined by these data" : " " + bounds);
}

std::string NamedErrors(const AuditResult& audit) {
  std::vector<std::string> parts;
  for (const Finding& finding : audit.findings)
    if (finding.named)
      parts.push_back(fmt::format("{} ({})", Escape(ErrorTitle(finding.parameter)),
                                  EstimateWords(finding.parameter, finding.estimate)));
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i)
    text += (i == 0 ? "" : i + 1 == parts.size() ? " and " : ", ") + parts[i];
  return text;
}

// The verdict of the data, with errors of the frame named as people name them.
std::string ReasonHtml(const RunResult& run) {
  std::string text = Escape(run.verdict.reason);
  for (const Finding& finding : run.audit.findings)
    boost::algorithm::replace_all(text, finding.parameter, Escape(ErrorTitle(finding.parameter)));
  return text;
}

// What may be behind data that contradict a rigid body.
std::string DoubtHtml(const RunResult& run) {
  std::string text =
      "Check mass, inertia and outline of the body, which columns are positions and angles and "
      "their signs, and whether what is tracked is one rigid body that touches at one point at a "
      "time. ";
  if (!run.audit.inertia_note.empty())
    text += "Of the inertia, " + Typographic(run.audit.inertia_note) + ". ";
  return text + "<code>--force-coefficients</code> determines coefficients all the same. " +
         "<a href=\"#audit\">Data audit</a>";
}

std::string AuditWords(const ReportContext& context) {
  const RunResult& run = context.run;
  const std::string named = NamedErrors(run.audit);
  if (run.verdict.withheld && named.empty()) return {};
  if (run.has_corrected)
    return fmt::format(
        "The audit finds the frames in error: {}. Corrected as far as the experiment file allows, "
        "the momentum residual goes from {} to {} of the spin change.",
        named.empty() ? "see below" : named, Percent(run.audit.momentum.relative()),
        Percent(run.audit_corrected.momentum.relative()));
  if (!named.empty())
    return "The audit finds the frames in error: " + named +
           ". The experiment file does not allow a correction.";
  if (run.audit.momentum.n == 0) return {};
  if (!std::isfinite(run.audit.momentum.relative()))
    return "The audit finds no frame error; whether angular momentum closes cannot be determined "
           "from " +
           Count(run.audit.momentum.n, "impact") + ".";
  return fmt::format(
      "The audit finds no frame error; the momentum residual is {} of the spin change.",
      Percent(run.audit.momentum.relative()));
}

std::string Verdict(const ReportContext& context) {
  const std::size_t n_events = context.best.events.size();
  if (context.n_accepted == 0) {
    std::string text = fmt::format(
        "No impact in {} qualified as a single contact, so no coefficient was identified",
        Count(static_cast<long long>(context.run.n_recordings()), "recording"));
    if (!context.rejected.empty())
      text += fmt::format("; the most frequent reason is \u201C{}\u201D ({} of {})",
                          Escape(ReasonTitle(context.rejected[0].first)),
                          context.rejected[0].second, n_events);
    text += ".";
    if (context.run.diagnosis)
      text += " " + Capitalized(Typographic(context.run.diagnosis->seen)) + ".";
    return text;
  }
  if (context.run.verdict.withheld)
    return "Coefficients are withheld: " + ReasonHtml(context.run) + ".";
  if (!context.fit)
    return fmt::format("{} qualified as single contacts, but no law could be fitted to them.",
                       Count(context.n_accepted, "impact"));
  const LawFit& fit = *context.fit;
  std::string parameters;
  for (const ParameterEstimate& p : ListParameters(fit))
    parameters += (parameters.empty() ? "" : " and ") + ParameterWords(p);
  const MedianError error = ErrorOf(context.best.validation, fit.law);
  std::string text = fmt::format("With {}, {} of restitution ", parameters, LawPhrase(fit.law));
  if (std::isfinite(error.by_plus))
    text += fmt::format(
        "predicts the motion after {} with a median error of {}",
        error.in_sample ? "the impacts it was fitted to" : "impacts of recordings it has not seen",
        Percent(error.by_plus));
  else
    text += "was identified, but not tested against predictions";
  return text + ".";
}

// Verdicts on the quantities of the motion after, of unseen recordings where there are any.
std::string VerdictTile(const ReportContext& context) {
  for (const bool in_sample : {false, true}) {
    int n = 0, adequate = 0, discrepant = 0;
    for (const QuantitySummary& s : context.best.validation.quantity_summary)
      if (s.law == context.fit->law && s.group == "all" && s.in_sample == in_sample)
        n += s.n, adequate += s.adequate, discrepant += s.discrepant;
    if (n > 0)
      return Tile("Verdict", Percent(static_cast<double>(adequate) / n) + " adequate",
                  fmt::format("{} discrepant, {} unresolved of {} predicted quantities, k = {}",
                              Percent(static_cast<double>(discrepant) / n),
                              Percent(static_cast<double>(n - adequate - discrepant) / n), n,
                              Num(context.run.experiment.validation.coverage, 2)));
  }
  return {};
}

std::string TilesHtml(const ReportContext& context) {
  std::string tiles;
  if (const ParameterEstimate* p = Friction(*context.fit)) tiles += ParameterTile(*p, "Friction");
  if (const ParameterEstimate* p = Restitution(*context.fit))
    tiles += ParameterTile(*p, "Restitution");
  if (context.fit->e_t) tiles += ParameterTile(*context.fit->e_t, "Tangential restitution");
  if (context.fit->mu_s) tiles += ParameterTile(*context.fit->mu_s, "Static friction");
  const MedianError error = ErrorOf(context.best.validation, context.fit->law);
  if (std::isfinite(error.by_plus))
    tiles += Tile("Prediction error", Percent(error.by_plus),
                  error.in_sample ? "median, in sample" : "median over unseen recordings");
  tiles += VerdictTile(context);
  tiles +=
      Tile("Impacts used", fmt::format("{}", context.n_accepted),
           fmt::format("of {} in {}", context.best.events.size(),
                       Count(static_cast<long long>(context.run.n_recordings()), "recording")));
  if (std::isfinite(context.final_audit().momentum.relative()))
    tiles += Tile("Momentum residual", Percent(context.final_audit().momentum.relative()),
                  "of the spread of the spin change");
  return tiles;
}

std::string CountsHtml(const ReportContext& context) {
  int largest = context.n_accepted;
  for (const auto& [reason, n] : context.rejected) largest = std::max(largest, n);
  if (largest == 0) return {};
  std::string rows;
  const auto row = [&](const std::string& name, int n, const char* kind) {
    rows += fmt::format(
        "<tr class=\"{}\"><th scope=\"row\">{}</th><td class=\"n\">{}</td><td "
        "class=\"barcell\"><span style=\"width:{:.1f}%\"></span></td></tr>",
        kind, name, n, 100.0 * n / largest);
  };
  row("accepted", context.n_accepted, "good");
  for (const auto& [reason, n] : context.rejected) row(Escape(ReasonTitle(reason)), n, "bad");
  return fmt::format(
      "<div class=\"counts\"><table><caption>Impacts found: {}, by outcome</caption><thead "
      "class=\"away\"><tr><th scope=\"col\">Outcome</th><th scope=\"col\">Impacts</th><th "
      "scope=\"col\">Share</th></tr></thead><tbody>{}</tbody></table></div>",
      context.best.events.size(), rows);
}

std::string FitIntervalsHtml(const ReportContext& context) {
  std::vector<IntervalRow> mu, e;
  for (const LawFit* fit : FitsInOrder(context)) {
    if (const ParameterEstimate* p = Friction(*fit))
      mu.push_back({LawTitle(fit->law), p->value, p->lower95, p->upper95, !p->identifiable});
    if (const ParameterEstimate* p = Restitution(*fit))
      e.push_back({LawTitle(fit->law), p->value, p->lower95, p->upper95, !p->identifiable});
  }
  if (mu.empty() && e.empty()) return {};
  return "<div class=\"minis\">" +
         IntervalChart("Friction coefficient μ by law, 95 % interval", "", mu) +
         IntervalChart("Coefficient of restitution e by law, 95 % interval", "", e) + "</div>\n";
}

}  // namespace

int ReportContext::Code(const std::string& recording, int impact) const {
  const auto it = recording_index.find(recording);
  return it == recording_index.end() ? -1 : EventCode(it->second, impact);
}

const ParameterEstimate* Friction(const LawFit& fit) {
  return fit.mu_k.name.empty() ? nullptr : &fit.mu_k;
}
const ParameterEstimate* Restitution(const LawFit& fit) {
  return fit.e.name.empty() ? nullptr : &fit.e;
}

std::string Typographic(std::string text) {
  static const std::regex exponent("([0-9])e([+-]?)0*([0-9]+)"), minus("(^|[ (,=])-(?=[0-9])"),
      name("([a-z])_(?=[a-z])");
  text = Escape(text);
  text = std::regex_replace(text, exponent, "$1\u00D710<sup>$2$3</sup>");
  text = std::regex_replace(text, minus, "$1\u2212");
  text = std::regex_replace(text, name, "$1 ");
  for (const auto& [ascii, sign] : {std::pair{"+-", "±"}, std::pair{"<sup>-", "<sup>\u2212"},
                                    std::pair{"<sup>+", "<sup>"}, std::pair{"^2", "²"}})
    for (std::size_t at; (at = text.find(ascii)) != std::string::npos;)
      text.replace(at, std::string_view(ascii).size(), sign);
  return text;
}

std::vector<const LawFit*> FitsInOrder(const ReportContext& context) {
  std::vector<const LawFit*> fits;
  if (context.best.fit.verdict.withheld || context.n_accepted == 0) return fits;
  if (context.fit) fits.push_back(context.fit);
  for (const LawFit& fit : context.best.fit.fits)
    if (&fit != context.fit) fits.push_back(&fit);
  return fits;
}

MedianError ErrorOf(const ValidationTable& table, const std::string& law) {
  MedianError found;
  for (const ErrorSummary& summary : table.error_summary) {
    if (summary.law != law || summary.group != "all" || summary.n == 0) continue;
    if (std::isfinite(found.by_plus) && summary.in_sample) continue;
    found = {summary.median_by_plus, summary.in_sample};
  }
  return found;
}

int CaseColour(const std::string& path_case) {
  return path_case.empty() || path_case[0] < '0' || path_case[0] > '6' ? 7 : path_case[0] - '0';
}

ReportContext MakeContext(const RunResult& run, bool interactive) {
  ReportContext context{.run = run,
                        .best = run.best(),
                        .interactive = interactive,
                        .recording_index = {},
                        .path_case = {},
                        .rejected = {}};
  for (std::size_t i = 0; i < run.n_recordings(); ++i)
    context.recording_index.emplace(run.poses(i).name, static_cast<int>(i));
  std::map<std::string, int> reasons;
  for (const ImpactEvent& event : context.best.events) {
    if (event.accepted)
      ++context.n_accepted;
    else
      ++reasons[ReasonName(event.reason)];
  }
  context.rejected.assign(reasons.begin(), reasons.end());
  std::stable_sort(context.rejected.begin(), context.rejected.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  // Reported first is the fitted law with the highest predictive likelihood of unseen motions;
  // where its difference from the energetic law is not significant, the energetic law, the only one
  // that cannot gain energy. Where laws were not compared, the one of least median error.
  const std::string reference = LawName(kReferenceLaw);
  for (const std::string& law : context.best.scrutiny.laws.order) {
    const LawFit* fit = FitOf(context, law);
    if (!fit) continue;
    const LawPair* pair = PairOf(context, law, reference);
    const LawFit* energetic =
        pair && pair->verdict != "better" ? FitOf(context, reference) : nullptr;
    context.fit = energetic ? energetic : fit;
    break;
  }
  double least = std::numeric_limits<double>::infinity();
  for (const LawFit& fit : context.best.fit.fits) {
    if (context.best.fit.verdict.withheld || context.n_accepted == 0) break;
    if (!context.best.scrutiny.laws.empty() && context.fit) break;
    const MedianError error = ErrorOf(context.best.validation, fit.law);
    const double score = std::isfinite(error.by_plus) ? error.by_plus : 1e9;
    if (!context.fit || score < least * (1 - 1e-9) ||
        (fit.law == reference && score <= least * (1 + 1e-9))) {
      context.fit = &fit;
      least = score;
    }
  }
  if (context.fit)
    for (const PredictionError& error : context.best.validation.errors)
      if (error.law == context.fit->law && error.fold < 0)
        context.path_case[{error.recording, error.impact}] = error.path_case;
  return context;
}

std::string HeadHtml(const ReportContext& context) {
  const RunResult& run = context.run;
  const std::string name =
      run.experiment.name.empty() ? run.experiment.path.stem().string() : run.experiment.name;
  PageHead head{.eyebrow = "Impact experiment", .title = name, .lead = Verdict(context)};
  for (const std::string& text : {LawChoiceHtml(context), AuditWords(context)})
    if (!text.empty()) head.remarks.emplace_back("second", text);
  if (run.verdict.verdict == "does_not_close" && !run.verdict.withheld)
    head.remarks.emplace_back("notice", "The coefficients below were forced: " + ReasonHtml(run) +
                                            ". <a href=\"#audit\">Data audit</a>");
  if (run.diagnosis)
    for (const SetCause& cause : run.diagnosis->causes)
      head.remarks.emplace_back(
          "notice", Capitalized(Typographic(cause.text)) + ". <code>" +
                        boost::algorithm::replace_all_copy(Escape(cause.cure), "\n", "<br>") +
                        "</code>");
  if (run.verdict.withheld && !run.diagnosis) head.remarks.emplace_back("second", DoubtHtml(run));
  if (run.flights.failed > 0)
    head.remarks.emplace_back(
        "notice",
        "Free flight contradicts the declared cameras, clocks or lengths, on which every number of "
        "this report depends: " +
            Escape(run.flights.verdict) + ". <a href=\"#flights\">Findings from free flight</a>");
  if (context.fit) {
    head.tiles = TilesHtml(context);
    head.rest = LimitsHtml(context);
  }
  head.rest += "<div class=\"pair\">" + CountsHtml(context) + FitIntervalsHtml(context) + "</div>";
  return PageHeadHtml(head);
}

}  // namespace impactlab::pipelines
