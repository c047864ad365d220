// Sections of the report on repeated drops and on classical estimators.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pipelines/report/parts.h"
#include "tests/support/fabricated_run.h"
#include "tests/support/html.h"

namespace impactlab::pipelines {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

RepeatRow Row(const std::string& quantity, int n, RepeatVerdict verdict, double ratio) {
  RepeatRow row;
  row.group = "steep & slow";
  row.quantity = quantity;
  row.unit = quantity == "v_minus" ? "m_per_s" : "1";
  row.n = n;
  row.sd_between = 0.0123, row.between_lower95 = 0.009, row.between_upper95 = 0.02,
  row.sd_within = 0.003;
  row.ratio = ratio, row.chi_square = ratio * ratio * 3 * (n - 1), row.dof = 3 * (n - 1);
  row.lower99 = 0.49, row.upper99 = 1.69;
  row.verdict = verdict;
  return row;
}

TEST(RepeatSection, SaysInWordsWhatTheTableSays) {
  RunResult run = testing::FabricatedRun();
  Repeatability& repeats = run.has_corrected ? run.corrected.repeats : run.recorded.repeats;
  repeats.law = "energetic";
  repeats.rows = {Row("v_minus", 5, RepeatVerdict::kWithin, 1.1),
                  Row("v_minus", 8, RepeatVerdict::kBeyond, 4.1),
                  Row("e_star", 8, RepeatVerdict::kWithin, 0.97),
                  Row("mu_k", 2, RepeatVerdict::kUndetermined, 1)};
  repeats.groups = {{"steep & slow", {"drop_001", "drop_002", "drop_003"}}};
  repeats.e = {{"drop_001", 0, 0.5, 0.01}, {"drop_002", 0, 0.52, 0.01}};
  const ReportContext context = MakeContext(run, true);
  const Section section = RepeatSection(context);
  EXPECT_EQ(test::HtmlFault(section.html), "");
  EXPECT_THAT(section.html, HasSubstr("steep &amp; slow"));
  EXPECT_THAT(section.html, HasSubstr("scatters 4.1 times what the measurement explains"));
  EXPECT_THAT(section.html, HasSubstr("no scatter beyond the measurement"));
  EXPECT_THAT(section.html, HasSubstr("cannot be determined from 2\u00A0repeats"));
  // Of the first 5 only the figure speaks; velocities in mm/s.
  EXPECT_THAT(section.html, HasSubstr("12 (9.0 to 20)"));
  EXPECT_EQ(test::CountOf(section.html, "velocity before [mm/s]"), 1u);
  ASSERT_EQ(section.figures.size(), 2u);
  // velocity and restitution; nothing of two repeats
  EXPECT_EQ(section.figures[0].plots.size(), 2u);
  EXPECT_EQ(section.figures[0].plots[0].series[0].x, (std::vector<double>{5, 8}));
  EXPECT_EQ(section.figures[1].plots.size(), 1u);

  repeats.groups.front().recordings.pop_back();
  EXPECT_THAT(RepeatSection(context).html,
              HasSubstr("whether the release repeats cannot be determined"));
}

TEST(ClassicalSection, ComparesInUnitsOfBoth) {
  RunResult run = testing::FabricatedRun();
  Comparison& comparison = run.has_corrected ? run.corrected.comparison : run.recorded.comparison;
  const auto impact = [](bool usable, double difference, double z) {
    ComparedImpact i;
    i.recording = "drop_001";
    i.usable = usable;
    i.reason = usable ? "" : "3 poses after the impact, houbolt needs 4";
    i.sd.fill(0.002), i.difference.fill(difference), i.z.fill(z);
    i.seconds = 0.004;
    return i;
  };
  LawFit fit;
  fit.law = "energetic";
  fit.mu_k.name = "mu_k", fit.mu_k.reason = "nothing slid <here>";
  fit.e.name = "e_star", fit.e.value = 0.55, fit.e.sd = 0.01, fit.e.lower95 = 0.53;
  fit.e.upper95 = 0.57, fit.e.identifiable = true;
  comparison.estimators = {{{"bundle", "bundle fit", {}},
                            {impact(true, 0, std::nan("")), impact(true, 0, std::nan(""))},
                            2,
                            fit},
                           {{"houbolt", "Houbolt", {}},
                            {impact(true, 0.02, 7), impact(false, std::nan(""), std::nan(""))},
                            1,
                            fit}};
  const ReportContext context = MakeContext(run, true);
  const Section section = ClassicalSection(context);
  EXPECT_EQ(test::HtmlFault(section.html), "");
  EXPECT_THAT(section.html, AllOf(HasSubstr("1 of 2"), HasSubstr("2 of 2"),
                                  HasSubstr("houbolt needs 4 (1\u00A0impact)")));
  EXPECT_THAT(section.html, HasSubstr(">20<"));  // mm/s
  EXPECT_THAT(section.html, HasSubstr(">7.0<"));
  EXPECT_THAT(section.html,
              AllOf(HasSubstr("nothing slid &lt;here&gt;"), HasSubstr("0.550\u00A0±\u00A00.010")));
  ASSERT_EQ(section.figures.size(), 1u);
  EXPECT_EQ(section.figures[0].plots.size(), 4u);
  EXPECT_EQ(section.figures[0].plots[0].series[0].y, (std::vector<double>{7}));
  EXPECT_THAT(section.html, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace impactlab::pipelines
