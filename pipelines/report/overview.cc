// The head of the report beside its numbers: which law is reported first and why, and what limits
// the coefficients.
#include "pipelines/report/detail/overview.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "data/files/text.h"
#include "pipelines/study/undecided_errors.h"

namespace impactlab::pipelines {
namespace {

constexpr double kLevel = 0.05;  // of a difference called significant, all pairs of laws counted

std::string PValueHtml(double p) {
  return p < 0.001 ? "p &lt; 0.001" : fmt::format("p = {:.2g}", p);
}

std::string Significance(double p) {
  if (!std::isfinite(p)) return "too few recordings for a test of significance";
  return fmt::format("{}significant at {:.0f} % ({}, all pairs counted)", p < kLevel ? "" : "not ",
                     100 * kLevel, PValueHtml(p));
}

std::string SourceWords(const std::string& source) {
  if (source == "scatter") return "the scatter between impacts";
  return source == "adjustment" ? "the uncertainty of what the impacts share" : "the " + source;
}

// Number of impacts that halves a standard deviation of which `common` does not average out; 0
// where no number does.
long long ImpactsForHalf(double sd, double common, int n) {
  const double own = sd * sd - common * common, left = sd * sd / 4 - common * common;
  return own > 0 && left > 0 ? static_cast<long long>(std::ceil(n * own / left * (1 - 1e-9))) : 0;
}

std::string DropsWords(const ParameterEstimate& p, double common, int n) {
  const long long needed = ImpactsForHalf(p.sd, common, n);
  return needed > 0
             ? fmt::format(" Half the interval would need about {} impacts like the {} here.",
                           needed, n)
             : " No number of further impacts halves the interval: what all impacts share does not "
               "average out.";
}

// Shares of the variance by the error budget, largest first, as far as they matter.
std::string BudgetWords(const ErrorBudget& budget, const BudgetRow& row, const ParameterEstimate& p,
                        int n) {
  std::vector<std::size_t> order(std::min(row.sd.size(), budget.sources.size()));
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](std::size_t k) { return !std::isfinite(row.sd[k]) || row.sd[k] <= 0; });
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return row.sd[a] > row.sd[b]; });
  double total = 0, common = 0;
  for (const std::size_t k : order) {
    total += row.sd[k] * row.sd[k];
    if (budget.sources[k].common) common += row.sd[k] * row.sd[k];
  }
  if (!(total > 0)) return {};
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, order.size()); ++i) {
    const double share = row.sd[order[i]] * row.sd[order[i]] / total;
    if (i > 0 && share < 0.02) break;
    text += (i == 0 ? "" : ", ") +
            fmt::format("{} ({})", SourceWords(budget.sources[order[i]].name), Percent(share));
  }
  return "limited by " + text + ", in shares of the variance." +
         DropsWords(p, std::sqrt(common / total) * p.sd, n);
}

// Why intervals hold more than noise and scatter: errors that the flights leave open.
std::string UndecidedScaleHtml(const ReportContext& context) {
  const RunResult& run = context.run;
  if (run.experiment.second ||
      UndecidedScale(run.has_corrected ? run.audit_corrected : run.audit).empty())
    return {};
  for (const ParameterEstimate& p : ListParameters(*context.fit))
    if (p.identifiable && !p.reason.empty())
      return "<ul class=\"second limits\">\n<li>" + Capitalized(Typographic(p.reason)) +
             ".</li>\n</ul>\n";
  return {};
}

}  // namespace

const LawFit* FitOf(const ReportContext& context, const std::string& law) {
  for (const LawFit& fit : context.best.fit.fits)
    if (fit.law == law) return &fit;
  return nullptr;
}

const LawPair* PairOf(const ReportContext& context, const std::string& better,
                      const std::string& other) {
  for (const LawPair& pair : context.best.scrutiny.laws.pairs)
    if (pair.law == better && pair.other == other) return &pair;
  return nullptr;
}

std::string LawChoiceHtml(const ReportContext& context) {
  const LawComparison& laws = context.best.scrutiny.laws;
  if (!context.fit || laws.empty()) return {};
  const std::string& reported = context.fit->law;
  const std::string& best = laws.order.front();
  const std::string motions =
      laws.pairs.front().in_sample ? "the motions it was fitted to" : "unseen motions";
  std::string text;
  if (best == reported) {
    text = fmt::format("{} is reported first: it has the highest predictive likelihood for {}.",
                       Capitalized(LawPhrase(reported)), motions);
  } else if (const LawPair* pair = PairOf(context, best, reported)) {
    const bool only =
        std::count_if(kRestitutionLaws.begin(), kRestitutionLaws.end(),
                      [](const RestitutionLawInfo& law) { return law.keeps_energy; }) == 1;
    text = fmt::format(
        "{} is reported first{}. {} has a higher predictive likelihood for {}, by {} in its "
        "logarithm: {}.",
        Capitalized(LawPhrase(reported)),
        reported != LawName(kReferenceLaw) ? ", the best of the fitted ones"
        : only                             ? " because it is the only one that cannot gain energy"
                                           : " because it cannot gain energy",
        Capitalized(LawPhrase(best)), motions, ValueSd(pair->log_density, pair->sd_log_density),
        pair->verdict == "same" ? "the same predictions" : Significance(pair->family_log_density));
  }
  // The least median error is another measure, and may name another law.
  const MedianError own = ErrorOf(context.best.validation, reported);
  std::string least = reported;
  double error = own.by_plus;
  for (const LawFit& fit : context.best.fit.fits)
    if (const MedianError other = ErrorOf(context.best.validation, fit.law);
        other.by_plus < error * (1 - 1e-9))
      least = fit.law, error = other.by_plus;
  if (least == reported) return text;
  const LawPair* pair = PairOf(context, least, reported);
  if (!pair) pair = PairOf(context, reported, least);
  text += fmt::format(
      " {} has the least median error, {} against {}; the difference of mean errors is {}.",
      Capitalized(LawPhrase(least)), Percent(error), Percent(own.by_plus),
      Significance(pair ? pair->family_error : std::nan("")));
  return text;
}

std::string LimitsHtml(const ReportContext& context) {
  if (!context.fit) return {};
  if (std::string open = UndecidedScaleHtml(context); !open.empty()) return open;
  const int n = context.best.fit.n_events > 0 ? context.best.fit.n_events : context.n_accepted;
  std::string items;
  for (const ParameterEstimate& p : ListParameters(*context.fit)) {
    if (!p.identifiable || !(p.sd > 0)) continue;
    std::string words;
    for (const BudgetRow& row : context.best.budget.rows)
      if (row.law == context.fit->law && row.quantity == p.name)
        words = BudgetWords(context.best.budget, row, p, n);
    if (words.empty() && std::isfinite(p.sd_noise_only)) {
      const double noise = std::min(1.0, std::pow(p.sd_noise_only / p.sd, 2));
      words = fmt::format(
          "limited by {} ({} of the variance).{}",
          noise < 0.5 ? "the scatter between impacts, which better measurement does not reduce"
                      : "the noise of the measurement",
          Percent(std::max(noise, 1 - noise)), DropsWords(p, 0, n));
    }
    if (!words.empty()) items += "<li>" + SymbolHtml(p.name) + " is " + words + "</li>\n";
  }
  return items.empty() ? items : "<ul class=\"second limits\">\n" + items + "</ul>\n";
}

}  // namespace impactlab::pipelines
