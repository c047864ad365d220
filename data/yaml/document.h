#pragma once
// A YAML document as written: parsed, limited and free of everything a configuration must not have.
// Configurations (data/yaml/yaml.h) and the calibration files of OpenCV are read from it.

#include <string>
#include <string_view>
#include <vector>

#include "data/base/error.h"

namespace impactlab::data {

enum class Kind { kNull, kScalar, kList, kMap };

// One node of the document.
struct Item {
  Kind kind = Kind::kNull;
  bool quoted = false;
  int line = 1;
  std::string key;  // inside a map
  int key_line = 1;
  std::string text;  // of a scalar
  std::vector<Item> children;
};

struct Document {
  std::string name;
  std::string source;
  Item root;
};

// Throws ConfigError "name:line: key: found X, allowed Y".
[[noreturn]] void Refuse(const std::string& name, int line, const std::string& key,
                         const std::string& found, const std::string& allowed);

// A key as it may stand in a message.
std::string PlainKey(const std::string& key);

// What an item is, for the "found" of a message.
std::string Describe(const Item& item);

constexpr std::size_t kMaxYamlBytes = std::size_t{1} << 20;

// Parses `text`; the root is a map. Throws ConfigError.
Document ParseDocument(std::string_view text, const std::string& name);

}  // namespace impactlab::data
