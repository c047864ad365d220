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

// Nothing usable: no value is printed, what would decide is, and the shell is told.
TEST(CoefficientCommand, NothingDetermined) {
  const ScratchFolder folder("undetermined");
  WriteText(folder.path() / "t.yaml",
            "schema: impactlab.coefficients/1\ntests:\n  - {kind: kinetic_friction, angle_deg: 5, "
            "acceleration_m_per_s2: -2.50}\n");
  const ProcessResult r = RunProgram(
      {"coefficient", (folder.path() / "t.yaml").string(), "--out", (folder.path() / "o").string()},
      folder.path());
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_THAT(r.out, HasSubstr("mu_k cannot be determined from these readings"));
  EXPECT_THAT(r.out, HasSubstr("`direction: up` or `down`"));
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "o/coefficients.csv"));
}

}  // namespace
}  // namespace impactlab::test
