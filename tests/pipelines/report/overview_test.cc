// The head of the report: which law is reported first, what limits the coefficients; and what the
// replay is told.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "data/files/atomic_file.h"
#include "pipelines/report/report.h"
#include "tests/support/fabricated_run.h"
#include "tests/support/folder.h"
#include "tests/support/html.h"

namespace impactlab {
namespace {

using test::CountOf;
using testing::FabricatedRun;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Page(const RunResult& run) {
  const test::TemporaryFolder folder;
  WriteReport(folder / "report.html", run, {});
  return ReadFile(folder / "report.html");
}

std::string Head(const RunResult& run) {
  const std::string page = Page(run);
  return page.substr(0, page.find("</header>"));
}

// Poisson's law ahead of the energetic one by a difference of log density.
RunResult Compared(double log_density, double sd, double p, const std::string& verdict) {
  RunResult run = FabricatedRun({.recordings = 15, .corrected = false});
  LawComparison& laws = run.recorded.scrutiny.laws;
  laws = {};
  laws.order = {"poisson", "energetic", "newton"};
  laws.n = 10;
  for (const auto& [law, other] :
       {std::pair{"poisson", "energetic"}, std::pair{"poisson", "newton"},
        std::pair{"energetic", "newton"}}) {
    LawPair pair{.law = law,
                 .other = other,
                 .n = 10,
                 .recordings = 10,
                 .log_density = log_density,
                 .sd_log_density = sd,
                 .verdict = verdict};
    pair.family_log_density = pair.family_error = p;
    laws.pairs.push_back(pair);
  }
  return run;
}

TEST(ReportOverview, TheEnergeticLawIsReportedFirstWhereNoneIsSignificantlyBetter) {
  const std::string head = Head(Compared(1.6, 2.0, 0.86, "undecided"));
  EXPECT_THAT(head, HasSubstr("the energetic law of restitution predicts"));
  EXPECT_THAT(
      head,
      HasSubstr("Poisson\u2019s law has a higher predictive likelihood for unseen motions, by "
                "1.6\u00A0\u00B1\u00A02.0 in its logarithm: not "
                "significant at 5 % (p = 0.86, all pairs counted)"));
}

TEST(ReportOverview, ABetterLawIsReportedFirst) {
  const std::string head = Head(Compared(16, 2.0, 0.0002, "better"));
  EXPECT_THAT(head, HasSubstr("Poisson\u2019s law of restitution predicts"));
  EXPECT_THAT(head, HasSubstr("it has the highest predictive likelihood for unseen motions"));
}

TEST(ReportOverview, TheLawOfLeastErrorIsNamedWhereItIsAnother) {
  RunResult run = Compared(16, 2.0, 0.03, "better");
  for (ErrorSummary& summary : run.recorded.validation.error_summary)
    if (summary.law == "newton" && summary.group == "all" && !summary.in_sample)
      summary.median_by_plus = 0.0123;
  EXPECT_THAT(Head(run), HasSubstr("Newton\u2019s law has the least median error, 1.2\u00A0% "
                                   "against 4.4\u00A0%; the difference of mean "
                                   "errors is significant at 5 % (p = 0.03, all pairs counted)"));
}

TEST(ReportOverview, ScatterOrNoiseLimitsTheCoefficients) {
  RunResult run = FabricatedRun({.recordings = 15, .corrected = false});
  for (LawFit& fit : run.recorded.fit.fits) {
    fit.mu_k.sd = 0.004, fit.mu_k.sd_noise_only = 0.0004;
    fit.e.sd = 0.010, fit.e.sd_noise_only = 0.009;
  }
  const std::string head = Head(run);
  EXPECT_THAT(head, HasSubstr("</sub> is limited by the scatter between impacts, which better "
                              "measurement does not reduce (99\u00A0% of"));
  EXPECT_THAT(head, HasSubstr("</sub> is limited by the noise of the measurement (81\u00A0% of"));
  // A standard deviation that averages out is halved by four times the impacts.
  const int n = run.recorded.fit.n_events;
  EXPECT_EQ(CountOf(head, "about " + std::to_string(4 * n) + " impacts like the " +
                              std::to_string(n) + " here"),
            2u);
}

// With `fit_mu_s: true` the third parameter is static friction, wherever the two others stand.
TEST(ReportOverview, StaticFrictionIsNotTakenForRestitution) {
  RunResult run = FabricatedRun({.recordings = 15, .corrected = false});
  for (LawFit& fit : run.recorded.fit.fits) {
    const double nan = std::nan("");
    fit.mu_s = {"mu_s", 0.345, nan, nan, 0.31, 0.38, true, ""};
    const Eigen::Matrix2d two = fit.covariance;
    fit.covariance = Eigen::Matrix3d::Constant(nan);
    fit.covariance.topLeftCorner<2, 2>() = two;
    for (EventInfluence& influence : fit.influence) influence.shift.push_back(0);
    if (!fit.sd_bootstrap.empty()) fit.sd_bootstrap.push_back(nan);
    fit.grid_mu.clear(), fit.grid_e.clear(), fit.grid_deviance.resize(0, 0);
  }
  const std::string page = Page(run), head = page.substr(0, page.find("</header>"));
  EXPECT_THAT(head, HasSubstr("Friction <i>\u03BC</i><sub>k</sub>"));
  EXPECT_THAT(head, HasSubstr("Restitution <i>e</i><sub>\u2217</sub>"));
  EXPECT_THAT(head, HasSubstr("Static friction <i>\u03BC</i><sub>s</sub>"));
  EXPECT_THAT(head, HasSubstr("0.345"));
  EXPECT_THAT(page, Not(HasSubstr("Restitution <i>\u03BC</i>")));
  EXPECT_THAT(page, HasSubstr("Shift of <i>e</i><sub>\u2217</sub> [sd]"));
  EXPECT_THAT(page, Not(HasSubstr("Shift of <i>\u03BC</i><sub>s</sub>")));
  // The ellipse of the confidence region is that of friction and restitution: it is drawn although
  // the covariance of static friction is not known.
  EXPECT_THAT(page, HasSubstr("Joint region of the normal approximation"));
}

TEST(ReportOverview, BudgetSaysWhatDoesNotAverageOut) {
  RunResult run = FabricatedRun({.recordings = 15, .corrected = false});
  ErrorBudget& budget = run.recorded.budget;
  budget.sources = {{"pixels", "", false, 0}, {"cameras", "", true, 3}};
  budget.rows = {{.quantity = "mu_k",
                  .law = "energetic",
                  .unit = "1",
                  .value = 0.11,
                  .sd = {0.3, 0.4},
                  .total = 0.5},
                 {.quantity = "e_star",
                  .law = "energetic",
                  .unit = "1",
                  .value = 0.5,
                  .sd = {2, 1},
                  .total = std::sqrt(5.0)}};
  const std::string head = Head(run);
  EXPECT_THAT(head, HasSubstr("limited by the cameras (64\u00A0%), the pixels (36\u00A0%), in "
                              "shares of the variance. No number of further"));
  // e*: of variance 5 the common 1 stays; a quarter, 1.25, leaves 0.25 for the 4 that averages out.
  EXPECT_THAT(head, HasSubstr("limited by the pixels (80\u00A0%), the cameras (20\u00A0%)"));
  EXPECT_THAT(head,
              HasSubstr("about " + std::to_string(16 * run.recorded.fit.n_events) + " impacts"));
}

TEST(ReportOverview, LawsThatPredictOneMotionShareARow) {
  RunResult run = FabricatedRun({.recordings = 15, .corrected = false});
  std::vector<ErrorSummary>& table = run.recorded.validation.error_summary;
  const std::vector<ErrorSummary> before = table;
  for (const char* law : {"brach", "whittaker"})
    for (const ErrorSummary& s : before)
      if (s.law == "newton" && s.group == "all") {
        table.push_back(s);
        table.back().law = law;
        table.back().median_by_plus = 0.0777;
      }
  EXPECT_EQ(CountOf(Page(run), "<th scope=\"row\">Brach, Whittaker</th>"), 2u);  // seen and unseen
  table.back().mean_by_minus *= 1.01;
  EXPECT_EQ(CountOf(Page(run), "<th scope=\"row\">Brach, Whittaker</th>"), 1u);
}

TEST(ReportOverview, ReplayHoldsBodyFloorAndImpulse) {
  const RunResult run = FabricatedRun({.planar = false, .recordings = 6, .corrected = false});
  const std::string page = Page(run);
  const nlohmann::json scene = test::Block(page, "replay-data"),
                       recordings = test::Block(page, "recording-data");
  EXPECT_EQ(scene["part"]["points"].size(), 8u);
  EXPECT_EQ(scene["part"]["faces"].size(), 6u);
  EXPECT_EQ(scene["planes"][0]["normal"], nlohmann::json({0.0, 0.0, 1.0}));
  ASSERT_EQ(recordings.size(), 6u);
  for (std::size_t i = 0; i < 6; ++i) {
    const ImpactEvent& event = run.recorded.motion[i].events[0];
    const Eigen::Vector3d impulse = run.experiment.body.mass * (event.v_plus - event.v_minus);
    const nlohmann::json& shown = recordings[i]["impacts"][0];
    for (int k = 0; k < 3; ++k) {
      EXPECT_NEAR(shown["impulse"][static_cast<std::size_t>(k)].get<double>(), impulse[k],
                  1e-5 * impulse.norm());
      EXPECT_NEAR(shown["point"][static_cast<std::size_t>(k)].get<double>(), event.p_WP[k], 1e-6);
    }
    EXPECT_NEAR(shown["slip"][0][2].get<double>(), 0, 1e-9);
    EXPECT_NEAR(std::hypot(shown["slip"][0][0].get<double>(), shown["slip"][0][1].get<double>()),
                event.contact.v_minus_F.head<2>().norm(), 1e-5);
  }
}

}  // namespace
}  // namespace impactlab
