#include "data/yaml/document.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <utility>

#include "data/files/text.h"

namespace impactlab::data {

void Refuse(const std::string& name, int line, const std::string& key, const std::string& found,
            const std::string& allowed) {
  throw ConfigError(
      fmt::format("{}:{}: {}: found {}, allowed {}", name, line, key, found, allowed));
}

std::string PlainKey(const std::string& key) {
  const bool plain = key.size() <= 80 && std::all_of(key.begin(), key.end(), [](unsigned char c) {
                       return c > 0x20 && c < 0x7F;
                     });
  return plain ? key : Excerpt(key);
}

std::string Describe(const Item& item) {
  switch (item.kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kList:
      return fmt::format("a list of {}", item.children.size());
    case Kind::kMap:
      return "a map";
    case Kind::kScalar:
      break;
  }
  return item.quoted ? Excerpt(item.text) + " in quotes" : Excerpt(item.text);
}

namespace {

constexpr std::size_t kMaxDepth = 32;
constexpr std::size_t kMaxKeys = 4096;  // of one map: look-up is linear

// Builds the document from the parser's events and refuses constructs that a configuration must not
// have.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(const std::string& name) : name_(name) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(mark, anchor, Item{}, "?");
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { RefuseAnchor(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Item item;
    item.kind = Kind::kScalar;
    item.quoted = tag == "!";
    // Plain ~ and null arrive as scalars; an empty plain scalar is a key without a value.
    if (!item.quoted &&
        (value.empty() || value == "~" || value == "null" || value == "Null" || value == "NULL"))
      item.kind = Kind::kNull;
    item.text = value;
    Add(mark, anchor, std::move(item), tag == "!" ? "?" : tag);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, anchor, Kind::kList, tag);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, anchor, Kind::kMap, tag);
  }
  void OnMapEnd() override { Close(); }

  Item root;
  YAML::Mark last_quoted = YAML::Mark::null_mark();

 private:
  struct Level {
    Item item;
    bool have_key = false;
    std::string key;
    int key_line = 1;
    std::unordered_map<std::string, int> seen;  // line of every key so far
  };

  [[noreturn]] void RefuseAnchor(const YAML::Mark& mark) {
    Refuse(name_, mark.line + 1, "syntax", "an anchor or alias (& or *)",
           "values written out, text with such characters in quotes");
  }

  void Check(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& tag) {
    if (anchor != YAML::NullAnchor) RefuseAnchor(mark);
    if (!tag.empty() && tag != "?")
      Refuse(name_, mark.line + 1, "syntax", "tag " + Excerpt(tag), "values without tags");
  }

  void Open(const YAML::Mark& mark, YAML::anchor_t anchor, Kind kind, const std::string& tag) {
    Check(mark, anchor, tag);
    if (!levels_.empty() && levels_.back().item.kind == Kind::kMap && !levels_.back().have_key) {
      Refuse(name_, mark.line + 1, "syntax", "a list or map as a key", "plain words as keys");
    }
    if (levels_.size() >= kMaxDepth) {
      Refuse(name_, mark.line + 1, "syntax",
             fmt::format("more than {} levels of nesting", kMaxDepth),
             fmt::format("at most {}", kMaxDepth));
    }
    Level level;
    level.item.kind = kind;
    level.item.line = mark.line + 1;
    levels_.push_back(std::move(level));
  }

  void Close() {
    Item item = std::move(levels_.back().item);
    levels_.pop_back();
    Attach(std::move(item));
  }

  void Add(const YAML::Mark& mark, YAML::anchor_t anchor, Item item, const std::string& tag) {
    Check(mark, anchor, tag);
    item.line = mark.line + 1;
    if (item.quoted) last_quoted = mark;
    Level* level = levels_.empty() ? nullptr : &levels_.back();
    if (level && level->item.kind == Kind::kMap && !level->have_key) {
      if (item.kind != Kind::kScalar || item.text.empty())
        Refuse(name_, item.line, "syntax", "an empty key", "plain words as keys");
      if (level->seen.size() >= kMaxKeys)
        Refuse(name_, item.line, "size", fmt::format("more than {} keys in one map", kMaxKeys),
               "fewer");
      const auto [other, fresh] = level->seen.emplace(item.text, item.line);
      if (!fresh) {
        Refuse(name_, item.line, PlainKey(item.text),
               fmt::format("the key again, first on line {}", other->second), "every key once");
      }
      level->have_key = true;
      level->key = std::move(item.text);
      level->key_line = item.line;
      return;
    }
    Attach(std::move(item));
  }

  void Attach(Item item) {
    if (levels_.empty()) {
      root = std::move(item);
      return;
    }
    Level& level = levels_.back();
    if (level.have_key) {
      item.key = std::move(level.key);
      item.key_line = level.key_line;
      level.have_key = false;
    }
    level.item.children.push_back(std::move(item));
  }

  const std::string& name_;
  std::vector<Level> levels_;
};

// The parser lets the end of the file close a quote; only the last quoted text can be such a one.
void CheckLastQuote(const std::string& source, const YAML::Mark& start, const std::string& name) {
  const auto place = static_cast<std::size_t>(start.pos);
  if (start.is_null() || place >= source.size()) return;
  const char quote = source[place];
  if (quote != '"' && quote != '\'') return;  // block text
  for (std::size_t i = place + 1; i < source.size(); ++i) {
    const bool doubled =
        quote == '\'' && source[i] == quote && i + 1 < source.size() && source[i + 1] == quote;
    if ((quote == '"' && source[i] == '\\') || doubled) {
      ++i;
    } else if (source[i] == quote) {
      return;
    }
  }
  Refuse(name, start.line + 1, "syntax", "a quote that stays open", "quotes in pairs");
}

// Faults that are described better from the bytes than by the parser.
void CheckText(std::string_view text, const std::string& name) {
  const auto line_of = [&](std::size_t offset) {
    return 1 + static_cast<int>(std::count(text.begin(), text.begin() + offset, '\n'));
  };
  if (text.size() > kMaxYamlBytes) Refuse(name, 1, "size", "more than 1 MB", "at most 1 MB");
  if (const std::string mark = ByteOrderMark(text); !mark.empty()) {
    Refuse(name, 1, "encoding", fmt::format("a byte order mark of {}", mark),
           "UTF-8 without a byte order mark");
  }
  if (const auto fault = FindTextFault(text))
    Refuse(name, line_of(fault->offset), "encoding", fault->found, "UTF-8 text");
  // A tab counts as nothing for YAML's indentation and as several columns on the screen.
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    const std::size_t content = line.find_first_not_of(" \t");
    const std::size_t comment = content != line.npos && line[content] == '#'
                                    ? content
                                    : std::min(line.find(" #"), line.find("\t#"));
    const std::size_t tab = line.find('\t');
    if (tab != line.npos && tab < comment && content != line.npos)
      Refuse(name, line_of(start), "syntax", "a tab", "spaces");
    start = end + 1;
  }
}

}  // namespace

Document ParseDocument(std::string_view text, const std::string& name) {
  CheckText(text, name);
  Document document;
  document.name = name;
  document.source = text;
  Builder builder(document.name);
  bool have_document = false;
  try {
    std::istringstream stream(document.source);
    YAML::Parser parser(stream);
    have_document = parser.HandleNextDocument(builder);
    document.root = std::move(builder.root);
    if (have_document && parser.HandleNextDocument(builder)) {
      Refuse(name, builder.root.line, "syntax", "a second document", "one document");
    }
  } catch (const YAML::Exception& error) {
    // A pattern such as *.csv reads as a reference to a name that no line gives.
    const bool reference = error.msg.find("alias") != std::string::npos ||
                           error.msg.find("anchor") != std::string::npos;
    Refuse(
        name, std::max(error.mark.line, 0) + 1, "syntax", error.msg,
        reference
            ? "YAML of keys and values; what begins with * or & stands in quotes, such as \"*.csv\""
            : "YAML of keys and values");
  }
  CheckLastQuote(document.source, builder.last_quoted, name);
  const Item& root = document.root;
  if (!have_document || root.kind == Kind::kNull)
    Refuse(name, 1, "document", "nothing", "a map of keys");
  if (root.kind != Kind::kMap)
    Refuse(name, root.line, "document", Describe(root), "a map of keys (key: value, with a space)");
  return document;
}

}  // namespace impactlab::data
