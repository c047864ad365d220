#include "pipelines/report/detail/split.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "data/files/atomic_file.h"
#include "pipelines/report/report.h"
#include "tests/support/fabricated_run.h"
#include "tests/support/folder.h"

namespace impactlab::pipelines {
namespace {

using nlohmann::json;

const std::filesystem::path kLibrary =
    std::filesystem::path(IMPACTLAB_SOURCE_DIR) /
    "node_modules/plotly.js-cartesian-dist-min/plotly-cartesian.min.js";

struct Split {
  explicit Split(const RunResult& run, std::size_t page_bytes) {
    const ReportContext context = MakeContext(run, true);
    std::vector<Section> sections(2);
    sections[0].figures = PredictionFigures(context);
    sections[1].figures = MeasuredFigures(context);
    data = SplitPage(context, sections, "page_parts", page_bytes);
    recordings = json::parse(data.recordings);
    figures = json::parse(data.figures);
  }
  PageData data;
  json recordings, figures;
};

// What the page's script does with a part: every text joins the object it belongs to.
void Take(const std::string& script, json* recordings, json* figures) {
  const bool plots = script.rfind("takePlots(", 0) == 0;
  ASSERT_TRUE(plots || script.rfind("takeRecordings(", 0) == 0) << script.substr(0, 40);
  const std::size_t open = script.find('('), close = script.rfind(");");
  const json arguments = json::parse("[" + script.substr(open + 1, close - open - 1) + "]");
  json* target = recordings;
  if (plots)
    for (json& figure : *figures)
      if (figure["id"] == arguments[0]) target = &figure["plots"];
  std::size_t at = arguments[plots ? 1 : 0];
  for (const json& one : arguments.back()) {
    (*target)[at].update(one);
    (*target)[at++].erase("part");
  }
}

TEST(SplitPage, SmallRunsStandInThePageWhole) {
  const Split split(testing::FabricatedRun({.recordings = 20}), 6'000'000);
  EXPECT_TRUE(split.data.parts.empty());
  ASSERT_EQ(split.recordings.size(), 20u);
  for (const json& one : split.recordings) {
    EXPECT_TRUE(one.contains("channels") && one.contains("arcs"));
    EXPECT_TRUE(one["drawn"]);
    EXPECT_FALSE(one.contains("part"));
  }
  for (const json& figure : split.figures)
    for (const json& plot : figure["plots"]) EXPECT_TRUE(plot.contains("series"));
}

TEST(SplitPage, PageAndPartsTogetherAreTheWhole) {
  const RunResult run = testing::FabricatedRun({.recordings = 150, .frames = 700});
  const Split whole(run, 1'000'000'000);
  Split split(run, 1000);
  ASSERT_GT(split.data.parts.size(), 2u);
  EXPECT_LT(split.data.recordings.size() + split.data.figures.size(),
            (whole.data.recordings.size() + whole.data.figures.size()) / 3);
  std::set<std::string> names;
  for (const auto& [name, text] : split.data.parts) {
    EXPECT_TRUE(names.insert(name).second);
    EXPECT_LT(text.size(), 900'000u);
  }
  std::set<std::string> asked;
  for (const json& one : split.recordings) {
    asked.insert(one.at("part").get<std::string>());
    // Lists of recordings choose by these.
    EXPECT_TRUE(one.contains("name") && one.contains("drawn") &&
                one["impacts"][0].contains("state"));
    EXPECT_FALSE(one.contains("t"));
  }
  for (const json& figure : split.figures) {
    EXPECT_TRUE(figure["plots"][0].contains("series"));
    for (const json& plot : figure["plots"]) {
      EXPECT_TRUE(plot.contains("choice"));
      if (plot.contains("part")) asked.insert(plot["part"].get<std::string>());
    }
  }
  EXPECT_EQ(asked, names);
  for (const auto& [name, text] : split.data.parts) Take(text, &split.recordings, &split.figures);
  EXPECT_EQ(split.figures, whole.figures);
  ASSERT_EQ(split.recordings.size(), whole.recordings.size());
  for (std::size_t i = 0; i < whole.recordings.size(); ++i)
    EXPECT_EQ(split.recordings[i]["impacts"], whole.recordings[i]["impacts"]) << i;
  EXPECT_EQ(split.recordings[7]["arcs"], whole.recordings[7]["arcs"]);
  // Apart there is room for every frame a plot can show.
  EXPECT_LE(split.recordings[7]["stride"], whole.recordings[7]["stride"]);
}

TEST(SplitPage, PartsAreNamedByWhatTheyHold) {
  const auto name = [](std::uint64_t seed) {
    return Split(testing::FabricatedRun({.recordings = 10, .seed = seed}), 1000)
        .data.parts[0]
        .first;
  };
  EXPECT_EQ(name(1), name(1));
  EXPECT_NE(name(1), name(2));
}

TEST(SplitPage, ReportOfALargeRunHasItsPartsBesideItAndASmallOneNone) {
  const test::TemporaryFolder folder;
  const std::filesystem::path parts = folder / "report_parts";
  const RunResult run = testing::FabricatedRun({.recordings = 60});
  const auto page = [&] { return ReadFile(folder / "report.html"); };
  // a page is too long to be printed
  const auto says = [&](const std::string& text) { return page().find(text) != std::string::npos; };
  WriteReportWithin(folder / "report.html", run, kLibrary, 100'000);
  if (!says("figure-data")) GTEST_SKIP() << "skipped: no plotting library";
  EXPECT_TRUE(says("script-src 'unsafe-inline' 'self' file:"));
  std::size_t n = 0, bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(parts)) {
    EXPECT_TRUE(says("report_parts/" + entry.path().filename().string()));
    bytes += entry.file_size();
    ++n;
  }
  EXPECT_GT(n, 0u);
  const std::size_t small = page().size();
  // A later run in the folder leaves nothing of the former page.
  WriteFile(parts / "000000000000_000.js", "takeRecordings(0,[]);\n");
  WriteReportWithin(folder / "report.html", run, kLibrary, 100'000);
  EXPECT_FALSE(std::filesystem::exists(parts / "000000000000_000.js"));
  EXPECT_EQ(
      n, static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(parts), {})));
  WriteReport(folder / "report.html", run, kLibrary);
  EXPECT_FALSE(std::filesystem::exists(parts));
  EXPECT_FALSE(says("script-src 'unsafe-inline' 'self' file:"));
  EXPECT_NEAR(static_cast<double>(page().size() - small), static_cast<double>(bytes),
              0.1 * static_cast<double>(bytes));
}

}  // namespace
}  // namespace impactlab::pipelines
