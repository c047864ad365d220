// `impactlab identify` with a table of states that no run wrote.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "data/files/fit_result.h"
#include "tests/reconstruction/audit/audit_scene.h"
#include "tests/support/process.h"

namespace impactlab::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kExperimentHead =
    "schema: impactlab.experiment/1\nrecordings: {files: none.csv, kind: planar_poses}\n"
    "body: {shape: box, sides_m: [0.06, 0.06], mass_kg: 0.1}\n"
    "floor: {normal: [0, 0, 1], offset_m: 0}\nidentify: {bootstrap: 0, grid: 0}\n";

// The same states under our names, in SI.
std::string OwnTable() {
  const testing_audit::AuditSet set = testing_audit::MakeSet(testing_audit::Scene(), 17);
  std::string text =
      "recording,theta_rad,v_minus_x_m_per_s,v_minus_z_m_per_s,omega_minus_y_rad_per_s,"
      "v_plus_x_m_per_s,v_plus_z_m_per_s,omega_plus_y_rad_per_s\n";
  for (std::size_t k = 0; k < set.events.size(); ++k) {
    const ImpactEvent& e = set.events[k];
    text += fmt::format("{},{:.12f},{:.12f},{:.12f},{:.12f},{:.12f},{:.12f},{:.12f}\n", k + 1,
                        PlanarAngle(e.X_WB), e.v_minus.x(), e.v_minus.z(), e.omega_minus.y(),
                        e.v_plus.x(), e.v_plus.z(), e.omega_plus.y());
  }
  return text;
}

// States in millimetres and degrees under names of their own, spins times `factor`.
std::string ForeignTable(double factor) {
  const testing_audit::AuditSet set = testing_audit::MakeSet(testing_audit::Scene(), 17);
  std::string text = "trial,angle,vx0,vz0,w0,vx1,vz1,w1\n";
  const double degree = 180 / M_PI;
  for (std::size_t k = 0; k < set.events.size(); ++k) {
    const ImpactEvent& e = set.events[k];
    text += fmt::format("{},{:.6f},{:.4f},{:.4f},{:.5f},{:.4f},{:.4f},{:.5f}\n", k + 1,
                        PlanarAngle(e.X_WB) * degree, 1e3 * e.v_minus.x(), 1e3 * e.v_minus.z(),
                        -factor * e.omega_minus.y(), 1e3 * e.v_plus.x(), 1e3 * e.v_plus.z(),
                        -factor * e.omega_plus.y());
  }
  return text;
}

const std::string kNames =
    "states:\n  columns: {recording: trial, theta: angle deg, v_minus_x: vx0 mm_per_s, v_minus_z: "
    "vz0 mm_per_s, v_plus_x: vx1 mm_per_s, v_plus_z: vz1 mm_per_s, theta_dot_minus: w0, "
    "theta_dot_plus: w1}\n";

TEST(IdentifyStates, AForeignTableIsReadAuditedAndFitted) {
  const ScratchFolder scratch("states");
  WriteText(scratch.path() / "e.yaml", kExperimentHead + kNames);
  WriteText(scratch.path() / "t.csv", ForeignTable(1));
  const std::string out = scratch.path() / "out";
  const ProcessResult run =
      RunProgram({"identify", (scratch.path() / "e.yaml").string(), "--events",
                  (scratch.path() / "t.csv").string(), "--out", out},
                 scratch.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("momentum    spin-change residual"), HasSubstr("closes")));
  const FitResult fit = FitResultFromJson(ReadText(out + "/fit.json"), "fit.json");
  EXPECT_EQ(fit.verdict.verdict, "closes");
  WriteText(scratch.path() / "own.yaml", kExperimentHead);
  WriteText(scratch.path() / "own.csv", OwnTable());
  ASSERT_EQ(RunProgram({"identify", (scratch.path() / "own.yaml").string(), "--events",
                        (scratch.path() / "own.csv").string(), "--out", out + "_own"},
                       scratch.path())
                .code,
            0);
  const FitResult own = FitResultFromJson(ReadText(out + "_own/fit.json"), "fit.json");
  for (const bool friction : {true, false}) {
    const LawFit &a = fit.fits.at(0), &b = own.fits.at(0);
    const ParameterEstimate &p = friction ? a.mu_k : a.e, &q = friction ? b.mu_k : b.e;
    EXPECT_GT(p.sd, 0);
    EXPECT_NEAR(p.value, q.value, 0.02 * q.sd) << p.name;
  }
  EXPECT_THAT(ReadText(out + "/states_audit.json"), HasSubstr("momentum_closure"));
}

TEST(IdentifyStates, DegreesTakenForRadiansAreRefusedWithTheCure) {
  const ScratchFolder scratch("states degrees");
  WriteText(scratch.path() / "e.yaml", kExperimentHead + kNames);
  WriteText(scratch.path() / "t.csv", ForeignTable(180 / M_PI));
  const auto identify = [&] {
    return RunProgram(
        {"identify", (scratch.path() / "e.yaml").string(), "--events",
         (scratch.path() / "t.csv").string(), "--out", (scratch.path() / "out").string()},
        scratch.path());
  };
  const ProcessResult run = identify();
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, AllOf(HasSubstr("spins are in degrees, not radians"),
                             HasSubstr("coefficients are withheld")));
  EXPECT_THAT(run.out, Not(HasSubstr("mu_k")));
  std::string cured = kNames;
  cured.replace(cured.find("theta_dot_minus: w0"), 19, "theta_dot_minus: w0 deg_per_s");
  cured.replace(cured.find("theta_dot_plus: w1"), 18, "theta_dot_plus: w1 deg_per_s");
  WriteText(scratch.path() / "e.yaml", kExperimentHead + cured);
  EXPECT_EQ(identify().code, 0) << identify().err;
  // A correction is applied, or refused in one line.
  WriteText(scratch.path() / "e.yaml",
            kExperimentHead + cured + "correction: {length_scale: 1.001}\n");
  EXPECT_THAT(identify().err, HasSubstr("note: correction: applied to the states of"));
}

}  // namespace
}  // namespace impactlab::test
