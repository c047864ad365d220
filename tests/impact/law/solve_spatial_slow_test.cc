// The spatial solver's accuracy over many impacts, ill-conditioned ones included.

#include "tests/impact/law/spatial_comparison.h"

namespace impactlab {
namespace {

TEST(SolveSpatialSlow, FiveThousandImpacts) {
  ComparisonTally tally;
  CompareWithIntegration(20240102, 5000, 1e4, 1e-10, tally);
  if (::testing::Test::HasFatalFailure()) return;
  std::printf("compared %d, worst relative error %.2g (works %.2g), compression resumed in %d\n",
              tally.compared, tally.worst, tally.worst_work, tally.resumed);
  EXPECT_GT(tally.compared, 4500);
  EXPECT_LE(tally.digit_differs, 5);
  EXPECT_LE(tally.not_integrated, 5);
  EXPECT_GT(tally.resumed, 0);
  for (int digit = 0; digit < 7; ++digit) EXPECT_GT(tally.digits[digit], 10) << digit;
}

}  // namespace
}  // namespace impactlab
