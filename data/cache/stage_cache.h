#pragma once
// Results of finished stages, kept in a folder, so that a job that was interrupted goes on where it
// was and one whose inputs did not change is not done again.
//
// A stage is a pure function of its inputs. Its result is kept under the SHA-256 of all of them:
// the values it is given, byte by byte (data/cache/detail/exact_bytes.h), the content of the files
// it reads (ContentOf), and the program itself with the libraries it runs with. What is read back
// is the result to the last bit; an entry that is damaged counts as absent. A result that is thrown
// is not kept.

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/cache/detail/exact_bytes.h"
#include "data/cache/provenance.h"

namespace impactlab {

struct StageCount {
  int reused = 0, made = 0;
};

// Any thread may use it. It is passed to the stages that it serves; where a stage is given none, it
// is done.
class StageCache {
 public:
  // With `force` nothing that was kept is taken; what is made replaces it. The folder is made with
  // its first entry.
  explicit StageCache(std::filesystem::path folder, bool force = false);
  ~StageCache();
  StageCache(const StageCache&) = delete;
  StageCache& operator=(const StageCache&) = delete;

  std::string Key(const std::string& stage, std::string_view inputs) const;
  std::optional<std::string> Find(const std::string& stage, const std::string& key);
  // OutputError where it cannot be written: the results themselves would not find room either.
  void Keep(const std::string& stage, const std::string& key, std::string_view bytes);
  void Count(const std::string& stage, bool reused);
  std::map<std::string, StageCount> Counts() const;
  // Entries that this job did not use go, and half-written files of killed processes in the folder
  // around. For the end of a job that ended well.
  void Prune();

  // SHA-256 of a file; read once as long as its size and time stay.
  std::string Sha256Of(const std::filesystem::path& path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The content of files as an input of a stage: path and SHA-256 each, no hash where one cannot be
// read. Empty without a cache.
std::vector<std::pair<std::string, std::string>> ContentOf(
    StageCache* cache, const std::vector<std::filesystem::path>& files);

// SHA-256 of values that are large inputs of several stages. Empty without a cache.
template <class... Values>
std::string DigestOf(const StageCache* cache, const Values&... values) {
  return cache == nullptr ? "" : Sha256(ToBytes(values...));
}

// The result of `make()`, or the one that `cache` has of the same inputs; without a cache (null)
// `make()` is always called. `holds(result)` says whether files that the result speaks of are still
// there.
template <class Result, class Make, class Holds, class... Inputs>
Result StageResultIf(StageCache* cache, const std::string& stage, const Make& make,
                     const Holds& holds, const Inputs&... inputs) {
  if (cache == nullptr) return make();
  const std::string key = cache->Key(stage, ToBytes(inputs...));
  if (const std::optional<std::string> kept = cache->Find(stage, key)) {
    try {
      Result result = FromBytes<Result>(*kept);
      if (holds(result)) {
        cache->Count(stage, true);
        return result;
      }
    } catch (const DataError&) {  // of another build: made anew
    }
  }
  Result result = make();
  cache->Keep(stage, key, ToBytes(result));
  cache->Count(stage, false);
  return result;
}

template <class Result, class Make, class... Inputs>
Result StageResult(StageCache* cache, const std::string& stage, const Make& make,
                   const Inputs&... inputs) {
  return StageResultIf<Result>(
      cache, stage, make, [](const Result&) { return true; }, inputs...);
}

}  // namespace impactlab
