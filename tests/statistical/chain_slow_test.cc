// A reduced sentinel of chain_study: one experiment of a bar from videos to its coefficients.

#include <gtest/gtest.h>

#include "tests/statistical/chain_score.h"
#include "tests/statistical/chain_summary.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

TEST(ChainStudy, ABarFromItsVideos) {
  const test::TemporaryFolder folder;
  const nlohmann::json json =
      test::ScoreChain(test::DrawChainScene(1, 20261128, 3), 1, folder.path() / "bar");
  ASSERT_FALSE(json.contains("failure")) << json.dump(1);
  test::ChainGroup group;
  group.Add(json);
  EXPECT_EQ(group.drops, 3);
  EXPECT_EQ(group.usable, 3) << json.dump(1);
  for (const char* q : test::kChainQuantities)
    EXPECT_LT(group.figures[q].rms(), group.figures[q].asked()) << q << "\n" << json.dump(1);
}

}  // namespace
}  // namespace impactlab
