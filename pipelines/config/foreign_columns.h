#pragma once
// Which column of a foreign table is which of ours.

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace impactlab {

// Names in the header of a table, whatever its rows hold. DataError where there is no table.
std::vector<std::string> ColumnsOf(const std::filesystem::path& path);

struct ColumnGuess {
  bool planar = true;
  // our name (t, x, ...): theirs, with a unit behind it where the name tells one
  std::map<std::string, std::string> names;
  std::vector<std::string> missing;  // our names that no column looks like
  std::vector<std::string> assumed;  // our names whose unit is taken to be SI
  // why the table cannot be read with these names; empty where it can
  std::string fault;

  // What to write into `file`, in words and YAML.
  std::string Advice(const std::string& file) const;
};

// By the words of the header. Nothing where the table cannot be read at all.
std::optional<ColumnGuess> GuessColumns(const std::filesystem::path& path, bool planar);

}  // namespace impactlab
