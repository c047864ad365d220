#include "pipelines/config/foreign_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "data/base/error.h"
#include "data/files/table.h"
#include "data/files/text.h"
#include "data/files/units.h"
#include "data/yaml/yaml.h"
#include "reconstruction/pose/pose_recording.h"

namespace impactlab {
namespace {

// Words of a name in small letters: "Body1: Position X (mm)" is body1, position, x, mm.
std::vector<std::string> WordsOf(const std::string& name) {
  std::vector<std::string> words(1);
  for (const unsigned char c : LowerCase(name)) {
    if (std::isalnum(c) != 0)
      words.back() += static_cast<char>(c);
    else if (!words.back().empty())
      words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

struct Meaning {
  const char* name;
  Quantity quantity;
  std::vector<std::string> exact;  // the whole name without its unit
  std::vector<std::string> words;  // or one of its words
};

std::vector<Meaning> Meanings(bool planar) {
  std::vector<Meaning> out = {
      {"t", Quantity::kTime, {"t"}, {"time", "timestamp", "zeit", "temps", "seconds"}},
      {"x", Quantity::kLength, {"x"}, {"x", "px", "posx", "xpos"}}};
  if (planar) {
    out.push_back(
        {"z", Quantity::kLength, {"z", "y"}, {"z", "y", "height", "pz", "py", "posy", "ypos"}});
    out.push_back({"theta",
                   Quantity::kAngle,
                   {"theta", "angle"},
                   {"theta", "angle", "rotation", "rot", "phi", "attitude", "orientation"}});
    return out;
  }
  out.push_back({"y", Quantity::kLength, {"y"}, {"y", "py", "posy", "ypos"}});
  out.push_back({"z", Quantity::kLength, {"z"}, {"z", "pz", "posz", "zpos"}});
  for (const char* part : {"w", "x", "y", "z"})
    out.push_back({part[0] == 'w'   ? "qw"
                   : part[0] == 'x' ? "qx"
                   : part[0] == 'y' ? "qy"
                                    : "qz",
                   Quantity::kDimensionless,
                   {std::string("q") + part, std::string("quat") + part},
                   {std::string("q") + part, std::string("quat") + part}});
  return out;
}

// A unit of the quantity that the name holds anywhere, as in "X (mm)"; empty where it holds none.
std::string UnitIn(const std::string& name, Quantity quantity) {
  const std::vector<std::string> words = WordsOf(name), units = UnitsOf(quantity);
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    if (*word == "degrees" || *word == "degree") return quantity == Quantity::kAngle ? "deg" : "";
    if (*word == "radians") return quantity == Quantity::kAngle ? "rad" : "";
    if (std::find(units.begin(), units.end(), *word) != units.end()) return *word;
  }
  return "";
}

bool Fits(const std::string& column, const Meaning& meaning, bool exact) {
  const UnitName parts = SplitUnit(column);
  // A velocity or an acceleration is not a place.
  const std::vector<std::string> words = WordsOf(column);
  for (const char* other :
       {"velocity", "vel", "v", "acceleration", "acc", "speed", "error", "sd", "residual"})
    if (std::find(words.begin(), words.end(), other) != words.end()) return false;
  if (parts.quantity != Quantity::kDimensionless && parts.quantity != meaning.quantity)
    return false;
  // "Rotation X" is an angle, or a part of a quaternion; no place.
  if (meaning.quantity == Quantity::kLength)
    for (const char* turn : {"rotation", "rot", "quaternion", "quat", "angle"})
      if (std::find(words.begin(), words.end(), turn) != words.end()) return false;
  if (exact) {
    const std::string stem = LowerCase(parts.stem);
    return std::find(meaning.exact.begin(), meaning.exact.end(), stem) != meaning.exact.end();
  }
  if (meaning.quantity == Quantity::kDimensionless && words.size() > 1) {
    const std::string part(1, meaning.name[1]);
    const bool turn = std::any_of(words.begin(), words.end(), [](const std::string& w) {
      return w.starts_with("quat") || w == "rotation" || w == "q";
    });
    if (turn && std::find(words.begin(), words.end(), part) != words.end()) return true;
  }
  return std::any_of(words.begin(), words.end(), [&](const std::string& w) {
    return std::find(meaning.words.begin(), meaning.words.end(), w) != meaning.words.end();
  });
}

}  // namespace

std::vector<std::string> ColumnsOf(const std::filesystem::path& path) {
  CsvOptions options;
  options.is_text = [](std::string_view) { return true; };
  options.min_rows = 0;
  return ReadCsv(path, options).text_columns;
}

std::optional<ColumnGuess> GuessColumns(const std::filesystem::path& path, bool planar) {
  std::vector<std::string> columns;
  try {
    columns = ColumnsOf(path);
  } catch (const DataError&) {
    return std::nullopt;
  }
  ColumnGuess guess;
  guess.planar = planar;
  std::set<std::string> taken;
  for (const Meaning& meaning : Meanings(planar)) {
    std::string found;
    for (const bool exact : {true, false})
      for (const std::string& column : columns)
        if (found.empty() && !taken.contains(column) && Fits(column, meaning, exact))
          found = column;
    if (found.empty()) {
      guess.missing.emplace_back(meaning.name);
      continue;
    }
    taken.insert(found);
    std::string text = found;
    if (meaning.quantity != Quantity::kDimensionless &&
        SplitUnit(found).quantity != meaning.quantity) {
      const std::string unit = UnitIn(found, meaning.quantity);
      if (unit.empty())
        guess.assumed.emplace_back(meaning.name);
      else
        text += " " + unit;
    }
    guess.names[meaning.name] = text;
  }
  if (!guess.missing.empty()) return guess;
  try {
    PoseColumns map;
    map.planar = planar;
    map.names = guess.names;
    ReadPoses(path, map);
  } catch (const std::exception& error) {
    guess.fault = error.what();
  }
  return guess;
}

std::string ColumnGuess::Advice(const std::string& file) const {
  std::string yaml;
  for (const auto& [own, theirs] : names)
    yaml += fmt::format("{}{}: {}", yaml.empty() ? "" : ", ", own, YamlQuote(theirs));
  std::string out = fmt::format("write to recordings in {}: kind: {}, columns: {{{}}}", file,
                                planar ? "planar_poses" : "spatial_poses", yaml);
  if (!assumed.empty())
    out += fmt::format(
        "; {} {} taken to be in SI: put a space and the unit behind the name where that is wrong "
        "(\"X mm\")",
        JoinNames(assumed), assumed.size() == 1 ? "is" : "are");
  if (!missing.empty())
    out += fmt::format("; no column looks like {}: name it there", JoinNames(missing));
  if (!fault.empty()) out += "; with these names: " + fault;
  return out;
}

}  // namespace impactlab
