// Tables of states made elsewhere: names, units, senses, corrections and the audit of them.

#include "pipelines/states/states.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "data/base/error.h"
#include "pipelines/tables/data_set.h"
#include "tests/reconstruction/audit/audit_scene.h"
#include "tests/support/folder.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using test::TemporaryFolder;
using test::WriteText;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_audit::AuditSet;
using testing_audit::MakeSet;
using testing_audit::Scene;

// A table: names of its columns and what stands in them.
using Column = std::pair<std::string, std::function<double(const ImpactEvent&)>>;

std::vector<Column> OwnColumns() {
  return {{"theta_rad", [](const ImpactEvent& e) { return PlanarAngle(e.X_WB); }},
          {"v_minus_x_m_per_s", [](const ImpactEvent& e) { return e.v_minus.x(); }},
          {"v_minus_z_m_per_s", [](const ImpactEvent& e) { return e.v_minus.z(); }},
          {"omega_minus_y_rad_per_s", [](const ImpactEvent& e) { return e.omega_minus.y(); }},
          {"v_plus_x_m_per_s", [](const ImpactEvent& e) { return e.v_plus.x(); }},
          {"v_plus_z_m_per_s", [](const ImpactEvent& e) { return e.v_plus.z(); }},
          {"omega_plus_y_rad_per_s", [](const ImpactEvent& e) { return e.omega_plus.y(); }}};
}

Column Lever(const std::string& name, int axis, double factor = 1) {
  return {name, [axis, factor](const ImpactEvent& e) {
            return factor * (e.p_WP - e.X_WB.translation())(axis);
          }};
}

class States : public ::testing::Test {
 public:
  // A square of 6 cm whose states are known to 2 mm/s and 0.03 rad/s.
  States() : set_(MakeSet(scene_, 3)) {
    experiment_.body = scene_.body;
    experiment_.path = "e.yaml";
  }

 protected:
  std::filesystem::path Write(const std::vector<Column>& columns) const {
    std::string text = "recording,impact";
    for (const Column& column : columns) text += "," + column.first;
    for (std::size_t k = 0; k < set_.events.size(); ++k) {
      text += fmt::format("\ntoss {},0", k);
      for (const Column& column : columns)
        text += fmt::format(",{:.9g}", column.second(set_.events[k]));
    }
    WriteText(folder_ / "states.csv", text + "\n");
    return folder_ / "states.csv";
  }
  // The own columns, with one of another name and factor in the place of `name`.
  std::filesystem::path WriteChanged(const std::string& part, double factor) const {
    std::vector<Column> columns = OwnColumns();
    for (Column& column : columns) {
      if (column.first.find(part) == std::string::npos) continue;
      column.second = [value = column.second, factor](const ImpactEvent& e) {
        return factor * value(e);
      };
    }
    return Write(columns);
  }
  JudgedStates Judge(const std::filesystem::path& path) const {
    return JudgeStates(experiment_, LoadStates(experiment_, path), false);
  }
  void ExpectTruth(const std::vector<ImpactEvent>& events, const std::vector<ImpactEvent>& truth,
                   double tolerance = 1e-6) const {
    ASSERT_EQ(events.size(), truth.size());
    for (std::size_t k = 0; k < events.size(); ++k) {
      EXPECT_LT((events[k].v_minus - truth[k].v_minus).norm(), tolerance) << k;
      EXPECT_LT((events[k].v_plus - truth[k].v_plus).norm(), tolerance) << k;
      EXPECT_LT((events[k].omega_minus - truth[k].omega_minus).norm(), 10 * tolerance) << k;
      EXPECT_LT((events[k].omega_plus - truth[k].omega_plus).norm(), 10 * tolerance) << k;
      EXPECT_LT((events[k].p_WP - events[k].X_WB.translation() -
                 (truth[k].p_WP - truth[k].X_WB.translation()))
                    .norm(),
                0.1 * tolerance)
          << k;
    }
  }

  Scene scene_;
  AuditSet set_;
  Experiment experiment_;
  TemporaryFolder folder_;
};

TEST_F(States, ColumnsOfOtherNamesUnitsAndSensesAreTheSameStates) {
  const auto file =
      Write({Lever("lx", 0, 1e3),
             Lever("lz", 2, 1e3),
             {"vx before", [](const ImpactEvent& e) { return 1e3 * e.v_minus.x(); }},
             {"vz mm_per_s", [](const ImpactEvent& e) { return 1e3 * e.v_minus.z(); }},
             {"w0", [](const ImpactEvent& e) { return -e.omega_minus.y() * 180 / M_PI; }},
             {"v_plus_x_m_per_s", [](const ImpactEvent& e) { return e.v_plus.x(); }},
             {"v_plus_z_m_per_s", [](const ImpactEvent& e) { return e.v_plus.z(); }},
             {"theta_dot_plus_deg_per_s",
              [](const ImpactEvent& e) { return -e.omega_plus.y() * 180 / M_PI; }},
             {"remark", [](const ImpactEvent&) { return 7.0; }}});
  EXPECT_THROW(LoadStates(experiment_, file), DataError);
  experiment_.state_columns = {{"r_x", "lx mm"},
                               {"r_z", "lz mm"},
                               {"v_minus_x", "vx before mm_per_s"},
                               {"v_minus_z", "vz mm_per_s"},
                               {"theta_dot_minus", "w0 deg_per_s"}};
  ExpectTruth(LoadStates(experiment_, file).table.events, set_.events);
  EXPECT_EQ(Judge(file).verdict.verdict, "closes") << Judge(file).verdict.reason;
  experiment_.state_columns["v_minus_x"] = "vx before deg";
  EXPECT_THROW(LoadStates(experiment_, file), ConfigError);
  experiment_.state_columns["v_minus_x"] = "vx after";
  EXPECT_THROW(LoadStates(experiment_, file), DataError);
}

TEST_F(States, TheSpinIsOmegaYOrThetaDotAndNotBoth) {
  std::vector<Column> columns = OwnColumns();
  columns.push_back({"theta_dot_minus_rad_per_s", columns[3].second});
  try {
    LoadStates(experiment_, Write(columns));
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("omega_minus_y_rad_per_s and theta_dot_minus_rad_per_s"));
  }
  columns = OwnColumns();
  columns.erase(columns.begin() + 3);
  try {
    LoadStates(experiment_, Write(columns));
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("no column omega_minus_y"), HasSubstr("theta_dot_minus_rad_per_s"),
                      HasSubstr("states: {columns: {...}}")));
  }
}

TEST_F(States, AMatFileHoldsTheSameTable) {
  DataSet data;
  DataTable& table = data.tables.emplace_back();
  table.name = "tosses";
  DataColumn& names = table.columns.emplace_back();
  names.name = "recording";
  names.is_text = true;
  for (std::size_t k = 0; k < set_.events.size(); ++k)
    names.texts.push_back(fmt::format("toss {}", k));
  for (const Column& column : OwnColumns()) {
    DataColumn& out = table.columns.emplace_back();
    out.name = column.first;
    for (const ImpactEvent& e : set_.events) out.numbers.push_back(column.second(e));
  }
  pipelines::WriteMat(folder_ / "states.mat", data);
  const TableStates states = LoadStates(experiment_, folder_ / "states.mat");
  ExpectTruth(states.table.events, set_.events);
  EXPECT_EQ(states.table.events[1].recording, "toss 1");
  WriteText(folder_ / "bad.mat", "no MAT-file");
  EXPECT_THROW(LoadStates(experiment_, folder_ / "bad.mat"), DataError);
}

TEST_F(States, WrongUnitsAndSensesAreRefusedAndNamed) {
  EXPECT_EQ(Judge(Write(OwnColumns())).verdict.verdict, "closes");
  const auto expect = [&](const std::filesystem::path& file, const std::string& cause) {
    const JudgedStates judged = Judge(file);
    EXPECT_EQ(judged.verdict.verdict, "does_not_close") << cause << ": " << judged.verdict.reason;
    EXPECT_TRUE(judged.verdict.withheld);
    EXPECT_THAT(judged.verdict.reason, HasSubstr(cause));
  };
  expect(WriteChanged("omega_", 180 / M_PI), "spins are in degrees, not radians");
  expect(WriteChanged("omega_", -1), "spins count the other way round");
  expect(WriteChanged("omega_", 1 / (2 * M_PI)), "spins are in turns a second");
  expect(WriteChanged("v_", 1e3), "velocities are in millimetres a second");
  // Angles in degrees under a header of radians turn every lever.
  expect(WriteChanged("theta", 180 / M_PI), "angles are in degrees");
}

TEST_F(States, LeversInMillimetresAndABodyThatFallsUpwardsAreNamed) {
  std::vector<Column> columns = OwnColumns();
  columns.erase(columns.begin());
  columns.push_back(Lever("r_x_m", 0, 1e3));
  columns.push_back(Lever("r_z_m", 2, 1e3));
  const JudgedStates judged = Judge(Write(columns));
  EXPECT_EQ(judged.verdict.verdict, "does_not_close") << judged.verdict.reason;
  EXPECT_THAT(judged.verdict.reason, HasSubstr("levers are in millimetres"));
  const JudgedStates down = Judge(WriteChanged("_z_m_per_s", -1));
  ASSERT_EQ(down.causes.size(), 1u);
  EXPECT_THAT(down.causes[0].text, HasSubstr("z points down"));
}

// Restitution of 0 would be read with confidence where the sign of a column is wrong.
TEST_F(States, ABodyThatStillMovesIntoTheFloorAfterwardsHasNotLeftIt) {
  const Body ball = MakeBall(0.03, 0.05, true);
  experiment_.body = ball;
  const auto table = [&](int wrong, double e) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> normal;
    std::string text =
        "recording,impact,v_minus_x_m_per_s,v_minus_z_m_per_s,omega_minus_y_rad_per_s,"
        "v_plus_x_m_per_s,v_plus_z_m_per_s,omega_plus_y_rad_per_s\n";
    for (int k = 0; k < 12; ++k) {
      const double fall = 1.5 + 0.05 * k, slip = 1 + 0.1 * k, J = 0.05 * (1 + e) * fall;
      const double noise = 0.02 * normal(random);
      text += fmt::format("toss {},0,{},{},0,{},{},{}\n", k, slip, -fall, slip - 0.2 * J / 0.05,
                          (k < wrong ? -1 : 1) * (e * fall + noise),
                          0.2 * J * 0.03 / ball.inertia_B(1, 1));
    }
    WriteText(folder_ / "states.csv", text);
    return Judge(folder_ / "states.csv");
  };
  const JudgedStates all = table(12, 0.7);
  EXPECT_TRUE(all.verdict.withheld);
  EXPECT_THAT(all.verdict.reason, HasSubstr("still moves into the floor after 12 of 12 impacts"));
  const JudgedStates some = table(4, 0.7);
  EXPECT_EQ(std::count_if(some.events.begin(), some.events.end(),
                          [](const ImpactEvent& event) { return event.accepted; }),
            8);
  EXPECT_THAT(some.events[0].detail, HasSubstr("after the impact"));
  const ParameterEstimate e = FitStates(experiment_, some).fits.back().e;
  EXPECT_LT(e.lower95, 0.7);
  EXPECT_GT(e.upper95, 0.7);
  // Plastic impacts are read a little to either side of rest.
  const JudgedStates plastic = table(0, 0);
  EXPECT_FALSE(plastic.verdict.withheld) << plastic.verdict.reason;
  EXPECT_TRUE(std::all_of(plastic.events.begin(), plastic.events.end(),
                          [](const ImpactEvent& event) { return event.accepted; }));
}

// Levers without an attitude tell the inertia of a body in a plane as well.
TEST_F(States, LeversAloneShowAnInertiaThatIsOff) {
  std::vector<Column> columns = OwnColumns();
  columns.erase(columns.begin());
  columns.push_back(Lever("r_x_m", 0, 1));
  columns.push_back(Lever("r_z_m", 2, 1));
  const auto path = Write(columns);
  EXPECT_FALSE(LoadStates(experiment_, path).table.attitudes);
  const JudgedStates right = Judge(path);
  EXPECT_EQ(right.inertia, 1);
  const ParameterEstimate truth = FitStates(experiment_, right).fits.back().e;
  for (const double factor : {1.12, 0.9}) {
    Experiment other = experiment_;
    other.body.inertia_B *= factor;
    const JudgedStates off = JudgeStates(other, LoadStates(other, path), false);
    ASSERT_FALSE(off.verdict.withheld) << off.verdict.reason;
    EXPECT_NEAR(off.inertia, 1 / factor, 0.03);
    const ParameterEstimate e = FitStates(other, off).fits.back().e;
    EXPECT_LT(e.lower95, truth.value) << factor;
    EXPECT_GT(e.upper95, truth.value) << factor;
    EXPECT_THAT(e.reason, HasSubstr("times the declared inertia"));
  }
}

TEST_F(States, AnInertiaThatIsOffIsRefusedWithoutStandardDeviationsToo) {
  experiment_.body.inertia_B *= 3;
  EXPECT_EQ(Judge(Write(OwnColumns())).verdict.verdict, "does_not_close");
}

TEST_F(States, SoundTablesAreNotRefused) {
  int refused = 0;
  for (int k = 0; k < 100; ++k) {
    Scene scene;
    scene.events = 4 + k % 30;
    scene.noise_spin = k % 3 == 0 ? 0.03 : k % 3 == 1 ? 0.5 : 3;
    if (k % 2 == 1) scene.scatter_spin = 0.5;
    set_ = MakeSet(scene, 500 + k);
    refused += Judge(Write(OwnColumns())).verdict.withheld;
  }
  EXPECT_LE(refused, 1);
}

TEST_F(States, ADeclaredCorrectionIsTakenOutOfStatesOrRefusedInALine) {
  Scene wrong = scene_;
  wrong.error.length_scale = 1.2;
  wrong.error.clock_rate = 0.8;
  wrong.error.mirrored = true;
  wrong.noise_velocity = wrong.noise_spin = 1e-9;
  wrong.noise_angle = wrong.noise_position = 1e-12;
  set_ = MakeSet(wrong, 3);
  experiment_.correction = wrong.error;
  std::vector<Column> columns = OwnColumns();
  const TableStates whole = LoadStates(experiment_, Write(columns));
  EXPECT_THAT(whole.note, HasSubstr("correction: applied"));
  ExpectTruth(whole.table.events, set_.truth);
  // Levers without attitudes: scale, clock and hand of them.
  columns.erase(columns.begin());
  const auto lever = [&](int axis) {
    return Column(fmt::format("r_{}_m", axis == 0 ? "x" : "z"), [=, this](const ImpactEvent& e) {
      const ImpactEvent& t = set_.truth[static_cast<std::size_t>(e.impact)];
      return (axis == 0 ? -1 : 1) * 1.2 * (t.p_WP - t.X_WB.translation())(axis);
    });
  };
  columns.push_back(lever(0));
  columns.push_back(lever(2));
  ExpectTruth(LoadStates(experiment_, Write(columns)).table.events, set_.truth);
  experiment_.correction.com_offset_B.x() = 0.001;
  try {
    LoadStates(experiment_, Write(columns));
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("e.yaml: correction: com_offset: found it for states "
                                              "without an attitude"),
                                    HasSubstr("theta_rad")));
  }
}

TEST_F(States, AMirroredTableIsNamedAndCorrectedWhereThatIsAllowed) {
  Scene mirrored = scene_;
  mirrored.error.mirrored = true;
  set_ = MakeSet(mirrored, 5);
  std::vector<Column> columns = OwnColumns();
  for (const char* name : {"v_minus_x", "v_minus_z", "v_plus_x", "v_plus_z"})
    columns.push_back(
        {fmt::format("sd_{}_m_per_s", name), [](const ImpactEvent&) { return 2e-3; }});
  for (const char* name : {"omega_minus_y", "omega_plus_y"})
    columns.push_back(
        {fmt::format("sd_{}_rad_per_s", name), [](const ImpactEvent&) { return 0.03; }});
  const auto file = Write(columns);
  const JudgedStates refused = Judge(file);
  EXPECT_EQ(refused.verdict.verdict, "does_not_close");
  EXPECT_THAT(BriefReport(refused), HasSubstr("found       mirrored"));
  EXPECT_FALSE(refused.corrected);
  experiment_.apply = {"all"};
  const JudgedStates judged = Judge(file);
  EXPECT_EQ(judged.verdict.verdict, "closes_after_correction") << judged.verdict.reason;
  ASSERT_TRUE(judged.corrected);
  EXPECT_NEAR(judged.events[0].v_minus.x(), set_.truth[0].v_minus.x(), 0.02);
  EXPECT_THAT(ToJson(judged), HasSubstr("after_correction"));
}

TEST_F(States, AHandThatIsNamedAndStandsIsRefusedThoughLittleFrictionCloses) {
  Scene mirrored = scene_;
  mirrored.error.mirrored = true;
  mirrored.mu = 0.04;
  set_ = MakeSet(mirrored, 5);
  const auto file = Write(OwnColumns());
  const JudgedStates refused = Judge(file);
  ASSERT_TRUE(refused.recorded);
  EXPECT_NE(refused.recorded->closure.closure, Closure::kDoesNotClose);
  EXPECT_TRUE(refused.verdict.withheld) << refused.verdict.reason;
  EXPECT_THAT(refused.verdict.reason,
              AllOf(HasSubstr("x runs the wrong way"), HasSubstr("audit: {apply: all}")));
  experiment_.apply = {"all"};
  EXPECT_FALSE(Judge(file).verdict.withheld) << Judge(file).verdict.reason;
}

// Without standard deviations spins may be noisy; impulses that follow no law are of no one body.
TEST_F(States, UntestedMomentumOfImpulsesThatFollowNoLawIsRefused) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  for (ImpactEvent& e : set_.events) e.omega_plus.y() += 8 * normal(random);
  EXPECT_FALSE(Judge(Write(OwnColumns())).verdict.withheld);
  for (ImpactEvent& e : set_.events) {
    const double change = (e.v_plus - e.v_minus).norm();
    e.omega_plus.y() += 8 * normal(random);
    e.v_plus += 0.3 * change * Vector3d(normal(random), 0, normal(random));
  }
  const auto file = Write(OwnColumns());
  const JudgedStates linked = Judge(file);
  EXPECT_EQ(linked.verdict.verdict, "does_not_close") << linked.verdict.reason;
  EXPECT_TRUE(linked.verdict.withheld);
  EXPECT_THAT(linked.verdict.reason, HasSubstr("state standard deviations"));
  const JudgedStates forced = JudgeStates(experiment_, LoadStates(experiment_, file), true);
  EXPECT_EQ(forced.verdict.verdict, "does_not_close");
  EXPECT_FALSE(forced.verdict.withheld);
}

TEST_F(States, StatesOfARunAreNotCorrectedTwiceAndKeepItsVerdict) {
  std::filesystem::create_directories(folder_ / "run");
  WriteEvents(folder_ / "run", set_.events);
  experiment_.correction.length_scale = 1.2;
  const TableStates states = LoadStates(experiment_, folder_ / "run/events.csv");
  EXPECT_TRUE(states.table.of_run);
  EXPECT_THAT(states.note, HasSubstr("not applied again"));
  ExpectTruth(states.table.events, set_.events);
  EXPECT_EQ(JudgeStates(experiment_, states, false).verdict.verdict, "closes");
  WriteText(folder_ / "run/audit.json",
            "{\"as_recorded\": {\"rigidity\": {\"rigid\": false, \"text\": \"not one rigid "
            "body\"}}}");
  const JudgedStates judged = JudgeStates(experiment_, states, false);
  EXPECT_TRUE(judged.verdict.withheld);
  EXPECT_EQ(judged.verdict.reason, "not one rigid body");
  for (const char* broken : {"{", "[1]", "{\"as_recorded\": {\"rigidity\": {\"rigid\": 7}}}",
                             "{\"as_recorded\": {\"findings\": [{\"named\": false}]}}"}) {
    WriteText(folder_ / "run/audit.json", broken);
    try {
      JudgeStates(experiment_, states, false);
      ADD_FAILURE() << broken;
    } catch (const DataError& fault) {
      EXPECT_THAT(fault.what(), AllOf(HasSubstr("audit.json: found"), HasSubstr("run again")));
    }
  }
}

// Lengths or clock that a run could not tell apart are open to its table as well, in the folder of
// what was recorded, too.
TEST_F(States, WhatTheFlightsOfARunLeaveOpenIsOpenToItsTables) {
  const std::string evidence =
      "\"evidence\": [{\"parameter\": \"length_scale\", \"source\": \"free_flight\", "
      "\"estimate\": {\"value\": 1.21, \"determined\": true}}]";
  std::filesystem::create_directories(folder_ / "run/as_recorded");
  WriteEvents(folder_ / "run", set_.events);
  WriteEvents(folder_ / "run/as_recorded", set_.events);
  WriteText(folder_ / "run/audit.json",
            "{\"as_recorded\": {\"findings\": [{\"parameter\": \"clock_rate|length_scale\", "
            "\"named\": false}], " +
                evidence +
                "}, \"after_correction\": {\"findings\": "
                "[{\"parameter\": \"length_scale\", \"named\": false}], " +
                evidence + "}}");
  const JudgedStates corrected =
      JudgeStates(experiment_, LoadStates(experiment_, folder_ / "run/events.csv"), false);
  ASSERT_EQ(corrected.scale.size(), 1u);
  EXPECT_EQ(corrected.scale[0].length_scale, 1.21);
  const JudgedStates recorded = JudgeStates(
      experiment_, LoadStates(experiment_, folder_ / "run/as_recorded/events.csv"), false);
  ASSERT_EQ(recorded.scale.size(), 2u);
  EXPECT_NEAR(recorded.scale[1].clock_rate, 1 / 1.1, 1e-12);
  const FitResult fit = FitStates(experiment_, recorded),
                  plain = FitAll(experiment_, recorded.events, {}, recorded.verdict);
  // With a clock that is wrong nothing changes; with lengths that are, restitution does, one way.
  const ParameterEstimate &e = fit.fits.back().e, &alone = plain.fits.back().e;
  EXPECT_EQ(e.value, alone.value);
  EXPECT_GT(e.upper95 - e.lower95, alone.upper95 - alone.lower95 + 0.002);
  EXPECT_TRUE(std::abs(e.lower95 - alone.lower95) < 1e-4 ||
              std::abs(e.upper95 - alone.upper95) < 1e-4);
  EXPECT_THAT(e.reason, HasSubstr("1.21 times as fast as gravity"));
}

// Velocities 3 % too large: momentum finds another inertia, and cannot tell it from wrong lengths.
TEST_F(States, IntervalsHoldWhatAnUndecidedInertiaChanges) {
  const JudgedStates right = Judge(Write(OwnColumns()));
  const JudgedStates fast = Judge(WriteChanged("v_", 1.03));
  EXPECT_EQ(right.inertia, 1);
  EXPECT_NEAR(fast.inertia, 1.03, 0.01);
  const FitResult plain = FitAll(experiment_, fast.events, {}, fast.verdict);
  const FitResult wide = FitStates(experiment_, fast);
  EXPECT_EQ(ToJson(FitStates(experiment_, right)),
            ToJson(FitAll(experiment_, right.events, {}, right.verdict)));
  for (std::size_t k = 0; k < plain.fits.size(); ++k) {
    const ParameterEstimate &e = wide.fits[k].e, &as_declared = plain.fits[k].e;
    EXPECT_THAT(e.reason, HasSubstr("times the declared inertia"));
    EXPECT_EQ(e.value, as_declared.value);
    Experiment other = experiment_;
    other.body.inertia_B *= 1.03;
    const FitResult moved =
        FitAll(other, LoadStates(other, folder_ / "states.csv").table.events, {}, fast.verdict);
    const double change = moved.fits[k].e.value - e.value;
    EXPECT_GT(std::abs(change), 1e-3);
    EXPECT_LT(e.lower95, e.value - 0.8 * std::abs(change));
    EXPECT_GT(e.upper95, e.value + 0.8 * std::abs(change));
    EXPECT_GT(e.sd, as_declared.sd);
  }
}

}  // namespace
}  // namespace impactlab
