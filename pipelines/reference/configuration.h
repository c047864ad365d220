#pragma once
// A configuration as it was used, key by key: the value, where it came from and what the key means,
// so that a report can be followed and repeated without the files it was made from.

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace impactlab {

enum class KeySource {
  kFile,      // stands in the file
  kOverride,  // differs from what the file says now: the command line, or the program that called
  kDerived,   // worked out from other keys of the file, such as sides_m from side_m
  kDefault,   // the file leaves it out
  kLeftOut,   // nothing was given and nothing stands for it, or what does depends on the recordings
  kUnknown    // the file cannot be read any more
};

struct UsedKey {
  std::string key;  // full name, [] for every entry of a list
  std::vector<std::string> values;
  KeySource source = KeySource::kUnknown;
  // of the reference of all keys; empty where it does not hold the key
  std::string meaning, unit, otherwise;
};

struct Configuration {
  std::string kind;            // of the file, as in the reference: "experiment"
  std::filesystem::path file;  //
  std::string sha256;          // of the file as it is now; empty where it cannot be read
  std::string yaml;            // what was used, every default written out
  std::vector<UsedKey> keys;   // none where that text is no YAML, as of paths that are no UTF-8
};

// `used` is the YAML of what was used. `read` reads the file again by its reader and gives the same
// YAML of it: what the reader asks for tells defaults from what stands in the file. A file that can
// no longer be read leaves every source unknown.
Configuration DescribeConfiguration(const std::string& kind, const std::string& used,
                                    const std::filesystem::path& file,
                                    const std::function<std::string()>& read);

}  // namespace impactlab
