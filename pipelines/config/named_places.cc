#include "pipelines/config/named_places.h"

#include <fmt/format.h>

#include "data/base/error.h"
#include "data/files/text.h"
#include "pipelines/config/yaml.h"

namespace impactlab::pipelines {

namespace {

Places ReadPlaces(const YamlNode& node, int dim, std::size_t least, const char* why) {
  const std::vector<std::string> names = node.Texts("names");
  const std::vector<std::vector<double>> places = node.Vectors("layout_m", dim);
  if (names.size() != places.size())
    throw node.Fault("layout_m", fmt::format("{} positions", places.size()),
                     fmt::format("one of each of the {} names", names.size()));
  if (names.size() < least) throw node.Fault("names", fmt::format("{} markers", names.size()), why);
  std::set<std::string> seen;
  Places out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!seen.insert(names[i]).second)
      throw node.Fault("names", Excerpt(names[i]) + " twice", "every name once");
    out.emplace_back(names[i], places[i]);
  }
  return out;
}

}  // namespace

void VisitPlaces(Keys& keys, Places& places, int dim, std::size_t least, const char* why) {
  keys.Custom(
      "names", "of the markers, as the files call them: three or more, planar two or more",
      [&](const YamlNode& node) { places = ReadPlaces(node, dim, least, why); },
      [&] {
        std::vector<std::string> names;
        for (const auto& [name, place] : places) names.push_back(name);
        return QuotedList(names);
      });
  keys.Custom(
      "layout_m", "where each is on the body, from the centre of mass, in B; planar: (x, z)",
      [](const YamlNode&) {},
      [&] {
        std::vector<std::string> rows;
        for (const auto& [name, place] : places) rows.push_back(Bracketed(place));
        return "[" + JoinNames(rows) + "]";
      });
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
