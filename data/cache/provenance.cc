#include "data/cache/provenance.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <charconv>
#include <ctime>
#include <fstream>

#include "data/files/text.h"

#ifndef IMPACTLAB_VERSION
#error "IMPACTLAB_VERSION comes from data/CMakeLists.txt"
#endif
#ifndef IMPACTLAB_GIT_REVISION
#define IMPACTLAB_GIT_REVISION ""
#endif

namespace impactlab {
namespace {

std::string CompilerName() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#elif defined(__GNUC__)
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#else
  return "unknown";
#endif
}

// Linux names the processor in /proc; elsewhere the architecture has to do.
std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos)
      return std::string(TrimSpace(line.substr(colon + 1)));
  }
  struct utsname name = {};
  return ::uname(&name) == 0 ? name.machine : "unknown";
}

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

}  // namespace

std::string ProgramVersion() { return IMPACTLAB_VERSION; }

Provenance CollectProvenance(std::uint64_t seed, const std::string& command,
                             const std::vector<std::filesystem::path>& inputs) {
  Provenance provenance;
  provenance.version = ProgramVersion();
  provenance.git_revision = IMPACTLAB_GIT_REVISION;
  provenance.compiler = CompilerName();
  provenance.cpu = CpuName();
  provenance.utc = UtcNow();
  provenance.command = command;
  provenance.seed = seed;
  for (const std::filesystem::path& path : inputs) {
    InputFile input;
    input.path = path.string();
    input.sha256 = Sha256File(path, &input.bytes);
    provenance.inputs.push_back(std::move(input));
  }
  return provenance;
}

void AddReadable(const std::vector<std::filesystem::path>& inputs, Provenance* provenance) {
  for (const auto& path : inputs) {
    InputFile input{path.string(), "", 0};
    try {
      input.sha256 = Sha256File(path, &input.bytes);
    } catch (const DataError&) {
      input.bytes = 0;
    }
    provenance->inputs.push_back(std::move(input));
  }
}

std::string ToYaml(const Provenance& provenance) {
  std::string out = "provenance:\n";
  const auto text = [&](const char* key, const std::string& value) {
    if (!value.empty()) out += fmt::format("  {}: {}\n", key, YamlQuote(value));
  };
  text("version", provenance.version);
  text("git_revision", provenance.git_revision);
  text("compiler", provenance.compiler);
  text("cpu", provenance.cpu);
  text("utc", provenance.utc);
  text("command", provenance.command);
  // In quotes: a seed uses all 64 bits, which no number of the format holds.
  out += fmt::format("  seed: \"{}\"\n", provenance.seed);
  if (!provenance.inputs.empty()) out += "  inputs:\n";
  for (const InputFile& input : provenance.inputs) {
    out += fmt::format("    - path: {}\n      sha256: \"{}\"\n      bytes: {}\n",
                       YamlQuote(input.path), input.sha256, input.bytes);
  }
  return out;
}

Provenance ProvenanceFromYaml(const YamlNode& root) {
  const YamlNode node = root.Map("provenance");
  Provenance provenance;
  provenance.version = node.Text("version");
  provenance.git_revision = node.Text("git_revision", "");
  provenance.compiler = node.Text("compiler", "");
  provenance.cpu = node.Text("cpu", "");
  provenance.utc = node.Text("utc", "");
  provenance.command = node.Text("command", "");
  const std::string seed = node.Text("seed");
  const auto [stop, error] =
      std::from_chars(seed.data(), seed.data() + seed.size(), provenance.seed);
  if (error != std::errc() || stop != seed.data() + seed.size()) {
    throw node.Fault("seed", Excerpt(seed), "a whole number from 0 to 18446744073709551615");
  }
  if (!node.Has("inputs")) return provenance;
  for (const YamlNode& entry : node.List("inputs")) {
    InputFile input;
    input.path = entry.Text("path");
    input.sha256 = entry.Text("sha256");
    const bool hexadecimal =
        input.sha256.find_first_not_of("0123456789abcdef") == std::string::npos;
    if (input.sha256.size() != 64 || !hexadecimal)
      throw entry.Fault("sha256", Excerpt(input.sha256), "64 hexadecimal digits");
    input.bytes = static_cast<std::uint64_t>(entry.Integer("bytes", NonNegative()));
    provenance.inputs.push_back(std::move(input));
  }
  return provenance;
}

}  // namespace impactlab
