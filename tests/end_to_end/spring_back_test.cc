// Balls that grip and spring back along the surface, and balls that nothing tells friction of: one
// answer in the fit, on the screen, in the models, in predictions and in the campaign.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "data/files/fit_result.h"
#include "tests/support/process.h"

namespace impactlab::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr double kRadius = 0.02, kMass = 0.03, kGravity = 9.80665;

// A solid ball before and after it strikes the floor: velocities [m/s], spin as the rate of theta
// [rad/s]. Closed form of Walton: |J_t| is the least of mu J_n and (1 + e_t) of the slip's own.
struct BallImpact {
  double v_x = 0, v_z = 0, rate = 0;
  double v_x_plus = 0, v_z_plus = 0, rate_plus = 0;
};

BallImpact Strike(double v_x, double v_z, double rate, double mu, double e_t) {
  BallImpact impact{.v_x = v_x, .v_z = v_z, .rate = rate};
  constexpr double kRestitution = 0.7;
  const double J_n = (1 + kRestitution) * kMass * std::abs(v_z), slip = v_x + kRadius * rate;
  const double sticks = std::abs(slip) * kMass / 3.5;
  const double J_t =
      -std::copysign(sticks <= mu * J_n ? std::min(mu * J_n, (1 + e_t) * sticks) : mu * J_n, slip);
  impact.v_x_plus = v_x + J_t / kMass;
  impact.v_z_plus = -kRestitution * v_z;
  impact.rate_plus = rate + 2.5 * J_t / (kMass * kRadius);
  return impact;
}

std::vector<BallImpact> Draw(int n, double mu, double e_t, double speed, double rate,
                             std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> side(-1, 1), fall(-3, -2);
  std::vector<BallImpact> out;
  for (int i = 0; i < n; ++i) {
    const double v_x = speed * side(random), v_z = fall(random), spin = rate * side(random);
    out.push_back(Strike(v_x, v_z, spin, mu, e_t));
  }
  return out;
}

// Poses of a ball around each impact, one file each, with noise of a hundredth of a millimetre.
void WritePoses(const std::filesystem::path& folder, const std::vector<BallImpact>& impacts) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> noise;
  for (std::size_t k = 0; k < impacts.size(); ++k) {
    const BallImpact& ball = impacts[k];
    std::string text = "t_s,x_m,z_m,theta_rad\n";
    for (int i = -30; i <= 30; ++i) {
      const double t = (i + 0.4) / 500;  // since the impact
      const bool before = t < 0;
      text += fmt::format("{:.6f},{:.7f},{:.7f},{:.7f}\n", t + 0.1,
                          (before ? ball.v_x : ball.v_x_plus) * t + 1e-5 * noise(random),
                          kRadius + (before ? ball.v_z : ball.v_z_plus) * t -
                              0.5 * kGravity * t * t + 1e-5 * noise(random),
                          (before ? ball.rate : ball.rate_plus) * t + 5e-4 * noise(random));
    }
    WriteText(folder / fmt::format("ball_{:02d}.csv", k), text);
  }
}

std::filesystem::path WriteExperiment(const std::filesystem::path& folder,
                                      const std::string& more = "") {
  auto file = folder / "ball.yaml";
  WriteText(file,
            "schema: impactlab.experiment/1\n"
            "recordings: {files: \"ball_*.csv\", kind: planar_poses}\n"
            "body: {shape: ball, radius_m: 0.02, mass_kg: 0.03}\n"
            "floor: {normal: [0, 0, 1], offset_m: 0}\nidentify: {bootstrap: 0}\n" +
                more);
  return file;
}

FitResult FitOf(const std::filesystem::path& folder) {
  return FitResultFromJson(ReadText(folder / "fit.json"), "fit.json");
}

// Rows of a table without quoted commas, by the names of its columns.
std::vector<std::map<std::string, std::string>> RowsOf(const std::filesystem::path& path) {
  const auto cells = [](const std::string& line) {
    std::vector<std::string> out(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"') quoted = !quoted;
      if (c == ',' && !quoted)
        out.emplace_back();
      else if (c != '"' && c != '\r')
        out.back() += c;
    }
    return out;
  };
  std::istringstream lines(ReadText(path));
  std::string line;
  std::getline(lines, line);
  const auto names = cells(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(lines, line)) {
    const auto values = cells(line);
    for (auto& row = rows.emplace_back(); const std::string& name : names)
      row[name] = values[row.size()];
  }
  return rows;
}

void ExpectGrip(const FitResult& fit, double e_t) {
  ASSERT_FALSE(fit.fits.empty());
  for (const LawFit& law : fit.fits) {
    ASSERT_TRUE(law.e_t) << law.law;
    EXPECT_NEAR(law.e_t->value, e_t, 0.02) << law.law;
    EXPECT_FALSE(law.mu_k.identifiable) << law.law;
    EXPECT_TRUE(std::isinf(law.mu_k.upper95));
    EXPECT_GT(law.mu_k.lower95, 0.03);
  }
}

TEST(SpringBackCommands, ATableOfStatesIsNotReadAsLowFriction) {
  const ScratchFolder scratch("grip states");
  const auto file = WriteExperiment(scratch.path());
  std::string table =
      "recording,impact,accepted,v_minus_x_m_per_s,v_minus_z_m_per_s,omega_minus_y_rad_per_s,"
      "v_plus_x_m_per_s,v_plus_z_m_per_s,omega_plus_y_rad_per_s,sd_v_minus_x_m_per_s,"
      "sd_v_minus_z_m_per_s,sd_omega_minus_y_rad_per_s,sd_v_plus_x_m_per_s,sd_v_plus_z_m_per_s,"
      "sd_omega_plus_y_rad_per_s\n";
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  const auto noisy = [&](double v, double sd) { return v + sd * normal(random); };
  for (const BallImpact& ball : Draw(30, 2, 0.2, 0.5, 40, 11)) {
    // Spin about W_y is the rate of theta with the other sign.
    table +=
        fmt::format("drop_{},0,1,{},{},{},{},{},{},0.005,0.005,0.2,0.005,0.005,0.2\n",
                    std::count(table.begin(), table.end(), '\n'), noisy(ball.v_x, 0.005),
                    noisy(ball.v_z, 0.005), noisy(-ball.rate, 0.2), noisy(ball.v_x_plus, 0.005),
                    noisy(ball.v_z_plus, 0.005), noisy(-ball.rate_plus, 0.2));
  }
  WriteText(scratch.path() / "states.csv", table);
  const auto out = scratch.path() / "fit";
  const ProcessResult identified =
      RunProgram({"identify", file.string(), "--events", (scratch.path() / "states.csv").string(),
                  "--out", out.string()},
                 scratch.path());
  EXPECT_EQ(identified.code, 0) << identified.err;
  EXPECT_THAT(identified.out, AllOf(HasSubstr("e_t"), HasSubstr("bounded below only")));
  ExpectGrip(FitOf(out), 0.2);
  const ProcessResult validated = RunProgram(
      {"validate", file.string(), "--events", (scratch.path() / "states.csv").string(), "--fit",
       (out / "fit.json").string(), "--out", (scratch.path() / "validated").string()},
      scratch.path());
  EXPECT_EQ(validated.code, 0) << validated.err;
  // Predictions spring back: slip after is not zero, and no bias is left.
  int rows = 0;
  for (const auto& row : RowsOf(scratch.path() / "validated/validation.csv")) {
    if (row.at("law") != "energetic" || row.at("quantity") != "v_t_plus") continue;
    ++rows;
    EXPECT_LT(std::abs(std::stod(row.at("z"))), 4) << row.at("recording");
  }
  EXPECT_GE(rows, 30);
}

TEST(SpringBackCommands, ARunHoldsOneAnswer) {
  const ScratchFolder scratch("grip run");
  WritePoses(scratch.path(), Draw(24, 2, 0.25, 0.5, 30, 12));
  const auto out = scratch.path() / "run";
  const auto run = [&](const std::string& more) {
    const ProcessResult result =
        RunProgram({"run", WriteExperiment(scratch.path(), more).string(), "--out", out.string()},
                   scratch.path());
    EXPECT_EQ(result.code, 0) << result.err;
    ExpectGrip(FitOf(out), 0.25);
    EXPECT_THAT(result.out, HasSubstr("e_t"));
    const FitResult fits = FitOf(out);
    int chosen = 0;
    for (const auto& row : RowsOf(out / "models.csv")) {
      if (row.at("chosen") != "1") continue;
      ++chosen;
      EXPECT_THAT(row.at("model"), HasSubstr("tangential"));
    }
    EXPECT_EQ(chosen, 1);
    int found = 0;
    for (const auto& row : RowsOf(out / "model_coefficients.csv")) {
      if (row.at("model") != "tangential") continue;
      for (const LawFit& fit : fits.fits) {
        if (fit.law != row.at("law")) continue;
        if (row.at("parameter") == "mu_k") {
          ++found;
          EXPECT_EQ(row.at("identifiable"), "0");
          EXPECT_NEAR(std::stod(row.at("lower95")), fit.mu_k.lower95, 1e-6);
        }
        if (row.at("parameter") == "e_t") {
          ++found;
          EXPECT_NEAR(std::stod(row.at("value")), fit.e_t->value, 0.005);
        }
      }
    }
    EXPECT_EQ(found, 2);
    for (const auto& row : RowsOf(out / "intervals.csv")) EXPECT_NE(row.at("parameter"), "mu_k");
    EXPECT_GT(RowsOf(out / "validation.csv").size(), 24u);
    EXPECT_THAT(ReadText(out / "report.html"),
                AllOf(HasSubstr("Tangential restitution"), HasSubstr("<i>e</i><sub>t</sub>")));
  };
  run("");
  run("coefficients: {models: [constant, tangential], refits: 20}\n");
}

TEST(SpringBackCommands, FrictionThatNothingTellsIsNotDeterminedAnywhere) {
  const ScratchFolder scratch("straight falls");
  // Straight falls without spin: every friction agrees.
  WritePoses(scratch.path(), Draw(12, 0.25, 0, 0.0003, 0.01, 13));
  const auto out = scratch.path() / "run";
  const ProcessResult run = RunProgram(
      {"run", WriteExperiment(scratch.path()).string(), "--out", out.string()}, scratch.path());
  EXPECT_EQ(run.code, 0) << run.err;
  const FitResult fits = FitOf(out);
  EXPECT_FALSE(fits.fits.front().mu_k.identifiable);
  EXPECT_FALSE(fits.fits.front().e_t);
  const auto agrees = [&](const std::filesystem::path& folder) {
    int rows = 0;
    for (const auto& row : RowsOf(folder / "model_coefficients.csv")) {
      if (row.at("parameter") != "mu_k") continue;
      ++rows;
      EXPECT_EQ(row.at("identifiable"), "0") << row.at("model") << " " << row.at("upper95");
      EXPECT_EQ(row.at("value"), "") << row.at("model");
    }
    EXPECT_GT(rows, 0);
    for (const auto& row : RowsOf(folder / "intervals.csv")) EXPECT_NE(row.at("parameter"), "mu_k");
  };
  agrees(out);
  // Neither in a campaign of such runs, nor in the differences between its members.
  const auto other = scratch.path() / "other";
  WritePoses(other, Draw(10, 0.25, 0, 0.0003, 0.01, 14));
  const auto second = other / "run";
  EXPECT_EQ(
      RunProgram({"run", WriteExperiment(other).string(), "--out", second.string(), "--no-report"},
                 scratch.path())
          .code,
      0);
  EXPECT_FALSE(FitOf(second).fits.front().mu_k.identifiable);
  WriteText(scratch.path() / "campaign.yaml",
            "schema: impactlab.campaign/1\nmembers:\n  - {name: a, run: \"" + out.string() +
                "\"}\n  - {name: b, run: \"" + second.string() +
                "\"}\ncoefficients: {refits: 0, models: [separate]}\n");
  const auto together = scratch.path() / "campaign";
  EXPECT_EQ(RunProgram({"campaign", (scratch.path() / "campaign.yaml").string(), "--out",
                        together.string(), "--quiet"},
                       scratch.path())
                .code,
            0);
  agrees(together);
  for (const auto& row : RowsOf(together / "differences.csv"))
    if (row.at("parameter") == "mu_k") {
      EXPECT_THAT(row.at("verdict"), HasSubstr("not determined"));
    }
}

}  // namespace
}  // namespace impactlab::test
