// What a run is given beside its recordings: a cache of its own, and a way to be cancelled.

#include "pipelines/config/run_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "data/cache/stage_cache.h"
#include "data/files/glob.h"
#include "pipelines/run/run.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

const std::filesystem::path kSample = std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data/sample";

// The first recordings of the sample, from files to events and audit.
RunResult RunFew(const RunContext& context) {
  const Experiment experiment = LoadExperiment(kSample / "experiment.yaml");
  std::vector<std::filesystem::path> files = ExpandGlob(experiment.recordings, kSample);
  files.resize(3);
  return RunExperiment(experiment, LoadRecordings(experiment, files),
                       {.identify = false, .validate = false}, context);
}

TEST(RunContext, ACancelledRunEndsAndGoesOnFromItsCache) {
  const test::TemporaryFolder folder;
  StageCache cache(folder / "stages");
  Cancellation cancellation;
  const RunContext context = {
      .threads = 2, .quiet = true, .cache = &cache, .cancellation = &cancellation};
  cancellation.Request();
  EXPECT_THROW(RunFew(context), Interrupted);
  EXPECT_TRUE(cancellation.Reset());
  EXPECT_FALSE(cancellation.requested());
  const RunResult run = RunFew(context);
  EXPECT_EQ(run.n_recordings(), 3u);
  EXPECT_GT(cache.Counts()["motion"].made, 0);
}

TEST(RunContext, RunsOfOneProcessShareNothing) {
  const test::TemporaryFolder folder;
  StageCache first(folder / "a"), second(folder / "b");
  Cancellation cancelled, free;
  cancelled.Request();
  RunResult results[2];
  bool thrown = false;
  std::thread other([&] {
    try {
      RunFew({.threads = 1, .quiet = true, .cache = &first, .cancellation = &cancelled});
    } catch (const Interrupted&) {
      thrown = true;
    }
  });
  results[0] = RunFew({.threads = 1, .quiet = true, .cache = &second, .cancellation = &free});
  other.join();
  EXPECT_TRUE(thrown);
  EXPECT_EQ(first.Counts()["motion"].made, 0);
  EXPECT_GT(second.Counts()["motion"].made, 0);
  // Without a cache the same comes out, and nothing is kept.
  results[1] = RunFew({.threads = 1, .quiet = true});
  ASSERT_EQ(results[0].recorded.events.size(), results[1].recorded.events.size());
  for (std::size_t i = 0; i < results[0].recorded.events.size(); ++i)
    EXPECT_EQ(results[0].recorded.events[i].cov, results[1].recorded.events[i].cov);
}

}  // namespace
}  // namespace impactlab
