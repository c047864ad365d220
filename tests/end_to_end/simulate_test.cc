// `impactlab simulate` on the scenarios that come with the project, the way a user runs it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/files/glob.h"
#include "tests/support/process.h"

namespace impactlab::test {
namespace {

using ::testing::HasSubstr;

const std::string kScenarios = std::string(IMPACTLAB_SOURCE_DIR) + "/data/scenarios/";

nlohmann::json Simulate(const std::string& name, const std::filesystem::path& out) {
  const ProcessResult run = RunProgram(
      {"simulate", kScenarios + name + ".yaml", "--out", out.string()}, out.parent_path());
  EXPECT_EQ(run.code, 0) << name << ": " << run.err;
  for (const char* file : {"trajectory.csv", "events.csv", "summary.json", "page.html"})
    EXPECT_TRUE(std::filesystem::exists(out / file)) << name;
  return nlohmann::json::parse(ReadText(out / "summary.json"));
}

TEST(SimulateCommand, EveryReadyScenarioKeepsItsAudit) {
  const ScratchFolder folder("simulate all");
  int n = 0;
  for (const auto& file : ExpandGlob("*.yaml", kScenarios)) {
    const std::string name = std::filesystem::path(file).stem().string();
    SCOPED_TRACE(name);
    const auto summary = Simulate(name, folder.path() / name);
    ++n;
    EXPECT_NE(summary["end"], "given_up") << summary["reason"];
    EXPECT_GT(summary["impacts"], 0);
    EXPECT_GE(summary["audit"]["least_gap_m"].get<double>(), -1e-9);
    const auto& gain = summary["audit"]["energy_gain_J"];
    if (!gain.is_null()) {
      EXPECT_LT(gain.get<double>(), 1e-9);
    }
  }
  EXPECT_EQ(n, 9);
}

TEST(SimulateCommand, SaysWhereThePageIsAndRefusesAnEmptyFolder) {
  const ScratchFolder folder("simulate page");
  const std::string ball = kScenarios + "bouncing_ball.yaml", out = (folder.path() / "o").string();
  EXPECT_THAT(RunProgram({"simulate", ball, "--out", out}, folder.path()).out,
              HasSubstr(out + "/page.html"));
  for (const char* verb : {"simulate", "diagram", "synth"}) {
    const ProcessResult empty = RunProgram({verb, ball, "--out", ""}, folder.path());
    EXPECT_EQ(empty.code, 2) << verb;
    EXPECT_THAT(empty.err, HasSubstr("--out: found an empty name")) << verb;
  }
}

TEST(SimulateCommand, FaultsNameWhatWasMeant) {
  const ScratchFolder folder("simulate faults");
  const std::string head = "schema: impactlab.scenario/1\n", end = "simulation: {duration_s: 1}\n";
  const auto fault = [&](const std::string& text) {
    WriteText(folder.path() / "s.yaml", head + text + end);
    const ProcessResult run =
        RunProgram({"simulate", "s.yaml", "--out", (folder.path() / "o").string()}, folder.path(),
                   "cd " + ShellQuote(folder.path().string()) + ";");
    EXPECT_EQ(run.code, 2);
    return run.err;
  };
  EXPECT_THAT(fault("mechanism: {kind: bouncing_bal, height_m: 1}\nevery_contact: {e: 0.5}\n"),
              HasSubstr("'bouncing_bal', nearest is bouncing_ball"));
  const std::string box =
      "planar: true\nbodies: [{shape: box, side_mm: 60, mass_kg: 0.2, position_m: [0, 0.2]}]\n";
  EXPECT_THAT(fault(box), HasSubstr("side_m or sides_m (one is required)"));
  EXPECT_THAT(fault(box), HasSubstr("is side_mm in line 3 meant to be side_m?"));
  EXPECT_THAT(fault("planar: true\nbodies: [{shape: ball, radius_m: 0.1, mass_kg: 0.2, position_m: "
                    "[0, 0.2]}]\nevery_contact: {e: 0.5}\n"),
              HasSubstr("s.yaml:4: every_contact: found contact laws where nothing can touch"));
}

TEST(SimulateCommand, BallCubeAndBlockComeToRest) {
  const ScratchFolder folder("simulate rest");
  const auto ball = Simulate("bouncing_ball", folder.path() / "ball");
  EXPECT_EQ(ball["end"], "rest");
  // the Bristol thesis, closed form
  EXPECT_NEAR(ball["accumulations"].back()["t_s"].get<double>(), 8.578949, 1e-6);
  const auto cube = Simulate("cube_toss", folder.path() / "cube");
  EXPECT_EQ(cube["end"], "rest");
  EXPECT_NEAR(cube["final"]["q"]["z_m"].get<double>(), 0.05, 1e-9);  // it lies on a face
  const auto block = Simulate("rocking_block", folder.path() / "block");
  EXPECT_EQ(block["end"], "rest");
  EXPECT_NEAR(block["final"]["q"]["z_m"].get<double>(), 0.25, 1e-9);
  EXPECT_NEAR(block["final"]["q"]["theta_rad"].get<double>(), 0, 1e-9);
}

// Painleve: the tip that slides on the belt jumps off without any approach.
TEST(SimulateCommand, PendulumJumpsOffTheBeltWithoutCollision) {
  const ScratchFolder folder("simulate belt");
  Simulate("double_pendulum_on_belt", folder.path() / "belt");
  const std::string events = ReadText(folder.path() / "belt" / "events.csv");
  EXPECT_THAT(events, HasSubstr("\n0,0,impact_without_collision,tip on belt"));
}

TEST(SimulateCommand, EndsWhereItIsInterrupted) {
  const ScratchFolder folder("simulate stop");
  std::string text = ReadText(kScenarios + "cradle.yaml");
  text.replace(text.find("duration_s: 10"), 14, "duration_s: 1e12");
  WriteText(folder.path() / "long.yaml", text);
  const ProcessResult run = RunProgram(
      {"simulate", (folder.path() / "long.yaml").string(), "--out", (folder.path() / "o").string()},
      folder.path(), "timeout --preserve-status -s INT 0.5");
  EXPECT_EQ(run.code, 130);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "o" / "summary.json"));
}

TEST(SimulateCommand, OptionsAndFaults) {
  const ScratchFolder folder("simulate options");
  const std::string ball = kScenarios + "bouncing_ball.yaml";
  const auto video = folder.path() / "ball.mp4";
  const ProcessResult run =
      RunProgram({"simulate", ball, "--out", (folder.path() / "o").string(), "--no-page", "--video",
                  video.string(), "--speed", "5", "--quiet"},
                 folder.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(std::filesystem::exists(video));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "o" / "page.html"));
  const ProcessResult slow = RunProgram({"simulate", ball, "--out", (folder.path() / "o").string(),
                                         "--video", video.string(), "--speed", "-1"},
                                        folder.path());
  EXPECT_EQ(slow.code, 2);
  EXPECT_THAT(slow.err, HasSubstr("--speed"));
  const ProcessResult missing = RunProgram({"simulate", "no.yaml"}, folder.path());
  EXPECT_NE(missing.code, 0);
  EXPECT_THAT(missing.err, HasSubstr("no.yaml"));
}

}  // namespace
}  // namespace impactlab::test
