// The whole chain: recordings in, coefficients, audit and tables out.

#include "pipelines/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/files/glob.h"
#include "tests/support/process.h"

namespace impactlab {
namespace {

const std::filesystem::path kSource = IMPACTLAB_SOURCE_DIR;

RunResult RunSample(int threads) {
  const Experiment experiment = LoadExperiment(kSource / "data/sample/experiment.yaml");
  return RunExperiment(
      experiment,
      LoadRecordings(experiment, ExpandGlob(experiment.recordings, kSource / "data/sample")), {},
      {.threads = threads, .quiet = true});
}

const LawFit& Energetic(const FitResult& fit) {
  for (const LawFit& law : fit.fits) {
    if (law.law == "energetic") return law;
  }
  throw std::runtime_error("no energetic fit");
}

TEST(Run, SampleRecoversItsTruth) {
  const RunResult run = RunSample(2);
  const LawFit& fit = Energetic(run.best().fit);
  // The scene: mu = 0.12, e* = 0.45, attitude zero off by 0.03 rad.
  EXPECT_LT(fit.mu_k.lower95, 0.12);
  EXPECT_GT(fit.mu_k.upper95, 0.12);
  EXPECT_LT(fit.e.lower95, 0.45);
  EXPECT_GT(fit.e.upper95, 0.45);
  ASSERT_TRUE(run.has_corrected);
  EXPECT_NEAR(run.audit.correction.theta_offset(), 0.03, 0.003);
  EXPECT_LT(run.audit.momentum_corrected.relative(), 0.5 * run.audit.momentum.relative());
  EXPECT_NEAR(run.audit.gravity.value, 9.80665, 0.02);
  // The error left in place costs accuracy out of sample.
  const auto median = [](const ValidationTable& table) {
    for (const ErrorSummary& s : table.error_summary) {
      if (s.law == "energetic" && !s.in_sample && s.group == "all") return s.median_by_plus;
    }
    return -1.0;
  };
  EXPECT_GT(median(run.recorded.validation), 1.3 * median(run.corrected.validation));
  EXPECT_GT(median(run.corrected.validation), 0);
}

TEST(Run, DoesNotDependOnTheNumberOfThreads) {
  const RunResult one = RunSample(1), two = RunSample(2);
  ASSERT_EQ(one.best().events.size(), two.best().events.size());
  for (std::size_t i = 0; i < one.best().events.size(); ++i) {
    EXPECT_EQ(one.best().events[i].recording, two.best().events[i].recording);
    EXPECT_EQ(one.best().events[i].t, two.best().events[i].t);
    EXPECT_EQ(one.best().events[i].cov, two.best().events[i].cov);
  }
  EXPECT_EQ(ToJson(one.best().fit), ToJson(two.best().fit));
}

TEST(Run, StagesGiveWhatTheWholeGives) {
  const test::ScratchFolder scratch("stages");
  const std::string experiment = kSource / "data/sample/experiment.yaml",
                    out = scratch.path() / "run";
  const auto run = [&](const std::vector<std::string>& words) {
    const test::ProcessResult result = test::RunProgram(words, scratch.path());
    ASSERT_EQ(result.code, 0) << result.err;
  };
  run({"run", experiment, "--out", out, "--no-report", "--quiet"});
  const std::string events = out + "/events.csv", fit = out + "/fit.json",
                    stage = scratch.path() / "stage";
  run({"identify", experiment, "--events", events, "--out", stage});
  const FitResult whole = FitResultFromJson(test::ReadText(fit), fit),
                  staged = FitResultFromJson(test::ReadText(stage + "/fit.json"), stage);
  ASSERT_EQ(whole.fits.size(), staged.fits.size());
  for (std::size_t i = 0; i < whole.fits.size(); ++i) {
    for (std::size_t k = 0; k < 2; ++k) {
      const ParameterEstimate &a = ListParameters(whole.fits[i])[k].get(),
                              &b = ListParameters(staged.fits[i])[k].get();
      EXPECT_NEAR(a.value, b.value, 1e-6 + 1e-3 * a.sd) << whole.fits[i].law << " " << a.name;
      EXPECT_NEAR(a.upper95, b.upper95, 1e-6 + 1e-2 * a.sd);
    }
  }
  run({"validate", experiment, "--events", events, "--fit", fit, "--out", stage, "--tables"});
  for (const char* extension : {".csv", ".md", ".tex", ".html"})
    EXPECT_GT(test::ReadText(stage + "/validation_table" + extension).size(), 1000u) << extension;
  run({"predict", experiment, "--events", events, "--fit", fit, "--out", stage});
  EXPECT_GT(test::ReadText(stage + "/validation.csv").size(),
            test::ReadText(stage + "/predictions.csv").size());
  EXPECT_GT(test::ReadText(stage + "/predictions.csv").size(), 1000u);
  // run.yaml is an experiment of its own that finds the same recordings.
  run({"reconstruct", out + "/run.yaml", "--out", stage, "--quiet"});
  EXPECT_EQ(test::ReadText(stage + "/events.csv"), test::ReadText(events));
}

std::vector<std::filesystem::path> RealRecordings(const std::string& set,
                                                  const std::string& pattern) {
  const auto folder = kSource / "../shared/data" / set;
  return std::filesystem::exists(folder) ? ExpandGlob(pattern, folder)
                                         : std::vector<std::filesystem::path>();
}

TEST(Run, SquareDrops) {
  const auto files = RealRecordings("square-drops", "drop_*.csv");
  if (files.empty()) GTEST_SKIP() << "skipped: shared data absent";
  Experiment experiment = LoadExperiment(kSource / "data/experiments/square-drops.yaml");
  experiment.validation.folds = 0;
  const RunResult run =
      RunExperiment(experiment, LoadRecordings(experiment, files), {}, {.quiet = true});
  EXPECT_EQ(files.size(), 300u);
  int accepted = 0;
  for (const ImpactEvent& event : run.best().events) {
    accepted += event.accepted && event.impact == 0;
    EXPECT_TRUE(event.accepted || event.reason != RejectReason::kNone) << event.recording;
  }
  EXPECT_GE(accepted, 40);
  EXPECT_LE(accepted, 120);
  const LawFit& fit = Energetic(run.best().fit);
  const ParameterEstimate &mu = fit.mu_k, &e = fit.e;
  EXPECT_GT(mu.value, 0.05);
  EXPECT_LT(mu.value, 0.15);
  EXPECT_GT(e.value, 0.42);
  EXPECT_LT(e.value, 0.49);
  for (std::size_t k = 0; k < 2; ++k) {
    const double half =
        0.5 * (ListParameters(fit)[k].get().upper95 - ListParameters(fit)[k].get().lower95);
    EXPECT_GT(half, 0.005);
    EXPECT_LT(half, 0.03);
    EXPECT_NEAR(half, 1.96 * fit.sd_bootstrap[k], 0.25 * half) << ListParameters(fit)[k].get().name;
  }
  EXPECT_NEAR(run.audit.gravity.value, 9.80665, 0.098);
  EXPECT_LT(run.audit.momentum_corrected.relative(), 0.15);
  EXPECT_GT(run.audit.momentum.relative(), 0.15);
  const Estimate &normal = run.audit.momentum_corrected.gyration_normal,
                 &tangential = run.audit.momentum_corrected.gyration_tangential;
  EXPECT_LT(std::max(normal.lower95, tangential.lower95),
            std::min(normal.upper95, tangential.upper95));
  EXPECT_NEAR(run.audit.correction.theta_offset(), -0.0345, 0.005);
}

}  // namespace
}  // namespace impactlab
