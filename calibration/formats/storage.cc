// The three dialects of cv::FileStorage as one tree. OpenCV's own parser is not used: of version
// 4.6 it reads beyond its buffer in truncated or damaged files.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "calibration/formats/detail/format_reader.h"
#include "data/base/error.h"
#include "data/files/text.h"
#include "data/yaml/document.h"

namespace impactlab::calibration {
namespace {

using nlohmann::json;

constexpr int kMaxNodeDepth = 16;

json FromItem(const data::Item& item) {
  switch (item.kind) {
    case data::Kind::kNull:
      return nullptr;
    case data::Kind::kScalar:
      if (const auto number = ParseNumber(item.text); number && !item.quoted) return *number;
      return item.text;
    case data::Kind::kList: {
      json list = json::array();
      for (const data::Item& child : item.children) list.push_back(FromItem(child));
      return list;
    }
    case data::Kind::kMap: {
      json map = json::object();
      for (const data::Item& child : item.children) map[child.key] = FromItem(child);
      return map;
    }
  }
  return nullptr;
}

// Plain YAML but for its first line, which lacks a space, and its tags.
json FromYaml(std::string text, const std::string& name) {
  if (text.starts_with("%YAML")) text[0] = '#';
  for (std::size_t at = text.find("!!opencv-"); at != text.npos; at = text.find("!!opencv-", at)) {
    for (; at < text.size() && !std::isspace(static_cast<unsigned char>(text[at])); ++at)
      text[at] = ' ';
  }
  return FromItem(data::ParseDocument(text, name).root);
}

// Elements, attributes that are ignored, text with the five entities and numeric ones, comments and
// declarations.
class Xml {
 public:
  Xml(const std::string& text, const std::string& name) : text_(text), name_(name) {}

  json Parse() {
    SkipBetween();
    std::string tag;
    json value = Element(&tag, 0);
    SkipBetween();
    if (at_ < text_.size()) Fail("something after the last element", "one element opencv_storage");
    if (tag != "opencv_storage") Fail("element " + Excerpt(tag), "opencv_storage");
    return value;
  }

 private:
  [[noreturn]] void Fail(const std::string& found, const std::string& allowed) {
    const auto line =
        1 + std::count(text_.begin(),
                       text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())),
                       '\n');
    RefuseFile(fmt::format("{}:{}", name_, line), found, allowed);
  }
  bool Starts(const char* word) const {
    return text_.compare(at_, std::char_traits<char>::length(word), word) == 0;
  }
  void SkipTo(const char* end) {
    const std::size_t found = text_.find(end, at_);
    if (found == text_.npos) Fail("the end of the file", end);
    at_ = found + std::char_traits<char>::length(end);
  }
  bool SkipMarkup() {
    if (Starts("<!--")) return SkipTo("-->"), true;
    if (Starts("<?")) return SkipTo("?>"), true;
    return false;
  }
  void SkipBetween() {
    do {
      at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
    } while (SkipMarkup());
  }

  std::string Unescape(std::string_view raw) {
    std::string out;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      const std::size_t end = raw[i] == '&' ? raw.find(';', i) : raw.npos;
      if (end == raw.npos) {
        out += raw[i];
        continue;
      }
      const std::string_view word = raw.substr(i + 1, end - i - 1);
      if (word == "lt") out += '<';
      if (word == "gt") out += '>';
      if (word == "amp") out += '&';
      if (word == "quot") out += '"';
      if (word == "apos") out += '\'';
      // A byte each, as OpenCV writes text that is not ASCII.
      if (word.starts_with("#x"))
        out += static_cast<char>(std::strtoul(std::string(word.substr(2)).c_str(), nullptr, 16));
      i = end;
    }
    return out;
  }

  json Leaf(std::string_view raw) {
    raw = TrimSpace(raw);
    if (raw.size() >= 2 && raw.front() == '"' && raw.back() == '"')
      return Unescape(raw.substr(1, raw.size() - 2));
    json list = json::array();
    for (std::size_t at = 0; at < raw.size();) {
      const std::size_t end = std::min(raw.find_first_of(" \t\r\n", at), raw.size());
      if (end > at) {
        const auto number = ParseNumber(raw.substr(at, end - at));
        if (!number) return Unescape(raw);
        list.push_back(*number);
      }
      at = end + 1;
    }
    return list.size() == 1 ? list[0] : list;
  }

  json Element(std::string* tag, int depth) {
    if (depth > kMaxNodeDepth)
      Fail("deeper nesting", fmt::format("at most {} levels", kMaxNodeDepth));
    if (!Starts("<"))
      Fail(at_ < text_.size() ? Excerpt(text_.substr(at_, 10)) : "the end of the file",
           "an element");
    const std::size_t end = text_.find('>', at_);
    if (end == text_.npos) Fail("an element that stays open", "<name> ... </name>");
    const std::string inside = text_.substr(at_ + 1, end - at_ - 1);
    *tag = inside.substr(0, inside.find_first_of(" \t\r\n/"));
    if (tag->empty() || tag->find('<') != tag->npos)
      Fail("an element without a name", "<name> ... </name>");
    at_ = end + 1;
    if (inside.back() == '/') return json::array();
    json map = json::object(), list = json::array();
    std::string content;
    for (;;) {
      const std::size_t next = text_.find('<', at_);
      if (next == text_.npos) Fail("no </" + Excerpt(*tag) + ">", "every element closed");
      content += text_.substr(at_, next - at_);
      at_ = next;
      if (SkipMarkup()) continue;
      if (Starts("</")) {
        const std::string close = "</" + *tag + ">";
        if (!Starts(close.c_str())) Fail(Excerpt(text_.substr(at_, 20)), close);
        at_ += close.size();
        break;
      }
      std::string child;
      json value = Element(&child, depth + 1);
      if (child == "_") {
        list.push_back(std::move(value));
      } else if (!map.emplace(child, std::move(value)).second) {
        Fail("element " + Excerpt(child) + " again", "every element once");
      }
    }
    return !map.empty() ? map : !list.empty() ? list : Leaf(content);
  }

  const std::string& text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

}  // namespace

json ParseStorage(const std::string& text, const std::string& name) {
  if (const auto fault = FindTextFault(text))
    RefuseFile(name, fault->found, "an OpenCV file storage in UTF-8");
  const std::size_t start = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  json root;
  if (text.compare(start, 1, "<") == 0) {
    root = Xml(text, name).Parse();
  } else if (text.compare(start, 1, "{") == 0) {
    root = json::parse(text, nullptr, false);
    if (root.is_discarded())
      RefuseFile(name, "JSON that cannot be parsed", "an OpenCV file storage");
  } else {
    root = FromYaml(text, name);
  }
  if (!root.is_object()) RefuseFile(name, "no keys", "an OpenCV file storage");
  return root;
}

}  // namespace impactlab::calibration
