// Coefficients stand only where the data are of the declared body: the verdict of a run and the
// commands that follow it.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "data/files/fit_result.h"
#include "tests/support/hinged_body.h"
#include "tests/support/process.h"

namespace impactlab::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::filesystem::path kVerdictSample =
    std::filesystem::path(IMPACTLAB_SOURCE_DIR) / "data/sample";

// The sample beside an experiment file with `from` replaced by `to`.
std::filesystem::path ChangedSample(const std::filesystem::path& folder, const std::string& from,
                                    const std::string& to) {
  std::string text = ReadText(kVerdictSample / "experiment.yaml");
  const auto replace = [&text](const std::string& a, const std::string& b) {
    const auto at = text.find(a);
    ASSERT_NE(at, std::string::npos) << a;
    text.replace(at, a.size(), b);
  };
  replace("drop_*.csv", (kVerdictSample / "drop_*.csv").string());
  replace("bootstrap: 200", "bootstrap: 0");
  replace("grid: 41", "grid: 0");
  replace(from, to);
  auto file = folder / "changed.yaml";
  WriteText(file, text);
  return file;
}

FitResult FitIn(const std::filesystem::path& folder) {
  return FitResultFromJson(ReadText(folder / "fit.json"), "fit.json");
}

const std::string kInertia = "inertia_kg_m2: 0.00011999999999999999";

TEST(DataVerdict, AWrongInertiaWithholdsCoefficientsInEveryCommand) {
  const ScratchFolder scratch("verdict");
  const auto file = ChangedSample(scratch.path(), kInertia, "inertia_kg_m2: 0.00024");
  const std::string out = scratch.path() / "run";
  // Tables of an earlier run do not stay beside coefficients that are withheld.
  ASSERT_EQ(RunProgram({"run", (kVerdictSample / "experiment.yaml").string(), "--out", out,
                        "--quiet", "--no-report"},
                       scratch.path())
                .code,
            0);
  ASSERT_TRUE(std::filesystem::exists(out + "/law_comparison.csv"));
  const ProcessResult run = RunProgram(
      {"run", file.string(), "--out", out, "--require", "mu_k>=0.01", "--require", "closes>=1"},
      scratch.path());
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.out, AllOf(HasSubstr("verdict     does not close"), Not(HasSubstr("mu_k"))));
  EXPECT_THAT(run.err, AllOf(HasSubstr("the inertia declared contradicts momentum and shape"),
                             HasSubstr("coefficients are withheld (--force-coefficients"),
                             HasSubstr("mu_k>=0.01 is not met: mu_k could not be determined"),
                             HasSubstr("closes>=1 is not met: closes = 0")));
  const FitResult fit = FitIn(out);
  EXPECT_EQ(fit.verdict.verdict, "does_not_close");
  EXPECT_TRUE(fit.verdict.withheld);
  ASSERT_EQ(fit.fits.size(), 3u);
  for (const LawFit& law : fit.fits)
    for (const ParameterEstimate& p : ListParameters(law)) {
      EXPECT_TRUE(std::isnan(p.value)) << law.law;
      EXPECT_FALSE(p.identifiable);
      EXPECT_EQ(p.reason, fit.verdict.reason);
    }
  EXPECT_THAT(ReadText(out + "/fit.json"), HasSubstr("\"value\": null"));
  for (const char* name : {"validation.csv", "law_comparison.csv", "models.csv", "intervals.csv"})
    EXPECT_FALSE(std::filesystem::exists(out + "/" + name)) << name;
  EXPECT_THAT(ReadText(out + "/report.html"), HasSubstr("Coefficients are withheld"));
  EXPECT_THAT(ReadText(out + "/report.html"), Not(HasSubstr("No frame error was found")));
  EXPECT_THAT(ReadText(out + "/audit.json"), HasSubstr("\"verdict\":\"does_not_close\""));

  const std::string events = out + "/events.csv", predicted = scratch.path() / "stage";
  for (const char* verb : {"predict", "validate"}) {
    const ProcessResult refused = RunProgram(
        {verb, file.string(), "--events", events, "--fit", out + "/fit.json", "--out", predicted},
        scratch.path());
    EXPECT_EQ(refused.code, 3) << verb;
    EXPECT_THAT(refused.err, HasSubstr("fit.json: ")) << verb;
    EXPECT_THAT(refused.err, HasSubstr("coefficients are withheld")) << verb;
  }
  const ProcessResult identified = RunProgram(
      {"identify", file.string(), "--events", events, "--out", predicted}, scratch.path());
  EXPECT_EQ(identified.code, 3);
  EXPECT_TRUE(FitIn(predicted).verdict.withheld);

  WriteText(scratch.path() / "campaign.yaml",
            "schema: impactlab.campaign/1\nmembers:\n  - {name: sound, experiment: \"" +
                (kVerdictSample / "experiment.yaml").string() + "\"}\n  - {name: other, run: \"" +
                out + "\"}\ncoefficients: {refits: 0}\n");
  const ProcessResult campaign =
      RunProgram({"campaign", (scratch.path() / "campaign.yaml").string(), "--out",
                  (scratch.path() / "campaign").string(), "--quiet"},
                 scratch.path());
  EXPECT_EQ(campaign.code, 0) << campaign.err;
  EXPECT_THAT(ReadText(scratch.path() / "campaign/members.csv"),
              HasSubstr("coefficients are withheld"));
}

TEST(DataVerdict, AnInertiaThatMomentumAndShapeContradictWithholdsThemBelowTheLimitToo) {
  const ScratchFolder scratch("verdict inertia");
  const auto file = ChangedSample(scratch.path(), kInertia, "inertia_kg_m2: 0.000145");
  const ProcessResult run =
      RunProgram({"run", file.string(), "--out", (scratch.path() / "run").string(), "--no-report"},
                 scratch.path());
  EXPECT_EQ(run.code, 3) << run.out;
  EXPECT_THAT(run.err, HasSubstr("the inertia declared contradicts momentum and shape"));
}

TEST(DataVerdict, AFallThatIsNotGravitysWithholdsThem) {
  const ScratchFolder scratch("verdict gravity");
  // A clock of half the true time, and of twice: bodies fall four times too fast, or too slowly.
  for (const double clock : {0.5, 2.0}) {
    for (int i = 1; i <= 24; ++i) {
      const std::string name = fmt::format("drop_{:04d}.csv", i);
      std::string timed;
      std::istringstream lines(ReadText(kVerdictSample / name));
      for (std::string line; std::getline(lines, line);) {
        const auto at = line.find(',');
        if (std::isdigit(static_cast<unsigned char>(line[0])))
          line = fmt::format("{:.6f}", clock * std::stod(line.substr(0, at))) + line.substr(at);
        timed += line + "\n";
      }
      WriteText(scratch.path() / "timed" / name, timed);
    }
    const auto file = ChangedSample(scratch.path(), "seed: 7", "seed: 8");
    const ProcessResult run = RunProgram(
        {"run", file.string(), "--recordings", (scratch.path() / "timed/drop_*.csv").string(),
         "--out", (scratch.path() / "run").string(), "--no-report"},
        scratch.path());
    EXPECT_EQ(run.code, 3) << run.out;
    EXPECT_THAT(run.err, HasSubstr("times the gravity declared")) << clock;
    EXPECT_THAT(run.err, HasSubstr("correction: {")) << clock;
    EXPECT_TRUE(FitIn(scratch.path() / "run").verdict.withheld) << clock;
  }
}

TEST(DataVerdict, TwoLinksTakenForOneBodyWithholdThemAndNameNoErrorOfTheFrame) {
  const ScratchFolder scratch("verdict hinged");
  std::mt19937_64 rng(9);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::normal_distribution<double> normal;
  testing::HingedBody hinged(0.1, 0.02, 0.1);
  for (int drop = 0; drop < 24; ++drop) {
    hinged.Throw(0, 0.4, uniform(rng), 3 * uniform(rng), 6 * uniform(rng), 6 * uniform(rng));
    std::string text = "t_s,x_m,z_m,theta_rad\n";
    for (int i = 0; i < 150; ++i) {
      const Eigen::Vector3d pose = hinged.Pose();
      text += fmt::format("{:.6f},{:.7f},{:.7f},{:.7f}\n", i / 250.0, pose.x() + 4e-5 * normal(rng),
                          pose.y() + 4e-5 * normal(rng), pose.z() + 7e-4 * normal(rng));
      hinged.Advance(1 / 250.0, 0.5, 0.2);
    }
    WriteText(scratch.path() / fmt::format("link_{:02d}.csv", drop), text);
  }
  WriteText(scratch.path() / "e.yaml",
            "schema: impactlab.experiment/1\n"
            "recordings: {files: link_*.csv, kind: planar_poses}\n"
            "body: {shape: box, sides_m: [0.1, 0.02], mass_kg: 0.1}\n"
            "floor: {normal: [0, 0, 1], offset_m: 0}\naudit: {apply: all}\n"
            "identify: {bootstrap: 0, grid: 0}\n");
  const std::string out = scratch.path() / "run";
  const ProcessResult run = RunProgram(
      {"run", (scratch.path() / "e.yaml").string(), "--out", out, "--no-report"}, scratch.path());
  EXPECT_EQ(run.code, 3) << run.out;
  EXPECT_THAT(run.err, AllOf(HasSubstr("not one rigid body in free flight"), HasSubstr("hinge")));
  EXPECT_THAT(run.out, AllOf(Not(HasSubstr("found   ")), Not(HasSubstr("mu_k"))));
  EXPECT_TRUE(FitIn(out).verdict.withheld);
  EXPECT_THAT(ReadText(out + "/audit.json"),
              AllOf(HasSubstr("\"rigid\": false"), Not(HasSubstr("\"named\": true")),
                    Not(HasSubstr("after_correction"))));
}

// Copies of the sample whose lengths and times are multiplied, the lengths of every recording a
// little differently by `spread`, as of a camera that was moved.
void WriteScaled(const std::filesystem::path& folder, double length, double time, double spread) {
  for (int i = 1; i <= 24; ++i) {
    const std::string name = fmt::format("drop_{:04d}.csv", i);
    const double own = length * (1 + spread * std::sin(2.4 * i));
    std::string scaled;
    std::istringstream lines(ReadText(kVerdictSample / name));
    for (std::string line; std::getline(lines, line);) {
      double t = 0, x = 0, z = 0, theta = 0;
      char comma = 0;
      std::istringstream cells(line);
      scaled +=
          cells >> t >> comma >> x >> comma >> z >> comma >> theta
              ? fmt::format("{:.9f},{:.9f},{:.9f},{:.9f}\n", time * t, own * x, own * z, theta)
              : line + "\n";
    }
    WriteText(folder / name, scaled);
  }
}

// The scale that free flight shows does not depend on the one declared: flights are not chosen by
// how near they are to the gravity of the file.
TEST(DataVerdict, TheScaleOfFreeFlightDoesNotDependOnWhatIsDeclared) {
  for (const auto& [length, time] : {std::pair(1.285, 1.0), std::pair(1.0, 0.88)}) {
    const ScratchFolder scratch("scale of flight");
    WriteScaled(scratch.path() / "scaled", length, time, 0.05);
    std::vector<double> found;
    for (const double declared : {1.0, 1.12, 1.243}) {
      const auto file = ChangedSample(scratch.path(), "seed: 7", "seed: 8");
      std::string text = ReadText(file);
      const std::string pattern = (kVerdictSample / "drop_*.csv").string();
      text.replace(text.find(pattern), pattern.size(),
                   (scratch.path() / "scaled/drop_*.csv").string());
      WriteText(file, text + fmt::format("correction: {{length_scale: {}}}\n", declared));
      const ProcessResult run =
          RunProgram({"run", file.string(), "--out",
                      (scratch.path() / fmt::format("run{}", declared)).string(), "--no-report"},
                     scratch.path());
      const std::string before = "(free_flight ";
      const std::size_t at = run.out.find(before);
      ASSERT_NE(at, std::string::npos) << declared << "\n" << run.out << run.err;
      found.push_back(declared * std::stod(run.out.substr(at + before.size())));
    }
    const double truth = length / (time * time);
    for (const double scale : found) {
      EXPECT_NEAR(scale, truth, 0.03) << length;
      EXPECT_NEAR(scale, found.front(), 0.005) << length;
    }
  }
}

// Bodies that fall by another gravity than the one declared show that lengths, the clock or gravity
// are off, and not which; coefficients differ by that.
TEST(DataVerdict, IntervalsHoldWhatWrongLengthsAndAWrongClockGive) {
  for (const auto& [length, time] :
       {std::pair(1.15, 1.0), std::pair(0.9, 1.0), std::pair(1.0, 0.94), std::pair(1.0, 1.0)}) {
    const ScratchFolder scratch("undecided scale");
    WriteScaled(scratch.path() / "scaled", length, time, 0);
    const auto file = ChangedSample(scratch.path(), "seed: 7", "seed: 8");
    std::string text = ReadText(file);
    const std::string pattern = (kVerdictSample / "drop_*.csv").string();
    text.replace(text.find(pattern), pattern.size(),
                 (scratch.path() / "scaled/drop_*.csv").string());
    WriteText(file, text);
    const std::string out = scratch.path() / "run", again = scratch.path() / "fit";
    const ProcessResult run =
        RunProgram({"run", file.string(), "--out", out, "--bootstrap", "0"}, scratch.path());
    ASSERT_EQ(run.code, 0) << run.err;
    const FitResult fit = FitIn(out);
    const LawFit& energetic = fit.fits.back();
    ASSERT_EQ(energetic.law, "energetic");
    EXPECT_LT(energetic.mu_k.lower95, 0.12) << length << " " << time;
    EXPECT_GT(energetic.mu_k.upper95, 0.12) << length << " " << time;
    EXPECT_LT(energetic.e.lower95, 0.45) << length << " " << time;
    EXPECT_GT(energetic.e.upper95, 0.45) << length << " " << time;
    EXPECT_LT(energetic.e.upper95 - energetic.e.lower95, length == 1 && time == 1 ? 0.03 : 0.12);
    const bool open = energetic.e.reason.find("times as fast as gravity") != std::string::npos;
    EXPECT_EQ(open, length != 1 || time != 1) << energetic.e.reason;
    // More impacts would not help, and no page says so; the reason stands on the terminal once.
    const std::string page = ReadText(out + "/report.html");
    EXPECT_EQ(page.find("Half the interval") != std::string::npos, !open);
    EXPECT_EQ(page.find("as fast as gravity") != std::string::npos, open);
    EXPECT_EQ(run.out.find("as fast as gravity"), run.out.rfind("as fast as gravity"));
    // The table of the run is of the same impacts.
    ASSERT_EQ(
        RunProgram({"identify", file.string(), "--events", out + "/events.csv", "--out", again},
                   scratch.path())
            .code,
        0);
    const FitResult read = FitIn(again);
    EXPECT_NEAR(read.fits.back().e.lower95, energetic.e.lower95, 1e-6);
    EXPECT_NEAR(read.fits.back().e.upper95, energetic.e.upper95, 1e-6);
    EXPECT_EQ(read.fits.back().e.reason, energetic.e.reason);
  }
}

TEST(DataVerdict, ForcedCoefficientsAreGivenWithTheVerdictBesideThem) {
  const ScratchFolder scratch("verdict forced");
  const auto file = ChangedSample(scratch.path(), kInertia, "inertia_kg_m2: 0.00024");
  const std::string out = scratch.path() / "run";
  const ProcessResult run =
      RunProgram({"run", file.string(), "--out", out, "--force-coefficients"}, scratch.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.out, AllOf(HasSubstr("verdict     does not close"), HasSubstr("mu_k")));
  const FitResult fit = FitIn(out);
  EXPECT_EQ(fit.verdict.verdict, "does_not_close");
  EXPECT_FALSE(fit.verdict.withheld);
  EXPECT_TRUE(std::isfinite(fit.fits.at(0).e.value));
  EXPECT_THAT(ReadText(out + "/report.html"), HasSubstr("coefficients below were forced"));
}

TEST(DataVerdict, SoundDataCloseAndMirroredOnesCloseAfterTheirCorrection) {
  const ScratchFolder scratch("verdict sound");
  const std::string out = scratch.path() / "run";
  const auto sound = ChangedSample(scratch.path(), "seed: 7", "seed: 8");
  ASSERT_EQ(RunProgram({"run", sound.string(), "--out", out, "--no-report"}, scratch.path()).code,
            0);
  EXPECT_EQ(FitIn(out).verdict.verdict, "closes");
  // The same recordings with x of the other sign.
  for (int i = 1; i <= 24; ++i) {
    const std::string name = fmt::format("drop_{:04d}.csv", i);
    if (!std::filesystem::exists(kVerdictSample / name)) continue;
    std::string mirrored;
    std::istringstream lines(ReadText(kVerdictSample / name));
    for (std::string line; std::getline(lines, line);) {
      const auto at = line.find(',') + 1;
      if (std::isdigit(static_cast<unsigned char>(line[0])))
        line = line[at] == '-' ? line.substr(0, at) + line.substr(at + 1)
                               : line.substr(0, at) + "-" + line.substr(at);
      mirrored += line + "\n";
    }
    WriteText(scratch.path() / "mirrored" / name, mirrored);
  }
  const std::string recordings = scratch.path() / "mirrored/drop_*.csv";
  const ProcessResult run =
      RunProgram({"run", sound.string(), "--recordings", recordings, "--out", out, "--no-report"},
                 scratch.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(FitIn(out).verdict.verdict, "closes_after_correction") << run.out;
  EXPECT_THAT(FitIn(out).verdict.reason, HasSubstr("without the correction of mirrored"));
  // Where the experiment file does not allow the correction, nothing stands.
  const auto forbidden = ChangedSample(scratch.path(), "apply: all", "apply: none");
  const ProcessResult refused = RunProgram(
      {"run", forbidden.string(), "--recordings", recordings, "--out", out}, scratch.path());
  EXPECT_EQ(refused.code, 3);
  EXPECT_THAT(ReadText(out + "/report.html"), HasSubstr("Coefficients are withheld"));
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("the audit names mirrored"), HasSubstr("(audit: {apply: all})")));
}

TEST(DataVerdict, WhereNothingIsAcceptedTheExitCodeIsThreeWithWhatWasSeenAndTheCure) {
  const ScratchFolder scratch("nothing found");
  const std::string out = scratch.path() / "run";
  const auto low = ChangedSample(scratch.path(), "offset_m: 0", "offset_m: -0.03");
  const ProcessResult run =
      RunProgram({"run", low.string(), "--out", out, "--bounces", "8"}, scratch.path());
  EXPECT_EQ(run.code, 3);
  EXPECT_THAT(run.err, AllOf(HasSubstr("no impact was accepted"), HasSubstr("mm higher than"),
                             HasSubstr("floor: {offset_m: ")));
  EXPECT_THAT(run.out, AllOf(HasSubstr("cause       the floor is"), Not(HasSubstr("mu_k"))));
  const std::string page = ReadText(out + "/report.html");
  EXPECT_THAT(page, AllOf(HasSubstr("The floor is"), Not(HasSubstr("at most 1.000"))));
  EXPECT_THAT(ReadText(out + "/audit.json"), HasSubstr("\"diagnosis\": {"));
  // The line that is offered cures it.
  const auto at = run.err.find("offset_m: ");
  const std::string cure = run.err.substr(at, run.err.find('}', at) - at);
  const auto cured = ChangedSample(scratch.path(), "offset_m: 0", cure);
  EXPECT_EQ(RunProgram({"run", cured.string(), "--out", out, "--no-report"}, scratch.path()).code,
            0);
}

TEST(DataVerdict, CentresSeenAtTheSameTimesAreNoRepeats) {
  const ScratchFolder scratch("verdict centres");
  for (const double height : {0.30, 0.35, 0.40}) {
    std::string text = "t_s,x_m,z_m\n";
    const double fall = std::sqrt(2 * height / 9.80665), speed = 9.80665 * fall;
    for (int i = 0; i < 100; ++i) {
      const double t = i / 240.0, s = t - fall;
      const double z =
          s < 0 ? height - 0.5 * 9.80665 * t * t : 0.7 * speed * s - 0.5 * 9.80665 * s * s;
      text += fmt::format("{:.6f},{:.6f},{:.6f}\n", t, 0.1 * t + 1e-5 * (i * 7 % 5), 0.02 + z);
    }
    WriteText(scratch.path() / fmt::format("ball_{:.0f}.csv", 100 * height), text);
  }
  WriteText(scratch.path() / "e.yaml",
            "schema: impactlab.experiment/1\n"
            "recordings: {files: ball_*.csv, kind: planar_poses, columns: {theta: none}}\n"
            "body: {shape: ball, radius_m: 0.02, mass_kg: 0.03}\n"
            "floor: {normal: [0, 0, 1], offset_m: 0}\nidentify: {bootstrap: 0}\n");
  const ProcessResult run = RunProgram({"run", (scratch.path() / "e.yaml").string(), "--out",
                                        (scratch.path() / "run").string(), "--no-report"},
                                       scratch.path());
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_EQ(FitIn(scratch.path() / "run").n_events, 3) << run.out;
}

TEST(DataVerdict, OneRecordingUnderTwoNamesCountsOnce) {
  const ScratchFolder scratch("verdict repeats");
  for (int i = 1; i <= 6; ++i) {
    const std::string name = fmt::format("drop_{:04d}.csv", i);
    WriteText(scratch.path() / "set" / name, ReadText(kVerdictSample / name));
    if (i <= 3)
      WriteText(scratch.path() / "set" / ("copy_" + name), ReadText(kVerdictSample / name));
  }
  const auto file = ChangedSample(scratch.path(), "seed: 7", "seed: 8");
  const std::string out = scratch.path() / "run", once = scratch.path() / "once";
  const auto run = [&](const std::string& glob, const std::string& to) {
    return RunProgram({"run", file.string(), "--recordings",
                       (scratch.path() / "set" / glob).string(), "--out", to, "--no-report"},
                      scratch.path());
  };
  EXPECT_EQ(run("*.csv", out).code, 0);
  EXPECT_EQ(run("drop_*.csv", once).code, 0);
  EXPECT_EQ(FitIn(out).n_events, FitIn(once).n_events);
  EXPECT_THAT(ReadText(out + "/events.csv"), HasSubstr("bad_recording"));
  EXPECT_THAT(ReadText(out + "/events.csv"), HasSubstr("number for number"));
  // So do two members of a campaign that are one run.
  WriteText(scratch.path() / "campaign.yaml",
            "schema: impactlab.campaign/1\nmembers:\n  - {name: a, run: \"" + out +
                "\"}\n  - {name: b, run: \"" + once + "\"}\ncoefficients: {refits: 0}\n");
  EXPECT_EQ(RunProgram({"campaign", (scratch.path() / "campaign.yaml").string(), "--out",
                        (scratch.path() / "campaign").string(), "--quiet"},
                       scratch.path())
                .code,
            0);
  EXPECT_THAT(ReadText(scratch.path() / "campaign/members.csv"),
              HasSubstr("the same impacts as those of a"));
}

}  // namespace
}  // namespace impactlab::test
