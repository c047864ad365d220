#include "pipelines/tables/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "data/base/error.h"
#include "data/files/atomic_file.h"
#include "data/files/table.h"
#include "reconstruction/pose/missing_attitude.h"
#include "tests/support/folder.h"

namespace impactlab {
namespace {

using Eigen::Vector3d;
using test::TemporaryFolder;
using ::testing::HasSubstr;

const Vector3d kGravity(0, 0, -9.80665);

std::vector<ImpactEvent> RandomEvents(const Body& body, const Plane& floor, int n,
                                      std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  const auto vector = [&](double x) {
    return Vector3d(x * normal(rng), body.planar ? 0 : x * normal(rng), x * normal(rng));
  };
  std::vector<ImpactEvent> events;
  for (int k = 0; k < n; ++k) {
    ImpactEvent e;
    e.recording = "take, \"" + std::to_string(k / 2) + "\"";
    e.impact = k % 2;
    e.planar = body.planar;
    e.t = std::abs(normal(rng));
    e.sd_t = 1e-4;
    if (body.planar) {
      e.X_WB = PlanarPose(normal(rng), normal(rng), normal(rng));
      e.omega_minus = Vector3d(0, 10 * normal(rng), 0);
      e.omega_plus = Vector3d(0, 10 * normal(rng), 0);
    } else {
      e.X_WB.linear() = Eigen::Quaterniond(normal(rng), normal(rng), normal(rng), normal(rng))
                            .normalized()
                            .toRotationMatrix();
      e.X_WB.translation() = vector(1);
      e.omega_minus = vector(10);
      e.omega_plus = vector(10);
    }
    e.v_minus = vector(2);
    e.v_minus.z() = -10;
    e.v_plus = vector(2);
    e.p_WP = e.X_WB.translation() + vector(0.05);
    Eigen::Matrix<double, kEventDim, kEventDim> root =
        Eigen::Matrix<double, kEventDim, kEventDim>::Zero();
    for (int i = 0; i < kEventDim; ++i) {
      const bool active = !body.planar || (i % 3 == 1) == ((i / 3) % 2 == 1 && i < 12);
      for (int j = 0; j < kEventDim && active; ++j) root(i, j) = 1e-3 * normal(rng);
    }
    e.cov = root * root.transpose();
    e.cov = (0.5 * (e.cov + e.cov.transpose())).eval();
    UpdateContact(e, body, floor, kGravity);
    e.accepted = k % 3 != 0;
    if (!e.accepted) {
      e.reason = RejectReason::kSecondContact;
      e.detail = "found 2, allowed 5; see \"notes\"";
    }
    e.frames_minus = 12;
    e.frames_plus = 7 + k;
    e.frames_lost = k % 2;
    e.sigma_position = 3e-5;
    e.sigma_angle = 7.1e-4;
    events.push_back(e);
  }
  return events;
}

void ExpectSame(const ImpactEvent& a, const ImpactEvent& b) {
  EXPECT_EQ(a.recording, b.recording);
  EXPECT_EQ(a.impact, b.impact);
  EXPECT_EQ(a.planar, b.planar);
  EXPECT_EQ(a.t, b.t);
  EXPECT_EQ(a.sd_t, b.sd_t);
  EXPECT_EQ(a.X_WB.translation(), b.X_WB.translation());
  EXPECT_LT((a.X_WB.linear() - b.X_WB.linear()).norm(), 3e-15);  // through a quaternion
  EXPECT_EQ(a.v_minus, b.v_minus);
  EXPECT_EQ(a.omega_minus, b.omega_minus);
  EXPECT_EQ(a.v_plus, b.v_plus);
  EXPECT_EQ(a.omega_plus, b.omega_plus);
  EXPECT_EQ(a.p_WP, b.p_WP);
  EXPECT_EQ(a.cov, b.cov);
  EXPECT_LT((a.contact.A_F - b.contact.A_F).norm(), 1e-13 * a.contact.A_F.norm());
  EXPECT_LT((a.contact.v_minus_F - b.contact.v_minus_F).norm(), 1e-13);
  EXPECT_LT((a.v_plus_F - b.v_plus_F).norm(), 1e-13);
  EXPECT_EQ(a.accepted, b.accepted);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.detail, b.detail);
  EXPECT_EQ(a.frames_minus, b.frames_minus);
  EXPECT_EQ(a.frames_plus, b.frames_plus);
  EXPECT_EQ(a.frames_lost, b.frames_lost);
  EXPECT_EQ(a.sigma_position, b.sigma_position);
  EXPECT_EQ(a.sigma_angle, b.sigma_angle);
}

TEST(Tables, EventsReadBackExactly) {
  const Plane floor{Vector3d(0.1, 0, 1).normalized(), 0.02};
  for (const bool planar : {true, false}) {
    SCOPED_TRACE(planar);
    const TemporaryFolder folder;
    const Body body = MakeBox({0.06, planar ? 0 : 0.08, 0.05}, 0.3, planar);
    const std::vector<ImpactEvent> events = RandomEvents(body, floor, 9, 11);
    WriteEvents(folder.path(), events);
    const std::vector<ImpactEvent> back = ReadEvents(folder / "events.csv", body, floor, kGravity);
    ASSERT_EQ(back.size(), events.size());
    for (std::size_t k = 0; k < events.size(); ++k) ExpectSame(events[k], back[k]);
    // The sidecar of planar events has the upper triangle of the 8 rows that move.
    const Table cov =
        ReadCsv(folder / "events_cov.csv", {.text_columns = {"recording"}, .is_text = {}});
    EXPECT_EQ(cov.columns.size(), 1u + (planar ? 36u : 120u));
  }
}

TEST(Tables, RejectedEventWithoutStatesSurvives) {
  const TemporaryFolder folder;
  const Body body = MakeBox({0.06, 0, 0.06}, 1, true);
  ImpactEvent bad;
  bad.recording = "broken";
  bad.planar = true;
  bad.reason = RejectReason::kBadRecording;
  bad.detail = "row 3, column x_m: found \"a\",\nallowed a number";
  bad.v_minus.x() = std::nan("");
  bad.cov(0, 0) = std::nan("");
  WriteEvents(folder.path(), std::vector<ImpactEvent>{bad});
  const std::vector<ImpactEvent> back = ReadEvents(folder / "events.csv", body, Plane{}, kGravity);
  ASSERT_EQ(back.size(), 1u);
  EXPECT_FALSE(back[0].accepted);
  EXPECT_EQ(back[0].reason, RejectReason::kBadRecording);
  EXPECT_TRUE(std::isnan(back[0].v_minus.x()));
}

// Zeros with a standard deviation of zero would read as a measured state at rest.
TEST(Tables, RejectedImpactsWithoutAStateHaveEmptyCells) {
  const TemporaryFolder folder;
  const Body body = MakeBox({0.06, 0, 0.06}, 1, true);
  std::vector<ImpactEvent> events = RandomEvents(body, Plane{}, 2, 3);
  events[1].accepted = false;  // a state that is there is kept, whatever became of the impact
  events[1].reason = RejectReason::kArcMisfit;
  ImpactEvent none;
  none.recording = "rolled";
  none.planar = true;
  none.t = 0.125;
  none.X_WB.translation() = Vector3d(0.1, 0, 0.05);  // of the frame at which it was seen
  none.reason = RejectReason::kRollingContact;
  events.push_back(none);
  WriteEvents(folder.path(), events);
  const Table table = ReadCsv(
      folder / "events.csv",
      {.text_columns = {"recording", "reason", "detail"}, .is_text = {}, .empty_is_nan = true});
  for (const std::string& column : table.columns) {
    SCOPED_TRACE(column);
    const bool kept = column == "impact" || column == "planar" || column == "t_s" ||
                      column == "accepted" || column.rfind("frames_", 0) == 0 ||
                      column.rfind("sigma_", 0) == 0;
    EXPECT_EQ(std::isfinite(table.Column(column)[2]), kept);
    EXPECT_TRUE(std::isfinite(table.Column(column)[1]));
  }
  EXPECT_EQ(table.Column("t_s")[2], 0.125);
  const auto back = ReadEvents(folder / "events.csv", body, Plane{}, kGravity);
  ASSERT_EQ(back.size(), 3u);
  EXPECT_EQ(back[2].reason, RejectReason::kRollingContact);
  EXPECT_TRUE(std::isnan(back[2].v_minus.z()));
}

TEST(Tables, BadRecordingAmongGoodOnesChangesNothingForThem) {
  for (const bool planar : {true, false}) {
    SCOPED_TRACE(planar);
    const TemporaryFolder folder;
    const Body body = MakeBox({0.06, planar ? 0 : 0.06, 0.06}, 1, planar);
    std::vector<ImpactEvent> events = RandomEvents(body, Plane{}, 2, 3);
    ImpactEvent bad;  // of unknown kind: planar is not set
    bad.recording = "broken";
    bad.reason = RejectReason::kBadRecording;
    bad.detail = "no column x_m";
    events.push_back(bad);
    WriteEvents(folder.path(), events);
    const auto back = ReadEvents(folder / "events.csv", body, Plane{}, kGravity);
    ASSERT_EQ(back.size(), 3u);
    ExpectSame(events[1], back[1]);
    EXPECT_EQ(back[2].reason, RejectReason::kBadRecording);
    WriteEvents(folder.path(), std::vector<ImpactEvent>{bad});
    EXPECT_EQ(ReadEvents(folder / "events.csv", body, Plane{}, kGravity).size(), 1u);
  }
}

TEST(Tables, NoEventsIsATable) {
  const TemporaryFolder folder;
  WriteEvents(folder.path(), {});
  EXPECT_TRUE(
      ReadEvents(folder / "events.csv", MakeBox({0.06, 0, 0.06}, 1, true), Plane{}, kGravity)
          .empty());
}

std::vector<ImpactEvent> ReadText(const std::string& text, const Body& body,
                                  const std::string& sidecar = {}) {
  const TemporaryFolder folder;
  WriteFile(folder / "states.csv", text);
  if (!sidecar.empty()) WriteFile(folder / "states_cov.csv", sidecar);
  return ReadEvents(folder / "states.csv", body, Plane{}, kGravity);
}

std::string Fault(const std::string& text, const Body& body, const std::string& sidecar = {}) {
  try {
    ReadText(text, body, sidecar);
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

const char* const kPlanarHead =
    "recording;impact;note;v_minus_x_mm_per_s;v_minus_z_m_per_s;omega_minus_y_deg_per_s;v_plus_x_m_"
    "per_s;v_plus_z_m_per_s;"
    "omega_plus_y_rad_per_s;r_x_mm;r_z_m;sd_v_minus_x_mm_per_s;sd_r_z_mm\n";

TEST(Tables, ForeignPlanarTableInMixedUnits) {
  const Body body = MakeBox({0.06, 0, 0.06}, 1, true);
  const auto events = ReadText(
      std::string(kPlanarHead) + "12;0;first try, 12.5 mm;100;-2;180;0.05;0.9;-4;20;-0.03;1;0.5\n",
      body);
  ASSERT_EQ(events.size(), 1u);
  const ImpactEvent& e = events[0];
  EXPECT_EQ(e.recording, "12");
  EXPECT_TRUE(e.accepted);
  EXPECT_DOUBLE_EQ(e.v_minus.x(), 0.1);
  EXPECT_DOUBLE_EQ(e.omega_minus.y(), M_PI);
  EXPECT_EQ(e.p_WP, Vector3d(0.02, 0, -0.03));
  EXPECT_DOUBLE_EQ(e.cov(kVMinus, kVMinus), 1e-6);
  EXPECT_DOUBLE_EQ(e.cov(kLever + 2, kLever + 2), 0.25e-6);
  EXPECT_EQ(e.cov(kVPlus, kVPlus), 0);
  // v_P = v + omega x r by hand: omega_y = pi.
  EXPECT_NEAR(e.contact.v_minus_F.x(), 0.1 + M_PI * -0.03, 1e-15);
  EXPECT_NEAR(e.contact.v_minus_F.z(), -2 - M_PI * 0.02, 1e-15);
  EXPECT_NEAR(e.contact.A_F(2, 2), 1 + 0.02 * 0.02 / body.inertia_B(1, 1), 1e-12);
}

TEST(Tables, LeverFromAttitudeOrSphere) {
  const Body square = MakeBox({0.06, 0, 0.06}, 1, true);
  const auto events = ReadText(
      "recording,theta_deg,v_minus_x_m_per_s,v_minus_z_m_per_s,omega_minus_y_rad_per_s,v_plus_x_m_"
      "per_s,v_plus_z_m_per_s,omega_plus_y_rad_"
      "per_s\n"
      "a,45,0,-1,0,0,0.5,0\n",
      square);
  EXPECT_LT((events[0].p_WP - Vector3d(0, 0, -0.03 * std::sqrt(2))).norm(), 1e-15);
  const Body ball = MakeBall(0.02, 0.1);
  const std::string head =
      "recording,v_minus_x_m_per_s,v_minus_y_m_per_s,v_minus_z_m_per_s,omega_minus_x_rad_per_s,"
      "omega_minus_y_rad_per_s,"
      "omega_minus_z_rad_per_s,v_plus_x_m_per_s,v_plus_y_m_per_s,v_plus_z_m_per_s,omega_plus_x_rad_"
      "per_s,"
      "omega_plus_y_rad_per_s,omega_plus_z_rad_per_s";
  EXPECT_EQ(ReadText(head + "\na,0,0,-1,0,0,0,0,0,1,0,0,0\n", ball)[0].p_WP, Vector3d(0, 0, -0.02));
  // A body of unequal moments needs an attitude; one without a centre of symmetry a contact point.
  EXPECT_THAT(
      Fault(head + ",r_x_m,r_y_m,r_z_m\na,0,0,-1,0,0,0,0,0,1,0,0,0,0,0,0\n", MakeBox({1, 2, 3}, 1)),
      HasSubstr("attitude"));
  EXPECT_THAT(Fault(head + "\na,0,0,-1,0,0,0,0,0,1,0,0,0\n", MakeBox({1, 1, 1}, 1)),
              HasSubstr("contact point"));
}

TEST(Tables, SpinsOfABallMayBeUnknown) {
  const std::string text =
      "recording,v_minus_x_m_per_s,v_minus_z_m_per_s,omega_minus_y_rad_per_s,v_plus_x_m_per_s,v_"
      "plus_z_m_per_s,omega_plus_y_rad_per_s\n"
      "a,1,-2,,0.7,1,\n";
  const ImpactEvent event = ReadText(text, MakeBall(0.02, 0.1, true))[0];
  EXPECT_TRUE(event.accepted);
  EXPECT_TRUE(SpinIsUnknown(event));
  EXPECT_EQ(event.contact.v_minus_F, Vector3d(1, 0, -2));
  EXPECT_TRUE(SpinIsOpen(event));
  EXPECT_EQ(event.cov(kOmegaPlus + 1, kOmegaPlus + 1), kUnknownSpin * kUnknownSpin);
  EXPECT_EQ(event.cov(kOmegaPlus, kOmegaPlus), 0);
  // The contact point of a rod does not follow from its centre.
  EXPECT_THAT(Fault(text, MakeRod(0.1, 0.01, 0.1, true)), HasSubstr("omega_minus_y"));
}

// The spin on one side is enough: the impulse gives the other.
TEST(Tables, SpinOfABallMayBeKnownOnOneSide) {
  const std::string head =
      "recording,v_minus_x_m_per_s,v_minus_z_m_per_s,omega_minus_y_rad_per_s,v_plus_x_m_per_s,v_"
      "plus_z_m_per_s,omega_plus_y_rad_per_s,sd_omega_minus_y_rad_per_s,sd_omega_plus_y_rad_per_"
      "s\n";
  const Body ball = MakeBall(0.02, 0.1, true);
  const ImpactEvent before = ReadText(head + "a,1,-2,30,0.7,1,,0.5,\n", ball)[0];
  EXPECT_EQ(before.omega_minus.y(), 30);
  EXPECT_NEAR(before.cov(kOmegaMinus + 1, kOmegaMinus + 1), 0.25, 1e-12);
  // 5 / (2 r) of the 0.3 m/s that friction took.
  const ImpactEvent after = ReadText(head + "a,1,-2,,0.7,1,25,,0.5\n", ball)[0];
  EXPECT_NEAR(after.omega_minus.y(), 25 - 37.5, 1e-9);
  EXPECT_NEAR(after.cov(kOmegaMinus + 1, kOmegaMinus + 1), 0.25, 1e-12);
  for (const ImpactEvent& event : {before, after}) {
    EXPECT_TRUE(event.accepted);
    EXPECT_TRUE(SpinIsUnknown(event));
    EXPECT_FALSE(SpinIsOpen(event));
  }
}

TEST(Tables, SeparatingRowIsRejectedNotRefused) {
  const Body body = MakeBox({0.06, 0, 0.06}, 1, true);
  const auto events = ReadText(std::string(kPlanarHead) + "a;0;;0;2;0;0;1;0;0;-0.03;0;0\n", body);
  EXPECT_FALSE(events[0].accepted);
  EXPECT_EQ(events[0].reason, RejectReason::kNoApproach);
}

TEST(Tables, FaultsSayWhereAndWhatIsAllowed) {
  const Body body = MakeBox({0.06, 0, 0.06}, 1, true);
  const std::string head = kPlanarHead, row = "a;0;;100;-2;0;0;1;0;20;-0.03;1;0.5\n";
  const auto fault = [&](const std::string& text) { return Fault(text, body); };
  EXPECT_THAT(fault(head + row + row), ::testing::AllOf(HasSubstr("row 3"), HasSubstr("again")));
  EXPECT_THAT(fault(head + "a;0;;100;-2;0;0;;0;20;-0.03;1;0.5\n"),
              ::testing::AllOf(HasSubstr("row 2, column v_plus_z_m_per_s"), HasSubstr("empty")));
  EXPECT_THAT(fault(head + "a;0.5;;100;-2;0;0;1;0;20;-0.03;1;0.5\n"),
              ::testing::AllOf(HasSubstr("column impact"), HasSubstr("whole number")));
  EXPECT_THAT(fault(head + "a;0;;100;-2;0;0;1;0;20;-0.03;-1;0.5\n"),
              HasSubstr("sd_v_minus_x_mm_per_s"));
  EXPECT_THAT(fault(head + "a;0;;fast;-2;0;0;1;0;20;-0.03;1;0.5\n"), HasSubstr("fast"));
  EXPECT_THAT(fault("recording;v_minus_x_m\na;1\n"), HasSubstr("v_minus_x"));
  EXPECT_THAT(fault("impact;v_minus_x_m_per_s\n0;1\n"), HasSubstr("recording"));
  // A spatial state has no place in planar motion.
  EXPECT_THAT(fault("recording,v_minus_x_m_per_s,v_minus_y_m_per_s,v_minus_z_m_per_s,omega_minus_y_"
                    "rad_per_s,v_plus_x_m_per_s,v_plus_z_m_per_s,"
                    "omega_plus_y_rad_per_s,r_x_m,r_z_m\na,0,0.1,-1,0,0,1,0,0,-0.03\n"),
              ::testing::AllOf(HasSubstr("v_minus_y_m_per_s"), HasSubstr("planar")));
  EXPECT_THROW(ReadEvents("/no/such/events.csv", body, Plane{}, kGravity), DataError);
}

TEST(Tables, SpatialEventsOfAPlanarBodyAreRefused) {
  const TemporaryFolder folder;
  const Body cube = MakeBox({0.06, 0.06, 0.06}, 1);
  WriteEvents(folder.path(), RandomEvents(cube, Plane{}, 2, 3));
  try {
    ReadEvents(folder / "events.csv", MakeBox({0.06, 0, 0.06}, 1, true), Plane{}, kGravity);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("planar"));
  }
}

TEST(Tables, SidecarOfAnotherTableIsRefused) {
  const TemporaryFolder folder;
  const Body body = MakeBox({0.06, 0, 0.06}, 1, true);
  std::vector<ImpactEvent> events = RandomEvents(body, Plane{}, 3, 5);
  WriteEvents(folder.path(), events);
  const std::string sidecar = ReadFile(folder / "events_cov.csv");
  for (ImpactEvent& e : events) e.cov *= 1.1;
  WriteEvents(folder.path(), events);
  WriteFile(folder / "events_cov.csv", sidecar);
  EXPECT_THROW(ReadEvents(folder / "events.csv", body, Plane{}, kGravity), DataError);
  // Without a sidecar the standard deviations remain.
  std::filesystem::remove(folder / "events_cov.csv");
  const auto back = ReadEvents(folder / "events.csv", body, Plane{}, kGravity);
  EXPECT_NEAR(back[1].cov(kVMinus, kVMinus), events[1].cov(kVMinus, kVMinus), 1e-15);
  EXPECT_EQ(back[1].cov(kVMinus, kVPlus), 0);
}

TEST(Tables, PublishedTablesLoad) {
  const std::filesystem::path folder =
      std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data" / "published";
  const Body rod = MakeRod(0.3, 0.01, 0.2);
  int accepted = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().filename().string().find("_events") == std::string::npos ||
        file.path().extension() != ".csv")
      continue;
    SCOPED_TRACE(file.path());
    const auto events = ReadEvents(file.path(), rod, Plane{}, kGravity);
    EXPECT_FALSE(events.empty());
    for (const ImpactEvent& e : events) {
      if (!e.accepted) continue;
      ++accepted;
      EXPECT_TRUE(e.contact.A_F.allFinite() && e.v_plus_F.allFinite());
      EXPECT_LT(
          (e.X_WB.linear() * e.X_WB.linear().transpose() - Eigen::Matrix3d::Identity()).norm(),
          1e-12);
    }
  }
  EXPECT_GE(accepted, 6);
}

TEST(Tables, MotionHasOneRowForEveryArcAndRest) {
  const TemporaryFolder folder;
  MotionFit fit;
  fit.sigma_position = 3e-5;
  fit.dof = 40;
  fit.arcs.resize(2);
  fit.arcs[0].recording = fit.arcs[1].recording = "a";
  fit.arcs[1].acceleration_W = Vector3d(0, 0.1, -9.8);
  fit.rests.resize(1);
  fit.rests[0].recording = "a";
  fit.rests[0].X_WB = PlanarPose(0.1, 0.03, 0.2);
  WriteMotion(folder / "motion.csv", std::vector<MotionFit>{fit, MotionFit{}});
  const Table table =
      ReadCsv(folder / "motion.csv",
              {.text_columns = {"recording", "kind"}, .is_text = {}, .empty_is_nan = true});
  ASSERT_EQ(table.n_rows(), 3u);
  EXPECT_EQ(table.TextColumn("kind"), (std::vector<std::string>{"flight", "flight", "rest"}));
  EXPECT_EQ(table.Column("acceleration_z_m_per_s2")[1], -9.8);
  EXPECT_TRUE(std::isnan(table.Column("x_m")[0]));
  EXPECT_EQ(table.Column("x_m")[2], 0.1);
  EXPECT_TRUE(std::isnan(table.Column("duration_s")[2]));
  EXPECT_EQ(table.Column("dof")[2], 40);
}

TEST(Tables, AuditIsStrictJson) {
  AuditResult audit;
  audit.gravity = {
      9.81, 0.01, 9.79, std::numeric_limits<double>::infinity(), true, "line\n\"quoted\" \xff"};
  audit.momentum.rms = std::nan("");
  audit.evidence.push_back(
      {"theta_offset_rad", "momentum", {-0.036, 0.001, -0.038, -0.034, true, ""}});
  audit.findings.push_back({"theta_offset_rad", true, {}, "turned"});
  audit.correction.rotation_offset_B.y() = 0.036;
  audit.events.push_back({"drop_001", 2, 0.1, 0.2, -0.3, 0.01, "opposes", true, true, false});
  const nlohmann::json json = nlohmann::json::parse(ToJson(audit));
  EXPECT_TRUE(json["gravity_m_per_s2"]["upper95"].is_null());
  EXPECT_TRUE(json["momentum"]["rms_rad_per_s"].is_null());
  EXPECT_EQ(json["gravity_m_per_s2"]["value"], 9.81);
  EXPECT_EQ(json["evidence"][0]["estimate"]["value"], -0.036);
  EXPECT_EQ(json["correction"]["theta_offset_rad"], -0.036);
  EXPECT_EQ(json["findings"][0]["named"], true);
  EXPECT_EQ(json["events"][0]["friction_ok"], false);
}

}  // namespace
}  // namespace impactlab
