// The terminal summary of a run: one screen.

#include <fmt/core.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>
#include <map>

#include "pipelines/run/run.h"

namespace impactlab {
namespace {

std::string NumberText(double value, int digits = 4) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, digits) : "-";
}

std::string IntervalText(const ParameterEstimate& p) {
  if (!std::isfinite(p.upper95)) return fmt::format("[{}, inf)", NumberText(p.lower95));
  return fmt::format("[{}, {}]", NumberText(p.lower95), NumberText(p.upper95));
}

void AddRejections(const std::vector<ImpactEvent>& events, std::string& out) {
  std::map<std::string, int> first, all;
  int accepted = 0, accepted_first = 0, impacts = 0;
  for (const ImpactEvent& event : events) {
    if (event.accepted) {
      ++accepted;
      accepted_first += event.impact == 0;
    } else {
      ++all[ReasonName(event.reason)];
    }
    ++impacts;
  }
  out += fmt::format("impacts     {} seen, {} accepted ({} of them first impacts)\n", impacts,
                     accepted, accepted_first);
  std::vector<std::pair<int, std::string>> order;
  order.reserve(all.size());
  for (const auto& [reason, count] : all) order.emplace_back(count, reason);
  std::sort(order.rbegin(), order.rend());
  std::string line;
  for (const auto& [count, reason] : order)
    line += fmt::format("{}{} {}", line.empty() ? "" : ", ", count, reason);
  if (!line.empty()) out += "rejected    " + line + "\n";
  constexpr int kNamed = 3;
  int bad = 0;
  for (const ImpactEvent& event : events)
    if (event.reason == RejectReason::kBadRecording && ++bad <= kNamed)
      out += fmt::format("            {}: {}\n", event.recording, event.detail);
  if (bad > kNamed)
    out +=
        fmt::format("            and {} more, each with its reason in events.csv\n", bad - kNamed);
}

void AddFlights(const RunResult& run, std::string& out) {
  if (run.flights.verdict.empty()) return;
  out += "free flight " + run.flights.verdict + "\n";
  const bool none = std::none_of(run.best().events.begin(), run.best().events.end(),
                                 [](const ImpactEvent& event) { return event.accepted; });
  if (none && run.flights.failed > 0)
    out += "            no impact was accepted: this is the most likely cause\n";
}

void AddTwoBodies(const RunResult& run, std::string& out) {
  if (!run.second()) return;
  const StruckBody& struck = run.experiment.second->struck;
  out +=
      fmt::format("two bodies  relative motion; the second is {}\n            {}\n",
                  struck.axis ? "on a fixed axis" : "free", ToWords(ClosureOf(run.best().events)));
}

void AddLayout(const RunResult& run, std::string& out) {
  const LearnedLayout& layout = run.best().layout;
  if (layout.impacts == 0) return;
  double least = 1e300, most = 0;
  for (const Eigen::Vector3d& sd : layout.sd) {
    least = std::min(least, sd.minCoeff());
    most = std::max(most, sd.maxCoeff());
  }
  out += fmt::format(
      "layout      given to {:.2g} mm a coordinate, learned from {} impacts to {:.2g}{}\n",
      1e3 * layout.prior_sd, layout.impacts, 1e3 * least,
      most > 1.5 * least ? fmt::format(" to {:.2g} mm", 1e3 * most) : " mm");
  for (const std::string& doubt : layout.Doubts(run.experiment.markers->plan.track.names))
    out += "            " + doubt + "\n";
}

void AddAudit(const RunResult& run, std::string& out) {
  const auto momentum = [&](const char* name, const MomentumAudit& m) {
    if (m.n == 0) return;
    if (!std::isfinite(m.relative())) {
      out += fmt::format(
          "{}spin-change residual rms {:.2f} rad/s; {}: whether momentum closes cannot be "
          "determined\n",
          name, m.rms, m.n == 1 ? "one event" : "the spin changes alike in all events");
      return;
    }
    const auto gyration = [](const Estimate& e) {
      return e.determined ? fmt::format("{:.2f}", 1e3 * e.value) : std::string("not determined");
    };
    out += fmt::format(
        "{}spin-change residual rms {:.2f} of {:.2f} rad/s spread ({:.0f} %), radius of gyration "
        "{} / {} mm (normal / tangential; body "
        "{:.2f})\n",
        name, m.rms, m.spread, 100 * m.relative(), gyration(m.gyration_normal),
        gyration(m.gyration_tangential), 1e3 * m.gyration_body);
  };
  momentum("momentum    ", run.audit.momentum);
  if (run.has_corrected) momentum("  corrected ", run.audit.momentum_corrected);
  if (run.audit.gravity.determined) {
    out += fmt::format("gravity     g = {:.3f} +- {:.3f} m/s^2 (given {:.3f})\n",
                       run.audit.gravity.value, run.audit.gravity.sd,
                       run.experiment.motion.flight.gravity_W.norm());
  }
  for (const Finding& finding : run.audit.findings) {
    // Air is no error of the recordings, and needs no second source.
    const bool air = finding.parameter == "lift_per_s" || finding.parameter == "drag_per_m";
    out +=
        fmt::format("{}{}\n", finding.named || air ? "found       " : "undecided   ", finding.text);
  }
}

void AddVerdict(const RunResult& run, std::string& out) {
  if (run.verdict.reason.empty() || run.diagnosis) return;
  std::string word = run.verdict.verdict + ": ";
  std::replace(word.begin(), word.end(), '_', ' ');
  if (word.starts_with("closes")) word.clear();  // the reason says so
  out += fmt::format("verdict     {}{}\n", word, run.verdict.reason);
}

void AddDiagnosis(const SetDiagnosis& diagnosis, std::string& out) {
  out += "seen        " + diagnosis.seen + "\n";
  for (const SetCause& cause : diagnosis.causes)
    out += fmt::format("cause       {}\n            {}\n", cause.text,
                       boost::algorithm::replace_all_copy(cause.cure, "\n", "\n            "));
}

void AddFits(const FitResult& fit, std::string& out) {
  out += fmt::format("\n{:<10} {:<7} {:>8} {:>8} {:>9} {:>20}  {:>9}\n", "law", "", "value", "sd",
                     "sd noise", "95 % interval", "bootstrap");
  std::string said;
  for (const LawFit& law : fit.fits) {
    const auto parameters = ListParameters(law);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const ParameterEstimate& p = parameters[i];
      const bool again = !p.reason.empty() && p.reason == said;
      if (!p.reason.empty()) said = p.reason;
      out += fmt::format("{:<10} {:<7} {:>8} {:>8} {:>9} {:>20}  {:>9}  {}\n",
                         i == 0 ? law.law : "", p.name, NumberText(p.value), NumberText(p.sd),
                         NumberText(p.sd_noise_only), IntervalText(p),
                         i < law.sd_bootstrap.size() ? NumberText(law.sd_bootstrap[i]) : "-",
                         again ? "as above" : p.reason);
    }
  }
}

void AddErrors(const RunResult& run, std::string& out) {
  const auto find = [](const ValidationTable& table, const std::string& law,
                       bool in_sample) -> const ErrorSummary* {
    for (const ErrorSummary& s : table.error_summary) {
      if (s.law == law && s.in_sample == in_sample && s.group == "all") return &s;
    }
    return nullptr;
  };
  const auto line = [&](const std::string& law, const char* how, const ErrorSummary* s) {
    if (!s) return;
    out += fmt::format(
        "{:<10} {:<22} {:>4}  {:>6.3f} {:>6.3f}   {:>6.3f} {:>6.3f}   {:>6.3f} {:>6.3f}\n", law,
        how, s->n, s->median_by_plus, s->mean_by_plus, s->median_by_minus, s->mean_by_minus,
        s->median_by_change, s->mean_by_change);
  };
  if (run.best().validation.errors.empty()) return;
  out += fmt::format(
      "\nprediction error, kinetic-energy norm: median and mean relative to v+, v-, change\n");
  std::vector<std::string> laws;
  for (const LawFit& law : run.best().fit.fits) laws.push_back(law.law);
  for (const ErrorSummary& s : run.best().validation.error_summary)
    if (std::find(laws.begin(), laws.end(), s.law) == laws.end()) laws.push_back(s.law);
  for (const std::string& law : laws) {
    line(law, "in sample", find(run.best().validation, law, true));
    line("", fmt::format("{}-fold", run.experiment.validation.folds).c_str(),
         find(run.best().validation, law, false));
    if (run.has_corrected)
      line("", "k-fold, uncorrected", find(run.recorded.validation, law, false));
  }
}

}  // namespace

std::string BriefReport(const RunResult& run) {
  std::string out = fmt::format("{}: {} recordings\n", run.experiment.name, run.n_recordings());
  AddRejections(run.best().events, out);
  AddFlights(run, out);
  AddTwoBodies(run, out);
  AddLayout(run, out);
  AddAudit(run, out);
  AddVerdict(run, out);
  if (run.diagnosis) {
    AddDiagnosis(*run.diagnosis, out);
    return out;
  }
  if (!run.best().fit.fits.empty() && !run.verdict.withheld) AddFits(run.best().fit, out);
  AddErrors(run, out);
  return run.verdict.withheld ? out : out + BriefReport(run.best().scrutiny);
}

}  // namespace impactlab
