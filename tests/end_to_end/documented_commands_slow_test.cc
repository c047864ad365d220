// Every command that the pages show is started with real inputs: none may be refused, and what
// ends in its time must end well.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/process.h"

namespace impactlab {
namespace {

using test::ReadText;
using test::ShellQuote;
using test::WriteText;

const std::filesystem::path kRoot = IMPACTLAB_SOURCE_DIR;

struct Command {
  std::string where, text;
};

// Lines of code blocks that begin with the program, without the words behind a #.
std::vector<Command> Documented() {
  std::vector<Command> commands;
  for (const char* name : {"README.md", "data/README.md", "pipelines/README.md"}) {
    std::ifstream in(kRoot / name);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      std::smatch found;
      if (!std::regex_match(line, found,
                            std::regex(R"( {4}(?:build/release/)?(impactlab [^#]*?) *(#.*)?)")))
        continue;
      // An installed package holds the data of the tree.
      const std::string text =
          std::regex_replace(found[1].str(), std::regex("/usr/share/impactlab/data"), "data");
      commands.push_back({std::string(name) + ":" + std::to_string(number), text});
    }
  }
  return commands;
}

// What cannot be started here, and why.
std::string Skipped(const std::string& command) {
  if (command.find(" | ") != std::string::npos) return "names several verbs";
  if (command.find("'DIR/") != std::string::npos)
    return "recordings of other people, which are not part of the project";
  return "";
}

void CopyInto(const std::filesystem::path& from, const std::filesystem::path& to,
              const std::string& begin, const std::string& extension) {
  std::filesystem::create_directories(to);
  for (const auto& entry : std::filesystem::directory_iterator(from))
    if (entry.path().filename().string().starts_with(begin) &&
        entry.path().extension() == extension)
      std::filesystem::copy_file(entry.path(), to / entry.path().filename());
}

// The names that the pages use, each with something real behind it.
void WriteInputs(const std::filesystem::path& folder) {
  const std::filesystem::path sample = kRoot / "data/sample", incline = sample / "incline";
  std::filesystem::create_directory_symlink(kRoot / "data", folder / "data");
  CopyInto(sample, folder, "drop_", ".csv");
  std::filesystem::copy_file(sample / "experiment.yaml", folder / "experiment.yaml");
  std::filesystem::copy_file(sample / "scene.yaml", folder / "scene.yaml");
  CopyInto(sample, folder / "drops/recordings", "drop_", ".csv");
  CopyInto(incline, folder / "drops", "drop_0001", ".mp4");
  CopyInto(incline, folder, "drop_", ".mp4");
  CopyInto(incline / "calibration", folder, "", ".mp4");
  std::filesystem::copy_file(incline / "calibration/calibration.yaml", folder / "rig.yaml");
  std::filesystem::create_directories(folder / "cameras");
  std::filesystem::copy_file(incline / "rig.yaml", folder / "cameras/rig.yaml");
  WriteText(folder / "tracking.yaml",
            std::regex_replace(ReadText(incline / "tracking.yaml"), std::regex("rig: rig.yaml"),
                               "rig: cameras/rig.yaml"));
  WriteText(
      folder / "campaign.yaml",
      "schema: impactlab.campaign/1\nmembers:\n  - {name: one, experiment: experiment.yaml}\n");
  WriteText(
      folder / "cases.json",
      R"([{"A_F": [[3, 0, -1], [0, 4, 0], [-1, 0, 2]], "v_minus_F": [0.5, 0, -1], "law": "energetic", "e": 0.5, "mu_k": 0.2}])");
}

TEST(DocumentedCommands, AreTakenByTheProgram) {
  const test::ScratchFolder scratch("documents");
  WriteInputs(scratch.path());
  // What the pages do with a finished run.
  const auto finished = test::RunProgram(
      {"run", scratch.path() / "experiment.yaml", "--out", scratch.path() / "out/today", "--quiet"},
      scratch.path());
  ASSERT_EQ(finished.code, 0) << finished.err;
  const std::vector<Command> commands = Documented();
  ASSERT_GE(commands.size(), 30u);
  // Long work is stopped once it is under way: that it ends well is for other tests.
  const std::set<std::string> long_work = {"run",  "campaign",  "map",  "diagram",
                                           "plan", "calibrate", "track"};
  int started = 0;
  std::set<std::string> done;
  for (const Command& command : commands) {
    if (!Skipped(command.text).empty() || !done.insert(command.text).second) continue;
    const std::string verb = command.text.substr(10, command.text.find(' ', 10) - 10);
    const std::string limit = long_work.contains(verb) ? "4" : "60";
    const std::filesystem::path said = scratch.path() / "said.txt";
    const std::string line = "cd " + ShellQuote(scratch.path()) + " && timeout -s INT " + limit +
                             " " + ShellQuote(std::string(IMPACTLAB_BINARY_DIR) + "/impactlab") +
                             command.text.substr(9) + " >" + ShellQuote(said) + " 2>&1";
    const int status = std::system(("bash -c " + ShellQuote(line)).c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    constexpr int kStopped = 124;
    EXPECT_TRUE(code == 0 || (code == kStopped && long_work.contains(verb)))
        << command.where << ": " << command.text << " ended with " << code << ": "
        << ReadText(said);
    ++started;
  }
  EXPECT_GE(started, 25);
}

// ---- Tutorials: blocks "sh" of commands are run one after the other in one folder, and what a
// block "text" shows is what the block before it printed. "..." stands for anything; numbers agree
// as far as processors do.

struct Step {
  int line = 0;  // of the document
  std::string commands, shown;
};

std::vector<Step> StepsOf(const std::filesystem::path& document) {
  std::vector<Step> steps;
  std::ifstream in(document);
  std::string fence, block;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.starts_with("```")) {
      if (!fence.empty()) block += line + "\n";
      continue;
    }
    if (fence == "sh") steps.push_back({number, block, ""});
    if (fence == "text" && !steps.empty()) steps.back().shown += block;
    fence = fence.empty() ? line.substr(3) : "";
    block.clear();
  }
  return steps;
}

std::vector<std::string> Split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);)
    if (by == '\n' || !part.empty()) parts.push_back(part);
  return parts;
}

// "0.2499" and "[0.2491," and "0.25;" are numbers with something about them: that must be the same,
// the number nearly so.
bool SameWord(const std::string& shown, const std::string& printed) {
  static const std::regex number(
      R"(^([^-+0-9.]*)([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?)(.*)$)");
  if (shown == printed) return true;
  std::smatch a, b;
  if (!std::regex_match(shown, a, number) || !std::regex_match(printed, b, number) ||
      a[1] != b[1] || a[3] != b[3])
    return false;
  // A count is exact; what was measured or fitted agrees to a few units of the last digits.
  const std::string text = a[2];
  if (text.find('.') == std::string::npos && text.find('e') == std::string::npos) return false;
  const double x = std::stod(a[2]), y = std::stod(b[2]);
  return std::abs(x - y) <= 0.02 * std::max(std::abs(x), std::abs(y)) + 3e-4;
}

bool SameWords(const std::vector<std::string>& shown, std::size_t i,
               const std::vector<std::string>& printed, std::size_t k) {
  for (; i < shown.size(); ++i, ++k) {
    if (shown[i].ends_with("...") && i + 1 == shown.size()) {
      const std::string begin = shown[i].substr(0, shown[i].size() - 3);
      return begin.empty() || (k < printed.size() && printed[k].starts_with(begin));
    }
    if (shown[i] == "...") {
      for (; k < printed.size(); ++k)
        if (SameWords(shown, i + 1, printed, k)) return true;
      return false;
    }
    if (k >= printed.size() || !SameWord(shown[i], printed[k])) return false;
  }
  return k == printed.size();
}

// The first line of `shown` that was not printed; a line "..." stands for any number of lines, else
// they follow each other.
std::string NotPrinted(const std::string& shown, const std::string& printed) {
  std::vector<std::vector<std::string>> words;
  for (const std::string& line : Split(printed, '\n')) words.push_back(Split(line, ' '));
  std::size_t next = 0;
  bool gap = true;  // a block may begin anywhere
  for (const std::string& line : Split(shown, '\n')) {
    if (line == "...") {
      gap = true;
      continue;
    }
    const std::vector<std::string> wanted = Split(line, ' ');
    while (gap && next < words.size() && !SameWords(wanted, 0, words[next], 0)) ++next;
    if (next >= words.size() || !SameWords(wanted, 0, words[next], 0)) return line;
    ++next;
    gap = false;
  }
  return "";
}

// Runs all steps of a document in `folder`, which stands for the folder of the project.
void Follow(const std::filesystem::path& document, const std::filesystem::path& folder) {
  std::filesystem::create_directory_symlink(kRoot / "data", folder / "data");
  const std::vector<Step> steps = StepsOf(document);
  ASSERT_GE(steps.size(), 5u);
  for (const Step& step : steps) {
    const std::filesystem::path said = folder / ".said.txt", script = folder / ".step.sh";
    WriteText(script, "set -e\nexport PATH=" + ShellQuote(IMPACTLAB_BINARY_DIR) + ":\"$PATH\"\n" +
                          step.commands);
    const std::string line =
        "cd " + ShellQuote(folder) + " && bash .step.sh >" + ShellQuote(said) + " 2>&1";
    const int status = std::system(("bash -c " + ShellQuote(line)).c_str());
    ASSERT_EQ(status, 0) << document.filename() << ":" << step.line << ": " << step.commands
                         << ReadText(said);
    EXPECT_EQ(NotPrinted(step.shown, ReadText(said)), "")
        << document.filename() << ":" << step.line << ": is shown, and this was printed:\n"
        << ReadText(said);
  }
  // Pages and pictures that the text names are there.
  const std::string text = ReadText(document);
  const std::regex link(R"(\]\(([^)#:]+)\))");
  for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it)
    EXPECT_TRUE(std::filesystem::exists(document.parent_path() / (*it)[1].str()))
        << document.filename() << " links to " << (*it)[1];
}

TEST(DocumentedCommands, TutorialOfTwoPhonesPrintsWhatItShows) {
  const test::ScratchFolder scratch("phones");
  Follow(kRoot / "pipelines/tutorials/two_phones.md", scratch.path());
}

TEST(DocumentedCommands, TutorialOfPosesPrintsWhatItShows) {
  const test::ScratchFolder scratch("poses");
  Follow(kRoot / "pipelines/tutorials/pose_data.md", scratch.path());
}

TEST(DocumentedCommands, TutorialOfSimulationPrintsWhatItShows) {
  const test::ScratchFolder scratch("simulation");
  Follow(kRoot / "pipelines/tutorials/simulation_and_maps.md", scratch.path());
}

// The first screen of the README is the whole of what the demo prints.
TEST(DocumentedCommands, ReadmeShowsTheScreenOfTheDemo) {
  const test::ScratchFolder scratch("demo");
  const auto run =
      test::RunProgram({"run", kRoot / "data/sample/incline/experiment.yaml", "--out", "out/demo"},
                       scratch.path(), "cd " + ShellQuote(scratch.path()) + " &&");
  ASSERT_EQ(run.code, 0) << run.err;
  const std::string readme = ReadText(kRoot / "README.md");
  const std::size_t begin = readme.find("    rod on an incline: 6 recordings\n");
  ASSERT_NE(begin, std::string::npos);
  std::string shown;
  std::size_t lines = 0;
  for (const std::string& line : Split(readme.substr(begin), '\n')) {
    if (!line.empty() && !line.starts_with("    ")) break;
    shown += line.substr(std::min<std::size_t>(4, line.size())) + "\n";
    lines += !line.empty();
  }
  const std::regex seconds(R"(\n[0-9.]+ s from)");
  EXPECT_EQ(NotPrinted(std::regex_replace(shown, seconds, "\ns from"),
                       std::regex_replace(run.out, seconds, "\ns from")),
            "")
      << run.out;
  std::size_t printed = 0;
  for (const std::string& line : Split(run.out, '\n')) printed += !line.empty();
  EXPECT_EQ(lines, printed) << "lines are left out";
}

TEST(DocumentedCommands, ComparisonOfScreensTellsThem) {
  EXPECT_EQ(NotPrinted("a 0.2499 ...\n...\nend\n", "first\na 0.2501 x y\nb\nend\n"), "");
  EXPECT_EQ(NotPrinted("a 0.2499\nend\n", "a 0.2501\nb\nend\n"), "end");
  EXPECT_EQ(NotPrinted("a 0.24\n", "a 0.26\n"), "a 0.24");
  EXPECT_EQ(NotPrinted("6 recordings\n", "5 recordings\n"), "6 recordings");
  EXPECT_EQ(NotPrinted("a ... c\n", "a b b c\n"), "");
  EXPECT_EQ(NotPrinted("a ... c\n", "a b b\n"), "a ... c");
}

}  // namespace
}  // namespace impactlab
