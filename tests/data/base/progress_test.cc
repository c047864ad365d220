#include "data/base/progress.h"

#include <thread>
#include <vector>

#include "tests/data/message.h"

namespace impactlab {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

struct Recorder {
  double time = 0;
  std::vector<std::string> lines;
  ProgressOptions Options(bool terminal) {
    ProgressOptions options;
    options.write = [this](std::string_view text) { lines.emplace_back(text); };
    options.is_terminal = [terminal] { return terminal; };
    options.now = [this] { return time; };
    return options;
  }
};

TEST(Progress, QuickJobsAreSilent) {
  for (const bool terminal : {false, true}) {
    Recorder recorder;
    Progress progress("fit", 100, "events", recorder.Options(terminal));
    for (int i = 0; i < 100; ++i) {
      recorder.time += 0.019;
      progress.Advance();
    }
    progress.Finish();
    EXPECT_THAT(recorder.lines, IsEmpty());
  }
}

TEST(Progress, TerminalRewritesOneLine) {
  Recorder recorder;
  Progress progress("fit", 100, "events", recorder.Options(true));
  for (int i = 0; i < 50; ++i) {
    recorder.time += 0.1;
    progress.Advance();
  }
  // From 2 s on, five times a second.
  ASSERT_GE(recorder.lines.size(), 12u);
  ASSERT_LE(recorder.lines.size(), 17u);
  for (const std::string& line : recorder.lines) {
    EXPECT_THAT(line, StartsWith("\rfit: "));
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
  recorder.time = 5;
  EXPECT_THAT(recorder.lines.back(), HasSubstr("of 100 events ("));
  EXPECT_THAT(recorder.lines.back(), HasSubstr("10/s"));
  EXPECT_THAT(recorder.lines.back(), HasSubstr(" left"));
  progress.Set(100);
  progress.Finish();
  progress.Finish();
  progress.Advance();
  EXPECT_EQ(recorder.lines.back(), "\rfit: 100 events in 5.0 s\x1b[K\n");
}

TEST(Progress, LogsGetFewPlainLines) {
  Recorder recorder;
  {
    Progress progress("study", 1000, "solves", recorder.Options(false));
    for (int i = 0; i < 1000; ++i) {
      recorder.time += 0.1;
      progress.Advance();
    }
  }
  ASSERT_EQ(recorder.lines.size(), 4u);  // at 30, 60 and 90 s, and the end
  for (const std::string& line : recorder.lines) {
    EXPECT_THAT(line, EndsWith("\n"));
    EXPECT_EQ(line.find('\r'), std::string::npos);
    EXPECT_EQ(line.find('\x1b'), std::string::npos);
  }
  EXPECT_THAT(recorder.lines[0],
              StartsWith("study: 300 of 1000 solves (30 %), 10/s, 1 min 10 s left"));
  EXPECT_EQ(recorder.lines[3], "study: 1000 solves in 1 min 40 s\n");
}

TEST(Progress, UnknownTotalsAndOvershoot) {
  Recorder recorder;
  Progress unknown("read", 0, "files", recorder.Options(true));
  recorder.time = 3;
  unknown.Set(6);
  EXPECT_THAT(recorder.lines, ElementsAre("\rread: 6 files, 2.00/s\x1b[K"));
  Recorder other;
  Progress over("read", 10, "", other.Options(true));
  other.time = 3;
  over.Set(12);
  EXPECT_THAT(other.lines.back(), HasSubstr("12 of 10 (100 %)"));
}

TEST(Progress, CanBeOff) {
  Recorder recorder;
  ProgressOptions options = recorder.Options(true);
  options.enabled = false;
  Progress progress("fit", 10, "", options);
  recorder.time = 100;
  progress.Advance(10);
  progress.Finish();
  EXPECT_THAT(recorder.lines, IsEmpty());
}

TEST(Progress, AFailingTerminalDoesNotStopTheJob) {
  Recorder recorder;
  ProgressOptions options = recorder.Options(true);
  int calls = 0;
  options.write = [&](std::string_view) {
    ++calls;
    throw std::runtime_error("closed");
  };
  Progress progress("fit", 10, "", options);
  recorder.time = 3;
  progress.Advance();
  recorder.time = 4;
  progress.Advance();
  progress.Finish();
  EXPECT_EQ(calls, 1);
}

TEST(Progress, ThreadsAreCountedOnce) {
  Recorder recorder;
  Progress progress("fit", 40000, "events", recorder.Options(false));
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10000; ++i) progress.Advance();
    });
  }
  for (std::thread& thread : threads) thread.join();
  recorder.time = 100;
  progress.Advance(0);
  ASSERT_EQ(recorder.lines.size(), 1u);
  EXPECT_THAT(recorder.lines[0], StartsWith("fit: 40000 of 40000 events (100 %)"));
}

TEST(Progress, Durations) {
  EXPECT_EQ(FormatDuration(0), "0.0 s");
  EXPECT_EQ(FormatDuration(14.4), "14 s");
  EXPECT_EQ(FormatDuration(59.6), "1 min 00 s");
  EXPECT_EQ(FormatDuration(200), "3 min 20 s");
  EXPECT_EQ(FormatDuration(3599.7), "1 h 00 min");
  EXPECT_EQ(FormatDuration(7500), "2 h 05 min");
  EXPECT_EQ(FormatDuration(-1), "an unknown time");
  EXPECT_EQ(FormatDuration(1e300), "an unknown time");
}

}  // namespace
}  // namespace impactlab
