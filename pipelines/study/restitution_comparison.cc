#include "pipelines/study/restitution_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "data/files/table.h"
#include "data/statistics/statistics.h"
#include "impact/identify/identify.h"
#include "impact/identify/single_impact.h"

namespace impactlab {
namespace {

constexpr RestitutionLaw kLaws[] = {RestitutionLaw::kNewton, RestitutionLaw::kPoisson,
                                    RestitutionLaw::kEnergetic};
constexpr double kRestitutionLevel = 0.05;

const LawFit* FitOf(const FitResult& fit, RestitutionLaw law) {
  for (const LawFit& one : fit.fits)
    if (one.law == LawName(law) && one.fitted() && std::isfinite(one.e.value)) return &one;
  return nullptr;
}

// The three coefficients that one impact implies at a friction.
struct Implied {
  std::array<double, 3> e{};
  double sd = 0;
};
std::optional<Implied> ImpliedBy(const ImpactEvent& event, const Body& body, double mu) {
  Implied out;
  for (std::size_t k = 0; k < 3; ++k) {
    const std::optional<SingleCoefficient> one =
        RestitutionOf(event, body, {{.e = 0.5, .mu_k = mu, .mu_s = mu}, kLaws[k]});
    if (!one) return std::nullopt;
    out.e[k] = one->value;
    out.sd = one->sd;
  }
  return out;
}

// What is rounding is no difference.
double Whole(double difference) { return std::abs(difference) < 1e-9 ? 0 : difference; }

bool IsWhole(const ThreeCoefficients& one) {
  return Whole(one.e_n - one.e_star) == 0 && Whole(one.e_p - one.e_star) == 0;
}

double StopShare(const ImpactOutcome& outcome) {
  if (outcome.path_case.digit == 5 || outcome.path_case.digit == 6) return 0;
  for (int k = 0; k < outcome.path_size; ++k)
    if (outcome.path[static_cast<std::size_t>(k)].event == PathEvent::kSlipStops)
      return outcome.path[static_cast<std::size_t>(k)].J_F.z() / outcome.J_F.z();
  return 1;
}

// Mean over recordings with its sd; what friction's error adds is `slope` times its sd.
void MeanOf(const std::map<std::string, std::vector<double>>& by_recording, double slope_sd,
            double* mean, double* sd, double* p) {
  std::vector<double> d;
  for (const auto& [name, values] : by_recording) d.push_back(Mean(values));
  *mean = Mean(d);
  const double m = static_cast<double>(d.size());
  const double scatter = d.size() > 1 ? StandardDeviation(d) / std::sqrt(m) : std::nan("");
  *sd = std::hypot(scatter, slope_sd);
  *p = d.size() < 3 ? std::nan("")
       : *sd > 0    ? 2 * StudentCdf(-std::abs(*mean) / *sd, m - 1)
       : *mean == 0 ? 1
                    : 0;
}

// Difference of two fitted coefficients, by how each moves when a recording is left out.
void FittedDifference(const LawFit& a, const LawFit& b, double* difference, double* sd, double* p) {
  *difference = a.e.value - b.e.value;
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
  *sd = m > 2 && std::isfinite(sum) ? std::hypot(std::sqrt(sum * (m - 1) / m), descent)
                                    : std::nan("");
  *p = *sd > 0                        ? 2 * StudentCdf(-std::abs(*difference) / *sd, m - 1)
       : std::abs(*difference) < 1e-9 ? 1
                                      : std::nan("");
}

RestitutionRow RestitutionRowOf(
    const std::string& group, const std::vector<const ThreeCoefficients*>& impacts,
    const std::map<const ThreeCoefficients*, std::array<double, 2>>& by_mu, double sd_mu) {
  RestitutionRow row;
  row.group = group;
  row.n = static_cast<int>(impacts.size());
  std::map<std::string, std::vector<double>> newton, poisson;
  std::array<double, 2> slope{};
  for (const ThreeCoefficients* one : impacts) {
    row.e_n += one->e_n / row.n;
    row.e_p += one->e_p / row.n;
    row.e_star += one->e_star / row.n;
    newton[one->recording].push_back(Whole(one->e_n - one->e_star));
    poisson[one->recording].push_back(Whole(one->e_p - one->e_star));
    for (std::size_t k = 0; k < 2; ++k) slope[k] += by_mu.at(one)[k] / row.n;
  }
  row.recordings = static_cast<int>(newton.size());
  MeanOf(newton, slope[0] * sd_mu, &row.n_less_star, &row.sd_n, &row.p_n);
  MeanOf(poisson, slope[1] * sd_mu, &row.p_less_star, &row.sd_p, &row.p_p);
  return row;
}

std::string RestitutionSentence(const RestitutionComparison& c) {
  const RestitutionRow& fit = c.rows.front();
  if (std::all_of(c.impacts.begin(), c.impacts.end(),
                  [](const ThreeCoefficients& one) { return IsWhole(one); }))
    return fmt::format(
        "e_n, e_p and e* are one number ({:.3f}) in all {} impacts: slip neither stops nor turns "
        "on the way in any of them",
        fit.e_star, c.impacts.size());
  const double level = 0.5 * kRestitutionLevel;  // two differences are looked at
  const auto differs = [&](double p) { return p < level; };
  std::string out = fmt::format("e_n = {:.3f}, e_p = {:.3f}, e* = {:.3f} fitted to all", fit.e_n,
                                fit.e_p, fit.e_star);
  const bool n = differs(fit.p_n), p = differs(fit.p_p);
  const auto figure = [](const char* name, double value, double sd, double p_value) {
    return std::isfinite(sd)
               ? fmt::format("{} - e* = {:+.4f} ± {:.4f}, p = {:.2g}", name, value, sd, p_value)
               : std::string(name) + " - e* without an uncertainty";
  };
  if (!std::isfinite(fit.sd_n) && !std::isfinite(fit.sd_p))
    out += "; these recordings do not determine whether they differ";
  else
    out += fmt::format(
        "; {} at the level of {:.0f} % for both together, p below {} for each ({}; {})",
        n && p ? "both others differ from e*"
        : n    ? "e_n differs from e*, e_p does not significantly"
        : p    ? "e_p differs from e*, e_n does not significantly"
               : "they do not differ significantly",
        100 * kRestitutionLevel, level, figure("e_n", fit.n_less_star, fit.sd_n, fit.p_n),
        figure("e_p", fit.p_less_star, fit.sd_p, fit.p_p));
  int whole = 0;
  double largest = 0;
  std::string where;
  for (const ThreeCoefficients& one : c.impacts) {
    whole += IsWhole(one);
    const double difference =
        std::max(std::abs(one.e_n - one.e_star), std::abs(one.e_p - one.e_star));
    if (difference > largest) largest = difference, where = one.path_case;
  }
  out += fmt::format(
      ". In {} of {} impacts slip neither stops nor turns, and the three are one number", whole,
      c.impacts.size());
  if (largest > 0 && whole < static_cast<int>(c.impacts.size()))
    out += fmt::format("; in the others they part by up to {:.2g} (case {})", largest, where);
  return out;
}

}  // namespace

RestitutionComparison CompareRestitution(std::span<const ImpactEvent> events, const Body& body,
                                         const FitResult& fit) {
  RestitutionComparison out;
  std::array<const LawFit*, 3> fits{};
  for (std::size_t k = 0; k < 3; ++k) fits[k] = FitOf(fit, kLaws[k]);
  if (std::any_of(fits.begin(), fits.end(), [](const LawFit* f) { return f == nullptr; }))
    return out;
  const ImpactModel model = ModelOf(*fits[2]);
  out.mu = model.mu_k;
  out.sd_mu = std::isfinite(fits[2]->mu_k.sd) ? fits[2]->mu_k.sd : 0;
  std::vector<std::array<double, 2>> slopes;
  for (const ImpactEvent& event : events) {
    if (!event.accepted || !(event.contact.v_minus_F.z() < 0)) continue;
    const ImpactOutcome outcome = Solve(event.contact, model, {.dense_output = false});
    const std::optional<Implied> at = ImpliedBy(event, body, out.mu);
    if (outcome.status != SolveStatus::kOk || !at) continue;
    const double step = std::max(1e-4, 0.5 * out.sd_mu);
    const std::optional<Implied> above = ImpliedBy(event, body, out.mu + step),
                                 below = ImpliedBy(event, body, std::max(0.0, out.mu - step));
    std::array<double, 2> slope{};
    if (above && below)
      for (std::size_t k = 0; k < 2; ++k)
        slope[k] = Whole((above->e[k] - above->e[2]) - (below->e[k] - below->e[2])) /
                   (out.mu + step - std::max(0.0, out.mu - step));
    out.impacts.push_back({event.recording, outcome.path_case.Name(), event.impact, at->e[0],
                           at->e[1], at->e[2], at->sd, StopShare(outcome)});
    slopes.push_back(slope);
  }
  if (out.impacts.empty()) return out;
  RestitutionRow fitted;
  fitted.group = "fit";
  fitted.n = static_cast<int>(out.impacts.size());
  fitted.e_n = fits[0]->e.value, fitted.e_p = fits[1]->e.value, fitted.e_star = fits[2]->e.value;
  FittedDifference(*fits[0], *fits[2], &fitted.n_less_star, &fitted.sd_n, &fitted.p_n);
  FittedDifference(*fits[1], *fits[2], &fitted.p_less_star, &fitted.sd_p, &fitted.p_p);
  out.rows.push_back(fitted);
  std::map<const ThreeCoefficients*, std::array<double, 2>> by_mu;
  std::vector<const ThreeCoefficients*> all;
  std::map<std::string, std::vector<const ThreeCoefficients*>> by_case;
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
  CsvWriter out(path, {"group", "n", "recordings", "e_n", "e_p", "e_star", "e_n_less_e_star",
                       "sd_n", "p_n", "e_p_less_e_star", "sd_p", "p_p"});
  for (const RestitutionRow& row : comparison.rows) {
    out.Text(row.group).Integer(row.n).Integer(row.recordings);
    for (const double value : {row.e_n, row.e_p, row.e_star, row.n_less_star, row.sd_n, row.p_n,
                               row.p_less_star, row.sd_p, row.p_p})
      out.Number(value);
    out.EndRow();
  }
  out.Commit();
}

}  // namespace impactlab
