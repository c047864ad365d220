#pragma once
// The first steps of an experiment: a folder to fill in, and what is still missing in one.

#include <filesystem>
#include <string>
#include <vector>

namespace impactlab {

struct NewArguments {
  std::string kind;  // one of NewKinds
  std::filesystem::path folder;
};

// Kinds of folders with a line each about what goes in.
struct NewKind {
  std::string name, what;
};
std::vector<NewKind> NewKinds();

// Writes commented files for an experiment of the kind, and says what to put where. ConfigError for
// an unknown kind and where the folder holds any file that would be written: nothing is written
// over.
int NewCommand(const NewArguments& arguments);

struct CheckArguments {
  std::vector<std::filesystem::path> paths;  // folders, configurations, tables, videos
  bool json = false;                         // JSON on the terminal
};

// What was found of one thing, in plain words.
struct CheckLine {
  enum class Verdict { kGood, kNote, kMissing } verdict = Verdict::kGood;
  std::string where;  // file, or file and key
  std::string text;   // what is there, or what is missing
  std::string cure;   // what to do; empty where there is nothing to do
};

// Looks at a folder or a file: configurations and everything they name, headers of tables, videos.
std::vector<CheckLine> CheckPath(const std::filesystem::path& path);

// Prints all lines; 3 where something is missing.
int CheckCommand(const CheckArguments& arguments);

}  // namespace impactlab
