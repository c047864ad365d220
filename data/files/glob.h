#pragma once
// Patterns for sets of files.

#include <filesystem>
#include <string>
#include <vector>

namespace impactlab {

// Files that match `pattern`, in natural order (drop_2 before drop_10). A relative pattern starts
// from `base`, and so do the paths returned.
//
// `*` matches any run of characters inside one name, `?` one character (of UTF-8), `[a-z]` and
// `[!a-z]` one character of a set, `**` as a whole name any number of folders, none included. A
// leading dot must be matched by a dot. `**` does not follow links to folders. A pattern that is
// itself the name of a file means that file, whatever characters it has. Only files are returned,
// never folders. No match gives an empty vector: whether that is an error is for the caller.
// DataError when a folder that must be searched cannot be read.
std::vector<std::filesystem::path> ExpandGlob(const std::string& pattern,
                                              const std::filesystem::path& base = {});

// True when one name (no slash) matches one part of a pattern.
bool MatchesGlob(const std::string& pattern, const std::string& name);

}  // namespace impactlab
