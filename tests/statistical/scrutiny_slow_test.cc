// A reduced sentinel of scrutiny_study: true laws are accused no more often than stated.

#include <gtest/gtest.h>

#include "data/statistics/statistics.h"
#include "tests/statistical/scrutiny_cells.h"
#include "tests/support/per_test_level.h"

namespace impactlab::test {
namespace {

TEST(DiagnosticAlarms, VerdictKeepsItsRate) {
  DiagnosticAlarms alarms;
  // k = 1: one in three
  for (int k = 0; k < 400; ++k) CountVerdict(7001 + 13 * static_cast<std::uint64_t>(k), 1, alarms);
  EXPECT_GT(alarms.verdicts, 300);
  EXPECT_TRUE(BinomialBand(alarms.verdicts, 2 * NormalCdf(-1), 1e-3).Contains(alarms.discrepant))
      << alarms.discrepant << " of " << alarms.verdicts;
}

TEST(DiagnosticAlarms, CampaignsOfATrueLawAreLeftInPeace) {
  DiagnosticAlarms alarms;
  for (int k = 0; k < 80; ++k) CountAlarms(9001 + 17 * static_cast<std::uint64_t>(k), alarms);
  const double level = PerTestLevel(1e-3, 3);
  EXPECT_LE(alarms.area, BinomialBand(alarms.campaigns, 0.05, level).upper);
  EXPECT_LE(alarms.edges, BinomialBand(alarms.campaigns, 0.05, level).upper);
  EXPECT_LE(alarms.specimens, BinomialBand(alarms.campaigns, 0.01, level).upper);
}

}  // namespace
}  // namespace impactlab::test
