#pragma once
// What every study shares: its arguments, work on all cores with progress, and results kept with
// seed, version and machine.

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "data/base/parallel.h"
#include "data/base/progress.h"
#include "data/cache/provenance.h"
#include "data/files/atomic_file.h"

namespace impactlab::test {

// What stands in a file of JSON lines, by the whole number under `key`, of lines whose "of" is
// `of`; half a line of a run that was stopped does not count.
inline std::map<int, nlohmann::json> ReadLines(const std::string& file, const char* key,
                                               const nlohmann::json& of) {
  std::map<int, nlohmann::json> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains(key) || json.value("of", nlohmann::json()) != of)
      continue;
    const int at = json.at(key).get<int>();
    out[at] = std::move(json);
  }
  return out;
}

class Study {
 public:
  // `what` is the first line of --help.
  Study(std::string study, const std::string& what, std::uint64_t usual_seed)
      : seed(usual_seed), name(std::move(study)), app(what, name) {
    app.add_option("--seed", seed, "of everything that is drawn")->capture_default_str();
    app.add_option("--out", out, "JSON file that keeps the results");
  }

  // Whether to go on; else `code` is the exit code. Options of a study's own are added to `app`
  // before.
  bool Read(int argc, char** argv, int* code) {
    try {
      app.parse(argc, argv);
      start_ = std::chrono::steady_clock::now();
      return true;
    } catch (const CLI::ParseError& error) {
      *code = app.exit(error) == 0 ? 0 : 2;
      return false;
    }
  }

  // work(k) for k in [0, n) on all cores.
  template <typename Work>
  void Each(int n, const std::string& label, const std::string& unit, const Work& work) const {
    Progress progress(label, n, unit);
    ForEachIndex(static_cast<std::size_t>(std::max(0, n)), 0, [&](std::size_t k) {
      work(static_cast<int>(k));
      progress.Advance();
    });
    progress.Finish();
  }

  // Adds where the figures come from and writes the file, if one was asked for. Returns the exit
  // code.
  int Keep(nlohmann::json json, bool fine) const {
    const Provenance provenance = CollectProvenance(seed);
    json["schema"] = "impactlab.study/1";
    json["study"] = name;
    json["seed"] = seed;
    json["seconds"] =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    json["cpu_seconds"] = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
    json["version"] = provenance.version;
    json["git"] = provenance.git_revision;
    json["cpu"] = provenance.cpu;
    json["utc"] = provenance.utc;
    if (!out.empty()) WriteFile(out, json.dump(1) + "\n");
    return fine ? 0 : 1;
  }

  std::uint64_t seed;
  std::string name, out;
  CLI::App app;

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace impactlab::test
