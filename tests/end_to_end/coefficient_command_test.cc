// `impactlab coefficient`, the way a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/process.h"

namespace impactlab::test {
namespace {

using ::testing::HasSubstr;

TEST(CoefficientCommand, WorkedFilesRun) {
  const ScratchFolder folder("coefficient");
  const std::string data = std::string(IMPACTLAB_SOURCE_DIR) + "/data/";
  const ProcessResult sun = RunProgram({"coefficient", data + "published/004_coefficients.yaml",
                                        "--out", (folder.path() / "sun").string()},
                                       folder.path());
  ASSERT_EQ(sun.code, 0) << sun.err;
  EXPECT_THAT(sun.out, HasSubstr("is an erratum: its readings give 0.293"));
  EXPECT_THAT(sun.out, HasSubstr("not checkable"));
  const ProcessResult bench = RunProgram({"coefficient", data + "experiments/bench-tests.yaml",
                                          "--out", (folder.path() / "bench").string(), "--quiet"},
                                         folder.path());
  EXPECT_EQ(bench.code, 0) << bench.err;
  EXPECT_EQ(bench.out, "");
  for (const char* name :
       {"index.html", "coefficients.csv", "coefficients.md", "coefficients.tex", "budgets.csv"})
    EXPECT_TRUE(std::filesystem::exists(folder.path() / "bench" / name)) << name;
  EXPECT_EQ(
      RunProgram({"coefficient", (folder.path() / "absent.yaml").string()}, folder.path()).code, 2);
}

}  // namespace
}  // namespace impactlab::test
