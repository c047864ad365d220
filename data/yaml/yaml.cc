#include "data/yaml/yaml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "data/yaml/document.h"
#include "data/yaml/questions.h"

namespace impactlab {
using data::Describe;
using data::Item;
using data::Kind;
using data::PlainKey;

namespace {

std::string RangeWords(const Range& range, const char* noun) {
  const bool lo = std::isfinite(range.lo), hi = std::isfinite(range.hi);
  const std::string low = FormatNumber(range.lo), high = FormatNumber(range.hi);
  if (!lo && !hi) return noun;
  if (lo && hi && !range.lo_open && !range.hi_open)
    return fmt::format("{} from {} to {}", noun, low, high);
  const std::string above = fmt::format("{} {}", range.lo_open ? "above" : "of at least", low);
  const std::string below = fmt::format("{} {}", range.hi_open ? "below" : "at most", high);
  if (lo && hi) return fmt::format("{} {} and {}", noun, above, below);
  return fmt::format("{} {}", noun, lo ? above : below);
}

// Receiver of the questions on this thread; null: none.
thread_local std::vector<YamlQuestion>* listener = nullptr;

std::string WithoutNumbers(const std::string& key) {
  std::string out;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const bool in_list =
        i > 0 && key[i] >= '0' && key[i] <= '9' && !out.empty() && out.back() == '[';
    if (!in_list) out += key[i];
  }
  return out;
}

// "a list of 3 numbers"; what each may be is said where the list is one.
std::string ListWords(int n, const Range& each) {
  const bool any = !std::isfinite(each.lo) && !std::isfinite(each.hi);
  return (n < 0 ? "a list of numbers" : fmt::format("a list of {} numbers", n)) +
         (any ? "" : ", each " + RangeWords(each, "a number"));
}

const Item& EmptyMap() {
  static const Item item{Kind::kMap, false, 1, {}, 1, {}, {}};
  return item;
}

}  // namespace

YamlQuestions::YamlQuestions() : outer_(std::exchange(listener, &all_)) {}
YamlQuestions::~YamlQuestions() { listener = outer_; }

bool Range::Contains(double value) const {
  return (lo_open ? value > lo : value >= lo) && (hi_open ? value < hi : value <= hi);
}

std::string Range::Words() const { return RangeWords(*this, "a finite number"); }

Range Closed(double lo, double hi) {
  Range range;
  range.lo = lo;
  range.hi = hi;
  return range;
}

Range Open(double lo, double hi) {
  Range range = Closed(lo, hi);
  range.lo_open = range.hi_open = true;
  return range;
}

Range Positive() { return Open(0, std::numeric_limits<double>::infinity()); }
Range NonNegative() { return AtLeast(0); }
Range AtLeast(double lo) { return Closed(lo, std::numeric_limits<double>::infinity()); }

struct YamlNode::State {
  std::shared_ptr<const data::Document> document = std::make_shared<data::Document>();
  const Item* item = &EmptyMap();
  int line = 1;
  // full name of this map and a dot; empty at the top
  std::string prefix;
  // keys asked for, in the order of asking
  std::vector<std::string> asked;
  std::map<std::string, std::vector<std::shared_ptr<State>>> children;  // maps handed out
  std::weak_ptr<const State> root;                                      // of the document

  bool WasAsked(const std::string& key) const {
    return std::find(asked.begin(), asked.end(), key) != asked.end();
  }
  const Item* Look(const std::string& key) const {
    for (const Item& child : item->children) {
      if (child.key == key) return &child;
    }
    return nullptr;
  }
  const Item* Ask(const std::string& key) {
    if (!WasAsked(key)) asked.push_back(key);
    return Look(key);
  }
  void Tell(const std::string& key, const std::string& allowed,
            const std::optional<std::string>& otherwise, bool optional,
            bool free_name = false) const {
    if (listener == nullptr) return;
    const Item* item = Look(key);
    listener->push_back({document->name,
                         WithoutNumbers(prefix) + key,
                         allowed,
                         otherwise,
                         optional,
                         free_name,
                         item ? item->key_line : 0,
                         {}});
  }
  // Of a key with a default, whether it is there or not.
  void TellDefault(const std::string& key, const std::string& allowed,
                   const std::string& otherwise) const {
    Tell(key, allowed, otherwise, true);
  }
  [[noreturn]] void Refuse(const Item& at, const std::string& key, const std::string& found,
                           const std::string& allowed) const {
    const int at_line = at.key.empty() ? at.line : at.key_line;
    data::Refuse(document->name, at_line, prefix + PlainKey(key), found, allowed);
  }

  // The key, or one error line that names the key which was probably meant.
  const Item& Need(const std::string& key, const std::string& allowed) {
    Tell(key, allowed, std::nullopt, false);
    const Item* found = Ask(key);
    if (found) return *found;
    std::vector<std::string> strangers;
    for (const Item& child : item->children) {
      if (!WasAsked(child.key)) strangers.push_back(child.key);
    }
    const std::string hint = Nearest(key, strangers);
    data::Refuse(document->name, line, prefix + key,
                 hint.empty() ? "nothing" : fmt::format("nothing, {}", hint),
                 allowed + " (this key is required)" + (hint.empty() ? Misspelt() : std::string()));
  }

  // "nearest is side_m (units are part of the key)", or empty.
  static std::string Nearest(const std::string& key, const std::vector<std::string>& names) {
    const UnitName parts = SplitUnit(key);
    for (const std::string& name : names) {
      const UnitName other = SplitUnit(name);
      if (name != key && other.stem == parts.stem && other.unit != parts.unit) {
        return fmt::format("nearest is {} (units are part of the key)", PlainKey(name));
      }
    }
    const std::string nearest = NearestName(key, names);
    return nearest.empty() ? nearest : fmt::format("nearest is {}", PlainKey(nearest));
  }

  // A key that is missing may stand under a name that nobody asks for: a fault that follows from
  // its absence would hide it. First in this map, then in all that were read so far.
  std::string Misspelt() const {
    if (std::string here = MisspeltHere(); !here.empty()) return here;
    const std::shared_ptr<const State> top = root.lock();
    return top ? top->MisspeltBelow() : std::string();
  }
  std::string MisspeltBelow() const {
    if (std::string here = MisspeltHere(); !here.empty()) return here;
    for (const auto& [key, below] : children)
      for (const auto& child : below)
        if (std::string there = child->MisspeltBelow(); !there.empty()) return there;
    return {};
  }
  std::string MisspeltHere() const {
    constexpr int kFewEdits = 2;
    for (const Item& child : item->children) {
      if (WasAsked(child.key)) continue;
      for (const std::string& known : asked) {
        if (Look(known) != nullptr) continue;
        const UnitName other = SplitUnit(child.key), parts = SplitUnit(known);
        // Two of a short name's letters are another name.
        const int few = std::clamp(static_cast<int>(std::min(child.key.size(), known.size())) / 3,
                                   1, kFewEdits);
        if (EditDistance(child.key, known) <= few ||
            (other.stem == parts.stem && other.unit != parts.unit))
          return fmt::format("; is {} in line {} meant to be {}?", PlainKey(child.key),
                             child.key_line, known);
      }
    }
    return {};
  }

  double ReadNumber(const Item& at, const std::string& key, const Range& allowed) const {
    const auto value = at.kind == Kind::kScalar && !at.quoted ? ParseNumber(at.text) : std::nullopt;
    if (!value || !allowed.Contains(*value)) Refuse(at, key, Describe(at), allowed.Words());
    return *value;
  }

  std::vector<double> ReadVector(const Item& at, const std::string& key, int n,
                                 const Range& allowed) const {
    if (at.kind != Kind::kList || at.children.empty() ||
        (n >= 0 && at.children.size() != static_cast<std::size_t>(n))) {
      Refuse(at, key, Describe(at),
             n < 0 ? "a list of numbers" : fmt::format("a list of {} numbers", n));
    }
    std::vector<double> values;
    values.reserve(at.children.size());
    for (std::size_t i = 0; i < at.children.size(); ++i) {
      values.push_back(ReadNumber(at.children[i], fmt::format("{}[{}]", key, i), allowed));
    }
    return values;
  }

  // Keys here and in all maps handed out that nobody asked for, in the order of the file.
  void FindStrangers(std::vector<std::pair<const State*, const Item*>>* found) const {
    for (const Item& child : item->children) {
      if (!WasAsked(child.key)) found->emplace_back(this, &child);
      const auto handed_out = children.find(child.key);
      if (handed_out == children.end()) continue;
      for (const auto& below : handed_out->second) below->FindStrangers(found);
    }
  }

  std::shared_ptr<State> Child(const Item* child, int child_line, const std::string& name) const {
    auto state = std::make_shared<State>();
    state->document = document;
    state->item = child;
    state->line = child_line;
    state->prefix = prefix + name + ".";
    state->root = root;
    return state;
  }
};

YamlNode::YamlNode() : state_(std::make_shared<State>()) {}
YamlNode::YamlNode(std::shared_ptr<State> state) : state_(std::move(state)) {}
YamlNode::~YamlNode() = default;
YamlNode::YamlNode(const YamlNode&) = default;
YamlNode::YamlNode(YamlNode&&) noexcept = default;
YamlNode& YamlNode::operator=(const YamlNode&) = default;
YamlNode& YamlNode::operator=(YamlNode&&) noexcept = default;

bool YamlNode::Has(const std::string& key) const {
  state_->Tell(key, {}, std::nullopt, true);
  return state_->Ask(key) != nullptr;
}

void YamlNode::Explain(const std::string& key, const std::string& meaning) const {
  if (listener == nullptr) return;
  state_->Tell(key, {}, std::nullopt, true);
  listener->back().meaning = meaning;
}

double YamlNode::Number(const std::string& key, const Range& allowed) const {
  return state_->ReadNumber(state_->Need(key, allowed.Words()), key, allowed);
}

double YamlNode::Number(const std::string& key, double otherwise, const Range& allowed) const {
  if (listener != nullptr) state_->TellDefault(key, allowed.Words(), FormatNumber(otherwise));
  return Has(key) ? Number(key, allowed) : otherwise;
}

std::int64_t YamlNode::Integer(const std::string& key, const Range& allowed) const {
  const std::string words = RangeWords(allowed, "a whole number");
  const Item& item = state_->Need(key, words);
  std::string_view text = item.text;
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = item.kind == Kind::kScalar && !item.quoted && error == std::errc() &&
                     stop == text.data() + text.size();
  if (!whole || !allowed.Contains(static_cast<double>(value)))
    state_->Refuse(item, key, Describe(item), words);
  return value;
}

std::int64_t YamlNode::Integer(const std::string& key, std::int64_t otherwise,
                               const Range& allowed) const {
  if (listener != nullptr)
    state_->TellDefault(key, RangeWords(allowed, "a whole number"), std::to_string(otherwise));
  return Has(key) ? Integer(key, allowed) : otherwise;
}

bool YamlNode::Flag(const std::string& key) const {
  const Item& item = state_->Need(key, "true or false");
  const bool plain = item.kind == Kind::kScalar && !item.quoted;
  if (plain && item.text == "true") return true;
  if (plain && item.text == "false") return false;
  state_->Refuse(item, key, Describe(item), "true or false");
}

bool YamlNode::Flag(const std::string& key, bool otherwise) const {
  if (listener != nullptr) state_->TellDefault(key, "true or false", otherwise ? "true" : "false");
  return Has(key) ? Flag(key) : otherwise;
}

std::string YamlNode::Text(const std::string& key) const {
  const Item& item = state_->Need(key, "text");
  if (item.kind != Kind::kScalar || item.text.empty()) {
    state_->Refuse(item, key, item.kind == Kind::kScalar ? "empty text" : Describe(item), "text");
  }
  return item.text;
}

std::string YamlNode::Text(const std::string& key, const std::string& otherwise) const {
  if (listener != nullptr) state_->TellDefault(key, "text", otherwise);
  return Has(key) ? Text(key) : otherwise;
}

std::string YamlNode::Choice(const std::string& key,
                             const std::vector<std::string>& allowed) const {
  const std::string words = JoinNames(allowed, " | ");
  const Item& item = state_->Need(key, words);
  if (item.kind == Kind::kScalar &&
      std::find(allowed.begin(), allowed.end(), item.text) != allowed.end())
    return item.text;
  const std::string nearest = item.kind == Kind::kScalar ? NearestName(item.text, allowed) : "";
  state_->Refuse(
      item, key,
      nearest.empty() ? Describe(item) : fmt::format("{}, nearest is {}", Describe(item), nearest),
      words);
}

std::string YamlNode::Choice(const std::string& key, const std::string& otherwise,
                             const std::vector<std::string>& allowed) const {
  if (listener != nullptr) state_->TellDefault(key, JoinNames(allowed, " | "), otherwise);
  return Has(key) ? Choice(key, allowed) : otherwise;
}

std::vector<double> YamlNode::Vector(const std::string& key, int n, const Range& allowed) const {
  const Item& item = state_->Need(key, ListWords(n, allowed));
  return state_->ReadVector(item, key, n, allowed);
}

std::vector<double> YamlNode::Vector(const std::string& key, int n,
                                     const std::vector<double>& otherwise,
                                     const Range& allowed) const {
  if (listener != nullptr) {
    std::vector<std::string> numbers;
    numbers.reserve(otherwise.size());
    for (const double number : otherwise) numbers.push_back(FormatNumber(number));
    state_->TellDefault(key, ListWords(n, allowed), "[" + JoinNames(numbers) + "]");
  }
  return Has(key) ? Vector(key, n, allowed) : otherwise;
}

std::vector<std::vector<double>> YamlNode::Vectors(const std::string& key, int n,
                                                   const Range& allowed) const {
  const std::string words = fmt::format("a list of lists of {} numbers", n);
  const Item& item = state_->Need(key, words);
  if (item.kind != Kind::kList || item.children.empty())
    state_->Refuse(item, key, Describe(item), words);
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < item.children.size(); ++i) {
    rows.push_back(state_->ReadVector(item.children[i], fmt::format("{}[{}]", key, i), n, allowed));
  }
  return rows;
}

std::vector<std::string> YamlNode::Texts(const std::string& key) const {
  const Item& item = state_->Need(key, "a list of texts");
  if (item.kind == Kind::kScalar) return {Text(key)};
  if (item.kind != Kind::kList || item.children.empty())
    state_->Refuse(item, key, Describe(item), "a list of texts");
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < item.children.size(); ++i) {
    const Item& child = item.children[i];
    if (child.kind != Kind::kScalar || child.text.empty()) {
      state_->Refuse(child, fmt::format("{}[{}]", key, i),
                     child.kind == Kind::kScalar ? "empty text" : Describe(child), "text");
    }
    texts.push_back(child.text);
  }
  return texts;
}

std::vector<std::string> YamlNode::Texts(const std::string& key,
                                         const std::vector<std::string>& otherwise) const {
  if (listener != nullptr)
    state_->TellDefault(key, "a list of texts", "[" + JoinNames(otherwise) + "]");
  return Has(key) ? Texts(key) : otherwise;
}

YamlNode YamlNode::Map(const std::string& key) const {
  const Item& item = state_->Need(key, "a map of keys");
  if (item.kind != Kind::kMap) state_->Refuse(item, key, Describe(item), "a map of keys");
  auto& children = state_->children[key];
  if (children.empty()) children.push_back(state_->Child(&item, item.key_line, PlainKey(key)));
  return YamlNode(children.front());
}

YamlNode YamlNode::MapOrEmpty(const std::string& key) const {
  state_->Tell(key, "a map of keys", std::nullopt, true);
  const Item* item = state_->Ask(key);
  // A map whose keys are all commented out reads as nothing.
  if (item && item->kind != Kind::kNull) return Map(key);
  return YamlNode(state_->Child(&EmptyMap(), item ? item->key_line : state_->line, key));
}

std::vector<YamlNode> YamlNode::List(const std::string& key) const {
  const Item& item = state_->Need(key, "a list of maps");
  if (item.kind != Kind::kList || item.children.empty())
    state_->Refuse(item, key, Describe(item),
                   item.kind == Kind::kList ? "a list of one or more maps" : "a list of maps");
  auto& children = state_->children[key];
  for (std::size_t i = children.size(); i < item.children.size(); ++i) {
    const Item& child = item.children[i];
    const std::string name = fmt::format("{}[{}]", key, i);
    if (child.kind != Kind::kMap) state_->Refuse(child, name, Describe(child), "a map of keys");
    children.push_back(state_->Child(&child, child.line, name));
  }
  std::vector<YamlNode> nodes;
  for (const auto& child : children) nodes.push_back(YamlNode(child));
  return nodes;
}

std::vector<std::string> YamlNode::Keys() const {
  std::vector<std::string> keys;
  for (const Item& child : state_->item->children) {
    if (!state_->WasAsked(child.key)) state_->Tell(child.key, {}, std::nullopt, true, true);
    state_->Ask(child.key);
    keys.push_back(child.key);
  }
  return keys;
}

void YamlNode::Finish() const {
  std::vector<std::pair<const State*, const Item*>> strangers;
  state_->FindStrangers(&strangers);
  if (strangers.empty()) return;
  const auto hint = [](const auto& stranger) {
    return State::Nearest(stranger.second->key, stranger.first->asked);
  };
  // All of them at once, so that a file can be corrected in one pass.
  std::string others;
  constexpr std::size_t kMostNamed = 5;
  for (std::size_t i = 1; i < std::min(strangers.size(), kMostNamed); ++i) {
    const std::string nearest = hint(strangers[i]);
    others +=
        fmt::format("{}{} in line {}{}", i == 1 ? "; unknown too: " : ", ",
                    strangers[i].first->prefix + PlainKey(strangers[i].second->key),
                    strangers[i].second->key_line, nearest.empty() ? "" : " (" + nearest + ")");
  }
  if (strangers.size() > kMostNamed)
    others += fmt::format(" and {} more", strangers.size() - kMostNamed);
  const auto& [state, child] = strangers[0];
  const std::string nearest = hint(strangers[0]);
  const std::string allowed = state->asked.empty() ? "no keys" : JoinNames(state->asked);
  state->Refuse(*child, child->key,
                nearest.empty() ? "an unknown key" : fmt::format("an unknown key, {}", nearest),
                allowed + others);
}

std::string YamlNode::Where(const std::string& key) const {
  const Item* item = key.empty() ? nullptr : state_->Look(key);
  return fmt::format("{}:{}", state_->document->name, item ? item->key_line : state_->line);
}

std::string YamlNode::FullName(const std::string& key) const { return state_->prefix + key; }

ConfigError YamlNode::Fault(const std::string& key, const std::string& found,
                            const std::string& allowed) const {
  return ConfigError(fmt::format("{}: {}: found {}, allowed {}{}", Where(key), FullName(key), found,
                                 allowed, state_->Misspelt()));
}

std::filesystem::path YamlNode::File() const { return state_->document->name; }

std::filesystem::path YamlNode::Folder() const {
  const std::filesystem::path folder = File().parent_path();
  return folder.empty() ? "." : folder;
}

const std::string& YamlNode::Source() const { return state_->document->source; }

YamlNode ParseYaml(std::string_view text, const std::string& name) {
  auto document = std::make_shared<const data::Document>(data::ParseDocument(text, name));
  auto state = std::make_shared<YamlNode::State>();
  state->item = &document->root;
  state->line = document->root.line;
  state->document = std::move(document);
  state->root = state;
  return YamlNode(std::move(state));
}

YamlNode LoadYaml(const std::filesystem::path& path) {
  std::string text;
  try {
    std::error_code unknown;
    const std::uintmax_t size = std::filesystem::file_size(path, unknown);
    if (!unknown && size > data::kMaxYamlBytes)
      data::Refuse(path.string(), 1, "size", fmt::format("{} bytes", size), "at most 1 MB");
    if (std::filesystem::is_directory(path, unknown)) {
      std::string inside;
      for (const std::filesystem::directory_entry& entry :
           std::filesystem::directory_iterator(path, unknown))
        if (entry.path().extension() == ".yaml" &&
            (inside.empty() || entry.path().string() < inside))
          inside = entry.path().string();
      throw ConfigError(fmt::format("{}: found a folder, allowed a YAML file{}", path.string(),
                                    inside.empty() ? "" : "; in it is " + inside));
    }
    text = ReadFile(path, data::kMaxYamlBytes);
  } catch (const DataError& error) {
    throw ConfigError(error.what());
  }
  return ParseYaml(text, path.string());
}

std::string YamlQuote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto fault = FindTextFault(text);
    for (const char c : text.substr(0, fault ? fault->offset : text.size())) {
      if (c == '"' || c == '\\') out += '\\';
      if (c == '\n' || c == '\t' || c == '\r') {
        out += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
      } else {
        out += c;
      }
    }
    if (!fault) break;
    // Bytes that are not UTF-8 become the Latin-1 character of their number: file names may hold
    // anything, a YAML file may not.
    out += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[fault->offset]));
    text.remove_prefix(fault->offset + 1);
  }
  return out + '"';
}

}  // namespace impactlab
