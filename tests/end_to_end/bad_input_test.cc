// Bad input through the built program: one clear line, the right exit code, no partial file, other
// recordings still processed.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "pipelines/run/recording_files.h"
#include "tests/support/process.h"

namespace impactlab::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::filesystem::path kSample = std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data/sample";

class BadInput : public ::testing::Test {
 protected:
  BadInput() : scratch_(::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::copy(kSample, folder(), std::filesystem::copy_options::recursive);
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
      if (entry.path().extension() == ".csv" &&
          entry.path().filename().string().starts_with("drop_"))
        drops_.push_back(entry.path());
    }
    std::sort(drops_.begin(), drops_.end());
  }
  std::filesystem::path folder() const { return scratch_.path() / "sample"; }
  std::filesystem::path out() const { return scratch_.path() / "run"; }
  std::filesystem::path experiment() const { return folder() / "experiment.yaml"; }

  ProcessResult Run(std::vector<std::string> more = {}, const std::string& prefix = "") const {
    std::vector<std::string> arguments = {"run", experiment(),  "--out",
                                          out(), "--no-report", "--quiet"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return RunProgram(arguments, scratch_.path(), prefix);
  }
  // Replaces the first occurrence in the experiment; the test fails when there is none.
  void Edit(const std::string& from, const std::string& to) const {
    std::string text = ReadText(experiment());
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    WriteText(experiment(), text.replace(at, from.size(), to));
  }
  static void ExpectOneLine(const ProcessResult& result, int code) {
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr("impactlab: "));
  }
  void ExpectNothingWritten() const { EXPECT_FALSE(std::filesystem::exists(out() / "events.csv")); }

  // The damaged recording becomes a row with a reason, all others are used as before.
  void ExpectRowWithReason(const std::string& detail) const {
    const ProcessResult result = Run();
    EXPECT_EQ(result.code, 0) << result.err;
    const std::string events = ReadText(out() / "events.csv");
    const std::string name = drops_[1].stem().string();
    bool found = false;
    int others = 0;
    std::size_t start = 0;
    for (std::size_t end = events.find('\n'); end != std::string::npos;
         start = end + 1, end = events.find('\n', start)) {
      const std::string line = events.substr(start, end - start);
      if (line.starts_with(name + ",")) {
        found = true;
        EXPECT_THAT(line, AllOf(HasSubstr("bad_recording"), HasSubstr(detail)));
      } else {
        ++others;
      }
    }
    EXPECT_TRUE(found) << events.substr(0, 400);
    EXPECT_GT(others, static_cast<int>(drops_.size()) - 1);
  }
  void Damage(const std::string& text) const { WriteText(drops_[1], text); }
  std::string Drop() const { return ReadText(drops_[1]); }
  // Line `index` (0 is the header) of the second drop, changed.
  template <typename Change>
  void DamageLine(int index, const Change& change) const {
    const std::string text = Drop();
    std::string damaged;
    std::size_t start = 0;
    for (int k = 0; start < text.size(); ++k) {
      std::size_t end = text.find('\n', start);
      if (end == std::string::npos) end = text.size();
      std::string line = text.substr(start, end - start);
      damaged += (k == index ? change(line) : line) + "\n";
      start = end + 1;
    }
    Damage(damaged);
  }

  ScratchFolder scratch_;
  std::vector<std::filesystem::path> drops_;
};

TEST_F(BadInput, MissingColumnIsARowWithReason) {
  DamageLine(0, [](const std::string&) { return std::string("t_s,x_m,zz_m,theta_rad"); });
  ExpectRowWithReason("zz_m");
}

TEST_F(BadInput, NaNRowIsARowWithReason) {
  DamageLine(
      7, [](const std::string& line) { return line.substr(0, line.find(',')) + ",nan,0.1,0.2"; });
  ExpectRowWithReason("nan");
}

TEST_F(BadInput, DuplicatedTimeStampIsARowWithReason) {
  DamageLine(7, [](const std::string& line) { return line + "\n" + line; });
  ExpectRowWithReason("t_s");
}

TEST_F(BadInput, UnsortedTimeStampIsARowWithReason) {
  DamageLine(7, [](const std::string& line) { return "0" + line.substr(line.find(',')); });
  ExpectRowWithReason("t_s");
}

TEST_F(BadInput, ZeroLengthFileIsARowWithReason) {
  Damage("");
  ExpectRowWithReason("empty");
}

TEST_F(BadInput, WrongUnitIsARowWithReason) {
  DamageLine(0, [](const std::string&) { return std::string("t_s,x_rad,z_m,theta_rad"); });
  ExpectRowWithReason("x_rad");
}

TEST_F(BadInput, BinaryGarbageIsARowWithReason) {
  Damage(std::string("\x7f\x45\x4c\x46\0\0\0\1garbage", 15));
  ExpectRowWithReason("");
}

TEST_F(BadInput, UnreadableFileIsARowWithReason) {
  // A folder in place of a file cannot be read by anyone, not even by root.
  std::filesystem::remove(drops_[1]);
  std::filesystem::create_symlink(drops_[1].filename(), drops_[1]);  // points at itself
  const ProcessResult result = Run();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_TRUE(std::filesystem::exists(out() / "events.csv"));
}

// None of them is waited for, or passed over.
TEST_F(BadInput, PipesAndLinksThatLeadNowhereAreRowsWithReasons) {
  std::filesystem::remove(drops_[1]);
  ASSERT_EQ(std::system(("mkfifo " + ShellQuote(drops_[1])).c_str()), 0);
  ExpectRowWithReason("found a pipe");
  std::filesystem::remove(drops_[1]);
  std::filesystem::create_symlink("nowhere.csv", drops_[1]);
  ExpectRowWithReason("No such file");
  const ProcessResult told =
      RunProgram({"run", experiment(), "--out", out(), "--no-report"}, scratch_.path());
  EXPECT_THAT(told.out, HasSubstr("\n            " + drops_[1].stem().string() + ": "));
}

// A second run into the folder of the recordings sees what the first one wrote.
TEST_F(BadInput, TablesOfAnEarlierRunAreNoRecordings) {
  Edit("drop_*.csv", "'*.csv'");
  std::filesystem::remove(folder() / "truth.csv");
  const auto run = [&] {
    return RunProgram({"run", experiment(), "--out", folder(), "--no-report", "--quiet"},
                      scratch_.path());
  };
  ASSERT_EQ(run().code, 0);
  const std::string first = ReadText(folder() / "events.csv");
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".csv" && !name.starts_with("drop_")) {
      EXPECT_TRUE(pipelines::IsRunTable(name)) << name;
    }
  }
  const ProcessResult again = run();
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.err, AllOf(HasSubstr("left out: "), HasSubstr("tables of an earlier run")));
  EXPECT_EQ(ReadText(folder() / "events.csv"), first);
}

TEST_F(BadInput, RecordingsAreNotWrittenOver) {
  std::filesystem::rename(drops_[1], folder() / "events.csv");
  Edit("drop_*.csv", "'*s.csv'");
  const std::string recording = ReadText(folder() / "events.csv");
  const ProcessResult result = RunProgram(
      {"run", experiment(), "--out", folder(), "--no-report", "--quiet"}, scratch_.path());
  ExpectOneLine(result, 2);
  EXPECT_THAT(result.err, HasSubstr("would write over its own recording"));
  EXPECT_EQ(ReadText(folder() / "events.csv"), recording);
}

TEST_F(BadInput, APatternWithoutQuotesIsExplained) {
  Edit("drop_*.csv", "*.csv");
  const ProcessResult result = Run();
  ExpectOneLine(result, 2);
  EXPECT_THAT(result.err, HasSubstr("stands in quotes"));
}

TEST_F(BadInput, AllRecordingsBadIsNothingUsable) {
  ASSERT_EQ(Run().code, 0);
  const std::string before = ReadText(out() / "events.csv");
  const std::string good = Drop();
  for (const auto& drop : drops_) WriteText(drop, "");
  const ProcessResult result = Run();
  ExpectOneLine(result, 3);
  EXPECT_THAT(result.err, HasSubstr("reasons of all in"));
  // The last good output stays; the reasons stand beside it, until a run can use something.
  EXPECT_EQ(ReadText(out() / "events.csv"), before);
  const std::string refused = ReadText(out() / "refused" / "events.csv");
  EXPECT_EQ(std::count(refused.begin(), refused.end(), '\n'),
            static_cast<std::ptrdiff_t>(drops_.size()) + 1);
  EXPECT_THAT(refused, AllOf(HasSubstr(drops_[1].stem().string()), HasSubstr("bad_recording"),
                             HasSubstr("empty")));
  Damage(good);
  EXPECT_EQ(Run().code, 0);
  EXPECT_FALSE(std::filesystem::exists(out() / "refused"));
}

TEST_F(BadInput, UnknownKeyNamesTheNearest) {
  Edit("name:", "nmae:");
  const ProcessResult result = Run();
  ExpectOneLine(result, 2);
  EXPECT_THAT(result.err,
              AllOf(HasSubstr("nmae"), HasSubstr("name"), HasSubstr("experiment.yaml:")));
  ExpectNothingWritten();
}

TEST_F(BadInput, NegativeMass) {
  Edit("mass_kg: ", "mass_kg: -");
  const ProcessResult result = Run();
  ExpectOneLine(result, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("mass_kg"), HasSubstr("-")));
  ExpectNothingWritten();
}

TEST_F(BadInput, WrongUnitInAKey) {
  Edit("sides_m:", "sides_mm:");
  const ProcessResult result = Run();
  ExpectOneLine(result, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("sides_mm"), HasSubstr("sides_m")));
}

TEST_F(BadInput, InertiaThatNoBodyCanHave) {
  Edit("mass_kg:", "inertia_kg_m2: -1.0e-5\n  mass_kg:");
  ExpectOneLine(Run(), 2);
  ExpectNothingWritten();
}

TEST_F(BadInput, EmptyGlob) {
  const ProcessResult result = Run({"--recordings", (folder() / "no_such_*.csv").string()});
  ExpectOneLine(result, 3);
  EXPECT_THAT(result.err, HasSubstr("no_such_*.csv"));
  ExpectNothingWritten();
}

TEST_F(BadInput, MissingExperiment) {
  const ProcessResult result =
      RunProgram({"run", (folder() / "absent.yaml").string(), "--out", out()}, scratch_.path());
  EXPECT_THAT(result.code, ::testing::AnyOf(2, 3));
  EXPECT_THAT(result.err, HasSubstr("absent.yaml"));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST_F(BadInput, UnknownVerbAndFlag) {
  ExpectOneLine(RunProgram({"ruin"}, scratch_.path()), 2);
  ExpectOneLine(Run({"--bootstarp", "3"}), 2);
}

TEST_F(BadInput, OutputThatCannotBeAFolder) {
  WriteText(out(), "a file stands here");
  ExpectOneLine(Run(), 3);
  EXPECT_EQ(ReadText(out()), "a file stands here");
}

TEST_F(BadInput, FullDiskKeepsTheLastGoodOutput) {
  ASSERT_EQ(Run().code, 0);
  const std::string before = ReadText(out() / "events.csv");
  ASSERT_GT(before.size(), 4096u);
  // No file may grow past 4 kB: the same as a disk that fills while events.csv is written.
  const ProcessResult result = Run({}, "ulimit -f 4;");
  ExpectOneLine(result, 3);
  EXPECT_EQ(ReadText(out() / "events.csv"), before);
  for (const auto& entry : std::filesystem::directory_iterator(out())) {
    EXPECT_THAT(entry.path().filename().string(), ::testing::Not(HasSubstr("tmp"))) << entry.path();
  }
}

TEST_F(BadInput, RequirementNotMetExitsWithOne) {
  const ProcessResult result = Run({"--require", "accepted>=100000"});
  ExpectOneLine(result, 1);
  EXPECT_THAT(result.err, HasSubstr("accepted"));
  EXPECT_TRUE(std::filesystem::exists(out() / "fit.json"));
  // Found before anything is computed, with the name that was meant.
  const ProcessResult misspelt = Run({"--require", "acepted>=1"});
  ExpectOneLine(misspelt, 2);
  EXPECT_NE(misspelt.err.find("nearest is accepted"), std::string::npos) << misspelt.err;
  ExpectOneLine(Run({"--require", "accepted=>1"}), 2);
}

TEST_F(BadInput, SceneWithImpossibleCoefficients) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"mu_k: ", "mu_k: -"}, {"e_star: ", "e_star: 1"}}) {
    std::string text = ReadText(kSample / "scene.yaml");
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    WriteText(scratch_.path() / "scene.yaml", text);
    const ProcessResult result = RunProgram(
        {"synth", (scratch_.path() / "scene.yaml").string(), "--out", out()}, scratch_.path());
    ExpectOneLine(result, 2);
    EXPECT_THAT(result.err, HasSubstr(from.substr(0, from.find(':'))));
    ExpectNothingWritten();
  }
}

TEST_F(BadInput, SolveKeepsBadRowsInPlace) {
  WriteText(
      scratch_.path() / "cases.json",
      R"([{"A_F": [[4,0,1.5],[0,1,0],[1.5,0,4]], "v_minus_F": [0.6,0,-1], "law": "energetic", "e": 0.5, "mu_k": -0.3},
                {"A_F": [[4,0,1.5],[0,1,0],[1.5,0,4]], "v_minus_F": [0.6,0,-1], "law": "energetic", "e": 1.5, "mu_k": 0.3},
                {"A_F": [[4,0,1.5],[0,1,0],[1.5,0,4]], "v_minus_F": [0.6,0,-1], "law": "energetic", "e": 0.5, "mu_k": 0.3}])");
  const auto outcomes = scratch_.path() / "outcomes.json";
  const ProcessResult result =
      RunProgram({"solve", (scratch_.path() / "cases.json").string(), "--out", outcomes.string()},
                 scratch_.path());
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string text = ReadText(outcomes);
  std::size_t invalid = 0;
  for (std::size_t at = text.find("\"invalid\""); at != std::string::npos;
       at = text.find("\"invalid\"", at + 1))
    ++invalid;
  EXPECT_EQ(invalid, 2u) << text;
  EXPECT_THAT(text, AllOf(HasSubstr("mu_k"), HasSubstr("\"ok\"")));
}

}  // namespace
}  // namespace impactlab::test
