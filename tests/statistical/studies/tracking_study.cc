// Names, gaps and errors of tracks over synthetic stereo drops: tracking_study [--drops N] [--first
// K] [--seed S] [--out FILE] [--keep FOLDER]. Exit code 1 when a name was swapped, a visible marker
// was lost, a gap was not flagged, or more than 0.5 % of points are false.

#include <fmt/core.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/statistical/studies/study.h"
#include "tests/statistical/tracking_scenes.h"
#include "tests/statistical/tracking_score.h"

int main(int argc, char** argv) {
  using namespace impactlab;
  int drops = 100, first = 0;
  std::string keep;
  test::Study study("tracking", "Names, gaps and errors of tracks over synthetic stereo drops",
                    20260501);
  study.app.add_option("--drops", drops)->capture_default_str();
  study.app.add_option("--first", first, "number of the first drop")->capture_default_str();
  study.app.add_option("--keep", keep, "folder in which videos and tracks stay");
  int code = 0;
  if (!study.Read(argc, argv, &code)) return code;
  const std::filesystem::path folder =
      keep.empty() ? std::filesystem::temp_directory_path() /
                         fmt::format("tracking_study_{}", static_cast<long long>(::getpid()))
                   : std::filesystem::path(keep);
  std::filesystem::create_directories(folder);
  std::vector<test::TrackingScore> scores(static_cast<std::size_t>(std::max(0, drops)));
  study.Each(drops, "stereo drops", "drops", [&](int k) {
    scores[static_cast<std::size_t>(k)] = test::ScoreDrop(test::StudyScene(first + k, study.seed),
                                                          1, folder, first + k, !keep.empty());
  });
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
  json["total"] = test::ToJson(sum);
  json["named_in_space"] = named;
  json["bad"] = bad;
  fmt::print("{} drops, {} named in space, {} with a fault\n{}\n", drops, named, bad,
             test::Words(sum));
  return study.Keep(std::move(json), fine);
}
