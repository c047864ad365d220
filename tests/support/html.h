#pragma once
// Checks of the pages the program writes.

#include <cctype>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace impactlab::test {

inline std::size_t CountOf(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t i = 0; (i = text.find(part, i)) != std::string::npos; i += part.size()) ++n;
  return n;
}

// Reads a page the way a browser does: names of open elements are matched with those that close
// them, attributes must be quoted, the content of <script> and <style> runs to their end tag.
// Returns what is wrong, empty when nothing is.
inline std::string HtmlFault(const std::string& page) {
  static const std::set<std::string> kVoid = {"meta", "link", "br", "img"};
  static const std::set<std::string> kSelfClosing = {"path", "circle", "image"};
  std::vector<std::string> open;
  std::set<std::string> ids;
  for (std::size_t i = 0; (i = page.find('<', i)) != std::string::npos;) {
    if (page.compare(i, 2, "<!") == 0) {
      i = page.find('>', i);
      continue;
    }
    const bool closes = page[i + 1] == '/';
    std::size_t k = i + (closes ? 2 : 1);
    std::string name;
    while (k < page.size() && std::isalnum(static_cast<unsigned char>(page[k]))) name += page[k++];
    if (name.empty()) return "a bare '<' at " + page.substr(i, 40);
    bool slash = false;
    while (k < page.size() && page[k] != '>') {
      slash = page[k] == '/';
      if (page[k] == '<') return "an open tag at " + page.substr(i, 60);
      if (page[k] == '=') {
        if (page[k + 1] != '"') return "an unquoted attribute at " + page.substr(i, 60);
        const std::size_t end = page.find('"', k + 2);
        const std::string value = page.substr(k + 2, end - k - 2);
        if (page.compare(k - 3, 3, " id") == 0 && !ids.insert(value).second)
          return "id " + value + " twice";
        k = end;
      }
      ++k;
    }
    i = k + 1;
    if (closes) {
      if (open.empty() || open.back() != name)
        return "</" + name + "> closes " + (open.empty() ? "nothing" : open.back());
      open.pop_back();
    } else if (slash) {
      if (!kSelfClosing.count(name)) return "<" + name + "/> is not an empty element";
    } else if (!kVoid.count(name)) {
      open.push_back(name);
      if (name == "script" || name == "style") i = page.find("</" + name, i);
    }
  }
  return open.empty() ? std::string() : "<" + open.back() + "> stays open";
}

// JSON of a <script> of that id.
inline nlohmann::json Block(const std::string& page, const std::string& id) {
  const std::string start = "id=\"" + id + "\">";
  const std::size_t from = page.find(start);
  if (from == std::string::npos) return {};
  const std::size_t begin = from + start.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

}  // namespace impactlab::test
