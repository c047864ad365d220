// A reduced sentinel of tracking_study: six drops, among them all kinds of body, both sizes and
// both rates.

#include <gtest/gtest.h>

#include "tests/statistical/tracking_scenes.h"
#include "tests/statistical/tracking_score.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

TEST(TrackingStudy, SixDropsWithoutAWrongNameOrAHiddenGap) {
  const test::TemporaryFolder folder;
  test::TrackingScore sum;
  for (const int k : {0, 3, 5, 10, 14, 15}) {
    const test::TrackingScore score =
        test::ScoreDrop(test::StudyScene(k, 977), 1, folder.path(), k);
    EXPECT_EQ(score.failure, "") << score.name;
    EXPECT_TRUE(score.named && score.swapped == 0 && score.unflagged == 0)
        << score.name << ": " << test::Words(score);
    sum += score;
  }
  EXPECT_EQ(sum.lost, 0) << test::Words(sum);
  EXPECT_GT(sum.visible, 2000);
  EXPECT_GT(sum.measured, 0.9 * static_cast<double>(sum.visible));
  EXPECT_LE(sum.false_share(), 0.005) << test::Words(sum);
}

}  // namespace
}  // namespace impactlab
