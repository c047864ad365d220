#pragma once
// The keys of a configuration struct, named once: reading, writing, explaining and digesting a
// configuration all walk the same list.
//
// A struct that a file holds has one function `Visit`. It names every key with its unit, the member
// it stands for, what is allowed and what it means; the default is the one in the class.
//
//   void Visit(pipelines::Keys& keys, RepeatOptions& o) {
//     keys.Number("velocity_m_per_s", o.velocity, Positive(), "within this of one drop's");
//     keys.Number("angle_rad", o.angle, Positive(), "the lever is turned by no more than this");
//   }
//
//   RepeatOptions options = pipelines::ReadKeys<RepeatOptions>(root.MapOrEmpty("repeats"));
//   std::string yaml = "repeats:\n" + pipelines::WriteKeys(options, 1);
//
// Keys that read tell YamlQuestions what each key means, so that the reference of all keys and the
// configuration in a report need nothing else; the cache digests the text that keys write, which
// holds every value to its last digit. Reading and writing are two modes of one class and not two
// visitors of a template, so that a Visit is compiled once and declared like any other function.
//
// Beyond plain values the vocabulary is: Map (a map in the map), List (a list of maps), Stated (a
// key that is written only where something is said), Check (what a range cannot say), WriteOrder (a
// file is written in another order than it is read), Custom (any other form: alternatives, names
// that are keys) and Read (the same of a file that is only read). Of a file that is only read a
// Visit asks `reading()` where one key depends on another.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/yaml/yaml.h"

namespace impactlab::pipelines {

// A value of an enum and its word in files.
template <class Enum>
struct EnumWord {
  Enum value;
  const char* word;
};

enum class Need { kOptional, kRequired };

// How a map, the maps of a list or the rows of a matrix are written.
enum class Style {
  kLines,  // a key, or a row, a line
  kFlow    // on one line: {name: oak, recordings: drop_0*}, [[1, 0], [0, 1]]
};

class Keys {
 public:
  explicit Keys(const YamlNode& node) : node_(&node) {}                        // reads
  explicit Keys(int level, bool flow = false) : level_(level), flow_(flow) {}  // writes

  // The map that is read; null while writing.
  const YamlNode* reading() const { return node_; }
  // What was written: "key: value" lines indented by two spaces for every level, or, of a flow,
  // "key: value, key: value".
  std::string text() const;

  // Each reads its key into the value, or writes the value. A key that is missing leaves the value
  // as it is, the default; one that is needed is refused with file, line and key. `meaning` is for
  // the reference: a phrase, then if need be " Allowed: ..." and " Default: ..." in place of what
  // the range and the class say. An empty one is explained elsewhere.
  void Number(const char* key, double& value, const Range& allowed, const char* meaning,
              Need need = Need::kOptional);
  template <class Integer>
  void Count(const char* key, Integer& value, const Range& allowed, const char* meaning,
             Need need = Need::kOptional) {
    value =
        static_cast<Integer>(Whole(key, static_cast<std::int64_t>(value), allowed, meaning, need));
  }
  void Flag(const char* key, bool& value, const char* meaning, Need need = Need::kOptional);
  void Text(const char* key, std::string& value, const char* meaning, Need need = Need::kOptional);
  template <class Enum, std::size_t N>
  void Word(const char* key, Enum& value, const EnumWord<Enum> (&words)[N], const char* meaning,
            Need need = Need::kOptional) {
    std::vector<std::string> names;
    std::size_t at = 0;
    for (std::size_t k = 0; k < N; ++k) {
      names.emplace_back(words[k].word);
      if (words[k].value == value) at = k;
    }
    value = words[Choice(key, at, names, meaning, need)].value;
  }
  // A list of numbers, of a fixed length or, with n < 0, of any.
  void Vector(const char* key, std::vector<double>& values, int n, const Range& allowed,
              const char* meaning, Need need = Need::kOptional);
  // A list of lists of n numbers, such as points.
  void Vectors(const char* key, std::vector<std::vector<double>>& rows, int n, const Range& allowed,
               Style style, const char* meaning, Need need = Need::kOptional);
  // Any texts; one stands for a list of one. An empty list is not written.
  void Texts(const char* key, std::vector<std::string>& texts, const char* meaning,
             Need need = Need::kOptional);
  // One of the words.
  void OneOf(const char* key, std::string& word, const std::vector<std::string>& words,
             const char* meaning, Need need = Need::kOptional);
  // Text that needs no quotes, such as a name of letters and digits.
  void Plain(const char* key, std::string& value, const char* meaning, Need need = Need::kOptional);
  // Names out of `known`, or "all" or "none" alone; none is the empty list. A missing key asks for
  // `otherwise`, one of these words, or leaves the list empty.
  void Names(const char* key, std::vector<std::string>& names,
             const std::vector<std::string>& known, const std::vector<std::string>& otherwise,
             const char* meaning);
  // The kind and version of the file, at its top.
  void Schema(const char* schema, Need need = Need::kRequired);
  // A file that is named from the folder of the configuration; written by its absolute path, and
  // only where there is one.
  void File(const char* key, std::filesystem::path& value, const char* meaning,
            Need need = Need::kOptional);

  // The next key alone: read where it stands in the file, written where `stated`.
  Keys& Stated(bool stated) {
    only_stated_ = true, stated_ = stated;
    return *this;
  }

  // Any other form. `read` is called with the map that is read and the key; `write` gives the value
  // as YAML, and nothing where the key is left out.
  void Custom(const char* key, const char* meaning,
              const std::function<void(const YamlNode&, const char* key)>& read,
              const std::function<std::string()>& write);

  // The same of a file that is only read.
  void Read(const char* key, const char* meaning,
            const std::function<void(const YamlNode&, const char* key)>& read);

  // A map; where it may be missing, its defaults apply.
  void Map(const char* key, const char* meaning, const std::function<void(Keys&)>& visit,
           Need need = Need::kOptional, Style style = Style::kLines);
  // The same of a struct with a Visit.
  template <class Struct>
  void Map(const char* key, const char* meaning, Struct& value, Need need = Need::kOptional) {
    const std::function<void(Keys&)> visit = [&](Keys& keys) { Visit(keys, value); };
    Map(key, meaning, visit, need);
  }

  // A list of maps, `visit(keys, part)` for each; while one is read, `parts` holds those before it.
  // An empty list is not written.
  template <class Part, class VisitPart>
  void List(const char* key, std::vector<Part>& parts, const char* meaning, Style style,
            const VisitPart& visit, Need need = Need::kOptional) {
    Explain(key, meaning);
    if (node_ == nullptr) {
      std::string list;
      for (Part& part : parts) {
        Keys keys(level_ + 2, style == Style::kFlow);
        visit(keys, part);
        list += Item(keys.text(), style);
      }
      if (!list.empty()) PutBlock(key, list);
    } else if (need == Need::kRequired || node_->Has(key)) {
      for (const YamlNode& node : node_->List(key)) {
        Keys keys(node);
        Part part{};
        visit(keys, part);
        parts.push_back(std::move(part));
      }
    }
  }

  // What is read first may be written last: the keys are written in this order, in the places that
  // they have taken so far.
  void WriteOrder(std::initializer_list<std::string_view> order);

  // Refuses what was read under `key` unless `ok`.
  void Check(bool ok, const char* key, const std::string& found, const std::string& allowed) const {
    if (node_ != nullptr && !ok) throw node_->Fault(key, found, allowed);
  }

 private:
  void Explain(const char* key, const char* meaning) const;
  // Whether to read, or write, the next key, after what Stated said of it.
  bool Wanted(const char* key);
  void Put(std::string_view key, std::string_view value);
  // Of the lines below a key.
  void PutBlock(const char* key, const std::string& below);
  // One map of a list.
  std::string Item(std::string text, Style style) const;
  std::int64_t Whole(const char* key, std::int64_t value, const Range& allowed, const char* meaning,
                     Need need);
  std::size_t Choice(const char* key, std::size_t at, const std::vector<std::string>& names,
                     const char* meaning, Need need);

  const YamlNode* node_ = nullptr;
  int level_ = 0;
  bool flow_ = false;
  bool only_stated_ = false, stated_ = false;
  std::vector<std::pair<std::string, std::string>> written_;  // key, and the text of it
};

// A struct with a Visit out of a map; keys that are missing leave `start` as it is.
template <class Struct>
Struct ReadKeys(const YamlNode& node, Struct start = {}) {
  Keys keys(node);
  Visit(keys, start);
  return start;
}

// The same struct as YAML, every default written out.
template <class Struct>
std::string WriteKeys(Struct value, int level) {
  Keys keys(level);
  Visit(keys, value);
  return keys.text();
}

}  // namespace impactlab::pipelines
