// `impactlab literature`, the way a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/process.h"

namespace impactlab::test {
namespace {

using ::testing::HasSubstr;

TEST(LiteratureCommand, PublishedTablesFromOneCommand) {
  const ScratchFolder folder("literature");
  const std::string file = std::string(IMPACTLAB_SOURCE_DIR) + "/data/published/004_sun.yaml";
  const auto out = folder.path() / "out";
  const ProcessResult result =
      RunProgram({"literature", file, "--out", out.string()}, folder.path());
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("2.3 % with the inertia printed"));
  EXPECT_THAT(result.out, HasSubstr("needs orientation"));
  for (const char* name : {"index.html", "comparison.csv", "comparison.md", "comparison.tex",
                           "faults.csv", "balance.tex", "states.md"})
    EXPECT_TRUE(std::filesystem::exists(out / name)) << name;
  const ProcessResult again = RunProgram(
      {"literature", file, "--out", (folder.path() / "again").string(), "--quiet"}, folder.path());
  EXPECT_EQ(again.out, "");
  EXPECT_EQ(ReadText(out / "comparison.csv"), ReadText(folder.path() / "again" / "comparison.csv"));
}

// The name of before 0.2, with the folder it had.
TEST(LiteratureCommand, UnderItsFormerName) {
  const ScratchFolder folder("literature before");
  const std::string file = std::string(IMPACTLAB_SOURCE_DIR) + "/data/published/004_sun.yaml";
  const ProcessResult result = RunProgram({"audit", file, "--quiet"}, folder.path(),
                                          "cd " + ShellQuote(folder.path()) + ";");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "impactlab: note: the verb audit is now called literature\n");
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "audit/comparison.csv"));
  const ProcessResult elsewhere =
      RunProgram({"audit", file, "--out", (folder.path() / "out").string()}, folder.path());
  EXPECT_EQ(elsewhere.code, 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "out/comparison.csv"));
}

TEST(LiteratureCommand, SaysWhatIsMissing) {
  const ScratchFolder folder("literature bad");
  EXPECT_EQ(
      RunProgram({"literature", (folder.path() / "absent.yaml").string()}, folder.path()).code, 2);
  WriteText(folder.path() / "t.yaml",
            "schema: impactlab.published/1\ntables: [{title: t, files: [absent.csv], body: {shape: "
            "ball, radius_m: 0.1, mass_kg: 1}}]\n");
  const ProcessResult absent =
      RunProgram({"literature", (folder.path() / "t.yaml").string()}, folder.path());
  EXPECT_EQ(absent.code, 3);
  EXPECT_THAT(absent.err, HasSubstr("absent.csv"));
  WriteText(folder.path() / "u.yaml",
            "schema: impactlab.published/1\ntables: [{title: t, files: [u.csv], body: {shape: "
            "ball, radius_m: 0.1}}]\n");
  WriteText(folder.path() / "u.csv",
            "experiment,v_minus_z_m_per_s,v_plus_z_m_per_s,colour\na,-1,1,red\n");
  const ProcessResult no_mass =
      RunProgram({"literature", (folder.path() / "u.yaml").string()}, folder.path());
  EXPECT_EQ(no_mass.code, 2);
  EXPECT_THAT(no_mass.err, HasSubstr("mass_kg"));
}

}  // namespace
}  // namespace impactlab::test
