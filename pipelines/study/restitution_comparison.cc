#include "pipelines/study/restitution_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "data/files/sentence.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/statistics/statistics.h"
#include "impact/identify/identify.h"
#include "impact/identify/single_impact.h"

namespace impactlab {
namespace {

constexpr double kRestitutionLevel = 0.05;

const LawFit* FitOf(const FitResult& fit, RestitutionLaw law) {
  for (const LawFit& one : fit.fits)
    if (one.law == LawName(law) && one.fitted() && std::isfinite(one.e.value)) return &one;
  return nullptr;
}

// Of the differences of all laws from the reference.
using Slopes = std::array<double, kComparedLaws>;

// The coefficients that one impact implies at a friction.
struct Implied {
  RestitutionNumbers e{};
  double sd = 0;
};
std::optional<Implied> ImpliedBy(const ImpactEvent& event, const Body& body, double mu) {
  Implied out;
  for (std::size_t k = 0; k < out.e.size(); ++k) {
    const std::optional<SingleCoefficient> one =
        RestitutionOf(event, body, {{.e = 0.5, .mu_k = mu, .mu_s = mu}, kRestitutionLaws[k].law});
    if (!one) return std::nullopt;
    out.e[k] = one->value;
    out.sd = one->sd;
  }
  return out;
}

// What is rounding is no difference.
double Whole(double difference) { return std::abs(difference) < 1e-9 ? 0 : difference; }

bool IsWhole(const ImpliedCoefficients& one) {
  return std::all_of(one.e.begin(), one.e.end(),
                     [&](double e) { return Whole(e - one.e.back()) == 0; });
}

double StopShare(const ImpactOutcome& outcome) {
  if (outcome.path_case.digit == 5 || outcome.path_case.digit == 6) return 0;
  for (int k = 0; k < outcome.path_size; ++k)
    if (outcome.path[static_cast<std::size_t>(k)].event == PathEvent::kSlipStops)
      return outcome.path[static_cast<std::size_t>(k)].J_F.z() / outcome.J_F.z();
  return 1;
}

// Mean over recordings with its sd; what friction's error adds is `slope` times its sd.
RestitutionDifference MeanOf(const std::map<std::string, std::vector<double>>& by_recording,
                             double slope_sd) {
  std::vector<double> d;
  d.reserve(by_recording.size());
  for (const auto& [name, values] : by_recording) d.push_back(Mean(values));
  RestitutionDifference out;
  out.value = Mean(d);
  const double m = static_cast<double>(d.size());
  const double scatter = d.size() > 1 ? StandardDeviation(d) / std::sqrt(m) : std::nan("");
  out.sd = std::hypot(scatter, slope_sd);
  out.p = d.size() < 3     ? std::nan("")
          : out.sd > 0     ? 2 * StudentCdf(-std::abs(out.value) / out.sd, m - 1)
          : out.value == 0 ? 1
                           : 0;
  return out;
}

// Difference of two fitted coefficients, by how each moves when a recording is left out.
RestitutionDifference FittedDifference(const LawFit& a, const LawFit& b) {
  RestitutionDifference out;
  out.value = a.e.value - b.e.value;
  std::map<std::string, double> shift;
  const auto add = [&](const LawFit& fit, double sign) {
    for (const EventInfluence& one : fit.influence)
      if (one.shift.size() > 1) shift[one.recording] += sign * one.shift[1] * fit.e.sd;
  };
  add(a, 1);
  add(b, -1);
  const double m = static_cast<double>(shift.size());
  double sum = 0;
  for (const auto& [name, value] : shift) sum += value * value;
  // Two descents end within a small part of a standard deviation of where they would.
  constexpr double kDescent = 0.02;
  const double descent = kDescent * (std::isfinite(a.e.sd) ? a.e.sd : 0);
  out.sd = m > 2 && std::isfinite(sum) ? std::hypot(std::sqrt(sum * (m - 1) / m), descent)
                                       : std::nan("");
  out.p = out.sd > 0                   ? 2 * StudentCdf(-std::abs(out.value) / out.sd, m - 1)
          : std::abs(out.value) < 1e-9 ? 1
                                       : std::nan("");
  return out;
}

RestitutionRow RestitutionRowOf(const std::string& group,
                                const std::vector<const ImpliedCoefficients*>& impacts,
                                const std::map<const ImpliedCoefficients*, Slopes>& by_mu,
                                double sd_mu) {
  RestitutionRow row;
  row.group = group;
  row.n = static_cast<int>(impacts.size());
  std::array<std::map<std::string, std::vector<double>>, kComparedLaws> differences;
  Slopes slope{};
  for (const ImpliedCoefficients* one : impacts) {
    for (std::size_t k = 0; k < row.e.size(); ++k) row.e[k] += one->e[k] / row.n;
    for (std::size_t k = 0; k < kComparedLaws; ++k) {
      differences[k][one->recording].push_back(Whole(one->Less(k)));
      slope[k] += by_mu.at(one)[k] / row.n;
    }
  }
  for (std::size_t k = 0; k < kComparedLaws; ++k)
    row.less_reference[k] = MeanOf(differences[k], slope[k] * sd_mu);
  row.recordings = static_cast<int>(differences[0].size());
  return row;
}

// Which of the fitted coefficients differ from that of the reference, and by how much.
std::string DifferencesInWords(const RestitutionRow& fit) {
  const std::string reference = InfoOf(kReferenceLaw).symbol;
  const double level = kRestitutionLevel / static_cast<double>(kComparedLaws);
  std::vector<std::string> differ, alike, figures;
  for (std::size_t k = 0; k < kComparedLaws; ++k) {
    const std::string symbol = kRestitutionLaws[k].symbol;
    const RestitutionDifference& d = fit.less_reference[k];
    (d.p < level ? differ : alike).push_back(symbol);
    figures.push_back(std::isfinite(d.sd)
                          ? fmt::format("{} - {} = {:+.4f} ± {:.4f}, p = {:.2g}", symbol, reference,
                                        d.value, d.sd, d.p)
                          : fmt::format("{} - {} without an uncertainty", symbol, reference));
  }
  const char* const all = kComparedLaws == 2 ? "both" : "all";
  const std::string found =
      alike.empty()    ? fmt::format("{} others differ from {}", all, reference)
      : differ.empty() ? std::string("they do not differ significantly")
                       : fmt::format("{} differ{} from {}, {} do{} not significantly",
                                     ListInWords(differ), differ.size() == 1 ? "s" : "", reference,
                                     ListInWords(alike), alike.size() == 1 ? "es" : "");
  return fmt::format("{} at the level of {:.0f} % for {} together, p below {} for each ({})", found,
                     100 * kRestitutionLevel, all, level, JoinNames(figures, "; "));
}

std::string RestitutionSentence(const RestitutionComparison& c) {
  const RestitutionRow& fit = c.rows.front();
  if (std::all_of(c.impacts.begin(), c.impacts.end(), IsWhole)) {
    std::vector<std::string> symbols;
    symbols.reserve(kRestitutionLaws.size());
    for (const RestitutionLawInfo& law : kRestitutionLaws) symbols.emplace_back(law.symbol);
    return fmt::format(
        "{} are one number ({:.3f}) in all {} impacts: slip neither stops nor turns on the way in "
        "any of them",
        ListInWords(symbols), fit.e.back(), c.impacts.size());
  }
  std::vector<std::string> fitted;
  for (std::size_t k = 0; k < fit.e.size(); ++k)
    fitted.push_back(fmt::format("{} = {:.3f}", kRestitutionLaws[k].symbol, fit.e[k]));
  std::string out = JoinNames(fitted) + " fitted to all; ";
  out += std::all_of(fit.less_reference.begin(), fit.less_reference.end(),
                     [](const RestitutionDifference& d) { return !std::isfinite(d.sd); })
             ? "these recordings do not determine whether they differ"
             : DifferencesInWords(fit);
  int whole = 0;
  double largest = 0;
  std::string where;
  for (const ImpliedCoefficients& one : c.impacts) {
    whole += IsWhole(one);
    double difference = 0;
    for (std::size_t k = 0; k < kComparedLaws; ++k)
      difference = std::max(difference, std::abs(one.Less(k)));
    if (difference > largest) largest = difference, where = one.path_case;
  }
  out +=
      fmt::format(". In {} of {} impacts slip neither stops nor turns, and the {} are one number",
                  whole, c.impacts.size(), NumberInWords(kRestitutionLaws.size()));
  if (largest > 0 && whole < static_cast<int>(c.impacts.size()))
    out += fmt::format("; in the others they part by up to {:.2g} (case {})", largest, where);
  return out;
}

}  // namespace

RestitutionComparison CompareRestitution(std::span<const ImpactEvent> events, const Body& body,
                                         const FitResult& fit) {
  RestitutionComparison out;
  std::array<const LawFit*, kRestitutionLaws.size()> fits{};
  for (std::size_t k = 0; k < fits.size(); ++k) fits[k] = FitOf(fit, kRestitutionLaws[k].law);
  if (std::any_of(fits.begin(), fits.end(), [](const LawFit* f) { return f == nullptr; }))
    return out;
  const LawFit& reference = *fits.back();
  const ImpactModel model = ModelOf(reference);
  out.mu = model.mu_k;
  out.sd_mu = std::isfinite(reference.mu_k.sd) ? reference.mu_k.sd : 0;
  std::vector<Slopes> slopes;
  for (const ImpactEvent& event : events) {
    if (!event.accepted || !(event.contact.v_minus_F.z() < 0)) continue;
    const ImpactOutcome outcome = Solve(event.contact, model, {.dense_output = false});
    const std::optional<Implied> at = ImpliedBy(event, body, out.mu);
    if (outcome.status != SolveStatus::kOk || !at) continue;
    const double step = std::max(1e-4, 0.5 * out.sd_mu);
    const std::optional<Implied> above = ImpliedBy(event, body, out.mu + step),
                                 below = ImpliedBy(event, body, std::max(0.0, out.mu - step));
    Slopes slope{};
    if (above && below)
      for (std::size_t k = 0; k < slope.size(); ++k)
        slope[k] = Whole((above->e[k] - above->e.back()) - (below->e[k] - below->e.back())) /
                   (out.mu + step - std::max(0.0, out.mu - step));
    out.impacts.push_back({event.recording, outcome.path_case.Name(), event.impact, at->e, at->sd,
                           StopShare(outcome)});
    slopes.push_back(slope);
  }
  if (out.impacts.empty()) return out;
  RestitutionRow fitted;
  fitted.group = "fit";
  fitted.n = static_cast<int>(out.impacts.size());
  for (std::size_t k = 0; k < fits.size(); ++k) fitted.e[k] = fits[k]->e.value;
  for (std::size_t k = 0; k < kComparedLaws; ++k)
    fitted.less_reference[k] = FittedDifference(*fits[k], reference);
  out.rows.push_back(fitted);
  std::map<const ImpliedCoefficients*, Slopes> by_mu;
  std::vector<const ImpliedCoefficients*> all;
  std::map<std::string, std::vector<const ImpliedCoefficients*>> by_case;
  for (std::size_t i = 0; i < out.impacts.size(); ++i) {
    by_mu[&out.impacts[i]] = slopes[i];
    all.push_back(&out.impacts[i]);
    by_case["case " + out.impacts[i].path_case].push_back(&out.impacts[i]);
  }
  out.rows.push_back(RestitutionRowOf("all", all, by_mu, out.sd_mu));
  out.rows.front().recordings = out.rows.back().recordings;
  for (const auto& [group, members] : by_case)
    out.rows.push_back(RestitutionRowOf(group, members, by_mu, out.sd_mu));
  out.text = RestitutionSentence(out);
  return out;
}

void WriteRestitution(const std::filesystem::path& path, const RestitutionComparison& comparison) {
  std::vector<std::string> columns = {"group", "n", "recordings"};
  for (const RestitutionLawInfo& law : kRestitutionLaws) columns.emplace_back(law.coefficient);
  for (std::size_t k = 0; k < kComparedLaws; ++k) {
    const std::string name = kRestitutionLaws[k].coefficient, index = name.substr(2);  // of e_n
    columns.push_back(name + "_less_" + CoefficientName(kReferenceLaw));
    columns.push_back("sd_" + index);
    columns.push_back("p_" + index);
  }
  CsvWriter out(path, columns);
  for (const RestitutionRow& row : comparison.rows) {
    out.Text(row.group).Integer(row.n).Integer(row.recordings);
    for (const double e : row.e) out.Number(e);
    for (const RestitutionDifference& d : row.less_reference)
      out.Number(d.value).Number(d.sd).Number(d.p);
    out.EndRow();
  }
  out.Commit();
}

}  // namespace impactlab
