#include "data/files/glob.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "data/base/error.h"
#include "data/files/text.h"

namespace impactlab {
namespace fs = std::filesystem;
namespace {

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Next character of UTF-8; a broken byte counts as one.
std::string_view NextCharacter(std::string_view text) {
  std::size_t length = 1;
  while (length < text.size() && length < 4 && IsContinuation(text[length]) &&
         !IsContinuation(text[0]))
    ++length;
  return text.substr(0, length);
}

// Whether `character` is in the set that `pattern` starts with; code points are ordered like their
// bytes in UTF-8. Sets `length` to the length of the set, npos when the bracket never closes and
// stands for itself.
bool MatchesSet(std::string_view pattern, std::string_view character, std::size_t& length) {
  std::size_t i = 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool inside = false, first = true;
  while (i < pattern.size() && (first || pattern[i] != ']')) {
    first = false;
    const std::string_view lo = NextCharacter(pattern.substr(i));
    i += lo.size();
    std::string_view hi = lo;
    if (i + 1 < pattern.size() && pattern[i] == '-' && pattern[i + 1] != ']') {
      hi = NextCharacter(pattern.substr(i + 1));
      i += 1 + hi.size();
    }
    inside = inside || (lo <= character && character <= hi);
  }
  length = i < pattern.size() ? i + 1 : std::string_view::npos;
  return inside != negated;
}

// Backtracks to the last star only, which is enough for globs and never exponential.
bool MatchPattern(std::string_view pattern, std::string_view name) {
  std::string_view star_pattern, star_name;
  bool have_star = false;
  while (true) {
    if (!pattern.empty() && pattern[0] == '*') {
      pattern.remove_prefix(1);
      have_star = true;
      star_pattern = pattern;
      star_name = name;
      continue;
    }
    if (pattern.empty() && name.empty()) return true;
    if (!pattern.empty() && !name.empty()) {
      const std::string_view character = NextCharacter(name);
      std::size_t length = std::string_view::npos;
      const bool in_set = pattern[0] == '[' && MatchesSet(pattern, character, length);
      if (length != std::string_view::npos ? in_set : pattern[0] == '?') {
        pattern.remove_prefix(length != std::string_view::npos ? length : 1);
        name.remove_prefix(character.size());
        continue;
      }
      if (length == std::string_view::npos && pattern[0] == name[0]) {
        pattern.remove_prefix(1);
        name.remove_prefix(1);
        continue;
      }
    }
    if (!have_star || star_name.empty()) return false;
    star_name.remove_prefix(NextCharacter(star_name).size());
    pattern = star_pattern;
    name = star_name;
  }
}

class Search {
 public:
  explicit Search(std::vector<std::string> parts) : parts_(std::move(parts)) {}

  // Adds the files below `folder` that match the parts from `part` on.
  void Run(const fs::path& folder, std::size_t part) {
    const std::string& pattern = parts_[part];
    const bool last = part + 1 == parts_.size();
    if (pattern == "**") {
      // Alone at the end it means every file below.
      if (last) {
        for (const fs::directory_entry& entry : List(folder)) {
          if (!Hidden(entry) && IsFile(entry)) found.push_back(entry.path());
        }
      } else {
        Run(folder, part + 1);
      }
      for (const fs::directory_entry& entry : List(folder)) {
        std::error_code error;
        if (!Hidden(entry) && !entry.is_symlink(error) && entry.is_directory(error))
          Run(entry.path(), part);
      }
      return;
    }
    if (pattern.find_first_of("*?[") == std::string::npos) {
      const fs::path next = folder / pattern;
      std::error_code error;
      if (last ? fs::exists(next, error) && !fs::is_directory(next, error)
               : fs::is_directory(next, error)) {
        if (last) {
          found.push_back(next);
        } else {
          Run(next, part + 1);
        }
      }
      return;
    }
    for (const fs::directory_entry& entry : List(folder)) {
      if (!MatchesGlob(pattern, entry.path().filename().string())) continue;
      std::error_code error;
      if (last && IsFile(entry)) found.push_back(entry.path());
      if (!last && entry.is_directory(error)) Run(entry.path(), part + 1);
    }
  }

  std::vector<fs::path> found;

 private:
  static bool Hidden(const fs::directory_entry& entry) {
    return entry.path().filename().string().front() == '.';
  }

  static bool IsFile(const fs::directory_entry& entry) {
    std::error_code error;
    // A link that leads nowhere is for the reader to refuse, not to be passed over.
    return (entry.exists(error) || entry.is_symlink(error)) && !entry.is_directory(error);
  }

  static std::vector<fs::directory_entry> List(const fs::path& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) return {};
    std::vector<fs::directory_entry> entries;
    fs::directory_iterator place(folder, error);
    for (; !error && place != fs::directory_iterator(); place.increment(error))
      entries.push_back(*place);
    if (error)
      throw DataError(fmt::format("{}: cannot be searched: {}", folder.string(), error.message()));
    return entries;
  }

  std::vector<std::string> parts_;
};

}  // namespace

bool MatchesGlob(const std::string& pattern, const std::string& name) {
  if (!name.empty() && name[0] == '.' && (pattern.empty() || pattern[0] != '.')) return false;
  return MatchPattern(pattern, name);
}

std::vector<fs::path> ExpandGlob(const std::string& pattern, const fs::path& base) {
  if (pattern.empty()) return {};
  const fs::path whole =
      fs::path(pattern).is_absolute() || base.empty() ? fs::path(pattern) : base / pattern;
  std::error_code error;
  if (fs::exists(whole, error) && !fs::is_directory(whole, error))
    return {whole.lexically_normal()};

  const fs::path given(pattern);
  std::vector<std::string> parts;
  for (const fs::path& part : given.relative_path()) {
    const std::string name = part.string();
    if (name == ".") continue;
    // a second one adds nothing but time
    if (name == "**" && !parts.empty() && parts.back() == "**") continue;
    parts.push_back(name);
  }
  if (parts.empty() || parts.back().empty()) return {};
  fs::path start = given.is_absolute() ? given.root_path() : base;
  if (start.empty()) start = ".";
  Search search(std::move(parts));
  search.Run(start, 0);

  std::vector<std::pair<std::string, fs::path>> named;
  for (const fs::path& path : search.found) {
    const fs::path normal = path.lexically_normal();
    named.emplace_back(normal.string(), normal);
  }
  std::sort(named.begin(), named.end(),
            [](const auto& a, const auto& b) { return NaturalLess(a.first, b.first); });
  // Patterns with two ** reach a file by several ways.
  named.erase(std::unique(named.begin(), named.end(),
                          [](const auto& a, const auto& b) { return a.first == b.first; }),
              named.end());
  std::vector<fs::path> paths;
  paths.reserve(named.size());
  for (auto& entry : named) paths.push_back(std::move(entry.second));
  return paths;
}

}  // namespace impactlab
