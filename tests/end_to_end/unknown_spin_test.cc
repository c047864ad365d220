// A ball of which the centre alone was followed, over two bounces: at the first it slides or grips,
// and arrives at the second with the spin that the first gave it.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>
#include <string>

#include "data/files/fit_result.h"
#include "impact/body/body.h"
#include "impact/body/event.h"
#include "impact/law/solve.h"
#include "tests/support/process.h"

namespace impactlab::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kBallFriction = 0.1, kBallRestitution = 0.8, kBallRadius = 0.02, kG = 9.80665;

// Thrown level with the spin theta_dot; t, x, z of the centre.
std::string Throw(double height, double speed, double theta_dot, std::mt19937_64& random) {
  std::normal_distribution<double> noise(0, 5e-5);
  const Body ball = MakeBall(kBallRadius, 0.05, true);
  Eigen::Vector3d p(0, 0, height), v(speed, 0, 0), omega(0, -theta_dot, 0);
  double start = 0;
  int bounces = 0;
  std::string text = "t_s,x_m,z_m\n";
  for (int i = 0; bounces < 3; ++i) {
    const double t = 0.002 * i;
    const double fall = (v.z() + std::sqrt(v.z() * v.z() + 2 * kG * (p.z() - kBallRadius))) / kG;
    if (t > start + fall) {
      start += fall;
      p = {p.x() + v.x() * fall, 0, kBallRadius};
      v.z() -= kG * fall;
      ImpactEvent event;
      event.planar = true;
      event.X_WB.translation() = p;
      event.p_WP = Eigen::Vector3d(p.x(), 0, 0);
      event.v_minus = v;
      event.omega_minus = omega;
      UpdateContact(event, ball, Plane(), {0, 0, -kG});
      const ImpactModel model{{.e = kBallRestitution, .mu_k = kBallFriction, .mu_s = kBallFriction},
                              RestitutionLaw::kEnergetic};
      const VelocityChange change =
          ApplyImpulse(ball, event.X_WB, event.contact.X_WF, Solve(event.contact, model).J_F);
      v += change.dv_W;
      omega += change.domega_W;
      if (++bounces == 3) break;
    }
    const double s = t - start;
    text += fmt::format("{:.6f},{:.6f},{:.6f}\n", t, p.x() + v.x() * s + noise(random),
                        p.z() + v.z() * s - 0.5 * kG * s * s + noise(random));
  }
  return text;
}

std::filesystem::path DrawThrows(const ScratchFolder& scratch, double theta_dot) {
  std::mt19937_64 random(20261130);
  std::uniform_real_distribution<double> height(0.25, 0.4), speed(0.6, 2.8);
  for (int i = 0; i < 16; ++i)
    WriteText(scratch.path() / fmt::format("ball_{:02d}.csv", i),
              Throw(height(random), speed(random), theta_dot, random));
  return scratch.path();
}

std::filesystem::path WriteBallExperiment(const std::filesystem::path& folder,
                                          const std::string& name, const std::string& release) {
  auto path = folder / (name + ".yaml");
  WriteText(path,
            "schema: impactlab.experiment/1\n"
            "recordings: {files: ball_*.csv, kind: planar_poses, columns: {theta: none}}\n"
            "body: {shape: ball, radius_m: 0.02, mass_kg: 0.05}\n"
            "floor: {normal: [0, 0, 1], offset_m: 0}\n" +
                release);
  return path;
}

FitResult RunFit(const std::filesystem::path& folder, const std::string& name,
                 const std::string& release, std::string* told) {
  const auto file = WriteBallExperiment(folder, name, release);
  const ProcessResult run =
      RunProgram({"run", file.string(), "--out", (folder / name).string(), "--no-report"}, folder);
  EXPECT_EQ(run.code, 0) << run.err;
  *told = run.out;
  return FitResultFromJson(ReadText(folder / name / "fit.json"), name);
}

const ParameterEstimate& FrictionOf(const FitResult& fit) { return fit.fits.back().mu_k; }

TEST(UnknownSpin, BoundsFrictionBelowUnlessTheReleaseIsDeclared) {
  const ScratchFolder scratch("unknown spin");
  const auto folder = DrawThrows(scratch, 0);
  std::string told;
  const FitResult open = RunFit(folder, "open", "", &told);
  EXPECT_EQ(open.n_events, 32);
  EXPECT_FALSE(FrictionOf(open).identifiable);
  EXPECT_LE(FrictionOf(open).lower95, kBallFriction + 0.003);
  EXPECT_GT(FrictionOf(open).lower95, 0.08);
  EXPECT_TRUE(std::isinf(FrictionOf(open).upper95));
  EXPECT_NEAR(open.fits.back().e.value, kBallRestitution, 0.005);
  EXPECT_THAT(told, AllOf(HasSubstr("the spin before 32 of 32 impacts was not measured"),
                          HasSubstr("release: {sd_rad_per_s: 1}"), Not(HasSubstr("clock_rate")),
                          Not(HasSubstr("inertia_scale"))));
  // Let go at rest: the second bounce counts with the spin that the first gave.
  const FitResult rest = RunFit(folder, "rest", "release: {sd_rad_per_s: 1}\n", &told);
  EXPECT_TRUE(FrictionOf(rest).identifiable) << FrictionOf(rest).reason;
  EXPECT_LE(FrictionOf(rest).lower95, kBallFriction);
  EXPECT_GE(FrictionOf(rest).upper95, kBallFriction);
  EXPECT_LT(FrictionOf(rest).upper95 - FrictionOf(rest).lower95, 0.03);
  // The same out of the table of events.
  const auto file = WriteBallExperiment(folder, "again", "release: {sd_rad_per_s: 1}\n");
  const ProcessResult again =
      RunProgram({"identify", file.string(), "--events", (folder / "rest/events.csv").string(),
                  "--out", (folder / "again").string()},
                 folder);
  EXPECT_EQ(again.code, 0) << again.err;
  const FitResult table = FitResultFromJson(ReadText(folder / "again/fit.json"), "again");
  EXPECT_NEAR(FrictionOf(table).value, FrictionOf(rest).value, 1e-6);
}

// Topspin, and a spin that is declared where there is another.
TEST(UnknownSpin, DeclaredTopspinGivesTheFriction) {
  const ScratchFolder scratch("topspin");
  const auto folder = DrawThrows(scratch, -120);
  std::string told;
  const FitResult open = RunFit(folder, "open", "", &told);
  EXPECT_FALSE(FrictionOf(open).identifiable);
  EXPECT_LE(FrictionOf(open).lower95, kBallFriction + 0.003);
  const FitResult known =
      RunFit(folder, "known", "release: {theta_dot_rad_per_s: -120, sd_rad_per_s: 3}\n", &told);
  EXPECT_LE(FrictionOf(known).lower95, kBallFriction);
  EXPECT_GE(FrictionOf(known).upper95, kBallFriction);
}

}  // namespace
}  // namespace impactlab::test
