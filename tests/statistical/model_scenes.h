#pragma once
// Synthetic campaigns for models of the coefficients, and which of their intervals hold the truth.

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "impact/identify/coefficient_interval.h"
#include "tests/impact/identify_twin.h"

namespace impactlab::test {

struct ModelScene {
  const char* name;
  bool planar;
  int groups, events;                  // events of each group
  double sd_mu, sd_e, exponent, wild;  // between groups; of the truth; share of wild events
  CoefficientModel model;
};

inline const CoefficientModel kPartialModel{Pooling::kPartial, Pooling::kPartial};
inline const std::vector<ModelScene> kModelScenes{
    {"constant_planar", true, 1, 40, 0, 0, 0, 0, {}},
    {"constant_space", false, 1, 15, 0, 0, 0, 0, {}},
    {"speed_planar", true, 1, 40, 0, 0, 0.3, 0, {.fit_exponent = true}},
    {"speed_space", false, 1, 15, 0, 0, 0.3, 0, {.fit_exponent = true}},
    {"groups_planar", true, 10, 10, 0.04, 0.05, 0, 0, kPartialModel},
    {"groups_space", false, 8, 8, 0.04, 0.05, 0, 0, kPartialModel},
};

struct Covered {
  int n = 0, covered = 0;
  void Add(double lower, double upper, double truth) {
    ++n;
    covered += lower <= truth && truth <= upper;
  }
  void Add(const ParameterEstimate& p, double truth) {
    p.identifiable ? Add(p.lower95, p.upper95, truth) : Add(1, 0, truth);
  }
  Covered& operator+=(const Covered& other) {
    n += other.n;
    covered += other.covered;
    return *this;
  }
  double share() const { return n > 0 ? static_cast<double>(covered) / n : 0; }
};
// By "parameter method"; groups' own and spreads have the linear method alone.
using Coverage = std::map<std::string, Covered>;

// One campaign; `refits` of bootstrap and Monte Carlo each, 0 leaves all methods but the linear one
// out.
inline Coverage ScoreModelCampaign(const ModelScene& scene, std::uint64_t seed, int number,
                                   int refits) {
  std::seed_seq mix{seed, static_cast<std::uint64_t>(number)};
  std::mt19937_64 random(mix);
  const Body body = scene.planar ? twin::Square() : MakeBox({0.1, 0.08, 0.06}, 0.5);
  std::vector<EventGroup> groups;
  std::vector<std::array<double, 2>> truth;
  for (int g = 0; g < scene.groups; ++g) {
    twin::Options options{.n = scene.events,
                          .mu = 0.2,
                          .e = 0.5,
                          .exponent = scene.exponent,
                          .sd_t = 0.02,
                          .sd_n = 0.02,
                          .sd_c = 0.02};
    options.wild_share = scene.wild;
    options.mu += scene.sd_mu * twin::Normal(random);
    options.e += scene.sd_e * twin::Normal(random);
    truth.push_back({options.mu, options.e});
    groups.push_back({std::to_string(g), body, twin::Experiment(body, options, random)});
    for (ImpactEvent& event : groups.back().events) event.recording += "_" + std::to_string(g);
  }
  IdentifyOptions identify{.likelihood = Likelihood::kGaussian};
  identify.seed = static_cast<std::uint64_t>(number);
  Coverage out;
  const CoefficientFit fit =
      FitCoefficients(groups, RestitutionLaw::kEnergetic, scene.model, identify);
  if (!fit.ok) return out;
  const auto at_reference = [&](double e) {
    return 1 - (1 - e) * std::pow(fit.reference_speed / 1.5, scene.exponent);
  };
  const std::map<std::string, double> all{
      {"mu_k", 0.2}, {"e_star", at_reference(0.5)}, {"exponent", scene.exponent}};
  for (const auto& [name, value] : all)
    if (fit.Find(name) != nullptr) out[name + " linear"].Add(*fit.Find(name), value);
  if (scene.groups > 1) {
    out["sd_mu_k linear"].Add(*fit.Find("sd_mu_k"), scene.sd_mu);
    out["sd_e_star linear"].Add(*fit.Find("sd_e_star"), scene.sd_e);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      out["mu_k of groups linear"].Add(fit.groups[g].mu_k, truth[g][0]);
      out["e_star of groups linear"].Add(fit.groups[g].e, at_reference(truth[g][1]));
    }
  }
  if (refits == 0) return out;
  const IntervalComparison methods =
      CompareIntervals(groups, RestitutionLaw::kEnergetic, scene.model,
                       {.bootstrap = refits, .monte_carlo = refits, .threads = 1}, identify);
  for (const MethodInterval& row : methods.rows)
    if (row.method != "linear")
      out[row.parameter + " " + row.method].Add(row.lower95, row.upper95, all.at(row.parameter));
  return out;
}

}  // namespace impactlab::test
