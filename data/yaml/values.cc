#include "data/yaml/values.h"

#include <algorithm>
#include <map>

#include "data/yaml/document.h"

namespace impactlab {
namespace {

using data::Item;
using data::Kind;

std::string OneLine(const Item& item) {
  if (item.kind == Kind::kScalar) return item.text;
  if (item.kind == Kind::kNull) return {};
  const bool map = item.kind == Kind::kMap;
  std::string out;
  for (const Item& child : item.children)
    out += (out.empty() ? "" : ", ") + (map ? child.key + ": " : "") + OneLine(child);
  return (map ? "{" : "[") + out + (map ? "}" : "]");
}

class Collector {
 public:
  void Add(const Item& item, const std::string& key) {
    const bool maps = item.kind == Kind::kList && !item.children.empty() &&
                      std::all_of(item.children.begin(), item.children.end(),
                                  [](const Item& i) { return i.kind == Kind::kMap; });
    if (maps) {
      for (const Item& child : item.children) Add(child, key + "[]");
    } else if (item.kind == Kind::kMap && !item.children.empty()) {
      for (const Item& child : item.children)
        Add(child, key.empty() ? child.key : key + "." + child.key);
    } else {
      const auto [place, is_new] = place_.emplace(key, out.size());
      if (is_new) out.push_back({key, {}});
      out[place->second].texts.push_back(OneLine(item));
    }
  }
  std::vector<YamlValue> out;

 private:
  std::map<std::string, std::size_t> place_;
};

}  // namespace

std::vector<YamlValue> YamlValues(std::string_view text, const std::string& name) {
  Collector collector;
  collector.Add(data::ParseDocument(text, name).root, "");
  return std::move(collector.out);
}

}  // namespace impactlab
