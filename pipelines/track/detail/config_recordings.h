#pragma once
// The recordings of a tracking file: one by one, or by patterns whose matches belong together.

#include <string>
#include <vector>

#include "pipelines/config/visit.h"
#include "pipelines/track/track.h"

namespace impactlab::pipelines {

// The place of a name in a list; ConfigError that names the nearest for one that is not in it.
int IndexOf(const YamlNode& node, const std::string& key, const std::string& name,
            const std::vector<std::string>& names);

// Of cameras, recordings and all else that has a name.
template <typename Part>
std::vector<std::string> NamesOf(const std::vector<Part>& parts) {
  std::vector<std::string> names;
  names.reserve(parts.size());
  for (const Part& part : parts) names.push_back(part.name);
  return names;
}

// Keys `recordings` and `files`, of the cameras that the configuration has; written as
// `recordings`, with files from the root of the file system.
void VisitRecordings(Keys& keys, TrackConfig& config);

}  // namespace impactlab::pipelines
