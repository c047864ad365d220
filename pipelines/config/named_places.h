#pragma once
// Markers of an experiment file that names them and their places: `names` and `layout_m`.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "data/yaml/yaml.h"

namespace impactlab::pipelines {

// Every name once, each with `dim` coordinates [m]. ConfigError with file, line and key for fewer
// than `least` or unequal numbers; `why` says what needs so many.
std::vector<std::pair<std::string, std::vector<double>>> NamedPlaces(const YamlNode& node, int dim,
                                                                     std::size_t least,
                                                                     const char* why);

// DataError where a name of the layout is none of `present`, the markers of all recordings
// together; nothing where there is no recording.
void CheckLayoutNames(const std::vector<std::string>& layout, const std::set<std::string>& present);

}  // namespace impactlab::pipelines
