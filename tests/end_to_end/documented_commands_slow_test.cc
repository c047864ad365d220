// Every command that the documents show is started with real inputs: none may be refused, and what ends in its time must end well.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
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
      if (!std::regex_match(line, found, std::regex(R"( {4}(?:build/release/)?(impactlab [^#]*?) *(#.*)?)"))) continue;
      commands.push_back({std::string(name) + ":" + std::to_string(number), found[1]});
    }
  }
  return commands;
}

// What cannot be started here, and why.
std::string Skipped(const std::string& command) {
  if (command.find(" | ") != std::string::npos) return "names several verbs";
  if (command.find("'DIR/") != std::string::npos) return "recordings of other people, which are not part of the project";
  return "";
}

void CopyInto(const std::filesystem::path& from, const std::filesystem::path& to, const std::string& begin, const std::string& extension) {
  std::filesystem::create_directories(to);
  for (const auto& entry : std::filesystem::directory_iterator(from))
    if (entry.path().filename().string().starts_with(begin) && entry.path().extension() == extension)
      std::filesystem::copy_file(entry.path(), to / entry.path().filename());
}

// The names that the documents use, each with something real behind it.
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
            std::regex_replace(ReadText(incline / "tracking.yaml"), std::regex("rig: rig.yaml"), "rig: cameras/rig.yaml"));
  WriteText(folder / "campaign.yaml", "schema: impactlab.campaign/1\nmembers:\n  - {name: one, experiment: experiment.yaml}\n");
  WriteText(folder / "cases.json",
            R"([{"A_F": [[3, 0, -1], [0, 4, 0], [-1, 0, 2]], "v_minus_F": [0.5, 0, -1], "law": "energetic", "e": 0.5, "mu_k": 0.2}])");
}

TEST(DocumentedCommands, AreTakenByTheProgram) {
  const test::ScratchFolder scratch("documents");
  WriteInputs(scratch.path());
  // What the documents do with a finished run.
  const auto finished =
      test::RunProgram({"run", scratch.path() / "experiment.yaml", "--out", scratch.path() / "out/today", "--quiet"}, scratch.path());
  ASSERT_EQ(finished.code, 0) << finished.err;
  const std::vector<Command> commands = Documented();
  ASSERT_GE(commands.size(), 30u);
  // Long work is stopped once it is under way: that it ends well is for other tests.
  const std::set<std::string> long_work = {"run", "campaign", "map", "diagram", "plan", "calibrate", "track"};
  int started = 0;
  std::set<std::string> done;
  for (const Command& command : commands) {
    if (!Skipped(command.text).empty() || !done.insert(command.text).second) continue;
    const std::string verb = command.text.substr(10, command.text.find(' ', 10) - 10);
    const std::string limit = long_work.contains(verb) ? "4" : "60";
    const std::filesystem::path said = scratch.path() / "said.txt";
    const std::string line = "cd " + ShellQuote(scratch.path()) + " && timeout -s INT " + limit + " " +
                             ShellQuote(std::string(IMPACTLAB_BINARY_DIR) + "/impactlab") + command.text.substr(9) + " >" +
                             ShellQuote(said) + " 2>&1";
    const int status = std::system(("bash -c " + ShellQuote(line)).c_str());
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    constexpr int kStopped = 124;
    EXPECT_TRUE(code == 0 || (code == kStopped && long_work.contains(verb)))
        << command.where << ": " << command.text << " ended with " << code << ": " << ReadText(said);
    ++started;
  }
  EXPECT_GE(started, 25);
}

}  // namespace
}  // namespace impactlab
