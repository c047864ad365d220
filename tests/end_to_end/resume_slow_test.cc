// A run that is stopped, killed or out of disk goes on where it was, and ends in the bytes of one
// that nothing disturbed.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <string>
#include <thread>

#include "tests/support/process.h"

namespace impactlab {
namespace {

using test::ReadText;
using test::RunProgram;
using test::WriteText;
using ::testing::HasSubstr;

const std::filesystem::path kSample =
    std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data/sample/incline";

// Two drops of the sample, with the footage of the board.
void ResumeWriteInputs(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::filesystem::copy(kSample / "calibration", folder / "calibration",
                        std::filesystem::copy_options::recursive);
  for (const char* name : {"drop_0001_left.mp4", "drop_0001_right.mp4", "drop_0002_left.mp4",
                           "drop_0002_right.mp4", "experiment.yaml", "rig.yaml"})
    std::filesystem::copy_file(kSample / name, folder / name);
  WriteText(folder / "tracking.yaml",
            std::regex_replace(ReadText(kSample / "tracking.yaml"),
                               std::regex("  - \\{name: drop_000[3-6][^\n]*\n"), ""));
}

// Starts a run and sends it a signal after a while; the exit code, 128 + signal where it was
// killed.
int Interrupted(const std::filesystem::path& experiment, const std::filesystem::path& out,
                int signal, double after_s) {
  const std::string program = std::string(IMPACTLAB_BINARY_DIR) + "/impactlab";
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, 1);
    ::dup2(nowhere, 2);
    ::execl(program.c_str(), program.c_str(), "run", experiment.c_str(), "--out", out.c_str(),
            "--quiet", nullptr);
    ::_exit(127);
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(after_s));
  ::kill(child, signal);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Every file of a run folder, without what only says when and how long.
std::map<std::string, std::string> Contents(const std::filesystem::path& folder) {
  static const std::regex times(
      R"(("(fit_)?seconds[a-z_]*": *|"decoding[a-z_]*": *)[-+0-9.e]+|\n *(utc|command): [^\n]*)");
  std::map<std::string, std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string name = std::filesystem::relative(entry.path(), folder).string();
    if (!entry.is_regular_file() || name.starts_with(".stages")) continue;
    // Digests of files with their times; what it lists is tested by the runs that follow.
    if (name == "manifest.json") continue;
    std::string text = ReadText(entry.path());
    if (name.ends_with(".json") || name.ends_with(".yaml"))
      text = std::regex_replace(text, times, "$1");
    // cost_s, the last column
    if (name == "classical.csv") text = std::regex_replace(text, std::regex(",[^,\n]*(?=\n)"), "");
    // Pages carry times in words and in what they draw; the tables they are drawn from are compared
    // themselves.
    if (name.ends_with(".html")) text.clear();
    out[name] = text;
  }
  return out;
}

void ExpectSame(const std::filesystem::path& run, const std::filesystem::path& reference) {
  const auto found = Contents(run), wanted = Contents(reference);
  for (const auto& [name, text] : wanted) {
    ASSERT_TRUE(found.contains(name)) << name;
    EXPECT_TRUE(found.at(name) == text) << name << " differs";
  }
  for (const auto& [name, text] : found)
    EXPECT_TRUE(wanted.contains(name)) << name << " is left over";
}

TEST(Resume, EndsInTheSameBytesWhereverItWasInterrupted) {
  const test::ScratchFolder scratch("resume \xC3\xBC");
  const std::filesystem::path experiment = scratch.path() / "in/experiment.yaml",
                              out = scratch.path() / "run",
                              reference = scratch.path() / "reference";
  ResumeWriteInputs(scratch.path() / "in");
  const auto finish = [&] {
    const auto result = RunProgram({"run", experiment, "--out", out, "--quiet"}, scratch.path());
    ASSERT_EQ(result.code, 0) << result.err;
  };
  const auto start = std::chrono::steady_clock::now();
  finish();
  const double whole =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::filesystem::rename(out, reference);

  std::mt19937 random(20261129);
  std::uniform_real_distribution<double> when(0.02 * whole, 0.25 * whole);
  int stopped = 0;
  for (int k = 0; k < 20; ++k) {
    const int signal = k % 2 == 0 ? SIGINT : SIGKILL;
    const int code = Interrupted(experiment, out, signal, when(random));
    EXPECT_TRUE(code == 0 || code == (signal == SIGINT ? 130 : 128 + SIGKILL)) << code;
    stopped += code != 0;
    // Once it was through, from the start again.
    if (code != 0) continue;
    ExpectSame(out, reference);
    std::filesystem::remove_all(out);
  }
  EXPECT_GE(stopped, 12);
  finish();
  ExpectSame(out, reference);

  // A full disk: no file may grow beyond what the limit says, in blocks of a kilobyte.
  std::filesystem::remove_all(out);
  for (const char* limit : {"ulimit -f 20;", "ulimit -f 300;", "ulimit -f 900;"}) {
    const auto result =
        RunProgram({"run", experiment, "--out", out, "--quiet"}, scratch.path(), limit);
    EXPECT_EQ(result.code, 3) << limit << result.err;
    EXPECT_THAT(result.err, HasSubstr("File too large"));
  }
  finish();
  ExpectSame(out, reference);
}

TEST(Resume, DoesAgainOnlyWhatAChangeTouches) {
  const test::ScratchFolder scratch("reuse");
  const std::filesystem::path in = scratch.path() / "in", experiment = in / "experiment.yaml",
                              out = scratch.path() / "run";
  ResumeWriteInputs(in);
  using Counts = std::map<std::string, std::pair<int, int>>;  // reused, made
  const auto run = [&](std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"run", experiment, "--out", out, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const auto result = RunProgram(words, scratch.path());
    EXPECT_EQ(result.code, 0) << result.err;
    Counts counts;
    const auto answer = nlohmann::json::parse(result.out);
    for (const auto& [stage, count] : answer.at("stages").items())
      counts[stage] = {count.at("reused").get<int>(), count.at("made").get<int>()};
    return counts;
  };
  const auto all_reused = [](const Counts& counts, const std::string& stage) {
    return counts.contains(stage) && counts.at(stage).first > 0 && counts.at(stage).second == 0;
  };
  const auto all_made = [](const Counts& counts, const std::string& stage) {
    return counts.contains(stage) && counts.at(stage).first == 0 && counts.at(stage).second > 0;
  };
  const Counts first = run();
  for (const char* stage : {"footage", "solve", "tracks", "drops", "identify", "validation"})
    EXPECT_TRUE(all_made(first, stage)) << stage;
  for (const auto& [stage, count] : run()) EXPECT_EQ(count.second, 0) << stage << " was done again";

  // Other cross-validation: the cameras, tracks and fits stay.
  const std::string text = ReadText(experiment);
  WriteText(experiment, text + "validate: {folds: 2}\n");
  const Counts folds = run();
  for (const char* stage : {"footage", "solve", "tracks", "drops", "identify"})
    EXPECT_TRUE(all_reused(folds, stage)) << stage;
  EXPECT_TRUE(all_made(folds, "validation"));

  // Another video under the same name: its recording is followed again, the other one and the
  // cameras are not.
  std::filesystem::copy_file(kSample / "drop_0003_left.mp4", in / "drop_0002_left.mp4",
                             std::filesystem::copy_options::overwrite_existing);
  std::filesystem::copy_file(kSample / "drop_0003_right.mp4", in / "drop_0002_right.mp4",
                             std::filesystem::copy_options::overwrite_existing);
  const Counts video = run();
  EXPECT_TRUE(all_reused(video, "footage"));
  EXPECT_EQ(video.at("tracks"), std::pair(1, 1));
  EXPECT_TRUE(all_made(video, "identify"));

  const Counts forced = run({"--force"});
  for (const auto& [stage, count] : forced)
    EXPECT_EQ(count.first, 0) << stage << " was taken although forced";
}

}  // namespace
}  // namespace impactlab
