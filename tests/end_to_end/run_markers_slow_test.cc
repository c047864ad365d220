// `impactlab run` from footage of a board and videos of drops to coefficients, the way a user runs
// it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "data/files/fit_result.h"
#include "data/files/table.h"
#include "tests/support/browser.h"
#include "tests/support/folder.h"
#include "tests/support/html.h"
#include "tests/support/process.h"
#include "tracking/video/video.h"

namespace impactlab {
namespace {

using test::ReadText;
using test::RunProgram;
using test::WriteText;
using ::testing::HasSubstr;

const std::filesystem::path kRunMarkersSample =
    std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data/sample/incline";

// The sample, run once.
class RunMarkers : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = new test::ScratchFolder("run markers");
    const auto result = RunProgram(
        {"run", kRunMarkersSample / "experiment.yaml", "--out", Out("run")}, folder->path());
    ASSERT_EQ(result.code, 0) << result.err;
    said = result.out;
  }
  static void TearDownTestSuite() {
    delete folder;
    folder = nullptr;
  }
  static std::filesystem::path Out(const std::string& name) { return folder->path() / name; }
  static LawFit Energetic(const std::filesystem::path& run) {
    const FitResult fit = FitResultFromJson(ReadText(run / "fit.json"), "fit.json");
    for (const LawFit& law : fit.fits)
      if (law.law == "energetic") return law;
    ADD_FAILURE() << "no energetic law";
    return {};
  }

  static test::ScratchFolder* folder;
  static std::string said;
};
test::ScratchFolder* RunMarkers::folder = nullptr;
std::string RunMarkers::said;

TEST_F(RunMarkers, CoefficientsHoldTheTruthFromPixels) {
  const LawFit law = Energetic(Out("run"));
  ASSERT_TRUE(law.fitted());
  const ParameterEstimate &mu = law.mu_k, &e = law.e;
  EXPECT_TRUE(mu.lower95 < 0.25 && 0.25 < mu.upper95) << mu.lower95 << " " << mu.upper95;
  EXPECT_TRUE(e.lower95 < 0.55 && 0.55 < e.upper95) << e.lower95 << " " << e.upper95;
  EXPECT_LT(mu.upper95 - mu.lower95, 0.02);
  EXPECT_LT(e.upper95 - e.lower95, 0.04);
  EXPECT_THAT(said, HasSubstr("rod on an incline: 6 recordings"));
}

TEST_F(RunMarkers, ReportIsShownWithoutFault) {
  IMPACTLAB_SKIP_WITHOUT_BROWSER();
  EXPECT_EQ(test::PageFaults(Out("run") / "report.html", "incline",
                             {"switch", "keyboard", "plots", "tables", "replay", "pictures",
                              "configuration", "paper"}),
            "");
}

TEST_F(RunMarkers, ImpactsAreWhereTheyWere) {
  const Table events = ReadCsv(
      Out("run/events.csv"),
      {.text_columns = {"recording", "reason", "detail"}, .is_text = {}, .empty_is_nan = true});
  const Table truth = ReadCsv(kRunMarkersSample / "truth.csv",
                              {.text_columns = {"recording", "reason", "detail", "law", "case"},
                               .is_text = {},
                               .empty_is_nan = true});
  // W of the calibration is the board on the incline, not the W of the truth: what both agree on is
  // compared, normal to the surface.
  std::map<std::string, std::vector<std::size_t>> of;
  for (std::size_t k = 0; k < truth.n_rows(); ++k)
    of[truth.TextColumn("recording")[k]].push_back(k);
  int compared = 0;
  for (std::size_t k = 0; k < events.n_rows(); ++k) {
    if (events.Column("accepted")[k] == 0 || events.Column("impact")[k] != 0) continue;
    const std::size_t row = of.at(events.TextColumn("recording")[k]).front();
    for (const char* column : {"v_minus_F_n_m_per_s", "v_plus_F_n_m_per_s"})
      EXPECT_NEAR(events.Column(column)[k], truth.Column(column)[row], 0.02)
          << events.TextColumn("recording")[k] << " " << column;
    ++compared;
  }
  EXPECT_GE(compared, 5);
}

TEST_F(RunMarkers, TheBudgetAddsUpAndNamesTheLargest) {
  const Table budget =
      ReadCsv(Out("run/budget.csv"), {.text_columns = {"quantity", "law", "unit", "source", "how"},
                                      .is_text = {},
                                      .empty_is_nan = true});
  std::map<std::string, double> shares;
  for (std::size_t k = 0; k < budget.n_rows(); ++k)
    shares[budget.TextColumn("law")[k] + " " + budget.TextColumn("quantity")[k]] +=
        budget.Column("share")[k];
  EXPECT_GE(shares.size(), 11u);
  for (const auto& [quantity, share] : shares) EXPECT_NEAR(share, 1, 1e-9) << quantity;
  // The coefficients of the fit carry what the budget says in all.
  const LawFit law = Energetic(Out("run"));
  for (const ParameterEstimate& p : ListParameters(law)) {
    double variance = 0;
    for (std::size_t k = 0; k < budget.n_rows(); ++k)
      if (budget.TextColumn("law")[k] == "energetic" && budget.TextColumn("quantity")[k] == p.name)
        variance += std::pow(budget.Column("sd")[k], 2);
    EXPECT_NEAR(p.sd, std::sqrt(variance), 1e-6 * p.sd) << p.name;
  }
}

TEST_F(RunMarkers, EntersAtTheTracksAndComesToTheSame) {
  // Poses, tracks and rig of the run are files that another run starts from.
  std::string text = ReadText(kRunMarkersSample / "experiment.yaml");
  const std::string from = "calibration: calibration/calibration.yaml",
                    tracking = "tracking: tracking.yaml";
  ASSERT_THAT(text, HasSubstr(from));
  text.replace(text.find(from), from.size(),
               "rig: '" + Out("run/calibration/rig.yaml").string() + "'\n  tracks: '" +
                   Out("run/tracking/tracks.csv").string() + "'");
  text.replace(text.find(tracking), tracking.size(),
               "tracking: '" + (kRunMarkersSample / "tracking.yaml").string() + "'");
  WriteText(Out("again.yaml"), text);
  const auto result = RunProgram({"run", Out("again.yaml"), "--out", Out("again")}, folder->path());
  ASSERT_EQ(result.code, 0) << result.err;
  const LawFit first = Energetic(Out("run")), second = Energetic(Out("again"));
  for (std::size_t k = 0; k < 2; ++k)
    EXPECT_NEAR(ListParameters(first)[k].get().value, ListParameters(second)[k].get().value,
                0.2 * ListParameters(first)[k].get().sd)
        << ListParameters(first)[k].get().name;
  EXPECT_FALSE(std::filesystem::exists(Out("again/tracking")));
}

TEST_F(RunMarkers, PosesAreAnExperimentOfTheirOwn) {
  const std::string text =
      "schema: impactlab.experiment/1\nrecordings: {files: 'run/poses/*.csv', kind: "
      "spatial_poses}\n"
      "body: {shape: rod, length_m: 0.2, radius_m: 0.006}\ngravity_m_per_s2: [3.354, 0, -9.2152]\n";
  WriteText(Out("poses.yaml"), text);
  const auto result =
      RunProgram({"reconstruct", Out("poses.yaml"), "--out", Out("poses")}, folder->path());
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(RunMarkers, TheReportTellsOfThePixels) {
  const std::string page = ReadText(Out("run/report.html"));
  EXPECT_THAT(page, HasSubstr("From the pixels"));
  EXPECT_THAT(page, HasSubstr("Error budget"));
  EXPECT_THAT(page, HasSubstr("calibration/calibration.html"));
  for (const char* file :
       {"calibration/calibration.html", "calibration/rig.yaml", "tracking/tracking.html",
        "tracking/tracks.csv", "drops.csv", "poses/drop_0001.csv", "run.yaml"})
    EXPECT_TRUE(std::filesystem::exists(Out("run") / file)) << file;
}

TEST_F(RunMarkers, TheReplayHoldsWhatTheCamerasSaw) {
  const nlohmann::json recordings = test::Block(ReadText(Out("run/report.html")), "recording-data");
  ASSERT_EQ(recordings.size(), 6u);
  int marks = 0, fitted = 0, near = 0;
  for (const auto& recording : recordings) {
    ASSERT_TRUE(recording.contains("pictures")) << recording["name"];
    ASSERT_EQ(recording["pictures"].size(), 2u);
    for (const auto& picture : recording["pictures"]) {
      const std::string name =
          recording["name"].get<std::string>() + "_" + picture["camera"].get<std::string>();
      const GrayImage sheet = ReadImage(Out("run/tracking/frames") / (name + ".jpg"));
      const int columns = picture["columns"], wide = picture["tile"][0], high = picture["tile"][1];
      EXPECT_EQ(picture["frames"].size(), 21u);
      for (std::size_t k = 0; k < picture["frames"].size(); ++k) {
        const auto& frame = picture["frames"][k];
        for (const auto& mark : frame[2]) {
          const auto gray = [&](int column, int row) {
            const double x = std::clamp(mark[column].get<double>(), 1.0, wide - 1.0),
                         y = std::clamp(mark[row].get<double>(), 1.0, high - 1.0);
            return sheet.At(static_cast<int>(k) % columns * wide + static_cast<int>(x),
                            static_cast<int>(k) / columns * high + static_cast<int>(y));
          };
          EXPECT_GT(gray(1, 2), 100)
              << name << " frame " << frame[0] << ": no bright marker where it was found";
          ++marks;
          if (mark.size() < 6) continue;
          ++fitted;
          near += mark[5].get<double>() < 1;
          if (mark[5].get<double>() < 1) {
            EXPECT_GT(gray(3, 4), 100)
                << name << " frame " << frame[0] << ": no bright marker where the fit says";
          }
        }
      }
    }
  }
  EXPECT_GT(marks, 6 * 2 * 21 * 2);
  EXPECT_GT(fitted, marks / 2);
  // The sample holds impacts that no fit follows.
  EXPECT_GT(near, 0.8 * fitted);
}

TEST_F(RunMarkers, FramesThatAreGoneAreKeptAnew) {
  const std::filesystem::path table = Out("run/tracking/frames/drop_0001_left.json"),
                              picture = Out("run/tracking/frames/drop_0001_left.jpg");
  const std::string before = ReadText(picture), page = ReadText(Out("run/report.html"));
  ASSERT_FALSE(before.empty());
  const auto again = [&] {
    const auto result =
        RunProgram({"run", kRunMarkersSample / "experiment.yaml", "--out", Out("run"), "--json"},
                   folder->path());
    EXPECT_EQ(result.code, 0) << result.err;
    return nlohmann::json::parse(result.out).at("stages");
  };
  EXPECT_EQ(again().at("pictures").at("made"), 0);
  EXPECT_EQ(test::Block(ReadText(Out("run/report.html")), "recording-data"),
            test::Block(page, "recording-data"));
  std::filesystem::remove(table);
  std::filesystem::remove(picture);
  const auto stages = again();
  EXPECT_EQ(stages.at("pictures").at("made"), 1);
  EXPECT_EQ(stages.at("tracks").at("made"), 0);
  EXPECT_TRUE(std::filesystem::exists(table));
  EXPECT_TRUE(ReadText(picture) == before);
}

TEST_F(RunMarkers, WhatIsMissingIsSaidWithItsCure) {
  const auto refusal = [&](const std::string& text) {
    WriteText(Out("bad.yaml"), text);
    const auto result = RunProgram({"run", Out("bad.yaml"), "--out", Out("bad")}, folder->path());
    EXPECT_EQ(result.code, 2) << text << result.err;
    return result.err;
  };
  const std::string tracking = "'" + (kRunMarkersSample / "tracking.yaml").string() + "'",
                    body = "body: {shape: rod, length_m: 0.2, radius_m: 0.006}\n";
  const std::string start = "schema: impactlab.experiment/1\n" + body;
  EXPECT_THAT(refusal(start + "recordings: {kind: marker}\n"), HasSubstr("markers"));
  EXPECT_THAT(refusal(start + "recordings: {kind: markers}\n"), HasSubstr("tracking"));
  EXPECT_THAT(refusal(start + "recordings: {kind: markers, tracking: " + tracking +
                      ", rig: a.yaml, calibration: b.yaml}\n"),
              HasSubstr("one of them"));
  EXPECT_THAT(
      refusal(start + "drag_per_m: 0.1\nrecordings: {kind: markers, tracking: " + tracking + "}\n"),
      HasSubstr("drag_per_m"));
  EXPECT_THAT(refusal(start + "recordings: {kind: markers, tracking: " + tracking +
                      ", tracks: none.csv, files: '*.csv'}\n"),
              HasSubstr("files"));
}

}  // namespace
}  // namespace impactlab
