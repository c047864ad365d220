#include "pipelines/report/parts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "pipelines/page/svg_axes.h"
#include "tests/support/fabricated_run.h"

namespace impactlab::pipelines {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ReportHtml, EscapesMarkupAndBrokenBytes) {
  EXPECT_EQ(Escape("a<b>&\"'"), "a&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(Escape("\u00B5\u6F22\U0001F600"), "\u00B5\u6F22\U0001F600");
  EXPECT_EQ(Escape("a\xff"
                   "b"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(Escape("\xc0\xaf"), "\uFFFD\uFFFD");                      // overlong
  EXPECT_EQ(Escape("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");            // surrogate
  EXPECT_EQ(Escape("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD");  // past the last code point
  EXPECT_EQ(Escape("\xe6\xbc"), "\uFFFD\uFFFD");                      // cut short
  EXPECT_EQ(Escape(std::string_view("a\0b\x7f", 4)), "a b ");
  EXPECT_EQ(ScriptSafe("[\"</script>\",\"<!--\"]"), "[\"\\u003c/script>\",\"\\u003c!--\"]");
}

TEST(ReportHtml, WritesNumbersForPeople) {
  EXPECT_EQ(Num(0.123456), "0.123");
  EXPECT_EQ(Num(-12.3456), "\u221212.3");
  EXPECT_EQ(Num(123456), "123456");
  EXPECT_EQ(Num(kNaN), "\u2013");
  EXPECT_EQ(Num(-kInfinity), "\u2212\u221E");
  EXPECT_EQ(Num(2.5e-7, 2), "2.5\u00D710<sup>\u22127</sup>");
  EXPECT_EQ(Fixed(-0.0004, 2), "0.00");
  EXPECT_EQ(Percent(0.0412), "4.1\u00A0%");
  EXPECT_EQ(Percent(0.412), "41\u00A0%");
  EXPECT_EQ(Percent(0.00412), "0.41\u00A0%");
  EXPECT_EQ(Percent(kNaN), "\u2013");
  EXPECT_EQ(Count(1, "recording"), "1\u00A0recording");
  EXPECT_EQ(Count(0, "recording"), "0\u00A0recordings");
}

TEST(ReportHtml, RoundsToTheUncertainty) {
  EXPECT_EQ(ValueSd(0.45432, 0.0112), "0.454\u00A0\u00B1\u00A00.011");
  EXPECT_EQ(ValueSd(0.1104, 0.004), "0.110\u00A0\u00B1\u00A00.004");
  EXPECT_EQ(ValueSd(0.1104, 0.00354), "0.1104\u00A0\u00B1\u00A00.0035");
  EXPECT_EQ(ValueSd(0.1104, 0.0097), "0.110\u00A0\u00B1\u00A00.010");
  EXPECT_EQ(ValueSd(123.4, 20), "123\u00A0\u00B1\u00A020");
  EXPECT_EQ(ValueSd(0.3, kNaN), "0.300");
  EXPECT_EQ(ValueSd(kNaN, 1), "\u2013");
  EXPECT_EQ(BoundsText(0.1, 0.2, 0.02), "0.100 to 0.200");
  EXPECT_EQ(BoundsText(0.1, kInfinity, 0.02), "at least 0.100");
  EXPECT_EQ(BoundsText(0, 0.2, 0.02, 0), "at most 0.200");
  EXPECT_EQ(BoundsText(0, kInfinity, kNaN, 0), "open");
  EXPECT_EQ(BoundsText(kNaN, kNaN, kNaN), "open");
}

TEST(ReportHtml, NamesWhatItKnowsAndWhatItDoesNot) {
  EXPECT_EQ(ErrorTitle("theta_offset_rad"), "attitude offset");
  EXPECT_EQ(ErrorTitle("new_error_per_s"), "new error");
  EXPECT_EQ(ErrorTitle("new_error_rad"), "new error");
  EXPECT_EQ(ReasonTitle("second_contact"), "second contact too soon");
  EXPECT_EQ(ReasonTitle("some_thing"), "some thing");
  EXPECT_EQ(LawPhrase("newton"), "Newton\u2019s law");
  EXPECT_EQ(LawPhrase("energetic"), "the energetic law");
  EXPECT_EQ(LawPhrase("smith"), "Smith\u2019s law");
  EXPECT_EQ(LawPhrase("hunt_crossley"), "the Hunt\u2013Crossley contact");
  EXPECT_EQ(LawTitle("spring_dashpot"), "Spring-dashpot");
  EXPECT_EQ(SymbolHtml("e_star"), "<i>e</i><sub>\u2217</sub>");
  EXPECT_EQ(SymbolHtml("mu_k"), "<i>\u03BC</i><sub>k</sub>");
  for (const RestitutionLawInfo& law : kRestitutionLaws) {
    EXPECT_EQ(LawTitle(law.word), law.title);
    EXPECT_NE(SymbolHtml(law.coefficient), law.coefficient);
  }
  EXPECT_EQ(LawPhrase("<law>"), "the &lt;law&gt; law");
  // every reason has words of its own
  for (int k = 0; k <= static_cast<int>(RejectReason::kBadRecording); ++k) {
    const std::string code = ReasonName(static_cast<RejectReason>(k));
    if (k > 0) {
      EXPECT_NE(ReasonTitle(code).find(' '), std::string::npos) << code;
    }
  }
}

TEST(ReportHtml, TicksAreRoundAndInside) {
  for (const auto& [a, b] : {std::pair{0.0, 1.0},
                             {-3.2e-6, 7.7e-6},
                             {9.78, 9.83},
                             {-1e5, 3e5},
                             {0.4999999, 0.5000001}}) {
    const std::vector<double> ticks = Ticks(a, b, 6);
    EXPECT_GE(ticks.size(), 2u) << a << " " << b;
    EXPECT_LE(ticks.size(), 8u);
    for (const double t : ticks) {
      EXPECT_GE(t, a - 1e-9 * (b - a));
      EXPECT_LE(t, b + 1e-9 * (b - a));
    }
  }
  EXPECT_TRUE(Ticks(1, 1, 5).empty());
  EXPECT_TRUE(Ticks(kNaN, 1, 5).empty());
  EXPECT_TRUE(Ticks(0, kInfinity, 5).empty());
  EXPECT_EQ(TickLabel(-0.05, 0.05), "\u22120.05");
  EXPECT_EQ(TickLabel(1e-17, 0.2), "0.0");
}

TEST(ReportHtml, IntervalChartTakesOpenAndMissingSides) {
  EXPECT_EQ(IntervalChart("t", "", {}), "");
  EXPECT_EQ(IntervalChart("t", "", {{"a", kNaN, kNaN, kInfinity, true}}), "");
  const std::string chart = IntervalChart(
      "t <", "m", {{"a&b", 0.2, 0.1, kInfinity, false}, {"c", kNaN, 0, 0.3, true}}, 0.25, "given");
  EXPECT_EQ(chart.find("nan"), std::string::npos);
  EXPECT_EQ(chart.find("inf\""), std::string::npos);
  EXPECT_NE(chart.find("a&amp;b"), std::string::npos);
  EXPECT_NE(IntervalChart("t", "", {{"a", 0.2, 0.2, 0.2, false}}), "");  // no width
}

TEST(ReportPlot, PreparingDropsWhatIsNotFiniteFromAllColumns) {
  Series s;
  s.x = {1, kNaN, 3, 4}, s.y = {1, 2, kInfinity, 8}, s.sd_y = {0.1, 0.2, 0.3, 0.4},
  s.event = {10, 20, 30, 40};
  Plot plot;
  plot.series = {s};
  EXPECT_FALSE(PreparePlot(plot));
  EXPECT_EQ(plot.series[0].x, (std::vector<double>{1, 4}));
  EXPECT_EQ(plot.series[0].y, (std::vector<double>{1, 8}));
  EXPECT_EQ(plot.series[0].sd_y, (std::vector<double>{0.1, 0.4}));
  EXPECT_EQ(plot.series[0].event, (std::vector<int>{10, 40}));
  EXPECT_LT(plot.x_min, 1);
  EXPECT_GT(plot.y_max, 8);
}

TEST(ReportPlot, PreparingAlwaysLeavesARange) {
  for (const std::vector<double>& v : {std::vector<double>{}, {5}, {kNaN}, {0, 0}, {-2, -2}}) {
    Plot plot;
    Series s;
    s.x = v, s.y = v;
    plot.series = {s};
    PreparePlot(plot);
    EXPECT_GT(plot.x_max, plot.x_min);
    EXPECT_GT(plot.y_max, plot.y_min);
    EXPECT_EQ(ToSvg(plot, "t").find("nan"), std::string::npos);
  }
  Series many;
  for (int i = 0; i < 10000; ++i) many.x.push_back(i), many.y.push_back(i);
  Plot plot;
  plot.series = {many};
  EXPECT_TRUE(PreparePlot(plot, 3000));
  EXPECT_EQ(plot.series[0].x.size(), 3000u);
  EXPECT_GT(plot.series[0].x.back(), 9990);  // thinned evenly, not cut
}

TEST(ReportPlot, HistogramCountsEveryValueOnce) {
  const Series s = Histogram({-9, -1, -0.999, 0, 0.5, 1, 9, kNaN}, -1, 1, 4, "h", 0);
  EXPECT_EQ(s.y, (std::vector<double>{3, 0, 1, 3}));
  EXPECT_DOUBLE_EQ(s.x[0], -0.75);
  EXPECT_DOUBLE_EQ(s.bar_width, 0.5);
}

TEST(ReportPlot, ContourLiesOnTheLevel) {
  std::vector<double> x, y;
  for (int i = 0; i < 41; ++i) x.push_back(-2 + 0.1 * i), y.push_back(-3 + 0.15 * i);
  Eigen::MatrixXd f(41, 41);
  for (int i = 0; i < 41; ++i)
    for (int j = 0; j < 41; ++j)
      f(i, j) = x[static_cast<std::size_t>(i)] * x[static_cast<std::size_t>(i)] +
                y[static_cast<std::size_t>(j)] * y[static_cast<std::size_t>(j)];
  const Series s = Contour(x, y, f, 1.7, "c", 0);
  ASSERT_GT(s.x.size(), 60u);
  double length = 0;
  for (std::size_t i = 0; i < s.x.size(); ++i) {
    if (!std::isfinite(s.x[i])) continue;
    EXPECT_NEAR(std::hypot(s.x[i], s.y[i]), std::sqrt(1.7), 0.01);
    if (i + 1 < s.x.size() && std::isfinite(s.x[i + 1]))
      length += std::hypot(s.x[i + 1] - s.x[i], s.y[i + 1] - s.y[i]);
  }
  EXPECT_NEAR(length, 2 * M_PI * std::sqrt(1.7), 0.05);  // the whole circle, once
  f(20, 20) = kNaN;
  // a hole away from the level changes nothing
  EXPECT_EQ(Contour(x, y, f, 1.7, "c", 0).x.size(), s.x.size());
  EXPECT_TRUE(Contour(x, {1, 2}, f, 1.7, "c", 0).x.empty());
  EXPECT_TRUE(Contour(x, y, f, 100, "c", 0).x.empty());
}

TEST(ReportPlot, ContourOfASaddleDoesNotCross) {
  // Both high corners belong together when the middle is high: pieces must keep the middle on one
  // side.
  Eigen::MatrixXd f(2, 2);
  f << 1, 0, 0, 0.8;
  const Series s = Contour({0, 1}, {0, 1}, f, 0.3, "c", 0);
  ASSERT_EQ(s.x.size(), 6u);
  for (const std::size_t k : {0u, 3u}) {
    const double mx = (s.x[k] + s.x[k + 1]) / 2, my = (s.y[k] + s.y[k + 1]) / 2;
    EXPECT_GT(std::abs(mx - my), 0.4);  // each piece cuts off a low corner, (0, 1) or (1, 0)
  }
}

TEST(ReportPlot, PackKeepsSixteenBits) {
  const std::string base64 = Pack({0, 1}).base64;
  EXPECT_EQ(base64, "AAD+/w==");
  EXPECT_EQ(Pack({}).base64, "");
  EXPECT_EQ(Pack({3, 3}).base64, "AAAAAA==");
  EXPECT_EQ(Pack({3, 3}).lower, 3);
  EXPECT_EQ(Pack({kNaN}).base64, "//8=");
  EXPECT_EQ(Pack({0, kNaN, 1}).base64, "AAD///7/");
}

TEST(ReportPlot, RoundsToShortNumbers) {
  EXPECT_EQ(Rounded(0.1 + 0.2), 0.3);
  EXPECT_EQ(Rounded(123456.0, 3), 123000.0);
  EXPECT_EQ(Rounded(0), 0);
  EXPECT_TRUE(std::isnan(Rounded(kNaN)));
}

// Scatter of the measured ratios over draws from the event's own covariance.
TEST(ReportMeasured, StandardDeviationsMatchSampling) {
  std::mt19937_64 rng(42);
  for (const bool planar : {true, false}) {
    const RunResult run =
        testing::FabricatedRun({.planar = planar, .recordings = 6, .corrected = false});
    for (const ImpactEvent& event : run.recorded.events) {
      const MeasuredImpact m = MeasureImpact(event);
      double e = 0, e2 = 0, q = 0, q2 = 0;
      const int n = 4000;
      for (int k = 0; k < n; ++k) {
        ImpactEvent draw = event;
        const auto add = [&](Eigen::Vector3d& v, int at) {
          for (int i = 0; i < 3; ++i)
            if (!planar || (at / 3 % 2 == 1) == (i == 1) || at == kLever)
              v[i] +=
                  std::normal_distribution<double>(0, std::sqrt(event.cov(at + i, at + i)))(rng);
        };
        add(draw.v_minus, kVMinus), add(draw.omega_minus, kOmegaMinus), add(draw.v_plus, kVPlus),
            add(draw.omega_plus, kOmegaPlus), add(draw.p_WP, kLever);
        const Eigen::Vector3d r = draw.p_WP - draw.X_WB.translation();
        draw.contact.v_minus_F =
            event.contact.X_WF.linear().transpose() * (draw.v_minus + draw.omega_minus.cross(r));
        draw.v_plus_F =
            event.contact.X_WF.linear().transpose() * (draw.v_plus + draw.omega_plus.cross(r));
        const MeasuredImpact d = MeasureImpact(draw);
        e += d.e, e2 += d.e * d.e, q += d.ratio, q2 += d.ratio * d.ratio;
      }
      EXPECT_NEAR(std::sqrt(e2 / n - e / n * e / n) / m.sd_e, 1, 0.08);
      EXPECT_NEAR(std::sqrt(q2 / n - q / n * q / n) / m.sd_ratio, 1, 0.08);
      EXPECT_NEAR(e / n, m.e, 0.01);
    }
  }
}

TEST(ReportMeasured, LeanIsZeroOverTheContactAndSignedInThePlane) {
  ImpactEvent event;
  event.planar = true;
  event.p_WP = {0.2, 0, 0};
  event.contact.X_WF.translation() = event.p_WP;
  event.contact.v_minus_F = {0.1, 0, -1}, event.v_plus_F = {0, 0, 0.4};
  event.v_minus = {0, 0, -1}, event.v_plus = {-0.1, 0, 0.5};
  event.X_WB.translation() = Eigen::Vector3d(0.2, 0, 0.03);
  EXPECT_NEAR(MeasureImpact(event).lean, 0, 1e-15);
  event.X_WB.translation() = Eigen::Vector3d(0.17, 0, 0.03);
  EXPECT_NEAR(MeasureImpact(event).lean, -M_PI / 4, 1e-12);
  event.planar = false;
  EXPECT_NEAR(MeasureImpact(event).lean, M_PI / 4, 1e-12);
  EXPECT_NEAR(MeasureImpact(event).e, 0.4, 1e-15);
  EXPECT_NEAR(MeasureImpact(event).ratio, 0.1 / 1.5, 1e-15);
  EXPECT_EQ(CaseColour("2a"), 2);
  EXPECT_EQ(CaseColour("?"), 7);
}

TEST(ReportFigures, EveryIdIsUniqueAndEveryPlotAnswersItsSelectors) {
  const RunResult run = testing::FabricatedRun({.recordings = 20});
  const ReportContext context = MakeContext(run, true);
  std::set<std::string> ids;
  for (const auto& figures : {FitFigures(context), PredictionFigures(context),
                              MeasuredFigures(context), AuditFigures(context)})
    for (const Figure& figure : figures) {
      EXPECT_TRUE(ids.insert(figure.id).second) << figure.id;
      std::set<std::vector<std::string>> choices;
      for (const Plot& plot : figure.plots) {
        EXPECT_EQ(plot.choice.size(), figure.selectors.size()) << figure.id;
        EXPECT_TRUE(choices.insert(plot.choice).second) << figure.id;
        for (const Series& s : plot.series) EXPECT_EQ(s.x.size(), s.y.size());
        EXPECT_NE(plot.x_label.find_first_not_of(' '), std::string::npos);
      }
    }
  EXPECT_EQ(ids.size(), 11u);
}

TEST(ReportFigures, PointsLeadToTheirRecordings) {
  const RunResult run = testing::FabricatedRun({.recordings = 20, .corrected = false});
  const ReportContext context = MakeContext(run, true);
  EXPECT_EQ(context.Code("nobody", 0), -1);
  std::size_t points = 0;
  const Figure predicted = PredictionFigures(context)[0];
  for (const Series& s : predicted.plots[0].series)
    for (std::size_t i = 0; i < s.event.size(); ++i, ++points) {
      const auto& event =
          run.recorded.events[static_cast<std::size_t>(s.event[i] / kImpactsPerRecording)];
      EXPECT_NEAR(s.x[i], event.v_plus.x(), 1e-12);
    }
  EXPECT_EQ(points, static_cast<std::size_t>(context.n_accepted));
}

}  // namespace
}  // namespace impactlab::pipelines
