#pragma once
// Files a configuration names, and which of several cameras' files belong together.

#include <filesystem>
#include <string>
#include <vector>

namespace impactlab::pipelines {

// Files that a list of files, patterns and folders names, in natural order each. `where` begins the
// error of one that names nothing.
std::vector<std::filesystem::path> FindFiles(const std::vector<std::string>& patterns,
                                             const std::filesystem::path& base, bool videos,
                                             const std::string& where);

// By the extension of its name.
bool IsPicture(const std::filesystem::path& file);

// For every file name the part that changes within the list, digits without leading zeros: left01,
// left02 ... give 1, 2 ...
std::vector<std::string> NameKeys(const std::vector<std::filesystem::path>& files);

// Places in the lists of the cameras' files; -1 where a camera has none.
struct MatchedShot {
  std::string name;
  std::vector<int> file;
};
// By the part of the names that changes; in natural order. `where` begins errors, `unit` names a
// file in words, `cure` ends them. DataError when nothing matches or two files of a camera read the
// same.
std::vector<MatchedShot> MatchByName(const std::vector<std::string>& cameras,
                                     const std::vector<std::vector<std::filesystem::path>>& files,
                                     const std::string& where, const std::string& unit,
                                     const std::string& cure, std::vector<std::string>* notes);

}  // namespace impactlab::pipelines
