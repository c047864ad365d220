// A hundred random recordings whose names are in disorder: how much of what comes out named is
// right, and how much is refused.

#include <gtest/gtest.h>

#include <cstdio>
#include <vector>

#include "tests/support/identity_scene.h"

namespace impactlab {
namespace {

TEST(IdentityStudy, HundredRecordings) {
  struct Sum {
    int usable = 0, cases = 0, wrong = 0;
    long long points = 0, named = 0, came_right = 0;
  };
  std::vector<Sum> by_body(4);
  for (int k = 0; k < 100; ++k) {
    const auto scene = test::MakeStudyScene(k);
    const IdentityResult result = ResolveIdentity(scene.tracks, scene.rig, scene.layout);
    Sum& sum = by_body[static_cast<std::size_t>(k % 4)];
    ++sum.cases;
    if (!result.usable) {
      EXPECT_FALSE(result.reason.empty());
      continue;
    }
    const auto score = test::Judge(scene, result.tracks);
    ++sum.usable;
    sum.wrong += score.wrong;
    sum.points += score.points;
    sum.named += score.named;
    sum.came_right += score.named_in;
    if (score.wrong > 0) {
      std::printf("case %d: %d of %d points wrong, log odds %.1f\n", k, score.wrong, score.named,
                  result.log_odds);
    }
  }
  Sum all;
  for (std::size_t b = 0; b < by_body.size(); ++b) {
    const Sum& sum = by_body[b];
    std::printf(
        "body %zu: %d of %d usable, %lld points, %lld came with the right name, %lld named, %d of "
        "them wrong\n",
        b, sum.usable, sum.cases, sum.points, sum.came_right, sum.named, sum.wrong);
    all.usable += sum.usable;
    all.wrong += sum.wrong;
    all.points += sum.points;
    all.named += sum.named;
  }
  // A wrong name is worse than none: without exception.
  EXPECT_EQ(all.wrong, 0);
  EXPECT_EQ(by_body[0].usable + by_body[1].usable, 50);
  EXPECT_GE(all.usable, 95);
  EXPECT_GE(static_cast<double>(all.named), 0.975 * static_cast<double>(all.points));
}

}  // namespace
}  // namespace impactlab
