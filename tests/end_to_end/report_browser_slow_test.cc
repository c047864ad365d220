// Reports of real recordings in a browser.

#include <gtest/gtest.h>

#include "tests/support/browser.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

TEST(ReportBrowser, SquareDropsAreShownWithoutFault) {
  const std::filesystem::path source = IMPACTLAB_SOURCE_DIR,
                              folder = source / "../shared/data/square-drops";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: shared data absent";
  IMPACTLAB_SKIP_WITHOUT_BROWSER();
  const test::ScratchFolder scratch("square report");
  const auto result =
      test::RunProgram({"run", source / "data/experiments/square-drops.yaml", "--recordings",
                        folder / "drop_*.csv", "--out", scratch.path() / "run", "--quiet"},
                       scratch.path());
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(test::PageFaults(scratch.path() / "run/report.html", "square-drops",
                             {"switch", "keyboard", "plots", "tables", "replay", "paper"}),
            "");
}

}  // namespace
}  // namespace impactlab
