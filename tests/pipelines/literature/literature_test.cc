// Sun 2017 from its file: every disagreement that is known is found, and bad files are refused
// in one line.

#include "pipelines/literature/literature.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "data/base/error.h"
#include "data/files/table.h"
#include "tests/support/folder.h"
#include "tests/support/html.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

using test::TemporaryFolder;
using test::WriteText;
using ::testing::HasSubstr;

const std::filesystem::path kPublished =
    std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data/published";

class Sun : public ::testing::Test {
 public:
  static void SetUpTestSuite() {
    all = new PublishedTables(LoadPublished(kPublished / "004_sun.yaml"));
  }
  static void TearDownTestSuite() { delete all; }

 protected:
  static const PublishedTable& Of(const std::string& body) {
    return all->tables[body == "rod" ? 0 : 1];
  }
  static const RowAudit& Row(const std::string& body, const std::string& row) {
    return Of(body).audit.rows[Index(row)];
  }
  static std::size_t Index(const std::string& row) {
    return static_cast<std::size_t>(row[0] - 'A');
  }
  // Sentences of the faults of a kind in a row.
  static std::string Said(const std::string& body, const std::string& row,
                          const std::string& kind) {
    std::string out;
    for (const TableFault& f : Of(body).audit.faults)
      if (f.row == row && f.kind == kind) out += f.sentence + "\n";
    return out;
  }
  static PublishedTables* all;
};
PublishedTables* Sun::all = nullptr;

TEST_F(Sun, ReadsEveryColumn) {
  EXPECT_TRUE(all->unread.empty());
  ASSERT_EQ(all->tables.size(), 2U);
  for (const PublishedTable& t : all->tables) EXPECT_EQ(t.table.rows.size(), 6U);
  const PrintedRow& b = Of("rod").table.rows[1];
  EXPECT_EQ(b.minus.value.z(), -1.72);  // y down of the source is -z of W
  EXPECT_EQ(b.plus.value[4], -15.1);    // about z of the source, y of W
  EXPECT_DOUBLE_EQ(b.plus.half[4], 0.05);
  EXPECT_DOUBLE_EQ(b.plus.half[3], 0.005);
}

// data/published/README.md lists what the energy columns should read; three numbers there are of
// other attitudes for D to F.
TEST_F(Sun, EnergyColumnsThatDoNotFollow) {
  const std::map<std::string, double> lost = {{"rod A", 91.4}, {"rod B", 2.3}, {"rod C", 45.5},
                                              {"bar A", 78.5}, {"bar B", 6.2}, {"bar C", 20.2}};
  for (const auto& [name, percent] : lost) {
    const std::string body = name.substr(0, 3), row = name.substr(4);
    EXPECT_NEAR(100 * Row(body, row).loss_printed_inertia.value, percent, 0.051) << name;
    EXPECT_THAT(Said(body, row, "energy"), HasSubstr("is printed")) << name;
  }
  EXPECT_NEAR(Row("rod", "B").T_minus.value, 0.2515, 5e-5);
  EXPECT_THAT(Said("rod", "B", "energy"),
              HasSubstr("2.3 % with the inertia printed); a loss of 46.2 % is printed"));
  EXPECT_THAT(Said("rod", "E", "energy"), HasSubstr("gain"));
  EXPECT_THAT(Said("rod", "F", "energy"), HasSubstr("gain"));
  for (const char* row : {"D", "E", "F"})
    for (const char* body : {"rod", "bar"})
      EXPECT_THAT(Said(body, row, "energy"), HasSubstr("is printed")) << body << row;
}

TEST_F(Sun, MomentumThatDoesNotClose) {
  EXPECT_NEAR(Row("rod", "B").spin_turned, 11.4, 0.06);
  EXPECT_NEAR(Row("rod", "B").spin_tabulated, 15.2, 0.05);
  for (const char* row : {"B", "C"})
    for (const char* body : {"rod", "bar"})
      EXPECT_NE(Said(body, row, "momentum"), "") << body << row;
  // Within a contact anywhere on the end of the rod, A closes.
  EXPECT_EQ(Said("rod", "A", "momentum"), "");
}

TEST_F(Sun, HeadingsAndLabels) {
  EXPECT_THAT(Said("bar", "", "coefficient"), HasSubstr("mu_s = 0.416, equation 4.34 gives 0.262"));
  EXPECT_THAT(Said("bar", "", "coefficient"), HasSubstr("gives 0.293"));
  EXPECT_EQ(Said("rod", "", "coefficient"), "");
  EXPECT_THAT(
      Said("bar", "B", "label"),
      HasSubstr(
          "2.75 (the number of 2c in plots) is reverse sliding, the label reads \"Sliding\""));
  EXPECT_THAT(Said("bar", "C", "label"),
              HasSubstr("case 1 is sticking, the label reads \"RSliding\""));
  for (const char* row : {"A", "B", "C", "D", "E", "F"})
    EXPECT_EQ(Said("rod", row, "label"), "") << row;
  EXPECT_THAT(Said("rod", "C", "case"), HasSubstr("give case 0"));
  EXPECT_EQ(Said("rod", "B", "case"), "");  // sliding, as printed
  EXPECT_THAT(Said("rod", "", "inertia"), HasSubstr("a unit slipped"));
  EXPECT_EQ(Said("bar", "", "inertia"), "");
}

TEST_F(Sun, FramesContactsAndFriction) {
  for (const char* body : {"rod", "bar"})
    EXPECT_THAT(Said(body, "", "frame"), HasSubstr("frame of gravity"));
  EXPECT_THAT(Said("bar", "A", "frame"), HasSubstr("ratio of the vertical velocities"));
  EXPECT_NEAR(Row("rod", "A").restitution.value, 0.29, 0.0051);
  EXPECT_NEAR(Row("rod", "C").restitution.value, 3.64, 0.0051);
  EXPECT_NEAR(Row("bar", "C").friction.value, 3.03, 0.0051);
  EXPECT_THAT(Said("rod", "C", "contact"), HasSubstr("times as fast"));
  EXPECT_THAT(Said("rod", "C", "friction"), HasSubstr("0.251"));
  EXPECT_THAT(Said("rod", "D", "contact"), HasSubstr("no attitude lets the contact leave"));
  for (const char* row : {"E", "F"})
    for (const char* body : {"rod", "bar"})
      EXPECT_THAT(Said(body, row, "friction"), HasSubstr("whatever the azimuth")) << body << row;
}

TEST_F(Sun, OrientationsAreSolvedOrNeededAndNeverCounted) {
  EXPECT_EQ(Row("rod", "D").attitude, AttitudeSource::kNeeded);
  EXPECT_TRUE(Row("rod", "D").predictions.empty());
  for (const auto& [body, row] : std::vector<std::pair<std::string, std::string>>{
           {"rod", "E"}, {"rod", "F"}, {"bar", "D"}, {"bar", "E"}, {"bar", "F"}}) {
    const RowAudit& audit = Row(body, row);
    EXPECT_EQ(audit.attitude, AttitudeSource::kSolved) << body << row;
    EXPECT_LT(audit.solved->misfit_share, 0.01);
    EXPECT_EQ(audit.predictions.size(), 3U);
  }
  const TemporaryFolder folder;
  WritePublished(folder.path(), *all);
  CsvOptions options;
  options.is_text = [](std::string_view name) { return name != "error_percent"; };
  options.empty_is_nan = true;
  const Table table = ReadCsv(folder / "comparison.csv", options);
  int counted = 0;
  for (std::size_t k = 0; k < table.n_rows(); ++k) {
    const bool known = table.TextColumn("experiment")[k] <= "C";
    if (table.TextColumn("validation")[k] == "yes") ++counted;
    EXPECT_EQ(table.TextColumn("orientation")[k] == "assumed", known);
    EXPECT_FALSE(!known && table.TextColumn("validation")[k] == "yes");
  }
  EXPECT_EQ(counted, 6 * 4);  // three laws and one difference for each of A to C
  for (const char* name : {"states", "comparison", "balance", "faults"})
    for (const char* extension : {".csv", ".md", ".tex"})
      EXPECT_TRUE(std::filesystem::exists(folder / (std::string(name) + extension)));
  const std::string page = test::ReadText(folder / "index.html");
  EXPECT_EQ(test::HtmlFault(page), "");
  EXPECT_THAT(page, HasSubstr("orientation solved"));
}

// Share of energy that a rod of L / r = 30 loses that falls along its axis with v = (p, -1) and
// slips throughout: J_t = -mu J_n, v_n+ = e.
double LossOfSlip(double p, double mu, double e) {
  const double inertia = 1.0 / 30 / 30 / 4 + 1.0 / 12, r_t = 0.5 * p / std::hypot(p, 1),
               r_n = -0.5 / std::hypot(p, 1);
  const double A_tt = 1 + r_n * r_n / inertia, A_nn = 1 + r_t * r_t / inertia,
               A_tn = -r_t * r_n / inertia;
  const double J = (1 + e) / (A_nn - mu * A_tn), v_t = p - J * (mu * A_tt - A_tn);
  return J * (1 - e + mu * (p + v_t)) / (1 + p * p);
}

// Table 2.5: no reading of its attitude gives the shares that are printed as computed.
TEST_F(Sun, PlanarTable) {
  ASSERT_EQ(all->planar.size(), 1U);
  const PlanarTable& t = all->planar[0];
  ASSERT_EQ(t.rows.size(), 12U);
  for (const PlanarRow& row : t.rows) {
    if (row.law == "experiment") continue;
    ASSERT_EQ(row.ours.size(), 3U);
    // While slip lasts the three laws are one.
    if (row.experiment == "C") continue;
    EXPECT_NEAR(row.ours[2].loss.value, LossOfSlip(row.ratio.value, row.mu.value, row.e.value),
                1e-9);
    EXPECT_EQ(row.ours[2].path_case, "0");
  }
  int energy = 0;
  for (const TableFault& f : t.faults) energy += f.kind == "energy";
  EXPECT_EQ(energy, 9);
  const PresentationTable form = PlanarForm({&t});
  EXPECT_EQ(form.rows.size(), 13U);
}

class PublishedFile : public ::testing::Test {
 protected:
  void Write(const std::string& csv, const std::string& more = "", const std::string& head = "") {
    WriteText(folder_ / "own.csv", csv);
    WriteText(folder_ / "own.yaml", "schema: impactlab.published/1\n" + head +
                                        "tables:\n  - title: own\n    files: [own.csv]\n    body: "
                                        "{shape: ball, radius_m: 0.02, mass_kg: 0.1}\n" +
                                        more);
  }
  std::string Message() {
    try {
      LoadPublished(folder_ / "own.yaml");
    } catch (const ConfigError& error) {
      return std::string("config: ") + error.what();
    } catch (const DataError& error) {
      return std::string("data: ") + error.what();
    }
    return {};
  }
  TemporaryFolder folder_;
};

TEST_F(PublishedFile, OneOwnTableIsEnough) {
  Write(
      "experiment,v_minus_z_mm_per_s,v_plus_z_mm_per_s,qw,qx,qy,qz,mu_k,e_star,dissipation_"
      "experiment_percent\n"
      "drop,-1000,500,1,0,0,0,0.2,0.50,75.0\nother,-1000,500,1,0,0,0,0.2,0.50,80.0\n");
  ASSERT_EQ(Message(), "");
  const PublishedTables all = LoadPublished(folder_ / "own.yaml");
  const TableAudit& audit = all.tables[0].audit;
  ASSERT_EQ(audit.faults.size(), 1U);
  EXPECT_EQ(audit.faults[0].row, "other");
  EXPECT_EQ(audit.faults[0].kind, "energy");
  EXPECT_NEAR(audit.rows[0].loss.value, 0.75, 1e-12);
  EXPECT_NEAR(audit.rows[0].predictions[0].plus.z(), 0.5, 1e-9);
}

// events.csv of a run or of the same folder is a table as well: attitudes, levers and slopes in its
// columns, two impacts of one recording.
TEST_F(PublishedFile, TableOfEvents) {
  WriteText(folder_ / "own.yaml",
            "schema: impactlab.published/1\ntables:\n  - title: rod\n    files: ['" +
                (kPublished / "004_rod_events.csv").string() +
                "']\n    body: {shape: rod, length_m: 0.3048, radius_m: 0.0047625, mass_kg: "
                "0.169,\n           "
                "inertia_kg_m2: [0.0013093, 0.0013093, 1.9166e-06]}\n");
  const PublishedTables rod = LoadPublished(folder_ / "own.yaml");
  ASSERT_EQ(rod.tables[0].table.rows.size(), 6U);
  EXPECT_NEAR(rod.tables[0].audit.rows[1].spin_turned, 11.4, 0.1);
  EXPECT_NEAR(rod.tables[0].audit.rows[2].friction.value, 1.54, 0.01);
  EXPECT_EQ(rod.tables[0].audit.rows[3].attitude, AttitudeSource::kNeeded);
  EXPECT_EQ(rod.tables[0].audit.rows[4].attitude, AttitudeSource::kSolved);
  Write("recording,impact,v_minus_z_m_per_s,v_plus_z_m_per_s\na,0,-1,0.5\na,1,-0.5,0.2\nb,0,,\n");
  ASSERT_EQ(Message(), "");
  EXPECT_EQ(LoadPublished(folder_ / "own.yaml").tables[0].table.rows.size(), 2U);
}

TEST_F(PublishedFile, BadFilesAreNamed) {
  const std::string good = "experiment,v_minus_z_m_per_s,v_plus_z_m_per_s\ndrop,-1,0.5\n";
  Write(good, "    colour: red\n");
  EXPECT_THAT(Message(), HasSubstr("config: "));
  EXPECT_THAT(Message(), HasSubstr("colour"));
  Write(good, "", "axes: [x, z, y]\n");
  EXPECT_THAT(Message(), HasSubstr("right-handed"));
  Write(good, "    attitudes: [{experiments: [X], q: [1, 0, 0, 0], lever_m: [0, 0, -0.02]}]\n");
  EXPECT_THAT(Message(), HasSubstr("one of drop"));
  Write("experiment,v_minus_z_m,v_plus_z_m_per_s\ndrop,-1,0.5\n");
  EXPECT_THAT(Message(), HasSubstr("v_minus_z_m: found the unit m"));
  Write("experiment,v_minus_z_m_per_s\ndrop,-1\n");
  EXPECT_THAT(Message(), HasSubstr("no motion after"));
  Write("experiment,v_minus_z_m_per_s,v_plus_z_m_per_s\ndrop,-1,fast\n");
  EXPECT_THAT(Message(), HasSubstr("row 2, column v_plus_z_m_per_s"));
  Write("experiment,v_minus_z_m_per_s,v_plus_z_m_per_s\ndrop,-1,1\ndrop,-1,1\n");
  EXPECT_THAT(Message(), HasSubstr("again"));
  Write("experiment,v_minus_z_m_per_s,v_plus_z_m_per_s,case_printed\ndrop,-1,1,9\n");
  EXPECT_THAT(Message(), HasSubstr("case_printed"));
  Write("v_minus_z_m_per_s,v_plus_z_m_per_s\n-1,1\n");
  EXPECT_THAT(Message(), HasSubstr("no column experiment"));
}

// A planar table that is right: shares of our own solution, printed to a tenth of a percent.
TEST_F(PublishedFile, PlanarTableThatIsRight) {
  WriteText(folder_ / "p.yaml",
            "schema: impactlab.published/1\nplanar_tables: [{title: p, file: p.csv, levers: "
            "[along_fall]}]\n");
  const std::string head =
      "experiment,law,v_x_over_v_y,gamma_deg,mu,e_n,case_printed,dissipation_percent\n";
  const double loss = 100 * LossOfSlip(1, 0.2, 0.4);
  WriteText(folder_ / "p.csv", head + fmt::format("A,experiment,1.0000,135,0.2000,0.4000,0,50.0\nA,"
                                                  "newton,1.0000,135,0.2000,0.4000,0,{:.1f}\n",
                                                  loss));
  PublishedTables all = LoadPublished(folder_ / "p.yaml");
  EXPECT_TRUE(all.planar[0].faults.empty()) << all.planar[0].faults[0].sentence;
  WriteText(folder_ / "p.csv",
            head + fmt::format("A,newton,1.0000,135,0.2000,0.4000,0,{:.1f}\n", loss + 1));
  all = LoadPublished(folder_ / "p.yaml");
  ASSERT_EQ(all.planar[0].faults.size(), 1U);
  EXPECT_EQ(all.planar[0].faults[0].kind, "energy");
  WriteText(folder_ / "p.csv", head + "A,hertz,1,135,0.2,0.4,0,50\n");
  EXPECT_THROW(LoadPublished(folder_ / "p.yaml"), DataError);
}

TableFault FaultOf(const std::string& kind, const std::string& row, const std::string& sentence) {
  TableFault fault;
  fault.kind = kind;
  fault.row = row;
  fault.sentence = sentence;
  return fault;
}

// A table of many faults is a few lines on the terminal: how many rows, every kind with its count,
// its first examples; the form of all faults holds every one.
TEST(PublishedSummary, ManyFaultsAreCountedByKind) {
  PublishedTables all;
  PublishedTable& table = all.tables.emplace_back();
  table.table.title = "tosses";
  for (int k = 0; k < 600; ++k) {
    PrintedRow row;
    row.name = fmt::format("t{}", k);
    table.table.rows.push_back(row);
    table.audit.rows.emplace_back();
    const std::vector<std::string> printed(6, "0");
    table.texts.push_back({printed, printed, {}});
    if (k < 40) table.audit.faults.push_back(FaultOf("contact", row.name, "c"));
    if (k % 2 == 0)
      table.audit.faults.push_back(FaultOf("energy", row.name, fmt::format("gains {} %", k)));
  }
  table.audit.faults.push_back(FaultOf("inertia", "", "the inertia differs"));
  const std::string text = BriefReport(all);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 25) << text;
  EXPECT_THAT(text, HasSubstr("tosses\n  320 of 600 rows disagree with themselves\n  energy       "
                              "300\n    t0   gains 0 %\n"));
  EXPECT_THAT(text, HasSubstr("and 297 more\n  contact      40\n"));
  EXPECT_THAT(text, HasSubstr("the inertia differs"));
  EXPECT_THAT(text, HasSubstr("orientation  600\n"));
  EXPECT_THAT(text, HasSubstr("faults.csv"));
  std::size_t listed = 0;
  for (const PresentationTable& form : FormsOf(all))
    if (form.name == "faults")
      listed = static_cast<std::size_t>(std::count_if(
          form.rows.begin(), form.rows.end(), [](const auto& row) { return !row.empty(); }));
  EXPECT_EQ(listed, 341u);
}

}  // namespace
}  // namespace impactlab
