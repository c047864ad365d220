// Files that a verb did not make, or that somebody changed since, survive in the folder it writes.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace impactlab::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kForeignData = std::string(IMPACTLAB_SOURCE_DIR) + "/data/";
const std::string kMine = "t_s,mine\n0,1\n";

class ForeignFiles : public ::testing::Test {
 protected:
  ProcessResult Run(std::vector<std::string> words, const std::string& out,
                    const std::vector<std::string>& more = {}) {
    words.insert(words.end(), {"--out", Path(out).string()});
    words.insert(words.end(), more.begin(), more.end());
    return RunProgram(words, scratch_.path());
  }
  fs::path Path(const std::string& name) const { return scratch_.path() / name; }

  static std::map<std::string, std::string> Contents(const fs::path& folder) {
    std::map<std::string, std::string> out;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.is_regular_file())
        out[fs::relative(entry.path(), folder).generic_string()] = ReadText(entry.path());
    return out;
  }

  static std::vector<std::string> Listed(const fs::path& folder) {
    std::vector<std::string> names;
    const auto json = nlohmann::json::parse(ReadText(folder / "manifest.json"));
    EXPECT_EQ(json.at("schema"), "impactlab.manifest/1");
    for (const auto& [name, digest] : json.at("files").items()) names.push_back(name);
    return names;
  }

  // Runs a verb twice into one folder; then every file it wrote, when it was changed, is refused by
  // name before work begins, and nothing in the folder changes.
  void ExpectOwnFilesKnown(const std::vector<std::string>& words, const std::string& out) {
    SCOPED_TRACE(words[0]);
    ASSERT_EQ(Run(words, out).code, 0);
    const ProcessResult again = Run(words, out);
    ASSERT_EQ(again.code, 0) << again.err;
    const std::vector<std::string> names = Listed(Path(out));
    EXPECT_GE(names.size(), 1u);
    for (const auto& [name, text] : Contents(Path(out))) {
      if (name == "manifest.json" || name.starts_with(".stages/") || name == "journal.txt")
        continue;
      EXPECT_THAT(names, ::testing::Contains(name));
    }
    for (const std::string& name : names) {
      const std::string text = ReadText(Path(out) / name);
      WriteText(Path(out) / name, text + "mine\n");
      const auto before = Contents(Path(out));
      const ProcessResult refused = Run(words, out);
      EXPECT_EQ(refused.code, 2) << name << refused.err;
      EXPECT_THAT(refused.err, HasSubstr(name + ", changed since ImpactLab wrote it"));
      EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
      EXPECT_EQ(Contents(Path(out)), before) << name;
      WriteText(Path(out) / name, text);
    }
  }

  // Files of somebody else with these names are refused in a folder that no verb has written yet.
  void ExpectForeignRefused(const std::vector<std::string>& words,
                            const std::vector<std::string>& names) {
    SCOPED_TRACE(words[0]);
    for (const std::string& name : names) {
      fs::remove_all(Path("foreign"));
      WriteText(Path("foreign") / name, kMine);
      const ProcessResult refused = Run(words, "foreign");
      EXPECT_EQ(refused.code, 2) << name << refused.err;
      EXPECT_THAT(refused.err, HasSubstr(name + ", not written by ImpactLab"));
      EXPECT_THAT(refused.err, HasSubstr("--move-aside"));
      EXPECT_EQ(Contents(Path("foreign")), (std::map<std::string, std::string>{{name, kMine}}));
    }
  }

  ScratchFolder scratch_{"foreign"};
  const std::vector<std::string> run_ = {"run", kForeignData + "sample/experiment.yaml",
                                         "--bootstrap", "0", "--quiet"};
};

TEST_F(ForeignFiles, OfARunAndItsStages) {
  ExpectOwnFilesKnown(run_, "out");
  ExpectForeignRefused(run_, {"events.csv", "bounces.csv", "models.csv", "report.html", "area.csv",
                              "report_parts/1.js", "refused/events.csv", "as_recorded/fit.json",
                              "validation_table.tex", "manifest.json"});
  // The stages know the files of the run, and the run those of the stages.
  const std::string experiment = kForeignData + "sample/experiment.yaml",
                    events = Path("out/events.csv").string(), fit = Path("out/fit.json").string();
  const std::vector<std::string> identify = {"identify", experiment, "--events", events},
                                 validate = {"validate", experiment, "--events",
                                             events,     "--fit",    fit},
                                 predict = {"predict", experiment, "--events",
                                            events,    "--fit",    fit};
  for (const auto& words : {identify, validate, predict}) {
    const ProcessResult result = Run(words, "out");
    EXPECT_EQ(result.code, 0) << words[0] << result.err;
  }
  EXPECT_EQ(Run(run_, "out").code, 0);
  ExpectForeignRefused(identify, {"fit.json"});
  ExpectForeignRefused(validate, {"validation.csv", "edges.csv"});
  ExpectForeignRefused(predict, {"predictions.csv"});
  ExpectForeignRefused({"reconstruct", experiment}, {"events.csv", "motion.csv"});
}

TEST_F(ForeignFiles, ThatARunDoesNotWriteAreLeftAlone) {
  const std::map<std::string, std::string> mine = {
      {"layout.csv", kMine},      {"drops.csv", kMine},   {"poses/mine.csv", kMine},
      {"as_recorded/n.txt", "n"}, {"refused/n.txt", "n"}, {"report_parts/n.txt", "n"}};
  for (const auto& [name, text] : mine) WriteText(Path("out") / name, text);
  const ProcessResult result = Run(run_, "out");
  ASSERT_EQ(result.code, 0) << result.err;
  for (const auto& [name, text] : mine) EXPECT_EQ(ReadText(Path("out") / name), text) << name;
}

// Of markers: before a video is opened.
TEST_F(ForeignFiles, OfARunOfMarkers) {
  ExpectForeignRefused(
      {"run", kForeignData + "sample/incline/experiment.yaml"},
      {"layout.csv", "drops.csv", "poses/drop_0001.csv", "poses/mine.csv", "tracking/tracks.csv",
       "tracking/sheets/mine.png", "calibration/rig.yaml", "flights.json"});
  ExpectForeignRefused({"track", kForeignData + "sample/incline/tracking.yaml"},
                       {"tracks.csv", "tracking.html", "sheets/mine.png", "run.yaml"});
  ExpectForeignRefused({"calibrate", kForeignData + "sample/incline/calibration/calibration.yaml"},
                       {"rig.yaml", "calibration.json", "calibration.html"});
  // The overlay is named by the user; a file of his under that name is still his.
  WriteText(Path("seen/seen_drop_0001_left.mp4"), kMine);
  const ProcessResult overlay = Run({"track", kForeignData + "sample/incline/tracking.yaml"},
                                    "seen", {"--overlay", Path("seen/seen.mp4").string()});
  EXPECT_EQ(overlay.code, 2) << overlay.err;
  EXPECT_EQ(ReadText(Path("seen/seen_drop_0001_left.mp4")), kMine);
}

TEST_F(ForeignFiles, OfTheOtherVerbs) {
  ExpectOwnFilesKnown({"simulate", kForeignData + "scenarios/bouncing_ball.yaml"}, "simulate");
  ExpectOwnFilesKnown({"coefficient", kForeignData + "experiments/bench-tests.yaml"}, "bench");
  ExpectOwnFilesKnown({"literature", kForeignData + "published/004_sun.yaml"}, "sun");
  ExpectOwnFilesKnown({"map", kForeignData + "maps/004_fig_2_09.yaml"}, "map");
  // The same with few cells: 40,000 take minutes.
  std::string diagram = ReadText(kForeignData + "diagrams/periods_of_ball.yaml");
  diagram = std::regex_replace(diagram, std::regex("count: 200"), "count: 3");
  diagram = std::regex_replace(diagram, std::regex("\\.\\./scenarios"), kForeignData + "scenarios");
  WriteText(Path("periods.yaml"), diagram);
  ExpectOwnFilesKnown({"diagram", Path("periods.yaml").string()}, "diagram");
  ExpectOwnFilesKnown({"synth", kForeignData + "sample/scene.yaml"}, "synth");
  ExpectForeignRefused({"plan", kForeignData + "plans/bar_in_a_plane.yaml"}, {"plan.csv"});
  ExpectForeignRefused({"diagram", kForeignData + "diagrams/periods_of_ball.yaml"},
                       {"journal.txt", "periods.csv"});
  ExpectForeignRefused({"synth", kForeignData + "sample/video/scene.yaml"},
                       {"drop_0001_left.mp4", "truth.csv", "rig.yaml", "calibration/left_001.png"});
  ExpectForeignRefused({"synth", kForeignData + "sample/rig/scene.yaml"},
                       {"left_001.png", "calibration.yaml"});
}

// A member that would write over something is found before the work on the first.
TEST_F(ForeignFiles, OfACampaign) {
  const std::string experiment = kForeignData + "sample/experiment.yaml";
  WriteText(Path("campaign.yaml"),
            "schema: impactlab.campaign/1\nmembers:\n  - {name: a, "
            "experiment: \"" +
                experiment + "\"}\n  - {name: b, experiment: \"" + experiment + "\"}\n");
  const std::vector<std::string> words = {"campaign", Path("campaign.yaml").string(), "--quiet"};
  ExpectForeignRefused(words, {"members.csv", "campaign.html", "models.csv"});
  WriteText(Path("out/b/events.csv"), kMine);
  const ProcessResult refused = Run(words, "out");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("events.csv, not written by ImpactLab"));
  EXPECT_EQ(Contents(Path("out")), (std::map<std::string, std::string>{{"b/events.csv", kMine}}));
}

TEST_F(ForeignFiles, MovedAside) {
  const std::vector<std::string> words = {"coefficient",
                                          kForeignData + "experiments/bench-tests.yaml"};
  WriteText(Path("out/index.html"), "mine");
  fs::create_directories(Path("out/budgets.csv"));
  const ProcessResult first = Run(words, "out", {"--move-aside"});
  EXPECT_EQ(first.code, 0) << first.err;
  EXPECT_THAT(first.err, HasSubstr("renamed to index.html.aside"));
  EXPECT_EQ(ReadText(Path("out/index.html.aside")), "mine");
  EXPECT_TRUE(fs::is_directory(Path("out/budgets.csv.aside")));
  WriteText(Path("out/index.html"), "changed");
  EXPECT_EQ(Run(words, "out").code, 2);
  EXPECT_EQ(Run(words, "out", {"--move-aside"}).code, 0);
  EXPECT_EQ(ReadText(Path("out/index.html.aside")), "mine");
  EXPECT_EQ(ReadText(Path("out/index.html.aside2")), "changed");
  const ProcessResult clean = Run(words, "out");
  EXPECT_EQ(clean.code, 0);
  EXPECT_THAT(clean.err, IsEmpty());
}

TEST_F(ForeignFiles, LinksAreNotFollowed) {
  const std::vector<std::string> words = {"simulate",
                                          kForeignData + "scenarios/bouncing_ball.yaml"};
  WriteText(Path("elsewhere/events.csv"), kMine);
  fs::create_directory(Path("out"));
  fs::create_symlink(Path("elsewhere/events.csv"), Path("out/events.csv"));
  EXPECT_EQ(Run(words, "out").code, 2);
  EXPECT_EQ(ReadText(Path("elsewhere/events.csv")), kMine);
  EXPECT_EQ(Run(words, "out", {"--move-aside"}).code, 0);
  EXPECT_EQ(ReadText(Path("elsewhere/events.csv")), kMine);
  EXPECT_TRUE(fs::is_symlink(Path("out/events.csv.aside")));
}

// A run folder of a version that wrote no manifest: its files are taken for the run's, and said so.
TEST_F(ForeignFiles, FoldersOfEarlierVersions) {
  ASSERT_EQ(Run(run_, "out").code, 0);
  fs::remove(Path("out/manifest.json"));
  const ProcessResult again = Run(run_, "out");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("earlier versions"));
  EXPECT_THAT(Run(run_, "out").err, IsEmpty());
}

TEST_F(ForeignFiles, DryRunsTellOfThem) {
  WriteText(Path("out/report.html"), "mine");
  EXPECT_EQ(Run(run_, "out", {"--dry-run"}).code, 2);
  EXPECT_EQ(Run(run_, "out", {"--dry-run", "--move-aside"}).code, 0);
  EXPECT_EQ(Contents(Path("out")), (std::map<std::string, std::string>{{"report.html", "mine"}}));
}

// So do those of the verbs whose inputs are configuration files.
TEST_F(ForeignFiles, DryRunsOfOtherVerbsTellOfThem) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> verbs = {
      {{"coefficient", kForeignData + "experiments/bench-tests.yaml"}, "index.html"},
      {{"simulate", kForeignData + "scenarios/bouncing_ball.yaml"}, "events.csv"},
      {{"plan", kForeignData + "plans/rod_on_incline.yaml"}, "plan.json"},
      {{"track", kForeignData + "sample/incline/tracking.yaml"}, "tracks.csv"}};
  for (const auto& [words, name] : verbs) {
    SCOPED_TRACE(words[0]);
    const ProcessResult free = Run(words, "dry", {"--dry-run"});
    EXPECT_EQ(free.code, 0) << free.err;
    EXPECT_THAT(free.out, HasSubstr("would be written to"));
    EXPECT_FALSE(fs::exists(Path("dry"))) << "nothing is written";
    fs::remove_all(Path("out"));
    WriteText(Path("out") / name, kMine);
    const ProcessResult refused = Run(words, "out", {"--dry-run"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr(name + ", not written by ImpactLab"));
    EXPECT_EQ(Run(words, "out", {"--dry-run", "--move-aside"}).code, 0);
    EXPECT_EQ(Contents(Path("out")), (std::map<std::string, std::string>{{name, kMine}}));
  }
}

}  // namespace
}  // namespace impactlab::test
