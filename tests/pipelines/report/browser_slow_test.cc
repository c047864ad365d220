// The report of a run in a browser, and whether the check of pages finds what it looks for.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/files/atomic_file.h"
#include "pipelines/report/detail/split.h"
#include "pipelines/report/report.h"
#include "tests/support/browser.h"
#include "tests/support/fabricated_run.h"
#include "tests/support/folder.h"
#include "tests/support/pictured_run.h"

namespace impactlab {
namespace {

using testing::FabricatedRun;
using ::testing::HasSubstr;

const std::filesystem::path kLibrary =
    std::filesystem::path(IMPACTLAB_SOURCE_DIR) /
    "node_modules/plotly.js-cartesian-dist-min/plotly-cartesian.min.js";

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(ReportBrowser, MotionInSpaceIsShownWithoutFault) {
  IMPACTLAB_SKIP_WITHOUT_BROWSER();
  const test::TemporaryFolder folder;
  WriteReport(folder / "report.html", FabricatedRun({.planar = false, .recordings = 24}), kLibrary);
  EXPECT_EQ(test::PageFaults(
                folder / "report.html", "space",
                {"switch", "keyboard", "plots", "tables", "replay", "configuration", "paper"}),
            "");
}

TEST(ReportBrowser, LargeRunLoadsWhatItShowsFromBesideThePage) {
  IMPACTLAB_SKIP_WITHOUT_BROWSER();
  const test::TemporaryFolder folder;
  pipelines::WriteReportWithin(folder / "report.html", FabricatedRun({.recordings = 60}), kLibrary,
                               100'000);
  ASSERT_TRUE(std::filesystem::exists(folder / "report_parts"));
  EXPECT_EQ(test::PageFaults(folder / "report.html", "large", {"recordings", "replay"}), "");
}

TEST(ReportBrowser, WhatTheCamerasSawFollowsTheReplay) {
  IMPACTLAB_SKIP_WITHOUT_BROWSER();
  const test::TemporaryFolder folder;
  const RunResult run = testing::PicturedRun({.planar = false, .recordings = 12}, 8, folder.path());
  WriteReport(folder / "report.html", run, kLibrary);
  EXPECT_EQ(test::PageFaults(folder / "report.html", "pictures",
                             {"keyboard", "replay", "pictures", "paper"}),
            "");
  pipelines::WriteReportWithin(folder / "apart.html", run, kLibrary, 100'000);
  EXPECT_EQ(test::PageFaults(folder / "apart.html", "pictures apart", {"recordings", "replay"}),
            "");
}

TEST(ReportBrowser, WithoutThePlottingLibraryTheDrawingsStand) {
  IMPACTLAB_SKIP_WITHOUT_BROWSER();
  const test::TemporaryFolder folder;
  WriteReport(folder / "report.html", FabricatedRun({.recordings = 24}), {});
  EXPECT_EQ(test::PageFaults(folder / "report.html", "static",
                             {"switch", "keyboard", "tables", "replay", "paper"}),
            "");
}

TEST(ReportBrowser, CheckFindsFaults) {
  IMPACTLAB_SKIP_WITHOUT_BROWSER();
  const test::TemporaryFolder folder;
  WriteReport(folder / "report.html", FabricatedRun({.recordings = 12}), {});
  std::string page = ReadFile(folder / "report.html");
  page = Replaced(page, "<main id=\"main\">",
                  "<main id=\"main\"><p style=\"color:#888;background:#aaa\">hardly to be "
                  "read</p><p style=\"width:2000px\">wider than a "
                  "telephone</p><h4>too deep</h4><button></button><div tabindex=\"0\" "
                  "style=\"outline:none\" aria-label=\"dark\">dark</div>");
  page = Replaced(page, "keyed.sort(", "[...keyed].sort(");
  page = Replaced(page, "figure:not(:has(details)), .plot, tr, .tile,", "tr, .tile,");
  page = Replaced(
      page, "</body>",
      "<script>console.error('complaint');new Image().src='http://example.org/pixel.png';throw new "
      "Error('broken');</script></body>");
  WriteFile(folder / "faulty.html", page);
  const std::string faults = test::PageFaults(folder / "faulty.html", "faulty",
                                              {"keyboard", "plots", "tables", "replay", "paper"});
  for (const char* fault :
       {"console error: complaint", "script error: broken", "hardly to be read",
        "wide in a window of 390", "level 4", "no name: <button", "no visible focus", "plots: none",
        "sorts to", "may be cut between pages"})
    EXPECT_THAT(faults, HasSubstr(fault));
  // The policy of the page refuses what asks for the network, before it is asked.
  EXPECT_THAT(faults, ::testing::AnyOf(HasSubstr("asks for http://example.org"),
                                       HasSubstr("Content Security Policy")));
}

}  // namespace
}  // namespace impactlab
