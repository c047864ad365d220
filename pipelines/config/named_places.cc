#include "pipelines/config/named_places.h"

#include <fmt/format.h>

#include "data/base/error.h"
#include "data/files/text.h"

namespace impactlab::pipelines {

std::vector<std::pair<std::string, std::vector<double>>> NamedPlaces(const YamlNode& node, int dim,
                                                                     std::size_t least,
                                                                     const char* why) {
  const std::vector<std::string> names = node.Texts("names");
  const std::vector<std::vector<double>> places = node.Vectors("layout_m", dim);
  if (names.size() != places.size())
    throw node.Fault("layout_m", fmt::format("{} positions", places.size()),
                     fmt::format("one of each of the {} names", names.size()));
  if (names.size() < least) throw node.Fault("names", fmt::format("{} markers", names.size()), why);
  std::set<std::string> seen;
  std::vector<std::pair<std::string, std::vector<double>>> out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!seen.insert(names[i]).second)
      throw node.Fault("names", Excerpt(names[i]) + " twice", "every name once");
    out.emplace_back(names[i], places[i]);
  }
  return out;
}

void CheckLayoutNames(const std::vector<std::string>& layout,
                      const std::set<std::string>& present) {
  for (const std::string& name : layout) {
    if (present.empty() || present.contains(name)) continue;
    throw DataError(fmt::format("recordings.names: found {}, which no recording has, allowed: {}",
                                Excerpt(name), JoinNames({present.begin(), present.end()})));
  }
}

}  // namespace impactlab::pipelines
