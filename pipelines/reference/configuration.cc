#include "pipelines/reference/configuration.h"

#include <algorithm>
#include <map>
#include <optional>

#include "data/base/error.h"
#include "data/cache/provenance.h"
#include "data/files/atomic_file.h"
#include "data/files/text.h"
#include "data/yaml/questions.h"
#include "data/yaml/values.h"
#include "pipelines/reference/key_reference.h"

namespace impactlab {
namespace {

std::string ParentKey(const std::string& key) {
  return key.rfind('.') == std::string::npos ? "" : key.substr(0, key.rfind('.'));
}

// The keys of one kind of file.
class Meanings {
 public:
  explicit Meanings(const std::string& kind) {
    for (const ReferenceKind& one : ReferenceFromMarkdown(KeptReference()))
      if (one.kind == kind)
        for (const ReferenceKey& key : one.keys) keys_.emplace(key.key, key);
  }

  const ReferenceKey* Find(const std::string& key) const {
    if (const auto found = keys_.find(key); found != keys_.end()) return &found->second;
    const std::string parent = ParentKey(key);
    if (const auto free = keys_.find(parent + ".NAME"); free != keys_.end()) return &free->second;
    // "As `body`, with mass_kg": what is below means what it means there.
    for (std::string above = parent; !above.empty(); above = ParentKey(above)) {
      const auto found = keys_.find(above);
      if (found == keys_.end()) continue;
      const std::string& words = found->second.meaning;
      const std::size_t end = words.starts_with("As `") ? words.find('`', 4) : std::string::npos;
      return end == std::string::npos ? nullptr
                                      : Find(words.substr(4, end - 4) + key.substr(above.size()));
    }
    return nullptr;
  }

 private:
  std::map<std::string, ReferenceKey> keys_;
};

using Values = std::map<std::string, std::vector<std::string>>;

Values ByKey(const std::vector<YamlValue>& values) {
  Values out;
  for (const YamlValue& value : values) out.emplace(value.key, value.texts);
  return out;
}

// What reading the file again tells.
struct Reading {
  Values file;                         // as it stands there
  std::vector<std::string> file_keys;  // in its order
  Values means;                        // as it would be used
  std::vector<std::string> asked;      // by the reader, once each
  std::map<std::string, std::string> defaults;
  std::string sha256;
};

std::optional<Reading> ReadAgain(const std::filesystem::path& file,
                                 const std::function<std::string()>& read) {
  try {
    Reading out;
    const std::string text = ReadFile(file);
    out.sha256 = Sha256(text);
    const std::vector<YamlValue> values = YamlValues(text, file.string());
    out.file = ByKey(values);
    for (const YamlValue& value : values) out.file_keys.push_back(value.key);
    const YamlQuestions questions;
    out.means = ByKey(YamlValues(read(), file.string()));
    for (const YamlQuestion& q : questions.all()) {
      if (q.file != file || !q.meaning.empty()) continue;
      if (std::find(out.asked.begin(), out.asked.end(), q.key) == out.asked.end())
        out.asked.push_back(q.key);
      if (q.otherwise) out.defaults.emplace(q.key, *q.otherwise);
    }
    return out;
  } catch (const ConfigError&) {
  } catch (const DataError&) {
  }
  return std::nullopt;
}

bool IsWord(const std::string& text) {
  return !text.empty() && text.front() != '[' && !ParseNumber(text);
}

// Of a key that was used and does not stand in the file.
KeySource SourceWithoutFile(const Reading& reading, const Values& used, const std::string& key,
                            const ReferenceKey* reference) {
  if (const auto found = reading.defaults.find(key); found != reading.defaults.end()) {
    const std::vector<std::string>& now = used.at(key);
    const bool chosen =
        now.size() == 1 && IsWord(found->second) && IsWord(now[0]) && now[0] != found->second;
    return chosen ? KeySource::kDerived : KeySource::kDefault;
  }
  // A sibling that was used under another name is what it was made of.
  const bool made = std::any_of(
      reading.file_keys.begin(), reading.file_keys.end(), [&](const std::string& other) {
        return ParentKey(other) == ParentKey(key) && !used.contains(other);
      });
  const bool stands =
      reference != nullptr && !reference->otherwise.empty() && reference->otherwise != "required";
  return made || !stands ? KeySource::kDerived : KeySource::kDefault;
}

}  // namespace

Configuration DescribeConfiguration(const std::string& kind, const std::string& used,
                                    const std::filesystem::path& file,
                                    const std::function<std::string()>& read) {
  const Meanings meanings(kind);
  const std::optional<Reading> reading = ReadAgain(file, read);
  Configuration out{.kind = kind,
                    .file = file,
                    .sha256 = reading ? reading->sha256 : "",
                    .yaml = used,
                    .keys = {}};
  std::vector<YamlValue> values;
  try {
    values = YamlValues(used, kind);
  } catch (const ConfigError&) {
    return out;  // a path that is no UTF-8
  }
  const Values by_key = ByKey(values);
  const auto make = [&](const std::string& key, const std::vector<std::string>& texts,
                        KeySource source, const ReferenceKey* reference) {
    UsedKey one{
        .key = key, .values = texts, .source = source, .meaning = {}, .unit = {}, .otherwise = {}};
    if (reference != nullptr)
      one.meaning = reference->meaning, one.unit = reference->unit,
      one.otherwise = reference->otherwise;
    return one;
  };
  for (const YamlValue& value : values) {
    const ReferenceKey* reference = meanings.Find(value.key);
    KeySource source = KeySource::kUnknown;
    if (reading) {
      const auto means = reading->means.find(value.key);
      source = means == reading->means.end() || means->second != value.texts ? KeySource::kOverride
               : reading->file.contains(value.key)
                   ? KeySource::kFile
                   : SourceWithoutFile(*reading, by_key, value.key, reference);
    }
    out.keys.push_back(make(value.key, value.texts, source, reference));
  }
  if (!reading) return out;
  // Behind the last key of the same map, or of the nearest one above it.
  const auto place = [&](UsedKey one) {
    auto at = out.keys.end();
    for (std::string parent = ParentKey(one.key); at == out.keys.end() && !parent.empty();
         parent = ParentKey(parent))
      for (auto it = out.keys.begin(); it != out.keys.end(); ++it)
        if (it->key.starts_with(parent + ".")) at = it + 1;
    out.keys.insert(at, std::move(one));
  };
  const auto asked = [&](const std::string& key) {
    return std::find(reading->asked.begin(), reading->asked.end(), key) != reading->asked.end();
  };
  for (const std::string& key : reading->file_keys)
    if (!by_key.contains(key) && asked(key))
      place(make(key, reading->file.at(key), KeySource::kFile, meanings.Find(key)));
  for (const std::string& key : reading->asked) {
    const ReferenceKey* reference = meanings.Find(key);
    const bool holds = std::any_of(out.keys.begin(), out.keys.end(), [&](const UsedKey& one) {
      return one.key == key || one.key.starts_with(key + ".") || one.key.starts_with(key + "[]");
    });
    if (!holds && reference != nullptr) place(make(key, {}, KeySource::kLeftOut, reference));
  }
  return out;
}

}  // namespace impactlab
