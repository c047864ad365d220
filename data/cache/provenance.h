#pragma once
// Where a result came from: program, machine, inputs and seed, as they stand in run.yaml.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/files/sha256.h"
#include "data/yaml/yaml.h"

namespace impactlab {

struct InputFile {
  std::string path;    // as the user gave it
  std::string sha256;  // 64 hexadecimal digits of the content
  std::uint64_t bytes = 0;
};

struct Provenance {
  std::string version;       // of the program, e.g. "0.1.0"
  std::string git_revision;  // at the time the build was configured; empty when not known
  std::string compiler;
  std::string cpu;
  std::string utc;      // start of the run, "2024-05-01T12:00:00Z"
  std::string command;  // command line, or empty
  std::uint64_t seed = 0;
  std::vector<InputFile> inputs;
};

// Version of this program.
std::string ProgramVersion();

// Describes this program, this machine, now, and the input files (hashed here; DataError when one
// cannot be read).
Provenance CollectProvenance(std::uint64_t seed, const std::string& command = {},
                             const std::vector<std::filesystem::path>& inputs = {});

// Adds input files; one that could be listed but not read stays in the list, without a hash.
void AddReadable(const std::vector<std::filesystem::path>& inputs, Provenance* provenance);

// A `provenance:` map for run.yaml, ending in a newline. The inverse reads it from the root of such
// a document.
std::string ToYaml(const Provenance& provenance);
Provenance ProvenanceFromYaml(const YamlNode& root);

}  // namespace impactlab
