#pragma once
// A YAML document with one number replaced: what sweeps over a key of a file do.

#include <string>
#include <string_view>

namespace impactlab {

// `key` is the full name as in messages, "mechanism.frequency_rad_per_s"; entries of lists are
// counted from 0, "bodies.0.position_m.1". The result means the same as `text` but for that number,
// and every key stands in its line. Comments are lost. ConfigError where the document is refused,
// and where it has no number of that name; `name` stands for the file in messages.
std::string SetYamlNumber(std::string_view text, const std::string& name, const std::string& key,
                          double value);

}  // namespace impactlab
