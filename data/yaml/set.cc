#include "data/yaml/set.h"

#include <fmt/core.h>

#include <algorithm>

#include "data/files/text.h"
#include "data/yaml/document.h"
#include "data/yaml/yaml.h"

namespace impactlab {
namespace {

using data::Item;
using data::Kind;

// Flow style, which may break lines anywhere: that keeps every item in its line.
class Writer {
 public:
  void Write(const Item& item) {
    switch (item.kind) {
      case Kind::kNull:
        out_ += "~";
        break;
      case Kind::kScalar: {
        const bool plain =
            !item.quoted && (ParseNumber(item.text) || item.text == "true" || item.text == "false");
        out_ += plain ? item.text : YamlQuote(item.text);
        break;
      }
      case Kind::kList:
      case Kind::kMap: {
        const bool map = item.kind == Kind::kMap;
        out_ += map ? "{" : "[";
        for (const Item& child : item.children) {
          if (&child != &item.children.front()) out_ += ", ";
          GoTo(map ? child.key_line : child.line);
          if (map) out_ += YamlQuote(child.key) + ": ";
          GoTo(child.line);
          Write(child);
        }
        out_ += map ? "}" : "]";
        break;
      }
    }
  }
  std::string out_;

 private:
  void GoTo(int line) {
    for (; line_ < line; ++line_) out_ += "\n ";
  }
  int line_ = 1;
};

}  // namespace

std::string SetYamlNumber(std::string_view text, const std::string& name, const std::string& key,
                          double value) {
  data::Document document = data::ParseDocument(text, name);
  Item* item = &document.root;
  for (std::size_t at = 0; at <= key.size();) {
    const std::size_t dot = std::min(key.find('.', at), key.size());
    const std::string part = key.substr(at, dot - at);
    Item* found = nullptr;
    std::vector<std::string> names;
    for (Item& child : item->children) {
      names.push_back(item->kind == Kind::kList ? std::to_string(names.size()) : child.key);
      if (names.back() == part) found = &child;
    }
    if (!found) {
      const std::string nearest = NearestName(part, names);
      data::Refuse(name, item->line, key,
                   "no " + Excerpt(part) + (nearest.empty() ? "" : ", nearest is " + nearest),
                   names.empty() ? "a number of the file" : "one of " + JoinNames(names));
    }
    item = found;
    at = dot + 1;
  }
  if (item->kind != Kind::kScalar || item->quoted || !ParseNumber(item->text))
    data::Refuse(name, item->line, key, data::Describe(*item), "a number");
  item->text = FormatNumber(value);
  Writer writer;
  writer.Write(document.root);
  return writer.out_ + "\n";
}

}  // namespace impactlab
