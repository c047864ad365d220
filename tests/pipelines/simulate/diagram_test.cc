// Bifurcation diagrams: what the literature says of the ball on a vibrating floor, runs that end
// early, files that cannot be.

#include "pipelines/simulate/diagram.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/yaml/set.h"
#include "data/yaml/yaml.h"
#include "pipelines/config/run_context.h"

namespace impactlab {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

const std::string kData = std::string(IMPACTLAB_SOURCE_DIR) + "/data/";

class DiagramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::temp_directory_path() /
        (std::string("diagram_") + ::testing::UnitTest::GetInstance()->current_test_info()->name() +
         std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // The ball; `more` stands in for the keys that a test is about.
  Diagram Make(const std::string& x, const std::string& more) const {
    const fs::path file = folder_ / "d.yaml";
    WriteFile(file, "schema: impactlab.diagram/1\nname: test\nscenario: " + kData +
                        "scenarios/ball_on_vibrating_floor.yaml\nx: {" + x + "}\n" + more);
    return LoadDiagram(file);
  }
  Diagram Apexes(const std::string& x, const std::string& more = {}) const {
    return Make("key: planes.0.frequency_rad_per_s, " + x,
                "section: {kind: apex, falling: v_z_m_per_s}\nrecord: [z_m]\n" + more);
  }
  std::string Fault(const std::string& x, const std::string& more) const {
    try {
      Make(x, more);
    } catch (const ConfigError& fault) {
      return fault.what();
    }
    return "accepted";
  }
  std::vector<DiagramCell> Run(const Diagram& diagram, const std::string& journal,
                               int threads = 1) const {
    return ComputeDiagram(
        diagram, folder_ / journal, {.threads = threads}, [](std::size_t, std::size_t) {}, [] {});
  }
  // All files of a diagram in one text.
  std::string Files(const Diagram& diagram, const std::vector<DiagramCell>& cells) const {
    WriteDiagramPoints(folder_ / "points.csv", diagram, cells);
    WriteDiagramPeriods(folder_ / "periods.csv", diagram, cells);
    return ReadFile(folder_ / "points.csv") + ReadFile(folder_ / "periods.csv") +
           DiagramSvg(diagram, cells, 0);
  }
  fs::path folder_;
};

const std::string kStarts =
    "starts:\n  - {name: one, bodies.0.position_m.1: 6.3626, planes.0.phase_rad: 4.5312}\n"
    "  - {name: two, bodies.0.position_m.1: 22.4485, planes.0.phase_rad: 1.2020}\n"
    "  - {name: three, bodies.0.position_m.1: 49.2516, planes.0.phase_rad: 4.1411}\n";

// the Bristol thesis, section 5.4, with the apexes of its digest at three digits more.
TEST_F(DiagramTest, ThreeOrbitsLiveTogetherBelowTheirPeriodDoublings) {
  const Diagram diagram = Apexes("from: 3, to: 3.1, count: 2", kStarts + "transient: 400\n");
  const std::vector<DiagramCell> cells = Run(diagram, "journal");
  const double apex[3] = {6.362559, 22.448514, 49.251635};
  for (std::size_t s = 0; s < 3; ++s) {
    const DiagramCell& cell = cells[diagram.Index(s, 0, 0)];
    EXPECT_EQ(cell.end, "complete");
    EXPECT_EQ(cell.period, 1) << diagram.starts[s].name;
    EXPECT_EQ(cell.impacts, 1);
    EXPECT_FALSE(cell.rests);
    ASSERT_EQ(cell.points.size(), 64u);
    for (const auto& point : cell.points) EXPECT_NEAR(point[0], apex[s], 1e-5);
  }
}

// the Bristol thesis, Fig. 5.7 (a): chaos from about 3.5. The onset is where the last of the three
// orbits has lost its period.
TEST_F(DiagramTest, ChaosBeginsWhereTheDocumentSays) {
  const Diagram diagram = Apexes("from: 3, to: 3.76, step: 0.02", kStarts + "follow: up\n");
  const std::vector<DiagramCell> cells = Run(diagram, "journal", 0);
  double onset = 0;
  int above = 0, chaotic = 0;
  for (std::size_t ix = 0; ix < diagram.nx(); ++ix) {
    const double omega = diagram.x.values[ix];
    bool any = false;
    for (std::size_t s = 0; s < 3; ++s) {
      const int period = cells[diagram.Index(s, ix, 0)].period;
      any = any || period > 0;
      if (omega > 3.6) ++above, chaotic += period == 0;
    }
    EXPECT_TRUE(any || omega > 3.4) << omega;
    if (any && omega < 3.53) onset = omega + 0.01;
    // n = 1 first doubles its period at 3.15753.
    if (omega < 3.3) {
      EXPECT_EQ(cells[diagram.Index(0, ix, 0)].period, omega < 3.15753 ? 1 : 2) << omega;
    }
  }
  EXPECT_NEAR(onset, 3.5, 0.1);
  EXPECT_GT(chaotic, 0.9 * above);
}

// Fig. 5.7 (b), e = 0.8: chaos from about 3.8. That is where n = 3, the last orbit of period 1,
// doubles (3.78002 by its multipliers); it becomes chaotic at 3.92.
TEST_F(DiagramTest, TheLastOrbitDoublesWhereTheDocumentSeesChaos) {
  const Diagram diagram = Apexes("from: 3.7, to: 4.06, step: 0.01",
                                 "starts: [{name: three, every_contact.e: 0.8, "
                                 "bodies.0.position_m.1: 32.486, planes.0.phase_rad: 3.8639}]\n"
                                 "follow: up\n");
  const std::vector<DiagramCell> cells = Run(diagram, "journal", 0);
  int above = 0, chaotic = 0;
  for (std::size_t ix = 0; ix < diagram.nx(); ++ix) {
    const double omega = diagram.x.values[ix];
    const int period = cells[ix].period;
    if (omega < 3.775) {
      EXPECT_EQ(period, 1) << omega;
    }
    if (omega > 3.785 && omega < 3.875) {
      EXPECT_EQ(period, 2) << omega;
    }
    if (omega > 3.935) ++above, chaotic += period == 0;
  }
  EXPECT_GT(above, 10);
  EXPECT_GT(chaotic, 0.9 * above);
}

TEST_F(DiagramTest, ARunThatEndedAnywhereGoesOnToTheSameFiles) {
  for (const std::string follow : {"none", "up", "down"}) {
    const Diagram diagram =
        Apexes("from: 3, to: 3.6, count: 5",
               fmt::format("{}transient: 20\nkeep: 8\nfollow: {}\n", kStarts, follow));
    const std::string whole = Files(diagram, Run(diagram, "journal_" + follow));
    const std::string journal = ReadFile(folder_ / ("journal_" + follow));
    EXPECT_EQ(std::count(journal.begin(), journal.end(), '\n'), 16);
    const std::size_t n = journal.size();
    for (const std::size_t cut : {std::size_t{0}, std::size_t{5}, journal.find('\n'),
                                  journal.find('\n') + 1, n / 3, n / 2, n - 1, n}) {
      WriteFile(folder_ / "cut", journal.substr(0, cut));
      EXPECT_EQ(Files(diagram, Run(diagram, "cut")), whole) << follow << " cut at " << cut;
    }
    std::string damaged = journal;
    damaged[n / 2] = damaged[n / 2] == '7' ? '8' : '7';
    WriteFile(folder_ / "damaged", damaged);
    std::size_t dropped = 0;
    const auto cells = ComputeDiagram(
        diagram, folder_ / "damaged", {.threads = 1},
        [&](std::size_t, std::size_t lines) { dropped = lines; }, [] {});
    EXPECT_EQ(dropped,
              static_cast<std::size_t>(std::count(
                  journal.begin() + static_cast<std::ptrdiff_t>(n / 2), journal.end(), '\n')));
    EXPECT_EQ(Files(diagram, cells), whole) << follow;
    EXPECT_EQ(Files(diagram, Run(diagram, "two_" + follow, 2)), whole) << follow;
  }
}

TEST_F(DiagramTest, WhatIsDoneIsNotDoneAgain) {
  const Diagram diagram = Apexes("from: 3, to: 3.6, count: 5", "transient: 20\nkeep: 8\n");
  int done = 0;
  std::size_t left = 0;
  // Stops in the middle as Ctrl-C does.
  Cancellation cancellation;
  EXPECT_THROW(ComputeDiagram(
                   diagram, folder_ / "journal", {.threads = 1, .cancellation = &cancellation},
                   [](std::size_t, std::size_t) {},
                   [&] {
                     if (++done == 2) cancellation.Request();
                   }),
               Interrupted);
  const auto cells = ComputeDiagram(
      diagram, folder_ / "journal", {.threads = 1}, [&](std::size_t n, std::size_t) { left = n; },
      [&] { ++done; });
  EXPECT_EQ(left, 3u);
  EXPECT_EQ(done, 5);
  EXPECT_EQ(Files(diagram, cells), Files(diagram, Run(diagram, "other")));
}

TEST_F(DiagramTest, TheJournalOfAnotherDiagramIsRefused) {
  Run(Apexes("from: 3, to: 3.6, count: 3", "transient: 2\nkeep: 4\n"), "journal");
  const Diagram other = Apexes("from: 3, to: 3.6, count: 3", "transient: 3\nkeep: 4\n");
  try {
    Run(other, "journal");
    FAIL();
  } catch (const DataError& fault) {
    EXPECT_THAT(fault.what(), HasSubstr("journal of another diagram"));
  }
  WriteFile(folder_ / "notes", "shopping\nlist\n");
  EXPECT_THROW(Run(other, "notes"), DataError);
  EXPECT_EQ(ReadFile(folder_ / "notes"), "shopping\nlist\n");
}

// Slower than gravity allows a floor to fall the ball rests; the Bristol thesis, section 5.3: w* =
// sqrt(g / A).
TEST_F(DiagramTest, PeriodsOverTwoKeys) {
  const Diagram diagram = Make(
      "key: planes.0.frequency_rad_per_s, from: 2, to: 3, count: 2",
      "y: {key: every_contact.e, from: 0.6, to: 0.9, count: 2}\nsection: {kind: stroboscopic}\n"
      "record: [z_m, v_z_m_per_s]\ntransient: 300\nkeep: 32\n"
      "starts: [{name: low, bodies.0.position_m.1: 6.4}]\n");
  const std::vector<DiagramCell> cells = Run(diagram, "journal");
  EXPECT_TRUE(cells[diagram.Index(0, 0, 0)].rests);
  EXPECT_EQ(cells[diagram.Index(0, 0, 0)].impacts, 0);
  const DiagramCell& orbit = cells[diagram.Index(0, 1, 1)];
  EXPECT_FALSE(orbit.rests);
  EXPECT_EQ(orbit.period, 1);
  EXPECT_EQ(orbit.impacts, 1);
  EXPECT_TRUE(orbit.points.empty());
  EXPECT_EQ(diagram.x.values.back(), 3);
  WriteDiagramPeriods(folder_ / "periods.csv", diagram, cells);
  EXPECT_THAT(
      ReadFile(folder_ / "periods.csv"),
      HasSubstr("start,frequency_rad_per_s,e,end,period,impacts_per_period,rests\nlow,2,0.6,"));
}

TEST_F(DiagramTest, FilesThatCannotBeAreRefusedWithTheirKey) {
  const std::string x = "key: planes.0.frequency_rad_per_s, from: 3, to: 4, count: 3",
                    record = "record: [z_m]\n",
                    section = "section: {kind: apex, falling: v_z_m_per_s}\n",
                    ok = section + record;
  EXPECT_EQ(Fault(x, ok), "accepted");
  EXPECT_THAT(Fault("key: planes.0.frequency_rad_per_S, from: 3, to: 4, count: 3", ok),
              HasSubstr("nearest is frequency_rad_per_s"));
  EXPECT_THAT(Fault("key: planes.1.frequency_rad_per_s, from: 3, to: 4, count: 3", ok),
              HasSubstr("planes.1.frequency_rad_per_s: found no"));
  EXPECT_THAT(Fault("key: name, from: 3, to: 4, count: 3", ok), HasSubstr("allowed a number"));
  EXPECT_THAT(Fault("key: every_contact.e, from: 0.5, to: 1.5, count: 3", ok),
              HasSubstr("ball_on_vibrating_floor.yaml:12: every_contact.e"));
  EXPECT_THAT(Fault("key: every_contact.e, from: 0.5, to: 0.6, count: 0", ok),
              HasSubstr("x.count: found '0'"));
  EXPECT_THAT(Fault("key: every_contact.e, from: 0.5, to: 0.6, count: 100000000", ok),
              HasSubstr("x.count"));
  EXPECT_THAT(Fault("key: every_contact.e, from: 0.5, to: 0.6, count: 1000000", ok),
              HasSubstr("keep"));
  EXPECT_THAT(Fault(x, ok + "y: {key: every_contact.e, from: 0.1, to: 0.2, count: 500000}\n"),
              HasSubstr("1500000 values"));
  EXPECT_THAT(Fault("key: every_contact.e, from: 0.6, to: 0.5, count: 3", ok), HasSubstr("x.to"));
  EXPECT_THAT(Fault(x, "section: {kind: zero}\n" + record), HasSubstr("apex | stroboscopic"));
  EXPECT_THAT(Fault(x, "section: {kind: apex, falling: z_m}\n" + record), HasSubstr("v_z_m_per_s"));
  EXPECT_THAT(Fault(x, section + "record: [z_mm]\n"), HasSubstr("nearest is z_m"));
  EXPECT_THAT(Fault(x, ok + "keep: 16\nlongest_period: 5\n"),
              HasSubstr("at most a quarter of keep"));
  EXPECT_THAT(Fault(x, ok + "starts: [{name: a}, {name: a}]\n"), HasSubstr("every name once"));
  EXPECT_THAT(Fault(x, ok + "starts: [{name: a, planes.0.frequency_rad_per_s: 3}]\n"),
              HasSubstr("keys of no axis"));
  EXPECT_THAT(Fault(x, ok + "transients: 4\n"), HasSubstr("transient"));
}

TEST(YamlSet, OneNumberChangesAndLinesStay) {
  const std::string text =
      "# a comment\na: {b: [1, 2.5], word: \"x: y\"}\nflag: true\nempty:\nlist:\n  - c: 3\n  - c: "
      "4\n";
  const std::string set = SetYamlNumber(text, "t.yaml", "list.1.c", 0.1);
  const YamlNode root = ParseYaml(set, "t.yaml");
  EXPECT_EQ(root.List("list")[1].Number("c"), 0.1);
  EXPECT_EQ(root.List("list")[0].Number("c"), 3);
  EXPECT_EQ(root.Map("a").Text("word"), "x: y");
  EXPECT_TRUE(root.Flag("flag"));
  EXPECT_THAT(root.List("list")[1].Where("c"), HasSubstr("t.yaml:7"));
  EXPECT_EQ(
      ParseYaml(SetYamlNumber(text, "t.yaml", "a.b.1", -1e-9), "t").Map("a").Vector("b", 2)[1],
      -1e-9);
  EXPECT_THROW(SetYamlNumber(text, "t.yaml", "a.b", 1), ConfigError);
  EXPECT_THROW(SetYamlNumber(text, "t.yaml", "a.b.2", 1), ConfigError);
  EXPECT_THROW(SetYamlNumber(text, "t.yaml", "", 1), ConfigError);
}

TEST(DiagramFiles, ReadyDiagramsLoad) {
  int n = 0;
  for (const auto& entry : fs::directory_iterator(kData + "diagrams")) {
    EXPECT_NO_THROW(LoadDiagram(entry.path())) << entry.path();
    ++n;
  }
  EXPECT_GE(n, 3);
}

}  // namespace
}  // namespace impactlab
