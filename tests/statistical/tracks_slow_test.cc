// The linear error budget of mu and e* against the propagation of distributions (JCGM 101:2008),
// all sources together and one at a time; and a sentinel of tracks_study.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/statistics/statistics.h"
#include "tests/reconstruction/drop_errors.h"
#include "tests/statistical/tracks_twin.h"
#include "tests/support/per_test_level.h"

namespace impactlab::test {
namespace {

constexpr double kFamily = 1e-3;  // chance of any false alarm

double Coefficient(const Analysis& analysis, const std::string& name) {
  for (const ParameterEstimate& p : ListParameters(analysis.fit.fits.front()))
    if (p.name == name) return p.value;
  return std::nan("");
}

double Share(const ErrorBudget& budget, const BudgetRow& row, const std::string& name) {
  for (std::size_t k = 0; k < budget.sources.size(); ++k)
    if (budget.sources[k].name == name) return row.sd[k];
  return 0;
}

// Sum of squares about the mean.
double Squares(const std::vector<double>& v) {
  double mean = 0, squares = 0;
  for (const double x : v) mean += x / static_cast<double>(v.size());
  for (const double x : v) squares += (x - mean) * (x - mean);
  return squares;
}

// Smaller sources need not agree one by one: the weights of the impacts follow what is wrong with
// them, which no linear budget knows. They are printed; what rules a coefficient, and all together,
// must.
TEST(ErrorBudgetByMonteCarlo, WhatRulesACoefficientScattersAsItsShareSays) {
  const twin::TracksExperiment experiment =
      twin::MakeTracksExperiment(Thing::kRod, 8, 20 * M_PI / 180, 4711);
  std::mt19937_64 random(4712);
  constexpr int kRepeats = 40;
  const twin::Drawn nothing{false, false, false, false, false, false};
  twin::Drawn pixels = nothing, cameras = nothing, inertia = nothing, outline = nothing;
  // Markers beside the line of a rod differ from impact to impact, as pixels do.
  pixels.pixels = pixels.clocks = pixels.layout = cameras.cameras = inertia.inertia =
      outline.outline = true;
  const twin::TracksRepeat nominal = twin::Repeat(experiment, pixels, true, random);
  const ErrorBudget& budget = nominal.analysis.budget;
  const std::map<std::string, twin::Drawn> sources = {{"pixels", pixels},
                                                      {"cameras", cameras},
                                                      {"inertia", inertia},
                                                      {"outline", outline},
                                                      {"all", {}}};
  const Interval band = ChiSquareBand(kRepeats - 1, PerTestLevel(kFamily, 4));
  std::map<std::string, int> judged;
  for (const auto& source_of_errors : sources) {
    const std::string& name = source_of_errors.first;
    const auto& drawn = source_of_errors.second;
    std::map<std::string, std::vector<double>> values;
    for (int k = 0; k < kRepeats; ++k) {
      const twin::TracksRepeat repeat = twin::Repeat(experiment, drawn, false, random);
      for (const char* q : {"mu_k", "e_star"}) values[q].push_back(Coefficient(repeat.analysis, q));
    }
    for (const auto& one : values) {
      const std::string& quantity = one.first;
      const std::vector<double>& v = one.second;
      const auto row = std::find_if(budget.rows.begin(), budget.rows.end(),
                                    [&](const BudgetRow& r) { return r.quantity == quantity; });
      ASSERT_NE(row, budget.rows.end()) << quantity;
      double sd = row->total;
      bool rules = true;
      if (name != "all") {
        const auto source = std::find_if(budget.sources.begin(), budget.sources.end(),
                                         [&](const BudgetSource& s) { return s.name == name; });
        ASSERT_NE(source, budget.sources.end()) << name;
        sd = row->sd[static_cast<std::size_t>(source - budget.sources.begin())];
        // Noise reaches the coefficients by what it makes of the common errors as well.
        if (name == "pixels")
          sd = std::hypot(sd, Share(budget, *row, "adjustment"), Share(budget, *row, "layout"));
        rules = sd * sd > 0.5 * row->total * row->total;
      }
      const double squares = Squares(v);
      fmt::print("{:<8} {:<7} budget {:.2e}, scatter of {} repeats {:.2e}{}\n", name, quantity, sd,
                 kRepeats, std::sqrt(squares / (kRepeats - 1)), rules ? "" : "  (not judged)");
      if (!rules) continue;
      ++judged[quantity];
      EXPECT_GT(squares / (sd * sd), band.lower) << name << " " << quantity;
      EXPECT_LT(squares / (sd * sd), band.upper) << name << " " << quantity;
    }
  }
  for (const char* q : {"mu_k", "e_star"}) EXPECT_GE(judged[q], 1) << q;
}

TEST(TracksStudy, SentinelCovers) {
  const twin::TracksExperiment experiment =
      twin::MakeTracksExperiment(Thing::kRod, 8, 20 * M_PI / 180, 815);
  constexpr int kRepeats = 12;
  std::mt19937_64 random(816);
  double chi_square = 0;
  int n = 0, refused = 0;
  std::map<std::string, int> covered;
  for (int k = 0; k < kRepeats; ++k) {
    const twin::TracksRepeat repeat = twin::Repeat(experiment, {}, true, random);
    for (std::size_t i = 0; i < experiment.drops.size(); ++i) {
      const std::vector<ImpactBundle>& fits = repeat.analysis.drops[i];
      if (fits.size() != 1 || !fits.front().event.accepted) {
        ++refused;
        continue;
      }
      const Eigen::VectorXd error = StateError(fits.front(), repeat.drops[i]);
      for (const int s : ToldStates(Thing::kRod))
        chi_square += std::pow(error[s], 2) / fits.front().cov(s, s) / 16;
      ++n;
    }
    for (const ParameterEstimate& p : ListParameters(repeat.analysis.fit.fits.front())) {
      ASSERT_TRUE(p.identifiable) << p.name << ": " << p.reason;
      const double truth = p.name == "mu_k" ? experiment.model.mu_k : experiment.model.e;
      covered[p.name] += p.lower95 <= truth && truth <= p.upper95;
    }
  }
  EXPECT_EQ(refused, 0);
  // States of one calibration go together: far wider than a chi-square of independent ones.
  EXPECT_GT(chi_square / n, 0.6);
  EXPECT_LT(chi_square / n, 1.6);
  const CountBand band = BinomialBand(kRepeats, 0.95, kFamily / 2);
  for (const auto& [name, count] : covered)
    EXPECT_TRUE(band.Contains(count)) << name << ": " << count << " of " << kRepeats;
}

}  // namespace
}  // namespace impactlab::test
