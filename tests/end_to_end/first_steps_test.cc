// The way in: a folder to fill in, what is missing in it, help, completion, and what happens to a
// user who slips.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace impactlab {
namespace {

using test::ProcessResult;
using test::ReadText;
using test::RunProgram;
using test::WriteText;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::filesystem::path kData = std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data";

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Width as a terminal counts it: bytes that continue a character of UTF-8 take no column.
std::size_t Width(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

class FirstSteps : public ::testing::Test {
 protected:
  ProcessResult Run(const std::vector<std::string>& words, const std::string& prefix = "") {
    return RunProgram(words, Path(""), prefix);
  }
  std::filesystem::path Path(const std::string& name) const { return scratch_.path() / name; }
  std::vector<std::string> Verbs() {
    // The words of the completion script are those of the program itself.
    const std::string script = Run({"completion", "bash"}).out;
    const auto begin = script.find("compgen -W \"") + 12, end = script.find(" -h", begin);
    std::istringstream words(script.substr(begin, end - begin));
    return {std::istream_iterator<std::string>(words), {}};
  }
  void CopyDrops(const std::filesystem::path& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(kData / "sample"))
      if (entry.path().filename().string().starts_with("drop_"))
        std::filesystem::copy_file(entry.path(), folder / entry.path().filename());
  }

 private:
  test::ScratchFolder scratch_{"first steps \xC3\xA4"};
};

TEST_F(FirstSteps, EveryKindOfFolderIsMadeOnceAndNeverWrittenOver) {
  for (const char* kind : {"poses", "poses-space", "points", "planar-camera", "stereo", "published",
                           "campaign", "bench", "simulate"}) {
    const std::string folder = Path(kind);
    const ProcessResult made = Run({"new", kind, folder});
    ASSERT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr("next: "));
    std::map<std::string, std::string> before;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.is_regular_file()) {
        WriteText(entry.path(), ReadText(entry.path()) + "# mine\n");
        before[entry.path()] = ReadText(entry.path());
      }
    ASSERT_FALSE(before.empty());
    const ProcessResult again = Run({"new", kind, folder});
    EXPECT_EQ(again.code, 2);
    EXPECT_THAT(again.err, HasSubstr("is not written over"));
    for (const auto& [file, text] : before) EXPECT_EQ(ReadText(file), text) << file;
  }
  const ProcessResult unknown = Run({"new", "pose", Path("x")});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("nearest is poses"));
  EXPECT_FALSE(std::filesystem::exists(Path("x")));
}

TEST_F(FirstSteps, RunTakesAFolderAsSoonAsTheRecordingsAreThere) {
  const std::string folder = Path("my drops");
  ASSERT_EQ(Run({"new", "poses", folder}).code, 0);
  const ProcessResult empty = Run({"check", folder});
  EXPECT_EQ(empty.code, 3);
  EXPECT_THAT(empty.out, HasSubstr("no recording yet"));
  EXPECT_THAT(empty.out, HasSubstr("-> put one file a drop in"));
  CopyDrops(std::filesystem::path(folder) / "recordings");
  const ProcessResult full = Run({"check", folder});
  EXPECT_EQ(full.code, 0) << full.out;
  EXPECT_THAT(full.out, HasSubstr("24 of 24 recordings can be read"));
  EXPECT_THAT(full.out, HasSubstr("nothing is missing"));
  const std::string experiment = folder + "/experiment.yaml", out = folder + "/out";
  const ProcessResult dry = Run({"run", experiment, "--out", out, "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("to do"));
  EXPECT_FALSE(std::filesystem::exists(out)) << "a dry run writes nothing";
  const ProcessResult run = Run({"run", experiment, "--out", out, "--bootstrap", "0", "--json"});
  ASSERT_EQ(run.code, 0) << run.err;
  const auto answer = nlohmann::json::parse(run.out);
  EXPECT_EQ(answer.at("schema"), "impactlab.answer/1");
  EXPECT_EQ(answer.at("recordings"), 24);
  EXPECT_GT(answer.at("accepted"), 10);
  EXPECT_NEAR(answer.at("coefficients").at("energetic").at("mu_k").at("value").get<double>(), 0.12,
              0.05);
  for (const auto& file : answer.at("files"))
    EXPECT_TRUE(std::filesystem::exists(std::filesystem::path(out) / file.get<std::string>()));
  const ProcessResult kept = Run({"run", experiment, "--out", out, "--dry-run"});
  EXPECT_THAT(kept.out, HasSubstr("kept by an earlier run"));
  // A file that breaks is named with its reason.
  WriteText(std::filesystem::path(folder) / "recordings/drop_0003.csv", "t_s,x_m\n1,2\n");
  const ProcessResult broken = Run({"run", experiment, "--out", out, "--dry-run"});
  EXPECT_EQ(broken.code, 3);
  EXPECT_THAT(broken.out, HasSubstr("drop_0003.csv: cannot be used"));
  EXPECT_THAT(broken.out, HasSubstr("changed"));
}

TEST_F(FirstSteps, OtherFoldersAreTakenByTheirVerbsToo) {
  ASSERT_EQ(Run({"new", "bench", Path("bench")}).code, 0);
  EXPECT_EQ(Run({"check", Path("bench")}).code, 0);
  EXPECT_EQ(
      Run({"coefficient", Path("bench/bench.yaml"), "--out", Path("bench/out"), "--quiet"}).code,
      0);
  ASSERT_EQ(Run({"new", "simulate", Path("sim")}).code, 0);
  EXPECT_EQ(Run({"check", Path("sim")}).code, 0);
  EXPECT_EQ(Run({"simulate", Path("sim/scenario.yaml"), "--out", Path("sim/out"), "--quiet"}).code,
            0);
  ASSERT_EQ(Run({"new", "published", Path("table")}).code, 0);
  EXPECT_EQ(Run({"check", Path("table")}).code, 0);
  const ProcessResult audit =
      Run({"literature", Path("table/published.yaml"), "--out", Path("table/out"), "--quiet"});
  EXPECT_EQ(audit.code, 0) << audit.err;
  ASSERT_EQ(Run({"new", "campaign", Path("c")}).code, 0);
  const ProcessResult members = Run({"check", Path("c")});
  EXPECT_EQ(members.code, 3);
  EXPECT_THAT(members.out, HasSubstr("member steel"));
  EXPECT_THAT(members.out, HasSubstr("impactlab new poses"));
}

TEST_F(FirstSteps, StereoFolderTakesTheVideosOfTheSample) {
  const std::filesystem::path folder = Path("two cameras");
  ASSERT_EQ(Run({"new", "stereo", folder}).code, 0);
  const ProcessResult empty = Run({"check", folder});
  EXPECT_EQ(empty.code, 3);
  EXPECT_THAT(empty.out, HasSubstr("put the videos of the drops there"));
  EXPECT_THAT(empty.out, HasSubstr("put the clips or pictures of the board there"));
  for (const char* name : {"left.mp4", "right.mp4"})
    std::filesystem::copy_file(kData / "sample/incline/calibration" / name,
                               folder / "calibration" / name);
  for (const auto& entry : std::filesystem::directory_iterator(kData / "sample/incline"))
    if (entry.path().extension() == ".mp4")
      std::filesystem::copy_file(entry.path(), folder / "drops" / entry.path().filename());
  const ProcessResult full = Run({"check", folder});
  EXPECT_EQ(full.code, 0) << full.out << full.err;
  EXPECT_THAT(full.out, HasSubstr("6 recordings of 2 cameras"));
  const ProcessResult dry = Run({"run", folder / "experiment.yaml", "--dry-run", "--json"});
  ASSERT_EQ(dry.code, 0) << dry.err;
  const auto plan = nlohmann::json::parse(dry.out);
  EXPECT_EQ(plan.at("files").size(), 1u + 1 + 2 + 1 + 12);
  EXPECT_EQ(plan.at("unusable"), 0);
}

// A table of motion capture with names of its own: the advice, written down, is enough.
TEST_F(FirstSteps, ForeignColumnsAreNamedAndMapped) {
  const std::filesystem::path folder = Path("foreign");
  ASSERT_EQ(Run({"new", "poses", folder}).code, 0);
  const std::string own = ReadText(kData / "sample/drop_0001.csv");
  std::string theirs = "Time (ms);Body X (mm);Body Y (mm);Rotation (deg);Speed (mm/s)\n";
  for (const std::string& line : Lines(own)) {
    double t, x, z, theta;
    if (std::sscanf(line.c_str(), "%lf,%lf,%lf,%lf", &t, &x, &z, &theta) != 4) continue;
    char text[200];
    std::snprintf(text, sizeof text, "%.6f;%.9g;%.9g;%.9g;1\n", 1e3 * t, 1e3 * x, 1e3 * z,
                  theta * 180 / 3.14159265358979);
    theirs += text;
  }
  WriteText(folder / "recordings/a.csv", theirs);
  const ProcessResult check = Run({"check", folder / "recordings/a.csv"});
  EXPECT_EQ(check.code, 0) << check.out;
  EXPECT_THAT(
      check.out,
      HasSubstr(
          "columns found: Time (ms), Body X (mm), Body Y (mm), Rotation (deg), Speed (mm/s)"));
  const std::string wanted =
      R"(columns: {t: "Time (ms) ms", theta: "Rotation (deg) deg", x: "Body X (mm) mm", z: "Body Y (mm) mm"})";
  EXPECT_THAT(check.out, HasSubstr(wanted));
  const ProcessResult before = Run({"check", folder});
  EXPECT_EQ(before.code, 3);
  EXPECT_THAT(before.out, HasSubstr(wanted));
  std::string experiment = ReadText(folder / "experiment.yaml");
  experiment.replace(experiment.find("  # columns:"), 0, "  " + wanted + "\n");
  WriteText(folder / "experiment.yaml", experiment);
  const ProcessResult after = Run({"check", folder});
  EXPECT_EQ(after.code, 0) << after.out;
  EXPECT_THAT(after.out, HasSubstr("1 of 1 recordings can be read"));
}

TEST_F(FirstSteps, HelpOfEveryVerbFitsATerminalAndShowsExamples) {
  const std::vector<std::string> verbs = Verbs();
  ASSERT_GE(verbs.size(), 24u);
  const auto narrow = [](const std::string& text, const std::string& of) {
    for (const std::string& line : Lines(text)) EXPECT_LE(Width(line), 80u) << of << ": " << line;
  };
  narrow(Run({"--help"}).out, "impactlab");
  for (const std::string& verb : verbs) {
    const ProcessResult help = Run({verb, "--help"});
    EXPECT_EQ(help.code, 0) << verb;
    narrow(help.out, verb);
    const auto at = help.out.find("Examples:\n");
    ASSERT_NE(at, std::string::npos) << verb;
    const std::vector<std::string> examples = Lines(help.out.substr(at));
    EXPECT_GE(examples.size(), 3u) << verb << ": two worked examples at least";
    for (std::size_t k = 1; k < examples.size(); ++k) {
      if (examples[k].empty()) continue;
      EXPECT_THAT(examples[k], HasSubstr("impactlab " + verb)) << verb;
    }
  }
}

TEST_F(FirstSteps, CompletionKnowsVerbsOptionsAndKinds) {
  WriteText(Path("completion.bash"), Run({"completion", "bash"}).out);
  const auto complete = [&](const std::string& words, int at) {
    const std::string command = "source " + test::ShellQuote(Path("completion.bash")) +
                                "; COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(at) +
                                "; _impactlab; echo \"${COMPREPLY[@]}\" > " +
                                test::ShellQuote(Path("said"));
    EXPECT_EQ(std::system(("bash -c " + test::ShellQuote(command)).c_str()), 0);
    return ReadText(Path("said"));
  };
  EXPECT_EQ(complete("impactlab ca", 1), "campaign calibrate\n");
  EXPECT_EQ(complete("impactlab run --dry", 2), "--dry-run\n");
  EXPECT_EQ(complete("impactlab new ster", 2), "stereo\n");
  EXPECT_EQ(complete("impactlab track --bootstrap", 2), "\n");
  EXPECT_THAT(Run({"completion", "zsh"}).out, HasSubstr("#compdef impactlab"));
  EXPECT_THAT(Run({"completion", "fish"}).out, HasSubstr("-a calibrate"));
  EXPECT_EQ(Run({"completion", "tcsh"}).code, 2);
}

// Many files with one fault are one thing to do, and the cure fits the fault.
TEST_F(FirstSteps, FaultsOfManyRecordingsAreOneLineWithItsCure) {
  const std::filesystem::path folder = Path("faults");
  ASSERT_EQ(Run({"new", "poses", folder}).code, 0);
  const std::string own = ReadText(kData / "sample/drop_0001.csv");
  WriteText(folder / "recordings/good.csv", own);
  for (const char* name : {"a.csv", "b.csv", "c.csv"}) WriteText(folder / "recordings" / name, "");
  std::string words = own;
  words.replace(words.find('\n') + 1, 1, "nan");
  WriteText(folder / "recordings/d.csv", words);
  WriteText(folder / "recordings/e.csv", own.substr(0, own.find('\n') + 1));
  const ProcessResult check = Run({"check", folder});
  EXPECT_EQ(check.code, 3);
  EXPECT_THAT(check.out, HasSubstr("so are 2 others"));
  EXPECT_THAT(check.out, HasSubstr("-> copy it again from where it was recorded"));
  EXPECT_THAT(check.out, HasSubstr("-> correct that row, or take it out whole"));
  EXPECT_THAT(check.out, HasSubstr("3 things are missing"));
  EXPECT_THAT(check.out, HasSubstr("1 of 6 recordings can be read"));
  EXPECT_THAT(check.out, Not(HasSubstr("columns: {")));  // they are right
}

// Cells that differ do not make another fault, and every table of a folder is looked at.
TEST_F(FirstSteps, FaultsThatDifferInTheirCellsAreOneLine) {
  const std::filesystem::path folder = Path("commas");
  ASSERT_EQ(Run({"new", "poses", folder}).code, 0);
  const std::string own = ReadText(kData / "sample/drop_0001.csv");
  WriteText(folder / "recordings/good.csv", own);
  for (const char* cell : {"x1", "x22", "y"}) {
    std::string words = own;
    words.replace(words.find('\n') + 1, 1, cell);
    WriteText(folder / "recordings" / (std::string(cell) + ".csv"), words);
  }
  const ProcessResult check = Run({"check", folder});
  EXPECT_THAT(check.out, HasSubstr("; 2 others are alike"));
  EXPECT_THAT(check.out, HasSubstr("1 thing is missing"));
  const ProcessResult tables = Run({"check", folder / "recordings"});
  EXPECT_THAT(tables.out, HasSubstr("poses in a plane"));
  EXPECT_THAT(tables.out, HasSubstr("; 2 other tables are alike"));
}

// Columns that are right are not offered again, and each fault has the cure that fits.
TEST_F(FirstSteps, TablesOfAFolderHaveTheCureThatFits) {
  const std::filesystem::path folder = Path("strangers");
  std::filesystem::create_directories(folder);
  const std::string own = ReadText(kData / "sample/drop_0001.csv");
  std::string commas = own, word = own;
  std::replace(commas.begin(), commas.end(), ',', ';');
  std::replace(commas.begin(), commas.end(), '.', ',');
  word.replace(word.find('\n') + 1, 1, "abc");
  WriteText(folder / "a.csv", commas);
  WriteText(folder / "b.csv", word);
  WriteText(folder / "c.csv", own.substr(0, own.find('\n') + 1));
  const ProcessResult check = Run({"check", folder});
  EXPECT_THAT(check.out, HasSubstr("-> write it again with decimal points"));
  EXPECT_THAT(check.out, HasSubstr("-> correct that row"));
  EXPECT_THAT(check.out, HasSubstr("-> copy it again from where it was recorded"));
  EXPECT_THAT(check.out, Not(HasSubstr("columns: {")));
  EXPECT_THAT(check.out, Not(HasSubstr("alike")));
  EXPECT_THAT(Run({"new", "poses", Path("a folder")}).out,
              HasSubstr("impactlab check '" + Path("a folder").string() + "'"));
}

// Verbs with the inputs they cannot do without.
TEST_F(FirstSteps, SlipsAreOneLineAndAnExitCode) {
  const std::map<std::string, std::vector<std::string>> first = {{"new", {"poses"}},
                                                                 {"board", {"--square-m", "0.02"}},
                                                                 {"completion", {"bash"}},
                                                                 {"predict", {}}};
  const std::set<std::string> without_file = {"board", "new", "completion"};
  const std::string absent = Path("not \xC3\xBC there.yaml");
  for (const std::string& verb : Verbs()) {
    const auto one_line = [&](const ProcessResult& result, const std::string& what) {
      EXPECT_EQ(Lines(result.err).size(), 1u) << verb << " " << what << ": " << result.err;
      EXPECT_THAT(result.err, ::testing::StartsWith("impactlab: ")) << verb;
    };
    const ProcessResult flag = Run({verb, absent, "--no-such-flag"});
    EXPECT_EQ(flag.code, 2) << verb;
    one_line(flag, "flag");
    if (without_file.contains(verb)) continue;
    std::vector<std::string> words = {verb, absent};
    if (verb == "identify" || verb == "validate") words.insert(words.end(), {"--events", absent});
    if (verb == "validate") words.insert(words.end(), {"--fit", absent});
    if (verb == "export") words.insert(words.end(), {"--out", Path("x.csv")});
    const ProcessResult gone = Run(words);
    EXPECT_THAT(gone.code, ::testing::AnyOf(2, 3)) << verb;
    // they say it on standard output, with everything else
    if (verb == "check" || verb == "doctor") continue;
    one_line(gone, "missing file");
    EXPECT_THAT(gone.err, HasSubstr("not \xC3\xBC there.yaml")) << verb;
  }
}

// A folder that cannot be made: a file stands in its way, which stops even the superuser.
TEST_F(FirstSteps, OutputThatCannotBeWrittenIsToldBeforeTheWork) {
  WriteText(Path("file"), "x");
  const std::string out = Path("file") / "out";
  const std::string data = kData;
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", data + "/sample/experiment.yaml", "--bootstrap", "0",
                                 "--no-report"},
        {"literature", data + "/published/004_sun.yaml"},
        {"coefficient", data + "/experiments/bench-tests.yaml"},
        {"simulate", data + "/scenarios/bouncing_ball.yaml"},
        {"synth", data + "/sample/scene.yaml"}}) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--out", out});
    const ProcessResult result = Run(all);
    EXPECT_EQ(result.code, 3) << words[0] << result.err;
    EXPECT_EQ(Lines(result.err).size(), 1u) << words[0] << result.err;
  }
  const ProcessResult fresh = Run({"new", "poses", out});
  EXPECT_EQ(fresh.code, 3) << fresh.err;
}

TEST_F(FirstSteps, NothingButTextGoesWhereNoTerminalIs) {
  const ProcessResult run = Run({"run", kData / "sample/experiment.yaml", "--out", Path("out"),
                                 "--bootstrap", "0", "--no-report"},
                                "</dev/null");
  ASSERT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out + run.err, Not(HasSubstr("\x1b")));
  EXPECT_THAT(run.err, IsEmpty());
}

}  // namespace
}  // namespace impactlab
