#include "pipelines/config/visit.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/files/text.h"
#include "pipelines/config/yaml.h"

namespace impactlab::pipelines {

void Keys::Explain(const char* key, const char* meaning) const {
  if (node_ != nullptr && *meaning != '\0') node_->Explain(key, meaning);
}

bool Keys::Wanted(const char* key) {
  if (!std::exchange(only_stated_, false)) return true;
  return node_ != nullptr ? node_->Has(key) : stated_;
}

void Keys::Put(std::string_view key, std::string_view value) {
  written_.emplace_back(key,
                        flow_ ? fmt::format("{}: {}", key, value) : YamlWord(level_, key, value));
}

void Keys::PutBlock(const char* key, const std::string& below) {
  written_.emplace_back(key, fmt::format("{:{}}{}:\n{}", "", 2 * level_, key, below));
}

std::string Keys::Item(std::string text, Style style) const {
  const int indent = 2 * (level_ + 1);
  if (style == Style::kFlow) return fmt::format("{:{}}- {{{}}}\n", "", indent, text);
  text[static_cast<std::size_t>(indent)] = '-';
  return text;
}

std::string Keys::text() const {
  std::string out;
  for (const auto& [key, text] : written_) out += (flow_ && !out.empty() ? ", " : "") + text;
  return out;
}

void Keys::WriteOrder(std::initializer_list<std::string_view> order) {
  std::vector<std::size_t> places;
  std::vector<std::pair<std::string, std::string>> sorted;
  for (std::size_t i = 0; i < written_.size(); ++i)
    if (std::find(order.begin(), order.end(), written_[i].first) != order.end())
      places.push_back(i);
  for (const std::string_view key : order)
    for (const std::size_t i : places)
      if (written_[i].first == key) sorted.push_back(written_[i]);
  for (std::size_t i = 0; i < places.size(); ++i) written_[places[i]] = std::move(sorted[i]);
}

void Keys::Number(const char* key, double& value, const Range& allowed, const char* meaning,
                  Need need) {
  Explain(key, meaning);
  const bool required = need == Need::kRequired || only_stated_;
  if (!Wanted(key)) return;
  if (node_ == nullptr) {
    Put(key, FormatNumber(value));
  } else {
    value = required ? node_->Number(key, allowed) : node_->Number(key, value, allowed);
  }
}

std::int64_t Keys::Whole(const char* key, std::int64_t value, const Range& allowed,
                         const char* meaning, Need need) {
  Explain(key, meaning);
  const bool required = need == Need::kRequired || only_stated_;
  if (!Wanted(key)) return value;
  if (node_ != nullptr)
    return required ? node_->Integer(key, allowed) : node_->Integer(key, value, allowed);
  Put(key, std::to_string(value));
  return value;
}

void Keys::Flag(const char* key, bool& value, const char* meaning, Need need) {
  Explain(key, meaning);
  const bool required = need == Need::kRequired || only_stated_;
  if (!Wanted(key)) return;
  if (node_ == nullptr) {
    Put(key, value ? "true" : "false");
  } else {
    value = required ? node_->Flag(key) : node_->Flag(key, value);
  }
}

void Keys::Text(const char* key, std::string& value, const char* meaning, Need need) {
  Explain(key, meaning);
  const bool required = need == Need::kRequired || only_stated_;
  if (!Wanted(key)) return;
  if (node_ == nullptr) {
    Put(key, YamlQuote(value));
  } else {
    value = required ? node_->Text(key) : node_->Text(key, value);
  }
}

void Keys::Plain(const char* key, std::string& value, const char* meaning, Need need) {
  if (node_ != nullptr) {
    Text(key, value, meaning, need);
  } else if (Wanted(key)) {
    Put(key, value);
  }
}

void Keys::Vector(const char* key, std::vector<double>& values, int n, const Range& allowed,
                  const char* meaning, Need need) {
  Explain(key, meaning);
  const bool required = need == Need::kRequired || only_stated_;
  if (!Wanted(key)) return;
  if (node_ == nullptr) {
    Put(key, Bracketed(values));
  } else {
    values = required ? node_->Vector(key, n, allowed) : node_->Vector(key, n, values, allowed);
  }
}

void Keys::Vectors(const char* key, std::vector<std::vector<double>>& rows, int n,
                   const Range& allowed, Style style, const char* meaning, Need need) {
  Explain(key, meaning);
  const bool required = need == Need::kRequired || only_stated_;
  if (!Wanted(key)) return;
  if (node_ != nullptr) {
    if (required || node_->Has(key)) rows = node_->Vectors(key, n, allowed);
    return;
  }
  std::string list;
  for (const std::vector<double>& row : rows) {
    if (style == Style::kLines)
      list += fmt::format("{:{}}- {}\n", "", 2 * (level_ + 1), Bracketed(row));
    else
      list += (list.empty() ? "" : ", ") + Bracketed(row);
  }
  if (style == Style::kLines) return PutBlock(key, list);
  Put(key, "[" + list + "]");
}

void Keys::Texts(const char* key, std::vector<std::string>& texts, const char* meaning, Need need) {
  Explain(key, meaning);
  const bool required = need == Need::kRequired || only_stated_;
  if (!Wanted(key)) return;
  if (node_ != nullptr) {
    texts = required ? node_->Texts(key) : node_->Texts(key, texts);
  } else if (!texts.empty()) {
    Put(key, QuotedList(texts));
  }
}

void Keys::OneOf(const char* key, std::string& word, const std::vector<std::string>& words,
                 const char* meaning, Need need) {
  const auto at = std::find(words.begin(), words.end(), word);
  const std::size_t k =
      Choice(key, at == words.end() ? 0 : static_cast<std::size_t>(at - words.begin()), words,
             meaning, need);
  word = words[k];
}

std::size_t Keys::Choice(const char* key, std::size_t at, const std::vector<std::string>& names,
                         const char* meaning, Need need) {
  Explain(key, meaning);
  const bool required = need == Need::kRequired || only_stated_;
  if (!Wanted(key)) return at;
  if (node_ == nullptr) {
    Put(key, names[at]);
    return at;
  }
  const std::string word =
      required ? node_->Choice(key, names) : node_->Choice(key, names[at], names);
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), word) - names.begin());
}

void Keys::Names(const char* key, std::vector<std::string>& names,
                 const std::vector<std::string>& known, const std::vector<std::string>& otherwise,
                 const char* meaning) {
  Explain(key, meaning);
  if (node_ == nullptr) {
    Put(key, names.empty() ? "none" : "[" + JoinNames(names) + "]");
    return;
  }
  std::vector<std::string> allowed = known;
  for (const char* word : {"all", "none"}) allowed.emplace_back(word);
  names = node_->Texts(key, otherwise);
  for (const std::string& name : names) {
    if (std::find(allowed.begin(), allowed.end(), name) == allowed.end()) {
      const std::string nearest = NearestName(name, allowed);
      throw node_->Fault(key, Excerpt(name) + (nearest.empty() ? "" : ", nearest is " + nearest),
                         JoinNames(allowed));
    }
    Check((name != "all" && name != "none") || names.size() == 1, key, name + " among other names",
          "it alone, or names without it");
  }
  if (names == std::vector<std::string>{"none"}) names.clear();
}

void Keys::Schema(const char* schema, Need need) {
  Explain("schema", need == Need::kRequired ? "kind and version of the file"
                                            : "kind and version of the file; may be left out");
  if (node_ == nullptr) {
    Put("schema", schema);
  } else if (need == Need::kRequired) {
    node_->Choice("schema", {schema});
  } else {
    node_->Choice("schema", schema, {schema});
  }
}

void Keys::File(const char* key, std::filesystem::path& value, const char* meaning, Need need) {
  Explain(key, meaning);
  if (node_ == nullptr) {
    if (!value.empty()) Put(key, YamlQuote(std::filesystem::absolute(value).string()));
  } else if (need == Need::kRequired || node_->Has(key)) {
    value = node_->Folder() / node_->Text(key);
  }
}

void Keys::Custom(const char* key, const char* meaning,
                  const std::function<void(const YamlNode&, const char* key)>& read,
                  const std::function<std::string()>& write) {
  Explain(key, meaning);
  if (node_ != nullptr) {
    read(*node_, key);
  } else if (const std::string value = write(); !value.empty()) {
    Put(key, value);
  }
}

void Keys::Read(const char* key, const char* meaning,
                const std::function<void(const YamlNode&, const char* key)>& read) {
  Explain(key, meaning);
  if (node_ != nullptr) read(*node_, key);
}

void Keys::Map(const char* key, const char* meaning, const std::function<void(Keys&)>& visit,
               Need need, Style style) {
  Explain(key, meaning);
  const bool required = need == Need::kRequired || only_stated_;
  if (!Wanted(key)) return;
  if (node_ != nullptr) {
    const YamlNode node = required ? node_->Map(key) : node_->MapOrEmpty(key);
    Keys keys(node);
    visit(keys);
    return;
  }
  const bool flow = flow_ || style == Style::kFlow;
  Keys keys(level_ + 1, flow);
  visit(keys);
  if (flow) return Put(key, "{" + keys.text() + "}");
  PutBlock(key, keys.text());
}

}  // namespace impactlab::pipelines
