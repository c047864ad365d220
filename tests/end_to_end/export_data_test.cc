// `impactlab export` of tables and drawings, read back by programs of other people.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "data/files/atomic_file.h"
#include "pipelines/tables/tables.h"
#include "tests/support/fabricated_run.h"
#include "tests/support/process.h"
#include "tests/support/python.h"

namespace impactlab::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kReaders = std::string(IMPACTLAB_SOURCE_DIR) + "/tests/end_to_end/readers/";

class ExportData : public ::testing::Test {
 protected:
  ExportData() {
    testing::FabricateOptions options;
    options.planar = false;
    options.recordings = 6;
    options.frames = 20;
    RunResult run = testing::FabricatedRun(options);
    std::vector<ImpactEvent> events = run.best().events;
    // Text that looks like a number stays text, and letters beyond ASCII come through. (Those
    // beyond the first plane are two units of UTF-16, as MATLAB counts them; scipy counts them as
    // one and refuses the file.)
    events[0].recording = "0012";
    events[1].recording = "\u00E9, \"drop\" \u03BC";
    WriteEvents(File("run"), events);
    WriteFile(File("run/fit.json"), ToJson(run.best().fit));
    WriteFile(File("run/run.yaml"), "schema: impactlab.run/1\n");
  }
  std::filesystem::path File(const std::string& name) const { return scratch_.path() / name; }
  ProcessResult Run(std::vector<std::string> more, const std::string& prefix = "") const {
    more.insert(more.begin(), "export");
    return RunProgram(more, scratch_.path(), prefix);
  }
  // Runs a reader of tests/end_to_end/readers; what it printed.
  std::string Read(const std::string& python, const std::string& reader,
                   const std::vector<std::string>& files) const {
    std::string command = python + " " + ShellQuote(kReaders + reader);
    for (const std::string& file : files) command += " " + ShellQuote(File(file));
    const int status =
        std::system((command + " >" + ShellQuote(File("read.txt")) + " 2>&1").c_str());
    std::string said = ReadText(File("read.txt"));
    EXPECT_EQ(status, 0) << said;
    return said;
  }
  ScratchFolder scratch_{::testing::UnitTest::GetInstance()->current_test_info()->name()};
};

TEST_F(ExportData, ARunIsReadByScipyAndH5py) {
  for (const char* out : {"run.mat", "run.h5", "run.json"}) {
    const ProcessResult result = Run({File("run"), "--out", File(out)});
    ASSERT_EQ(result.code, 0) << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr("events (6)"), HasSubstr("events_cov (6)"),
                                  HasSubstr("fit ("), Not(HasSubstr("left out"))));
    std::set<std::string> said;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_TRUE(said.insert(line).second) << line;
  }
  const std::string python = PythonWith("scipy.io, h5py");
  if (python.empty()) GTEST_SKIP() << "skipped: no Python with scipy and h5py";
  EXPECT_THAT(Read(python, "data_set.py", {"run", "run.mat", "run.h5", "run.json"}),
              HasSubstr("values agree"));
  // The reader sees a number that is off by one unit in the last place.
  std::string events = ReadText(File("run/events.csv"));
  const std::size_t digit = events.find_first_of("12345678", events.find("0012,") + 8);
  ++events[digit];
  WriteFile(File("run/events.csv"), events);
  const int status = std::system((python + " " + ShellQuote(kReaders + "data_set.py") + " " +
                                  ShellQuote(File("run")) + " " + ShellQuote(File("run.mat")) +
                                  " " + ShellQuote(File("run.h5")) + " " +
                                  ShellQuote(File("run.json")) + " >/dev/null 2>&1")
                                     .c_str());
  EXPECT_NE(status, 0);
}

TEST_F(ExportData, ASecondReaderOfMarkerFilesAgrees) {
  std::string csv = "t_s,tip_x_m,tip_y_m,tip_z_m,end_x_m,end_y_m,end_z_m\n";
  for (int i = 0; i < 40; ++i) {
    csv += fmt::format("{},{},{},{}", i / 250.0, 0.1 + 1e-3 * i, -0.2 + 7.3e-4 * i,
                       0.5 - 1e-4 * i * i);
    csv += i == 11 ? std::string(",,,\n")
                   : fmt::format(",{},{},{}\n", 0.3 - 1e-3 * i, 1e-5 * i, 0.25 + 0.01 * i);
  }
  WriteFile(File("markers.csv"), csv);
  for (const char* out : {"markers.c3d", "markers.trc"}) {
    const ProcessResult result = Run({File("markers.csv"), "--out", File(out)});
    ASSERT_EQ(result.code, 0) << result.err;
  }
  const std::string python = PythonWith("struct");
  if (python.empty()) GTEST_SKIP() << "skipped: no Python";
  EXPECT_THAT(Read(python, "markers.py", {"markers.csv", "markers.c3d", "markers.trc"}),
              HasSubstr("79 points agree"));
}

TEST_F(ExportData, OneTableAsCsvAndLatex) {
  WriteFile(File("mu.csv"),
            "recording,mu_k,sd_mu_k,v_n_m_per_s\n7,0.2513,0.0123,-1.5\n8,0.26,,-2\n");
  EXPECT_EQ(Run({File("mu.csv"), "--out", File("mu.tex")}).code, 0);
  EXPECT_THAT(
      ReadText(File("mu.tex")),
      AllOf(HasSubstr("\\begin{tabular}{lrr}"), HasSubstr("v\\_n {[}m/s]"),
            HasSubstr("7 & $0.251 \\pm 0.012$ & $-1.500$"), HasSubstr("8 & $0.2600$ & $-2$")));
  EXPECT_EQ(Run({File("mu.csv"), "--out", File("again.csv")}).code, 0);
  EXPECT_EQ(ReadText(File("again.csv")), ReadText(File("mu.csv")));
  EXPECT_EQ(Run({File("run/events.csv"), "--out", File("events.csv")}).code, 0);
  EXPECT_EQ(ReadText(File("events.csv")), ReadText(File("run/events.csv")));
  EXPECT_EQ(Run({File("run/fit.json"), "--out", File("fit.csv")}).code, 0);
  EXPECT_THAT(
      ReadText(File("fit.csv")),
      HasSubstr("law,parameter,value,sd,sd_noise_only,lower95,upper95,identifiable,reason\n"));
}

TEST_F(ExportData, DrawingsBecomePdf) {
  WriteFile(File("plot.svg"),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"400\" height=\"300\"><path d=\"M10 "
            "10L390 290\" stroke=\"#000\"/>"
            "<text x=\"20\" y=\"200\">impulse</text></svg>");
  const ProcessResult result = Run({File("plot.svg"), "--out", File("a folder/plot.pdf")});
  EXPECT_EQ(result.code, 0) << result.err;
  const std::string pdf = ReadText(File("a folder/plot.pdf"));
  EXPECT_EQ(pdf.substr(0, 5), "%PDF-");
  EXPECT_THAT(pdf, AllOf(HasSubstr("/MediaBox [ 0 0 300 225 ]"), HasSubstr("/Font")));
  WriteFile(File("no.svg"), "a text\n");
  const ProcessResult refused = Run({File("no.svg"), "--out", File("no.pdf")});
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(refused.err, HasSubstr("allowed an SVG drawing"));
  EXPECT_FALSE(std::filesystem::exists(File("no.pdf")));
}

TEST_F(ExportData, MistakesAreOneLineAndLoseNothing) {
  const auto says = [&](const ProcessResult& result, int code, const std::string& what) {
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_THAT(result.err, HasSubstr(what));
  };
  says(Run({File("run"), "--out", File("run.csv")}), 2,
       "allowed .json, .mat, .h5, or one of the files");
  says(Run({File("run"), "--out", File("run.xlsx")}), 2, ".csv, .json, .mat, .h5 or .tex");
  says(Run({File("run/events.csv"), "--out", File("run.pdf")}), 2, "a .pdf from an .svg");
  says(Run({File("run"), "--out", File("run.h5"), "--recording", "a"}), 2, "--recording");
  std::filesystem::create_directories(File("nothing"));
  says(Run({File("nothing"), "--out", File("run.h5")}), 3, "found no table");
  // A file that does not fit leaves the last one.
  for (const char* name : {"run.mat", "run.h5", "run.json"}) {
    SCOPED_TRACE(name);
    WriteFile(File(name), "the last good file");
    says(Run({File("run"), "--out", File(name)}, "ulimit -f 4;"), 3, name);
    EXPECT_EQ(ReadText(File(name)), "the last good file");
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path()))
      EXPECT_NE(entry.path().filename().string()[0], '.');
  }
}

}  // namespace
}  // namespace impactlab::test
