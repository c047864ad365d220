#pragma once
// Runs the built program the way a user does.

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace impactlab::test {

struct ProcessResult {
  int code = -1;
  std::string out, err;
};

inline std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void WriteText(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string ShellQuote(const std::string& word) {
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// `prefix` goes before the program, e.g. "ulimit -f 8;".
inline ProcessResult RunProgram(const std::vector<std::string>& arguments,
                                const std::filesystem::path& scratch,
                                const std::string& prefix = "") {
  const auto out = scratch / "stdout.txt", err = scratch / "stderr.txt";
  std::string command = prefix + " " + ShellQuote(std::string(IMPACTLAB_BINARY_DIR) + "/impactlab");
  for (const std::string& word : arguments) command += " " + ShellQuote(word);
  command = "{ " + command + "; } >" + ShellQuote(out) + " 2>" + ShellQuote(err);
  const int status = std::system(("bash -c " + ShellQuote(command)).c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ReadText(out),
          ReadText(err)};
}

// A fresh folder, with a space in its name on purpose, removed at the end.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name)
      : path_(std::filesystem::temp_directory_path() /
              ("impact lab " + name + " " + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace impactlab::test
