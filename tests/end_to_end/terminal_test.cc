// What every verb shares on the terminal: slips are named with what was meant, scripts get one JSON
// object or nothing, a dry run writes nothing.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace impactlab {
namespace {

using test::ProcessResult;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::filesystem::path kTerminalData = std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data";

class Terminal : public ::testing::Test {
 protected:
  ProcessResult Run(const std::vector<std::string>& words, const std::string& prefix = "") const {
    return test::RunProgram(words, scratch_.path(), prefix);
  }
  std::string Path(const std::string& name) const { return scratch_.path() / name; }

 private:
  test::ScratchFolder scratch_{"terminal"};
};

TEST_F(Terminal, SlipsAreNamedWithWhatWasMeant) {
  const auto refused = [&](const std::vector<std::string>& words, const std::string& said) {
    const ProcessResult result = Run(words);
    EXPECT_EQ(result.code, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(said));
    EXPECT_THAT(result.out, IsEmpty());
  };
  refused({"rnu", "experiment.yaml"}, "verb: found 'rnu', nearest is run");
  refused({"calibrte", "rig.yaml"}, "nearest is calibrate");
  refused({"run", "experiment.yaml", "--quite"}, "run: found '--quite', nearest is --quiet");
  refused({"track", "tracking.yaml", "--overlays=x.mp4"}, "nearest is --overlay");
  refused({"--versoin"}, "nearest is --version");
  // Dashes are no likeness.
  refused({"completion", "bash", "--hush"},
          "completion: found '--hush'; impactlab completion --help");
  for (const char* verb : {"run", "map", "plan", "diagram", "campaign", "calibrate", "track"}) {
    refused({verb, "x.yaml", "--threads", "x"},
            "--threads: found 'x', allowed a whole number from 0 to 256");
    refused({verb, "x.yaml", "--threads", "1.5"}, "found '1.5'");
    refused({verb, "x.yaml", "--threads", "300"}, "found '300'");
  }
}

TEST_F(Terminal, ScriptsGetOneObject) {
  const auto answer = [&](const std::vector<std::string>& words) {
    const ProcessResult result = Run(words);
    EXPECT_EQ(result.code, 0) << result.err;
    auto json = nlohmann::json::parse(result.out);
    EXPECT_EQ(json.at("schema"), "impactlab.answer/1");
    EXPECT_EQ(json.at("verb"), words[0]);
    EXPECT_FALSE(json.at("files").empty());
    for (const auto& file : json.at("files"))
      EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(json.at("out").get<std::string>()) /
                                          file.get<std::string>()));
    return json;
  };
  const auto toss = answer({"simulate", kTerminalData / "scenarios/bouncing_ball.yaml", "--out",
                            Path("ball"), "--json"});
  EXPECT_TRUE(toss.at("result").is_object());
  answer({"coefficient", kTerminalData / "experiments/bench-tests.yaml", "--out", Path("bench"),
          "--json"});
  answer({"literature", kTerminalData / "published/004_sun.yaml", "--out", Path("sun"), "--json"});
  answer({"synth", kTerminalData / "sample/scene.yaml", "--out", Path("synthetic"), "--json"});
}

// A script that asked for JSON gets it of failures too; people read standard error.
TEST_F(Terminal, ScriptsGetOneObjectOfWhatFails) {
  test::WriteText(Path("bad.yaml"), "schema: impactlab.experiment/1\nkind: planar_posse\n");
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"simulate", Path("gone.yaml"), "--json"},
                                             {"run", Path("bad.yaml"), "--json"},
                                             {"run", "--json", "--quite"},
                                             {"doctor", Path("gone.mp4"), "--json"}}) {
    const ProcessResult failed = Run(words);
    const auto json = nlohmann::json::parse(failed.out);
    EXPECT_EQ(json.at("schema"), "impactlab.error/1");
    EXPECT_EQ(json.at("code"), failed.code);
    EXPECT_EQ("impactlab: " + json.at("error").get<std::string>() + "\n", failed.err);
  }
  EXPECT_THAT(Run({"run", Path("bad.yaml")}).out, IsEmpty());
}

// Where nothing could be solved the exit code and standard error say so.
TEST_F(Terminal, NothingSolvedIsToldOnStandardError) {
  test::WriteText(Path("bad.json"), "[{}]");
  const ProcessResult solved = Run({"solve", Path("bad.json"), "--out", Path("o.json"), "--quiet"});
  EXPECT_EQ(solved.code, 3);
  EXPECT_THAT(solved.err, HasSubstr("1 of 1 cases are no impact problem"));
  const std::vector<std::string> state = {
      "predict", "--v-minus-m-per-s", "1", "-1", "--a-per-kg", "3", "-1", "2", "--e", "2"};
  const ProcessResult predicted = Run(state);
  EXPECT_EQ(predicted.code, 3);
  EXPECT_THAT(predicted.err, HasSubstr("no law has an outcome for this state: e_star is 2"));
  // Who asks for JSON gets it, quiet or not.
  std::vector<std::string> both = state;
  both.back() = "0.5";
  both.insert(both.end(), {"--json", "--quiet"});
  EXPECT_EQ(nlohmann::json::parse(Run(both).out).at("schema"), "impactlab.predictions/1");
}

// A folder is taken for the file that was meant.
TEST_F(Terminal, FoldersInPlaceOfFilesNameWhatLiesInThem) {
  std::filesystem::create_directories(Path("drops"));
  EXPECT_THAT(Run({"run", Path("drops")}).err, HasSubstr("found a folder, allowed a YAML file"));
  test::WriteText(Path("drops/experiment.yaml"), "schema: impactlab.experiment/1\n");
  EXPECT_THAT(Run({"run", Path("drops")}).err,
              HasSubstr("; in it is " + Path("drops/experiment.yaml")));
}

TEST_F(Terminal, QuietVerbsSayNothing) {
  test::WriteText(
      Path("cases.json"),
      R"([{"A_F": [[3, 0, -1], [0, 4, 0], [-1, 0, 2]], "v_minus_F": [0.5, 0, -1], "law": "energetic", "e": 0.5, "mu_k": 0.2}])");
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"solve", Path("cases.json"), "--out", Path("outcomes.json"), "--quiet"},
           {"board", "--square-m", "0.02", "--out", Path("board.pdf"), "--quiet"},
           {"synth", kTerminalData / "sample/scene.yaml", "--out", Path("s"), "--quiet"},
           {"simulate", kTerminalData / "scenarios/bouncing_ball.yaml", "--out", Path("ball"),
            "--quiet"},
           {"check", kTerminalData / "sample", "--quiet"},
           {"predict", kTerminalData / "systems/000_cradle_3.yaml", "--out", Path("c.json"),
            "--quiet"}}) {
    const ProcessResult result = Run(words);
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, IsEmpty()) << words[0];
    EXPECT_THAT(result.err, IsEmpty()) << words[0];
  }
  EXPECT_TRUE(std::filesystem::exists(Path("outcomes.json")));
  EXPECT_TRUE(std::filesystem::exists(Path("board.pdf")));
}

TEST_F(Terminal, DryRunsLookAndWriteNothing) {
  const std::vector<std::pair<std::string, std::string>> verbs = {
      {"simulate", "scenarios/bouncing_ball.yaml"}, {"map", "maps/004_fig_2_09.yaml"},
      {"diagram", "diagrams/periods_of_ball.yaml"}, {"coefficient", "experiments/bench-tests.yaml"},
      {"literature", "published/004_sun.yaml"},     {"plan", "plans/square_drops.yaml"}};
  for (const auto& [verb, file] : verbs) {
    const ProcessResult result =
        Run({verb, kTerminalData / file, "--out", Path("out"), "--dry-run"});
    EXPECT_EQ(result.code, 0) << verb << result.err;
    EXPECT_THAT(result.out, HasSubstr("would be written to " + Path("out"))) << verb;
    EXPECT_FALSE(std::filesystem::exists(Path("out"))) << verb;
  }
  test::WriteText(Path("bad.yaml"), "schema: impactlab.scenario/1\nplanar: true\nbodis: []\n");
  const ProcessResult bad = Run({"simulate", Path("bad.yaml"), "--dry-run"});
  EXPECT_EQ(bad.code, 3);
  EXPECT_THAT(bad.out, HasSubstr("is bodis in line 3 meant to be bodies?"));
}

TEST_F(Terminal, NothingIsColouredOffATerminal) {
  for (const char* colour : {"", "NO_COLOR=1"})
    for (const std::vector<std::string>& words :
         std::vector<std::vector<std::string>>{{"--help"},
                                               {"run", "--help"},
                                               {"run", kTerminalData / "sample/experiment.yaml",
                                                "--out", Path("run"), "--bootstrap", "0"}}) {
      const ProcessResult result = Run(words, colour);
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_THAT(result.out + result.err, Not(HasSubstr("\x1b")));
    }
}

TEST_F(Terminal, ReferenceExplainsKeys) {
  const ProcessResult all = Run({"reference"});
  EXPECT_EQ(all.code, 0);
  for (const char* kind : {"experiment", "calibration", "tracking", "video_scene"})
    EXPECT_THAT(all.out, HasSubstr(kind));
  const ProcessResult one = Run({"reference", "experiment", "motion.min_frames"});
  EXPECT_THAT(one.out, HasSubstr("motion.min_frames\n"));
  EXPECT_THAT(one.out, HasSubstr("default 5"));
  const ProcessResult map = Run({"reference", "experiment", "motion"});
  EXPECT_THAT(map.out, HasSubstr("motion.sigma_angle_rad"));
  EXPECT_THAT(map.out, Not(HasSubstr("identify.")));
  std::istringstream lines(Run({"reference", "experiment"}).out);
  for (std::string line; std::getline(lines, line);)
    if (line.find(' ', 6) != std::string::npos) {
      EXPECT_LE(line.size(), 80u) << line;
    }
  const ProcessResult kind = Run({"reference", "experimint"});
  EXPECT_EQ(kind.code, 2);
  EXPECT_THAT(kind.err, HasSubstr("nearest is experiment"));
  const ProcessResult key = Run({"reference", "tracking", "markers.layout"});
  EXPECT_EQ(key.code, 2);
  EXPECT_THAT(key.err, HasSubstr("nearest is markers.layout_m"));
}

}  // namespace
}  // namespace impactlab
