#include "pipelines/study/law_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "data/files/sentence.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/statistics/many_tests.h"
#include "data/statistics/statistics.h"
#include "impact/law/compliant.h"
#include "impact/law/impulse_law.h"
#include "pipelines/study/area_validation.h"

namespace impactlab {
namespace {

constexpr double kLawLevel = 0.05;
constexpr int kFewestForLaws = 5;  // recordings that a comparison needs

using ImpactKey = std::pair<std::string, int>;  // recording, impact
using ErrorsByImpact = std::map<ImpactKey, const PredictionError*>;

// Sum of independent values of mean 0 under equality, its standard deviation and two-sided p.
struct Paired {
  double sum = 0, sd = 0, p = 1;
};
Paired Test(const std::map<std::string, double>& by_recording) {
  std::vector<double> d;
  d.reserve(by_recording.size());
  for (const auto& [name, value] : by_recording) d.push_back(value);
  const double m = static_cast<double>(d.size());
  Paired out;
  out.sum = std::accumulate(d.begin(), d.end(), 0.0);
  if (d.size() < 2) return {out.sum, std::nan(""), std::nan("")};
  out.sd = std::sqrt(m) * StandardDeviation(d);
  out.p = out.sd > 0 ? 2 * StudentCdf(-std::abs(out.sum) / out.sd, m - 1) : out.sum == 0 ? 1 : 0;
  return out;
}

LawPair Compare(const std::string& law, const ErrorsByImpact& words, const std::string& other,
                const ErrorsByImpact& others) {
  LawPair pair;
  pair.law = law;
  pair.other = other;
  std::map<std::string, double> density, error;
  double scale = 0;
  for (const auto& [key, a] : words) {
    const auto b = others.find(key);
    if (b == others.end() || !std::isfinite(a->log_density) ||
        !std::isfinite(b->second->log_density))
      continue;
    ++pair.n;
    density[key.first] += a->log_density - b->second->log_density;
    error[key.first] += a->by_plus - b->second->by_plus;
    scale = std::max(scale, std::abs(a->log_density));
  }
  pair.recordings = static_cast<int>(density.size());
  if (pair.recordings < kFewestForLaws) {
    pair.p_log_density = pair.p_error = std::nan("");
    pair.verdict = "undecided";
    return pair;
  }
  const bool same = std::all_of(density.begin(), density.end(), [&](const auto& d) {
    return std::abs(d.second) <= 1e-9 * (1 + scale);
  });
  const Paired of_density = same ? Paired{} : Test(density),
               of_error = same ? Paired{} : Test(error);
  pair.log_density = of_density.sum, pair.sd_log_density = of_density.sd,
  pair.p_log_density = of_density.p;
  pair.error = of_error.sum / pair.n, pair.sd_error = of_error.sd / pair.n,
  pair.p_error = of_error.p;
  if (same) pair.verdict = "same";
  return pair;
}

}  // namespace

LawComparison CompareLaws(const ValidationTable& table) {
  LawComparison out;
  const std::vector<std::string> laws = LawsOf(table);
  const bool in_sample = !std::all_of(
      laws.begin(), laws.end(), [&](const std::string& law) { return HasUnseen(table, law); });
  std::map<std::string, ErrorsByImpact> words;
  for (const PredictionError& e : table.errors)
    if ((e.fold < 0) == in_sample) words[e.law][{e.recording, e.impact}] = &e;
  std::map<ImpactKey, int> by_all;
  for (const auto& [law, own] : words)
    for (const auto& [key, e] : own) by_all[key] += std::isfinite(e->log_density);
  std::map<std::string, std::pair<double, double>> mean;
  for (const auto& [key, count] : by_all) {
    if (count != static_cast<int>(laws.size())) continue;
    ++out.n;
    for (const std::string& law : laws) {
      mean[law].first += words[law].at(key)->log_density;
      mean[law].second += words[law].at(key)->by_plus;
    }
  }
  if (laws.size() < 2 || out.n == 0) return out;
  out.order = laws;
  std::stable_sort(
      out.order.begin(), out.order.end(),
      [&](const std::string& a, const std::string& b) { return mean[a].first > mean[b].first; });
  for (const std::string& law : out.order) {
    out.log_density.push_back(mean[law].first / out.n);
    out.error.push_back(mean[law].second / out.n);
  }
  std::vector<double> p_density, p_error;
  for (std::size_t i = 0; i < out.order.size(); ++i)
    for (std::size_t j = i + 1; j < out.order.size(); ++j) {
      LawPair pair = Compare(out.order[i], words[out.order[i]], out.order[j], words[out.order[j]]);
      pair.in_sample = in_sample;
      p_density.push_back(pair.p_log_density);
      p_error.push_back(pair.p_error);
      out.pairs.push_back(std::move(pair));
    }
  const std::vector<double> density = HolmAdjusted(p_density), error = HolmAdjusted(p_error);
  for (std::size_t k = 0; k < out.pairs.size(); ++k) {
    LawPair& pair = out.pairs[k];
    pair.family_log_density = density[k];
    pair.family_error = error[k];
    if (pair.verdict.empty())
      pair.verdict = !(density[k] < kLawLevel) ? "undecided"
                     : pair.log_density > 0    ? "better"
                                               : "worse";
  }
  return out;
}

std::string LawInWords(const std::string& law) {
  for (const RestitutionLawInfo& row : kRestitutionLaws)
    if (law == row.word) return std::string(row.owner) + " law";
  for (const ImpulseLawInfo& row : kImpulseLaws)
    if (law == row.word) return std::string(row.owner) + " law";
  for (const CompliantLawInfo& row : kCompliantLaws)
    if (law == row.word) return row.phrase;
  return Capitalized(law) + "'s law";
}

std::string ToWords(const LawComparison& comparison) {
  if (comparison.empty()) return "";
  // Without a test an order would be one of chance.
  if (const int recordings = comparison.pairs.front().recordings; recordings < kFewestForLaws)
    return fmt::format(
        "{} recording{} with impacts that all laws predict: too few to compare laws, {} at least",
        recordings, recordings == 1 ? "" : "s", kFewestForLaws);
  const std::string& best = comparison.order.front();
  std::vector<std::string> alike, worse, same;
  for (const LawPair& pair : comparison.pairs) {
    if (pair.law != best) continue;
    const std::string name = LawInWords(pair.other);
    if (pair.verdict == "same") same.push_back(name);
    const std::string figure =
        fmt::format("{} ({:.1f} ± {:.1f}, p = {:.2g})", name, pair.log_density, pair.sd_log_density,
                    pair.family_log_density);
    if (pair.verdict == "undecided") alike.push_back(figure);
    if (pair.verdict == "better") worse.push_back(figure);
  }
  std::string out = fmt::format("{} gives the {}motions the highest density", LawInWords(best),
                                comparison.pairs.front().in_sample ? "" : "unseen ");
  if (!same.empty())
    out += fmt::format("; {} predict{} the same", ListInWords(same), same.size() == 1 ? "s" : "");
  if (!alike.empty())
    out += fmt::format("; no significant difference from it: {}", ListInWords(alike));
  if (!worse.empty()) out += fmt::format("; worse: {}", ListInWords(worse));
  return out;
}

void WriteLawComparison(const std::filesystem::path& path, const LawComparison& comparison) {
  CsvWriter out(path, {"law", "other", "in_sample", "n", "recordings", "log_density",
                       "sd_log_density", "p_log_density", "family_log_density", "error", "sd_error",
                       "p_error", "family_error", "verdict"});
  for (const LawPair& pair : comparison.pairs) {
    out.Text(pair.law)
        .Text(pair.other)
        .Integer(pair.in_sample)
        .Integer(pair.n)
        .Integer(pair.recordings);
    for (const double value :
         {pair.log_density, pair.sd_log_density, pair.p_log_density, pair.family_log_density,
          pair.error, pair.sd_error, pair.p_error, pair.family_error})
      out.Number(value);
    out.Text(pair.verdict).EndRow();
  }
  out.Commit();
}

}  // namespace impactlab
