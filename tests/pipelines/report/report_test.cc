#include "pipelines/report/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "tests/support/fabricated_run.h"
#include "tests/support/html.h"

namespace impactlab {
namespace {

using Json = nlohmann::json;
using test::Block;
using test::CountOf;
using testing::FabricatedRun;
using testing::MutablePoses;

constexpr double kReportNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kReportInfinity = std::numeric_limits<double>::infinity();

class ReportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() /
        ("report_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
         std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    library_ = folder_ / "library.js";
    WriteFile(library_, "var Plotly = {};");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Page(const RunResult& run, const std::filesystem::path& library) const {
    const std::filesystem::path path = folder_ / "report.html";
    WriteReport(path, run, library);
    return ReadFile(path);
  }
  std::string Static(const RunResult& run) const { return Page(run, {}); }
  std::string Interactive(const RunResult& run) const { return Page(run, library_); }

  std::filesystem::path folder_, library_;
};

std::vector<double> Unpack(const Json& packed) {
  static const std::string kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const std::string text = packed[0];
  const double lower = packed[1], upper = packed[2];
  std::vector<int> bytes;
  for (std::size_t i = 0; i + 3 < text.size(); i += 4) {
    int word = 0, n = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const std::size_t digit = kDigits.find(text[i + k]);
      word = word * 64 + (digit == std::string::npos ? 0 : static_cast<int>(digit));
      n += digit == std::string::npos ? 0 : 1;
    }
    for (int k = 0; k + 1 < n; ++k) bytes.push_back((word >> (16 - 8 * k)) & 255);
  }
  std::vector<double> values;
  for (std::size_t i = 0; i + 1 < bytes.size(); i += 2) {
    const int code = bytes[i] + 256 * bytes[i + 1];
    values.push_back(code == 0xFFFF ? kReportNaN : lower + (upper - lower) * code / 65534);
  }
  return values;
}

// Greatest distance of the used frames from the arcs of a recording, linear between the arc's
// points, over all channels.
double Misfit(const Json& recording, std::size_t channel) {
  const std::vector<double> t = Unpack(recording["t"]),
                            values = Unpack(recording["channels"][channel]);
  double worst = 0;
  for (const Json& range : recording["used"])
    for (std::size_t i = range[0]; i <= range[1].get<std::size_t>(); ++i) {
      double least = kReportInfinity;
      for (const Json& arc : recording["arcs"]) {
        const std::vector<double> at = Unpack(arc["t"]), y = Unpack(arc["channels"][channel]);
        for (std::size_t k = 0; k + 1 < at.size(); ++k) {
          const double a = std::min(at[k], at[k + 1]), b = std::max(at[k], at[k + 1]);
          if (t[i] < a - 2e-5 || t[i] > b + 2e-5) continue;
          least =
              std::min(least, std::abs(values[i] - y[k] -
                                       (y[k + 1] - y[k]) * (t[i] - at[k]) / (at[k + 1] - at[k])));
        }
      }
      worst = std::max(worst, least);
    }
  return worst;
}

TEST_F(ReportTest, PagesAreWellFormed) {
  for (const bool planar : {true, false})
    for (const bool corrected : {true, false}) {
      const RunResult run =
          FabricatedRun({.planar = planar, .recordings = 24, .corrected = corrected});
      EXPECT_EQ(test::HtmlFault(Interactive(run)), "");
      EXPECT_EQ(test::HtmlFault(Static(run)), "");
    }
}

TEST_F(ReportTest, CheckerFindsFaults) {
  EXPECT_NE(test::HtmlFault("<p>a<b</p>"), "");
  EXPECT_NE(test::HtmlFault("<p><i></p></i>"), "");
  EXPECT_NE(test::HtmlFault("<p id=\"a\"></p><p id=\"a\"></p>"), "");
  EXPECT_NE(test::HtmlFault("<p class=a></p>"), "");
  EXPECT_NE(test::HtmlFault("<div>"), "");
}

TEST_F(ReportTest, UserTextCannotLeaveItsPlace) {
  const std::string nasty =
      "</script><script>alert('x')</script>\"><img src=x onerror=1> & <!-- \u00FC\u6F22 \xff\x01 '";
  RunResult run = FabricatedRun({.recordings = 6});
  run.experiment.name = nasty;
  run.experiment.path = nasty + ".yaml";
  run.experiment.recordings = nasty;
  run.experiment.body.name = nasty;
  MutablePoses(&run, 0).name = nasty;
  for (Analysis* analysis : {&run.recorded, &run.corrected}) {
    analysis->events[0].recording = analysis->motion[0].events[0].recording = nasty;
    analysis->events[2].detail = analysis->motion[2].events[0].detail = nasty;
    analysis->fit.fits[0].mu_k.identifiable = false;
    analysis->fit.fits[0].mu_k.reason = nasty;
    analysis->fit.fits[0].influence[0].recording = nasty;
    for (ValidationRow& row : analysis->validation.rows) row.quantity += nasty;
    for (PredictionError& error : analysis->validation.errors) error.path_case = nasty;
    for (ErrorSummary& summary : analysis->validation.error_summary)
      if (summary.group != "all") summary.group = nasty;
  }
  run.audit.findings[0].text = nasty;
  run.audit.findings[0].parameter = nasty;
  run.audit.evidence[0].source = nasty;
  run.audit.evidence[3].estimate.reason = nasty;
  run.audit_corrected.inertia_note = nasty;
  run.audit_corrected.events[0].recording = nasty;
  run.audit_corrected.events[0].friction = nasty;
  for (const std::string& page : {Interactive(run), Static(run)}) {
    EXPECT_EQ(test::HtmlFault(page), "");
    EXPECT_EQ(CountOf(page, "<img"), 0u);
    EXPECT_EQ(CountOf(page, "<script>alert"), 0u);
    EXPECT_EQ(CountOf(page, "\xff"), 0u);
    EXPECT_EQ(CountOf(page, "\x01"), 0u);
    EXPECT_GT(CountOf(page, "&lt;/script&gt;"), 5u);
  }
  // The name reaches the script whole, save for bytes that are no text.
  const std::string name = Block(Interactive(run), "recording-data")[0]["name"];
  EXPECT_EQ(name.substr(0, nasty.find('\xff')), nasty.substr(0, nasty.find('\xff')));
}

TEST_F(ReportTest, NumbersThatAreNoneBecomeNullAndDashes) {
  RunResult run = FabricatedRun({.recordings = 9});
  for (Analysis* analysis : {&run.recorded, &run.corrected}) {
    for (std::size_t i = 0; i < analysis->validation.rows.size(); i += 3) {
      ValidationRow& row = analysis->validation.rows[i];
      row.predicted = kReportNaN, row.sd_measured = kReportInfinity, row.z = -kReportInfinity;
    }
    analysis->events[0].v_plus.setConstant(kReportNaN);
    analysis->motion[0].events[0].v_plus.setConstant(kReportNaN);
    analysis->motion[1].events[0].t = kReportNaN;
    analysis->motion[1].arcs[0].acceleration_W.setConstant(kReportInfinity);
    for (LawFit& fit : analysis->fit.fits) {
      fit.mu_k = {"mu_k", kReportNaN,      kReportNaN, kReportNaN,
                  0,      kReportInfinity, false,      "no impact slides"};
      fit.grid_deviance(3, 4) = kReportNaN;
      fit.loglik = -kReportInfinity;
      fit.influence[0].shift = {kReportNaN, kReportInfinity};
    }
    for (ErrorSummary& summary : analysis->validation.error_summary)
      summary.mean_by_plus = kReportNaN;
  }
  MutablePoses(&run, 3).X_WB[5].translation().setConstant(kReportNaN);
  run.audit.momentum.rms = kReportNaN;
  run.audit_corrected.gravity.value = kReportNaN;
  const std::string page = Interactive(run);
  EXPECT_EQ(test::HtmlFault(page), "");
  EXPECT_TRUE(Block(page, "figure-data").is_array());  // parse() refuses nan and inf
  EXPECT_TRUE(Block(page, "recording-data").is_array());
  const std::string text = page.substr(0, page.find("<script"));
  for (const char* word : {">nan", ">inf", ">-nan", "nan ", " -inf", "\"-inf", "NaN"})
    EXPECT_EQ(CountOf(text, word), 0u) << word;
  EXPECT_NE(text.find("no impact slides"), std::string::npos);
  EXPECT_EQ(test::HtmlFault(Static(run)), "");
}

TEST_F(ReportTest, RunsWithoutResultsGiveSensiblePages) {
  const RunResult rejected =
      FabricatedRun({.recordings = 8, .corrected = false, .accepted = false});
  for (const std::string& page : {Interactive(rejected), Static(rejected)}) {
    EXPECT_EQ(test::HtmlFault(page), "");
    EXPECT_NE(page.find("so no coefficient was identified"), std::string::npos);
    EXPECT_NE(page.find("second contact too soon"), std::string::npos);
    EXPECT_NE(page.find("No law was fitted"), std::string::npos);
  }
  RunResult nothing;
  for (const std::string& page : {Interactive(nothing), Static(nothing)}) {
    EXPECT_EQ(test::HtmlFault(page), "");
    EXPECT_NE(page.find("No impact in 0"), std::string::npos);
  }
  // Fits that came to nothing, one parameter only, and a recording that could not be read.
  RunResult odd = FabricatedRun({.recordings = 6, .corrected = false});
  for (LawFit& fit : odd.recorded.fit.fits) {
    LawFit bare;
    bare.law = fit.law;
    fit = bare;
  }
  odd.recorded.fit.fits[0].mu_k.name = "mu_k";
  odd.recorded.validation = {};
  PoseRecording& unread = MutablePoses(&odd, 2);
  unread.t.clear();
  unread.X_WB.clear();
  unread.theta.clear();
  odd.recorded.motion[2] = {};
  ImpactEvent bad;
  bad.recording = unread.name;
  bad.reason = RejectReason::kBadRecording;
  odd.recorded.motion[2].events = {bad};
  odd.recorded.events[2] = bad;
  EXPECT_EQ(test::HtmlFault(Interactive(odd)), "");
  const std::string page = Static(odd);
  EXPECT_EQ(test::HtmlFault(page), "");
  EXPECT_NE(page.find("file cannot be used"), std::string::npos);
}

TEST_F(ReportTest, FallsBackToDrawingsWithoutTheLibrary) {
  const RunResult run = FabricatedRun({.recordings = 20});
  std::ofstream(folder_ / "empty.js").flush();
  for (const std::filesystem::path& library :
       {std::filesystem::path(), folder_ / "absent.js", folder_, folder_ / "empty.js"}) {
    const std::string page = Page(run, library);
    EXPECT_EQ(CountOf(page, "figure-data"), 0u) << library;
    EXPECT_NE(page.find("its plots are static drawings"), std::string::npos);
    EXPECT_GT(CountOf(page, "<svg class=\"plot\""), 15u);
    EXPECT_NE(page.find("12 of"), std::string::npos);  // recordings drawn
  }
  const std::string page = Interactive(run);
  EXPECT_EQ(CountOf(page, "its plots are static drawings"), 0u);
  EXPECT_EQ(CountOf(page, "id=\"figure-data\""), 1u);
  EXPECT_GT(CountOf(page, "<svg class=\"plot\""), 8u);  // they stand in until the script has run
}

TEST_F(ReportTest, LibraryCannotEndItsElement) {
  WriteFile(library_,
            "var Plotly = {}; var a = \"</script>\", b = '</SCRIPT >', c = '<\\/script>';");
  const std::string page = Interactive(FabricatedRun({.recordings = 5}));
  EXPECT_EQ(test::HtmlFault(page), "");
  EXPECT_GT(CountOf(page, "<script"), 4u);
  EXPECT_EQ(CountOf(page, "</script"), CountOf(page, "<script"));
  EXPECT_EQ(CountOf(page, "</SCRIPT"), 0u);
  EXPECT_EQ(CountOf(page, "<\\/SCRIPT >"), 1u);
}

TEST_F(ReportTest, AsksForNothingFromElsewhere) {
  for (const std::string& page :
       {Interactive(FabricatedRun({.recordings = 9})), Static(FabricatedRun({.recordings = 9}))}) {
    for (const char* part :
         {"http:", "https:", "url(", "@import", " src=", "fetch(", "XMLHttpRequest"})
      EXPECT_EQ(CountOf(page, part), 0u) << part;
    EXPECT_EQ(CountOf(page, "id=\"figure-data\"") > 0,
              CountOf(page, "showSendToCloud: false, plotlyServerURL: ''") == 1);
    EXPECT_EQ(CountOf(page, "href="), CountOf(page, "href=\"#") + CountOf(page, "href=\"data:,\""));
    // Links within the page lead somewhere.
    for (std::size_t i = 0; (i = page.find("href=\"#", i)) != std::string::npos; ++i) {
      const std::string id = page.substr(i + 7, page.find('"', i + 7) - i - 7);
      EXPECT_EQ(CountOf(page, " id=\"" + id + "\""), 1u) << id;
    }
  }
}

TEST_F(ReportTest, StaysSmallForManyRecordings) {
  WriteFile(library_, "var Plotly = {};" + std::string(1500000, ' '));
  for (const bool planar : {true, false}) {
    const std::string page =
        Interactive(FabricatedRun({.planar = planar, .recordings = 400, .frames = 200}));
    EXPECT_LT(page.size(), 6.0e6) << (planar ? "planar" : "spatial");
  }
  // Long recordings are thinned, and the page knows.
  const Json recordings =
      Block(Interactive(FabricatedRun({.recordings = 3, .frames = 5000})), "recording-data");
  EXPECT_GT(recordings[0]["stride"], 5);
  EXPECT_EQ(Unpack(recordings[0]["t"]).size(), Unpack(recordings[0]["channels"][2]).size());
}

TEST_F(ReportTest, ArcsPassThroughTheFramesTheyWereFittedTo) {
  RunResult run = FabricatedRun({.recordings = 12, .frames = 200, .corrected = false});
  const Json planar = Block(Interactive(run), "recording-data");
  ASSERT_EQ(planar.size(), 12u);
  for (const Json& recording : planar) {
    ASSERT_EQ(recording["arcs"].size(), 2u);
    ASSERT_EQ(recording["used"].size(), 2u);
    for (const std::size_t channel : {0u, 1u}) EXPECT_LT(Misfit(recording, channel), 4e-4);
    EXPECT_LT(Misfit(recording, 2), 6e-3);
  }
  for (const Json& recording :
       Block(Interactive(FabricatedRun({.planar = false, .recordings = 12, .corrected = false})),
             "recording-data"))
    for (std::size_t channel = 0; channel < 7; ++channel)
      EXPECT_LT(Misfit(recording, channel), channel < 3 ? 4e-4 : 6e-3);
}

TEST_F(ReportTest, ArcsFollowARecordingThatLostFrames) {
  RunResult run = FabricatedRun({.recordings = 6, .corrected = false});
  for (std::size_t i = 0; i < run.n_recordings(); ++i) {
    // The frame after the impact is lost and the later ones are stamped as if nothing were missing.
    PoseRecording& recording = MutablePoses(&run, i);
    ImpactEvent& event = run.recorded.motion[i].events[0];
    const auto lost =
        std::upper_bound(recording.t.begin(), recording.t.end(), event.t) - recording.t.begin();
    recording.t.pop_back();
    recording.X_WB.erase(recording.X_WB.begin() + lost);
    recording.theta.erase(recording.theta.begin() + lost);
    event.frames_lost = 1;
    run.recorded.events[i] = event;
  }
  for (const Json& recording : Block(Interactive(run), "recording-data")) {
    EXPECT_EQ(recording["impacts"][0]["lost"], 1);
    for (const std::size_t channel : {0u, 1u}) EXPECT_LT(Misfit(recording, channel), 4e-4);
    EXPECT_LT(Misfit(recording, 2), 6e-3);
  }
}

TEST_F(ReportTest, SpeaksFirstOfTheLawThatPredictsBest) {
  RunResult run = FabricatedRun({.recordings = 15, .corrected = false});
  run.recorded.scrutiny.laws = {};  // nothing was compared: the median error decides
  EXPECT_NE(Static(run).find("the energetic law of restitution predicts"), std::string::npos);
  for (ErrorSummary& summary : run.recorded.validation.error_summary)
    if (summary.law == "newton" && summary.group == "all" && !summary.in_sample)
      summary.median_by_plus = 0.0123;
  const std::string page = Static(run);
  EXPECT_NE(page.find("Newton\u2019s law of restitution predicts the motion after impacts of "
                      "recordings it has not seen with a median "
                      "error of 1.2\u00A0%"),
            std::string::npos);
  // A better fit in sample alone does not count.
  for (ErrorSummary& summary : run.recorded.validation.error_summary)
    if (summary.law == "poisson" && summary.in_sample) summary.median_by_plus = 0.001;
  EXPECT_NE(Static(run).find("Newton\u2019s law of restitution predicts"), std::string::npos);
}

TEST_F(ReportTest, SaysWhatTheAuditChanged) {
  RunResult run = FabricatedRun({.recordings = 15});
  std::string page = Static(run);
  EXPECT_NE(page.find("attitude offset (\u221235.9\u00A0\u00B1\u00A00.4\u00A0mrad)"),
            std::string::npos);
  EXPECT_NE(page.find("from 23\u00A0% to 4.9\u00A0%"), std::string::npos);
  EXPECT_NE(page.find("as recorded</td>"), std::string::npos);
  EXPECT_NE(page.find("<b>attitude offset</b>: \u22120.03590 ± 0.00040 rad (rest attitude "
                      "\u22120.03580 ± 0.00040 rad, momentum \u22120.0362 ± "
                      "1.1\u00D710<sup>\u22123</sup> rad)"),
            std::string::npos);
  EXPECT_NE(page.find("<b>length scale or clock rate</b>"), std::string::npos);
  EXPECT_LT(page.find("class=\"badge\">found"), page.find("class=\"badge\">undecided"));
  run.has_corrected = false;
  page = Static(run);
  EXPECT_NE(page.find("The experiment file does not allow a correction."), std::string::npos);
  run.audit.findings.clear();
  EXPECT_NE(Static(run).find("The audit finds no frame error"), std::string::npos);
}

TEST_F(ReportTest, LeavesTheLastGoodPageWhenItCannotBeWritten) {
  const RunResult run = FabricatedRun({.recordings = 4});
  EXPECT_THROW(WriteReport(folder_, run, {}), OutputError);
  const std::filesystem::path path = folder_ / "new" / "deep" / "report.html";
  WriteReport(path, run, {});
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
  // no temporary stays
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path.parent_path()), {}), 1);
}

TEST_F(ReportTest, SameRunGivesTheSamePage) {
  const RunResult run = FabricatedRun({.recordings = 12});
  const auto without_time = [](std::string page) {
    const std::size_t at = page.find("Computed</th>");
    return page.erase(at, page.find("</tr>", at) - at);
  };
  EXPECT_EQ(without_time(Interactive(run)), without_time(Interactive(run)));
}

}  // namespace
}  // namespace impactlab
