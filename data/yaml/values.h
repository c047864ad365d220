#pragma once
// Everything a YAML document says, key by key, for readers that show a configuration and do not
// have to understand it.

#include <string>
#include <string_view>
#include <vector>

namespace impactlab {

// A key that holds no further keys.
struct YamlValue {
  // full name as in YamlQuestion: "body.mass_kg", of all entries of a list "groups[].name"
  std::string key;
  // one of every entry it stands in, on one line each: "0.06", "[0, 0, 1]"; empty where nothing is
  // said
  std::vector<std::string> texts;
};

// In the order of the document. ConfigError where it is refused (see data/yaml/yaml.h); `name`
// stands for the file in messages.
std::vector<YamlValue> YamlValues(std::string_view text, const std::string& name);

}  // namespace impactlab
