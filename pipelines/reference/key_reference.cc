#include "pipelines/reference/key_reference.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/glob.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "data/yaml/questions.h"
#include "pipelines/bench_tests/bench_tests.h"
#include "pipelines/calibrate/calibrate.h"
#include "pipelines/campaign/campaign.h"
#include "pipelines/literature/literature.h"
#include "pipelines/map/impact_map.h"
#include "pipelines/plan/plan.h"
#include "pipelines/run/experiment.h"
#include "pipelines/simulate/config.h"
#include "pipelines/simulate/diagram.h"
#include "pipelines/simulate/system_config.h"
#include "pipelines/synth/rig.h"
#include "pipelines/synth/synth.h"
#include "pipelines/synth/video.h"
#include "pipelines/track/track.h"

namespace impactlab {
namespace {

struct Reader {
  const char* kind;
  std::function<void(const std::filesystem::path&)> read;
};

// In the order of the page.
const std::vector<Reader>& Readers() {
  using Path = std::filesystem::path;
  static const std::vector<Reader> kReaders = {
      {"experiment", [](const Path& p) { LoadExperiment(p); }},
      {"calibration", [](const Path& p) { LoadCalibration(p); }},
      {"tracking", [](const Path& p) { LoadTracking(p); }},
      {"campaign", [](const Path& p) { LoadCampaign(p, "out"); }},
      {"published", [](const Path& p) { LoadPublished(p); }},
      {"coefficients", [](const Path& p) { LoadCoefficients(p); }},
      {"plan", [](const Path& p) { LoadPlan(p); }},
      {"system", [](const Path& p) { LoadSystem(p); }},
      {"scenario", [](const Path& p) { LoadScenario(p); }},
      {"map", [](const Path& p) { LoadMapSweep(p); }},
      {"diagram", [](const Path& p) { LoadDiagram(p); }},
      {"scene", [](const Path& p) { LoadScene(p); }},
      {"rig_scene", [](const Path& p) { LoadRigScene(p); }},
      {"video_scene", [](const Path& p) { LoadVideoScene(p); }}};
  return kReaders;
}

std::vector<std::string> LinesOf(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The words of a line that is a comment and nothing else.
std::optional<std::string> CommentLine(const std::string& line) {
  const std::string_view text = TrimSpace(line);
  if (!text.starts_with('#')) return std::nullopt;
  return std::string(TrimSpace(text.substr(1)));
}

// The comment behind the key in line `number` (from 1 on), or the one right above it.
std::string CommentOf(const std::vector<std::string>& lines, int number) {
  const std::size_t at = static_cast<std::size_t>(number) - 1;
  if (const std::size_t hash = lines[at].find(" # "); hash != std::string::npos)
    return std::string(TrimSpace(lines[at].substr(hash + 3)));
  std::string out;
  for (std::size_t i = at; i-- > 0;) {
    const auto words = CommentLine(lines[i]);
    if (!words) break;
    if (!out.empty()) out.insert(0, " ");
    out.insert(0, *words);
  }
  return out;
}

constexpr std::string_view kLeftOut = "#- ";

// What a file says of itself before its first key.
std::string AboutOf(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) {
    const auto words = CommentLine(line);
    if (!words || line.starts_with(kLeftOut)) break;
    out += (out.empty() ? "" : " ") + *words;
  }
  return out;
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string LastPart(const std::string& key) { return key.substr(key.rfind('.') + 1); }
std::string ParentOfKey(const std::string& key) {
  return key.rfind('.') == std::string::npos ? "" : key.substr(0, key.rfind('.'));
}

// Under this name a key means the same wherever it stands: with the map it is in.
std::string Tail(const std::string& key) {
  const std::string parent = LastPart(ParentOfKey(key));
  return parent.empty() ? key : parent + "." + LastPart(key);
}

// "m/s2" of speed_m_per_s2: the words at the end of a name that are units. mu_s is no time.
std::string UnitWords(const std::string& key) {
  static const std::set<std::string> kUnits = {"m",   "m2",  "mm",   "s",      "s2", "ms",
                                               "rad", "deg", "kg",   "N",      "Hz", "px",
                                               "px2", "bit", "grey", "frames", "m3", "J"};
  std::vector<std::string> words;
  const std::string name = LastPart(key);
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t end = std::min(name.find('_', at), name.size());
    words.push_back(name.substr(at, end - at));
    at = end + 1;
  }
  std::size_t first = words.size();
  while (first > 1 &&
         (kUnits.contains(words[first - 1]) || (first < words.size() && words[first - 1] == "per")))
    --first;
  if (name.ends_with("mu_s")) return "";
  std::string out;
  for (std::size_t k = first; k < words.size(); ++k) {
    if (words[k] == "per")
      out += out.empty() ? "1/" : "/";
    else
      out += (out.empty() || out.back() == '/' ? "" : " ") + words[k];
  }
  return out;
}

std::string AllowedWords(const std::string& words) {
  std::string out = words;
  for (const char* article :
       {"a finite number", "a whole number", "a number", "a list of", "a map of keys"})
    out = Replaced(out, article, std::string_view(article).substr(2));
  return Replaced(Replaced(Replaced(out, "finite number", "number"), "map of keys", "map"), " | ",
                  ", ");
}

void AddOnce(std::vector<std::string>& words, const std::string& word) {
  if (!word.empty() && std::find(words.begin(), words.end(), word) == words.end())
    words.push_back(word);
}

// Without those that any value would do, where others say more.
std::vector<std::string> Narrowest(std::vector<std::string> words) {
  if (words.size() < 2) return words;
  const auto any = [](const std::string& word) { return word == "text" || word == "number"; };
  if (!std::all_of(words.begin(), words.end(), any)) std::erase_if(words, any);
  return words;
}

// Cuts what follows `mark` off the end of a text and returns it; `otherwise` where the mark is not
// there.
std::string TakeFrom(std::string& text, std::string_view mark, const std::string& otherwise) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return otherwise;
  std::string out = text.substr(at + mark.size());
  text.resize(at);
  return out;
}

// What the questions of all examples of a kind come to, key by key.
struct Asked {
  std::vector<std::string> allowed, defaults;
  bool optional = false, present = false;
  std::string meaning, where;  // of a comment, and the place of it
  std::string said;            // by the reader, where no comment says what this kind adds
};

class KindBuilder {
 public:
  void Read(const Reader& reader, const std::filesystem::path& file) {
    const std::vector<std::string> lines = LinesOf(ReadFile(file));
    if (out_.files.empty()) out_.about = AboutOf(lines);
    out_.files.push_back(file.filename().string());
    for (const std::string& line : lines)
      if (line.starts_with(kLeftOut)) left_out_.push_back(line.substr(kLeftOut.size()));
    const YamlQuestions questions;
    reader.read(file);
    std::set<std::string> free;
    for (const YamlQuestion& q : questions.all())
      if (q.file == file && q.free_name) free.insert(q.key);
    for (const YamlQuestion& q : questions.all()) {
      if (q.file != file) continue;
      const std::string key = WithPlaceholders(q.key, free);
      Asked& asked = Add(key);
      if (!q.meaning.empty()) {
        if (asked.said.empty()) asked.said = q.meaning;
        continue;
      }
      AddOnce(asked.allowed, AllowedWords(q.allowed));
      if (q.otherwise) AddOnce(asked.defaults, *q.otherwise);
      asked.optional |= q.optional;
      asked.present |= q.line > 0;
      if (q.line > 0)
        Explain(asked, key, CommentOf(lines, q.line), fmt::format("{}:{}", file.string(), q.line));
    }
  }

  // `known` are the meanings of the kinds before this one, by their tails.
  ReferenceKind Finish(const std::string& kind, std::map<std::string, std::string>& known) {
    out_.kind = kind;
    out_.schema = "impactlab." + kind + "/1";
    AddKeys("", known);
    if (!unexplained_.empty())
      throw ConfigError(fmt::format(
          "{}: {}: found no comment that says what it means, allowed one in any example",
          JoinNames(out_.files), JoinNames(unexplained_)));
    for (const ReferenceKey& key : out_.keys) known.emplace(Tail(key.key), key.meaning);
    return std::move(out_);
  }

 private:
  static std::string WithPlaceholders(std::string key, const std::set<std::string>& free) {
    for (const std::string& name : free) {
      const bool inside = key.starts_with(name + ".") || key.starts_with(name + "[");
      if (key == name || inside)
        key = (ParentOfKey(name).empty() ? "" : ParentOfKey(name) + ".") + "NAME" +
              key.substr(name.size());
    }
    return key;
  }

  Asked& Add(const std::string& key) {
    if (const auto found = asked_.find(key); found != asked_.end()) return found->second;
    // Entries of a list hang under the list itself.
    children_[Replaced(ParentOfKey(key), "[]", "")].push_back(key);
    return asked_[key];
  }

  static void Explain(Asked& asked, const std::string& key, const std::string& words,
                      const std::string& where) {
    if (words.empty() || words == asked.meaning) return;
    if (!asked.meaning.empty())
      throw ConfigError(fmt::format("{}: {}: found another meaning than in {}, allowed one", where,
                                    key, asked.where));
    asked.meaning = words;
    asked.where = where;
  }

  void AddKeys(const std::string& parent, const std::map<std::string, std::string>& known) {
    const auto below = children_.find(parent);
    if (below == children_.end()) return;
    for (const std::string& name : below->second) {
      const Asked& asked = asked_.at(name);
      ReferenceKey key;
      key.key = name;
      key.meaning = asked.meaning.empty() ? asked.said : asked.meaning;
      if (const auto before = known.find(Tail(name)); key.meaning.empty() && before != known.end())
        key.meaning = before->second;
      if (!asked.present && IsLeftOut(name, below->second)) continue;
      if (key.meaning.empty()) unexplained_.push_back(name);
      key.unit = UnitWords(name);
      key.allowed = JoinNames(Narrowest(asked.allowed), "; or ");
      key.otherwise = asked.optional ? JoinNames(asked.defaults, " or ") : "required";
      // What a comment says of these is better than what the examples happened to have.
      key.otherwise = TakeFrom(key.meaning, " Default: ", key.otherwise);
      key.allowed = TakeFrom(key.meaning, " Allowed: ", key.allowed);
      if (key.meaning.ends_with('.')) key.meaning.pop_back();
      out_.keys.push_back(key);
      if (!key.meaning.starts_with("As ")) AddKeys(Replaced(name, "[]", ""), known);
    }
  }

  // Of a key that no example holds: a line says so, or a key beside it is the same in another unit.
  bool IsLeftOut(const std::string& key, const std::vector<std::string>& siblings) const {
    const std::string plain = Replaced(key, "[]", "");
    if (std::any_of(left_out_.begin(), left_out_.end(),
                    [&](const std::string& pattern) { return MatchesGlob(pattern, plain); }))
      return true;
    const UnitName name = SplitUnit(LastPart(key));
    return std::any_of(siblings.begin(), siblings.end(), [&](const std::string& other) {
      const UnitName twin = SplitUnit(LastPart(other));
      return asked_.at(other).present && twin.stem == name.stem && twin.quantity == name.quantity &&
             twin.unit != name.unit;
    });
  }

  ReferenceKind out_;
  std::vector<std::string> left_out_, unexplained_;
  std::map<std::string, Asked> asked_;
  std::map<std::string, std::vector<std::string>> children_;
};

std::string Cell(const std::string& text) { return Replaced(text, "|", "\\|"); }

constexpr std::string_view kRowStart = "| `";

}  // namespace

std::vector<ReferenceKind> MakeReference(const std::filesystem::path& examples) {
  std::vector<std::filesystem::path> files = ExpandGlob("*.yaml", examples);
  if (files.empty())
    throw ConfigError(fmt::format("{}: found no example, allowed KIND.yaml", examples.string()));
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.stem().string() < b.stem().string(); });
  std::vector<ReferenceKind> out;
  std::map<std::string, std::string> known;
  std::size_t read = 0;
  for (const Reader& reader : Readers()) {
    KindBuilder builder;
    for (const std::filesystem::path& file : files) {
      const std::string stem = file.stem().string();
      if (stem.substr(0, stem.find('-')) != reader.kind) continue;
      builder.Read(reader, file);
      ++read;
    }
    out.push_back(builder.Finish(reader.kind, known));
  }
  if (read != files.size())
    throw ConfigError(
        fmt::format("{}: found an example of no kind that is read", examples.string()));
  return out;
}

std::string ToMarkdown(const std::vector<ReferenceKind>& reference) {
  std::string out =
      "# Every key of every configuration file\n\n"
      "Made by `impactlab reference` from what the program reads: do not edit. Meanings come from "
      "the readers and from comments in `data/reference`, whose files hold every key\n"
      "and run through the same readers. `[]` stands for every entry of a list, `NAME` for names "
      "of your own, such as those of cameras. A "
      "key\n"
      "without a default and without \"required\" may be left out; what that means is said where "
      "it matters. How files fit together is "
      "told in\n"
      "[data/README.md](README.md). On the terminal: `impactlab reference experiment motion`.\n";
  for (const ReferenceKind& kind : reference) {
    std::string examples;
    for (const std::string& file : kind.files)
      examples += fmt::format("{}[{}](reference/{})", examples.empty() ? "" : ", ", file, file);
    out += fmt::format("\n## {}\n\n{}\n\nSchema `{}`. Examples: {}.\n\n", kind.kind, kind.about,
                       kind.schema, examples);
    out += "| key | meaning | unit | allowed | default |\n|---|---|---|---|---|\n";
    for (const ReferenceKey& key : kind.keys)
      out += fmt::format("{}{}` | {} | {} | {} | {} |\n", kRowStart, key.key, Cell(key.meaning),
                         key.unit, Cell(key.allowed), Cell(key.otherwise));
  }
  return out;
}

std::vector<ReferenceKind> ReferenceFromMarkdown(std::string_view page) {
  std::vector<ReferenceKind> out;
  for (const std::string& line : LinesOf(page)) {
    if (line.starts_with("## ")) {
      out.push_back({.kind = line.substr(3), .schema = {}, .about = {}, .files = {}, .keys = {}});
    } else if (!out.empty() && line.starts_with(kRowStart)) {
      std::vector<std::string> cells;
      for (std::size_t at = 2; at < line.size();) {
        const std::size_t end = std::min(line.find(" |", at), line.size());
        cells.push_back(Replaced(line.substr(at, end - at), "\\|", "|"));
        at = end + 3;
      }
      if (cells.size() != 5)
        throw DataError(
            fmt::format("reference: found {} cells in '{}', allowed 5", cells.size(), line));
      out.back().keys.push_back(
          {cells[0].substr(1, cells[0].size() - 2), cells[1], cells[2], cells[3], cells[4]});
    } else if (!out.empty() && !line.empty() && out.back().about.empty()) {
      out.back().about = line;
    } else if (!out.empty() && line.starts_with("Schema `")) {
      out.back().schema = line.substr(8, line.find('`', 8) - 8);
    }
  }
  return out;
}

}  // namespace impactlab
