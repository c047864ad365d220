// A reduced sentinel of tracking_study: six drops, among them all kinds of body, both sizes and both rates.

#include <gtest/gtest.h>

#include "tests/statistical/tracking_scenes.h"
#include "tests/statistical/tracking_score.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

TEST(TrackingStudy, SixDropsWithoutAFault) {
  const test::TemporaryFolder folder;
  test::TrackingScore sum;
  for (const int k : {0, 3, 5, 10, 14, 15}) {
    const test::TrackingScore score = test::ScoreDrop(test::StudyScene(k, 977), 1, folder.path(), k);
    EXPECT_TRUE(score.good()) << score.name << ": " << test::Words(score);
    sum += score;
  }
  EXPECT_GT(sum.visible, 2000);
  EXPECT_GT(sum.measured, 0.9 * static_cast<double>(sum.visible));
  EXPECT_LE(sum.false_share(), 0.005) << test::Words(sum);
}

}  // namespace
}  // namespace impactlab
