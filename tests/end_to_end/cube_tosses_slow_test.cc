// The real spatial data set, end to end.

#include <gtest/gtest.h>

#include "data/files/glob.h"
#include "pipelines/run/run.h"

namespace impactlab {
namespace {

TEST(Run, CubeTosses) {
  const std::filesystem::path source = IMPACTLAB_SOURCE_DIR,
                              folder = source / "../shared/data/cube-tosses";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "skipped: shared data absent";
  Experiment experiment = LoadExperiment(source / "data/experiments/cube-tosses.yaml");
  experiment.laws = {RestitutionLaw::kEnergetic};
  experiment.identify.influence = false;
  const RunResult run =
      RunExperiment(experiment, LoadRecordings(experiment, ExpandGlob("toss_*.csv", folder)),
                    {.validate = false, .force_coefficients = true}, {.quiet = true});
  // By its declared inertia momentum does not close: without force no coefficient stands.
  EXPECT_EQ(run.verdict.verdict, "does_not_close") << run.verdict.reason;
  EXPECT_EQ(run.recordings.files.size(), 380u);
  const LawFit& fit = run.best().fit.fits.at(0);
  EXPECT_GT(fit.mu_k.value, 0.13);
  EXPECT_LT(fit.mu_k.value, 0.20);
  EXPECT_GT(fit.e.value, 0.28);
  EXPECT_LT(fit.e.value, 0.36);
  // Free flight and rests agree that lengths are recorded 2 % short; the floor is where it should
  // be.
  EXPECT_NEAR(run.audit.correction.length_scale, 0.98, 0.005);
  EXPECT_EQ(run.audit.correction.floor_offset, 0);
  EXPECT_NE(run.audit.inertia_note.find("given 0.00081"), std::string::npos)
      << run.audit.inertia_note;
  EXPECT_NE(run.audit.inertia_note.find("uniform solid 0.00067"), std::string::npos)
      << run.audit.inertia_note;
}

}  // namespace
}  // namespace impactlab
