#include "pipelines/config/named_places.h"

#include <fmt/format.h>

#include "data/base/error.h"
#include "data/files/text.h"
#include "pipelines/config/yaml.h"

namespace impactlab::pipelines {

void VisitPlaces(Keys& keys, Places& places, int dim, std::size_t least, const char* why) {
  std::vector<std::string> names;
  std::vector<std::vector<double>> rows;
  for (const auto& [name, place] : places) {
    names.push_back(name);
    rows.push_back(place);
  }
  keys.Texts("names", names,
             "of the markers, as the files call them: three or more, planar two or more; of "
             "recordings in space one in the centre of a ball",
             Need::kRequired);
  keys.Vectors("layout_m", rows, dim, {}, Style::kFlow,
               "where each is on the body, from the centre of mass, in B; planar: (x, z)",
               Need::kRequired);
  keys.Check(names.size() == rows.size(), "layout_m", fmt::format("{} positions", rows.size()),
             fmt::format("one of each of the {} names", names.size()));
  keys.Check(names.size() >= least, "names", fmt::format("{} markers", names.size()), why);
  std::set<std::string> seen;
  for (const std::string& name : names)
    keys.Check(seen.insert(name).second, "names", Excerpt(name) + " twice", "every name once");
  places.clear();
  for (std::size_t i = 0; i < names.size(); ++i) places.emplace_back(names[i], std::move(rows[i]));
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
