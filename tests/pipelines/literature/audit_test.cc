// The audit of printed tables: it finds every fault that is planted, none in tables that are right,
// and attitudes from momentum alone.

#include "pipelines/literature/audit.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <random>

#include "pipelines/literature/attitude.h"

namespace impactlab {
namespace {

using Eigen::Matrix3d;
using Eigen::Vector3d;
using Eigen::VectorXd;
using ::testing::HasSubstr;

const Vector3d kDown(0, 0, -9.81);

Body Rod() { return MakeRod(0.3, 0.005, 0.17); }
Body Bar() { return MakeBox(Vector3d(0.3, 0.05, 0.0125), 0.185); }

Printed AsPrinted(double value, int decimals) {
  return *ReadPrinted(fmt::format("{:.{}f}", value, decimals));
}

PrintedMotion AsPrinted(const MotionVector& exact) {
  PrintedMotion out;
  for (int i = 0; i < 6; ++i) {
    const Printed p = AsPrinted(exact[i], 3);
    out.value[i] = p.value;
    out.half[i] = p.half;
  }
  return out;
}

Matrix3d RandomRotation(std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  return Eigen::Quaterniond(normal(rng), normal(rng), normal(rng), normal(rng))
      .normalized()
      .toRotationMatrix();
}

struct Truth {
  PrintedRow row;
  MotionVector plus;  // exact
};

// A drop on a slope as a faultless source would print it: the energetic law from inputs that are
// the printed ones.
Truth Drop(const Body& body, std::mt19937_64& rng, const std::string& name) {
  std::uniform_real_distribution<double> unit(-1, 1);
  for (;;) {
    Truth t;
    PrintedRow& row = t.row;
    row.name = name;
    row.slope = 0.3 + 0.25 * unit(rng);
    Placement p;
    p.R_WB = RandomRotation(rng);
    p.downhill = M_PI * unit(rng);
    const Vector3d n = SlopeNormal(row.slope, p.downhill);
    p.r_B = SupportLever(body, p.R_WB.transpose() * n);
    MotionVector minus;
    minus << 0.8 * unit(rng), 0.8 * unit(rng), -1.8 + 0.2 * unit(rng), unit(rng), unit(rng),
        unit(rng);
    row.minus = AsPrinted(minus);
    row.e = AsPrinted(0.4 + 0.2 * unit(rng), 3);
    row.mu_k = AsPrinted(0.3 + 0.2 * unit(rng), 3);
    row.mu_s = row.mu_k;
    Eigen::Isometry3d X_WB = Eigen::Isometry3d::Identity();
    X_WB.linear() = p.R_WB;
    const Eigen::Isometry3d X_WF = ContactFrame({n, 0}, X_WB * p.r_B, kDown, false);
    const ContactState contact =
        MakeContactState(body, X_WB, row.minus.value.head<3>(), row.minus.value.tail<3>(), X_WF);
    if (!(contact.v_minus_F.z() < -0.5)) continue;
    const ImpactOutcome outcome =
        Solve(contact, {{row.e.value, row.mu_k.value, row.mu_s.value}, RestitutionLaw::kEnergetic});
    // A contact that leaves faster than it came is what the audit is to name.
    if (!outcome.usable() || outcome.v_plus_F.z() > -0.95 * contact.v_minus_F.z()) continue;
    const VelocityChange change = ApplyImpulse(body, X_WB, X_WF, outcome.J_F);
    t.plus = row.minus.value + (MotionVector() << change.dv_W, change.domega_W).finished();
    // A spin about a thin axis of hundreds of rad/s is no drop test.
    if (t.plus.tail<3>().norm() > 60) continue;
    row.plus = AsPrinted(t.plus);
    row.plus_again = row.plus;
    row.computed = row.plus;
    const auto energy = [&](const MotionVector& u) {
      return KineticEnergy(body, p.R_WB, u.head<3>(), u.tail<3>());
    };
    row.loss_measured = row.loss_computed =
        AsPrinted(100 * (1 - energy(t.plus) / energy(row.minus.value)), 1);
    row.case_label = outcome.path_case.Name();
    row.mode_label = ModeOf(outcome.path_case);
    row.placement = p;
    return t;
  }
}

PrintedTable Faultless(const Body& body, int n, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  PrintedTable table;
  table.title = "drops";
  table.body = body;
  table.inertia_printed_B = body.inertia_B;
  for (int k = 0; k < n; ++k) table.rows.push_back(Drop(body, rng, std::to_string(k)).row);
  return table;
}

TEST(PrintedNumbers, StandForAllThatRoundToThem) {
  EXPECT_DOUBLE_EQ(ReadPrinted("-15.1")->half, 0.05);
  EXPECT_DOUBLE_EQ(ReadPrinted(" 0.10 ")->half, 0.005);
  EXPECT_DOUBLE_EQ(ReadPrinted("20")->half, 0.5);
  EXPECT_DOUBLE_EQ(ReadPrinted("3.8e-3")->half, 0.05e-3);
  EXPECT_DOUBLE_EQ(ReadPrinted("45", M_PI / 180)->value, M_PI / 4);
  EXPECT_DOUBLE_EQ(ReadPrinted("45", M_PI / 180)->half, 0.5 * M_PI / 180);
  EXPECT_FALSE(ReadPrinted("1,5").has_value());
  EXPECT_FALSE(ReadPrinted("").has_value());
}

TEST(PrintedNumbers, RoundingIsCarriedThrough) {
  const VectorXd x = (VectorXd(3) << 1, 2, 3).finished(),
                 half = (VectorXd(3) << 0.1, 0.2, 0).finished();
  const Recomputed r =
      Recompute([](const VectorXd& u) { return 3 * u[0] - 2 * u[1] + u[2]; }, x, half);
  EXPECT_NEAR(r.value, 2, 1e-12);
  EXPECT_NEAR(r.bound, 0.7, 1e-12);
  EXPECT_NEAR(r.u, std::sqrt((0.09 + 0.16) / 3), 1e-12);
  // The coverage of a sum of two rectangles: 2 u holds all but (1 - 2u / bound)^2 ... of a
  // triangle-like density.
  std::mt19937_64 rng(7);
  std::uniform_real_distribution<double> unit(-1, 1);
  double square = 0;
  for (int k = 0; k < 20000; ++k) {
    const double y = 3 * 0.1 * unit(rng) - 2 * 0.2 * unit(rng);
    square += y * y;
    EXPECT_LE(std::abs(y), r.bound);
  }
  EXPECT_NEAR(std::sqrt(square / 20000), r.u, 0.01 * r.u * 3);
}

TEST(PrintedNumbers, CasesAndTheirWords) {
  EXPECT_EQ(ReadCaseLabel("2.75")->path_case.Name(), "2c");
  EXPECT_TRUE(ReadCaseLabel("2.75")->plot_code);
  EXPECT_EQ(ReadCaseLabel("4a")->path_case.Name(), "4a");
  EXPECT_EQ(ReadCaseLabel("5")->path_case.digit, 5);
  for (const char* bad : {"7", "1a", "2.3", "x", "", "22"})
    EXPECT_FALSE(ReadCaseLabel(bad).has_value()) << bad;
  EXPECT_EQ(ModeOf("RSliding"), "reverse sliding");
  EXPECT_EQ(ModeOf("Reverse Sliding"), "reverse sliding");
  EXPECT_EQ(ModeOf("Sliding"), "sliding");
  EXPECT_EQ(ModeOf("Sticking"), "sticking");
  EXPECT_EQ(ModeOf("bouncing"), "");
}

TEST(PrintedAudit, FindsNothingInTablesThatAreRight) {
  for (const Body& body : {Rod(), Bar()}) {
    const TableAudit audit = AuditTable(Faultless(body, 25, 11));
    for (const TableFault& f : audit.faults)
      ADD_FAILURE() << f.row << " " << f.sentence << " +- " << f.tolerance;
    for (const RowAudit& row : audit.rows) {
      EXPECT_EQ(row.attitude, AttitudeSource::kStated);
      ASSERT_EQ(row.predictions.size(), 3U);
      EXPECT_LT(row.predictions[0].error, 0.02);
      EXPECT_LT(row.error_computed, 1e-12);
    }
  }
}

// One fault in one row: it is named, and no other row is blamed.
TEST(PrintedAudit, NamesWhatIsPlanted) {
  const PrintedTable right = Faultless(Bar(), 4, 5);
  struct Plant {
    const char* kind;
    std::function<void(PrintedTable&, PrintedRow&)> by;
  };
  const auto other_mode = [](const PrintedRow& row) {
    return row.mode_label == "sticking" ? "Sliding" : "Sticking";
  };
  const std::vector<Plant> plants = {
      {"energy",
       [](PrintedTable&, PrintedRow& row) {
         row.loss_measured = AsPrinted(row.loss_measured.value + 3, 1);
       }},
      {"energy",
       [](PrintedTable&, PrintedRow& row) {
         row.loss_computed = AsPrinted(row.loss_computed.value - 3, 1);
       }},
      {"momentum",
       [](PrintedTable&, PrintedRow& row) {
         row.plus.value[4] += 1.5;
         row.plus_again = row.plus;
       }},
      {"copy", [](PrintedTable&, PrintedRow& row) { row.plus_again->value[0] += 0.02; }},
      {"label", [&](PrintedTable&, PrintedRow& row) { row.mode_label = other_mode(row); }},
      {"case",
       [](PrintedTable&, PrintedRow& row) {
         row.case_label = "5";
         row.mode_label = "sticking";
       }},
      {"friction",
       [](PrintedTable&, PrintedRow& row) { row.mu_k = row.mu_s = AsPrinted(0.01, 3); }},
      {"coefficient",
       [](PrintedTable& table, PrintedRow& row) {
         table.measured = {{"e", AsPrinted(row.e.value + 0.1, 3), "section 4"}};
       }},
      {"inertia",
       [](PrintedTable& table, PrintedRow&) { (*table.inertia_printed_B)(2, 2) *= 1e-3; }}};
  for (const Plant& plant : plants) {
    PrintedTable table = right;
    plant.by(table, table.rows[3]);
    const TableAudit audit = AuditTable(table);
    int named = 0;
    for (const TableFault& f : audit.faults) {
      named += f.kind == plant.kind;
      EXPECT_TRUE(f.row.empty() || f.row == "3")
          << plant.kind << ": " << f.row << " " << f.sentence;
    }
    EXPECT_GE(named, 1) << plant.kind;
  }
}

TEST(PrintedAudit, NamesAGainAndAContactThatLeavesTooFast) {
  PrintedTable table = Faultless(Rod(), 1, 3);
  PrintedRow& row = table.rows[0];
  row.plus.value *= 3;
  row.plus_again = row.plus;
  std::string all;
  for (const TableFault& f : AuditTable(table).faults) all += f.sentence + "\n";
  EXPECT_THAT(all, HasSubstr("gain"));
  EXPECT_THAT(all, HasSubstr("times as fast"));
}

TEST(PrintedAudit, TellsTheFrameOfGravityFromThatOfTheSlope) {
  PrintedTable table = Faultless(Bar(), 4, 9);
  for (PrintedRow& row : table.rows) {
    row.slope = 0.6;
    row.minus.value.head<3>() = Vector3d(0.03, -0.02, -1.9);
  }
  std::string all;
  for (const TableFault& f : AuditTable(table).faults) all += f.kind + ": " + f.sentence + "\n";
  EXPECT_THAT(all, HasSubstr("frame: all bodies fall within"));
}

// The attitude found closes the momentum by an independent reckoning, its contact is the lowest
// point, and it needs no more friction than the true one.
TEST(SolveAttitude, ClosesTheMomentumOfDropsWhoseAttitudeIsHidden) {
  for (const Body& body : {Rod(), Bar()}) {
    std::mt19937_64 rng(21);
    for (int k = 0; k < 6; ++k) {
      Truth t = Drop(body, rng, "hidden");
      PrintedRow row = t.row;
      row.plus.value = t.plus;  // exact
      const Placement truth = *row.placement;
      row.placement.reset();
      const SolvedAttitude s = SolveAttitude(body, row, 0.1);
      EXPECT_TRUE(s.usable) << s.reason;
      EXPECT_GE(s.solutions, 1);
      EXPECT_LT(s.misfit_share, 0.01);
      const Matrix3d R = s.placement.R_WB;
      const Vector3d J = body.mass * (row.plus.value - row.minus.value).head<3>(),
                     domega = (row.plus.value - row.minus.value).tail<3>();
      const Vector3d off =
          R * body.inertia_B * R.transpose() * domega - (R * s.placement.r_B).cross(J);
      EXPECT_LT(off.norm(), 0.011 * body.inertia_B.diagonal().maxCoeff() * domega.norm());
      const Vector3d n = SlopeNormal(row.slope, s.placement.downhill);
      EXPECT_LT((s.placement.r_B - SupportLever(body, R.transpose() * n)).norm(), 1e-9);
      const Vector3d n_true = SlopeNormal(row.slope, truth.downhill);
      const auto friction = [&](const Vector3d& normal) {
        return (J - normal * normal.dot(J)).norm() / normal.dot(J);
      };
      EXPECT_LT(s.friction, friction(n_true) + 0.02);
    }
  }
}

TEST(SolveAttitude, SaysWhenThereIsNone) {
  std::mt19937_64 rng(2);
  const Body body = Bar();
  PrintedRow row = Drop(body, rng, "impossible").row;
  row.placement.reset();
  // The longest lever cannot turn the bar so fast, about any axis.
  row.plus.value.tail<3>() = Vector3d(0, 5000, 0);
  const SolvedAttitude s = SolveAttitude(body, row, 0.1);
  EXPECT_FALSE(s.usable);
  EXPECT_FALSE(s.reason.empty());
  PrintedTable table;
  table.body = body;
  table.rows = {row};
  const TableAudit audit = AuditTable(table);
  EXPECT_EQ(audit.rows[0].attitude, AttitudeSource::kNeeded);
  EXPECT_TRUE(audit.rows[0].predictions.empty());
  EXPECT_LT(audit.rows[0].loss_least, audit.rows[0].loss_most);
}

TEST(SolveAttitude, SaysWhenTheMomentumIsTooLarge) {
  std::mt19937_64 rng(2);
  PrintedRow row = Drop(Bar(), rng, "impossible").row;
  row.placement.reset();
  row.minus.value.head<3>().setConstant(-1e308);
  row.plus.value.head<3>().setConstant(1e308);
  const SolvedAttitude s = SolveAttitude(Bar(), row, 0.1);
  EXPECT_FALSE(s.usable);
  EXPECT_FALSE(s.reason.empty());
}

}  // namespace
}  // namespace impactlab
