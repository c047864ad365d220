// `impactlab campaign`, the way a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/process.h"

namespace impactlab::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kCampaignCommandSample = std::string(IMPACTLAB_SOURCE_DIR) + "/data/sample";

TEST(CampaignCommand, RunsItsMembersAndTakesUpFinishedRuns) {
  const ScratchFolder folder("campaign");
  const auto file = folder.path() / "campaign.yaml";
  WriteText(file,
            "schema: impactlab.campaign/1\nname: halves\nmembers:\n  - {name: first half, "
            "experiment: \"" +
                kCampaignCommandSample + "/experiment.yaml\", recordings: \"" +
                kCampaignCommandSample +
                "/drop_000*.csv\"}\n  - {name: second half, experiment: \"" +
                kCampaignCommandSample + "/experiment.yaml\", recordings: \"" +
                kCampaignCommandSample + "/drop_001*.csv\"}\ncoefficients: {refits: 20}\n");
  const auto out = folder.path() / "out";
  const ProcessResult made =
      RunProgram({"campaign", file.string(), "--out", out.string()}, folder.path());
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("halves: 2 members"));
  EXPECT_THAT(made.out, HasSubstr("campaign.html"));
  for (const char* name :
       {"campaign.csv", "members.csv", "differences.csv", "models.csv", "model_coefficients.csv",
        "intervals.csv", "campaign.html", "first half/report.html", "second half/fit.json"})
    EXPECT_TRUE(std::filesystem::exists(out / name)) << name;
  EXPECT_THAT(ReadText(out / "campaign.html"), HasSubstr("first%20half/report.html"));
  EXPECT_THAT(ReadText(out / "differences.csv"), Not(HasSubstr(",differ\n")));  // one specimen

  WriteText(file,
            "schema: impactlab.campaign/1\nmembers:\n  - {name: a, run: out/first half}\n  - "
            "{name: b, run: out/second half}\n  - {name: c, "
            "run: out/nothing}\ncoefficients: {refits: 20}\n");
  const ProcessResult again = RunProgram(
      {"campaign", file.string(), "--out", (folder.path() / "again").string(), "--quiet"},
      folder.path());
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "");
  EXPECT_THAT(ReadText(folder.path() / "again" / "members.csv"), HasSubstr("run.yaml"));
}

TEST(CampaignCommand, SaysWhatIsMissing) {
  const ScratchFolder folder("campaign bad");
  EXPECT_EQ(RunProgram({"campaign", (folder.path() / "absent.yaml").string()}, folder.path()).code,
            2);
  const auto file = folder.path() / "c.yaml";
  WriteText(file, "schema: impactlab.campaign/1\nmembers: [{name: a, experiment: absent.yaml}]\n");
  const ProcessResult absent = RunProgram({"campaign", file.string()}, folder.path());
  EXPECT_EQ(absent.code, 2);
  EXPECT_THAT(absent.err, HasSubstr("absent.yaml"));
  WriteText(file, "schema: impactlab.campaign/1\nmembers: [{name: a, run: nowhere}]\n");
  const ProcessResult nowhere = RunProgram({"campaign", file.string()}, folder.path());
  EXPECT_EQ(nowhere.code, 3);
  EXPECT_THAT(nowhere.err, HasSubstr("none of 1 members"));
}

}  // namespace
}  // namespace impactlab::test
