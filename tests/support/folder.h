#pragma once
// Where a test puts its files.

#include <unistd.h>

#include <filesystem>
#include <string>

namespace impactlab::test {

// A folder of its own for one test, with a space and letters beyond ASCII in its name.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int counter = 0;
    path_ =
        std::filesystem::temp_directory_path() /
        ("impactlab data \xC3\xA9-" + std::to_string(::getpid()) + "-" + std::to_string(counter++));
    std::filesystem::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace impactlab::test
