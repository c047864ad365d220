// The linear error budget of mu and e* against the propagation of distributions (JCGM 101:2008): one source drawn at a time, the scatter of
// the coefficients over the repeats is what the budget says of that source; and a sentinel of tracks_study.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/statistics.h"
#include "tests/reconstruction/drop_errors.h"
#include "tests/statistical/tracks_twin.h"

namespace impactlab::test {
namespace {

constexpr double kFamily = 1e-3;  // chance of any false alarm

double Coefficient(const Analysis& analysis, const std::string& name) {
  for (const ParameterEstimate& p : analysis.fit.fits.front().parameters)
    if (p.name == name) return p.value;
  return std::nan("");
}

TEST(ErrorBudgetByMonteCarlo, EverySourceScattersAsItsShareSays) {
  const twin::TracksExperiment experiment = twin::MakeTracksExperiment(Thing::kRod, 8, 20 * M_PI / 180, 4711);
  std::mt19937_64 random(4712);
  constexpr int kRepeats = 60;
  const twin::Drawn nothing{false, false, false, false, false};
  twin::Drawn pixels = nothing, cameras = nothing, layout = nothing, inertia = nothing;
  pixels.pixels = pixels.clocks = cameras.cameras = layout.layout = inertia.inertia = true;
  const twin::TracksRepeat nominal = twin::Repeat(experiment, pixels, true, random);
  const ErrorBudget& budget = nominal.analysis.budget;
  const std::map<std::string, twin::Drawn> sources = {{"pixels", pixels}, {"cameras", cameras}, {"layout", layout}, {"inertia", inertia}};
  const Interval band = ChiSquareBand(kRepeats - 1, PerTestLevel(kFamily, 2 * static_cast<int>(sources.size())));
  for (const auto& [name, drawn] : sources) {
    std::map<std::string, std::vector<double>> values;
    for (int k = 0; k < kRepeats; ++k) {
      const twin::TracksRepeat repeat = twin::Repeat(experiment, drawn, false, random);
      for (const char* q : {"mu_k", "e_star"}) values[q].push_back(Coefficient(repeat.analysis, q));
    }
    const auto source = std::find_if(budget.sources.begin(), budget.sources.end(), [&](const BudgetSource& s) { return s.name == name; });
    ASSERT_NE(source, budget.sources.end()) << name;
    for (const auto& [quantity, v] : values) {
      double mean = 0, squares = 0;
      for (const double x : v) mean += x / kRepeats;
      for (const double x : v) squares += (x - mean) * (x - mean);
      const auto row = std::find_if(budget.rows.begin(), budget.rows.end(), [&](const BudgetRow& r) { return r.quantity == quantity; });
      ASSERT_NE(row, budget.rows.end()) << quantity;
      const double sd = row->sd[static_cast<std::size_t>(source - budget.sources.begin())];
      fmt::print("{:<8} {:<7} budget {:.2e}, scatter of {} repeats {:.2e}\n", name, quantity, sd, kRepeats,
                 std::sqrt(squares / (kRepeats - 1)));
      // Pixels alone reach e* only where errors of impulse and couple nearly cancel, and no linear budget follows what is left of them:
      // what is below a thirtieth of everything together need not agree.
      const double slack = std::pow(row->total / 30, 2) * (kRepeats - 1);
      EXPECT_GT(squares + slack, band.lower * sd * sd) << name << " " << quantity;
      EXPECT_LT(squares, band.upper * sd * sd + slack) << name << " " << quantity;
    }
  }
}

TEST(TracksStudy, SentinelCovers) {
  const twin::TracksExperiment experiment = twin::MakeTracksExperiment(Thing::kRod, 8, 20 * M_PI / 180, 815);
  constexpr int kRepeats = 12;
  std::mt19937_64 random(816);
  double chi_square = 0;
  int n = 0, refused = 0;
  std::map<std::string, int> covered;
  for (int k = 0; k < kRepeats; ++k) {
    const twin::TracksRepeat repeat = twin::Repeat(experiment, {}, true, random);
    for (std::size_t i = 0; i < experiment.drops.size(); ++i) {
      const std::vector<DropFit>& fits = repeat.analysis.drops[i];
      if (fits.size() != 1 || !fits.front().event.accepted) {
        ++refused;
        continue;
      }
      const Eigen::VectorXd error = StateError(fits.front(), experiment.drops[i]);
      for (const int s : ToldStates(Thing::kRod)) chi_square += std::pow(error[s], 2) / fits.front().cov(s, s) / 16;
      ++n;
    }
    for (const ParameterEstimate& p : repeat.analysis.fit.fits.front().parameters) {
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
  for (const auto& [name, count] : covered) EXPECT_TRUE(band.Contains(count)) << name << ": " << count << " of " << kRepeats;
}

}  // namespace
}  // namespace impactlab::test
