#pragma once
// Evenly spaced values of an axis, as sweep files give them.

#include <vector>

#include "data/yaml/yaml.h"

namespace impactlab::pipelines {

// Keys `from`, `to` (above from) and one of `step` and `count` (at least 2); at most `most` values.
// ConfigError otherwise.
std::vector<double> ReadGrid(const YamlNode& node, double most);

}  // namespace impactlab::pipelines
