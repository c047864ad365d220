#pragma once
// The reference of every key of every configuration file, made from what the readers of the files
// ask for.
//
// data/reference holds complete files, data/reference/KIND.yaml and KIND-VARIANT.yaml. Reading them
// tells which keys there are, what each may be and what stands for it where it is missing. What a
// key means is said by its reader (pipelines/config/visit.h), or by a comment beside the key, or
// right above it, which comes first: it may say what a key means in this kind of file. A key that a
// reader asks for and nothing explains is a fault, and so is a key of the files that no reader asks
// for. A line "#- PATTERN" (`*` stands for anything, [] is left out) leaves keys out that no
// example holds because another key's comment says what they are.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace impactlab {

struct ReferenceKey {
  // full name; NAME stands for names of one's own, [] for every entry of a list
  std::string key;
  std::string meaning;
  std::string unit;       // "m/s"; empty: none
  std::string allowed;    // "number above 0"
  std::string otherwise;  // what stands for it where it is missing, or "required"
};

// Keys of one kind of file.
struct ReferenceKind {
  std::string kind;                // "experiment"
  std::string schema;              // "impactlab.experiment/1"
  std::string about;               // first comment of its first example
  std::vector<std::string> files;  // names of the examples
  std::vector<ReferenceKey> keys;  // as a tree, a map before what it holds
};

// Reads all examples of a folder. ConfigError for a key without a meaning, one that is explained
// twice, and what the readers refuse.
std::vector<ReferenceKind> MakeReference(const std::filesystem::path& examples);

// The page data/REFERENCE.md, and back.
std::string ToMarkdown(const std::vector<ReferenceKind>& reference);
std::vector<ReferenceKind> ReferenceFromMarkdown(std::string_view page);

// data/REFERENCE.md as it was when the program was built.
std::string_view KeptReference();

}  // namespace impactlab
