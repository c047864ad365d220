// Coverage of the intervals of coefficient models: exact binomial bands at a family-wise level of 0.001, seeds fixed.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "data/statistics.h"
#include "impact/coefficient_model.h"
#include "pipelines/parallel.h"
#include "tests/impact/identify_twin.h"

namespace impactlab {
namespace {

struct Scene {
  const char* name;
  bool planar;
  int experiments, groups, events;
  double sd_mu, sd_e, exponent;  // between groups; of the truth
  CoefficientModel model;
};

struct Tally {
  int n = 0, covered = 0;
  void Add(const ParameterEstimate& p, double truth) {
    ++n;
    covered += p.identifiable && p.lower95 <= truth && truth <= p.upper95;
  }
};

struct Outcome {
  Tally mu, e, exponent, sd_mu, sd_e, group_mu, group_e;
};

Outcome Once(const Scene& scene, int number) {
  std::mt19937_64 random(20261129 + number);
  const Body body = scene.planar ? twin::Square() : MakeBox({0.1, 0.08, 0.06}, 0.5);
  std::vector<EventGroup> groups;
  std::vector<std::array<double, 2>> truth;
  for (int g = 0; g < scene.groups; ++g) {
    twin::Options options{.n = scene.events, .mu = 0.2, .e = 0.5, .exponent = scene.exponent, .sd_t = 0.02, .sd_n = 0.02, .sd_c = 0.02};
    options.mu += scene.sd_mu * twin::Normal(random);
    options.e += scene.sd_e * twin::Normal(random);
    truth.push_back({options.mu, options.e});
    groups.push_back({std::to_string(g), body, twin::Experiment(body, options, random)});
    for (ImpactEvent& event : groups.back().events) event.recording += "_" + std::to_string(g);
  }
  const CoefficientFit fit = FitCoefficients(groups, RestitutionLaw::kEnergetic, scene.model, {.likelihood = Likelihood::kGaussian});
  Outcome out;
  const auto at_reference = [&](double e) { return 1 - (1 - e) * std::pow(fit.reference_speed / 1.5, scene.exponent); };
  if (!fit.ok) return out;
  out.mu.Add(fit.parameters[0], 0.2);
  out.e.Add(fit.parameters[1], at_reference(0.5));
  if (scene.model.fit_exponent) out.exponent.Add(*fit.Find("exponent"), scene.exponent);
  if (scene.groups == 1) return out;
  out.sd_mu.Add(*fit.Find("sd_mu_k"), scene.sd_mu);
  out.sd_e.Add(*fit.Find("sd_e_star"), scene.sd_e);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    out.group_mu.Add(fit.groups[g].mu_k, truth[g][0]);
    out.group_e.Add(fit.groups[g].e, at_reference(truth[g][1]));
  }
  return out;
}

class CoefficientModelSlow : public ::testing::TestWithParam<Scene> {};

TEST_P(CoefficientModelSlow, IntervalsLieInTheExactBand) {
  const Scene& scene = GetParam();
  std::vector<Outcome> outcomes(static_cast<std::size_t>(scene.experiments));
  ForEachIndex(outcomes.size(), 0, [&](std::size_t i) { outcomes[i] = Once(scene, static_cast<int>(i)); });
  constexpr int kTests = 20;
  const std::pair<const char*, Tally Outcome::*> all[] = {{"mu_k", &Outcome::mu},
                                                          {"e", &Outcome::e},
                                                          {"exponent", &Outcome::exponent},
                                                          {"sd_mu_k", &Outcome::sd_mu},
                                                          {"sd_e", &Outcome::sd_e},
                                                          {"mu_k of groups", &Outcome::group_mu},
                                                          {"e of groups", &Outcome::group_e}};
  for (const auto& [name, member] : all) {
    Tally sum;
    for (const Outcome& outcome : outcomes) {
      sum.n += (outcome.*member).n;
      sum.covered += (outcome.*member).covered;
    }
    if (sum.n == 0) continue;
    const CountBand band = BinomialBand(sum.n, 0.95, PerTestLevel(0.001, kTests));
    fmt::print("{}: {} covered {} of {} = {:.4f}, band [{}, {}]\n", scene.name, name, sum.covered, sum.n,
               static_cast<double>(sum.covered) / sum.n, band.lower, band.upper);
    EXPECT_TRUE(band.Contains(sum.covered)) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, CoefficientModelSlow,
                         ::testing::Values(Scene{"speed_planar", true, 2000, 1, 40, 0, 0, 0.3, {.fit_exponent = true}},
                                           Scene{"speed_space", false, 300, 1, 12, 0, 0, 0.3, {.fit_exponent = true}},
                                           Scene{
                                               "groups_planar", true, 1000, 10, 10, 0.04, 0.05, 0, {Pooling::kPartial, Pooling::kPartial}},
                                           Scene{"groups_space", false, 60, 8, 8, 0.04, 0.05, 0, {Pooling::kPartial, Pooling::kPartial}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace impactlab
