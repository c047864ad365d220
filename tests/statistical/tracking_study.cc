// Names, gaps and errors of tracks over synthetic stereo drops: tracking_study [--drops N] [--first K] [--seed S] [--out FILE] [--keep
// FOLDER]. Exit code 1 when a name was swapped, a visible marker was lost, a gap was not flagged, or more than 0.5 % of points are false.

#include <fmt/core.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "data/atomic_file.h"
#include "data/progress.h"
#include "data/provenance.h"
#include "tests/statistical/tracking_scenes.h"
#include "tests/statistical/tracking_score.h"

int main(int argc, char** argv) {
  using namespace impactlab;
  int drops = 100, first = 0;
  std::uint64_t seed = 20260501;
  std::string out, keep;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto next = [&] { return i + 1 < argc ? argv[++i] : ""; };
    if (word == "--drops")
      drops = std::atoi(next());
    else if (word == "--first")
      first = std::atoi(next());
    else if (word == "--seed")
      seed = std::strtoull(next(), nullptr, 10);
    else if (word == "--out")
      out = next();
    else if (word == "--keep")
      keep = next();
    else
      return fmt::print(stderr, "unknown argument {}\n", word), 2;
  }
  const auto start = std::chrono::steady_clock::now();
  const std::filesystem::path folder =
      keep.empty() ? std::filesystem::temp_directory_path() / fmt::format("tracking_study_{}", static_cast<long long>(::getpid()))
                   : std::filesystem::path(keep);
  std::filesystem::create_directories(folder);
  std::vector<test::TrackingScore> scores(static_cast<std::size_t>(std::max(0, drops)));
  std::atomic<int> next = 0;
  Progress progress("stereo drops", drops, "drops");
  const auto loop = [&] {
    for (int k = next++; k < drops; k = next++) {
      scores[static_cast<std::size_t>(k)] = test::ScoreDrop(test::StudyScene(first + k, seed), 1, folder, first + k, !keep.empty());
      progress.Advance();
    }
  };
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) threads.emplace_back(loop);
  threads.clear();
  progress.Finish();
  if (keep.empty()) std::filesystem::remove_all(folder);

  nlohmann::json json;
  test::TrackingScore sum;
  int bad = 0, named = 0;
  for (const test::TrackingScore& s : scores) {
    json["drops"].push_back(test::ToJson(s));
    sum += s;
    named += s.named;
    if (!s.good()) {
      ++bad;
      fmt::print("{}: {}\n", s.name, test::Words(s));
    }
  }
  const bool fine = bad == 0 && sum.false_share() <= 0.005;
  const Provenance provenance = CollectProvenance(seed);
  json["total"] = test::ToJson(sum);
  json["named_in_space"] = named;
  json["bad"] = bad;
  json["seed"] = seed;
  json["seconds"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  json["version"] = provenance.version;
  json["git"] = provenance.git_revision;
  json["cpu"] = provenance.cpu;
  json["utc"] = provenance.utc;
  fmt::print("{} drops, {} named in space, {} with a fault\n{}\n", drops, named, bad, test::Words(sum));
  if (!out.empty()) WriteFile(out, json.dump(1) + "\n");
  return fine ? 0 : 1;
}
