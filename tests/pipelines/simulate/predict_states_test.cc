// A state or a table of states through every law: numbers of the Bristol thesis, honest
// certificates, and what a wrong table is told.

#include "pipelines/simulate/predict_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "data/base/error.h"
#include "data/files/table.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

std::filesystem::path Write(const test::TemporaryFolder& folder, const std::string& text) {
  auto path = folder / "states.csv";
  WriteFile(path, text);
  return path;
}

const char* kHeader =
    "name,v_minus_F_x_m_per_s,v_minus_F_n_m_per_s,A_F_xx_per_kg,A_F_xn_per_kg,A_F_nn_per_kg,e,mu_k,"
    "anything\n";

std::string Message(const std::filesystem::path& path) {
  try {
    ReadStates(path, {});
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

// Rows R9 and R1 of the Bristol thesis (theta = 0.98 and 0.61).
TEST(PredictStates, RowsOfTheBristolThesis) {
  const test::TemporaryFolder folder;
  const auto path = Write(
      folder,
      std::string(kHeader) +
          "R9,0.93,-1.45,3.0691776471822316,-1.3878172811822522,1.9308223528177684,0.9,0.1,x\n"
          "R1,0.88,-0.37,1.9845313805259295,-1.4086490344786013,3.01546861947407,0.9,1.5,y\n");
  const auto states = ReadStates(path, {}).states;
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(states[0].name, "R9");
  EXPECT_EQ(states[1].coefficients.mu_s, 1.5);
  std::vector<PredictedState> predicted = {PredictState(states[0]), PredictState(states[1])};
  EXPECT_EQ(predicted[0].region, 9);
  EXPECT_EQ(predicted[1].region, 1);
  const json out = json::parse(PredictionsJson(predicted));
  EXPECT_EQ(out["schema"], "impactlab.predictions/1");
  const json& laws = out["states"][0]["outcomes"];
  ASSERT_EQ(laws.size(), 6u);
  EXPECT_EQ(laws[0]["law"], "energetic");
  EXPECT_NEAR(laws[0]["v_plus_F_m_per_s"][0].get<double>(), -0.924678355, 1e-9);
  EXPECT_NEAR(laws[0]["v_plus_F_m_per_s"][2].get<double>(), 1.218751570, 1e-9);
  EXPECT_EQ(laws[0]["course"], "2");
  for (const json& law : laws) {
    EXPECT_EQ(law["status"], "ok");
    for (const auto& [name, check] : law["certificate"]["checks"].items())
      EXPECT_TRUE(check["ok"].get<bool>() || name == "energy") << law["law"] << " " << name;
  }
  EXPECT_TRUE(laws[0]["certificate"]["ok"].get<bool>());
  // All laws agree where slip lasts.
  for (const json& law : out["states"][1]["outcomes"])
    EXPECT_NEAR(law["v_plus_F_m_per_s"][0].get<double>(), 0.278848908, 1e-9) << law["law"];
  EXPECT_TRUE(out["states"][0]["critical"]["mu_press"].is_null());
  EXPECT_THAT(PredictionsText(predicted[0]), HasSubstr("region 9"));
}

// Newton's law with reversed slip gains energy: the table says so in words before anybody believes
// it.
TEST(PredictStates, SaysWhereEnergyIsGained) {
  StateToPredict state;
  state.name = "elastic";
  state.contact = InSpace({2.878, -1.4517, 2.1222, 0.5, -1});
  state.coefficients = {.e = 1, .mu_k = 0.51, .mu_s = 0.51};
  const PredictedState predicted = PredictState(state);
  EXPECT_TRUE(predicted.outcomes[0].certificate.ok);
  EXPECT_EQ(predicted.outcomes[2].law, "newton");
  EXPECT_EQ(predicted.outcomes[2].certificate.Failed(), "energy");
  EXPECT_LT(predicted.outcomes[2].dissipated, 0);
  EXPECT_THAT(PredictionsText(predicted), HasSubstr("fails: energy (gained)"));
}

TEST(PredictStates, InSpaceThreeLawsApplyAndTheOthersSayWhy) {
  StateToPredict state;
  state.contact.A_F << 4, 0.3, 1.5, 0.3, 3, -0.4, 1.5, -0.4, 5;
  state.contact.v_minus_F << 0.6, -0.4, -1;
  const PredictedState predicted = PredictState(state);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(predicted.outcomes[i].usable());
  EXPECT_TRUE(predicted.outcomes[0].certificate.ok);
  for (int i = 3; i < 6; ++i) EXPECT_THAT(predicted.outcomes[i].reason, HasSubstr("planar only"));
  EXPECT_FALSE(predicted.region.has_value());
  EXPECT_THAT(PredictionsText(predicted), HasSubstr("planar only"));
}

TEST(PredictStates, TableOfEventsSkipsWhatWasNotMeasured) {
  const test::TemporaryFolder folder;
  const auto path = Write(folder,
                          "recording,impact,v_minus_F_x_m_per_s,v_minus_F_y_m_per_s,v_minus_F_n_m_"
                          "per_s,A_F_xx_per_kg,A_F_xy_per_kg,A_F_xn_per_kg,"
                          "A_F_yy_per_kg,A_F_yn_per_kg,A_F_nn_per_kg\n"
                          "drop 1,0,0.6,0,-1,4,0,1.5,1,0,4\ndrop 2,0,,,,,,,,,\n");
  const auto states = ReadStates(path, {.e = 0.7, .mu_k = 0.1, .mu_s = 0.2}).states;
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].name, "drop 1, impact 0");
  EXPECT_EQ(states[0].coefficients.mu_s, 0.2);
}

TEST(PredictStates, WrongTablesAreNamed) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(Message(Write(folder, "name,v_minus_F_x_m_per_s\nA,1\n")),
              HasSubstr("v_minus_F_n_m_per_s"));
  EXPECT_THAT(Message(Write(folder, std::string(kHeader) + "A,1,-1,2,,2,0.5,0.1,\n")),
              HasSubstr("A_F_xn_per_kg"));
  EXPECT_THAT(Message(Write(folder, std::string(kHeader) + "A,1,-1,2,half,2,0.5,0.1,\n")),
              HasSubstr("half"));
  // A bad coefficient is no fault of the table's form: the row stays, every law says what is wrong.
  const auto states =
      ReadStates(Write(folder, std::string(kHeader) + "A,1,-1,2,0,2,1.5,0.1,\n"), {}).states;
  for (const LawOutcome& outcome : PredictState(states[0]).outcomes)
    EXPECT_THAT(outcome.reason, HasSubstr("1.5"));
}

// A rod of 100 g in millimetres: the same impact as in SI.
TEST(PredictStates, UnitsComeFromTheHeader) {
  const test::TemporaryFolder folder;
  const auto si =
      ReadStates(Write(folder, std::string(kHeader) + "A,0.93,-1.45,30,-14,19,0.9,0.1,x\n"), {})
          .states;
  const auto other = ReadStates(Write(folder,
                                      "name,v_minus_F_x_mm_per_s,v_minus_F_n_in_per_s,A_F_xx_per_g,"
                                      "A_F_xn_per_kg,A_F_nn_per_g,e,mu_k\n"
                                      "A,930,-57.0866141732,0.03,-14,0.019,0.9,0.1\n"),
                                {})
                         .states;
  EXPECT_LT((si[0].contact.v_minus_F - other[0].contact.v_minus_F).norm(), 1e-11);
  EXPECT_LT((si[0].contact.A_F - other[0].contact.A_F).norm(), 1e-12);
  EXPECT_THAT(Message(Write(folder,
                            "v_minus_F_x,v_minus_F_n_m_per_s,A_F_xx_per_kg,A_F_xn_per_kg,A_F_nn_"
                            "per_kg\n1,-1,2,0,2\n")),
              AllOf(HasSubstr("v_minus_F_x"), HasSubstr("m_per_s")));
  EXPECT_THAT(Message(Write(folder,
                            "v_minus_F_x_m,v_minus_F_n_m_per_s,A_F_xx_per_kg,A_F_xn_per_kg,A_F_nn_"
                            "per_kg\n1,-1,2,0,2\n")),
              AllOf(HasSubstr("v_minus_F_x_m"), HasSubstr("mm_per_s")));
}

TEST(PredictStates, NothingIsTakenSilently) {
  const test::TemporaryFolder folder;
  EXPECT_THAT(
      Message(Write(folder, std::string(kHeader) + "A,1,-1,2,0,2,0.5,0.1,\nB,1,-1,2,0,2,,0.1,\n")),
      HasSubstr("row 3, column e: found an empty cell, allowed a number"));
  EXPECT_THAT(Message(Write(folder, std::string(kHeader) + ",1,-1,2,0,2,0.5,0.1,\n")),
              HasSubstr("row 2, column name: found an empty cell"));
  const std::string columns =
      "v_minus_F_x_m_per_s,v_minus_F_n_m_per_s,A_F_xx_per_kg,A_F_xn_per_kg,A_F_nn_per_kg,";
  for (const auto& [column, meant] : {std::pair{"mu", "mu_k"},
                                      {"Mu_K", "mu_k"},
                                      {"mu_d", "mu_k"},
                                      {"e_star", "e"},
                                      {"E", "e"},
                                      {"v_minus_F_y_m_per_sec", "v_minus_F_y_m_per_s"}}) {
    const std::string message = Message(Write(folder, columns + column + "\n1,-1,2,0,2,0.3\n"));
    EXPECT_THAT(message, AllOf(HasSubstr(column),
                               HasSubstr("not read, nearest is " + std::string(meant) + ",")))
        << column;
  }
  // A column in space without the others.
  EXPECT_THAT(Message(Write(folder, columns + "v_minus_F_y_m_per_s\n1,-1,2,0,2,0.3\n")),
              HasSubstr("A_F_xy"));
  const StateTable strangers = ReadStates(
      Write(folder, columns + "note,accepted,sigma_position_m\n1,-1,2,0,2,wet floor,1,\n"), {});
  EXPECT_THAT(strangers.unread, ::testing::ElementsAre("note"));
  EXPECT_EQ(strangers.states[0].name, "row 2");
}

TEST(PredictStates, RouthAsData) {
  const test::TemporaryFolder folder;
  StateToPredict state;
  state.name = "R9";
  state.contact = InSpace({3.0692379, -1.3878113, 1.9307621, 0.93, -1.45});
  state.coefficients = {.e = 0.9, .mu_k = 0.1, .mu_s = 0.1};
  WriteRouth(folder / "routh.csv", state);
  CsvOptions options;
  options.text_columns = {"item", "kind"};
  const Table table = ReadCsv(folder / "routh.csv", options);
  EXPECT_THAT(table.TextColumn("item"),
              ::testing::IsSupersetOf(
                  {"stick", "friction", "reversed", "termination", "slip_stops", "end"}));
  state.contact.v_minus_F.y() = 1;
  EXPECT_THROW(WriteRouth(folder / "routh.csv", state), ConfigError);
}

}  // namespace
}  // namespace impactlab
