// From videos to mu and e*: how far off are states, clocks and coefficients of synthetic stereo
// experiments, and do their intervals cover? Half of the experiments carry effects that no fit
// models; they are reported apart. Experiments that stand in the lines file are not run again, so
// that a study may be run in parts. Exit code 1 where a modelled figure misses what was asked for.

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "data/statistics/statistics.h"
#include "tests/statistical/chain_score.h"
#include "tests/statistical/chain_summary.h"
#include "tests/statistical/studies/study.h"

int main(int argc, char** argv) {
  using namespace impactlab;
  int experiments = 60, first = 0, drops = 12;
  std::string lines = "chain_study.jsonl", keep;
  test::Study study(
      "chain",
      "Errors and coverage of the whole chain, from videos of synthetic stereo drops to mu and e*",
      20261128);
  study.app.add_option("--experiments", experiments)->capture_default_str();
  study.app.add_option("--first", first, "number of the first")->capture_default_str();
  study.app.add_option("--drops", drops, "of an experiment")->capture_default_str();
  study.app
      .add_option("--lines", lines,
                  "file of one JSON line an experiment, added to; those in it are not run again")
      ->capture_default_str();
  study.app.add_option("--keep", keep, "folder for the videos and runs, which are removed else");
  int code = 0;
  if (!study.Read(argc, argv, &code)) return code;

  std::map<int, nlohmann::json> done = test::ReadLines(lines, "experiment", drops);
  std::erase_if(done, [&](const auto& one) {
    return one.second.value("seed", std::uint64_t{0}) != study.seed;
  });
  std::vector<int> missing;
  for (int k = first; k < first + experiments; ++k)
    if (!done.contains(k)) missing.push_back(k);
  const std::filesystem::path root =
      keep.empty() ? std::filesystem::temp_directory_path() /
                         fmt::format("chain_study_{}", static_cast<long long>(::getpid()))
                   : std::filesystem::path(keep);
  std::mutex mutex;
  study.Each(static_cast<int>(missing.size()), "stereo experiments", "experiments", [&](int i) {
    const int k = missing[static_cast<std::size_t>(i)];
    nlohmann::json json =
        test::ScoreChain(test::DrawChainScene(k, study.seed, drops), k,
                         root / fmt::format("experiment_{:03}", k), !keep.empty());
    json["seed"] = study.seed;
    json["of"] = drops;
    const std::lock_guard lock(mutex);
    std::ofstream(lines, std::ios::app) << json.dump() << "\n";
    done[k] = json;
  });
  std::error_code ignored;
  if (keep.empty()) std::filesystem::remove_all(root, ignored);

  test::ChainSummary summary;
  for (const auto& [k, json] : done)
    if (k >= first && k < first + experiments) summary.Add(json);
  fmt::print("{}", summary.Words());
  return study.Keep(summary.Json(), summary.Fine());
}
